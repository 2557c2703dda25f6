package answer

import (
	"context"
	"slices"
	"sync"
	"time"

	"dpsql/accounting"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/slots"
	"dpsql/engine/internal/view"
	"dpsql/internal/places"
	"dpsql/internal/released"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// Statement is a statement between planning and its result. It has one SELECT, or several
// that are answered together: the private aggregates of one statement. All of their queries
// have one plan and one charge. A query that several of them ask is asked once.
type Statement struct {
	Database *Database
	view     *view.View
	Parts    []Part  // its SELECTs
	one      [1]Part // where Parts is of most statements
	settings released.Settings
	Asks     []linear // the distinct queries of all parts, each among those of the first part that asks it
	slots    int      // of all parts
	numbers  int      // of all parts

	Buyers *pay.Buyers       // pay for the statement
	cost   accounting.Amount // charged for direct answers, now
	bill   *pay.Bill
	free   bool // nothing may be bought
	held   bool // answers for which private rows are read are held
	stops  bool // who cancels stops what is read
	turn   *slots.Turn
	place  places.Place // see Database.compiling
	now    time.Time    // when it began

	charged   func() // called when purchases are charged; may be nil
	progress  func(done, all int64)
	waits     func()
	done, all int64 // steps; each query is one step to plan and one to answer
}

// Part is one SELECT of a statement.
type Part struct {
	Table *view.Table
	bound *sqlfront.Bound
	index []int // for each of bound.Queries, the index in Asks of the query that answers it
	first int   // the number of slots of the parts before it
	asks  int   // the number of asks of the parts before it

	reached string // for EXPLAIN, how the rows that count are reached; "" if that is not to be said
}

// linear is one distinct query of a statement.
type linear struct {
	Request
	slot       int // the first slot of the statement that it answers
	Candidates []released.Candidate
	Best       *released.Candidate // the chosen candidate; nil before Choose, or if there is none
}

// newStatement returns a statement without a SELECT.
func newStatement(db *Database, who Asker, v *view.View) *Statement {
	st := &Statement{Database: db, view: v, settings: who.Settings, Buyers: who.Buyers, bill: who.Bill, progress: who.Progress, waits: who.Waits, free: who.Free, held: who.Held, stops: who.Stops, turn: who.turn, now: who.Now}
	st.Parts = st.one[:0]
	return st
}

// add adds a SELECT: it collects its distinct queries. A query in several slots gets the
// precision that the most demanding one needs. A SELECT is refused that has too many beside those before it.
func (st *Statement) add(t *view.Table, b *sqlfront.Bound) error {
	if st.numbers += b.Numbers; st.numbers > sqlfront.MaxNumbers {
		return sqlerr.New(sqlerr.Unsupported, "more than %d numbers in a statement are outside the dialect", sqlfront.MaxNumbers).
			WithHint("ask for fewer groups, or fewer aggregates, at a time")
	}
	s := st.settings
	p := Part{Table: t, bound: b, index: make([]int, len(b.Queries)), first: st.slots, asks: len(st.Asks)}
	columns := sync.OnceValue(func() []int { return columnsOf(b) })
	var known map[[32]byte]int
	if len(b.Queries) > 1 || p.asks > 0 {
		known = make(map[[32]byte]int, len(b.Queries))
		for n := range st.Asks {
			if a := &st.Asks[n]; a.Table.ID == t.ID {
				known[digestOf(a.Query, a.Question, a.column)] = n
			}
		}
	}
	for i, q := range b.Queries {
		k := b.SlotOf(i)
		key := digestOf(q, b.Slots[k].Question, b.Slots[k].Column)
		n, ok := known[key]
		if !ok {
			n = len(st.Asks)
			if known != nil {
				known[key] = n
			}
			st.Asks = append(st.Asks, linear{slot: p.first + k, Request: Request{Table: t, Query: q, Question: b.Slots[k].Question, column: b.Slots[k].Column,
				Settings: s, now: st.now, statement: columns, asked: s.Accuracy, scale: b.Slots[k].Scale}})
		}
		p.index[i] = n
		st.Asks[n].need(s, b.Slots[k])
	}
	st.Parts = append(st.Parts, p)
	st.slots += len(b.Slots)
	st.all = 2 * int64(len(st.Asks))
	return nil
}

// under moves a bound statement to a later view. It returns false if one of its tables is not there
// any more; a table that is has the declaration that it was made with. Public tables and published texts
// may have changed since the statement was bound, as they may between any plan and its answer.
func (st *Statement) under(v *view.View) bool {
	if v == st.view {
		return true
	}
	tables := make(map[int64]*view.Table, len(st.Parts))
	for i := range st.Parts {
		before := st.Parts[i].Table
		now := v.TableByID(before.ID)
		if now == nil {
			return false
		}
		moved := *now
		moved.Universe = before.Universe // which its queries are over
		tables[now.ID] = &moved
	}
	for i := range st.Parts {
		st.Parts[i].Table = tables[st.Parts[i].Table.ID]
	}
	for i := range st.Asks {
		st.Asks[i].Table = tables[st.Asks[i].Table.ID]
	}
	st.view, st.done = v, 0
	return true
}

// asksOf returns the queries of a part, those that it shares with others included, in order.
func (p *Part) asksOf() []int {
	asks := slices.Clone(p.index)
	slices.Sort(asks)
	return slices.Compact(asks)
}

// columnsOf returns the columns that a SELECT's queries and orders are on, ascending.
func columnsOf(b *sqlfront.Bound) (columns []int) {
	for _, q := range b.Queries {
		columns = append(columns, q.Columns()...)
	}
	for _, s := range b.Slots {
		if s.Question == sqlfront.Order || s.Question == sqlfront.DistinctValues {
			columns = append(columns, s.Column)
		}
	}
	slices.Sort(columns)
	return slices.Compact(columns)
}

// need makes the query at least as precise as the slot needs.
func (a *linear) need(s released.Settings, k sqlfront.Slot) {
	a.scale = min(a.scale, k.Scale)
	a.Settings.Accuracy = s.Accuracy * a.scale
	a.Settings.Confidence = max(a.Settings.Confidence, 1-(1-s.Confidence)/float64(k.Split))
}

// Asker is the session that a SELECT is answered for.
type Asker struct {
	User     int64 // who sees what was granted to her; 0 for all tables
	Settings released.Settings
	Buyers   *pay.Buyers               // pay for the statement, all its parts together
	Now      time.Time                 // when the statement began
	Bill     *pay.Bill                 // the statement's charges
	Progress func(done, all int64)     // may be nil
	Waits    func()                    // called before the statement waits for its slot; may be nil
	Confirm  func(warning string) bool // nil if nobody is to be asked
	Free     bool                      // nothing may be bought
	Held     bool                      // what private rows are read for is answered at a time that does not depend on them
	Stops    bool                      // who cancels stops what is read, instead of leaving it
	turn     *slots.Turn               // nil unless it is, and rows may be read now
}

// step reports progress, and returns the context's error.
func (st *Statement) step(ctx context.Context) error {
	st.done++
	if st.progress != nil {
		st.progress(st.done, st.all)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return nil
}
