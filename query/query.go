package query

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"dpsql/sqlerr"
)

// Query is a linear query over a universe: q(x) = weight(x)/W in [0,1] with
// integer weights from 0 to W = MaxWeight. Its count on a database D is Σ_x
// weight(x)·D[x]; the paper's Q(D) is the count divided by W·n. Queries are
// immutable and canonical: equal functions have equal diagrams.
type Query struct {
	u    *Universe
	root *node
}

// All returns the query that is 1 everywhere.
func All(u *Universe) Query { return Query{u, one} }

// None returns the query that is 0 everywhere.
func None(u *Universe) Query { return Query{u, zero} }

// Where returns the query that is 1 where the column's value lies in s, and 0
// elsewhere. s is a set of the column's domain.
func Where(u *Universe, column int, s Set) Query { return Query{u, restricted(column, s, one)} }

// ColumnSet is a column and a set of its values.
type ColumnSet struct {
	Column int
	Set    Set
}

// Conjunction returns the query that is 1 where every listed column has its
// value in its set. The columns are ascending.
func Conjunction(u *Universe, sets []ColumnSet) Query {
	n := one
	for i := len(sets) - 1; i >= 0; i-- {
		n = restricted(sets[i].Column, sets[i].Set, n)
	}
	return Query{u, n}
}

// restricted returns the node that leads to another where the column's value
// lies in the set, and to zero elsewhere. The other node depends on later
// columns only.
func restricted(column int, s Set, to *node) *node {
	if s.dom.Finite() {
		spans := make([]span, len(s.ranges))
		for i, r := range s.ranges {
			spans[i] = span{r, to}
		}
		return newSpans(column, s.dom, spans)
	}
	in, out := to, zero
	if s.except {
		in, out = zero, to
	}
	cases := make([]valueCase, len(s.values))
	for i, v := range s.values {
		cases[i] = valueCase{v, in}
	}
	return newCases(column, cases, out)
}

// Weighted returns the query that weights each record by its value of the
// column. The column must be finite. weights has one entry an ordinal, none
// negative.
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
// Both queries share a universe. And is refused as unsupported when the diagram
// exceeds its limit or a weight exceeds an int64.
func (q Query) And(r Query) (Query, error) { return new(Work).And(q, r) }

// Or returns the pointwise maximum, which for 0/1 queries is the disjunction.
func (q Query) Or(r Query) (Query, error) { return new(Work).Or(q, r) }

// Plus returns the pointwise sum of the weights.
func (q Query) Plus(r Query) (Query, error) {
	return q.combined(r, func(a, b int64) (int64, error) {
		if a > math.MaxInt64-b {
			return 0, errWeight()
		}
		return a + b, nil
	})
}

// Times returns the query with all weights multiplied by n, which is not
// negative. It is refused as unsupported when a product does not fit an int64.
func (q Query) Times(n int64) (Query, error) {
	return q.combined(All(q.u), func(a, _ int64) (int64, error) {
		if a > 0 && n > math.MaxInt64/a {
			return 0, errWeight()
		}
		return a * n, nil
	})
}

// Not returns the complement of a 0/1 query.
func (q Query) Not() (Query, error) { return new(Work).Not(q) }

func errWeight() error {
	return sqlerr.New(sqlerr.Unsupported, "the weights of the query do not fit 64 bits")
}

func (q Query) combined(r Query, op func(a, b int64) (int64, error)) (Query, error) {
	n, err := new(Work).combine(q.u, q.root, r.root, op, nil)
	return Query{q.u, n}, err
}

// Universe returns the universe the query is over.
func (q Query) Universe() *Universe { return q.u }

// Equal reports whether two queries over one universe are the same function.
func (q Query) Equal(r Query) bool { return q.root.equals(r.root) }

// Digest identifies the query among those over its universe. Equal queries have
// equal digests in every process.
func (q Query) Digest() [32]byte { return q.root.digest }

// Weight returns the weight of a record, and 0 for a record outside the
// declared domains. The tuple has one value a column.
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
	return max(1, q.root.weight)
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

// visit calls f once for each inner node, and for each leaf once or more.
func (q Query) visit(f func(*node)) {
	v := visitor{f: f}
	v.walk(q.root)
}

type visitor struct {
	f    func(*node)
	seen memo[struct{}]
}

func (v *visitor) walk(n *node) {
	if n.isLeaf() { // cheap to visit twice, and a sum has many
		v.f(n)
		return
	}
	if _, ok := v.seen.of(n); ok {
		return
	}
	v.seen.note(n, struct{}{})
	v.f(n)
	n.each(v.walk)
}

// memo remembers something of nodes. The first few go into an array, since most
// diagrams are small; the others go into a map.
type memo[T any] struct {
	few  [16]*node
	kept [16]T
	n    int
	rest map[*node]T
}

func (m *memo[T]) of(n *node) (T, bool) {
	for i, known := range m.few[:m.n] {
		if known == n {
			return m.kept[i], true
		}
	}
	t, ok := m.rest[n]
	return t, ok
}

