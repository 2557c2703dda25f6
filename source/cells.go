package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"dpsql/query"
)

// Cells implements Reader. It reads each row once and keeps none.
func (s sqlite) Cells(ctx context.Context, p Permit, t Table, columns []int, coder query.Coder, most int) (*Histogram, error) {
	if err := Admit(p, t); err != nil {
		return nil, err
	}
	projected, err := t.Project(columns)
	if err == nil {
		err = projected.Over(coder.Universe())
	}
	if err != nil {
		return nil, err
	}
	cells := NewTally(t, coder, most)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	var rows int64
	err = stream(reading, s.q, t, columns, func(tuple []query.Value) {
		if rows++; rows%(1<<16) == 0 && t.Progress != nil && t.Expected > 0 {
			t.Progress(int(100*min(rows, t.Expected)/t.Expected), 100)
		}
		if e, ok := cells.Name(tuple); ok && !cells.Add(e, 1) {
			stop()
		}
	})
	if err != nil && !cells.over {
		return nil, err
	}
	return cells.Histogram()
}

// ErrTooManyCells is returned when more cells are occupied than the caller allows.
// It depends on private rows and must not reach a user.
var ErrTooManyCells = errors.New("too many cells are occupied")

// Tally counts rows by cell. Cells that have codes are counted in a hash table with
// open addressing, all others in a map by fingerprint. A Tally prints as its type only.
type Tally struct {
	coder  query.Coder
	most   int // cells
	over   bool
	coded  bool
	used   int
	codes  []uint64
	counts []int64 // 0 where the slot is free
	shift  uint    // a hash's high bits are the slot
	prints map[query.Element]int64

	naming sync.Mutex
	texts  map[query.Element]string // what Name has named; nil if no texts are kept
}

const firstSlots = 10 // bits

// NewTally returns an empty tally of at most most cells of a table, named by the coder.
func NewTally(of Table, coder query.Coder, most int) *Tally {
	t := &Tally{coder: coder, most: most, coded: coder.Universe().Coded()}
	if of.Texts {
		t.texts = make(map[query.Element]string)
	}
	if !t.coded {
		t.prints = make(map[query.Element]int64)
		return t
	}
	t.make(firstSlots)
	return t
}

// Format prints the type and none of the counts.
func (t *Tally) Format(s fmt.State, _ rune) { fmt.Fprint(s, "tally") }

// Name returns the name of a record's cell, or false if the record lies outside the domains. It
// is safe for concurrent use.
func (t *Tally) Name(record []query.Value) (query.Element, bool) {
	e, ok := t.coder.Code(record)
	if t.texts == nil || !ok {
		return e, ok
	}
	t.naming.Lock()
	defer t.naming.Unlock()
	if _, known := t.texts[e]; !known {
		t.texts[e] = t.coder.Universe().TextsOf(record)
	}
	return e, true
}

// Histogram returns the counts. Add must not be called afterwards. It returns
// ErrTooManyCells if an Add returned false.
func (t *Tally) Histogram() (*Histogram, error) {
	if t.over {
		return nil, ErrTooManyCells
	}
	h := &Histogram{coder: t.coder, prints: t.prints, texts: t.texts}
	if !t.coded {
		return h, nil
	}
	codes, counts := t.sorted()
	h.codes, h.sums = codes, make([]int64, len(codes)+1)
	for i, n := range counts {
		h.sums[i+1] = h.sums[i] + n
	}
	h.buildIndex()
	return h, nil
}

func (t *Tally) make(bits uint) {
	t.codes, t.counts, t.shift = make([]uint64, 1<<bits), make([]int64, 1<<bits), 64-bits
}

func (t *Tally) len() int {
	if t.coded {
		return t.used
	}
	return len(t.prints)
}

// Add counts n rows of a cell. If n is not positive it does nothing. It returns false
// once more than most cells are occupied.
func (t *Tally) Add(e query.Element, n int64) bool {
	switch {
	case t.over || n <= 0:
		return !t.over
	case t.coded:
		t.addCode(e.Lo, n)
	default:
		t.prints[e] += n
	}
	t.over = t.len() > t.most
	return !t.over
}

func (t *Tally) addCode(code uint64, n int64) {
	if 4*t.used >= 3*len(t.codes) {
		t.grow()
	}
	i := t.slot(code)
	if t.counts[i] == 0 {
		t.codes[i] = code
		t.used++
	}
	t.counts[i] += n
}

// slot returns the slot that holds a code, or the free slot where it belongs. The
// multiplier is 2^64 over the golden ratio, which spreads neighbouring codes (Knuth,
// volume 3, section 6.4).
func (t *Tally) slot(code uint64) uint64 {
	i := (code * 0x9E3779B97F4A7C15) >> t.shift
	for t.counts[i] != 0 && t.codes[i] != code {
		if i++; i == uint64(len(t.codes)) {
			i = 0
		}
	}
	return i
}

func (t *Tally) grow() {
	codes, counts := t.codes, t.counts
	t.make(64 - t.shift + 1)
	t.used = 0
	for i, n := range counts {
		if n != 0 {
			t.addCode(codes[i], n)
		}
	}
}

// sorted returns the codes in ascending order and the count of each.
func (t *Tally) sorted() (codes []uint64, counts []int64) {
	for i, n := range t.counts {
		if n != 0 {
			codes = append(codes, t.codes[i])
		}
	}
	slices.Sort(codes)
	counts = make([]int64, len(codes))
	for i, c := range codes {
		counts[i] = t.counts[t.slot(c)]
	}
	return codes, counts
}

