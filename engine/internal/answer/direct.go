package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/direct"
	"dpsql/sqlerr"
)

// Suggested is the accuracy, in counts, that hints price.
const Suggested = 50

// price is the plan of a direct answer; ok is false where there is none.
type price struct {
	direct.Plan
	Possible bool
}

// Price returns what an accuracy costs.
func (db *Database) Price(r direct.Request) price {
	return db.prices.get(r, func() price {
		p, ok := direct.For(r)
		return price{p, ok}
	})
}

// priceOf is the price of queries with weights up to W, whose sensitivity is
// L·W; there is none where that does not fit 64 bits.
func (db *Database) priceOf(t *view.Table, weight int64, r direct.Request) price {
	if weight > math.MaxInt64/t.Sensitivity() {
		return price{}
	}
	r.Sensitivity = t.Sensitivity() * weight
	return db.Price(r)
}

func (p price) cost() accounting.Amount { return accounting.Amount{Rho: accounting.Rho(p.Rho)} }

// direct is the candidate that buys one count, or sum, with discrete Gaussian
// noise.
func (db *Database) direct(v *view.View, r Request) Candidate {
	c := Candidate{Origin: fromRows, Name: "direct", Kind: "direct", support: view.SupportOf(r.Query), Known: true}
	a := v.Accounts[r.Table.Account]
	price := func(accuracy float64) price {
		return db.priceOf(r.Table, r.Query.MaxWeight(), direct.Request{Accuracy: accuracy * r.scale, Confidence: r.Settings.Confidence})
	}
	cost := func(accuracy float64) (accounting.Rho, bool) {
		p := price(accuracy)
		return p.cost().Rho, p.Possible
	}
	purse := purseOf(v, r.Table, r.Buyer, 0)
	accuracy := r.asked
	if accuracy == 0 {
		accuracy = Suggested
		if other, _, ok := offered(Suggested, purse, cost); ok && a.Limits.MaxCharge > 0 {
			accuracy = other
		}
	}
	c.offer = func() string { return offerHint(accuracy, r.Settings.Confidence, purse, false, cost) }
	p := price(accuracy)
	if !p.Possible {
		c.Refusal = fmt.Sprintf("no noise is within ±%s", view.Counts(accuracy))
		return c
	}
	c.Margin, c.cost = float64(p.Width), p.cost()
	c.Refusal = affordable(a, c.cost)
	c.Note = fmt.Sprintf("%d left", a.Left().Rho/accounting.Rho(p.Rho))
	limit := hinted(a.Limits.Check(*r.Buyer, c.cost.Rho), c.offer)
	switch {
	case limit != nil && (limit.Code == sqlerr.Forbidden || r.Settings.Accuracy > 0):
		c.failure, c.Refusal = limit, limit.Message
	case r.Settings.Accuracy > 0 && r.file.isReadOnly():
		c.failure = errReadOnly()
		c.Refusal = c.failure.Message
	case r.Settings.Accuracy == 0:
		c.Refusal = "SET accuracy = " + view.Counts(accuracy) + " buys it"
	}
	return c // it is bought with what else the statement buys
}

// Stored is a direct answer as the catalog keeps it.
func (p price) Stored(r Request, value int64) (catalog.Answer, error) {
	law, err := json.Marshal(p.Law.String())
	return catalog.Answer{TableID: r.Table.ID, Query: r.Query.String(), Kind: catalog.AnswerDirect, Via: "direct", Estimate: value, Law: law}, err
}

// bought returns the tightest of the direct answers that reach the accuracy
// asked for.
func (db *Database) bought(r Request, answers []catalog.Answer) (e Estimate, ok bool, err error) {
	for _, a := range answers {
		if a.Kind != catalog.AnswerDirect {
			continue
		}
		margin, err := db.Margin(a.Kind, a.Law, r.Settings.Confidence)
		if err != nil {
			return e, false, err
		}
		if margin <= r.Settings.Accuracy && (!ok || margin < e.Margin) {
			e, ok = db.Estimate(a, margin), true
		}
	}
	return e, ok, nil
}

// maxOffered is the largest accuracy, in counts, that a hint offers.
const maxOffered = 1e12

