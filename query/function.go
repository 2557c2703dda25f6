package query

import (
	"math"
	"slices"

	"dpsql/sqlerr"
)

// Function is an integer-valued function on the records of a universe, as a
// diagram. Unlike the weights of a Query, its values can be negative. SUM(f)
// becomes a query by Weigh, which scales the values to weights. It is
// immutable.
type Function struct {
	u    *Universe
	root *node
}

// maxSummed bounds the domain of a column that SUM adds up. The diagram has one
// branch a value.
const maxSummed = 1 << 20

// Constant returns the function with one value everywhere.
func Constant(u *Universe, n int64) Function { return Function{u, leaf(n)} }

// Indicator returns a query as a function.
func (q Query) Indicator() Function { return Function{q.u, q.root} }

// ColumnValue returns the function that maps a record to its value of the
// column, and NULL to 0. The column must be INTEGER. A domain of more than 2^20
// values is refused as unsupported.
func ColumnValue(w *Work, u *Universe, column int) (Function, error) {
	c := u.columns[column]
	switch {
	case c.Domain.Type() != TypeInteger:
		return Function{}, sqlerr.New(sqlerr.Internal, "column %s is no number", c.Name)
	case c.Domain.Size() > maxSummed:
		return Function{}, sqlerr.New(sqlerr.Unsupported, "the domain of column %s has more than 2^20 values, too many to add up", c.Name).
			WithHint("bin the column in a view, or declare a narrower domain")
	}
	if err := w.count(int(c.Domain.Size())); err != nil {
		return Function{}, err
	}
	leaves := make([]node, c.Domain.Size())
	spans := make([]span, len(leaves))
	for i := range leaves {
		leaves[i] = leafNode(c.Domain.Value(uint64(i)).Int64())
		spans[i] = span{Range{uint64(i), uint64(i)}, &leaves[i]}
	}
	return Function{u, newSpans(column, c.Domain, spans)}, nil
}

// Combine returns the function op(f, g), applied record by record.
func (f Function) Combine(w *Work, g Function, op func(a, b int64) (int64, error)) (Function, error) {
	n, err := w.combine(f.u, f.root, g.root, op, nil)
	return Function{f.u, n}, err
}

// Extent is the range and the greatest common divisor of a function's values.
type Extent struct {
	Lo, Hi int64
	Unit   int64 // the greatest common divisor of the values; 0 if all are 0
}

// Extent returns the extent of the values on the query's support. ok is false
// when the support is empty.
func (f Function) Extent(w *Work, where Query) (x Extent, ok bool, err error) {
	x = Extent{Lo: math.MaxInt64, Hi: math.MinInt64}
	_, err = w.combine(f.u, f.root, where.root, nil, func(v, holds *node) *node {
		switch {
		case holds.isZero():
			return zero
		case !v.isLeaf():
			return nil
		}
		x.Lo, x.Hi, x.Unit = min(x.Lo, v.weight), max(x.Hi, v.weight), divisor(x.Unit, v.weight)
		return zero // nothing is built
	})
	return x, x.Lo <= x.Hi, err
}

// outside returns 0 where a query does not hold.
func outside(_, holds *node) *node {
	if holds.isZero() {
		return zero
	}
	return nil
}

// divisor returns the greatest common divisor, which is never negative. It
// treats −2^63 as 1.
func divisor(a, b int64) int64 {
	if b == math.MinInt64 {
		return 1
	}
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// Weigh returns the query whose weight is weight(f) where the 0/1 query holds,
// and 0 elsewhere. No weight may be negative.
func (f Function) Weigh(w *Work, where Query, weight func(v int64) int64) (Query, error) {
	n, err := w.combine(f.u, f.root, where.root, func(v, _ int64) (int64, error) {
		w := weight(v)
		if w < 0 {
			return 0, sqlerr.New(sqlerr.Internal, "a negative weight")
		}
		return w, nil
	}, outside)
	return Query{f.u, n}, err
}

// Level is a value of a function and the 0/1 query of the records that have it.
type Level struct {
	Value int64
	Where Query
}

// Levels splits a 0/1 query by the function's value, in ascending order. It
// returns false when there are more values than the limit.
func (f Function) Levels(w *Work, where Query, limit int) ([]Level, bool, error) {
	var values []int64
	number := make(map[int64]int64) // the number of each value, from 1
	n, err := w.combine(f.u, f.root, where.root, func(v, _ int64) (int64, error) {
		if len(values) > limit {
			return 0, nil
		}
		if number[v] == 0 {
			values = append(values, v)
			number[v] = int64(len(values))
		}
		return number[v], nil
	}, outside)
	if err != nil || len(values) > limit {
		return nil, false, err
	}
	l := leveler{u: f.u, done: make(map[*node]map[int64]*node)}
	var levels []Level
	for i, to := range l.divide(n) {
		levels = append(levels, Level{values[i-1], Query{f.u, to}})
	}
	slices.SortFunc(levels, func(a, b Level) int { return Int(a.Value).Compare(Int(b.Value)) })
	return levels, true, nil
}

// leveler splits a diagram by its weights in one pass over its branches.
type leveler struct {
	u    *Universe
	done map[*node]map[int64]*node
}

func (l *leveler) divide(n *node) map[int64]*node {
	if n.isLeaf() {
		if n.weight == 0 {
			return nil
		}
		return map[int64]*node{n.weight: leaf(1)}
	}
	if d, ok := l.done[n]; ok {
		return d
	}
	d := make(map[int64]*node)
	domain := l.u.columns[n.level].Domain
	if n.rest == nil {
		spans := make(map[int64][]span)
		for _, s := range n.spans {
			for w, to := range l.divide(s.to) {
				spans[w] = append(spans[w], span{s.Range, to})
			}
		}
		for w, list := range spans {
			d[w] = newSpans(n.level, domain, list)
		}
	} else {
		l.divideCases(n, d)
	}
	l.done[n] = d
	return d
}

// divideCases fills d for a node over an unbounded column.
func (l *leveler) divideCases(n *node, d map[int64]*node) {
	rest := l.divide(n.rest)
	parts := make([]map[int64]*node, len(n.cases))
	weights := make(map[int64]bool)
	for w := range rest {
		weights[w] = true
	}
	for i, c := range n.cases {
		parts[i] = l.divide(c.to)
		for w := range parts[i] {
			weights[w] = true
		}
	}
	orZero := func(m map[int64]*node, w int64) *node {
		if to, ok := m[w]; ok {
			return to
		}
		return zero
	}
	for w := range weights {
		cases := make([]valueCase, len(n.cases))
		for i, c := range n.cases {
			cases[i] = valueCase{c.value, orZero(parts[i], w)}
		}
		d[w] = newCases(n.level, cases, orZero(rest, w))
	}
}
