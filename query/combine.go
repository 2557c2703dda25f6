package query

import (
	"crypto/sha256"
	"math"
	"sort"

	"dpsql/sqlerr"
)

// maxBranches bounds the branches of diagrams (spans and cases of all nodes)
// that one Work may build. Conjunctions stay linear in their text; only
// adversarial nestings come near it.
const maxBranches = 1 << 22

// combiner computes op pointwise on two diagrams over one universe: the apply
// procedure of Bryant (1986) for multi-valued nodes, memoised on digests.
type combiner struct {
	u     *Universe
	op    func(a, b int64) (int64, error)
	short func(a, b *node) *node // returns the result of pairs for which it is known, and nil for others; may be nil
	done  map[[2 * sha256.Size]byte]*node
	work  *Work
}

// times returns a·b where one of them is 0 or 1.
func times(a, b *node) *node {
	switch {
	case a.isZero() || b.isOne():
		return a
	case b.isZero() || a.isOne():
		return b
	}
	return nil
}

func (c *combiner) apply(a, b *node) (*node, error) {
	if c.short != nil {
		if n := c.short(a, b); n != nil {
			return n, nil
		}
	}
	if a.isLeaf() && b.isLeaf() {
		switch w, err := c.op(a.weight, b.weight); {
		case err != nil:
			return nil, err
		case w == a.weight:
			return a, nil
		case w == b.weight:
			return b, nil
		default:
			return leaf(w), nil
		}
	}
	var key [2 * sha256.Size]byte
	copy(key[:], a.digest[:])
	copy(key[sha256.Size:], b.digest[:])
	if n, ok := c.done[key]; ok {
		return n, nil
	}
	n, err := c.branch(a, b)
	if err != nil {
		return nil, err
	}
	c.done[key] = n
	return n, nil
}

func (c *combiner) branch(a, b *node) (*node, error) {
	level := min(a.level, b.level)
	d := c.u.columns[level].Domain
	if !d.Finite() {
		return c.branchCases(level, a, b)
	}
	return c.branchSpans(level, d, a, b)
}

// branchSpans cuts the domain wherever a or b changes its child.
func (c *combiner) branchSpans(level int, d Domain, a, b *node) (*node, error) {
	as, bs := a.spansAt(level, d), b.spansAt(level, d)
	out := make([]span, 0, max(len(as), len(bs)))
	for next, i, j := uint64(0), 0, 0; next < d.Size(); {
		toA, endA := step(as, &i, next, d.Size())
		toB, endB := step(bs, &j, next, d.Size())
		end := min(endA, endB)
		to, err := c.apply(toA, toB)
		if err != nil {
			return nil, err
		}
		out = append(out, span{Range{next, end}, to})
		next = end + 1
		if err := c.work.count(1); err != nil {
			return nil, err
		}
	}
	return newSpans(level, d, out), nil
}

// spansAt returns the node's spans at a level. If the node does not branch
// there, it returns one span over the whole domain.
func (n *node) spansAt(level int, d Domain) []span {
	if n.level != level {
		return []span{{Range{0, d.Size() - 1}, n}}
	}
	return n.spans
}

// step returns the child at an ordinal and the last ordinal that leads to it.
// It advances the index past spans that end before the ordinal.
func step(spans []span, i *int, at, size uint64) (*node, uint64) {
	for *i < len(spans) && spans[*i].Last < at {
		*i++
	}
	switch {
	case *i == len(spans):
		return zero, size - 1
	case spans[*i].First > at:
		return zero, spans[*i].First - 1
	}
	return spans[*i].to, spans[*i].Last
}

// branchCases combines a and b at each value that either lists, and at the
// rest.
func (c *combiner) branchCases(level int, a, b *node) (*node, error) {
	rest, err := c.apply(a.restAt(level), b.restAt(level))
	if err != nil {
		return nil, err
	}
	var out []valueCase
	for i, j := 0, 0; ; {
		v, ok := nextCase(a.casesAt(level), b.casesAt(level), i, j)
		if !ok {
			break
		}
		to, err := c.apply(a.caseAt(level, v, &i), b.caseAt(level, v, &j))
		if err != nil {
			return nil, err
		}
		out = append(out, valueCase{v, to})
	}
	if err := c.work.count(len(out) + 1); err != nil {
		return nil, err
	}
	return newCases(level, out, rest), nil
}

func (n *node) casesAt(level int) []valueCase {
	if n.level != level {
		return nil
	}
	return n.cases
}

func (n *node) restAt(level int) *node {
	if n.level != level {
		return n
	}
	return n.rest
}

// caseAt returns the child for v. The cases before *i must be below v.
func (n *node) caseAt(level int, v Value, i *int) *node {
	if cs := n.casesAt(level); *i < len(cs) && cs[*i].value == v {
		*i++
		return cs[*i-1].to
	}
	return n.restAt(level)
}

// nextCase returns the smallest value that remains in either list.
func nextCase(a, b []valueCase, i, j int) (Value, bool) {
	switch {
	case i == len(a) && j == len(b):
		return Value{}, false
	case i == len(a):
		return b[j].value, true
	case j == len(b) || a[i].value.Compare(b[j].value) < 0:
		return a[i].value, true
	}
	return b[j].value, true
}

