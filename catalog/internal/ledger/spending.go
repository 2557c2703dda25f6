package ledger

import (
	"iter"
	"math"
	"slices"

	"dpsql/accounting"
	"dpsql/period"
)

// Spending is what an account has spent in each period. The zero value has spent nothing.
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
