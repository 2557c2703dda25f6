package answer

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/slots"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// Request is one linear query, bound and canonical, with the settings that apply to it.
type Request struct {
	Table     *view.Table
	Query     query.Query
	Question  sqlfront.Question
	column    int               // of the table, that an Order or DistinctValues is of
	Settings  released.Settings // with the accuracy and confidence that the answer to this query needs
	asked     float64           // SET accuracy as the user gave it
	scale     float64           // Settings.Accuracy is asked·scale
	suggested float64           // the accuracy that hints state a price for, of the statement
	waits     bool              // its price waits for a number of rows
	centre    *centre           // how a direct answer to the sum inside a mean is bought; nil for other answers
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

// text returns the question about the query in canonical form, by which its answers are
// stored. A query begins with a weight or with the name of a column, and none has a colon
// behind it, so no two questions have one text.
func (r Request) text() string {
	switch r.Question {
	case sqlfront.Units:
		return "units: " + r.named().String()
	case sqlfront.Order:
		return fmt.Sprintf("order of column %d: %s", r.column, r.named())
	case sqlfront.DistinctValues:
		return fmt.Sprintf("values of column %d: %s", r.column, r.named())
	}
	return r.named().String()
}

// named returns the query as its answers are stored: over all periods, so that the answer about
// one of them is never taken for another's.
func (r Request) named() query.Query {
	if r.whole != nil {
		return *r.whole
	}
	return r.Query
}

type answerKey struct {
	table  int64
	digest [32]byte
}

func keyOf(r Request) answerKey {
	return answerKey{r.Table.ID, released.Digest(r.named(), r.Question, r.column)}
}

// Digest identifies the query and its table.
func (r Request) Digest() [32]byte {
	k := keyOf(r)
	return sha256.Sum256(binary.BigEndian.AppendUint64(k.digest[:], uint64(k.table)))
}

// considers reports whether candidates of a kind, or the one with the name, matter.
func (r Request) considers(kind, name string) bool {
	return r.Explaining || released.Candidate{Kind: kind, Name: name}.Allowed(r.Settings.Mechanism)
}

// asOf returns when rows of some periods were read, if one of the periods had not ended then. It is
// zero otherwise: what is read later is the same, but for rows that come late.
func (r Request) asOf(over period.Ranges, read time.Time) (at time.Time) {
	if t := r.Table; t.HasPeriods() && t.Partition.Clocked() && len(over) > 0 && !t.Partition.Closed(over[len(over)-1].Last, read) {
		return read
	}
	return at
}

// read says that private rows of a snapshot are about to be read for the request, see
// slots.Turn.Read.
func (r Request) read(sn *rows.Snapshot) {
	if r.turn != nil {
		sn.Steady()
		r.turn.Read()
	}
}

// publish is called before anything about the request is written that others can see, see
// slots.Turn.Publish.
func (r Request) publish() {
	if r.turn != nil {
		r.turn.Publish()
	}
}

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

// stale reports that a plan no longer holds. Nothing was answered, and the statement has
// to be planned again.
type stale struct {
	mechanism int64
	why       staleReason
	err       error // for the user, if another plan ends in the same way
}

// Error implements error. A user sees err.
func (s *stale) Error() string { return "the plan does not hold any more" }

type staleReason int

const (
	spentMeanwhile staleReason = iota // other queries used the mechanism's last run or comparison
	runUnpaid                         // no run is open, and limits keep the statement from paying for the next
)

// within returns the request about the rows of some periods alone. It is false if none of them
// can have a row, or if the query counts rows of others.
func (db *Database) within(r Request, over period.Range) (Request, bool) {
	t := r.Table
	if over == t.Part || !t.HasPeriods() {
		return r, over == t.Part
	}
	u := db.universes.get(partKey{t.ID, over}, func() *query.Universe {
		part, some := t.Within(over)
		if !some {
			return nil
		}
		return part.Universe
	})
	if u == nil {
		return r, false
	}
	part := *t
	part.Universe, part.Columns, part.Part, part.NHat = u, u.Columns(), over, t.RowCount(over)
	var ok bool
	if r.whole == nil {
		whole := r.Query
		r.whole = &whole
	}
	r.Table = &part
	r.Query, ok = r.Query.Within(u)
	return r, ok
}

// asPart makes r a request for a query over all periods of the table whose part r is about, with
// no rows of others: its support is cut to those.
func (r Request) asPart(sets []query.ColumnSet) Request {
	u := r.whole.Universe()
	t := r.Table
	d := u.Columns()[t.PeriodColumn].Domain
	if !slices.ContainsFunc(sets, func(s query.ColumnSet) bool { return s.Column == t.PeriodColumn }) {
		sets = append(sets, query.ColumnSet{Column: t.PeriodColumn, Set: t.Partition.Set(d, period.Ranges{t.Part})})
		slices.SortFunc(sets, func(a, b query.ColumnSet) int { return a.Column - b.Column })
	}
	whole := query.Conjunction(u, sets)
	r.whole = &whole
	r.Query, _ = whole.Within(t.Universe)
	return r
}

// about returns the request as a release or mechanism of some periods answers it, or the reason
// why it does not: it knows no rows of other periods.
func (db *Database) about(r Request, span period.Range) (_ Request, refusal string) {
	if !r.Table.HasPeriods() {
		return r, ""
	}
	if refusal = released.Elsewhere(r.Table.Partition, r.Table.Touched(r.Query), span); refusal != "" {
		return r, refusal
	}
	in, ok := db.within(r, span)
	if !ok {
		return r, released.ErrNowhere
	}
	return in, ""
}

// centre says how a direct answer to the sum inside a mean is bought: less the middle of the
// weights for each row that the mean is of. A row changes it by at most the reach.
type centre struct {
	count         query.Query
	middle, reach int64
}

// terms returns the queries whose counts make a direct answer: see centred.
func (r Request) terms() []query.Query {
	if r.centre == nil {
		return []query.Query{r.Query}
	}
	return []query.Query{r.Query, r.centre.count}
}

// centred returns the count that noise is added to, from those of the terms.
func (r Request) centred(counts []int64) []int64 {
	if r.centre == nil {
		return counts
	}
	return []int64{counts[0] - source.AddWeighted(0, r.centre.middle, counts[1])}
}

// reach returns the most that a row changes a direct answer by.
func (r Request) reach() int64 {
	if r.centre != nil {
		return r.centre.reach
	}
	return r.Query.MaxWeight()
}

// bought returns the text by which a direct answer is stored, see text.
func (r Request) bought() string {
	if r.centre != nil {
		return fmt.Sprintf("less %d for each of %s: %s", r.centre.middle, r.centre.count.String(), r.text())
	}
	return r.text()
}
