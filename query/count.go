package query

import "math/bits"

// size returns m in one word; where it does not fit, it is finite all the same
// or is not.
func (q Query) size() (m uint64, finite, fits bool) {
	c := counter{u: q.u}
	n := c.from(0, q.root)
	return n.m, !n.infinite, !n.large
}

// counter is the measurer of sizes, in words: a plan asks for the sizes of many
// small diagrams.
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

// tally is a number of records: infinite, finite and beyond 64 bits, or m.
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

// from counts the records over the columns from level on that n admits.
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

// below counts over the columns from the node's own on.
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
