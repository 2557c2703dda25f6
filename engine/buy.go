package engine

import (
	"context"
	"crypto/sha256"
	"fmt"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/direct"
	"dpsql/sqlerr"
)

// purchase is the direct answers of one slot, each with noise of one law. Its
// groups are disjoint: together their counts change by at most Δ = L·W in ℓ2
// norm when a unit is added or removed (see sqlfront.Bound), so independent
// discrete Gaussian noise on each makes all of them together Δ²/(2σ²)-zCDP, the
// price of one (Canonne, Kamath and Steinke 2020).
type purchase struct {
	asks  []int
	price price
}

// purchases groups what is bought by slot. A slot's price is that of its most
// demanding query.
func (st *statement) purchases() []purchase {
	return st.priced(st.slotsOf(st.bought()), st.settings.Accuracy)
}

// bought returns the asks that a direct answer was chosen for.
func (st *statement) bought() []int {
	var asks []int
	for i := range st.asks {
		if best := st.asks[i].best; best != nil && best.buys() {
			asks = append(asks, i)
		}
	}
	return asks
}

// starts returns what the statement takes of mechanisms' reserves at least: a run
// of each of those chosen that have none open. How many more its own firings lead
// to is not known before.
func (st *statement) starts() (sum accounting.Rho) {
	seen := make(map[string]bool)
	for i := range st.asks {
		if best := st.asks[i].best; best != nil && best.starts > 0 && !seen[best.name] {
			seen[best.name] = true
			sum += best.starts
		}
	}
	return sum
}

// slotsOf sorts asks by slot.
func (st *statement) slotsOf(asks []int) map[int][]int {
	bySlot := make(map[int][]int)
	for _, i := range asks {
		bySlot[st.asks[i].slot] = append(bySlot[st.asks[i].slot], i)
	}
	return bySlot
}

// priced returns the purchases of asks by slot, at an accuracy.
func (st *statement) priced(bySlot map[int][]int, accuracy float64) []purchase {
	var all []purchase
	for slot := range st.bound.Slots {
		asks := bySlot[slot]
		if len(asks) == 0 {
			continue
		}
		r := direct.Request{Accuracy: accuracy * st.asks[asks[0]].scale}
		weight := int64(1)
		for _, i := range asks {
			a := &st.asks[i]
			r.Accuracy = min(r.Accuracy, accuracy*a.scale)
			r.Confidence = max(r.Confidence, a.settings.Confidence)
			weight = max(weight, a.query.MaxWeight())
		}
		all = append(all, purchase{asks, st.db.priceOf(st.table, weight, r)})
	}
	return all
}

// total returns what purchases cost together; false where no noise is as small
// as one of them needs.
func total(all []purchase) (sum accounting.Amount, ok bool) {
	for _, p := range all {
		if !p.price.ok {
			return sum, false
		}
		sum.Rho += p.price.cost().Rho
	}
	return sum, true
}

// affordable refuses a statement whose purchases cost more than is left, or than
// one statement may take.
func (st *statement) affordable() error {
	cost, ok := total(st.purchases())
	why := affordable(st.view.Accounts[st.table.Account], cost)
	if !ok {
		why = "no noise is within ±" + view.Counts(st.settings.Accuracy)
	}
	if takes := cost.Rho + st.starts(); why == "" && takes > 0 {
		err := st.view.Limits(st.table).Check(*st.buyer, takes)
		if limit := hinted(err, func() string { return st.offer(st.bought()) }); limit != nil {
			return limit
		}
	}
	if why == "" {
		return nil
	}
	return sqlerr.New(sqlerr.Budget, "%s", why).WithHint("%s", st.offer(st.bought()))
}

// offer says what it would cost to answer queries directly.
func (st *statement) offer(asks []int) string {
	accuracy := st.settings.Accuracy
	if accuracy == 0 {
		accuracy = suggested
	}
	bySlot := st.slotsOf(asks)
	return offerHint(accuracy, st.settings.Confidence, purseOf(st.view, st.table, st.buyer, st.starts()), true,
		func(accuracy float64) (accounting.Rho, bool) {
			cost, ok := total(st.priced(bySlot, accuracy))
			return cost.Rho, ok && cost.Rho > 0
		})
}

