package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"dpsql/bench/report"
	"dpsql/bench/workload"
	"dpsql/mechanisms/marginals"
	"dpsql/noise"
	"dpsql/noise/coin"
)

// confidence is that of the margins.
const confidence = 0.95

// The kinds of margins.
const (
	proven = iota
	simulated
	kinds
)

// classes are those of true counts, each from its least up to the next one.
var classes = []struct {
	least int64
	name  string
}{{0, "0"}, {1, "1 to 9"}, {10, "10 to 98"}, {99, "99 to 999"}, {1000, "1,000 and more"}}

// classOf returns the class of a count.
func classOf(count int64) (class int) {
	for i, c := range classes {
		if count >= c.least {
			class = i
		}
	}
	return class
}

// source is what a table is fitted to.
type source struct {
	name  string
	owns  bool // the release has proven margins of its own
	build func(*workload.Table, budget, *noise.Source) (*marginals.Release, error)
}

var (
	toMarginals = source{"marginals", true, func(t *workload.Table, spend budget, src *noise.Source) (*marginals.Release, error) {
		return buildMarginals(t, degree, spend, src)
	}}
	toCells = source{"identity", false, func(t *workload.Table, spend budget, src *noise.Source) (*marginals.Release, error) {
		_, fitted, err := buildIdentity(t, spend, src)
		return fitted, err
	}}
)

// margins counts how many true counts lie within the margins of both kinds. It measures
// how wide the margins are, and what the releases take.
func (b *bench) margins(s *report.Section) error {
	tables, err := b.fittedTables()
	if err != nil {
		return err
	}
	if !b.quick {
		more, err := workload.BlindToMargins(b.testdata + "/blind")
		if err != nil {
			return err
		}
		for _, t := range more {
			f, err := b.fittedTable(t, false)
			if err != nil {
				return err
			}
			tables = append(tables, f)
		}
	}
	head := []string{"table", "fitted to", "ε", "repetitions", "all"}
	for _, c := range classes {
		head = append(head, c.name)
	}
	head = append(head, "by fewer columns", "least of a query", "by chance")
	shares := [kinds]*report.Table{{Head: head}, {Head: head}}
	var low []string
	widths := &report.Table{Head: []string{"table", "fitted to", "ε", "identity's", "proven", "simulated"}}
	costs := &report.Table{Head: []string{"table", "fitted to", "cells", "build and fit, s", "simulations, s", "memory to build, MiB", "to simulate, MiB", "kept, MiB"}}
	for _, t := range tables {
		if err := t.addFewer(size(b, 5000, 100), b.seed); err != nil {
			return err
		}
		epsilons := size(b, []float64{0.01, 0.1, 1, 3}, []float64{1})
		if t.large() {
			epsilons = []float64{0.1, 1}
		}
		for _, epsilon := range epsilons {
			wide, err := medianOfIdentity(t, epsilon)
			if err != nil {
				return err
			}
			for _, from := range []source{toMarginals, toCells} {
				if !from.owns && (epsilon != 1 || t.large() || !marginals.CanFitCells(t.Universe)) {
					continue
				}
				h, err := b.held(t, from, epsilon)
				if err != nil {
					return fmt.Errorf("%s: %w", t.Name, err)
				}
				row := []any{t.Name, from.name, epsilon}
				low = append(low, h.low(fmt.Sprintf("%s, %s, ε = %v", t.Name, from.name, epsilon))...)
				shares[simulated].Add(append(append(row, len(h.hits[simulated])), h.shares(simulated)...)...)
				ownProven := "" // an identity release has margins of its own
				if from.owns {
					shares[proven].Add(append(append(row, len(h.hits[proven])), h.shares(proven)...)...)
					ownProven = report.Number(h.median(proven, allClasses))
				}
				widths.Add(append(row, wide, ownProven, h.median(simulated, allClasses))...)
				if epsilon == 1 {
					costs.Add(append([]any{t.Name, from.name, report.Number(float64(t.Size()))}, h.cost...)...)
				}
			}
		}
	}
	s.Say(`How often do margins of 95 %% hold, and how wide are they? They are those of the counts of 3-way marginals that the section before asks. A *proven* margin follows
from the law of the noise. A *simulated* one says how far eight simulated fits were off, and no theorem stands behind it. It is never wider than the proven one. No choice of simulated
margins was made on the last three tables (testdata/blind).`)
	s.Say(`Shares, in per cent, of true counts within proven margins: of all counts by three columns, of those of a size, and of counts by one and two columns. ± is the standard error
from release to release: errors of one release are not independent. "Least of a query" is the share of the repetitions in which the query that did worst was held; "by chance" what the worst
of so many queries has if each is held in 95 %% by itself.`)
	s.Show("proven", shares[proven])
	s.Say("The same for simulated margins, of tables fitted to marginals and to identity releases:")
	s.Show("simulated", shares[simulated])
	if len(low) > 0 {
		s.Say("**Simulated margins hold less than 94 %%** of the true counts of a size: %s.", strings.Join(low, "; "))
	}
	s.Say(`The median margin, in counts. "Identity's" is that of an identity release at the same ε:`)
	s.Show("widths", widths)
	s.Say("What the first release of each table took at ε = 1, in seconds of processor time and in growth of the heap. The simulations use both cores, so they take half of that:")
	s.Show("costs", costs)
	return b.onDemand(s)
}

