package answer

import (
	"cmp"
	"context"
	"math"
	"sync"
	"time"

	"dpsql/accounting"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/slots"
	"dpsql/engine/internal/view"
	"dpsql/internal/places"
	"dpsql/internal/released"
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

	First *Statement // is answered first: it counts the rows of means whose price waits for that; nil if there is none

	charged   func() // called when purchases are charged; may be nil
	progress  func(done, all int64)
	waits     func()
	done, all int64 // steps; each query is one step to plan and one to answer
}

// Part is one SELECT of a statement.
type Part struct {
	released.Part
	Table *view.Table
	first int // the number of slots of the parts before it
	asks  int // the number of asks of the parts before it

	reached string // for EXPLAIN, how the rows that count are reached; "" if that is not to be said
}

// linear is one distinct query of a statement.
type linear struct {
	Request
	slot       int     // the first slot of the statement that it answers
	most       float64 // the scale that Slots want; infinite for a query that only means use
	perRow     float64 // the scale for each row that a mean is of; 0 if none is
	plain      bool    // the sum in a mean is used by something else, too
	counted    float64 // the width of a mean's number of rows, as predicted
	rows       int     // the ask for the number of rows, for the sum in a mean; else -1
	divides    bool    // it is the number of rows of a mean
	uncounted  bool    // which nothing tells
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
		return released.ErrNumbers
	}
	s := st.settings
	p := Part{Part: released.Part{Bound: b, Index: make([]int, len(b.Queries))}, Table: t, first: st.slots, asks: len(st.Asks)}
	columns := sync.OnceValue(func() []int { return released.Queried(b) })
	var known map[[32]byte]int
	if len(b.Queries) > 1 || p.asks > 0 {
		known = make(map[[32]byte]int, len(b.Queries))
		for n := range st.Asks {
			if a := &st.Asks[n]; a.Table.ID == t.ID {
				known[released.Digest(a.Query, a.Question, a.column)] = n
			}
		}
	}
	for i, q := range b.Queries {
		k := b.SlotOf(i)
		key := released.Digest(q, b.Slots[k].Question, b.Slots[k].Column)
		n, ok := known[key]
		if !ok {
			n = len(st.Asks)
			if known != nil {
				known[key] = n
			}
			st.Asks = append(st.Asks, linear{slot: p.first + k, Request: Request{Table: t, Query: q, Question: b.Slots[k].Question, column: b.Slots[k].Column,
				Settings: s, now: st.now, statement: columns, asked: s.Accuracy}, most: math.Inf(1), rows: -1})
		}
		p.Index[i] = n
		st.Asks[n].need(s, b.Slots[k])
	}
	st.centre(p)
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

