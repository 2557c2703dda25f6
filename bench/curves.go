package main

import (
	"fmt"
	"strings"

	"dpsql/bench/report"
	"dpsql/bench/workload"
)

// curve measures mechanisms at several values of one parameter and shows a chart
// and a table.
func (b *bench) curve(s *report.Section, chart *report.Chart, parameter string, values []float64,
	at func(v float64) (*workload.Workload, budget, []mechanism, error)) error {
	t := &report.Table{Head: []string{"RMS"}}
	for i, v := range values {
		w, spend, list, err := at(v)
		if err != nil {
			return err
		}
		b.note(" %s = %v", parameter, v)
		results, err := b.compare(w, spend, list)
		if err != nil {
			return err
		}
		t.Head = append(t.Head, parameter+" = "+report.Number(v))
		for j, r := range results {
			if i == 0 {
				t.Add(r.name)
			}
			t.Rows[j] = append(t.Rows[j], r.brief())
			if r.role != piece {
				chart.Add(r.name, v, r.rms)
			}
		}
		s.Say("%s = %s: %s %s", parameter, report.Number(v), verdict(results), earned(results))
	}
	s.Draw(chart)
	s.Show(t)
	return nil
}

// brief is the RMS, and in brackets the number that the mechanism was given and
// how many updates it made.
func (r result) brief() string {
	var more []string
	if r.setting != "" {
		more = append(more, r.setting)
	}
	if r.learns {
		more = append(more, r.learning())
	}
	if len(more) == 0 {
		return r.rms.String()
	}
	return fmt.Sprintf("%v (%s)", r.rms, strings.Join(more, "; "))
}

// midway are the three columns that most of the correlated workloads fix.
var midway = []int{0, 1, 3}

// short are the longest runs of values of the correlated workloads' columns.
var short = []uint64{3, 3, 3, 3}

// unaided are the mechanisms compared on the correlated table.
func (b *bench) unaided() []mechanism {
	return []mechanism{
		interactive(), onlyPrior(), b.paperInteractive(),
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
	s.Say("%s", b.aboutRuns())
	s.Say("%s", aboutParts)
	chart := &report.Chart{Name: "error-queries", Title: "RMS error against k: correlated table, ε = 1", X: "k, queries", Y: "RMS error in counts"}
	return b.curve(s, chart, "k", size(b, []float64{10, 100, 1000, 10_000}, []float64{10, 50}),
		func(k float64) (*workload.Workload, budget, []mechanism, error) {
			w, err := workload.Runs(table, midway, short, int(k), b.seed)
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
			w, err := workload.Runs(table, midway, short, size(b, 1000, 20), b.seed)
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
	list := []mechanism{identity(), heavyLight(b.memory(smallMemory)), sparse(1 << 13), interactive(), onlyPrior(), b.paperInteractive(),
		directGaussian(), b.calibratedPMW(), b.replayed(), stability(), zeros()}
	return b.curve(s, chart, "ε", size(b, []float64{0.1, 0.25, 0.5, 1, 2, 4}, []float64{0.5, 2}),
		func(e float64) (*workload.Workload, budget, []mechanism, error) {
			spend, err := newBudget(e)
			return w, spend, list, err
		})
}

// about says how many queries a workload has, how many of them differ, and how
// large they are.
func about(w *workload.Workload) string {
	return fmt.Sprintf("k = %s queries, %s of them different, m ≤ %s", report.Number(float64(len(w.Queries))),
		report.Number(float64(len(newDistinct(w).asked.Queries))), report.Number(float64(w.MaxSupport())))
}

// patient lets releases answer fewer queries where these are large: their answers
// are all alike, and slow.
func patient(list []mechanism, w *workload.Workload) []mechanism {
	for i := range list {
		if list[i].release && w.MaxSupport() > 1<<17 {
			list[i].most = 200
		}
	}
	return list
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
	s.Say(`The correlated table again, ε = 1, δ = 10⁻⁶. Its columns go together by pairs, which is what SMW's prior is learned from.`)
	s.Say("%s", b.aboutRuns())
	s.Say("%s", aboutParts)
	for _, c := range []struct {
		columns []int
		k       int
	}{{[]int{0, 1, 2, 3}, 20_000}, {midway, 20_000}, {[]int{2, 4}, 20_000}} {
		w, err := workload.Runs(table, c.columns, short, size(b, c.k, 20), b.seed)
		if err != nil {
			return err
		}
		b.note(" columns %v", c.columns)
		results, err := b.compare(w, spend, patient(b.unaided(), w))
		if err != nil {
			return err
		}
		s.Say("Columns %s, %s:", fmt.Sprint(c.columns), about(w))
		s.Show(tabulate(results))
		s.Say("%s", verdict(results))
		s.Say("%s", earned(results))
	}
	return nil
}
