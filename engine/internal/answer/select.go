// Package answer answers one SELECT, or several together, in four steps. It plans: it binds
// the statement to linear queries and lists the candidates for each, which spends nothing. It
// chooses for each query the tightest free candidate, or one that reaches SET accuracy. It answers:
// stored answers and releases are read, an interactive mechanism is asked under its lease,
// and direct answers are charged, drawn, stored and returned. Last, it computes the rows.
//
// Other queries may use up a mechanism between plan and answer. The plan is then stale,
// and Database.Together plans again.
package answer

import (
	"context"
	"errors"
	"slices"

	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/slots"
	"dpsql/engine/internal/view"
	"dpsql/internal/places"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// Select answers a SELECT. It binds it to linear queries, plans and chooses. The chosen
// candidates charge, draw, store and return. Select then computes the rows from their
// answers. Every private access of the module comes through Together or through a
// declaration.
func (db *Database) Select(ctx context.Context, who Asker, sel *syntax.Select, args []query.Value) (*released.Result, error) {
	a, err := db.Together(ctx, who, []released.Selection{{Select: sel, Args: args}}, nil)
	if err != nil {
		return nil, err
	}
	return a.Result(), nil
}

// Together answers several SELECTs: all of them, or none. They are planned in one view, and
// what is bought for them is charged in one transaction. ready is called with the columns of
// each before anything is charged, and may refuse. If other queries spend a mechanism between
// plan and answer, Together plans again, at most twice for each mechanism.
//
// If the asker's answers are held, a statement for which private rows are read waits for a turn on
// its tables, and is planned again then. It is not compiled again, unless a curator changed its tables
// meanwhile: then it is compiled without the turn, and waits for another. From there on it goes its way whether it is cancelled or
// not: the context's end says nothing of the rows, and when a statement ends must not either.
func (db *Database) Together(ctx context.Context, who Asker, all []released.Selection, ready func([][]released.Column) error) (released.Joint, error) {
	var how Planning
	var st *Statement
	counted := false // the rows whose numbers prices wait for
	held := ctx      // once it has a turn, without an end
	defer func() {
		if who.turn != nil {
			who.turn.End()
		}
	}()
	for {
		v, err := db.Current(held, who.User)
		if err != nil {
			return released.Joint{}, err
		}
		if st == nil || !st.under(v) {
			if who.turn != nil { // compiling takes its time, and would make the slot late
				who.turn.End()
				who.turn, held = nil, ctx
			}
			if st, err = db.Bind(ctx, who, v, all); err != nil {
				return released.Joint{}, err
			}
			if ready != nil {
				if err := ready(st.Columns()); err != nil {
					return released.Joint{}, err
				}
			}
		}
		st.turn = who.turn
		if err := st.Plan(held, how); err != nil {
			return released.Joint{}, err
		}
		asked := st
		if st.First != nil && !counted {
			asked = st.First
		}
		if err := asked.Choose(); err != nil {
			if again, gone := asked.awaited(ctx); again || gone != nil {
				if gone != nil {
					return released.Joint{}, gone
				}
				continue
			}
			return released.Joint{}, err
		}
		if st.held && !st.turn.Covers(asked.lanes()) {
			if who.turn != nil {
				who.turn.End()
				who.turn = nil
			}
			if who.turn, err = asked.takeTurn(ctx); err != nil {
				return released.Joint{}, err
			}
			held = context.WithoutCancel(ctx)
			continue
		}
		if err := asked.agreed(who.Confirm); err != nil {
			return released.Joint{}, err
		}
		answers, stale, err := asked.answer(held)
		switch {
		case err != nil:
			return released.Joint{}, err
		case stale == nil && asked != st:
			counted, st.cost = true, asked.cost
			if who.turn != nil { // the next reading has a slot of its own
				who.turn.End()
				who.turn = nil
			}
		case stale == nil:
			return st.Joint(answers), nil
		case !how.learn(stale):
			return released.Joint{}, stale.err
		}
	}
}

// Columns returns the columns of each part.
func (st *Statement) Columns() [][]released.Column {
	all := make([][]released.Column, len(st.Parts))
	for i := range st.Parts {
		all[i] = released.ColumnsOf(st.Parts[i].Bound)
	}
	return all
}

// Parameters returns the types of the parameters of each part. That of one is "" if the part does
// not tell it.
func (st *Statement) Parameters() [][]query.SQLType {
	all := make([][]query.SQLType, len(st.Parts))
	for i := range st.Parts {
		all[i] = st.Parts[i].Bound.Parameters
	}
	return all
}

// Plan binds SELECTs against the present catalog and lists the ways to answer each of their
// queries. It spends nothing and reads no private row.
func (db *Database) Plan(ctx context.Context, who Asker, all []released.Selection, how Planning) (*Statement, error) {
	v, err := db.Current(ctx, who.User)
	if err != nil {
		return nil, err
	}
	st, err := db.Bind(ctx, who, v, all)
	if err != nil {
		return nil, err
	}
	return st, st.Plan(ctx, how)
}

// Plan lists the ways to answer each query. What took a place to compile takes one to plan.
func (st *Statement) Plan(ctx context.Context, how Planning) (err error) {
	if st.turn == nil && st.place.Needed { // in a turn it would make the slot late
		if err := st.place.Take(ctx); err != nil {
			return err
		}
		defer st.place.Leave()
	}
	f := &file{db: st.Database, free: st.free}
	fresh, suggested := st.fresh(ctx), st.suggested()
	for i := range st.Asks {
		a := &st.Asks[i]
		a.suggested = suggested
		a.Planning, a.file, a.buyers, a.turn, a.Request.fresh = how, f, st.Buyers, st.turn, fresh == nil || fresh[i] && a.centre == nil
	}
	if done, err := st.covered(ctx, how); done || err != nil {
		return err
	}
	if err := st.predict(ctx); err != nil {
		return err
	}
	if st.First = st.counting(); st.First != nil {
		if err := st.First.list(ctx); err != nil {
			return err
		}
	}
	return st.list(ctx)
}

// covered lists the candidates of a statement that asks for no accuracy, and reports whether that is all: where every query has
// a free one, nobody asks what its means would cost, and the rows of none are predicted.
func (st *Statement) covered(ctx context.Context, how Planning) (bool, error) {
	if st.settings.Accuracy > 0 || how.Explaining {
		return false, nil
	}
	before := st.done
	if err := st.list(ctx); err != nil {
		return false, err
	}
	for i := range st.Asks {
		if _, err := released.Choose(st.Asks[i].Candidates, st.Asks[i].askedFor()); err != nil && st.Asks[i].perRow > 0 {
			st.done = before
			return false, nil
		}
	}
	return true, nil
}

// list lists the candidates for each query, by its accuracy.
func (st *Statement) list(ctx context.Context) (err error) {
	for i := range st.Asks {
		a := &st.Asks[i]
		if a.Candidates, err = st.Database.candidates(ctx, st.view, a.Request); err != nil {
			return err
		}
		a.tighten()
		if err := st.step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fresh reports for each query whether no answer to it is stored, for certain. A nil
// result means true for all: the view shows that the tables have no stored answers. This
// saves a look-up of 12 µs, two fifths of a prepared count (BenchmarkAnswer).
func (st *Statement) fresh(ctx context.Context) []bool {
	var fresh []bool
	for i := range st.Parts {
		p := &st.Parts[i]
		end := len(st.Asks)
		if i+1 < len(st.Parts) {
			end = st.Parts[i+1].asks
		}
		if !p.Table.Answered || p.asks == end {
			continue
		}
		if fresh == nil {
			fresh = make([]bool, len(st.Asks))
			for n := range fresh {
				fresh[n] = true
			}
		}
		queries := make([]string, end-p.asks)
		for n := range queries {
			queries[n] = st.Asks[p.asks+n].text()
		}
		copy(fresh[p.asks:], st.view.Unanswered(ctx, st.Database.store, p.Table.ID, queries))
	}
	return fresh
}

// Bind resolves the names of SELECTs and compiles them to linear queries.
func (db *Database) Bind(ctx context.Context, who Asker, v *view.View, all []released.Selection) (*Statement, error) {
	st := newStatement(db, who, v)
	st.place = places.Place{Of: db.compiling, User: who.User}
	defer st.place.Leave()
	for _, s := range all {
		t, err := v.Selected(s.Select)
		if err == nil {
			var b *sqlfront.Bound
			if b, err = s.Bind(schemas.Bindable(ctx, db.store, t, who.Now, db.textsOf(ctx, v, t), &st.place, db.Functions)); err == nil {
				if t.HasPeriods() {
					err = released.Begun(t.Universe, b, t.Partition, t.PeriodColumn, t.Begun(who.Now))
				}
				if err == nil {
					err = st.add(t, b)
				}
			}
		}
		if err != nil {
			return nil, released.Unbound(err)
		}
	}
	return st, nil
}

// textsOf returns what reads the texts that the releases of a table publish.
func (db *Database) textsOf(ctx context.Context, v *view.View, t *view.Table) schemas.Texts {
	return func(column int) ([]query.Value, []string, error) {
		texts, from, err := kind.Texts(v.Releases, &t.Table, column, func(all []*catalog.Release) ([]released.Answers, error) {
			for _, r := range all {
				if db.unbuilt(r) {
					return nil, &view.UnreadError{Name: r.Name, Release: true}
				}
			}
			return db.loadAll(ctx, t, all)
		})
		return texts, v.Names(from), err
	}
}

// Choose takes the best candidate of every query. If one query has none, the whole
// statement is refused. What an account cannot pay for is chosen if a charge waits for the statement.
func (st *Statement) Choose() error {
	err := st.choose()
	if err == nil || len(st.view.Waiting) == 0 || st.bill.Quota {
		return err
	}
	st.lend(true)
	if st.choose() == nil {
		return nil
	}
	st.lend(false)
	return st.choose()
}

// lend has direct answers be chosen that an account cannot pay for, or not any more.
func (st *Statement) lend(yes bool) {
	for i := range st.Asks {
		for j := range st.Asks[i].Candidates {
			if c := &st.Asks[i].Candidates[j]; c.Short != "" {
				if c.Refusal = c.Short; yes {
					c.Refusal = ""
				}
			}
		}
	}
}

func (st *Statement) choose() error {
	var first error
	var failed []int
	for i := range st.Asks {
		a := &st.Asks[i]
		best, err := released.Choose(a.Candidates, a.askedFor())
		if err != nil {
			if first == nil {
				first = err
			}
			failed = append(failed, i)
		}
		a.Best = best
	}
	if first != nil {
		return st.refused(first, failed)
	}
	return st.affordable()
}

// refused returns the error for a statement that cannot be answered.
func (st *Statement) refused(first error, failed []int) error {
	e, ok := first.(*sqlerr.Error)
	if !ok || len(st.Asks) == 1 {
		return first
	}
	c := released.Partly(e, len(st.Asks), len(failed))
	t := st.Asks[failed[0]].Table
	if offers := c.Code == sqlerr.Budget || c.Code == sqlerr.Uncovered && st.settings.Mechanism == "auto"; offers && t.Source != "" {
		c.Hint = st.offer(t, append(st.bought(), failed...))
	}
	return c
}

// answer asks the chosen candidates: first those that cost nothing, then in one charge
// those that are bought. It stops if the plan is stale. The answers up to there are
// stored, or their mechanism remembers them.
func (st *Statement) answer(ctx context.Context) ([]released.Estimate, *stale, error) {
	answers := make([]released.Estimate, len(st.Asks))
	if st.turn != nil && st.turn.Covers([]int64{slots.Mechanisms}) {
		if err := st.Database.Live.Enter(ctx); err != nil {
			return nil, nil, err
		}
		defer st.leaveHeld()
	}
	for i, a := range st.Asks {
		if a.Best.Buys() {
			continue
		}
		e, err := a.Best.Answer(ctx)
		if gone := (*stale)(nil); errors.As(err, &gone) {
			return nil, gone, nil
		}
		if err != nil {
			return nil, nil, err
		}
		answers[i] = e
		if err := st.step(ctx); err != nil {
			return nil, nil, err
		}
	}
	purchases := st.Purchases()
	if len(purchases) == 0 {
		return answers, nil, nil
	}
	return answers, nil, st.buyApart(ctx, purchases, answers)
}

// Joint returns what the answers to the distinct queries are for the SELECTs.
func (st *Statement) Joint(estimates []released.Estimate) released.Joint {
	out := released.Joint{Answers: make([]released.Answered, len(estimates)), Settings: st.settings, Cost: st.charges(), Kept: st.kept()}
	for i, e := range estimates {
		out.Answers[i] = released.Answered{Estimate: e, Confidence: st.Asks[i].Settings.Confidence, By: st.Asks[i].Best}
	}
	out.Parts = st.parts()
	return out
}

// parts returns the SELECTs.
func (st *Statement) parts() []released.Part {
	all := make([]released.Part, len(st.Parts))
	for i := range st.Parts {
		all[i] = st.Parts[i].Part
	}
	return all
}

// charges returns what was charged for the statement.
func (st *Statement) charges() released.Cost {
	return released.Cost{Epsilon: st.cost.Epsilon.Float(), Rho: st.cost.Rho.Float()}
}

// kept says which rows the answers are about, for each table of which these are not all.
func (st *Statement) kept() (all []released.Kept) {
	for i := range st.Parts {
		t := st.Parts[i].Table
		if kept := (released.Kept{Table: t.Name, Unit: t.Unit, MaxRows: t.MaxRows, Period: t.PeriodWord()}); t.Unit != "" && !slices.Contains(all, kept) {
			all = append(all, kept)
		}
	}
	return all
}

// Close gives back the lease on the mechanisms, so that another process can take it.
func (db *Database) Close() error { return db.Live.release(db) }
