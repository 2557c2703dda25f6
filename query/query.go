package query

import (
	"math"
	"math/big"

	"dpsql/sqlerr"
)

// Query is a linear query over a universe: q(x) = weight(x)/W in [0,1] with
// integer weights from 0 to W = MaxWeight. On a database it stands for the
// count Σ_x weight(x)·D[x]; the paper's Q(D) is that over W·n. Queries are
// immutable, and canonical: the same function is the same diagram.
type Query struct {
	u    *Universe
	root *node
}

// All returns the query that is 1 everywhere.
func All(u *Universe) Query { return Query{u, leaf(1)} }

// None returns the query that is 0 everywhere.
func None(u *Universe) Query { return Query{u, zero} }

// Where returns the query that is 1 where the column's value lies in s, a set
// of the column's domain.
func Where(u *Universe, column int, s Set) Query {
	one := leaf(1)
	if s.dom.Finite() {
		spans := make([]span, len(s.ranges))
		for i, r := range s.ranges {
			spans[i] = span{r, one}
		}
		return Query{u, newSpans(column, s.dom, spans)}
	}
	in, out := one, zero
	if s.except {
		in, out = zero, one
	}
	cases := make([]valueCase, len(s.values))
	for i, v := range s.values {
		cases[i] = valueCase{v, in}
	}
	return Query{u, newCases(column, cases, out)}
}

// Weighted returns the query whose weight is that of the column's value. The
// column must be finite and the weights, one an ordinal, not negative.
func Weighted(u *Universe, column int, weights []int64) (Query, error) {
	d := u.columns[column].Domain
	if uint64(len(weights)) != d.Size() || !d.Finite() {
		return Query{}, sqlerr.New(sqlerr.Internal, "a weight is needed for each value of %s", u.columns[column].Name)
	}
	spans := make([]span, len(weights))
	for i, w := range weights {
		if w < 0 {
			return Query{}, sqlerr.New(sqlerr.Invalid, "weights cannot be negative")
		}
		spans[i] = span{Range{uint64(i), uint64(i)}, leaf(w)}
	}
	return Query{u, newSpans(column, d, spans)}, nil
}

// And returns the pointwise product, which for 0/1 queries is the conjunction.
// It is refused as unsupported when the diagram grows beyond its limit, or a
// weight beyond an int64; both queries share a universe.
func (q Query) And(r Query) (Query, error) {
	switch {
	case q.root.isZero() || r.root.is(leaf(1)):
		return q, nil
	case r.root.isZero() || q.root.is(leaf(1)):
		return r, nil
	}
	return q.combined(r, func(a, b int64) (int64, error) {
		if a != 0 && b > math.MaxInt64/a {
			return 0, errWeight()
		}
		return a * b, nil
	})
}

// Or returns the pointwise maximum, which for 0/1 queries is the disjunction.
func (q Query) Or(r Query) (Query, error) {
	return q.combined(r, func(a, b int64) (int64, error) { return max(a, b), nil })
}

// Plus returns the pointwise sum of the weights.
func (q Query) Plus(r Query) (Query, error) {
	return q.combined(r, func(a, b int64) (int64, error) {
		if a > math.MaxInt64-b {
			return 0, errWeight()
		}
		return a + b, nil
	})
}

// Not returns the complement of a 0/1 query.
func (q Query) Not() (Query, error) {
	return q.combined(All(q.u), func(a, b int64) (int64, error) {
		if a > 1 {
			return 0, sqlerr.New(sqlerr.Internal, "the complement of a weighted query")
		}
		return b - a, nil
	})
}

func errWeight() error {
	return sqlerr.New(sqlerr.Unsupported, "the weights of the query do not fit 64 bits")
}

func (q Query) combined(r Query, op func(a, b int64) (int64, error)) (Query, error) {
	n, err := combine(q.u, q.root, r.root, op)
	return Query{q.u, n}, err
}

// Universe returns the universe the query is over.
func (q Query) Universe() *Universe { return q.u }

// Equal reports whether two queries over one universe are the same function.
func (q Query) Equal(r Query) bool { return q.root.is(r.root) }

// Digest names the query among those over its universe: equal queries have
// equal digests, in every process.
func (q Query) Digest() [32]byte { return q.root.digest }

// Weight returns the weight of a record, 0 outside the declared domains. The
// tuple has one value a column.
func (q Query) Weight(tuple []Value) int64 {
	for i, c := range q.u.columns {
		if !c.Domain.Contains(tuple[i]) {
			return 0
		}
	}
	n := q.root
	for !n.isLeaf() {
		n = n.child(q.u.columns[n.level].Domain, tuple[n.level])
	}
	return n.weight
}

// MaxWeight returns W, the largest weight, at least 1.
func (q Query) MaxWeight() int64 {
	w := int64(1)
	q.visit(func(n *node) { w = max(w, n.weight) })
	return w
}

// Columns returns the columns the query depends on, ascending.
func (q Query) Columns() []int {
	used := make([]bool, len(q.u.columns))
	q.visit(func(n *node) {
		if !n.isLeaf() {
			used[n.level] = true
		}
	})
	columns := []int{}
	for i, yes := range used {
		if yes {
			columns = append(columns, i)
		}
	}
	return columns
}

// visit calls f once for each node.
func (q Query) visit(f func(*node)) {
	seen := make(map[*node]bool)
	var walk func(n *node)
	walk = func(n *node) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		f(n)
		walk(n.rest)
		for _, s := range n.spans {
			walk(s.to)
		}
		for _, c := range n.cases {
			walk(c.to)
		}
	}
	walk(q.root)
}

