package query

import "crypto/sha256"

// Work combines 0/1 queries over one universe under a common limit: all the
// diagrams it builds together have no more branches than one combination may
// build. So a statement of any number of combinations takes bounded time and
// memory. Its zero value is ready for use.
type Work struct{ branches int }

// And returns the conjunction. It is refused as unsupported, as are Or and Not,
// when the limit is reached.
func (w *Work) And(q, r Query) (Query, error) {
	return w.combined(q, r, func(a, b int64) int64 { return min(a, b) }, times)
}

// Or returns the disjunction.
func (w *Work) Or(q, r Query) (Query, error) {
	return w.combined(q, r, func(a, b int64) int64 { return max(a, b) }, largest)
}

// largest returns max(a, b) of 0/1 functions where one of them is 0 or 1.
func largest(a, b *node) *node {
	switch {
	case a.isOne() || b.isZero():
		return a
	case b.isOne() || a.isZero():
		return b
	}
	return nil
}

// Not returns the complement.
func (w *Work) Not(q Query) (Query, error) {
	return w.combined(q, All(q.u), func(a, b int64) int64 { return b - a }, func(a, b *node) *node { return nil })
}

func (w *Work) combined(q, r Query, op func(a, b int64) int64, short func(a, b *node) *node) (Query, error) {
	c := &combiner{
		u:        q.u,
		op:       func(a, b int64) (int64, error) { return op(a, b), nil },
		short:    short,
		done:     make(map[[2 * sha256.Size]byte]*node),
		branches: w.branches,
	}
	n, err := c.apply(q.root, r.root)
	w.branches = c.branches
	return Query{q.u, n}, err
}
