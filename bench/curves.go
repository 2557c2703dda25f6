package main

import (
	"fmt"
	"math"
	"strings"

	"dpsql/bench/report"
	"dpsql/bench/workload"
	"dpsql/mechanisms/smw"
	"dpsql/noise/law"
)

// support plots the error against the sparsity m, for queries that list cells of
// Zipf(1.05) over 2^26 cells.
func (b *bench) support(s *report.Section) error {
	table, err := b.zipf()
	if err != nil {
		return err
	}
	spend, err := newBudget(1)
	if err != nil {
		return err
	}
	k := size(b, 100, 20)
	s.Say(`Zipf(1.05) over 2^26 cells, n = 10⁶ (seed %d); queries that list m cells drawn from the occupied ones; ε = 1, δ = 10⁻⁶. A release answers any number of
queries, the one with heavy cells from 64 MiB, what identity takes; direct answers share the budget among %d. The baselines that hold a weight for each of the 2^26 cells are left out here: see "Time and error against
|X|".`, b.seed, k)
	list := []mechanism{identity(), heavyLight(b.memory(someMemory)), sparse(b.buckets()), gaussianDense(size[uint64](b, 256, 64)), paperDense(size[uint64](b, 256, 64)), directGaussian(), directLaplace(), stability(), zeros()}
	chart := newChart("error-support")
	t := &report.Table{Head: append([]string{"m"}, mechanismNames(list)...)}
	t.Head = append(t.Head, "exact noise")
	supports := size(b, []int{1, 4, 16, 64, 256, 1024, 4096}, []int{1, 16})
	parts, err := b.points(table, []workload.Family{workload.Occupied}, supports, func(int) int { return k })
	if err != nil {
		return err
	}
	all, err := b.compareAll(parts, spend, list)
	if err != nil {
		return err
	}
	for i, m := range supports {
		row := []any{m}
		for _, r := range all[i] {
			chart.Add(r.name, float64(m), r.rms)
			row = append(row, r.rms)
		}
		exact := exactNoise(spend, m)
		chart.Refer("exact noise √(m·Var)", float64(m), exact)
		t.Add(append(row, exact)...)
	}
	s.Draw(chart)
	s.Show("", t)
	for i, m := range supports {
		s.Say("m = %s: %s", report.Number(float64(m)), verdict(all[i]))
	}
	return nil
}

// buckets is T, the number of buckets of the sparse releases.
func (b *bench) buckets() uint64 { return size[uint64](b, 1<<23, 1<<14) }

// exactNoise returns √(m·Var DLap(1/ε)), the error of a table of unlimited size.
func exactNoise(spend budget, m int) float64 {
	law, err := law.NewLaplace(spend.epsilonScale())
	if err != nil {
		return math.NaN()
	}
	return math.Sqrt(float64(m) * law.Variance())
}

func mechanismNames(list []mechanism) (names []string) {
	for _, m := range list {
		names = append(names, m.name)
	}
	return names
}

// ratio tabulates the releases' errors divided by those of an unlimited table.
func (b *bench) ratio(s *report.Section) error {
	tables, err := b.lines()
	if err != nil {
		return err
	}
	spend, err := newBudget(1)
	if err != nil {
		return err
	}
	s.Say(`RMS error over √(m·Var DLap(1/ε)), the error of a noisy count for every cell, at ε = 1, δ = 10⁻⁶, for queries that list m cells drawn from the universe, from the
occupied cells, or half of them by rows. The aim is at most 1.10 for the first two, 1.20 for the third, and 1.02 for identity. Heavy and light have the product's defaults, at most 256 MiB.`)
	t := &report.Table{Head: []string{"table", "mechanism", "cells drawn", "m = 1", "m = 16", "m = 256", "m = 4096"}}
	for _, table := range tables {
		list := []mechanism{heavyLight(b.memory(fullMemory)), sparse(b.buckets())}
		if table.Size() <= 1<<26 {
			list = append(list, identity())
		}
		b.note(" %s", table.Name)
		if err := b.ratios(t, table, list, spend); err != nil {
			return err
		}
	}
	s.Show("", t)
	return nil
}

