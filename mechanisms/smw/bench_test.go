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
	h := NewHypothesis(p, query.NewCoder(u, [16]byte{5}))
	r := rand.New(rand.NewPCG(1, 2))
	var queries []query.Query
	for range 50 {
		pick := make([]query.Value, 0, 1000)
		for _, x := range r.Perm(len(values))[:1000] {
			pick = append(pick, values[x])
		}
		q := query.Where(u, 0, u.Columns()[0].Domain.Of(pick...))
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

func BenchmarkUpdate(b *testing.B) {
	for _, rule := range []Update{Paper, Projection} {
		b.Run(string(rule), func(b *testing.B) {
			h, queries := benchHypothesis(b, false, rule)
			history := h.history
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				h.history = history // of 50 pairs, however many b asks for
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
