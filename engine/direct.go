package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"sort"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/noise"
	"dpsql/source"
)

// A price is what a direct answer of some accuracy costs; without a law there
// is no such answer.
type price struct {
	rho   accounting.Rho
	law   noise.Law
	width float64 // half-width at the confidence it was priced for, in counts
}

// priceKey names a price.
type priceKey struct {
	accuracy, confidence float64
	sensitivity          int64
}

// suggested is the accuracy, in counts, that hints price.
const suggested = 50

// price returns the price of an accuracy, in counts, at a confidence.
func (db *DB) price(k priceKey) price {
	return db.prices.get(k, func() price { return priceOf(k) })
}

// priceOf returns the least ρ whose discrete Gaussian stays within ±accuracy
// counts at the confidence, for answers that one unit changes by up to
// sensitivity: σ² = Δ²/(2ρ) exactly, so what is charged is what is drawn.
func priceOf(k priceKey) price {
	const most = int64(1) << 52 // ρ = 4.5, where the noise is all but always 0
	wanted := int64(min(k.accuracy, 1<<52))
	lawFor := func(units int64) (noise.Law, bool) {
		law, err := noise.NewGaussian(sigma2(accounting.Rho(units), k.sensitivity))
		return law, err == nil && noise.HalfWidth(law, k.confidence) <= wanted
	}
	units := 1 + int64(sort.Search(int(most), func(i int) bool { _, ok := lawFor(int64(i) + 1); return ok }))
	law, ok := lawFor(units)
	if !ok {
		return price{}
	}
	return price{accounting.Rho(units), law, float64(noise.HalfWidth(law, k.confidence))}
}

// sigma2 returns Δ²/(2ρ).
func sigma2(rho accounting.Rho, sensitivity int64) *big.Rat {
	l := new(big.Rat).SetInt64(sensitivity)
	return l.Mul(l, l).Quo(l, new(big.Rat).Mul(big.NewRat(2, 1), rho.Rat()))
}

// direct is the candidate that buys one count with discrete Gaussian noise.
func (db *DB) direct(v *view, r request) candidate {
	c := candidate{name: "direct", kind: "direct", columns: "all", support: supportText(r.query), known: true}
	a := v.accounts[r.table.Account]
	sensitivity := r.table.sensitivity() * r.query.MaxWeight()
	accuracy := r.settings.Accuracy
	if accuracy == 0 {
		accuracy = suggested
	}
	p := db.price(priceKey{accuracy, r.settings.Confidence, sensitivity})
	if p.law == nil {
		c.refusal = fmt.Sprintf("no noise is within ±%s", counts(accuracy))
		return c
	}
	c.margin = p.width
	c.cost = accounting.Amount{Rho: p.rho}
	c.refusal = affordable(a, c.cost)
	c.note = offer(a, p, accuracy, r.settings.Confidence)
	if r.settings.Accuracy == 0 {
		c.refusal = "it costs budget"
	}
	c.answer = func(ctx context.Context) (estimate, error) { return db.buy(ctx, r, p) }
	return c
}

// offer says what a direct answer would cost, and how many are left.
func offer(a account, p price, accuracy, confidence float64) string {
	n := int64(a.left().Rho / p.rho)
	if n == 0 {
		return fmt.Sprintf("a direct answer within ±%s needs ρ = %s; the interactive account has %s left",
			counts(accuracy), short(p.rho.Float()), short(a.left().Rho.Float()))
	}
	return fmt.Sprintf("SET accuracy = %s answers it directly within ±%s (%s %%) for ρ = %s; the interactive budget left pays for %d such answers",
		counts(accuracy), counts(accuracy), counts(100*confidence), short(p.rho.Float()), n)
}

// buy answers directly: charge, draw, store, return. The ledger has the charge
// before a row is read, so whatever fails afterwards costs budget, not privacy.
//
// The discrete Gaussian with σ² = Δ²/(2ρ) is ρ-zCDP for an integer count of
// sensitivity Δ: Canonne, Kamath and Steinke 2020, Theorem 4.
func (db *DB) buy(ctx context.Context, r request, p price) (estimate, error) {
	amount := accounting.Amount{Rho: p.rho}
	key := r.query.String()
	if err := db.charge(ctx, r.table, catalog.KindInteractive, "direct answer", r.table.Name, amount); err != nil {
		return estimate{}, err
	}
	count, err := db.count(ctx, r.table, func(q source.Querier) (int64, error) {
		return source.Count(ctx, q, r.table.rows(), r.query)
	})
	if err != nil {
		return estimate{}, err
	}
	draw, err := p.law.Draw(db.random())
	if err != nil {
		return estimate{}, errRandom()
	}
	law, err := json.Marshal(p.law.String())
	if err != nil {
		return estimate{}, err
	}
	a := catalog.Answer{TableID: r.table.ID, Query: key, Kind: catalog.AnswerDirect, Via: "direct", Estimate: count + draw, Law: law}
	ctx = context.WithoutCancel(ctx) // it is paid for: keep it
	if err := db.store.Write(ctx, func(tx *catalog.Tx) error { return tx.PutAnswer(&a) }); err != nil {
		return estimate{}, err
	}
	return estimate{a.Estimate, p.width, true, amount}, nil
}
