package query

import (
	"math"
	"math/big"
)

// Size returns m, the sparsity of the query: the number of records with a
// weight above 0 (the paper's Definition of sparsity); nil when infinite.
func (q Query) Size() *big.Int {
	if m, finite, fits := q.size(); fits || !finite {
		if !finite {
			return nil
		}
		return new(big.Int).SetUint64(m)
	}
	return q.measure(func(int64) *big.Int { return big.NewInt(1) })
}

// SumSquares returns Σ weight² over the support; +Inf when it is infinite.
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

// SizeWithin returns m when it is at most limit, and false otherwise.
func (q Query) SizeWithin(limit uint64) (uint64, bool) {
	m, finite, fits := q.size()
	if !finite || !fits || m > limit {
		return 0, false
	}
	return m, true
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
