package main

import (
	"fmt"

	"dpsql/bench/report"
	"dpsql/bench/workload"
)

// curve measures mechanisms at several values of one parameter and shows a chart
// and a table.
func (b *bench) curve(s *report.Section, chart *report.Chart, parameter string, values []float64,
	at func(v float64) (*workload.Workload, budget, []mechanism, error)) error {
	t := &report.Table{}
	for _, v := range values {
		w, spend, list, err := at(v)
		if err != nil {
			return err
		}
		b.note(" %s = %v", parameter, v)
		results, err := b.compare(w, spend, list)
		if err != nil {
			return err
		}
		if t.Head == nil {
			t.Head = append([]string{parameter}, mechanismNames(list)...)
		}
		row := []any{report.Number(v)}
		for _, r := range results {
			chart.Add(r.name, v, r.rms)
			row = append(row, r.rms)
		}
		t.Add(row...)
		s.Say("%s = %s: %s", parameter, report.Number(v), verdict(results))
	}
	s.Draw(chart)
	s.Show(t)
	return nil
}

// midway are the three columns that most of the correlated workloads fix.
var midway = []int{0, 1, 3}

// unaided are the mechanisms compared on the correlated table.
func (b *bench) unaided() []mechanism {
	return []mechanism{
		interactive(), paperInteractive(1000),
		directGaussian(), directLaplace(), identity(), heavyLight(b.memory(smallMemory)), stability(), zeros(),
	}
}

func (b *bench) queries(s *report.Section) error {
	table, err := b.correlated(size[int64](b, 1_000_000, 10_000))
	if err != nil {
		return err
	}
	s.Say(`The correlated table: six columns of 50·50·20·10·7·2 values, n = %s (seed %d); each row draws a component c of 0 to 4, and column j of domain d is
(⌊|N(0,1)|·d/5⌋ + ⌊c·d/5⌋) mod d. Queries fix columns 0, 1 and 3 to runs of one to three values: m ≤ 7,560. ε = 1, δ = 10⁻⁶, all of it for the mechanism.`,
		report.Number(float64(table.Rows)), b.seed)
	s.Say("%s", aboutRuns)
	chart := &report.Chart{Name: "error-queries", Title: "RMS error against k: correlated table, ε = 1", X: "k, queries", Y: "RMS error in counts"}
	return b.curve(s, chart, "k", size(b, []float64{10, 100, 1000, 10_000}, []float64{10, 50}),
		func(k float64) (*workload.Workload, budget, []mechanism, error) {
			w, err := workload.Runs(table, midway, int(k), b.seed)
			if err != nil {
				return nil, budget{}, nil, err
			}
			spend, err := newBudget(1)
			return w, spend, b.unaided(), err
		})
}

func (b *bench) rows(s *report.Section) error {
	s.Say(`The correlated table with n rows, 1,000 queries that fix columns 0, 1 and 3; ε = 1, δ = 10⁻⁶. Errors in counts: divide by n for fractions.`)
	chart := &report.Chart{Name: "error-rows", Title: "RMS error against n: correlated table, k = 1,000, ε = 1", X: "n, rows", Y: "RMS error in counts"}
	return b.curve(s, chart, "n", size(b, []float64{1e4, 1e5, 1e6, 1e7}, []float64{1e3, 1e4}),
		func(n float64) (*workload.Workload, budget, []mechanism, error) {
			table, err := b.correlated(int64(n))
			if err != nil {
				return nil, budget{}, nil, err
			}
			w, err := workload.Runs(table, midway, size(b, 1000, 20), b.seed)
			if err != nil {
				return nil, budget{}, nil, err
			}
			spend, err := newBudget(1)
			return w, spend, b.unaided(), err
		})
}

func (b *bench) epsilon(s *report.Section) error {
	w, err := b.adultWorkload()
	if err != nil {
		return err
	}
	s.Say(`W2, 5,000 conjunctions on Adult, δ = 10⁻⁶.`)
	chart := &report.Chart{Name: "error-epsilon", Title: "RMS error against ε: 5,000 conjunctions on Adult", X: "ε", Y: "RMS error in counts"}
	list := []mechanism{identity(), heavyLight(b.memory(smallMemory)), sparse(1 << 13), interactive(), paperInteractive(200),
		directGaussian(), calibratedPMW(200), mwem("MWEM, T = 10, 10 replays", 10, 10), stability(), zeros()}
	return b.curve(s, chart, "ε", size(b, []float64{0.1, 0.25, 0.5, 1, 2, 4}, []float64{0.5, 2}),
		func(e float64) (*workload.Workload, budget, []mechanism, error) {
			spend, err := newBudget(e)
			return w, spend, list, err
		})
}

// wide is the correlated workload at its full number of queries, for three sets
// of columns and so three sizes of support.
func (b *bench) wide(s *report.Section) error {
	table, err := b.correlated(size[int64](b, 1_000_000, 10_000))
	if err != nil {
		return err
	}
	spend, err := newBudget(1)
	if err != nil {
		return err
	}
	s.Say(`The correlated table again, ε = 1, δ = 10⁻⁶. On columns 0, 1 and 3 SMW is to have at most half the RMS of direct answers with the same budget, and at most
their maximum, and everywhere less than the paper's update from a uniform start.`)
	for _, c := range []struct {
		columns []int
		k       int
	}{{[]int{0, 1, 2, 3}, 20_000}, {midway, 20_000}, {[]int{2, 4}, 20_000}} {
		w, err := workload.Runs(table, c.columns, size(b, c.k, 20), b.seed)
		if err != nil {
			return err
		}
		b.note(" columns %v", c.columns)
		list := b.unaided()
		for i := range list {
			if list[i].release && w.MaxSupport() > 1<<17 {
				list[i].most = 200 // whose answers are all alike, and slow
			}
		}
		results, err := b.compare(w, spend, list)
		if err != nil {
			return err
		}
		s.Say("Columns %s, k = %s, m ≤ %s:", fmt.Sprint(c.columns), report.Number(float64(len(w.Queries))), report.Number(float64(w.MaxSupport())))
		s.Show(tabulate(results))
		s.Say("%s", verdict(results))
	}
	return nil
}