// Product returns one set a column when the query is a conjunction of
// conditions on single columns with weight 1, and false otherwise.
func (q Query) Product() ([]Set, bool) {
	sets := make([]Set, len(q.u.columns))
	for i, c := range q.u.columns {
		sets[i] = c.Domain.All()
	}
	n := q.root
	for !n.isLeaf() {
		s, to, ok := n.only(q.u.columns[n.level].Domain)
		if !ok {
			return nil, false
		}
		sets[n.level] = s
		n = to
	}
	if n.weight == 0 {
		sets[0] = q.u.columns[0].Domain.None()
	}
	return sets, n.weight <= 1
}

// only returns the single child other than zero, and the set that leads to it.
func (n *node) only(d Domain) (Set, *node, bool) {
	if n.rest != nil {
		return n.onlyCase(d)
	}
	s := Set{dom: d}
	for _, sp := range n.spans {
		if !sp.to.is(n.spans[0].to) {
			return Set{}, nil, false
		}
		s.ranges = append(s.ranges, sp.Range)
	}
	return s, n.spans[0].to, true
}

func (n *node) onlyCase(d Domain) (Set, *node, bool) {
	s := Set{dom: d, except: !n.rest.isZero()}
	to := n.rest
	if !s.except {
		to = n.cases[0].to
	}
	for _, c := range n.cases {
		if s.except != c.to.isZero() || !s.except && !c.to.is(to) {
			return Set{}, nil, false
		}
		s.values = append(s.values, c.value)
	}
	return s, to, true
}

// Project returns the same query over the universe of the given columns, which
// are ascending; false when the query depends on another column.
func (q Query) Project(columns []int) (Query, bool) {
	to := make(map[int]int, len(columns))
	for i, c := range columns {
		to[c] = i
	}
	for _, c := range q.Columns() {
		if _, ok := to[c]; !ok {
			return Query{}, false
		}
	}
	p := q.u.Project(columns)
	return Query{p, relabel(q.root, to, make(map[*node]*node))}, true
}

// relabel returns the diagram with its levels renamed in the same order.
func relabel(n *node, to map[int]int, done map[*node]*node) *node {
	if n.isLeaf() {
		return n
	}
	if m, ok := done[n]; ok {
		return m
	}
	m := &node{level: to[n.level]}
	for _, s := range n.spans {
		m.spans = append(m.spans, span{s.Range, relabel(s.to, to, done)})
	}
	for _, c := range n.cases {
		m.cases = append(m.cases, valueCase{c.value, relabel(c.to, to, done)})
	}
	if n.rest != nil {
		m.rest = relabel(n.rest, to, done)
	}
	m.seal()
	done[n] = m
	return m
}

// Size returns m, the sparsity of the query: the number of records with a
// weight above 0 (the paper's Definition of sparsity); nil when infinite.
func (q Query) Size() *big.Int {
	return q.measure(func(int64) *big.Int { return big.NewInt(1) })
}

// SumSquares returns Σ weight² over the support; +Inf when it is infinite.
func (q Query) SumSquares() float64 {
	s := q.measure(func(w int64) *big.Int { b := big.NewInt(w); return b.Mul(b, b) })
	if s == nil {
		return math.Inf(1)
	}
	f, _ := new(big.Float).SetInt(s).Float64()
	return f
}

// SizeWithin returns m when it is at most limit, and false otherwise.
func (q Query) SizeWithin(limit uint64) (uint64, bool) {
	m := q.Size()
	if m == nil || !m.IsUint64() || m.Uint64() > limit {
		return 0, false
	}
	return m.Uint64(), true
}

// measure sums f over the weights of the support; nil when it is infinite.
func (q Query) measure(f func(weight int64) *big.Int) *big.Int {
	m := measurer{u: q.u, leaf: f, done: make(map[*node]*big.Int)}
	return m.from(0, q.root)
}

type measurer struct {
	u    *Universe
	leaf func(int64) *big.Int
	done map[*node]*big.Int
}

// from measures the records over the columns from level on that n admits.
func (m *measurer) from(level int, n *node) *big.Int {
	if n.isZero() {
		return new(big.Int)
	}
	total := m.below(n)
	for i := level; i < min(n.level, len(m.u.columns)) && total != nil; i++ {
		d := m.u.columns[i].Domain
		if !d.Finite() {
			return nil
		}
		total = new(big.Int).Mul(total, new(big.Int).SetUint64(d.Size()))
	}
	return total
}

// below measures n over the columns from its own level on.
func (m *measurer) below(n *node) *big.Int {
	if n.isLeaf() {
		return m.leaf(n.weight)
	}
	if t, ok := m.done[n]; ok {
		return t
	}
	if n.rest != nil && !n.rest.isZero() {
		return nil
	}
	total := new(big.Int)
	add := func(to *node, times uint64) bool {
		t := m.from(n.level+1, to)
		if t != nil {
			total.Add(total, new(big.Int).Mul(t, new(big.Int).SetUint64(times)))
		}
		return t != nil
	}
	for _, s := range n.spans {
		if !add(s.to, s.Last-s.First+1) {
			return nil
		}
	}
	for _, c := range n.cases {
		if !add(c.to, 1) {
			return nil
		}
	}
	m.done[n] = total
	return total
}