// held says which true counts lay within the margins of releases.
type held struct {
	counts []int64
	three  int              // the first so many counts are by three columns; 0 for all
	caps   bool             // simulated margins are no wider than proven ones
	hits   [kinds][][]bool  // by release and query
	widths [kinds][]float64 // half-widths of all queries, of one release after the other
	cost   []any            // of the first release
}

// held builds releases and asks them the counts of a table.
func (b *bench) held(t fittedTable, from source, epsilon float64) (*held, error) {
	spend, err := newBudget(epsilon)
	if err != nil {
		return nil, err
	}
	h := &held{caps: from.owns, three: len(t.counts.Queries)}
	for rep := range t.marginRepetitions(epsilon) {
		r, cost, err := built(t, from, spend)
		if err != nil {
			return nil, err
		}
		if rep == 0 {
			h.cost = cost
		}
		h.begin()
		for _, w := range []*workload.Workload{t.counts, t.fewer} {
			for _, q := range w.Queries {
				if err := h.ask(r, q); err != nil {
					return nil, err
				}
			}
		}
	}
	b.note("  %-20s fitted to %s, ε = %v: within proven margins %s %%, within simulated %s %%", t.Name, from.name, epsilon, h.share(proven, allClasses), h.share(simulated, allClasses))
	return h, nil
}

// marginRepetitions returns how many releases margins are measured on: ten at a small ε, where
// the errors of one depend on each other most, and less of large tables.
func (f fittedTable) marginRepetitions(epsilon float64) int {
	switch {
	case f.large() && epsilon < 1:
		return 2
	case f.large():
		return 1
	case epsilon >= 1 || f.reps < 3:
		return f.repetitions(epsilon)
	case f.Size() > manyCells/10:
		return 5
	}
	return 10
}

// large reports whether a table takes seconds to fit and to simulate.
func (f fittedTable) large() bool { return f.Size() > manyCells/2 }

// addFewer adds the counts by one and two columns, or a sample of them.
func (f *fittedTable) addFewer(most int, seed uint64) error {
	one, err := workload.LowOrder(f.Table, 1)
	if err != nil {
		return err
	}
	if f.fewer, err = workload.LowOrder(f.Table, 2); err != nil {
		return err
	}
	f.fewer.Queries = append(one.Queries, f.fewer.Queries...)
	if len(f.fewer.Queries) > most {
		f.fewer = f.fewer.Sample(most, seed)
	}
	return nil
}

// built builds a release with its simulations, and says what that took.
func built(t fittedTable, from source, spend budget) (r *marginals.Release, cost []any, err error) {
	build, buildMemory := taken(func() { r, err = from.build(t.Table, spend, noise.NewSource()) })
	if err != nil {
		return nil, nil, err
	}
	simulate, simulateMemory := taken(func() { err = r.Simulate(context.Background(), coin.NewSource, nil) })
	if err != nil {
		return nil, nil, err
	}
	kept, err := r.MarshalBinary()
	return r, []any{build.Seconds(), simulate.Seconds(), mebibytes(buildMemory), mebibytes(simulateMemory), mebibytes(uint64(len(kept)))}, err
}

func mebibytes(n uint64) float64 { return float64(n) / (1 << 20) }

// taken runs work and returns its processor time, and by how much the heap grew beyond
// what was there.
func taken(work func()) (time.Duration, uint64) {
	runtime.GC()
	before := heap()
	most, done, watched := before, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for tick := time.NewTicker(2 * time.Millisecond); ; {
			select {
			case <-tick.C:
				most = max(most, heap())
			case <-done:
				tick.Stop()
				return
			}
		}
	}()
	start := clock()
	work()
	took := clock() - start
	close(done)
	<-watched
	return took, max(most, heap()) - before
}

// heap returns the bytes of objects that are in use, or were and are not yet swept.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// begin begins with another release.
func (h *held) begin() {
	for kind := range h.hits {
		h.hits[kind] = append(h.hits[kind], nil)
	}
}

