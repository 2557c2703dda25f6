package source

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"hash"
	"math"
	"math/big"
	"strings"

	"dpsql/query"
)

// Keeper keeps at most L rows of each unit. Its caller adds the rows inside the
// declared domains, all rows of one unit before those of the next, and Keeper yields
// the rows to keep. It holds at most L rows of one unit in memory, and a count for each
// of the unit's distinct rows.
//
// Units come in ascending order: numbers by value, then texts and then blobs by their
// bytes. A database that sorts otherwise may return to a unit, which would keep L rows
// more. From the first unit that is out of order Keeper yields nothing, and Flush fails.
//
// Every row of a unit has a rank: the HMAC-SHA256 of the unit, the row's canonical
// values and its number among the equal rows of the unit. The L rows of the lowest
// ranks are kept. The rows kept of a unit thus depend on the key, the unit and the
// multiset of its rows, and on nothing else: not on their order or rowids, on other
// units, or on the query. The unit is part of the hash so that each unit draws its own
// sample. If ranks depended on the values alone, all units would keep the same few
// values.
//
// In a table with periods a unit keeps L rows of each period, as if its rows of each were
// those of a unit apart.
//
// Privacy. Adding or removing a unit adds or removes at most L kept rows and leaves all
// others as they are. This bounds the change of a count of weights up to W by L·W, and
// of the cells by L in ℓ1. With periods the same holds of the rows that a unit has in one
// period: those kept of other periods do not depend on them.
type Keeper struct {
	Ended func() // called after the rows kept of a unit, if there are any; nil for nothing

	limit  int64
	period *Period
	yield  func([]query.Value)
	mac    hash.Hash

	unit   unit            // the unit being added; the zero unit before the first
	mixed  bool            // a unit was not above the one before it
	kept   []*kept         // of the unit: one without periods, else one a period of its rows
	of     map[int64]*kept // the same by period
	spare  []*kept         // of earlier units, for their memory
	buffer []byte
}

// kept is the rows kept of a unit, or of a unit in one period.
type kept struct {
	rows []ranked          // a heap by descending rank once seen is not nil
	seen map[string]uint64 // how often each row was added; nil for the first L rows
}

// ranked is a row and, if its unit has more than L rows, its rank.
type ranked struct {
	rank  [sha256.Size]byte
	tuple []query.Value
}

// NewKeeper returns a keeper for a table with a unit. It calls yield with the canonical
// values of each row that is kept. The values are valid until yield returns.
func NewKeeper(t Table, yield func([]query.Value)) *Keeper {
	return &Keeper{limit: t.MaxRows, period: t.Period, yield: yield, mac: hmac.New(sha256.New, t.Key), of: make(map[int64]*kept)}
}

// Add adds a row inside the declared domains, with all its canonical values. The caller
// may reuse the tuple. The unit must be an INTEGER or a TEXT.
func (k *Keeper) Add(u query.Value, tuple []query.Value) {
	if u.IsInt() {
		k.add(unit{kind: unitInteger, n: u.Int64()}, tuple)
		return
	}
	k.add(unit{kind: unitText, bytes: u.Str()}, tuple)
}

// add is Add for a unit read from SQLite.
func (k *Keeper) add(u unit, tuple []query.Value) {
	if u != k.unit {
		k.mixed = k.mixed || u.compare(k.unit) < 0
		_ = k.Flush() // the last Flush tells
		k.unit = u
	}
	if k.mixed {
		return
	}
	g := k.group(tuple)
	if int64(len(g.rows)) < k.limit {
		g.append(tuple)
		return
	}
	if g.seen == nil {
		k.rankAll(g)
	}
	if rank := k.rank(g, tuple); bytes.Compare(rank[:], g.rows[0].rank[:]) < 0 {
		g.rows[0].rank = rank
		copy(g.rows[0].tuple, tuple)
		g.sink(0)
	}
}

// group returns the rows kept of the unit in the row's period.
func (k *Keeper) group(tuple []query.Value) *kept {
	var n int64
	if k.period != nil {
		n, _ = k.period.Partition.Of(tuple[k.period.Column]) // which is in its domain, and so in a period
	}
	if g := k.of[n]; g != nil {
		return g
	}
	g := &kept{}
	if last := len(k.spare) - 1; last >= 0 {
		g, k.spare = k.spare[last], k.spare[:last]
	}
	k.of[n], k.kept = g, append(k.kept, g)
	return g
}