// need makes the query at least as precise as the slot needs.
func (a *linear) need(s released.Settings, k sqlfront.Slot) {
	a.most, a.perRow = min(a.most, k.Scale), cmp.Or(min(a.perRow, k.PerRow), a.perRow, k.PerRow)
	a.plain = a.plain || k.Centre.Reach <= 0
	a.rescale(a.most)
	a.Settings.Confidence = max(a.Settings.Confidence, released.Shared(s.Confidence, k.Split))
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

// rescale sets the width that the query's answer may have, for each unit of SET accuracy.
func (a *linear) rescale(scale float64) {
	if math.IsInf(scale, 1) { // while the number of rows is not known
		scale = float64(a.Query.MaxWeight())
	}
	a.scale = scale
	a.Settings.Accuracy = a.asked * scale
}

// centre joins the sums inside the means of a part with their numbers of rows.
func (st *Statement) centre(p Part) {
	width := p.Bound.Width()
	for i, n := range p.Index {
		k := p.Bound.Slots[p.Bound.SlotOf(i)]
		a := &st.Asks[n]
		if k.Rows > 0 {
			of := i/width*width + k.Rows - 1
			count := p.Bound.Queries[of]
			st.Asks[p.Index[of]].divides = true
			if a.plain = a.plain || p.Index[of] == n || a.centre != nil && !a.centre.count.Equal(count); p.Index[of] != n {
				a.rows, a.Request.centre = p.Index[of], &centre{count, k.Centre.Middle, k.Centre.Reach}
			}
		}
		if a.plain {
			a.Request.centre = nil
		}
	}
}

// predict sets the accuracy of answers that are used in means. SET accuracy is what the mean is to reach, and its error is
// that of its answers over the number of rows. That number is the tightest free answer, with noise of its own: it is at
// least its margin, and a tenth of what the groups have on average, so that a group of few rows does not set the price of all.
// What is mostly noise, and has more of it than a number that is counted first, tells nothing.
// What is bought is within the reach of the values about their middle, whatever is asked for. An answer that was bought is good
// enough if it is by any number that was bought: what a statement buys, it has when it is asked again.
func (st *Statement) predict(ctx context.Context) error {
	known, all := make(map[int]rowNumber), make(map[int]groups) // of an ask, and of all groups of its slot
	for i := range st.Asks {
		a := &st.Asks[i]
		if !a.divides {
			continue
		}
		n, err := st.Database.rowsOf(ctx, st.view, a.Request, a.first())
		if err != nil {
			return err
		}
		a.uncounted = n.tightest == 0
		sum := all[a.slot]
		known[i], all[a.slot] = n, groups{sum.tightest + n.tightest, sum.most + n.most, sum.number + 1}
	}
	for i := range st.Asks {
		a := &st.Asks[i]
		if a.perRow == 0 {
			continue
		}
		of := i
		if a.rows >= 0 {
			of = a.rows
		}
		n, sum := known[of], all[st.Asks[of].slot]
		few := 10 * sum.number
		if a.waits = n.tightest == 0; a.waits {
			a.rescale(a.most)
			continue
		}
		rows := st.Asks[of].counted
		least := max(n.tightest, sum.tightest/few)
		width, most := min(a.width(least, rows), least*math.Sqrt2/2*float64(a.reach())), a.width(max(n.most, sum.most/few), rows)
		if a.divides {
			width, most = whole(width), math.Ceil(most)
			a.counted = min(width, n.margin)
		}
		if a.rescale(width / cmp.Or(a.asked, a.suggested)); a.asked > 0 {
			a.Settings.Accuracy = max(a.Settings.Accuracy, most)
		}
	}
	return nil
}

// counting returns the statement that counts the rows of the means whose price waits for that, and is answered first; nil if
// there is none. A number of rows that is not shown is counted within Suggested.
func (st *Statement) counting() *Statement {
	first := *st
	first.Asks = nil
	for _, a := range st.Asks {
		if a.uncounted && a.asked > 0 {
			a.waits = false
			a.most = a.first() / a.asked
			a.rescale(a.most)
			first.Asks = append(first.Asks, a)
		}
	}
	if first.Asks == nil {
		return nil
	}
	return &first
}

// first returns within how much a mean's number of rows is counted first.
func (a *linear) first() float64 {
	if math.IsInf(a.most, 1) {
		return Suggested
	}
	return a.most * cmp.Or(a.asked, a.suggested)
}

// width returns the width that an answer inside a mean of n rows may have, with the number of rows within so much.
func (a *linear) width(n, rows float64) float64 {
	asked, reach := cmp.Or(a.asked, a.suggested), float64(a.reach())
	w := n * a.perRow * asked
	if a.centre != nil { // what the number of rows leaves of the squared error
		w = math.Sqrt(max(w*w, 2*w*w-reach*reach*rows*rows))
	}
	return min(a.most*asked, w)
}

// whole returns the whole number near a width to count within that has the lesser price of sum and count, which is
// 1/k² + 1/(2w² − k²) (see sqlfront, outputs.over).
func whole(w float64) float64 {
	down, up := math.Floor(w), math.Ceil(w)
	price := func(k float64) float64 { return 1/(k*k) + 1/(2*w*w-k*k) }
	if down < 1 || up < math.Sqrt2*w && price(up) < price(down) {
		return up
	}
	return down
}

// rowNumber is what is known of a number of rows: by the tightest free answer, and the most of that and of all that were bought. It is 0 if
// nothing is known.
type rowNumber struct{ tightest, margin, most float64 }

// groups adds up what is known of the rows of groups, and has their number.
type groups struct{ tightest, most, number float64 }

// rowsOf predicts the number of rows that a mean is of from the request for it, where it can be counted within so much.
func (db *Database) rowsOf(ctx context.Context, v *view.View, r Request, within float64) (n rowNumber, err error) {
	r.Settings.Accuracy, r.Settings.Mechanism, r.asked = 0, "auto", 0
	c, err := db.tightest(ctx, v, r)
	if err != nil {
		return n, err
	}
	from := db
	if db.rehearsed != nil { // what a script buys has no value yet
		from = db.rehearsed.Original
	}
	if c != nil && c.Answer != nil && (from == db || c.Origin != released.FromStored) {
		e, err := c.Answer(ctx)
		if err != nil {
			return n, err
		}
		if reach := e.Error.Reach(); reach <= within || float64(e.Value) >= 2*reach {
			n.add(e.Value, reach)
		}
	}
	stored, err := from.storedAnswers(ctx, r)
	for _, a := range stored {
		margin, err := db.Margin(a.Kind, a.Law, r.Settings.Confidence)
		if err != nil {
			return n, err
		}
		n.add(a.Estimate, margin)
	}
	return n, err
}

// add adds an answer.
func (n *rowNumber) add(value int64, margin float64) {
	margin = max(1, margin)
	rows := max(float64(value), margin)
	if n.tightest == 0 || margin < n.margin {
		n.tightest, n.margin = rows, margin
	}
	n.most = max(n.most, rows)
}

// tighten has the answers of releases be closer than bought ones. Nothing is known of how their errors
// depend on each other, and their sums are not about the middle: the mean's error is up to that of the sum,
// and twice the reach that of the count.
func (a *linear) tighten() {
	if a.perRow == 0 || a.asked == 0 {
		return
	}
	for i := range a.Candidates {
		c := &a.Candidates[i]
		share := 4.0
		if a.Query.MaxWeight() > 1 {
			share = 2
		}
		if c.Refusal == "" && c.Known && c.Kind != "direct" && c.Margin > a.Settings.Accuracy/share {
			c.Refusal = "beyond SET accuracy = " + released.Counts(a.asked)
		}
	}
}
