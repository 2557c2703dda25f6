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
	build func(*workload.Table, budget, *noise.Source) (*marginals.Release, error)
}

var (
	toMarginals = source{"marginals", func(t *workload.Table, spend budget, src *noise.Source) (*marginals.Release, error) {
		return buildMarginals(t, degree, spend, src)
	}}
	toCells = source{"identity", func(t *workload.Table, spend budget, src *noise.Source) (*marginals.Release, error) {
		_, fitted, err := buildIdentity(t, spend, src)
		return fitted, err
	}}
)

// margins counts how many true counts lie within the margins of both kinds. It measures
// how wide the margins are, and what the releases take.
func (b *bench) margins(s *report.Section, tables []fittedTable) error {
	head := []string{"table", "fitted to", "ε", "repetitions", "all"}
	for _, c := range classes {
		head = append(head, c.name)
	}
	head = append(head, "least of a query", "by chance")
	shares := [kinds]*report.Table{{Head: head}, {Head: head}}
	var low []string
	widths := &report.Table{Head: []string{"table", "fitted to", "ε", "identity's", "proven", "simulated"}}
	costs := &report.Table{Head: []string{"table", "fitted to", "cells", "build and fit, s", "simulations, s", "memory to build, MiB", "to simulate, MiB", "kept, MiB"}}
	for _, t := range tables {
		for _, epsilon := range size(b, []float64{0.1, 1, 3}, []float64{1}) {
			wide, err := medianOfIdentity(t, epsilon)
			if err != nil {
				return err
			}
			for _, from := range []source{toMarginals, toCells} {
				if from.name == toCells.name && (epsilon != 1 || t.Size() > manyCells || !marginals.CanFitCells(t.Universe)) {
					continue
				}
				h, err := b.held(t, from, epsilon)
				if err != nil {
					return fmt.Errorf("%s: %w", t.Name, err)
				}
				row := []any{t.Name, from.name, epsilon}
				low = append(low, h.low(fmt.Sprintf("%s, %s, ε = %v", t.Name, from.name, epsilon))...)
				shares[simulated].Add(append(append(row, h.reps), h.shares(simulated)...)...)
				ownProven := "" // an identity release has margins of its own
				if from.name == toMarginals.name {
					shares[proven].Add(append(append(row, h.reps), h.shares(proven)...)...)
					ownProven = report.Number(median(h.widths[proven]))
				}
				widths.Add(append(row, wide, ownProven, median(h.widths[simulated]))...)
				if epsilon == 1 {
					costs.Add(append([]any{t.Name, from.name, report.Number(float64(t.Size()))}, h.cost...)...)
				}
			}
		}
	}
	s.Say(`How often do margins of 95 %% hold, and how wide are they? They are those of the same counts of 3-way marginals. A *proven* margin follows from the law of the
noise. A *simulated* one says how far eight simulated fits were off, and no theorem stands behind it.`)
	s.Say(`Shares, in per cent, of true counts within proven margins: of all counts, and of those of a size. "Least of a query" is the share of the repetitions in which the query that did worst was held;
"by chance" what the worst of so many queries has if each is held in 95 %% by itself. Errors of one release are not independent, so a share of all counts varies by some per mille.`)
	s.Show(shares[proven])
	s.Say("The same for simulated margins, of tables fitted to marginals and to identity releases:")
	s.Show(shares[simulated])
	if len(low) > 0 {
		s.Say("**Simulated margins hold less than 94 %%** of the true counts of a size: %s.", strings.Join(low, "; "))
	}
	s.Say(`The median margin, in counts. "Identity's" is that of an identity release at the same ε:`)
	s.Show(widths)
	s.Say("What the first release of each table took at ε = 1, in seconds on the wall and in growth of the heap. The simulations use both cores:")
	s.Show(costs)
	return nil
}

// held says which true counts lay within the margins of releases.
type held struct {
	counts []int64
	reps   int
	hits   [kinds][]int     // by query
	widths [kinds][]float64 // half-widths of all queries, of one repetition after the other
	cost   []any            // of the first release
}

