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
// the results of each. Below one that learns stands what it is without.
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

// title is the mechanism's name with the number that it was given.
func (r result) title() string {
	if r.setting == "" {
		return r.name
	}
	return r.name + ", " + r.setting
}

// tabulate shows results as a table, the least RMS first.
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
		text = fmt.Sprintf("The least RMS is that of %s", mine.title())
		if theirs != nil {
			text += fmt.Sprintf("; the best baseline, %s, has %.1f times as much", theirs.title(), theirs.rms.Mean/mine.rms.Mean)
		}
	case theirs.rms.Below(mine.rms):
		text = fmt.Sprintf("**A baseline wins here:** %s; the best of dpsql, %s, has %.2f times its RMS", theirs.title(), mine.title(), mine.rms.Mean/theirs.rms.Mean)
	default:
		text = fmt.Sprintf("%s and the baseline %s are not told apart by their RMS", mine.title(), theirs.title())
	}
	if nothing != nil && !mine.rms.Below(nothing.rms) {
		text += "; **no mechanism of dpsql is better than answering 0 to every query**"
	}
	return text + "."
}

// earned says what SMW's updates are worth here: beside the same runs without
// them, and beside the whole budget spent on the prior.
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

// first returns the first result whose role is one of those.
func first(results []result, roles ...role) *result {
	for i := range results {
		if slices.Contains(roles, results[i].role) {
			return &results[i]
		}
	}
	return nil
}
