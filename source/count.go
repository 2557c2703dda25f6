package source

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Count implements Reader.
//
// A conjunction is one COUNT statement, for which SQLite can use its indexes. Any other
// query is evaluated in Go on each row. If the table has a unit, the kept rows are
// streamed. For a conjunction that few rows meet, only units with such a row are read.
func (s sqlite) Count(ctx context.Context, p Permit, t Table, counted query.Query) (int64, error) {
	if err := Admit(p, t); err != nil {
		return 0, err
	}
	q := s.q
	if err := t.Over(counted.Universe()); err != nil {
		return 0, err
	}
	t = t.For(counted)
	sets, ok := counted.Product()
	if !ok {
		return countStreamed(ctx, q, t, counted)
	}
	r, err := routeOf(ctx, q, t)
	if err != nil {
		return 0, err
	}
	where, ok, err := conjunction(ctx, q, t, sets, r)
	switch {
	case err != nil:
		return 0, err
	case !ok || len(where.args)+2*len(r.where.args) > maxVariables:
		return countStreamed(ctx, q, t, counted)
	case t.Unit != "":
		return countKept(ctx, q, t, r, r.and(where), counted)
	}
	return countWhere(ctx, q, t.Source, r, r.and(where))
}

// conjunction returns the condition that each column lies in its set. It returns false
// if the condition cannot be pushed down. Conditions that select rows come first, those
// that only check a domain last. If the route is by an index, no condition can serve another
// one, or the later columns of this one, which SQLite can use without its first.
func conjunction(ctx context.Context, q Querier, t Table, sets []query.Set, r route) (condition, bool, error) {
	sound, err := comparesStored(ctx, q, t)
	if err != nil {
		return condition{}, false, err
	}
	var selecting, checking []condition
	for i, c := range t.Columns {
		m, ok := newMembers(c, sets[i])
		switch {
		case !ok:
			return condition{}, false, nil
		case sets[i].IsAll():
			checking = append(checking, m.exactly(c))
		case sound[i] && !m.except && r.clause == "":
			selecting = append(selecting, m.roughly(c), m.exactly(c))
		default:
			selecting = append(selecting, m.exactly(c))
		}
	}
	where := joined(append(selecting, checking...), " AND ", "1")
	return where, len(where.args) <= maxVariables, nil
}

func countWhere(ctx context.Context, q Querier, source string, r route, where condition) (int64, error) {
	var n int64
	err := q.QueryRowContext(ctx, "SELECT COUNT(*)"+r.from(source)+" WHERE "+where.text, where.args...).Scan(&n)
	if err != nil {
		return 0, failure(ctx, err, source)
	}
	return n, nil
}

// countStreamed evaluates the query on every row.
func countStreamed(ctx context.Context, q Querier, t Table, counted query.Query) (int64, error) {
	return weighed(counted, func(columns []int, f func([]query.Value)) error {
		return stream(ctx, q, t, columns, f)
	})
}

// weighed sums the weights of the rows that stream yields. It asks stream for the
// columns that the query depends on, and for at least one.
func weighed(counted query.Query, stream func([]int, func([]query.Value)) error) (int64, error) {
	columns := counted.Columns()
	if len(columns) == 0 {
		columns = []int{0}
	}
	narrow, ok := counted.Project(columns)
	if !ok {
		return 0, sqlerr.New(sqlerr.Internal, "a query depends on a column it does not name")
	}
	var total int64
	err := stream(columns, func(tuple []query.Value) {
		total = AddWeighted(total, narrow.Weight(tuple), 1)
	})
	return total, err
}

// CountUnits implements Reader. It streams the kept rows of all units.
func (s sqlite) CountUnits(ctx context.Context, p Permit, t Table, queries []query.Query) ([]int64, error) {
	if err := Admit(p, t); err != nil {
		return nil, err
	}
	c, err := NewUnitCounter(t, queries)
	if err != nil {
		return nil, err
	}
	err = streamKept(ctx, s.q, t.For(queries...), condition{text: "1"}, c.Columns, c.Add, c.End)
	return c.Counts, err
}

