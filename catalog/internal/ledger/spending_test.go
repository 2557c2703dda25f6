package ledger_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpsql/accounting"
	"dpsql/catalog/internal/ledger"
	"dpsql/internal/period"
)

// TestSpendingAddsByPeriod compares the sums of random charges to ranges of periods with those
// of an array. It has no chance of failing without a fault.
func TestSpendingAddsByPeriod(t *testing.T) {
	const periods = 20
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var s ledger.Spending
		var want [periods + 2]accounting.Rho // 0 and periods+1 stand for all below and above
		for range 30 {
			first, last := random.Int64N(periods), random.Int64N(periods)
			over := period.Range{First: min(first, last), Last: max(first, last)}
			from, to := over.First+1, over.Last+1
			switch random.IntN(8) {
			case 0:
				over.First, from = math.MinInt64, 0
			case 1:
				over.Last, to = math.MaxInt64, periods+1
			case 2:
				over, from, to = period.All, 0, periods+1
			}
			rho := accounting.Rho(random.IntN(4))
			for n := from; n <= to; n++ {
				want[n] += rho
			}
			if !s.Add(over, accounting.Amount{Rho: rho}) {
				t.Fatal("an amount is not added")
			}
		}
		next, steps := int64(math.MinInt64), 0
		var before accounting.Amount
		for got := range s.Steps() {
			if got.Over.First != next || steps > 0 && got.Spent == before {
				t.Fatalf("step %+v after %d", got, next)
			}
			next, before, steps = got.Over.Last+1, got.Spent, steps+1
		}
		if next != math.MinInt64 { // the number after the last one
			t.Fatalf("the steps end before %d", next)
		}
		for n := int64(-1); n <= periods; n++ {
			if got := s.Most(period.Ranges{period.Only(n)}).Rho; got != want[n+1] {
				t.Fatalf("period %d has spent %v, want %v", n, got, want[n+1])
			}
		}
	}
}

// TestSpendingRefuses adds what would leave some period below zero or above what a sum holds.
func TestSpendingRefuses(t *testing.T) {
	var s ledger.Spending
	if !s.Add(period.Range{First: 3, Last: 5}, accounting.Amount{Epsilon: 7}) {
		t.Fatal("an amount is not added")
	}
	for _, try := range []struct {
		over   period.Range
		amount accounting.Amount
	}{
		{period.Range{First: 3, Last: 6}, accounting.Amount{Epsilon: -1}}, {period.All, accounting.Amount{Epsilon: -7}},
		{period.Only(5), accounting.Amount{Epsilon: math.MaxInt64}}, {period.Range{First: 5, Last: 4}, accounting.Amount{}},
	} {
		if c := s.Clone(); c.Add(try.over, try.amount) {
			t.Errorf("%+v was added", try)
		}
	}
	if got := s.Most(period.Whole()); got.Epsilon != 7 {
		t.Errorf("a copy changed it to %v", got)
	}
}

// TestChainSumsByPeriod changes the range of a line, and verifies lines with ranges.
func TestChainSumsByPeriod(t *testing.T) {
	var c ledger.Chain
	var lines []ledger.Line
	for _, over := range []period.Range{period.All, period.Only(4), {First: 4, Last: 9}} {
		l, next, ok := c.Next(ledger.Line{Account: 1, Rho: 2, Over: over})
		if !ok {
			t.Fatal("a line does not follow")
		}
		c, lines = next, append(lines, l)
	}
	for n, want := range map[int64]accounting.Rho{3: 2, 4: 6, 5: 4, 10: 2} {
		if got := c.Spent(1).Most(period.Of(period.Only(n))).Rho; got != want {
			t.Errorf("period %d has spent %v, want %v", n, got, want)
		}
	}
	v := c.Extend()
	if v.Add(ledger.Line{Seq: 4, Account: 1, Rho: 2, Over: period.Only(4)}) {
		t.Error("a line without its hash was added")
	}
	for i, over := range []period.Range{period.Only(4), period.All, {First: 4, Last: 8}} {
		l, v := lines[i], ledger.Chain{}.Extend()
		for _, before := range lines[:i] {
			v.Add(before)
		}
		if l.Over = over; v.Add(l) {
			t.Errorf("line %d verifies with the range %v", i+1, over)
		}
	}
}