// ratios adds a row for each mechanism and family of queries.
func (b *bench) ratios(t *report.Table, table *workload.Table, list []mechanism, spend budget) error {
	families := []workload.Family{workload.Uniform, workload.Occupied, workload.ByRows}
	supports := []int{1, 16, 256, 4096}
	parts, err := b.points(table, families, supports, func(m int) int { return size(b, max(400, 1<<17/m), 10) })
	if err != nil {
		return err
	}
	all, err := b.compareAll(parts, spend, list)
	if err != nil {
		return err
	}
	for i, f := range families {
		for j, m := range list {
			row := []any{table.Name, m.name, string(f)}
			for k, support := range supports {
				rms, exact := all[i*len(supports)+k][j].rms, exactNoise(spend, support)
				row = append(row, report.Estimate{Mean: rms.Mean / exact, Half: rms.Half / exact, N: rms.N})
			}
			t.Add(row...)
		}
	}
	return nil
}

// points returns a workload of k(m) queries for each family and support. A few cells
// that collide with large ones make up much of the error, so it takes many cells to see
// some.
func (b *bench) points(table *workload.Table, families []workload.Family, supports []int, k func(m int) int) ([]*workload.Workload, error) {
	var parts []*workload.Workload
	for _, f := range families {
		for _, m := range supports {
			w, err := workload.Points(table, f, m, k(m), b.seed+uint64(m))
			if err != nil {
				return nil, err
			}
			w.Name = fmt.Sprintf("%s, m = %d", f, m)
			parts = append(parts, w)
		}
	}
	return parts, nil
}

// lines returns the tables of the ratio experiment, each over a universe of one column.
func (b *bench) lines() ([]*workload.Table, error) {
	zipf, err := b.zipf()
	if err != nil {
		return nil, err
	}
	flights, err := workload.Flights(b.testdata+"/flights/flights.csv.gz", b.testdata+"/flights/airports.csv")
	if err != nil {
		return nil, err
	}
	adult, err := workload.Adult(b.testdata + "/adult/adult.csv")
	if err != nil {
		return nil, err
	}
	out := []*workload.Table{zipf, flights, adult}
	for i := range out {
		if out[i], err = out[i].OnLine(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

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
	s.Show("", t)
	return nil
}

// brief returns the RMS, followed in brackets by the mechanism's setting and the number
// of its updates.
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
	chart := newChart("error-queries")
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
	chart := newChart("error-rows")
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
	chart := newChart("error-epsilon")
	list := []mechanism{identity(), heavyLight(b.memory(smallMemory)), sparse(1 << 13), interactive(), onlyPrior(), b.paperInteractive(),
		directGaussian(), b.calibratedPMW(), b.replayed(), stability(), zeros()}
	return b.curve(s, chart, "ε", size(b, []float64{0.1, 0.25, 0.5, 1, 2, 4}, []float64{0.5, 2}),
		func(e float64) (*workload.Workload, budget, []mechanism, error) {
			spend, err := newBudget(e)
			return w, spend, list, err
		})
}

// about describes a workload: how many queries it has, how many differ, and how large
// they are.
func about(w *workload.Workload) string {
	return fmt.Sprintf("k = %s queries, %s of them different, m ≤ %s", report.Number(float64(len(w.Queries))),
		report.Number(float64(len(newDistinct(w).asked.Queries))), report.Number(float64(w.MaxSupport())))
}

// patient lets releases answer fewer queries of large support. Their errors are all
// alike, and their answers slow.
func patient(list []mechanism, w *workload.Workload) []mechanism {
	for i := range list {
		if list[i].release && w.MaxSupport() > 1<<17 {
			list[i].most = 200
		}
	}
	return list
}

// wide is the correlated workload at its full number of queries, for three sets of
// columns and so for three sizes of support.
func (b *bench) wide(s *report.Section) error {
	table, err := b.correlated(size[int64](b, 1_000_000, 10_000))
	if err != nil {
		return err
	}
	spend, err := newBudget(1)
	if err != nil {
		return err
	}
	s.Say(`The correlated table again, ε = 1, δ = 10⁻⁶. Its columns correlate in pairs, and SMW's prior is fitted to pairs.`)
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
		s.Show("columns"+strings.Trim(strings.ReplaceAll(fmt.Sprint(c.columns), " ", ""), "[]"), tabulate(results))
		s.Say("%s", verdict(results))
		s.Say("%s", earned(results))
	}
	return nil
}