// ErrMixed is returned when the units of rows are out of order.
var ErrMixed = errors.New("the rows are not sorted by unit")

// Flush ends the last unit: it yields the rows kept of it and forgets them. It returns
// ErrMixed if any unit was out of order. What was yielded must then be dropped.
func (k *Keeper) Flush() error {
	for _, g := range k.kept {
		for _, r := range g.rows {
			k.yield(r.tuple)
		}
		g.rows, g.seen = g.rows[:0], nil
	}
	if len(k.kept) > 0 && k.Ended != nil {
		k.Ended()
	}
	k.spare, k.kept = append(k.spare, k.kept...), k.kept[:0]
	clear(k.of)
	if k.mixed {
		return ErrMixed
	}
	return nil
}

// append adds a copy of the row and reuses the memory of an earlier unit if it can.
func (g *kept) append(tuple []query.Value) {
	n := len(g.rows)
	if n == cap(g.rows) {
		g.rows = append(g.rows, ranked{})
	}
	g.rows = g.rows[:n+1]
	g.rows[n].tuple = append(g.rows[n].tuple[:0], tuple...)
}

// rankAll ranks the first L rows. It is called when the next row arrives.
func (k *Keeper) rankAll(g *kept) {
	g.seen = make(map[string]uint64)
	for i := range g.rows {
		g.rows[i].rank = k.rank(g, g.rows[i].tuple)
	}
	for i := len(g.rows)/2 - 1; i >= 0; i-- {
		g.sink(i)
	}
}

// rank returns the rank of the next row of the unit.
func (k *Keeper) rank(g *kept, tuple []query.Value) (rank [sha256.Size]byte) {
	k.buffer = appendCanonical(k.unit.appendTo(k.buffer[:0]), tuple)
	earlier := g.seen[string(k.buffer)]
	g.seen[string(k.buffer)] = earlier + 1
	k.buffer = binary.BigEndian.AppendUint64(k.buffer, earlier)
	k.mac.Reset()
	k.mac.Write(k.buffer)
	k.mac.Sum(rank[:0])
	return rank
}

// sink moves the row at position i down to its place in the heap.
func (g *kept) sink(i int) {
	for {
		highest := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(g.rows); child++ {
			if bytes.Compare(g.rows[child].rank[:], g.rows[highest].rank[:]) > 0 {
				highest = child
			}
		}
		if highest == i {
			return
		}
		g.rows[i], g.rows[highest] = g.rows[highest], g.rows[i]
		i = highest
	}
}

// appendCanonical appends an encoding of the values. Among tuples of equally many
// columns it is unique and free of prefixes. It must not change, because the rows kept,
// and so all true counts, depend on it.
func appendCanonical(buffer []byte, tuple []query.Value) []byte {
	for _, v := range tuple {
		switch {
		case v.IsNull():
			buffer = append(buffer, 0)
		case v.IsInt():
			buffer = binary.BigEndian.AppendUint64(append(buffer, 1), uint64(v.Int64()))
		default:
			buffer = binary.AppendUvarint(append(buffer, 2), uint64(len(v.Str())))
			buffer = append(buffer, v.Str()...)
		}
	}
	return buffer
}

// streamKept is stream for a table with a unit. It yields the rows that are kept, and
// which these are does not depend on the columns asked for. SQLite sorts the rows by
// unit, so memory holds only the rows kept of one unit and a count for each of its
// distinct rows. Only units for which the condition units is true are read. The
// condition must hold of all rows of a unit or of none. ended is called after the rows of
// each unit; it may be nil.
func streamKept(ctx context.Context, q Querier, t Table, units condition, columns []int, f func([]query.Value), ended func()) error {
	if err := t.CheckUnit(); err != nil {
		return err
	}
	r, err := routeOf(ctx, q, t)
	if err != nil {
		return err
	}
	p := plan{fetch: t.Columns, where: r.and(units), route: r}
	found, err := q.QueryContext(ctx, p.byUnit(t), p.where.args...)
	if err != nil {
		return failure(ctx, err, t.Source)
	}
	defer found.Close()
	asked := make([]query.Value, len(columns))
	k := NewKeeper(t, func(tuple []query.Value) {
		for i, c := range columns {
			asked[i] = tuple[c]
		}
		f(asked)
	})
	k.Ended = ended
	if err := p.eachOfUnits(found, k); err != nil {
		return failure(ctx, err, t.Source)
	}
	return nil
}

