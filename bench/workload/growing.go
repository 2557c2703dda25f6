package workload

import (
	"fmt"
	"iter"
	"math"

	"dpsql/query"
)

// Growing is a table whose universe can have any size, with the same occupied cells and
// the same queries in every size. Only |X| differs, and how records are named: by codes
// below 2^61 and by fingerprints above. A record is a key and one of Free values. A
// query pins the key and leaves the value free, so m = Free.
type Growing struct {
	Universe *query.Universe
	Size     float64 // |X|; +Inf if the key is unbounded text
	Queries  []Query

	tuples [][]query.Value
}

// Free is the sparsity m of the queries on a growing table.
const Free = 1000

// growingRows is the number of rows of an occupied cell.
const growingRows = 7

// Grow returns a table over about Free·2^bits records; +Inf bits stand for a key of
// unbounded text. The given number of keys have rows, in every second of their cells,
// and there is a query for each of these keys.
func Grow(bits float64, keys int) (*Growing, error) {
	u, err := growingUniverse(bits)
	if err != nil {
		return nil, err
	}
	g := &Growing{Universe: u, Size: math.Inf(1)}
	if size := u.Size(); size != nil {
		g.Size, _ = size.Float64()
	}
	first := u.Columns()[0].Domain
	step := uint64(1) << 30
	if first.Finite() {
		if step = first.Size() / uint64(keys); step == 0 {
			return nil, fmt.Errorf("%v bits are too few for %d keys", bits, keys)
		}
	}
	for i := range uint64(keys) {
		if err := g.add(key(first, i*step)); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// growingUniverse has a first key column of at most 2^40 values, as many further key
// columns as are needed, which are 0 in all records, and the free column.
func growingUniverse(bits float64) (*query.Universe, error) {
	var columns []query.Column
	add := func(name string, size int64) error {
		d, err := query.NewRange(0, size-1, false)
		columns = append(columns, query.Column{Name: name, Domain: d})
		return err
	}
	if math.IsInf(bits, 1) {
		columns = append(columns, query.Column{Name: "key", Domain: query.Unbounded()})
		bits = 0
	}
	for ; bits > 0; bits -= min(bits, 40) {
		if err := add(fmt.Sprintf("key%d", len(columns)), int64(math.Exp2(min(bits, 40)))); err != nil {
			return nil, err
		}
	}
	if err := add("free", Free); err != nil {
		return nil, err
	}
	return query.NewUniverse(columns)
}

func key(d query.Domain, ordinal uint64) query.Value {
	if d.Finite() {
		return d.Value(ordinal)
	}
	return query.Text(fmt.Sprintf("%012x", ordinal))
}

// add puts rows into every second cell of a key, and adds the query for the key.
func (g *Growing) add(k query.Value) error {
	columns := g.Universe.Columns()
	fixed := make([]query.Value, len(columns)-1)
	q := query.All(g.Universe)
	for i := range fixed {
		fixed[i] = query.Int(0)
		if i == 0 {
			fixed[i] = k
		}
		var err error
		if q, err = q.And(query.Where(g.Universe, i, columns[i].Domain.SetOf(fixed[i]))); err != nil {
			return err
		}
	}
	for v := int64(0); v < Free; v += 2 {
		g.tuples = append(g.tuples, append(fixed[:len(fixed):len(fixed)], query.Int(v)))
	}
	g.Queries = append(g.Queries, Query{q, Free / 2 * growingRows})
	return nil
}

// Rows returns n.
func (g *Growing) Rows() int64 { return int64(len(g.tuples)) * growingRows }

// Elements yields the occupied cells, named by a release's coder.
func (g *Growing) Elements(c query.Coder) iter.Seq2[query.Element, int64] {
	return func(yield func(query.Element, int64) bool) {
		for _, t := range g.tuples {
			if x, ok := c.Code(t); ok && !yield(x, growingRows) {
				return
			}
		}
	}
}
