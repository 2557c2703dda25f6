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
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/slots"
	"dpsql/engine/internal/view"
	"dpsql/internal/places"
	"dpsql/internal/released"
	"dpsql/mechanisms/direct"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// Database answers the SELECTs of one open database. It caches releases, views and
// margins. It is safe for concurrent use.
type Database struct {
	store     *catalog.Store
	rows      *rows.Reader
	desk      *pay.Desk
	rehearsed *Rehearsed // nil except in a rehearsal

	views    view.Cache
	releases releaseCache
	margins  memo[kind.MarginKey, kind.MarginResult]
	prices   memo[direct.Request, price]
	params   memo[string, paramsResult] // parameters of mechanisms, by their stored text

	universes memo[partKey, *query.Universe] // of some periods of a table
	Live      *LiveMechanisms
	turns     slots.Schedule // of statements whose answers are held
	compiling *places.Places // of statements that take long to compile, and much memory
}

// Rehearsed holds what a rehearsal knows in addition to its copy of the catalog.
type Rehearsed struct {
	Original *Database                 // the database that was copied
	Unbuilt  map[Unbuilt]kind.Forecast // the releases and mechanisms that the script creates; they are not built
}

// Unbuilt names a release or mechanism in the copy.
type Unbuilt struct {
	Object syntax.Object
	ID     int64
}

// NewDatabase returns a Database over a store. busy is how long to wait for another
// process. A query waits ten times as long for the queries before it.
func NewDatabase(store *catalog.Store, from *rows.Reader, desk *pay.Desk, busy time.Duration) *Database {
	return &Database{store: store, rows: from, desk: desk, Live: newLiveMechanisms(busy), compiling: &places.Places{All: 2, Each: 1}}
}

// Rehearse returns a Database that answers from a copy of the catalog.
func (db *Database) Rehearse(copied *catalog.Store, from *rows.Reader, desk *pay.Desk, unbuilt map[Unbuilt]kind.Forecast) *Database {
	return &Database{store: copied, rows: from, desk: desk, Live: db.Live, compiling: db.compiling, rehearsed: &Rehearsed{db, unbuilt}}
}

// Close gives back the lease on the mechanisms, so that another process can take it.
func (db *Database) Close() error { return db.Live.release(db) }

// Current returns the public catalog as it is now, for a user what she may see of it; 0 is
// no user. Callers must not change it.
func (db *Database) Current(ctx context.Context, user int64) (*view.View, error) {
	return db.views.Current(ctx, db.store, user)
}

// Asker is the session that a SELECT is answered for.
type Asker struct {
	User     int64 // who sees what was granted to her; 0 for all tables
	Settings released.Settings
	Buyers   *pay.Buyers               // pay for the statement, all its parts together
	Now      time.Time                 // when the statement began
	Bill     *pay.Bill                 // the statement's charges
	Progress func(done, all int64)     // may be nil
	Confirm  func(warning string) bool // nil if nobody is to be asked
	Free     bool                      // nothing may be bought
	Held     bool                      // what private rows are read for is answered at a time that does not depend on them
	turn     *slots.Turn               // nil unless it is, and rows may be read now
}

// Request is one linear query, bound and canonical, with the settings that apply to it.
type Request struct {
	Table     *view.Table
	Query     query.Query
	Question  sqlfront.Question
	column    int               // of the table, that an Order or DistinctValues is of
	Settings  released.Settings // with the accuracy and confidence that the answer to this query needs
	asked     float64           // SET accuracy as the user gave it
	scale     float64           // Settings.Accuracy is asked·scale
	whole     *query.Query      // the query over all periods that this one is a part of; nil if it is whole
	fresh     bool              // no answer to the query is stored, for certain
	buyers    *pay.Buyers
	turn      *slots.Turn
	now       time.Time    // when the statement began
	statement func() []int // the columns of the table that queries of the statement are on, ascending
	Planning
	file     *file
	template *catalog.Template // whose part is asked; nil for none
}

