package ledger

import (
	"iter"
	"math"
	"slices"

	"dpsql/accounting"
	"dpsql/period"
)

// Spending is what an account has spent in each period. The zero value has spent nothing.
//
// # What the sums of each period guarantee
//
// A base table has a history: its states, one after another. A unit u is one row, or all rows
// with one value of the unit column, through the whole history. A row lies in one period, by
// its own value. Write u|p for the rows that u ever has in period p, and H−S for the history
// H without the rows S. The caps of an account are those of (ε, δ), divided as
// accounting.Divide does. A step is what was charged at once; it has a cost, ε_i and δ_i or
// ρ_i, and the periods R_i to which it was charged. The code keeps to this:
//
//	(1) Of a table with periods, a step reads rows of the periods R_i and no others: R_i is
//	    what view.Table.Part or Touched says, and other rows have no weight, or are outside
//	    the domain and do not count. Its max_rows = L rows are kept within u|p, by a secret
//	    key and the rows of u|p alone. A source view works row by row, and hands the column
//	    on as it is.
//	(2) R_i follows from the query, declarations, the clock and earlier answers, and from no
//	    row. So does a refusal.
//	(3) For each p in R_i, the step is (ε_i, δ_i), or ρ_i-zCDP, between H and H−u|p.
//	(4) It is charged, durably, before it reads, and only if the sums of every period in R_i
//	    then keep to the caps.
//	(5) A table without periods keeps L rows of u in all, and its steps are charged to All.
//
// # One period
//
// Theorem 1. All answers together of tables with periods are (ε, δ) between H and H−u|p,
// for every u and p.
//
// Fix u, p and whoever asks. Given what was answered before, a step with p outside R_i has
// the same law over H as over H−u|p, by (1). The same holds for which step is next, its cost,
// its periods and its refusal, by (2). So all of that is randomness that does not depend on
// u|p, as whoever asks may have any. What is left are the steps with p in R_i. They are chosen
// adaptively, and have the costs of (3), of which the sums never exceed the caps, by (4). Those
// of the releases account are (1−s)(ε, δ) together (Rogers, Roth, Ullman, Vadhan 2016,
// for basic composition as a filter). Those of the interactive account are ρ-zCDP
// together (Feldman, Zrnic 2021), and so s(ε, δ), also where interactive
// mechanisms take turns with others, on whatever periods (Haney et al. 2023; Vadhan, Zhang
// 2023). The two add (Lyu 2022). ∎
//
// This is the parallel composition of McSherry (2009, Theorem 4), for steps that are chosen one
// after another, overlap in part, and have budgets that are checked as they go: a charge to
// other periods does not add, since (1) makes it another randomness and nothing else.
//
// # A unit with rows in k periods
//
// Let S be the k periods in which u ever has a row, and j_i = |R_i ∩ S|.
//
// Theorem 2. The answers of tables with periods are, between H and H−u:
// releases ε at most k(1−s)ε, and δ the sum of δ_i·(1 + e^ε_i + … + e^((j_i−1)ε_i)), at most
// j_i·e^((j_i−1)ε_i)·δ_i each; and (Σ j_i² ρ_i)-zCDP, at most k²ρ. If no step reads two of the
// periods, they are (kε, kδ).
//
// H−u is reached from H in k moves, each of which takes away u|p for one p in S. A step differs
// in law at j_i of them: it has the cost that accounting.Amount.Group gives for j_i
// neighbours in a row (for zCDP: Bun, Steinke 2016, Proposition 1.9; for an interactive
// mechanism: the same, of the views of each one who asks). These costs follow from what was
// answered, and are summed as in Theorem 1. Σ j_i ε_i is the sum over the p in S of what p
// spent, at most k(1−s)ε. Σ j_i² ρ_i is at most k·Σ j_i ρ_i, and that at most k²ρ. If every
// j_i is at most 1, the answers are made of k interactive mechanisms, one for each p, that
// are (ε, δ) by Theorem 1 and run side by side: (kε, kδ) (Lyu 2022; Vadhan, Zhang 2023). ∎
//
// A row that is moved to another period has been in both: k counts it twice, and nothing else
// is lost. The bound δ for steps that span periods soon is 1, which says nothing; that
// of interactive answers grows with k². What was built period by period grows with k alone.
//
// # Before there were periods
//
// What was charged to All before the account had periods counts in every period, so that
// Theorem 1 holds for the sum. By (5) it is (ε₀, δ₀) between H and H−u, whatever k is: it is
// counted once. A unit with rows in k periods has ε₀ + k(ε−ε₀), and likewise δ₀ and ρ₀; where
// k² counts, ρ₀ + k²(ρ−ρ₀). Tables without periods go on in this way. A line does not say
// whose it is, so later lines over All count as steps that span periods, which is more.
//
// Between H and H−u|p, where u has rows in other periods too, (5) is weaker: without u|p such
// a table may keep other rows of u in place of those that are gone. That is two moves: u goes,
// and comes with other rows. So with ε₀ spent by tables without periods, the rows of one
// period, of a unit with rows elsewhere, have ε + ε₀ (and 4ρ₀ in place of ρ₀). With
// single rows as units there is no such case. A row in no period is read by tables without
// periods alone, and has (ε, δ).
//
// # Running periods, late rows, clocks
//
// A part that is built early, and built AGAIN, is charged twice, to the same period: two
// steps of Theorem 1. That the new part replaces the old is post-processing. Rows that came
// between, or come too late for any part, are part of u|p. Which periods have begun or ended
// follows from the clock alone, whatever it shows; a statement looks at it once, and is
// charged for the periods that it then reads. Rows of periods that have not begun are read by
// no step. Retired periods are refused by (2).
//
// A range that is wider than what is read costs accuracy and never privacy: a charge to more
// than 64 ranges counts in the gaps between some of them.
type Spending struct {
	steps []step // by first, which ascends from the smallest number on; nil for nothing
}