// UnitCounter counts, for each of several queries, the units of which a kept row has a
// weight. Its caller adds the rows kept of one unit, ends the unit, and goes on to the next.
type UnitCounter struct {
	Columns []int   // the columns of the rows to add
	Counts  []int64 // one a query

	narrow []query.Query
	last   []int64          // of each query, the last unit that counted
	unit   int64            // the number of the present unit, from 1
	known  map[string][]int // the queries in which a row has a weight
	buffer []byte
}

// maxKnown bounds the rows whose queries a UnitCounter remembers.
const maxKnown = 1 << 16

// NewUnitCounter returns a counter of the units of a table.
func NewUnitCounter(t Table, queries []query.Query) (*UnitCounter, error) {
	if t.Unit == "" {
		return nil, sqlerr.New(sqlerr.Internal, "%s has no units to count", t.Source)
	}
	c := &UnitCounter{Counts: make([]int64, len(queries)), last: make([]int64, len(queries)), unit: 1, known: make(map[string][]int)}
	for _, q := range queries {
		if err := t.Over(q.Universe()); err != nil {
			return nil, err
		}
		c.Columns = append(c.Columns, q.Columns()...)
	}
	slices.Sort(c.Columns)
	if c.Columns = slices.Compact(c.Columns); len(c.Columns) == 0 {
		c.Columns = []int{0}
	}
	c.narrow = query.ProjectAll(queries, c.Columns)
	return c, nil
}

// Add adds a kept row of the present unit, with the values of the Columns.
func (c *UnitCounter) Add(tuple []query.Value) {
	c.buffer = appendCanonical(c.buffer[:0], tuple)
	met, ok := c.known[string(c.buffer)]
	if !ok {
		for i, q := range c.narrow {
			if q.Weight(tuple) > 0 {
				met = append(met, i)
			}
		}
		if len(c.known) < maxKnown {
			c.known[string(c.buffer)] = met
		}
	}
	for _, i := range met {
		if c.last[i] != c.unit {
			c.last[i] = c.unit
			c.Counts[i]++
		}
	}
}

// End ends the present unit.
func (c *UnitCounter) End() { c.unit++ }

// maxMatched bounds the matching rows whose units are looked up. If more rows match,
// reading all units is about as fast.
const maxMatched = 10_000

// countKept counts the kept rows that meet a condition. The query must give each weight
// 1. It reads only units that have such a row, but reads these whole, because which
// rows of a unit are kept depends on all rows of that unit and on no other unit.
func countKept(ctx context.Context, q Querier, t Table, r route, where condition, counted query.Query) (int64, error) {
	if err := t.CheckUnit(); err != nil {
		return 0, err
	}
	matched, err := countUpTo(ctx, q, t.Source, r, where, maxMatched+1)
	switch {
	case err != nil:
		return 0, err
	case matched == 0:
		return 0, nil
	case matched > maxMatched:
		return countStreamed(ctx, q, t, counted)
	}
	types, err := storedTypes(ctx, q, t.Source)
	if err != nil {
		return 0, err
	}
	_, stored := types[query.FoldName(t.Unit)]
	stored = stored && r.clause == "" // as in conjunction
	return weighed(counted, func(columns []int, f func([]query.Value)) error {
		return streamKept(ctx, q, t, unitsWith(t, r, where, stored), columns, f, nil)
	})
}

// countUpTo counts the rows that meet a condition, and stops at most.
func countUpTo(ctx context.Context, q Querier, source string, r route, where condition, most int) (int64, error) {
	var n int64
	err := q.QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT 1"+r.from(source)+" WHERE "+where.text+
		" LIMIT "+strconv.Itoa(most)+")", where.args...).Scan(&n)
	if err != nil {
		return 0, failure(ctx, err, source)
	}
	return n, nil
}

// unitsWith returns a condition that is true of every unit with a row that meets where.
// It may be true of more units, because a column's own collation can take more values
// as equal.
//
// A column of a table has one affinity. Equal values therefore stay equal in any
// comparison, and SQLite can use an index on the column. A column of a view can have
// several affinities, so there an expression removes them.
func unitsWith(t Table, r route, where condition, stored bool) condition {
	unit, in := columnOf(t.Unit), " IN "
	field := strings.ReplaceAll(short("?", "NULL"), "?", unit) // which has no affinity, and changes none
	if !stored {
		unit, in = field, " COLLATE BINARY IN "
	}
	return condition{"(" + unit + ")" + in + "(SELECT " + field + r.from(t.Source) + " WHERE " + where.text + ")", where.args}
}