// askedFor returns what a candidate is chosen for.
func (r Request) askedFor() released.Asked {
	return released.Asked{Settings: r.Settings, Accuracy: r.asked, Table: r.Table.Name, Rows: r.Table.Source != ""}
}

// buyer returns the buyer that pays for the request.
func (r Request) buyer() *catalog.Buyer { return r.buyers.Of(r.Table.Account) }

// file remembers whether the database file is read-only. It looks at most once a
// statement, and only if the answer matters.
type file struct {
	db              *Database
	free            bool // it is to be taken for read-only
	asked, readOnly bool
}

func (f *file) isReadOnly() bool {
	if !f.asked && !f.free {
		db := f.db
		if db.rehearsed != nil { // the copy is writable; a run uses the original
			db = db.rehearsed.Original
		}
		f.asked, f.readOnly = true, db.store.ReadOnly()
	}
	return f.readOnly || f.free
}

// refusal is returned when an answer would need a charge, and the file is read-only.
func (f *file) refusal() *sqlerr.Error {
	const free = "releases and stored answers are still there"
	if f.free {
		return sqlerr.New(sqlerr.ReadOnly, "nothing is bought in a read-only transaction").WithHint(free)
	}
	return sqlerr.New(sqlerr.ReadOnly, "the file cannot be written").WithHint(free + "; a new answer needs a file that can be charged")
}

// Planning is the purpose of a plan and what earlier plans of the statement missed.
type Planning struct {
	changed    map[foundLater]bool // overrides the view
	Explaining bool                // include the candidates that SET mechanism excludes
}

// foundLater is a change of a mechanism that was found after a plan was made.
type foundLater struct {
	mechanism int64
	why       staleReason
}

// learn records why a plan was stale. It returns false if the reason was already recorded.
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

// Selection is a SELECT with the values of its parameters.
type Selection struct {
	Select *syntax.Select
	Args   []query.Value
	At     func(position int) int // positions in the statement that it is part of; nil if it is the statement
	// Described says that the SELECT is not to be answered, and that its arguments are not known.
	Described bool
}

// bound binds a SELECT to its table.
func (s Selection) bound(t sqlfront.Table) (*sqlfront.Bound, error) {
	if s.Described {
		return sqlfront.Describe(s.Select, t)
	}
	return sqlfront.Bind(s.Select, t, s.Args)
}

// Select answers a SELECT. It binds it to linear queries, plans and chooses. The chosen
// candidates charge, draw, store and return. Select then computes the rows from their
// answers. Every private access of the module comes through Together or through a
// declaration.
func (db *Database) Select(ctx context.Context, who Asker, sel *syntax.Select, args []query.Value) (*released.Result, error) {
	a, err := db.Together(ctx, who, []Selection{{Select: sel, Args: args}}, nil)
	if err != nil {
		return nil, err
	}
	return a.statement.Result(a.answers), nil
}

// Answers are the answers to the SELECTs of a statement.
type Answers struct {
	statement *Statement
	answers   []released.Answered
}

// Rows returns the rows of SELECT i, with margins at a confidence.
func (a Answers) Rows(i int, confidence float64) *released.Result {
	return a.statement.rows(&a.statement.Parts[i], a.answers, confidence)
}

// How describes how all the answers came about. It has no margins.
func (a Answers) How() *released.Answer { return a.statement.describe(a.answers) }

// Warnings returns the warnings of all SELECTs.
func (a Answers) Warnings() []string { return a.statement.bindingWarnings() }

