package main

import (
	"fmt"
	"math"
	"time"

	"dpsql/bench/baseline"
	"dpsql/bench/report"
	"dpsql/bench/workload"
	"dpsql/mechanisms/projection"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/query"
)

// fastest returns the shortest processor time of one call in seconds, over b.reps
// series long enough to be timed. On a machine that does other work, too, the shortest
// is nearest to the time that the call takes.
func (b *bench) fastest(call func() error) (float64, error) {
	best := math.Inf(1)
	calls := 1
	for i := 0; i < b.reps; {
		start := clock()
		for range calls {
			if err := call(); err != nil {
				return 0, err
			}
		}
		took := clock() - start
		if took < size(b, 20*time.Millisecond, time.Millisecond) && calls < 1<<20 {
			calls *= 2
			continue
		}
		best = min(best, took.Seconds()/float64(calls))
		i++
	}
	return best, nil
}

// micro returns a time as a point of a chart, in microseconds.
func micro(seconds float64) report.Estimate {
	return report.Estimate{Mean: seconds * 1e6, Half: math.NaN()}
}

// time plots the time of one answer against m.
func (b *bench) time(s *report.Section) error {
	spend, err := newBudget(1)
	if err != nil {
		return err
	}
	bits := size[uint](b, 26, 16)
	table, err := workload.Zipf(1.05, bits, size[int64](b, 1_000_000, 10_000), b.seed)
	if err != nil {
		return err
	}
	answerers, err := b.answerers(table, spend)
	if err != nil {
		return err
	}
	s.Say(`The time of one answer through each mechanism's package, with the query as a diagram: Zipf(1.05) over 2^%d cells, queries for m consecutive cells; a hypothesis of SMW
that has learned 50 queries; the dense baseline over 2^%d cells. The least of %d series, in µs.`, bits, b.baselineBits(), b.reps)
	chart := newChart("time-support")
	t := &report.Table{Head: []string{"m"}}
	for _, a := range answerers {
		t.Head = append(t.Head, a.name)
	}
	first, last := make(map[string][2]float64), make(map[string][2]float64)
	for _, m := range size(b, []uint64{1, 16, 256, 4096, 65536, 1 << 20}, []uint64{1, 256, 4096}) {
		row := []any{report.Number(float64(m))}
		for _, a := range answerers {
			if m > a.most {
				row = append(row, "")
				continue
			}
			q, err := runOf(a.universe, m)
			if err != nil {
				return err
			}
			took, err := b.fastest(func() error { return a.answer(q) })
			if err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
			b.note("  m = %d: %s %.3g µs", m, a.name, took*1e6)
			chart.Add(a.name, float64(m), micro(took))
			row = append(row, took*1e6)
			if m >= 4096 && first[a.name] == [2]float64{} {
				first[a.name] = [2]float64{float64(m), took}
			}
			last[a.name] = [2]float64{float64(m), took}
		}
		t.Add(row...)
	}
	s.Draw(chart)
	s.Show("", t)
	linear := &report.Table{Head: []string{"mechanism", "from m", "to m", "time grows by m to the power", "million elements a second"}}
	for _, a := range answerers {
		f, l := first[a.name], last[a.name]
		if f[0] > 0 && l[0] > f[0] {
			linear.Add(a.name, f[0], l[0], math.Log(l[1]/f[1])/math.Log(l[0]/f[0]), l[0]/l[1]/1e6)
		}
	}
	if len(linear.Rows) > 0 {
		s.Show("power", linear)
	}
	return nil
}

// answerer is a mechanism ready to answer.
type answerer struct {
	name     string
	universe *query.Universe
	most     uint64 // the largest m to be timed
	answer   func(q query.Query) error
}

// baselineBits is log2 of the size of the dense baseline's universe.
func (b *bench) baselineBits() uint { return size[uint](b, 20, 12) }

func (b *bench) answerers(table *workload.Table, spend budget) ([]answerer, error) {
	src := noise.NewSource()
	var list []answerer
	for _, m := range []struct {
		name string
		most uint64
		p    func() (projection.Params, error)
	}{
		{"identity", 1 << 20, func() (projection.Params, error) {
			law, err := spend.laplace(1)
			return projection.Params{Transform: projection.Identity, Rows: table.Size(), Law: law, Bulk: true}, err
		}},
		{"heavy and light", 1 << 20, func() (projection.Params, error) {
			return planHeavy(table.Universe.Size(), table.Rows, b.buckets(), spend, src)
		}},
		{"sparse, no heavy part", 1 << 20, func() (projection.Params, error) {
			law, err := spend.laplace(1)
			return projection.Params{Transform: projection.Sparse, Rows: b.buckets(), Law: law, Bulk: true}, err
		}},
		{"dense, Gaussian, T = 256", 4096, func() (projection.Params, error) {
			law, err := denseGaussian(256, spend)
			return dense(256, law), err
		}},
	} {
		p, err := m.p()
		if err != nil {
			return nil, err
		}
		r, err := build(table, p, src)
		if err != nil {
			return nil, err
		}
		list = append(list, answerer{m.name, table.Universe, min(m.most, table.Size()), func(q query.Query) error {
			_, err := estimate(r, q)
			return err
		}})
	}
	h, err := trained(table.Universe, spend)
	if err != nil {
		return nil, err
	}
	list = append(list, answerer{"SMW's hypothesis", table.Universe, min(1<<16, table.Size()), func(q query.Query) error {
		h.Count(q)
		return nil
	}})
	line, err := workload.Line(1 << b.baselineBits())
	if err != nil {
		return nil, err
	}
	m := baseline.NewPMW(1<<b.baselineBits(), 1_000_000)
	p := baseline.PMWParams{Sigma: 1e-5, Eta: 1e-3, Threshold: 0, Updates: math.Inf(1)} // learns every query
	return append(list, answerer{"dense PMW, with an update", line, 1 << b.baselineBits(), func(q query.Query) error {
		_, _, err := m.Answer(q, 0, p, src)
		return err
	}}), nil
}

// trained returns a hypothesis after 50 updates of 1,000 elements each.
func trained(u *query.Universe, spend budget) (*smw.Hypothesis, error) {
	p := smw.Params{S: 1 << 40, MaxSupport: 1 << 20, MaxWeight: 1, NHat: 1_000_000, Update: smw.Projection, Floor: 1000, Replay: 500, Threshold: 1000}
	h := smw.NewHypothesis(p, u, nil)
	for i := range int64(50) {
		q, err := runFrom(u, uint64(i)*100, 1000)
		if err != nil {
			return nil, err
		}
		if err := h.Update(q, 9000+i*37%2000); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// runOf returns the query for m consecutive cells of a line.
func runOf(u *query.Universe, m uint64) (query.Query, error) { return runFrom(u, 0, m) }

func runFrom(u *query.Universe, from, m uint64) (query.Query, error) {
	d := u.Columns()[0].Domain
	low, err := d.Greater(query.Int(int64(from)), true)
	if err != nil {
		return query.Query{}, err
	}
	high, err := d.Less(query.Int(int64(from+m)), false)
	return query.Where(u, 0, low.Intersect(high)), err
}
