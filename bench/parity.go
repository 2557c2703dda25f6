package main

import (
	"dpsql/bench/report"
	"dpsql/bench/workload"
	"dpsql/mechanisms/smw"
)

// halves are the longest runs of values of the parity workload's columns.
var halves = []uint64{16, 16, 1}

// A hypothesis of so many updates is slow, and the errors vary little.
const parityReps, manyReps = 5, 2

// parity is a workload about which the pairs of columns that SMW's prior is
// learned from say nothing.
func (b *bench) parity(s *report.Section) error {
	table, err := workload.Parity(size[int64](b, 1_000_000, 10_000), b.seed)
	if err != nil {
		return err
	}
	spend, err := newBudget(1)
	if err != nil {
		return err
	}
	s.Say(`Five columns a, b, c, d, e of 32·32·2·256·32 values, n = %s (seed %d). Call a value high in the upper half of its domain: c is high where exactly one of a and b is, and e where exactly
one of c and d is, each but for a tenth of the rows. Every two columns are independent and uniform, every three of a, b, c and of c, d, e are not: the counts of pairs say nothing, and
what is known of the rows is learned by updates. Queries fix a and b to runs of one to 16 values, and c to a value. ε = 1, δ = 10⁻⁶.`, report.Number(float64(table.Rows)), b.seed)
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
	s.Show(tabulate(results))
	s.Say("%s", verdict(results))
	s.Say("%s", earned(results))
	return b.manyParity(s, table, spend)
}

// searched is SMW by a request, with the best number of runs.
func (b *bench) searched(name string, r smw.Request) mechanism {
	return tuned(name, ours, "B", b.runs(), func(runs int) mechanism {
		r.MaxUpdates = int64(runs)
		return online("", ours, r)
	})
}

// manyParity asks many more of the same queries, where a direct answer is a small
// part of the budget.
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
	s.Show(tabulate(results))
	s.Say("%s", verdict(results))
	return nil
}
