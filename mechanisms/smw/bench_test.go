package smw

import (
	"math/rand/v2"
	"testing"

	"dpsql/query"
)

// benchHypothesis has learned 50 queries of 1000 elements out of 100 000.
func benchHypothesis(b *testing.B, text bool, rule Update) (*Hypothesis, []query.Query) {
	u, values := line(b, 100000, text)
	p := Params{
		S: 1 << 40, MaxSupport: 1000, MaxWeight: 1, NHat: 1e6, Update: rule,
		Eta: 0.05, Floor: 1000, Replay: 500, Threshold: 1000,
	}
	h := NewHypothesis(p, u, nil)
	r := rand.New(rand.NewPCG(1, 2))
	var queries []query.Query
	for range 50 {
		pick := make([]query.Value, 0, 1000)
		for _, x := range r.Perm(len(values))[:1000] {
			pick = append(pick, values[x])
		}
		q := query.Where(u, 0, u.Columns()[0].Domain.SetOf(pick...))
		queries = append(queries, q)
		if err := h.Update(q, 9000+r.Int64N(2000)); err != nil {
			b.Fatal(err)
		}
	}
	return h, queries
}

func BenchmarkValue(b *testing.B) {
	for name, text := range map[string]bool{"coded": false, "text": true} {
		b.Run(name, func(b *testing.B) {
			h, queries := benchHypothesis(b, text, Projection)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				h.Value(queries[i%len(queries)])
			}
		})
	}
}

// benchWorkload has learned 50 queries of the correlated workload, from classes,
// and returns others of about 1,000 records.
func benchWorkload(b *testing.B) (*Hypothesis, []asked) {
	r := rand.New(rand.NewPCG(1, 2))
	c := newCorrelated(b, r, 200_000)
	src := newSource(r)
	request := c.request(20_000, workloadRho)
	request.Prior, request.MaxUpdates = true, 200
	h := NewHypothesis(must(Plan(request))(b), c.u, c.learn(b, workloadRho/10, src))
	for _, columns := range columnSets {
		for _, a := range c.ask(b, r, columns, 3, 17) {
			if err := h.Update(a.q, a.count); err != nil {
				b.Fatal(err)
			}
		}
	}
	var list []asked
	for _, a := range c.ask(b, r, []int{0, 1, 3}, 3, 2000) {
		if m, _ := a.q.SizeWithin(1 << 40); m > 800 && m < 1200 {
			list = append(list, a)
		}
	}
	return h, list
}

// BenchmarkWorkload evaluates and tests queries of about 1,000 records, most of
// them in columns that the query leaves free, and learns them.
func BenchmarkWorkload(b *testing.B) {
	h, list := benchWorkload(b)
	src := newSource(newRand(b))
	b.Run("value", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			h.Value(list[i%len(list)].q)
		}
	})
	b.Run("unfired", func(b *testing.B) {
		run := must(StartRun(h.params, src))(b)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			n := h.Count(list[i%len(list)].q)
			if out := must(run.Test(n, n, src))(b); out.Fired {
				run = must(StartRun(h.params, src))(b)
			}
		}
	})
	b.Run("update", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if h.Updates() > 100 {
				b.StopTimer()
				h, list = benchWorkload(b)
				b.StartTimer()
			}
			if err := h.Update(list[i%len(list)].q, list[i%len(list)].count+200); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	for _, rule := range []Update{Paper, Projection} {
		b.Run(string(rule), func(b *testing.B) {
			h, queries := benchHypothesis(b, false, rule)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if h.Updates() >= 100 {
					b.StopTimer()
					h, queries = benchHypothesis(b, false, rule)
					b.StartTimer()
				}
				if err := h.Update(queries[i%len(queries)], 9000+int64(i*37%2000)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkTest(b *testing.B) {
	p := must(Plan(request()))(b)
	src := newSource(newRand(b))
	run := must(StartRun(p, src))(b)
	b.ReportAllocs()
	for b.Loop() {
		if out, err := run.Test(500, 500, src); err != nil || out.Fired {
			run = must(StartRun(p, src))(b)
		}
	}
}
