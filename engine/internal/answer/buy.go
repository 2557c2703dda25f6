package answer

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

// Purchase is the direct answers of one slot, each with noise of one law. Its
// groups are disjoint: together their counts change by at most Δ = L·W in ℓ2
// norm when a unit is added or removed (see sqlfront.Bound), so independent
// discrete Gaussian noise on each makes all of them together Δ²/(2σ²)-zCDP, the
// price of one (Canonne, Kamath and Steinke 2020).
type Purchase struct {
	Asks  []int
	Price price
}

// Purchases groups by slot what is bought. The most demanding query of a slot sets its
// price.
func (st *Statement) Purchases() []Purchase {
	return st.priced(st.slotsOf(st.bought()), st.settings.Accuracy)
}

// bought returns the asks that a direct answer was chosen for.
func (st *Statement) bought() []int {
	var asks []int
	for i := range st.Asks {
		if best := st.Asks[i].Best; best != nil && best.buys() {
			asks = append(asks, i)
		}
	}
	return asks
}

// starts returns the least that the statement takes of mechanisms' reserves: one run of
// each chosen mechanism that has none open. Firings of its own may start more; how many
// is not known before.
func (st *Statement) starts() (sum accounting.Rho) {
	seen := make(map[string]bool)
	for i := range st.Asks {
		if best := st.Asks[i].Best; best != nil && best.starts > 0 && !seen[best.Name] {
			seen[best.Name] = true
			sum += best.starts
		}
	}
	return sum
}

// slotsOf sorts asks by slot.
func (st *Statement) slotsOf(asks []int) map[int][]int {
	bySlot := make(map[int][]int)
	for _, i := range asks {
		bySlot[st.Asks[i].slot] = append(bySlot[st.Asks[i].slot], i)
	}
	return bySlot
}

// priced returns the purchases of asks by slot, at an accuracy.
func (st *Statement) priced(bySlot map[int][]int, accuracy float64) []Purchase {
	var all []Purchase
	for slot := range st.bound.Slots {
		asks := bySlot[slot]
		if len(asks) == 0 {
			continue
		}
		r := direct.Request{Accuracy: accuracy * st.Asks[asks[0]].scale}
		weight := int64(1)
		for _, i := range asks {
			a := &st.Asks[i]
			r.Accuracy = min(r.Accuracy, accuracy*a.scale)
			r.Confidence = max(r.Confidence, a.Settings.Confidence)
			weight = max(weight, a.Query.MaxWeight())
		}
		all = append(all, Purchase{asks, st.Database.priceOf(st.Table, weight, r)})
	}
	return all
}

// Total returns what purchases cost together; false where no noise is as small
// as one of them needs.
func Total(all []Purchase) (sum accounting.Amount, ok bool) {
	for _, p := range all {
		if !p.Price.Possible {
			return sum, false
		}
		sum.Rho += p.Price.cost().Rho
	}
	return sum, true
}

// affordable refuses a statement whose purchases cost more than is left, or more than
// one statement may take.
func (st *Statement) affordable() error {
	cost, ok := Total(st.Purchases())
	why := affordable(st.view.Accounts[st.Table.Account], cost)
	if !ok {
		why = "no noise is within ±" + view.Counts(st.settings.Accuracy)
	}
	if takes := cost.Rho + st.starts(); why == "" && takes > 0 {
		err := st.view.Limits(st.Table).Check(*st.Buyer, takes)
		if limit := hinted(err, func() string { return st.offer(st.bought()) }); limit != nil {
			return limit
		}
	}
	if why == "" {
		return nil
	}
	return sqlerr.New(sqlerr.Budget, "%s", why).WithHint("%s", st.offer(st.bought()))
}

// offer returns a hint with the price of answering queries directly.
func (st *Statement) offer(asks []int) string {
	accuracy := st.settings.Accuracy
	if accuracy == 0 {
		accuracy = Suggested
	}
	bySlot := st.slotsOf(asks)
	return offerHint(accuracy, st.settings.Confidence, purseOf(st.view, st.Table, st.Buyer, st.starts()), true,
		func(accuracy float64) (accounting.Rho, bool) {
			cost, ok := Total(st.priced(bySlot, accuracy))
			return cost.Rho, ok && cost.Rho > 0
		})
}