// buy answers directly: charge, count, draw, store, return. The ledger has the
// charge before a row is read, so whatever fails afterwards costs budget, not
// privacy. Equal statements that race are bought one after the other, in all
// processes, so that the later ones find the first one's answers and charge
// nothing.
func (st *statement) buy(ctx context.Context, purchases []purchase, answers []estimate) error {
	flight, err := st.db.store.AcquireFlight(ctx, st.digest(purchases), st.db.live.patience)
	if err != nil {
		return err
	}
	defer flight.Land()
	var stored []catalog.Answer
	err = st.db.rows.OnSnapshot(ctx, st.table, func(sn *rows.Snapshot) error {
		purchases, paid, err := st.charge(ctx, sn, purchases, answers)
		if err != nil || len(purchases) == 0 {
			return err
		}
		stored, err = st.draw(ctx, sn, paid, purchases, answers)
		return err
	})
	if err != nil || len(stored) == 0 {
		return err
	}
	ctx = context.WithoutCancel(ctx) // it is paid for: keep it
	return st.db.store.Write(ctx, func(tx *catalog.Tx) error {
		for i := range stored {
			if err := tx.PutAnswer(&stored[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// draw counts what was paid for and adds noise.
func (st *statement) draw(ctx context.Context, sn *rows.Snapshot, paid *pay.Receipt, purchases []purchase, answers []estimate) ([]catalog.Answer, error) {
	var asks []int
	for _, p := range purchases {
		asks = append(asks, p.asks...)
	}
	counts, err := sn.Counts(ctx, paid, st.queries(asks))
	if err != nil {
		return nil, err
	}
	var stored []catalog.Answer
	for _, p := range purchases {
		for _, n := range p.asks {
			value, err := p.price.Answer(counts[len(stored)], st.db.random())
			if err != nil {
				return nil, pay.ErrRandom()
			}
			a, err := p.price.stored(st.asks[n].request, value)
			if err != nil {
				return nil, err
			}
			margin, err := st.db.margin(a.Kind, a.Law, st.asks[n].settings.Confidence)
			if err != nil {
				return nil, err
			}
			stored, answers[n] = append(stored, a), st.db.estimate(a, margin)
			st.step(context.WithoutCancel(ctx)) // all is counted: the rest takes no time
		}
	}
	return stored, nil
}

// charge pays for purchases, in one line of the ledger. Answers that are as good and
// were stored since the plan are taken instead. It returns what is left to be answered
// and the receipt for it.
func (st *statement) charge(ctx context.Context, sn *rows.Snapshot, purchases []purchase, answers []estimate) ([]purchase, *pay.Receipt, error) {
	var left []purchase
	paid, err := st.db.desk.Answers(ctx, st.bill, sn, st.buyer, func(tx *catalog.Tx) (*catalog.Payment, error) {
		left = nil
		n, payment := 0, catalog.Payment{Account: st.table.Account, Action: "direct answer", Object: st.table.Name}
		for _, p := range purchases {
			asks, err := st.unbought(tx, p.asks, answers)
			if err != nil {
				return nil, err
			}
			if len(asks) > 0 {
				left = append(left, purchase{asks, p.price})
				payment.Rho += p.price.cost().Rho
				n += len(asks)
			}
		}
		if n > 1 {
			payment.Action = fmt.Sprintf("%d direct answers", n)
		}
		if n == 0 {
			return nil, nil
		}
		return &payment, nil
	})
	if err == nil && paid != nil {
		st.cost = paid.Paid()
	}
	return left, paid, err
}

// unbought returns the asks without a stored answer that is good enough, and
// puts those that have one into answers.
func (st *statement) unbought(tx *catalog.Tx, asks []int, answers []estimate) ([]int, error) {
	var left []int
	for _, n := range asks {
		r := st.asks[n].request
		stored, err := tx.Answers(r.table.ID, r.query.String())
		if err != nil {
			return nil, err
		}
		e, ok, err := st.db.bought(r, stored)
		if err != nil {
			return nil, err
		}
		if ok {
			answers[n] = e
		} else {
			left = append(left, n)
		}
	}
	return left, nil
}

// digest names what is bought.
func (st *statement) digest(purchases []purchase) [32]byte {
	if len(purchases) == 1 && len(purchases[0].asks) == 1 {
		return st.asks[purchases[0].asks[0]].digest()
	}
	h := sha256.New()
	for _, p := range purchases {
		for _, n := range p.asks {
			d := st.asks[n].digest()
			h.Write(d[:])
		}
	}
	return [32]byte(h.Sum(nil))
}
