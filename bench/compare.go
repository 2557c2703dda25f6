package main

import (
	"cmp"
	"fmt"
	"slices"

	"dpsql/bench/report"
	"dpsql/bench/workload"
)

// result is a mechanism's outcome.
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

// compareAll measures mechanisms on several workloads of one table, and returns
// the results of each.
func (b *bench) compareAll(parts []*workload.Workload, spend budget, list []mechanism) ([][]result, error) {
	results := make([][]result, len(parts))
	for _, m := range list {
		outcomes, err := b.measure(m, parts, spend)
		if err != nil {
			return nil, err
		}
		for i, o := range outcomes {
			results[i] = append(results[i], result{m, o})
		}
	}
	return results, nil
}

// tabulate shows results as a table, the least RMS first.
func tabulate(results []result) *report.Table {
	t := &report.Table{Head: []string{"mechanism", "whose", "RMS", "max", "95th percentile", "queries"}}
	for _, r := range byRMS(results) {
		t.Add(r.name, r.role, r.rms, r.max, r.p95, report.Number(float64(r.answered)))
	}
	return t
}

func byRMS(results []result) []result {
	return slices.SortedStableFunc(slices.Values(results), func(a, b result) int { return cmp.Compare(a.rms.Mean, b.rms.Mean) })
}

// lost marks what is said where something other than dpsql is better.
const lost = "**"

// verdict says in words who had the least RMS, whether a baseline did, and
// whether the answers say anything at all.
func verdict(results []result) string {
	sorted := byRMS(results)
	mine, theirs, nothing := first(sorted, ours, paper), first(sorted, rival), first(sorted, idle)
	text := ""
	switch {
	case theirs == nil || mine.rms.Below(theirs.rms):
		text = fmt.Sprintf("The least RMS is that of %s", mine.name)
		if theirs != nil {
			text += fmt.Sprintf("; the best baseline, %s, has %.1f times as much", theirs.name, theirs.rms.Mean/mine.rms.Mean)
		}
	case theirs.rms.Below(mine.rms):
		text = fmt.Sprintf("**A baseline wins here:** %s; the best of dpsql, %s, has %.2f times its RMS", theirs.name, mine.name, mine.rms.Mean/theirs.rms.Mean)
	default:
		text = fmt.Sprintf("%s and the baseline %s are not told apart by their RMS", mine.name, theirs.name)
	}
	if nothing != nil && !mine.rms.Below(nothing.rms) {
		text += "; **no mechanism of dpsql is better than answering 0 to every query**"
	}
	return text + "."
}

// first returns the first result whose role is one of those.
func first(results []result, roles ...role) *result {
	for i := range results {
		if slices.Contains(roles, results[i].role) {
			return &results[i]
		}
	}
	return nil
}