// stream calls f with the canonical values of the given columns, once for each row
// inside the declared domains. If the table has a unit, it leaves out the rows that are
// not kept. The tuple is reused between calls.
func stream(ctx context.Context, q Querier, t Table, columns []int, f func([]query.Value)) error {
	if t.Unit != "" {
		return streamKept(ctx, q, t, condition{text: "1"}, columns, f, nil)
	}
	p, err := newPlan(ctx, q, t, columns)
	if err != nil {
		return err
	}
	found, err := q.QueryContext(ctx, p.text(t.Source), p.where.args...)
	if err != nil {
		return failure(ctx, err, t.Source)
	}
	defer found.Close()
	if err := p.each(found, len(columns), f); err != nil {
		return failure(ctx, err, t.Source)
	}
	return nil
}

// plan says how stream reads rows: which columns it fetches, those asked for first, and
// which domains SQLite checks.
type plan struct {
	fetch []query.Column
	where condition
	route route // whose condition is in where
}

func newPlan(ctx context.Context, q Querier, t Table, columns []int) (p plan, err error) {
	if p.route, err = routeOf(ctx, q, t); err != nil {
		return p, err
	}
	wanted := make([]bool, len(t.Columns))
	for _, c := range columns {
		wanted[c] = true
		p.fetch = append(p.fetch, t.Columns[c])
	}
	var checks []condition
	arguments := len(p.route.where.args)
	for i, c := range t.Columns {
		if wanted[i] {
			continue
		}
		m, ok := newMembers(c, c.Domain.All())
		check := m.exactly(c)
		if arguments += len(check.args); !ok || arguments > maxVariables {
			arguments -= len(check.args)
			p.fetch = append(p.fetch, c) // its domain is tested in Go
			continue
		}
		checks = append(checks, check)
	}
	p.where = p.route.and(joined(checks, " AND ", "1"))
	return p, nil
}

func (p plan) text(source string) string {
	return "SELECT " + p.fields() + p.route.from(source) + " WHERE " + p.where.text
}

func (p plan) fields() string {
	fields := make([]string, len(p.fetch))
	for i, c := range p.fetch {
		fields[i] = canonical(columnOf(c.Name), c)
	}
	return strings.Join(fields, ", ")
}

func (p plan) each(found *sql.Rows, asked int, f func([]query.Value)) error {
	row := p.newRow()
	for found.Next() {
		if err := found.Scan(row.into...); err != nil {
			return err
		}
		if p.inside(row.cells, row.tuple) {
			f(row.tuple[:asked])
		}
	}
	return found.Err()
}

// row is the destination of a Scan.
type row struct {
	cells []cell
	tuple []query.Value // the values of the cells, filled by inside
	into  []any         // pointers to the cells and to whatever else is read
}

func (p plan) newRow(more ...any) row {
	r := row{cells: make([]cell, len(p.fetch)), tuple: make([]query.Value, len(p.fetch))}
	for i := range r.cells {
		r.into = append(r.into, &r.cells[i])
	}
	r.into = append(r.into, more...)
	return r
}

// inside fills the tuple and reports whether every value lies in its domain.
func (p plan) inside(cells []cell, tuple []query.Value) bool {
	for i, c := range cells {
		of := p.fetch[i]
		if !c.ok {
			return false
		}
		if of.Form.IsNoCase() {
			c.value, _ = of.Canonical(c.value)
		}
		if !of.Domain.Contains(c.value) {
			if !of.Form.HasOther() || !c.value.IsText() {
				return false
			}
			c.value = query.Text(query.Other)
		}
		tuple[i] = c.value
	}
	return true
}

// cell receives a canonical value from the driver.
type cell struct {
	value query.Value
	ok    bool // false for noValue
}

// Scan implements sql.Scanner.
func (c *cell) Scan(from any) error {
	c.ok = true
	switch v := from.(type) {
	case nil:
		c.value = query.Null()
	case int64:
		c.value = query.Int(v)
	case string:
		c.value = query.Text(v)
	case []byte:
		*c = cell{}
	default:
		return errors.New("a canonical value of another type")
	}
	return nil
}

// Outside calls f with each stored value of a column that a declaration loses, as SQL writes it, and its rows, the
// commonest first. It is for the curator's own eye, without a receipt: nothing that answers a question may call it.
func Outside(ctx context.Context, q Querier, t Table, column int, f func(value string, rows int64)) error {
	if _, err := (sqlite{q}).Check(ctx, t); err != nil {
		return err
	}
	at, p := columnOf(t.Columns[column].Name), plan{fetch: t.Columns[column : column+1]}
	found, err := q.QueryContext(ctx, "SELECT "+p.fields()+", quote("+at+"), COUNT(*)"+from(t.Source)+
		" GROUP BY typeof("+at+"), "+at+" COLLATE BINARY ORDER BY COUNT(*) DESC, 2")
	if err != nil {
		return failure(ctx, err, t.Source)
	}
	defer found.Close()
	var value string
	var rows int64
	for row := p.newRow(&value, &rows); found.Next(); {
		if err := found.Scan(row.into...); err != nil {
			return failure(ctx, err, t.Source)
		}
		if !p.inside(row.cells, row.tuple) {
			f(value, rows)
		}
	}
	if err := found.Err(); err != nil {
		return failure(ctx, err, t.Source)
	}
	return nil
}
