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
	c.offer = func() string { return offer(a, p, accuracy, r.settings.Confidence) }
	c.note = fmt.Sprintf("%d left", a.left().Rho/accounting.Rho(p.Rho))
	switch {
	case r.settings.Accuracy > 0 && db.store.ReadOnly():
		c.failure = errReadOnly()
		c.refusal = c.failure.Message
	case r.settings.Accuracy == 0:
		c.refusal = "SET accuracy = " + counts(accuracy) + " buys it"
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
// Equal queries that race are bought one after the other, in all processes, so
// that the later ones find the first one's answer and charge nothing.
func (db *DB) buy(ctx context.Context, r request, p price) (estimate, error) {
	flight, err := db.store.AcquireFlight(ctx, r.digest(), db.live.patience)
	if err != nil {
		return estimate{}, err
	}
	defer flight.Land()
	if e, ok, err := db.chargeOnce(ctx, r, p); err != nil || ok {
		return e, err
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

// chargeOnce charges for a direct answer, unless one that is as good was stored
// since the query was planned: then it returns that one and true.
func (db *DB) chargeOnce(ctx context.Context, r request, p price) (e estimate, stored bool, err error) {
	err = db.store.Write(ctx, func(tx *catalog.Tx) error {
		if err := unchanged(ctx, tx, r.table); err != nil {
			return err
		}
		answers, err := tx.Answers(r.table.ID, r.query.String())
		if err != nil {
			return err
		}
		if e, stored, err = db.bought(r, answers); err != nil || stored {
			return err
		}
		return tx.Charge(r.table.Account, catalog.KindInteractive, "direct answer", r.table.Name, p.cost())
	})
	return e, stored, err
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
			e, ok = estimate{value: a.Estimate, margin: margin, verified: true}, true
		}
	}
	return e, ok, nil
}
