// Package answer answers one SELECT. It plans: it binds the statement to linear
// queries and lists the candidates for each, which spends nothing. It chooses: what is
// free and tightest, or what reaches SET accuracy. It answers: stored answers and
// releases say what they say, an interactive mechanism is asked under its lease, and
// direct answers are charged, drawn, stored and returned. And it computes the rows.
//
// A mechanism that other queries used up between plan and answer makes a plan stale;
// Database.Select then plans again.
package answer

import (
	"context"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/stored"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/direct"
	"dpsql/noise"
	"dpsql/query"
	"dpsql/sqlfront"
)

// Database answers the SELECTs of one open database. It keeps what it has read before. It is safe for concurrent use.
type Database struct {
	store     *catalog.Store
	rows      *rows.Reader
	desk      *pay.Desk
	random    func() *noise.Source
	rehearsed *Rehearsed // nil but in a rehearsal

	views    view.Cache
	releases releaseCache
	margins  memo[stored.MarginKey, stored.MarginResult]
	prices   memo[direct.Request, price]
	params   memo[string, paramsResult] // of mechanisms, by their stored text
	Live     *LiveMechanisms
}

// Rehearsed holds what a rehearsal knows in addition to its copy of the catalog.
type Rehearsed struct {
	Original *Database          // the database that was copied
	Unbuilt  map[Unbuilt]uint64 // max_support of what the script creates, and nobody has built
}

// Unbuilt names a release or mechanism of the copy.
type Unbuilt struct {
	Object sqlfront.Object
	ID     int64
}

// NewDatabase returns what answers from a store. A query waits for those before it ten
// times as long as busy, the time to wait for another process.
func NewDatabase(store *catalog.Store, from *rows.Reader, desk *pay.Desk, random func() *noise.Source, busy time.Duration) *Database {
	return &Database{store: store, rows: from, desk: desk, random: random, Live: newLiveMechanisms(busy)}
}

// Rehearse returns what answers from a copy of the catalog.
func (db *Database) Rehearse(copied *catalog.Store, from *rows.Reader, desk *pay.Desk, unbuilt map[Unbuilt]uint64) *Database {
	return &Database{store: copied, rows: from, desk: desk, random: db.random, Live: db.Live, rehearsed: &Rehearsed{db, unbuilt}}
}

// Close gives back the lease on the mechanisms, so that another process may go on.
func (db *Database) Close() error { return db.Live.release(db) }

// Current returns the public catalog as it is now. It must not be changed.
func (db *Database) Current(ctx context.Context) (*view.View, error) {
	return db.views.Current(ctx, db.store)
}

// Asker is who a SELECT is answered for.
type Asker struct {
	Settings  Settings
	Principal catalog.Principal
	Bill      *pay.Bill                 // of the statement
	Progress  func(done, all int64)     // nil where nobody looks
	Confirm   func(warning string) bool // nil where nobody is asked
}

// Buyer returns what a new statement pays as: it has taken nothing yet.
func (a Asker) Buyer() *catalog.Buyer { return &catalog.Buyer{Principal: a.Principal} }

// Request is one linear query, bound and canonical, with the settings it is
// asked under.
type Request struct {
	Table    *view.Table
	Query    query.Query
	Settings Settings // accuracy and confidence are those that this query's answer has to meet
	asked    float64  // SET accuracy as it is set
	scale    float64  // what a unit of it is for this query: settings.Accuracy is asked·scale
	Planning
	file *file
}

// file knows whether the file is read-only. It asks at most once a statement, and only
// when that matters.
type file struct {
	db              *Database
	asked, readOnly bool
}

func (f *file) isReadOnly() bool {
	if !f.asked {
		db := f.db
		if db.rehearsed != nil { // the copy can be written, but a run could not
			db = db.rehearsed.Original
		}
		f.asked, f.readOnly = true, db.store.ReadOnly()
	}
	return f.readOnly
}

// Planning is the purpose of a plan, with what was found since an earlier plan.
type Planning struct {
	Buyer      *catalog.Buyer      // what the statement pays as; nil for one that has taken nothing yet
	changed    map[foundLater]bool // holds whatever the view says
	Explaining bool                // every candidate is shown, also those that SET mechanism excludes
}

// foundLater names what was found of a mechanism after a plan was made.
type foundLater struct {
	mechanism int64
	why       staleReason
}

// learn notes why a plan was stale. It returns false if the plan knew of it already.
func (p *Planning) learn(c *stale) bool {
	key := foundLater{c.mechanism, c.why}
	if p.changed[key] {
		return false
	}
	if p.changed == nil {
		p.changed = make(map[foundLater]bool)
	}
	p.changed[key] = true
	return true
}

// Select answers a SELECT: bind it to linear queries, plan them, choose, let the
// chosen candidates charge, draw, store and return, and compute the rows from
// the answers. Every private access of the module passes here or through a
// declaration. A mechanism that other queries spent between plan and answer leads to
// another plan, at most twice each.
func (db *Database) Select(ctx context.Context, who Asker, sel *sqlfront.Select, args []query.Value) (*Result, error) {
	how := Planning{Buyer: who.Buyer()}
	for {
		st, err := db.Plan(ctx, who, sel, args, how)
		if err != nil {
			return nil, err
		}
		if err := st.Choose(); err != nil {
			return nil, err
		}
		if err := st.agreed(who.Confirm); err != nil {
			return nil, err
		}
		answers, stale, err := st.answer(ctx)
		switch {
		case err != nil:
			return nil, err
		case stale == nil:
			return st.Result(answers), nil
		case !how.learn(stale):
			return nil, stale.err
		}
	}
}

// Plan binds a SELECT against the present catalog and lists the ways to answer
// each of its queries. It spends nothing and reads no private row.
func (db *Database) Plan(ctx context.Context, who Asker, sel *sqlfront.Select, args []query.Value, how Planning) (*Statement, error) {
	if how.Buyer == nil {
		how.Buyer = who.Buyer()
	}
	v, err := db.Current(ctx)
	if err != nil {
		return nil, err
	}
	st, err := db.Bind(ctx, who, v, sel, args)
	if err != nil {
		return nil, err
	}
	return st, st.Plan(ctx, how)
}

// Plan lists the ways to answer each query.
func (st *Statement) Plan(ctx context.Context, how Planning) (err error) {
	f := &file{db: st.Database}
	st.Buyer = how.Buyer
	for i := range st.Asks {
		a := &st.Asks[i]
		a.Planning, a.file = how, f
		if a.Candidates, err = st.Database.Candidates(ctx, st.view, a.Request); err != nil {
			return err
		}
		if err := st.step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Bind resolves the names of a SELECT and compiles it to linear queries.
func (db *Database) Bind(ctx context.Context, who Asker, v *view.View, sel *sqlfront.Select, args []query.Value) (*Statement, error) {
	t, err := v.Selected(sel)
	if err != nil {
		return nil, err
	}
	b, err := sqlfront.Bind(sel, schemas.Bindable(ctx, db.store, t), args)
	if err != nil {
		return nil, err
	}
	return newStatement(db, who, v, t, b), nil
}
