package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/mechanisms/direct"
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

func (p price) cost() accounting.Amount { return accounting.Amount{Rho: accounting.Rho(p.Rho)} }

// direct is the candidate that buys one count with discrete Gaussian noise.
func (db *DB) direct(v *view, r request) candidate {
	c := candidate{name: "direct", kind: "direct", columns: "all", support: supportText(r.query), known: true}
	a := v.accounts[r.table.Account]
	sensitivity := r.table.sensitivity() * r.query.MaxWeight()
	accuracy := r.settings.Accuracy
	if accuracy == 0 {
		accuracy = suggested
	}
	p := db.price(direct.Request{Accuracy: accuracy, Confidence: r.settings.Confidence, Sensitivity: sensitivity})
	if !p.ok {
		c.refusal = fmt.Sprintf("no noise is within ±%s", counts(accuracy))
		return c
	}
	c.margin, c.cost = float64(p.Width), p.cost()
	c.refusal = affordable(a, c.cost)
	if db.store.ReadOnly() {
		c.failure = errReadOnly()
		c.refusal = c.failure.Message
	}
	c.note = offer(a, p, accuracy, r.settings.Confidence)
	if r.settings.Accuracy == 0 {
		c.refusal = "it costs budget"
	}
	c.answer = func(ctx context.Context) (estimate, error) { return db.buy(ctx, r, p) }
	return c
}

// offer says what a direct answer would cost, and how many are left.
func offer(a account, p price, accuracy, confidence float64) string {
	n := int64(a.left().Rho) / p.Rho
	if n == 0 {
		return fmt.Sprintf("a direct answer within ±%s needs ρ = %s; the interactive account has %s left",
			counts(accuracy), short(p.cost().Rho.Float()), short(a.left().Rho.Float()))
	}
	return fmt.Sprintf("SET accuracy = %s answers it directly within ±%s (%s %%) for ρ = %s; the interactive budget left pays for %d such answers",
		counts(accuracy), counts(accuracy), counts(100*confidence), short(p.cost().Rho.Float()), n)
}

// buy answers directly: charge, draw, store, return. The ledger has the charge
// before a row is read, so whatever fails afterwards costs budget, not privacy.
func (db *DB) buy(ctx context.Context, r request, p price) (estimate, error) {
	if err := db.charge(ctx, r.table, catalog.KindInteractive, "direct answer", r.table.Name, p.cost()); err != nil {
		return estimate{}, err
	}
	count, err := db.count(ctx, r, nil, r.query)
	if err != nil {
		return estimate{}, err
	}
	value, err := p.Answer(count, db.random())
	if err != nil {
		return estimate{}, errRandom()
	}
	law, err := json.Marshal(p.Law.String())
	if err != nil {
		return estimate{}, err
	}
	a := catalog.Answer{TableID: r.table.ID, Query: r.query.String(), Kind: catalog.AnswerDirect, Via: "direct", Estimate: value, Law: law}
	ctx = context.WithoutCancel(ctx) // it is paid for: keep it
	if err := db.store.Write(ctx, func(tx *catalog.Tx) error { return tx.PutAnswer(&a) }); err != nil {
		return estimate{}, err
	}
	return estimate{value, float64(p.Width), true, p.cost()}, nil
}
