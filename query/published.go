package query

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"dpsql/sqlerr"
)

// published tells apart the texts that have certain names.
type published struct {
	key   [16]byte
	coder Coder // of one column without domain
	names []Element
}

// Published returns a finite domain for a TEXT column that was declared without one. It tells
// apart the values that NewCoder, over such a column alone and with this key, gives one of the
// names, which ascend. NULL has ordinal 0, and the names have the next ones. The last ordinal,
// OTHER, stands for every other text. So every value of the column has one ordinal. What the
// texts are need not be known, and Value returns none. A name of NULL counts for nothing. It
// refuses names that do not ascend, and none at all.
func Published(key [16]byte, names []Element) (Domain, error) {
	for i := 1; i < len(names); i++ {
		if names[i-1].compare(names[i]) >= 0 {
			return Domain{}, sqlerr.New(sqlerr.Invalid, "the published keys of a domain do not ascend")
		}
	}
	u := newUniverse([]Column{{Name: "key", Domain: Unbounded()}})
	p := &published{key: key, coder: NewCoder(u, key)}
	null, _ := p.coder.Code([]Value{Null()})
	p.names = slices.DeleteFunc(slices.Clone(names), func(x Element) bool { return x == null })
	if len(p.names) == 0 || len(p.names) > math.MaxInt32 {
		return Domain{}, sqlerr.New(sqlerr.Invalid, "a domain of %d published keys", len(p.names))
	}
	return Domain{&domain{typ: TypeText, published: p, null: true, finite: true, size: uint64(len(p.names)) + 2}}, nil
}

// Keys returns the key and the names of a Published domain, and false for others. The slice
// must not be changed.
func (d Domain) Keys() (key [16]byte, names []Element, ok bool) {
	if d.d.published == nil {
		return key, nil, false
	}
	return d.d.published.key, d.d.published.names, true
}

// ordinal returns the ordinal of a text or NULL.
func (p *published) ordinal(v Value) (uint64, bool) {
	name, ok := p.coder.Code([]Value{v})
	if !ok {
		return 0, false
	}
	if v.IsNull() {
		return 0, true
	}
	i := sort.Search(len(p.names), func(i int) bool { return p.names[i].compare(name) >= 0 })
	if i < len(p.names) && p.names[i] == name {
		return uint64(i) + 1, true
	}
	return p.other(), true
}

// other returns the ordinal of OTHER.
func (p *published) other() uint64 { return uint64(len(p.names)) + 1 }

// shown stands for a value of an ordinal where people look at a query.
func (p *published) shown(ordinal uint64) Value {
	switch ordinal {
	case 0:
		return Null()
	case p.other():
		return Text(Other)
	}
	return Text(fmt.Sprintf("key %d", ordinal))
}

func (e Element) compare(f Element) int {
	switch {
	case e == f:
		return 0
	case e.Hi < f.Hi || e.Hi == f.Hi && e.Lo < f.Lo:
		return -1
	}
	return 1
}

// With returns the universe with another domain of one column.
func (u *Universe) With(column int, d Domain) *Universe {
	columns := slices.Clone(u.columns)
	columns[column].Domain = d
	return newUniverse(columns)
}

// Recast returns q as a query over u, whose columns are those of q's universe, some that have
// no domain there with a Published one. It is false, with a column, where q has different
// weights for values of it that u does not tell apart.
func (q Query) Recast(u *Universe) (r Query, column int, ok bool) {
	c := recaster{u: u, done: make(map[*node]*node)}
	return c.query(q)
}

// Told returns queries over one universe as queries over another one, in which each column without
// a domain has a Published one that tells apart the texts that the queries name. It is false where
// they name none, though they depend on the column.
func Told(queries []Query, key [16]byte) (told []Query, ok bool) {
	u := queries[0].u
	for i, c := range u.columns {
		if c.Domain.Finite() {
			continue
		}
		coder := NewCoder(newUniverse([]Column{{Name: "key", Domain: Unbounded()}}), key)
		var names []Element
		for _, q := range queries {
			q.visit(func(n *node) {
				if n.isLeaf() || n.level != i {
					return
				}
				for _, listed := range n.cases {
					name, _ := coder.Code([]Value{listed.value})
					names = append(names, name)
				}
			})
		}
		slices.SortFunc(names, Element.compare)
		d, err := Published(key, slices.Compact(names))
		if err != nil {
			return nil, false
		}
		u = u.With(i, d)
	}
	c := recaster{u: u, done: make(map[*node]*node)} // one for all, so that what they share stays shared
	for _, q := range queries {
		r, _, ok := c.query(q)
		if !ok {
			return nil, false
		}
		told = append(told, r)
	}
	return told, true
}

type recaster struct {
	u      *Universe
	done   map[*node]*node
	column int // where recast returned nil
}

// query is Recast.
func (c *recaster) query(q Query) (r Query, column int, ok bool) {
	differ := false
	for i, known := range c.u.columns {
		differ = differ || known.Domain.d.published != nil && !q.u.columns[i].Domain.Finite()
	}
	if !differ {
		return q, 0, true
	}
	root := c.recast(q.root)
	return Query{c.u, root}, c.column, root != nil
}

// recast returns the node over the other domains, or nil.
func (c *recaster) recast(n *node) *node {
	if n.isLeaf() {
		return n
	}
	if done := c.done[n]; done != nil {
		return done
	}
	d := c.u.columns[n.level].Domain
	var spans []span
	for _, s := range n.spans {
		to := c.recast(s.to)
		if to == nil {
			return nil
		}
		spans = append(spans, span{s.Range, to})
	}
	if n.rest != nil {
		if spans = c.cases(n, d.d.published); spans == nil {
			return nil
		}
	}
	m := newSpans(n.level, d, spans)
	c.done[n] = m
	return m
}

// cases returns the spans of a node that branches by values, or nil.
func (c *recaster) cases(n *node, p *published) []span {
	if p == nil {
		c.column = n.level
		return nil
	}
	rest := c.recast(n.rest)
	if rest == nil {
		return nil
	}
	led := map[uint64]*node{p.other(): rest} // where the listed values lead
	for _, listed := range n.cases {
		to := c.recast(listed.to)
		if to == nil {
			return nil
		}
		o, ok := p.ordinal(listed.value)
		if known := led[o]; !ok || known != nil && !known.equals(to) {
			c.column = n.level
			return nil
		}
		led[o] = to
	}
	spans := make([]span, 0, 2*len(led)+1)
	next := uint64(0)
	for _, o := range slices.Sorted(maps.Keys(led)) {
		if o > next {
			spans = append(spans, span{Range{next, o - 1}, rest})
		}
		spans = append(spans, span{Range{o, o}, led[o]})
		next = o + 1
	}
	return spans
}