// held builds releases and asks them the counts of a table.
func (b *bench) held(t fittedTable, from source, epsilon float64) (*held, error) {
	spend, err := newBudget(epsilon)
	if err != nil {
		return nil, err
	}
	h := &held{reps: t.repetitions(epsilon)}
	for rep := range h.reps {
		r, cost, err := built(t, from, spend)
		if err != nil {
			return nil, err
		}
		if rep == 0 {
			h.cost = cost
		}
		for i, q := range t.counts.Queries {
			if err := h.ask(r, i, q); err != nil {
				return nil, err
			}
		}
	}
	b.note("  %-20s fitted to %s, ε = %v: within proven margins %s %%, within simulated %s %%", t.Name, from.name, epsilon, h.share(proven, -1), h.share(simulated, -1))
	return h, nil
}

// built builds a release with its simulations, and says what that took.
func built(t fittedTable, from source, spend budget) (r *marginals.Release, cost []any, err error) {
	build, buildMemory := taken(func() { r, err = from.build(t.Table, spend, noise.NewSource()) })
	if err != nil {
		return nil, nil, err
	}
	simulate, simulateMemory := taken(func() { err = r.Simulate(context.Background(), noise.NewSource, nil) })
	if err != nil {
		return nil, nil, err
	}
	kept, err := r.MarshalBinary()
	return r, []any{build.Seconds(), simulate.Seconds(), mebibytes(buildMemory), mebibytes(simulateMemory), mebibytes(uint64(len(kept)))}, err
}

func mebibytes(n uint64) float64 { return float64(n) / (1 << 20) }

// taken runs work and returns its time on the wall, and by how much the heap grew beyond
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
	start := time.Now()
	work()
	took := time.Since(start)
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

// ask asks a release the i-th query. The first release is asked all of them in order.
func (h *held) ask(r *marginals.Release, i int, q workload.Query) error {
	if i == len(h.counts) {
		h.counts = append(h.counts, q.Count)
		for kind := range h.hits {
			h.hits[kind] = append(h.hits[kind], 0)
		}
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
	count := float64(q.Count)
	h.add(proven, i, a.Low <= count && count <= a.High, (a.High-a.Low)/2)
	h.add(simulated, i, math.Abs(float64(a.Value)-count) <= m, m)
	return nil
}

func (h *held) add(kind, query int, hit bool, width float64) {
	if hit {
		h.hits[kind][query]++
	}
	h.widths[kind] = append(h.widths[kind], width)
}

// shares returns a row: the shares of all counts and of each class in per cent, that of
// the query that was hit least, and what the latter would be by chance.
func (h *held) shares(kind int) (row []any) {
	for class := -1; class < len(classes); class++ {
		row = append(row, h.share(kind, class))
	}
	percent := func(hits int) string { return report.Number(100 * float64(hits) / float64(h.reps)) }
	return append(row, percent(slices.Min(h.hits[kind])), percent(report.LeastHits(len(h.counts), h.reps, confidence)))
}

// share returns the share of a class of counts, or of all of them for -1, that lay within
// margins, in per cent. It is empty for no counts.
func (h *held) share(kind, class int) string {
	hits, n := h.hold(kind, class)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", 100*float64(hits)/float64(n))
}

// hold returns how many counts of a class lay within margins, and of how many.
func (h *held) hold(kind, class int) (hits, n int) {
	for i, count := range h.counts {
		if class < 0 || classOf(count) == class {
			hits, n = hits+h.hits[kind][i], n+h.reps
		}
	}
	return hits, n
}

// median returns the median half-width of a class.
func (h *held) median(kind, class int) float64 {
	var of []float64
	for i, width := range h.widths[kind] {
		if classOf(h.counts[i%len(h.counts)]) == class {
			of = append(of, width)
		}
	}
	return median(of)
}

// low names the classes of at least 500 answers of which simulated margins hold less than
// 94 %.
func (h *held) low(name string) (found []string) {
	for class, c := range classes {
		if hits, n := h.hold(simulated, class); n >= 500 && float64(hits) < 0.94*float64(n) {
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