func (w *Work) count(branches int) error {
	if w.Built != nil {
		return w.Built(branches)
	}
	if w.branches += branches; w.branches > maxBranches {
		return errBranches()
	}
	return nil
}

func errBranches() error {
	return sqlerr.New(sqlerr.Unsupported, "the predicate is too complex: its decision diagram exceeds %d branches", maxBranches).
		WithHint("fix more columns, or ask several smaller queries")
}

// searchCase returns the index of v among sorted cases.
func searchCase(cases []valueCase, v Value) (int, bool) {
	i := sort.Search(len(cases), func(i int) bool { return cases[i].value.Compare(v) >= 0 })
	return i, i < len(cases) && cases[i].value == v
}

// Branch is a range of ordinals of a finite domain and the query it leads to.
type Branch struct {
	Range
	To Query
}

// Rest returns two queries whose difference is q, which depends on a column without a domain. all
// weighs each record as q weighs one with a text there that q does not name, and so does not
// depend on the column. listed has weights for values only that q names there. It is false where
// q weighs such a value more than the texts that it does not name.
func (q Query) Rest(column int) (all, listed Query, ok bool) {
	f := forgetter{u: q.u, column: column, done: make(map[*node]*node)}
	all = Query{q.u, f.forget(q.root)}
	listed, err := all.combined(q, func(a, b int64) (int64, error) {
		if b > a {
			return 0, errWeight()
		}
		return a - b, nil
	})
	return all, listed, err == nil
}

// forgetter makes a column lead where all values lead that are not listed.
type forgetter struct {
	u      *Universe
	column int
	done   map[*node]*node
}

func (f *forgetter) forget(n *node) *node {
	switch {
	case n.level > f.column:
		return n
	case n.level == f.column:
		return n.rest
	case f.done[n] != nil:
		return f.done[n]
	}
	f.done[n] = n.mapped(n.level, f.u.columns[n.level].Domain, f.forget)
	return f.done[n]
}

// Switch returns the query that equals Branch.To where the column's ordinal
// lies in the branch's range, and is 0 elsewhere. The ranges are sorted and
// disjoint. Each To depends on later columns only.
func Switch(u *Universe, column int, branches []Branch) (Query, error) {
	spans := make([]span, len(branches))
	for i, b := range branches {
		if b.To.root.level <= column {
			return Query{}, errOrder()
		}
		spans[i] = span{b.Range, b.To.root}
	}
	return Query{u, newSpans(column, u.columns[column].Domain, spans)}, nil
}

// Case is a value of an unbounded domain and the query it leads to.
type Case struct {
	Value Value
	To    Query
}

// SwitchText is Switch for an unbounded column. Values without a case lead to
// rest. The cases' values are distinct.
func SwitchText(u *Universe, column int, cases []Case, rest Query) (Query, error) {
	listed := make([]valueCase, len(cases))
	for i, c := range cases {
		if c.To.root.level <= column {
			return Query{}, errOrder()
		}
		listed[i] = valueCase{c.Value, c.To.root}
	}
	if rest.root.level <= column {
		return Query{}, errOrder()
	}
	sortCases(listed)
	return Query{u, newCases(column, listed, rest.root)}, nil
}

func errOrder() error {
	return sqlerr.New(sqlerr.Internal, "a branch of a diagram leads back to an earlier column")
}

// Everywhere returns the query that has one weight, not negative, for every
// record.
func Everywhere(u *Universe, weight int64) Query { return Query{u, leaf(weight)} }

// Work combines queries and functions over one universe under a common limit, so that a statement
// of many combinations takes bounded time and memory. What would build more is refused as
// unsupported. The zero Work is ready for use.
type Work struct {
	// Built, if not nil, is called with numbers of branches as they are built. An error ends the work: it
	// is the limit. Without it all diagrams together have at most 2^22 branches.
	Built    func(branches int) error
	branches int
}

// And returns the pointwise product, see Query.And.
func (w *Work) And(q, r Query) (Query, error) {
	n, err := w.combine(q.u, q.root, r.root, func(a, b int64) (int64, error) {
		if a != 0 && b > math.MaxInt64/a {
			return 0, errWeight()
		}
		return a * b, nil
	}, times)
	return Query{q.u, n}, err
}

// Or returns the pointwise maximum, see Query.Or.
func (w *Work) Or(q, r Query) (Query, error) {
	n, err := w.combine(q.u, q.root, r.root, func(a, b int64) (int64, error) { return max(a, b), nil }, largest)
	return Query{q.u, n}, err
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

// Not returns the complement of a 0/1 query.
func (w *Work) Not(q Query) (Query, error) {
	n, err := w.combine(q.u, q.root, one, func(a, b int64) (int64, error) {
		if a > 1 {
			return 0, sqlerr.New(sqlerr.Internal, "the complement of a weighted query")
		}
		return b - a, nil
	}, nil)
	return Query{q.u, n}, err
}

// combine returns op(a, b), applied record by record. short may be nil, see combiner.
func (w *Work) combine(u *Universe, a, b *node, op func(a, b int64) (int64, error), short func(a, b *node) *node) (*node, error) {
	c := &combiner{u: u, op: op, short: short, done: make(map[[2 * sha256.Size]byte]*node), work: w}
	return c.apply(a, b)
}
