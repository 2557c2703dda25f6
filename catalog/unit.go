package catalog

import (
	"slices"

	"dpsql/accounting"
	"dpsql/internal/period"
)

// UnitCost returns what the answers that were charged to an account so far cost a unit that
// has rows in some periods, and in no others. It is Theorem 2 at ledger.Spending, rounded up,
// with what was charged before there were periods counted once. The set must not be
// unbounded; that of one period gives what the period has spent. It is a bound for all units:
// it depends on the ledger alone. Errors: Corrupt when the ledger does not verify.
//
// The lines that one statement wrote at once are taken as one step. Its shares may have been
// added up where they overlap, so how many periods each of them reads is not known: all of
// them are taken to read the periods of all. Lines of other statements of the same second that
// look the same are taken into the step as well, which can only raise the cost.
func (tx *Tx) UnitCost(a *Account, in period.Ranges) (accounting.Amount, error) {
	lines, err := tx.linesOf(a)
	u := unitCost{in: in}
	for i := range lines {
		u.add(&lines[i], a.Partition == nil || lines[i].Seq < a.Since)
	}
	u.end()
	return u.total(), err
}

// CostBefore returns a part of what an account had spent before it had periods: what counts
// once for a unit, however many periods it has rows in. What came back to every period since
// is taken from it. Errors: Corrupt when the ledger does not verify.
func (tx *Tx) CostBefore(a *Account) (accounting.Amount, error) {
	lines, err := tx.linesOf(a)
	u := unitCost{in: period.Whole()}
	for i, l := range lines {
		if l.Seq < a.Since || l.Over == period.All && l.Amount.Rho < 0 {
			u.add(&lines[i], true)
		}
	}
	return u.total(), err
}

// linesOf returns the lines of an account, none if the ledger does not verify.
func (tx *Tx) linesOf(a *Account) ([]Entry, error) {
	if err := tx.VerifyLedger(); err != nil {
		return nil, err
	}
	all, err := tx.Ledger()
	return slices.DeleteFunc(all, func(e Entry) bool { return e.Account != a.ID }), err
}

// unitCost adds up lines of one account, in order.
type unitCost struct {
	in            period.Ranges
	spent, back   accounting.Amount
	last          *Entry        // of the step; nil for none
	touched, over period.Ranges // by the step, of all periods and of in
	sum           accounting.Amount
}

// add adds a line. Once is whether its step counts once for a unit, whatever its rows.
func (u *unitCost) add(l *Entry, once bool) {
	over := period.Ranges{l.Over}.Intersect(u.in)
	switch n := over.Count(); {
	case l.Amount.Epsilon < 0 || l.Amount.Delta < 0 || l.Amount.Rho < 0:
		u.end()
		u.giveBack(l, n)
	case n == 0 || l.Amount == accounting.Amount{}:
	case once:
		u.end()
		u.spent = u.spent.Plus(l.Amount)
	default:
		if !u.continues(l) {
			u.end()
		}
		u.last, u.over, u.touched = l, u.over.Union(over), u.touched.Union(period.Ranges{l.Over})
		u.sum = u.sum.Plus(l.Amount.Times(n))
	}
}

// continues reports whether a line belongs to the step of the line before. Charges to a
// releases account are of one amount each, to ranges apart.
func (u *unitCost) continues(l *Entry) bool {
	if u.last == nil || !l.At.Equal(u.last.At) || l.Kind != u.last.Kind || l.Action != u.last.Action || l.Object != u.last.Object {
		return false
	}
	return l.Kind == KindInteractive || l.Amount == u.last.Amount && len(u.touched.Intersect(period.Ranges{l.Over})) == 0
}

// end adds the cost of the step. With j periods and shares of ρ_i, which read j_i of them,
// Σ j_i² ρ_i is at most j·Σ j_i ρ_i, and that is j times what all periods together spent.
func (u *unitCost) end() {
	if u.last == nil {
		return
	}
	j := u.over.Count()
	cost := accounting.Amount{Epsilon: u.last.Amount.Epsilon, Delta: u.last.Amount.Delta}.Group(j)
	cost.Rho = accounting.Amount{Rho: u.sum.Rho}.Times(j).Rho
	u.spent = u.spent.Plus(cost)
	u.last, u.over, u.touched, u.sum = nil, nil, nil, accounting.Amount{}
}

// giveBack takes what a mechanism did not use from the cost. What was charged to every period
// may have been charged before there were periods, and counted once.
func (u *unitCost) giveBack(l *Entry, n int64) {
	if l.Over == period.All {
		n = min(n, 1)
	}
	back := accounting.Amount{Epsilon: -l.Amount.Epsilon, Delta: -l.Amount.Delta, Rho: -l.Amount.Rho}
	cost := back.Times(n)
	cost.Rho = accounting.Amount{Rho: cost.Rho}.Times(n).Rho
	u.back = u.back.Plus(cost)
}

func (u *unitCost) total() accounting.Amount {
	return accounting.Amount{
		Epsilon: rest(u.spent.Epsilon, u.back.Epsilon),
		Delta:   rest(u.spent.Delta, u.back.Delta),
		Rho:     rest(u.spent.Rho, u.back.Rho),
	}
}

// rest returns what is left of a cost after some came back. What is too large to count stays
// so.
func rest[T ~int64](spent, back T) T {
	if spent == accounting.Unpayable {
		return spent
	}
	return max(0, spent-back)
}
