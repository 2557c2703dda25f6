package query

import (
	"math"
	"math/big"
	"math/bits"
)

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
	few  [16]counted // of the nodes met first, searched one by one
	n    int
	rest map[*node]tally
}

type counted struct {
	of *node
	tally
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
	if t, ok := c.known(n); ok {
		return t
	}
	t := tally{infinite: n.rest != nil && !n.rest.isZero()}
	for _, s := range n.spans {
		t = t.plus(c.from(n.level+1, s.to).times(s.Last - s.First + 1))
	}
	for _, k := range n.cases {
		t = t.plus(c.from(n.level+1, k.to))
	}
	c.note(n, t)
	return t
}

func (c *counter) known(n *node) (tally, bool) {
	for i := range c.n {
		if c.few[i].of == n {
			return c.few[i].tally, true
		}
	}
	t, ok := c.rest[n]
	return t, ok
}

func (c *counter) note(n *node, t tally) {
	if c.n < len(c.few) {
		c.few[c.n] = counted{n, t}
		c.n++
		return
	}
	if c.rest == nil {
		c.rest = make(map[*node]tally)
	}
	c.rest[n] = t
}
