package engine

import (
	"context"
	"fmt"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/view"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// statement is a SELECT on its way from its queries to its rows. One plan and
// one charge serve all of its queries.
type statement struct {
	db       *DB
	view     *view.View
	table    *view.Table
	bound    *sqlfront.Bound
	settings Settings
	asks     []linear // the distinct queries
	index    []int    // of each of bound.Queries: the one of asks that answers it

	buyer *catalog.Buyer    // which it pays as
	cost  accounting.Amount // what was charged for direct answers
	bill  *pay.Bill

	progress  func(done, all int64)
	done, all int64 // steps: each query is planned, and answered
}

// linear is one distinct query of a statement.
type linear struct {
	request
	slot       int // of the first of bound.Queries that it answers
	candidates []candidate
	best       *candidate // the one chosen; nil before, and where there is none
}

// newStatement finds the distinct queries of a bound SELECT. A query that
// stands in several slots has to be as precise as each of them needs.
func newStatement(s *Session, v *view.View, t *view.Table, b *sqlfront.Bound) *statement {
	st := &statement{db: s.db, view: v, table: t, bound: b, settings: s.settings, bill: &s.bill,
		index: make([]int, len(b.Queries)), progress: s.progress}
	var known map[[32]byte]int
	if len(b.Queries) > 1 {
		known = make(map[[32]byte]int, len(b.Queries))
	}
	for i, q := range b.Queries {
		k := i % len(b.Slots)
		n, ok := known[q.Digest()]
		if !ok {
			n = len(st.asks)
			if known != nil {
				known[q.Digest()] = n
			}
			st.asks = append(st.asks, linear{slot: k, request: request{table: t, query: q, settings: s.settings, asked: s.settings.Accuracy, scale: b.Slots[k].Scale}})
		}
		st.index[i] = n
		st.asks[n].need(s.settings, b.Slots[k])
	}
	st.all = 2 * int64(len(st.asks))
	return st
}

// need tightens what an answer has to meet by what a slot needs.
func (a *linear) need(s Settings, k sqlfront.Slot) {
	a.scale = min(a.scale, k.Scale)
	a.settings.Accuracy = s.Accuracy * a.scale
	a.settings.Confidence = max(a.settings.Confidence, 1-(1-s.Confidence)/float64(k.Split))
}

// choose takes the best candidate of every query, or refuses the statement as
// a whole: nothing is answered unless everything can be.
func (st *statement) choose() error {
	var first error
	var failed []int
	for i := range st.asks {
		a := &st.asks[i]
		best, err := choose(a.candidates, a.request)
		if err != nil {
			if first == nil {
				first = err
			}
			failed = append(failed, i)
		}
		a.best = best
	}
	if first != nil {
		return st.refused(first, failed)
	}
	return st.affordable()
}

// refused says why a statement cannot be answered.
func (st *statement) refused(first error, failed []int) error {
	e, ok := first.(*sqlerr.Error)
	if !ok || len(st.asks) == 1 {
		return first
	}
	c := *e
	c.Message += fmt.Sprintf(" (of %d queries of the statement %d cannot be answered)", len(st.asks), len(failed))
	if offers := c.Code == sqlerr.Budget || c.Code == sqlerr.Uncovered && st.settings.Mechanism == "auto"; offers && st.table.Source != "" {
		c.Hint = st.offer(append(st.bought(), failed...))
	}
	return &c
}

// answer has the chosen candidates answer: first those that cost nothing, then,
// in one charge, what is bought. It stops where something changed since the plan;
// what was answered until then is stored, or its mechanism remembers it.
func (st *statement) answer(ctx context.Context) ([]estimate, *stale, error) {
	answers := make([]estimate, len(st.asks))
	for i, a := range st.asks {
		if a.best.buys() {
			continue
		}
		r, err := a.best.answer(ctx)
		if err != nil || r.stale != nil {
			return nil, r.stale, err
		}
		answers[i] = r.estimate
		if err := st.step(ctx); err != nil {
			return nil, nil, err
		}
	}
	purchases := st.purchases()
	if len(purchases) == 0 {
		return answers, nil, nil
	}
	return answers, nil, st.buy(ctx, purchases, answers)
}

// step reports progress, and ends where the context has.
func (st *statement) step(ctx context.Context) error {
	st.done++
	if st.progress != nil {
		st.progress(st.done, st.all)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return nil
}

// queries returns the queries of asks.
func (st *statement) queries(asks []int) []query.Query {
	queries := make([]query.Query, len(asks))
	for i, n := range asks {
		queries[i] = st.asks[n].query
	}
	return queries
}
