package engine

import (
	"encoding/json"
	"fmt"
	"math"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/direct"
	"dpsql/sqlerr"
)

// suggested is the accuracy, in counts, that hints price.
const suggested = 50

// price is the plan of a direct answer; ok is false where there is none.
type price struct {
	direct.Plan
	ok bool
}

// price returns what an accuracy costs.
func (db *DB) price(r direct.Request) price {
	return db.prices.get(r, func() price {
		p, ok := direct.For(r)
		return price{p, ok}
	})
}

// priceOf is the price of queries with weights up to W, whose sensitivity is
// L·W; there is none where that does not fit 64 bits.
func (db *DB) priceOf(t *view.Table, weight int64, r direct.Request) price {
	if weight > math.MaxInt64/t.Sensitivity() {
		return price{}
	}
	r.Sensitivity = t.Sensitivity() * weight
	return db.price(r)
}

func (p price) cost() accounting.Amount { return accounting.Amount{Rho: accounting.Rho(p.Rho)} }

// direct is the candidate that buys one count, or sum, with discrete Gaussian
// noise.
func (db *DB) direct(v *view.View, r request) candidate {
	c := candidate{origin: fromRows, name: "direct", kind: "direct", support: view.SupportOf(r.query), known: true}
	a := v.Accounts[r.table.Account]
	price := func(accuracy float64) price {
		return db.priceOf(r.table, r.query.MaxWeight(), direct.Request{Accuracy: accuracy * r.scale, Confidence: r.settings.Confidence})
	}
	cost := func(accuracy float64) (accounting.Rho, bool) {
		p := price(accuracy)
		return p.cost().Rho, p.ok
	}
	purse := purseOf(v, r.table, r.buyer, 0)
	accuracy := r.asked
	if accuracy == 0 {
		accuracy = suggested
		if other, _, ok := offered(suggested, purse, cost); ok && a.Limits.MaxCharge > 0 {
			accuracy = other
		}
	}
	c.offer = func() string { return offerHint(accuracy, r.settings.Confidence, purse, false, cost) }
	p := price(accuracy)
	if !p.ok {
		c.refusal = fmt.Sprintf("no noise is within ±%s", view.Counts(accuracy))
		return c
	}
	c.margin, c.cost = float64(p.Width), p.cost()
	c.refusal = affordable(a, c.cost)
	c.note = fmt.Sprintf("%d left", a.Left().Rho/accounting.Rho(p.Rho))
	limit := hinted(a.Limits.Check(*r.buyer, c.cost.Rho), c.offer)
	switch {
	case limit != nil && (limit.Code == sqlerr.Forbidden || r.settings.Accuracy > 0):
		c.failure, c.refusal = limit, limit.Message
	case r.settings.Accuracy > 0 && r.file.isReadOnly():
		c.failure = errReadOnly()
		c.refusal = c.failure.Message
	case r.settings.Accuracy == 0:
		c.refusal = "SET accuracy = " + view.Counts(accuracy) + " buys it"
	}
	return c // it is bought with what else the statement buys
}

// stored is a direct answer as the catalog keeps it.
func (p price) stored(r request, value int64) (catalog.Answer, error) {
	law, err := json.Marshal(p.Law.String())
	return catalog.Answer{TableID: r.table.ID, Query: r.query.String(), Kind: catalog.AnswerDirect, Via: "direct", Estimate: value, Law: law}, err
}

// bought returns the tightest of the direct answers that reach the accuracy
// asked for.
func (db *DB) bought(r request, answers []catalog.Answer) (e estimate, ok bool, err error) {
	for _, a := range answers {
		if a.Kind != catalog.AnswerDirect {
			continue
		}
		margin, err := db.margin(a.Kind, a.Law, r.settings.Confidence)
		if err != nil {
			return e, false, err
		}
		if margin <= r.settings.Accuracy && (!ok || margin < e.margin) {
			e, ok = db.estimate(a, margin), true
		}
	}
	return e, ok, nil
}