// offered returns an accuracy that a statement can pay, and its cost: the one
// that is wanted, or else the smallest of 1, 2 and 5 times a power of ten above
// it that takes no more than a tenth of what is left. False where none does.
func offered(wanted float64, p purse, cost func(accuracy float64) (accounting.Rho, bool)) (float64, accounting.Rho, bool) {
	if rho, ok := cost(wanted); ok && rho <= p.most {
		return wanted, rho, true
	}
	for power := math.Pow(10, math.Floor(math.Log10(wanted))); power <= maxOffered; power *= 10 {
		for _, accuracy := range []float64{power, 2 * power, 5 * power} {
			if accuracy <= wanted {
				continue
			}
			if rho, ok := cost(accuracy); ok && rho <= min(p.most, p.left/cautiousShare) {
				return accuracy, rho, true
			}
		}
	}
	return 0, 0, false
}

// offerHint returns a hint with the accuracy that a direct answer could have, and its
// price.
// Of several queries the cost is that of all.
func offerHint(wanted, confidence float64, p purse, several bool, cost func(accuracy float64) (accounting.Rho, bool)) string {
	if p.closed != nil {
		return "no direct answer either: " + p.closed.Message
	}
	accuracy, rho, ok := offered(wanted, p, cost)
	if !ok && p.most < p.left {
		return fmt.Sprintf("no direct answer can be bought either: the statement may take ρ = %s more", view.Short(max(0, p.most).Float()))
	}
	if !ok {
		return fmt.Sprintf("no direct answer can be bought either: the interactive account has ρ = %s left", view.Short(p.left.Float()))
	}
	it, together, answers := "it", "", "answers"
	if several {
		it, together, answers = "them", " together", "statements"
	}
	return fmt.Sprintf("SET accuracy = %s answers %s directly within ±%s (%s %%) for ρ = %s%s; the interactive budget left pays for %d such %s",
		view.Counts(accuracy), it, view.Counts(accuracy), view.Counts(100*confidence), view.Short(rho.Float()), together, int64(p.left/rho), answers)
}

// purse is the budget that a statement can pay from.
type purse struct {
	left   accounting.Rho // of the account
	most   accounting.Rho // that the statement may still take
	closed *sqlerr.Error  // why it may buy nothing, nil where it may
}

// purseOf returns what a statement can pay from that also begins runs.
func purseOf(v *view.View, t *view.Table, by *catalog.Buyer, runs accounting.Rho) purse {
	a := v.Accounts[t.Account]
	p := purse{left: a.Left().Rho, most: a.Left().Rho}
	if a.Limits.MaxCharge > 0 {
		p.most = min(p.most, a.Limits.MaxCharge-by.Taken-runs)
	}
	errors.As(a.Limits.Check(catalog.Buyer{Principal: by.Principal}, 0), &p.closed)
	return p
}

// hinted is the refusal of a limit, nil for none. One that a smaller purchase
// would pass has the hint that says which.
func hinted(err error, hint func() string) *sqlerr.Error {
	var e *sqlerr.Error
	if errors.As(err, &e) && e.Code == sqlerr.Budget {
		return e.WithHint("%s", hint())
	}
	return e
}

// cautiousShare is the share of what is left of an interactive account beyond
// which a statement is announced before it is paid for: one in so many.
const cautiousShare = 10

// caution returns the warning before a statement that buys answers for more than a
// tenth of what is left of the interactive account, or "". It follows from the price
// and the account alone, so it is public.
func (st *Statement) caution() string {
	cost, ok := Total(st.Purchases())
	left := st.view.Accounts[st.Table.Account].Left().Rho
	if !ok || cost.Rho <= left/cautiousShare || left <= 0 {
		return ""
	}
	return fmt.Sprintf("this takes %s of what is left for direct answers: ρ = %s of %s", share(cost.Rho, left),
		view.Short(cost.Rho.Float()), view.Short(left.Float()))
}

// share writes a part of a whole in percent.
func share(part, whole accounting.Rho) string {
	return fmt.Sprintf("%.0f %%", 100*part.Float()/whole.Float())
}

// agreed asks the caller to confirm an expensive statement. If nobody is asked it adds a
// warning.
func (st *Statement) agreed(confirm func(warning string) bool) error {
	warning := st.caution()
	switch {
	case warning == "":
	case confirm == nil:
		b := *st.bound
		b.Warnings = append(slices.Clone(b.Warnings), warning)
		st.bound = &b
	case !confirm(warning):
		return sqlerr.New(sqlerr.Cancelled, "the statement was not carried out")
	}
	return nil
}