// buy answers directly: charge, count, draw, store, return. The ledger has the
// charge before a row is read, so whatever fails afterwards costs budget, not
// privacy. Equal statements that race are bought one after the other, in all
// processes, so that the later ones find the first one's answers and charge
// nothing.
func (st *Statement) buy(ctx context.Context, purchases []Purchase, answers []Estimate) error {
	flight, err := st.Database.store.AcquireFlight(ctx, st.digest(purchases), st.Database.Live.patience)
	if err != nil {
		return err
	}
	defer flight.Land()
	var stored []catalog.Answer
	err = st.Database.rows.OnSnapshot(ctx, st.Table, func(sn *rows.Snapshot) error {
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
	return st.Database.store.Write(ctx, func(tx *catalog.Tx) error {
		for i := range stored {
			if err := tx.PutAnswer(&stored[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// draw counts what was paid for and adds noise.
func (st *Statement) draw(ctx context.Context, sn *rows.Snapshot, paid *pay.Receipt, purchases []Purchase, answers []Estimate) ([]catalog.Answer, error) {
	var asks []int
	for _, p := range purchases {
		asks = append(asks, p.Asks...)
	}
	counts, err := sn.Counts(ctx, paid, st.queries(asks))
	if err != nil {
		return nil, err
	}
	var stored []catalog.Answer
	for _, p := range purchases {
		for _, n := range p.Asks {
			value, err := p.Price.Answer(counts[len(stored)], st.Database.random())
			if err != nil {
				return nil, pay.ErrRandom()
			}
			a, err := p.Price.Stored(st.Asks[n].Request, value)
			if err != nil {
				return nil, err
			}
			margin, err := st.Database.Margin(a.Kind, a.Law, st.Asks[n].Settings.Confidence)
			if err != nil {
				return nil, err
			}
			stored, answers[n] = append(stored, a), st.Database.Estimate(a, margin)
			st.step(context.WithoutCancel(ctx)) // all is counted: the rest takes no time
		}
	}
	return stored, nil
}

// charge pays for purchases, in one line of the ledger. Answers that are as good and
// were stored since the plan are taken instead. It returns what is left to be answered
// and the receipt for it.
func (st *Statement) charge(ctx context.Context, sn *rows.Snapshot, purchases []Purchase, answers []Estimate) ([]Purchase, *pay.Receipt, error) {
	var left []Purchase
	paid, err := st.Database.desk.Answers(ctx, st.bill, sn, st.Buyer, func(tx *catalog.Tx) (*catalog.Payment, error) {
		left = nil
		n, payment := 0, catalog.Payment{Account: st.Table.Account, Action: "direct answer", Object: st.Table.Name}
		for _, p := range purchases {
			asks, err := st.unbought(tx, p.Asks, answers)
			if err != nil {
				return nil, err
			}
			if len(asks) > 0 {
				left = append(left, Purchase{asks, p.Price})
				payment.Rho += p.Price.cost().Rho
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
func (st *Statement) unbought(tx *catalog.Tx, asks []int, answers []Estimate) ([]int, error) {
	var left []int
	for _, n := range asks {
		r := st.Asks[n].Request
		stored, err := tx.Answers(r.Table.ID, r.Query.String())
		if err != nil {
			return nil, err
		}
		e, ok, err := st.Database.bought(r, stored)
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
func (st *Statement) digest(purchases []Purchase) [32]byte {
	if len(purchases) == 1 && len(purchases[0].Asks) == 1 {
		return st.Asks[purchases[0].Asks[0]].Digest()
	}
	h := sha256.New()
	for _, p := range purchases {
		for _, n := range p.Asks {
			d := st.Asks[n].Digest()
			h.Write(d[:])
		}
	}
	return [32]byte(h.Sum(nil))
}