func (m *memo[T]) note(n *node, t T) {
	if m.n < len(m.few) {
		m.few[m.n], m.kept[m.n] = n, t
		m.n++
		return
	}
	if m.rest == nil {
		m.rest = make(map[*node]T)
	}
	m.rest[n] = t
}

// each calls f with each child, with some several times.
func (n *node) each(f func(*node)) {
	for _, s := range n.spans {
		f(s.to)
	}
	for _, c := range n.cases {
		f(c.to)
	}
	if n.rest != nil {
		f(n.rest)
	}
}

// mapped returns a node of a level, over the same domain, that leads where f maps the children.
func (n *node) mapped(level int, d Domain, f func(*node) *node) *node {
	var last, to *node // neighbours often lead to the same node
	child := func(n *node) *node {
		if n != last {
			last, to = n, f(n)
		}
		return to
	}
	if n.rest == nil {
		spans := make([]span, len(n.spans))
		for i, s := range n.spans {
			spans[i] = span{s.Range, child(s.to)}
		}
		return newSpans(level, d, spans)
	}
	cases := make([]valueCase, len(n.cases))
	for i, c := range n.cases {
		cases[i] = valueCase{c.value, child(c.to)}
	}
	return newCases(level, cases, child(n.rest))
}

// A node is one vertex of a reduced ordered decision diagram. It is immutable
// and canonical: equal functions have equal digests, whatever built them.
//
// A leaf has level leafLevel and a weight. An inner node branches on the column
// numbered level. Over a finite domain it branches by spans: they are sorted,
// neighbours with the same child are merged, and gaps lead to the zero leaf.
// Over an unbounded domain it branches by cases and rest: cases are sorted, and
// those that lead where rest does are left out. No node has a single child for
// its whole domain.
type node struct {
	level  int
	weight int64 // of an inner node, the largest below
	spans  []span
	cases  []valueCase
	rest   *node
	digest [sha256.Size]byte
}

type span struct {
	Range
	to *node
}

type valueCase struct {
	value Value
	to    *node
}

const leafLevel = int(^uint(0) >> 1) // below every column

// zero is the leaf outside a query's support.
var zero = leaf(0)

// one is the leaf inside the support of a 0/1 query.
var one = leaf(1)

func leaf(weight int64) *node {
	n := leafNode(weight)
	return &n
}

// leafNode returns a leaf. Its digest is its weight, with zeros in place of a hash: no hash of an inner node has so many.
func leafNode(weight int64) node {
	n := node{level: leafLevel, weight: weight}
	binary.BigEndian.PutUint64(n.digest[:], uint64(weight))
	return n
}

func (n *node) isLeaf() bool { return n.level == leafLevel }

func (n *node) isZero() bool { return n.isLeaf() && n.weight == 0 }

func (n *node) isOne() bool { return n.isLeaf() && n.weight == 1 }

func (n *node) equals(m *node) bool { return n.digest == m.digest }

// newSpans returns the reduced node that branches by spans over a finite
// domain. The spans are sorted and disjoint. newSpans overwrites them.
func newSpans(level int, d Domain, spans []span) *node {
	merged := spans[:0]
	for _, s := range spans {
		k := len(merged)
		switch {
		case s.to.isZero():
		case k > 0 && merged[k-1].Last+1 == s.First && merged[k-1].to.equals(s.to):
			merged[k-1].Last = s.Last
		default:
			merged = append(merged, s)
		}
	}
	if len(merged) == 0 {
		return zero
	}
	if len(merged) == 1 && merged[0].First == 0 && merged[0].Last == d.Size()-1 {
		return merged[0].to
	}
	if cap(merged) > 2*len(merged) {
		merged = slices.Clone(merged)
	}
	n := &node{level: level, spans: merged}
	n.seal()
	return n
}

// newCases returns the reduced node that branches by cases over an unbounded
// domain. The cases are sorted and distinct. newCases overwrites them.
func newCases(level int, cases []valueCase, rest *node) *node {
	kept := cases[:0]
	for _, c := range cases {
		if !c.to.equals(rest) {
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 {
		return rest
	}
	n := &node{level: level, cases: kept, rest: rest}
	n.seal()
	return n
}

// seal computes the digest of the node's function, and its largest weight. SHA-256 is collision
// resistant, so equal digests mean equal diagrams.
func (n *node) seal() {
	var room [512]byte
	var long hash.Hash // of what came before b, where that is much
	b := append(room[:0], 0, 0, 0, 0, 0, 0, 0, 'N')
	b = binary.BigEndian.AppendUint64(b, uint64(n.level))
	b = binary.BigEndian.AppendUint64(b, uint64(len(n.spans)))
	child := func(to *node) {
		b = append(b, to.digest[:]...)
		n.weight = max(n.weight, to.weight)
		if len(b) > 1<<12 {
			if long == nil {
				long = sha256.New()
			}
			long.Write(b)
			b = b[:0]
		}
	}
	for _, s := range n.spans {
		b = binary.BigEndian.AppendUint64(b, s.First)
		b = binary.BigEndian.AppendUint64(b, s.Last)
		child(s.to)
	}
	for _, c := range n.cases {
		b = appendValue(b, c.value)
		child(c.to)
	}
	if n.rest != nil {
		child(n.rest)
	}
	if long == nil {
		n.digest = sha256.Sum256(b)
		return
	}
	long.Write(b)
	long.Sum(n.digest[:0])
}

func appendValue(b []byte, v Value) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(v.kind))
	b = binary.BigEndian.AppendUint64(b, uint64(v.n))
	b = binary.BigEndian.AppendUint64(b, uint64(len(v.s)))
	return append(b, v.s...)
}

