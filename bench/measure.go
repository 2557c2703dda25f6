package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"dpsql/bench/report"
	"dpsql/bench/workload"
	"dpsql/noise"
)

// outcome is the error of a mechanism on a workload, in counts, over independent
// repetitions with fresh noise.
type outcome struct {
	max, rms, p95 report.Estimate
	answered      int // number of queries
	setting       string

	learns              bool
	updates, unverified report.Estimate
	before              *outcome // the same repetitions without their updates; nil if not known
}

// misses are the errors of one repetition.
type misses struct {
	max, rms, p95 float64
	learned       *learned
	before        *misses
}

// workers is the number of repetitions that run at a time.
const workers = 2

// measure runs a mechanism on workloads of one table, b.reps times, and returns an
// outcome for each workload. A release answers all of them from one build; any other
// mechanism has the whole budget for each. A mechanism with settings is measured with
// the best one for each.
func (b *bench) measure(m mechanism, parts []*workload.Workload, spend budget) ([]outcome, error) {
	if (!m.release || m.settings != nil) && len(parts) > 1 {
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
	if m.settings != nil {
		return b.search(m, parts[0], spend)
	}
	if m.most > 0 {
		parts = slices.Clone(parts)
		for i, w := range parts {
			parts[i] = w.First(m.most)
		}
	}
	asked := make([]distinct, len(parts))
	for i, w := range parts {
		asked[i] = newDistinct(w)
	}
	reps, err := b.repeat(func() ([]misses, error) { return once(m, asked, spend) })
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
		b.note("  %-30s %-12s RMS %-18v max %-18v %s", m.name, w.Name, outcomes[i].rms, outcomes[i].max, outcomes[i].learning())
	}
	return outcomes, nil
}