// Histogram holds the true counts of the occupied cells of a universe on one snapshot.
// It is immutable. It prints as its type only.
type Histogram struct {
	coder query.Coder
	codes []uint64 // the occupied cells, ascending, if the universe is coded
	sums  []int64  // sums[i] is the count of the first i of them
	index []uint32 // index[b] is the number of codes below b<<shift
	shift uint

	prints map[query.Element]int64 // the counts, if the universe is not coded

	texts map[query.Element]string // nil if none were kept
}

// buildIndex makes an index of about one bucket a code.
func (h *Histogram) buildIndex() {
	if len(h.codes) == 0 {
		return
	}
	last := h.codes[len(h.codes)-1]
	h.shift = uint(max(0, bits.Len64(last)-bits.Len(uint(len(h.codes)))))
	h.index = make([]uint32, last>>h.shift+2)
	b := uint64(0)
	for i, c := range h.codes {
		for ; b <= c>>h.shift; b++ {
			h.index[b] = uint32(i)
		}
	}
	h.index[b] = uint32(len(h.codes))
}

// Format prints the type and none of the counts.
func (h Histogram) Format(s fmt.State, _ rune) { fmt.Fprint(s, "histogram") }

// Len returns the number of occupied cells.
func (h *Histogram) Len() int { return len(h.codes) + len(h.prints) }

// Texts returns what an occupied cell has in the columns without a domain, encoded by
// query.Universe.TextsOf. Table.Texts must have asked for it.
func (h *Histogram) Texts(cell query.Element) string { return h.texts[cell] }

// All yields the occupied cells with their counts. The order is ascending if the
// universe is coded.
func (h *Histogram) All() iter.Seq2[query.Element, int64] {
	return func(yield func(query.Element, int64) bool) {
		for i, c := range h.codes {
			if !yield(query.Element{Lo: c}, h.sums[i+1]-h.sums[i]) {
				return
			}
		}
		for e, n := range h.prints {
			if !yield(e, n) {
				return
			}
		}
	}
}

// maxEnumerated bounds how many elements of a support are looked up one by one when
// cells have no codes. That many take a second or two.
const maxEnumerated = 1 << 24

// Count returns the true count of a query over the coder's universe, at most 2^63-1. It
// looks up the runs of the query's support. If there are more than about half as many
// runs as occupied cells, it weighs each cell instead. It returns false if cells have no
// codes and the support is too large to enumerate.
func (h *Histogram) Count(q query.Query) (int64, bool) {
	if h.prints != nil {
		return h.countPrints(q)
	}
	total, looked := int64(0), 0
	for r, w := range q.Runs() {
		if looked++; looked > len(h.codes)/2+1 {
			return h.scan(q), true
		}
		total = AddWeighted(total, w, h.sums[h.below(r.Start+r.Len)]-h.sums[h.below(r.Start)])
	}
	return total, true
}

// below returns the number of occupied cells with a code below the given one.
func (h *Histogram) below(code uint64) int {
	b := code >> h.shift
	if len(h.codes) == 0 || b >= uint64(len(h.index))-1 {
		return len(h.codes)
	}
	lo, hi := int(h.index[b]), int(h.index[b+1])
	for lo < hi {
		mid := (lo + hi) / 2
		if h.codes[mid] < code {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (h *Histogram) scan(q query.Query) int64 {
	total := int64(0)
	for i, c := range h.codes {
		if w := q.WeightOf(c); w != 0 {
			total = AddWeighted(total, w, h.sums[i+1]-h.sums[i])
		}
	}
	return total
}

func (h *Histogram) countPrints(q query.Query) (int64, bool) {
	if _, ok := q.SizeWithin(maxEnumerated); !ok {
		return 0, false
	}
	total := int64(0)
	for e, w := range h.coder.Elements(q) {
		total = AddWeighted(total, w, h.prints[e])
	}
	return total, true
}

// AddWeighted returns total + w·n, but at most 2^63-1. No argument may be negative.
func AddWeighted(total, w, n int64) int64 {
	hi, lo := bits.Mul64(uint64(w), uint64(n))
	sum, carry := bits.Add64(lo, uint64(total), 0)
	if hi != 0 || carry != 0 || sum > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(sum)
}