// halves are the longest runs of values of the parity workload's columns.
var halves = []uint64{16, 16, 1}

// A hypothesis of this many updates is slow, and the errors vary little.
const parityReps, manyReps = 5, 2

// parity is a workload that SMW's prior says nothing about: pairs of columns, from
// which the prior is learned, carry no information.
func (b *bench) parity(s *report.Section) error {
	values := size[int64](b, workload.ParityValues, 16)
	table, err := workload.Parity(size[int64](b, 1_000_000, 10_000), values, b.seed)
	if err != nil {
		return err
	}
	spend, err := newBudget(1)
	if err != nil {
		return err
	}
	s.Say(`Five columns a, b, c, d, e of 32·32·2·%d·32 values, n = %s (seed %d). A value is high if it is in the upper half of its domain. c is high where exactly one of a and b is, and e where
exactly one of c and d is, except in a tenth of the rows. Every two columns are independent and uniform. The three columns a, b, c are not, nor are c, d, e. So the counts of pairs say
nothing, and only updates learn about the rows. Queries fix a and b to runs of one to 16 values, and c to a value. ε = 1, δ = 10⁻⁶.`, values, report.Number(float64(table.Rows)), b.seed)
	s.Say("%s", b.aboutRuns())
	s.Say(`%s "SMW, B searched" is given the best B of the same list, from its prior and from a uniform start.`, aboutParts)
	w, err := workload.Runs(table, []int{0, 1, 2}, halves, size(b, 20_000, 20), b.seed)
	if err != nil {
		return err
	}
	list := []mechanism{
		interactive(), onlyPrior(), b.searched("SMW, B searched", smw.Request{Prior: true}),
		online("SMW, uniform start", ours, smw.Request{}), b.searched("SMW, uniform start, B searched", smw.Request{}), b.paperInteractive(),
		directGaussian(), directLaplace(), identity(), heavyLight(b.memory(smallMemory)), stability(), zeros(),
	}
	few := *b
	few.reps = min(b.reps, parityReps)
	results, err := few.compare(w, spend, patient(list, w))
	if err != nil {
		return err
	}
	s.Say("%s, in %d repetitions:", about(w), few.reps)
	s.Show("", tabulate(results))
	s.Say("%s", verdict(results))
	s.Say("%s", earned(results))
	return b.manyParity(s, table, spend)
}

// searched is SMW for a request, with the best number of runs.
func (b *bench) searched(name string, r smw.Request) mechanism {
	return tuned(name, ours, "B", b.runs(), func(runs int) mechanism {
		r.MaxUpdates = int64(runs)
		return online("", ours, r)
	})
}

// manyParity asks many more of the same queries, so that each direct answer gets a
// small part of the budget.
func (b *bench) manyParity(s *report.Section, table *workload.Table, spend budget) error {
	w, err := workload.Runs(table, []int{0, 1, 2}, halves, size(b, 200_000, 40), b.seed)
	if err != nil {
		return err
	}
	few := *b
	few.reps = min(b.reps, manyReps)
	results, err := few.compare(w, spend, patient([]mechanism{
		online("SMW, B = 200", ours, smw.Request{Prior: true, MaxUpdates: 200}), onlyPrior(), directGaussian(), identity(), zeros(),
	}, w))
	if err != nil {
		return err
	}
	s.Say("The same with more queries, %s, in %d repetitions:", about(w), few.reps)
	s.Show("more", tabulate(results))
	s.Say("%s", verdict(results))
	return nil
}