// step is what was spent in each of the periods from first on, up to the next step.
type step struct {
	first int64
	spent accounting.Amount
}

// Step is a range of periods in each of which as much was spent.
type Step struct {
	Over  period.Range
	Spent accounting.Amount
}

// Steps yields the ranges of periods from the first period to the last one. Neighbours
// differ.
func (s Spending) Steps() iter.Seq[Step] {
	return func(yield func(Step) bool) {
		if len(s.steps) == 0 {
			yield(Step{Over: period.All})
			return
		}
		for i, t := range s.steps {
			last := int64(math.MaxInt64)
			if i+1 < len(s.steps) {
				last = s.steps[i+1].first - 1
			}
			if !yield(Step{period.Range{First: t.first, Last: last}, t.spent}) {
				return
			}
		}
	}
}

// In yields the steps that have periods of a set, cut to it, in order.
func (s Spending) In(over period.Ranges) iter.Seq[Step] {
	return func(yield func(Step) bool) {
		for t := range s.Steps() {
			for _, r := range over.Intersect(period.Ranges{t.Over}) {
				if !yield(Step{r, t.Spent}) {
					return
				}
			}
		}
	}
}

// Most returns the largest ε, δ and ρ that were spent in any one period of a set. They may be
// of different periods.
func (s Spending) Most(over period.Ranges) (most accounting.Amount) {
	for t := range s.In(over) {
		most.Epsilon = max(most.Epsilon, t.Spent.Epsilon)
		most.Delta = max(most.Delta, t.Spent.Delta)
		most.Rho = max(most.Rho, t.Spent.Rho)
	}
	return most
}

// Add adds an amount, which may be negative, in each period of a range. It is false, and s
// is undefined, if a sum overflows or would be negative. It changes the steps in place.
func (s *Spending) Add(over period.Range, amount accounting.Amount) bool {
	if over.First > over.Last {
		return false
	}
	if len(s.steps) == 0 {
		s.steps = append(s.steps, step{first: math.MinInt64})
	}
	from, to := s.cut(over.First), len(s.steps)
	if over.Last < math.MaxInt64 {
		to = s.cut(over.Last + 1)
	}
	for i := from; i < to; i++ {
		sum, ok := s.steps[i].spent.Add(amount)
		if !ok || sum.Epsilon < 0 || sum.Delta < 0 || sum.Rho < 0 {
			return false
		}
		s.steps[i].spent = sum
	}
	s.join(to)
	s.join(from)
	return true
}

// cut makes a step begin at a period, and returns its index.
func (s *Spending) cut(first int64) int {
	i, found := slices.BinarySearchFunc(s.steps, first, func(t step, n int64) int {
		switch {
		case t.first < n:
			return -1
		case t.first > n:
			return 1
		}
		return 0
	})
	if !found {
		s.steps = slices.Insert(s.steps, i, step{first, s.steps[i-1].spent})
	}
	return i
}

// join removes a step in which as much was spent as in the one before it.
func (s *Spending) join(i int) {
	if 0 < i && i < len(s.steps) && s.steps[i].spent == s.steps[i-1].spent {
		s.steps = slices.Delete(s.steps, i, i+1)
	}
}

// Clone returns a copy, which Add does not change.
func (s Spending) Clone() Spending { return Spending{slices.Clone(s.steps)} }