// byUnit returns the statement that reads the columns and the unit, sorted by unit. It
// sorts by an expression, which keeps SQLite from walking an index on the unit and looking
// up each row. That takes longer than sorting.
func (p plan) byUnit(t Table) string {
	field := func(form string) string { return strings.ReplaceAll(short(form, "NULL"), "?", columnOf(t.Unit)) }
	return "SELECT " + p.fields() + ", " + field(unitField) + p.route.from(t.Source) +
		" WHERE " + field("?") + " IS NOT NULL AND " + p.where.text + " ORDER BY (" + field("?") + ") COLLATE BINARY"
}

func (p plan) eachOfUnits(found *sql.Rows, k *Keeper) error {
	var u unit
	row := p.newRow(&u)
	for found.Next() {
		if err := found.Scan(row.into...); err != nil {
			return err
		}
		if p.inside(row.cells, row.tuple) {
			k.add(u, row.tuple)
		}
	}
	if err := found.Err(); err != nil {
		return err
	}
	return k.Flush()
}

// unitField is an expression for a unit: bytes for a text, hexadecimal text for a blob,
// and the value itself for a number. Texts travel as bytes because a text that is not
// valid in the database's encoding would be changed on its way to Go, and two units
// could become one.
const unitField = `CASE typeof(?) WHEN 'text' THEN CAST(? AS BLOB) WHEN 'blob' THEN hex(?) ELSE ? END`

// unit is a value of the unit column. Two are equal by == if and only if SQLite takes
// them as equal under the BINARY collation: 1 and 1.0 are equal; 1 and '1', 'a' and
// 'A', 'a' and x'61' are not.
type unit struct {
	kind  unitKind
	n     int64
	x     float64
	bytes string
}

type unitKind uint8

const (
	unitInteger unitKind = iota + 1
	unitReal             // a real that is not a 64-bit integer
	unitText
	unitBlob
)

// Scan implements sql.Scanner for unitField.
func (u *unit) Scan(from any) error {
	switch v := from.(type) {
	case int64:
		*u = unit{kind: unitInteger, n: v}
	case float64:
		*u = unit{kind: unitReal, x: v}
		if v == math.Trunc(v) && v >= -1<<63 && v < 1<<63 {
			*u = unit{kind: unitInteger, n: int64(v)}
		}
	case nil: // the driver may return empty bytes as nil; the statement leaves NULL out
		*u = unit{kind: unitText}
	case []byte:
		if u.kind != unitText || u.bytes != string(v) { // all rows of a unit share one string
			*u = unit{kind: unitText, bytes: string(v)}
		}
	case string:
		*u = unit{kind: unitBlob, bytes: v}
	default:
		return errors.New("a unit of another type")
	}
	return nil
}

// compare returns the order of two units by which rows are sorted. The zero unit is below
// all others.
func (u unit) compare(v unit) int {
	switch {
	case u.kind == unitInteger && v.kind == unitInteger:
		return cmp.Compare(u.n, v.n)
	case u.isNumber() && v.isNumber():
		return u.number().Cmp(v.number())
	}
	return cmp.Or(cmp.Compare(u.kind, v.kind), strings.Compare(u.bytes, v.bytes))
}

func (u unit) isNumber() bool { return u.kind == unitInteger || u.kind == unitReal }

func (u unit) number() *big.Float {
	if u.kind == unitReal {
		return big.NewFloat(u.x)
	}
	return new(big.Float).SetInt64(u.n)
}

// appendTo appends an encoding of the unit that is not a prefix of any other unit's.
func (u unit) appendTo(buffer []byte) []byte {
	buffer = append(buffer, byte(u.kind))
	switch u.kind {
	case unitInteger:
		return binary.BigEndian.AppendUint64(buffer, uint64(u.n))
	case unitReal:
		return binary.BigEndian.AppendUint64(buffer, math.Float64bits(u.x))
	}
	return append(binary.AppendUvarint(buffer, uint64(len(u.bytes))), u.bytes...)
}
