package answer

import (
	"context"
	"fmt"
	"math"

	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/mechanisms/direct"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// Purchase is the direct answers of one slot, each with noise of one law. Its
// groups are disjoint: together their counts change by at most Δ = L·W in ℓ2
// norm when a unit is added or removed (see sqlfront.Bound), so independent
// discrete Gaussian noise on each makes all of them together Δ²/(2σ²)-zCDP, the
// price of one (Canonne, Kamath and Steinke 2020).
// The sum inside a mean is bought less the middle c of the weights for each row (see centre): a row changes it by at
// most R = max |w − c| in place of W.
//
// Numbers of units are not linear. A unit is in the number of a group if one of its kept
// rows is in the group. Which rows are kept of a unit does not depend on other units (see
// source.Keeper). So adding or removing a unit changes the number of each group by at most
// 1, and only of groups that have one of its rows. It keeps at most L rows, and since the
// groups are disjoint each is in one of them: the numbers of at most min(L, groups) groups
// change, in ℓ2 norm by at most Δ = √min(L, groups).
//
// Numbers of values are not linear either. A row that comes or goes changes the number of
// values of its own group by at most 1, and of no other. A unit of L rows changes all numbers
// together by at most Δ = L in ℓ1 norm, and so in ℓ2 norm.
//
// With periods, the purchase is paid from each period that one of its queries has a weight in.
// The rows that a unit has in one of them change the counts as those of a whole unit would, and
// in no other period does anything depend on them.
type Purchase struct {
	Asks  []int
	Price price
	Over  period.Ranges // the periods that are read; nil for a table without them
}

// priceOf returns the price of a slot in a number of groups. For queries with weights up to
// W the sensitivity is L·W, and there is no price if that does not fit 64 bits. For numbers
// of units it is √min(L, groups); see Purchase.
func (db *Database) priceOf(q Request, weight int64, groups int, r direct.Request) price {
	l := q.Table.Sensitivity()
	if q.Question == sqlfront.Units {
		r.Sensitivity, r.Answers = 1, min(l, int64(groups))
		return db.Price(r)
	}
	if weight > math.MaxInt64/l {
		return price{}
	}
	r.Sensitivity, r.Answers = l*weight, 1
	return db.Price(r)
}

// Shares returns what purchases take from which periods. A table without periods is charged in
// every one.
func Shares(all []Purchase) []catalog.Share {
	shares := make([]catalog.Share, len(all))
	for i, p := range all {
		shares[i] = catalog.Share{Over: p.Over, Rho: p.Price.cost().Rho}
		if p.Over == nil {
			shares[i].Over = period.Ranges{period.All}
		}
	}
	return shares
}

// buy answers directly: charge, count, draw, store, return. The ledger has the charge
// before a row is read, so a later failure costs budget and not privacy. Equal
// statements that race are bought one after the other, in all processes. The later ones
// find the first one's answers and charge nothing.
//
// Each table is counted on a snapshot of its own. All are open when the charge is made, so
// that rows that are out of reach cost nothing. The answers are stored together, once all are
// drawn: others see that they are there.
func (st *Statement) buy(ctx context.Context, purchases []Purchase, answers []released.Estimate) error {
	st.publish()
	flight, err := st.Database.store.AcquireFlight(ctx, st.digest(purchases), st.Database.Live.Patience, "the same query is being answered")
	if err != nil {
		return err
	}
	defer flight.Land()
	return st.Database.rows.OnSnapshots(ctx, st.tables(purchases), func(sns []*rows.Snapshot) error {
		left, paid, err := st.charge(ctx, sns, purchases, answers)
		if err != nil {
			return err
		}
		st.leaves()
		var drawn []catalog.Answer
		var of []*pay.Receipt
		for i, sn := range sns {
			switch {
			case paid[i] == nil:
				continue
			case err != nil: // of this table nothing is read, and its charge waits
				err = st.Database.desk.Read(ctx, st.bill, paid[i], func() error { return err })
				continue
			}
			st.read(sn)
			var some []catalog.Answer
			if some, err = st.draw(ctx, sn, paid[i], left[i], answers); err == nil {
				drawn, of = append(drawn, some...), append(of, paid[i])
			}
		}
		st.publish()
		if failed := st.store(ctx, drawn); failed != nil {
			return failed
		}
		for _, paid := range of {
			st.bill.Answered(paid.Paid())
		}
		return err
	})
}

// charge pays for purchases, in one transaction and one line of the ledger a table. If
// answers as good were stored since the plan, it takes these instead. It returns what is
// left to be answered on each snapshot, and the receipt for it.
func (st *Statement) charge(ctx context.Context, sns []*rows.Snapshot, purchases []Purchase, answers []released.Estimate) ([][]Purchase, []*pay.Receipt, error) {
	var left [][]Purchase
	charged := make([]pay.Snapshot, len(sns))
	for i, sn := range sns {
		charged[i] = sn
	}
	paid, err := st.Database.desk.Answers(ctx, st.bill, charged, st.Buyers, func(tx *catalog.Tx) ([]*catalog.Payment, error) {
		left = make([][]Purchase, len(sns))
		payments := make([]*catalog.Payment, len(sns))
		for i, sn := range sns {
			t := sn.Table()
			var err error
			left[i], payments[i], err = st.payment(tx, t, st.about(purchases, t), answers)
			if err != nil {
				return nil, err
			}
		}
		return payments, nil
	})
	for _, p := range paid {
		if p != nil {
			st.cost, _ = st.cost.Add(p.Charged())
		}
	}
	return left, paid, err
}

// payment returns what is left to be bought of purchases about a table, and the payment for
// it, nil for nothing.
func (st *Statement) payment(tx *catalog.Tx, t *view.Table, purchases []Purchase, answers []released.Estimate) (left []Purchase, p *catalog.Payment, err error) {
	for _, p := range purchases {
		asks, err := st.unbought(tx, p.Asks, answers)
		if err != nil {
			return nil, nil, err
		}
		if len(asks) > 0 {
			left = append(left, Purchase{asks, p.Price, st.touched(asks)})
		}
	}
	if len(left) == 0 {
		return nil, nil, nil
	}
	payment := st.paying(t, left)
	return left, &payment, nil
}

// paying returns the payment for purchases about a table.
func (st *Statement) paying(t *view.Table, all []Purchase) catalog.Payment {
	n, payment := 0, catalog.Payment{Account: t.Account, Table: t.ID, Action: "direct answer", Object: t.Name}
	for _, p := range all {
		n += len(p.Asks)
		for _, ask := range p.Asks {
			payment.Bytes += st.Asks[ask].bytes()
		}
	}
	if payment.Shares = Shares(all); !st.bill.Quota {
		payment.Statement = fmt.Sprintf("%x", st.digest(all))
	}
	payment.Rho = catalog.Most(payment.Shares)
	if n > 1 {
		payment.Action = fmt.Sprintf("%d direct answers", n)
	}
	return payment
}

// draw counts the rows of the queries that were paid for and adds noise.
func (st *Statement) draw(ctx context.Context, sn *rows.Snapshot, paid *pay.Receipt, purchases []Purchase, answers []released.Estimate) ([]catalog.Answer, error) {
	var asks []int
	for _, p := range purchases {
		asks = append(asks, p.Asks...)
	}
	var counts [][]int64
	err := st.Database.desk.Read(ctx, st.bill, paid, func() (err error) {
		counts, err = st.count(ctx, sn, paid, asks)
		return err
	})
	if err != nil {
		return nil, err
	}
	var stored []catalog.Answer
	for _, p := range purchases {
		for _, n := range p.Asks {
			noisy := counts[len(stored)]
			if err = p.Price.Answers(noisy, paid.Noise); sqlerr.CodeOf(err) == sqlerr.IO {
				return nil, pay.ErrRandom()
			} else if err != nil {
				return nil, err
			}
			a, e, err := st.Database.drawn(p.Price, st.Asks[n].Request, noisy)
			if err != nil {
				return nil, err
			}
			stored, answers[n] = append(stored, a), e
			st.step(context.WithoutCancel(ctx)) // everything is counted, and the rest takes no time
		}
	}
	return stored, nil
}

// count returns the true counts of asks that were paid for.
func (st *Statement) count(ctx context.Context, sn *rows.Snapshot, paid *pay.Receipt, asks []int) ([][]int64, error) {
	var of [2][]query.Query // weights, and units
	ends := make([]int, len(asks))
	kind := func(n int) int {
		if st.Asks[n].Question == sqlfront.Units {
			return 1
		}
		return 0
	}
	for i, n := range asks {
		asked, err := st.Asks[n].queries()
		if err != nil {
			return nil, err
		}
		of[kind(n)] = append(of[kind(n)], asked...)
		ends[i] = len(asked)
	}
	var all [2][]int64
	var err error
	if all[0], all[1], err = sn.Counts(ctx, paid, of[0], of[1]); err != nil {
		return nil, err
	}
	counts := make([][]int64, len(asks))
	for i, n := range asks {
		from := &all[kind(n)]
		counts[i], *from = (*from)[:ends[i]], (*from)[ends[i]:]
		switch a := &st.Asks[n]; a.Question { // before noise is added
		case sqlfront.Weight:
			counts[i] = a.centred(counts[i])
		case sqlfront.DistinctValues:
			counts[i] = []int64{occupied(counts[i])}
		case sqlfront.Order:
			counts[i] = a.scaleOf().places().Measured(counts[i])
		}
	}
	return counts, nil
}

// occupied returns how many counts are not 0.
func occupied(counts []int64) (n int64) {
	for _, c := range counts {
		n += min(c, 1)
	}
	return n
}

// queries returns the queries that a direct answer counts.
func (r Request) queries() ([]query.Query, error) {
	switch r.Question {
	case sqlfront.Order:
		return r.eachPlace()
	case sqlfront.DistinctValues:
		return released.EachValue(r.Query, r.column)
	}
	return r.terms(), nil
}
