package main

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"dpsql/bench/report"
	"dpsql/bench/workload"
	"dpsql/noise"
)

// outcome is how far off a mechanism was on a workload, in counts, over
// independent repetitions with fresh noise.
type outcome struct {
	max, rms, p95 report.Estimate
	answered      int // queries
}

// misses are the errors of one repetition.
type misses struct{ max, rms, p95 float64 }

// workers is how many repetitions run at a time.
const workers = 2

// measure runs a mechanism on workloads of one table, b.reps times, and returns
// an outcome for each. A release answers all of them from one build, any other
// mechanism has the whole budget for each.
func (b *bench) measure(m mechanism, parts []*workload.Workload, spend budget) ([]outcome, error) {
	if !m.release && len(parts) > 1 {
		var all []outcome
		for _, w := range parts {
			o, err := b.measure(m, []*workload.Workload{w}, spend)
			if err != nil {
				return nil, err
			}
			all = append(all, o...)
		}
		return all, nil
	}
	if m.most > 0 {
		parts = slices.Clone(parts)
		for i, w := range parts {
			parts[i] = w.First(m.most)
		}
	}
	reps, err := b.repeat(func() ([]misses, error) { return once(m, parts, spend) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	outcomes := make([]outcome, len(parts))
	for i, w := range parts {
		var of []misses
		for _, r := range reps {
			of = append(of, r[i])
		}
		outcomes[i] = summarise(of)
		outcomes[i].answered = len(w.Queries)
		b.note("  %-30s %-12s RMS %-18v max %-18v", m.name, w.Name, outcomes[i].rms, outcomes[i].max)
	}
	return outcomes, nil
}

// repeat calls once b.reps times, on two cores.
func (b *bench) repeat(once func() ([]misses, error)) ([][]misses, error) {
	all := make([][]misses, b.reps)
	failures := make([]error, b.reps)
	var wg sync.WaitGroup
	turn := make(chan struct{}, workers)
	for i := range b.reps {
		wg.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			all[i], failures[i] = once()
		})
	}
	wg.Wait()
	for _, err := range failures {
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// once answers the workloads once.
func once(m mechanism, parts []*workload.Workload, spend budget) ([]misses, error) {
	all := &workload.Workload{Table: parts[0].Table}
	for _, w := range parts {
		all.Queries = append(all.Queries, w.Queries...)
	}
	answers, err := m.answer(all, spend, noise.NewSource())
	if err != nil {
		return nil, err
	}
	var each []misses
	for _, w := range parts {
		each = append(each, errorsOf(answers[:len(w.Queries)], w.Queries))
		answers = answers[len(w.Queries):]
	}
	return each, nil
}

// errorsOf compares answers with true counts.
func errorsOf(answers []float64, queries []workload.Query) misses {
	off := make([]float64, len(answers))
	squares := 0.0
	for i, a := range answers {
		off[i] = math.Abs(a - float64(queries[i].Count))
		squares += off[i] * off[i]
	}
	slices.Sort(off)
	return misses{
		max: off[len(off)-1], rms: math.Sqrt(squares / float64(len(off))),
		p95: off[max(0, int(math.Ceil(0.95*float64(len(off))))-1)],
	}
}

func summarise(all []misses) outcome {
	each := func(field func(misses) float64) (values []float64) {
		for _, e := range all {
			values = append(values, field(e))
		}
		return values
	}
	return outcome{
		max: report.Of(each(func(e misses) float64 { return e.max })), rms: report.RootMeanSquare(each(func(e misses) float64 { return e.rms })),
		p95: report.Of(each(func(e misses) float64 { return e.p95 })),
	}
}