// Together answers several SELECTs: all of them, or none. They are planned in one view, and
// what is bought for them is charged in one transaction. ready is called with the columns of
// each before anything is charged, and may refuse. If other queries spend a mechanism between
// plan and answer, Together plans again, at most twice for each mechanism.
//
// If the asker's answers are held, a statement for which private rows are read waits for a turn on
// its tables, and is planned again then. It is not compiled again, unless a curator changed its tables
// meanwhile: then it is compiled without the turn, and waits for another. From there on it goes its way whether it is cancelled or
// not: the context's end says nothing of the rows, and when a statement ends must not either.
func (db *Database) Together(ctx context.Context, who Asker, all []Selection, ready func([][]released.Column) error) (Answers, error) {
	var how Planning
	var st *Statement
	held := ctx // once it has a turn, without an end
	defer func() {
		if who.turn != nil {
			who.turn.End()
		}
	}()
	for {
		v, err := db.Current(held, who.User)
		if err != nil {
			return Answers{}, err
		}
		if st == nil || !st.under(v) {
			if who.turn != nil { // compiling takes its time, and would make the slot late
				who.turn.End()
				who.turn, held = nil, ctx
			}
			if st, err = db.Bind(ctx, who, v, all); err != nil {
				return Answers{}, err
			}
			if ready != nil {
				if err := ready(st.Columns()); err != nil {
					return Answers{}, err
				}
			}
		}
		st.turn = who.turn
		if err := st.Plan(held, how); err != nil {
			return Answers{}, err
		}
		if err := st.Choose(); err != nil {
			return Answers{}, err
		}
		if st.held && !st.turn.Covers(st.lanes()) {
			if who.turn != nil {
				who.turn.End()
				who.turn = nil
			}
			if who.turn, err = st.takeTurn(ctx); err != nil {
				return Answers{}, err
			}
			held = context.WithoutCancel(ctx)
			continue
		}
		if err := st.agreed(who.Confirm); err != nil {
			return Answers{}, err
		}
		answers, stale, err := st.answer(held)
		switch {
		case err != nil:
			return Answers{}, err
		case stale == nil:
			return Answers{st, st.Answered(answers)}, nil
		case !how.learn(stale):
			return Answers{}, stale.err
		}
	}
}

// Columns returns the columns of each part.
func (st *Statement) Columns() [][]released.Column {
	all := make([][]released.Column, len(st.Parts))
	for i := range st.Parts {
		all[i] = released.ColumnsOf(st.Parts[i].bound)
	}
	return all
}

// Parameters returns the types of the parameters of each part. That of one is "" if the part does
// not tell it.
func (st *Statement) Parameters() [][]query.SQLType {
	all := make([][]query.SQLType, len(st.Parts))
	for i := range st.Parts {
		all[i] = st.Parts[i].bound.Parameters
	}
	return all
}

// Plan binds SELECTs against the present catalog and lists the ways to answer each of their
// queries. It spends nothing and reads no private row.
func (db *Database) Plan(ctx context.Context, who Asker, all []Selection, how Planning) (*Statement, error) {
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
	fresh := st.fresh(ctx)
	for i := range st.Asks {
		a := &st.Asks[i]
		a.Planning, a.file, a.buyers, a.turn, a.Request.fresh = how, f, st.Buyers, st.turn, fresh == nil || fresh[i]
		if a.Candidates, err = st.Database.candidates(ctx, st.view, a.Request); err != nil {
			return err
		}
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
func (db *Database) Bind(ctx context.Context, who Asker, v *view.View, all []Selection) (*Statement, error) {
	st := newStatement(db, who, v)
	st.place = places.Place{Of: db.compiling, User: who.User}
	defer st.place.Leave()
	for _, s := range all {
		t, err := v.Selected(s.Select)
		if err == nil {
			var b *sqlfront.Bound
			if b, err = s.bound(schemas.Bindable(ctx, db.store, t, who.Now, db.textsOf(ctx, v, t), &st.place)); err == nil {
				if t.HasPeriods() {
					err = begun(t, b, who.Now)
				}
				if err == nil {
					err = st.add(t, b)
				}
			}
		}
		if err != nil {
			return nil, NotBound{s.Located(err)}
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

// NotBound is the error of a SELECT that cannot be bound, so that nothing was planned.
type NotBound struct{ error }

// Unwrap returns the reason.
func (e NotBound) Unwrap() error { return e.error }

// Located returns an error with its place in the statement that the SELECT is part of.
func (s Selection) Located(err error) error {
	if s.At == nil {
		return err
	}
	return sqlerr.Move(err, s.At)
}