// child returns the node that v leads to from an inner node over domain d.
func (n *node) child(d Domain, v Value) *node {
	if n.rest != nil {
		if i, ok := searchCase(n.cases, v); ok {
			return n.cases[i].to
		}
		return n.rest
	}
	o, ok := d.Ordinal(v)
	if !ok {
		return zero
	}
	return n.childAt(o)
}

// childAt returns the node that an ordinal leads to from a node over a finite
// domain.
func (n *node) childAt(o uint64) *node {
	lo, hi := 0, len(n.spans)
	for lo < hi {
		mid := (lo + hi) / 2
		if n.spans[mid].Last < o {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(n.spans) && n.spans[lo].First <= o {
		return n.spans[lo].to
	}
	return zero
}

func sortSpans(spans []span) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.First, b.First) })
}

func sortCases(cases []valueCase) {
	slices.SortFunc(cases, func(a, b valueCase) int { return a.value.Compare(b.value) })
}

// Size returns m, the sparsity of the query (the paper's Definition of
// sparsity): the number of records with a positive weight. It returns nil when
// m is infinite.
func (q Query) Size() *big.Int {
	if m, finite, fits := q.size(); fits || !finite {
		if !finite {
			return nil
		}
		return new(big.Int).SetUint64(m)
	}
	return q.measure(func(int64) *big.Int { return big.NewInt(1) })
}

// SumSquares returns Σ weight² over the support, and +Inf when that is
// infinite.
func (q Query) SumSquares() float64 {
	if m, finite, fits := q.size(); finite && fits && q.MaxWeight() == 1 {
		return float64(m)
	}
	s := q.measure(func(w int64) *big.Int { b := big.NewInt(w); return b.Mul(b, b) })
	if s == nil {
		return math.Inf(1)
	}
	f, _ := new(big.Float).SetInt(s).Float64()
	return f
}

// SizeWithin returns m if it is at most limit, and false otherwise.
func (q Query) SizeWithin(limit uint64) (uint64, bool) {
	m, finite, fits := q.size()
	if !finite || !fits || m > limit {
		return 0, false
	}
	return m, true
}

// measure returns the sum of f(weight) over the support, and nil when it is
// infinite.
func (q Query) measure(f func(weight int64) *big.Int) *big.Int {
	m := measurer{u: q.u, leaf: f, done: make(map[*node]*big.Int)}
	return m.from(0, q.root)
}

type measurer struct {
	u    *Universe
	leaf func(int64) *big.Int
	done map[*node]*big.Int
}

// from measures the records that n admits, over the columns from level on.
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

// size returns m in one word. If m does not fit, finite still reports whether
// it is finite.
func (q Query) size() (m uint64, finite, fits bool) {
	c := counter{u: q.u}
	n := c.from(0, q.root)
	return n.m, !n.infinite, !n.large
}

// counter does what measurer does, for sizes alone and in machine words. A plan
// asks for the sizes of many small diagrams.
type counter struct {
	u    *Universe
	done memo[tally]
}

// tally is a number of records: infinite, or finite but beyond 64 bits, or m.
type tally struct {
	m               uint64
	infinite, large bool
}

func (t tally) times(n uint64) tally {
	hi, lo := bits.Mul64(t.m, n)
	return tally{lo, t.infinite, t.large || hi != 0}
}

func (t tally) plus(s tally) tally {
	m, carry := bits.Add64(t.m, s.m, 0)
	return tally{m, t.infinite || s.infinite, t.large || s.large || carry != 0}
}

// from counts the records that n admits, over the columns from level on.
func (c *counter) from(level int, n *node) tally {
	if n.isZero() {
		return tally{}
	}
	t := c.below(n)
	for i := level; i < min(n.level, len(c.u.columns)); i++ {
		if d := c.u.columns[i].Domain; d.Finite() {
			t = t.times(d.Size())
		} else {
			t.infinite = true
		}
	}
	return t
}

// below counts n over the columns from its own level on.
func (c *counter) below(n *node) tally {
	if n.isLeaf() {
		return tally{m: 1}
	}
	if t, ok := c.done.of(n); ok {
		return t
	}
	t := tally{infinite: n.rest != nil && !n.rest.isZero()}
	for _, s := range n.spans {
		t = t.plus(c.from(n.level+1, s.to).times(s.Last - s.First + 1))
	}
	for _, k := range n.cases {
		t = t.plus(c.from(n.level+1, k.to))
	}
	c.done.note(n, t)
	return t
}