// ask asks a release the next query. All releases are asked the same in one order.
func (h *held) ask(r *marginals.Release, q workload.Query) error {
	if len(h.hits[proven]) == 1 {
		h.counts = append(h.counts, q.Count)
	}
	a, err := r.Answer(context.Background(), q.Query, confidence)
	if err != nil {
		return err
	}
	m, err := r.SimulatedMargin(q.Query, confidence)
	if err != nil {
		return err
	}
	m = math.Floor(m)
	if h.caps {
		m = min(m, a.Margin)
	}
	count := float64(q.Count)
	h.add(proven, a.Low <= count && count <= a.High, (a.High-a.Low)/2)
	h.add(simulated, math.Abs(float64(a.Value)-count) <= m, m)
	return nil
}

func (h *held) add(kind int, hit bool, width float64) {
	last := &h.hits[kind][len(h.hits[kind])-1]
	*last = append(*last, hit)
	h.widths[kind] = append(h.widths[kind], width)
}

// Classes beside those of a size.
const (
	allClasses = -1 // of all counts by three columns
	fewer      = -2 // of those by fewer
)

// within reports whether the i-th count is of a class.
func (h *held) within(i, class int) bool {
	if h.three > 0 && i >= h.three {
		return class == fewer
	}
	return class == allClasses || class == classOf(h.counts[i])
}

// shares returns a row: the shares of all counts, of each class and of counts by fewer columns,
// that of the query that was hit least, and what the latter would be by chance.
func (h *held) shares(kind int) (row []any) {
	for class := allClasses; class < len(classes); class++ {
		row = append(row, h.share(kind, class))
	}
	reps := len(h.hits[kind])
	least := reps
	for i := range h.counts {
		hits := 0
		for _, of := range h.hits[kind] {
			if of[i] {
				hits++
			}
		}
		least = min(least, hits)
	}
	percent := func(hits int) string { return report.Number(100 * float64(hits) / float64(reps)) }
	return append(row, h.share(kind, fewer), percent(least), percent(report.LeastHits(len(h.counts), reps, confidence)))
}

// share returns the share of a class of counts that lay within margins, in per cent, with
// its standard error from release to release. It is empty for no counts.
func (h *held) share(kind, class int) string {
	mean, off, n := h.hold(kind, class)
	switch {
	case n == 0:
		return ""
	case math.IsNaN(off):
		return fmt.Sprintf("%.1f", 100*mean)
	}
	return fmt.Sprintf("%.1f ± %.1f", 100*mean, 100*off)
}

// hold returns which share of the counts of a class lay within margins, its standard error,
// NaN for one release, and of how many answers it is.
func (h *held) hold(kind, class int) (mean, off float64, n int) {
	sum, squares, releases := 0.0, 0.0, float64(len(h.hits[kind]))
	for _, of := range h.hits[kind] {
		hits, all := 0.0, 0.0
		for i, hit := range of {
			if h.within(i, class) {
				if all++; hit {
					hits++
				}
			}
		}
		sum, squares, n = sum+hits/all, squares+hits/all*hits/all, n+int(all)
	}
	mean = sum / releases
	if releases < 2 {
		return mean, math.NaN(), n
	}
	return mean, math.Sqrt(max(0, squares/releases-mean*mean) / (releases - 1)), n
}

// median returns the median half-width of a class.
func (h *held) median(kind, class int) float64 {
	var of []float64
	for i, width := range h.widths[kind] {
		if h.within(i%len(h.counts), class) {
			of = append(of, width)
		}
	}
	return median(of)
}

// low names the classes of at least 500 answers of which simulated margins hold less than
// 94 %.
func (h *held) low(name string) (found []string) {
	for class, c := range classes {
		if mean, _, n := h.hold(simulated, class); n >= 500 && mean < 0.94 {
			found = append(found, fmt.Sprintf("%s, %s: %s", name, c.name, h.share(simulated, class)))
		}
	}
	return found
}

// medianOfIdentity returns the median of an identity release's margins on the counts.
func medianOfIdentity(t fittedTable, epsilon float64) (float64, error) {
	spend, err := newBudget(epsilon)
	if err != nil {
		return 0, err
	}
	raw, err := buildRaw(t.Table, spend, noise.NewSource())
	if err != nil {
		return 0, err
	}
	known := make(map[uint64]float64) // by support
	var all []float64
	for _, q := range t.counts.Queries {
		m := q.Size().Uint64()
		if _, ok := known[m]; !ok {
			if known[m], err = raw.Predict(q.Query, confidence); err != nil {
				return 0, err
			}
		}
		all = append(all, math.Floor(known[m]))
	}
	return median(all), nil
}

// median returns the median of values.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