// search measures a mechanism with the setting that does best in a trial.
func (b *bench) search(m mechanism, w *workload.Workload, spend budget) ([]outcome, error) {
	if most := m.settings[0].most; most > 0 {
		w = w.First(most)
	}
	asked := []distinct{newDistinct(w)}
	trials, err := parallel(len(m.settings), func(i int) ([]misses, error) { return once(m.settings[i].mechanism, asked, spend) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	best := 0
	for i, t := range trials {
		b.note("    %s, %s: RMS %s", m.name, m.settings[i].text, report.Number(t[0].rms))
		if t[0].rms < trials[best][0].rms {
			best = i
		}
	}
	chosen := m.settings[best]
	chosen.name = m.name + ", " + chosen.text
	all, err := b.measure(chosen.mechanism, []*workload.Workload{w}, spend)
	if err == nil {
		all[0].setting = chosen.text
	}
	return all, err
}

// learning says what a mechanism learned.
func (o outcome) learning() string {
	if !o.learns {
		return ""
	}
	return report.Number(o.updates.Mean) + " updates"
}

// distinct has the different queries of a workload. As in the product, repeating a
// query returns the same answer and costs nothing.
type distinct struct {
	of, asked *workload.Workload
	at        []int // the index, among the queries asked, of each query of the workload
}

func newDistinct(w *workload.Workload) distinct {
	d := distinct{of: w, asked: &workload.Workload{Name: w.Name, Table: w.Table}}
	seen := make(map[[32]byte]int)
	for _, q := range w.Queries {
		i, ok := seen[q.Digest()]
		if !ok {
			i = len(d.asked.Queries)
			seen[q.Digest()] = i
			d.asked.Queries = append(d.asked.Queries, q)
		}
		d.at = append(d.at, i)
	}
	return d
}

// spread returns the answers to the workload, given the answers to the different
// queries.
func (d distinct) spread(answers []float64) []float64 {
	all := make([]float64, len(d.at))
	for i, at := range d.at {
		all[i] = answers[at]
	}
	return all
}

// repeat calls once b.reps times.
func (b *bench) repeat(once func() ([]misses, error)) ([][]misses, error) {
	return parallel(b.reps, func(int) ([]misses, error) { return once() })
}

// parallel calls work n times, on two cores.
func parallel(n int, work func(i int) ([]misses, error)) ([][]misses, error) {
	all := make([][]misses, n)
	failures := make([]error, n)
	var wg sync.WaitGroup
	turn := make(chan struct{}, workers)
	for i := range n {
		wg.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			all[i], failures[i] = work(i)
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

// once answers the workloads one time.
func once(m mechanism, parts []distinct, spend budget) ([]misses, error) {
	all := &workload.Workload{Table: parts[0].of.Table}
	for _, d := range parts {
		all.Queries = append(all.Queries, d.asked.Queries...)
	}
	a, err := m.answer(all, spend, noise.NewSource())
	if err != nil {
		return nil, err
	}
	var each []misses
	for _, d := range parts {
		k := len(d.asked.Queries)
		e := errorsOf(d.spread(a.counts[:k]), d.of.Queries)
		if a.learned != nil { // such a mechanism has one part
			e.learned = a.learned
			if a.learned.before != nil {
				before := errorsOf(d.spread(a.learned.before), d.of.Queries)
				e.before = &before
			}
		}
		each = append(each, e)
		a.counts = a.counts[k:]
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
	o := outcome{
		max: report.Of(each(func(e misses) float64 { return e.max })), rms: report.RootMeanSquare(each(func(e misses) float64 { return e.rms })),
		p95: report.Of(each(func(e misses) float64 { return e.p95 })),
	}
	if o.learns = all[0].learned != nil; o.learns {
		o.updates = report.Of(each(func(e misses) float64 { return float64(e.learned.updates) }))
		o.unverified = report.Of(each(func(e misses) float64 { return float64(e.learned.unverified) }))
	}
	if all[0].before != nil {
		var before []misses
		for _, e := range all {
			before = append(before, *e.before)
		}
		b := summarise(before)
		o.before = &b
	}
	return o
}

// result is a mechanism with its outcome.
type result struct {
	mechanism
	outcome
}

// compare measures mechanisms on one workload.
func (b *bench) compare(w *workload.Workload, spend budget, list []mechanism) ([]result, error) {
	all, err := b.compareAll([]*workload.Workload{w}, spend, list)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// compareAll measures mechanisms on several workloads of one table and returns the
// results for each. A mechanism that learns is followed by itself without updates.
func (b *bench) compareAll(parts []*workload.Workload, spend budget, list []mechanism) ([][]result, error) {
	results := make([][]result, len(parts))
	for _, m := range list {
		outcomes, err := b.measure(m, parts, spend)
		if err != nil {
			return nil, err
		}
		for i, o := range outcomes {
			results[i] = append(results[i], result{m, o})
			if o.before != nil {
				o.before.answered = o.answered
				results[i] = append(results[i], result{mechanism{name: m.name + ", updates off", role: piece}, *o.before})
			}
		}
	}
	return results, nil
}

// title returns the mechanism's name with its setting.
func (r result) title() string {
	if r.setting == "" {
		return r.name
	}
	return r.name + ", " + r.setting
}

// tabulate shows results as a table, the smallest RMS first.
func tabulate(results []result) *report.Table {
	t := &report.Table{Head: []string{"mechanism", "whose", "RMS", "max", "95th percentile", "updates", "unverified", "queries"}}
	for _, r := range byRMS(results) {
		updates, unverified := "", ""
		if r.learns {
			updates, unverified = r.updates.String(), r.unverified.String()
		}
		t.Add(r.title(), r.role, r.rms, r.max, r.p95, updates, unverified, report.Number(float64(r.answered)))
	}
	return t
}

func byRMS(results []result) []result {
	return slices.SortedStableFunc(slices.Values(results), func(a, b result) int { return cmp.Compare(a.rms.Mean, b.rms.Mean) })
}

// verdict says in words which mechanism had the smallest RMS, whether that is a
// baseline, and whether the answers carry any information.
func verdict(results []result) string {
	sorted := byRMS(results)
	mine, theirs, nothing := first(sorted, ours, paper), first(sorted, rival), first(sorted, idle)
	text := ""
	switch {
	case theirs == nil || mine.rms.Below(theirs.rms):
		text = fmt.Sprintf("%s has the least RMS error", mine.title())
		if theirs != nil {
			text += fmt.Sprintf("; the best baseline, %s, has %.1f times that", theirs.title(), theirs.rms.Mean/mine.rms.Mean)
		}
	case theirs.rms.Below(mine.rms):
		text = fmt.Sprintf("**A baseline wins here:** %s; the best of dpsql, %s, has %.2f times its RMS", theirs.title(), mine.title(), mine.rms.Mean/theirs.rms.Mean)
	default:
		text = fmt.Sprintf("the RMS errors of %s and of the baseline %s cannot be told apart", mine.title(), theirs.title())
	}
	if nothing != nil && !mine.rms.Below(nothing.rms) {
		text += "; **no mechanism of dpsql is better than answering 0 to every query**"
	}
	return text + "."
}

// earned says what SMW's updates earned here, compared with the same runs without them
// and with the whole budget spent on the prior.
func earned(results []result) string {
	find := func(name string) *result {
		for i := range results {
			if results[i].name == name {
				return &results[i]
			}
		}
		return nil
	}
	smw, off, all := find("SMW"), find("SMW, updates off"), find("all on SMW's prior")
	if smw == nil || off == nil || all == nil {
		return ""
	}
	text := fmt.Sprintf("SMW made %s updates: RMS %s with them, %s without, and %s with the whole budget on the prior.",
		report.Number(smw.updates.Mean), report.Number(smw.rms.Mean), report.Number(off.rms.Mean), report.Number(all.rms.Mean))
	switch {
	case smw.rms.Below(off.rms) && smw.rms.Below(all.rms):
		return text + " The updates earn their keep."
	case all.rms.Below(smw.rms):
		return "**SMW's updates lose to its prior:** " + text
	}
	return "**SMW's updates earn nothing:** " + text
}

// first returns the first result that has one of the roles.
func first(results []result, roles ...role) *result {
	for i := range results {
		if slices.Contains(roles, results[i].role) {
			return &results[i]
		}
	}
	return nil
}
