package query

import (
	"fmt"
	"slices"
	"strings"
)

// Shown returns the text of the query with values as people write them, or somewhat more than its first
// bytes where it has more than most. It is not canonical, and Parse does not read it: parts that are used
// twice are written twice, and a sum of a column is written as one, wherever the column was declared:
//
//	SUM(age) where educ 5 … 16
func (q Query) Shown(most int) string {
	p := printer{u: q.u, shown: true, between: " … ", most: most}
	for _, column := range q.Columns() {
		d := q.u.columns[column].Domain
		if q.root.weight <= 1 || !d.Finite() || d.Type() != TypeInteger {
			continue
		}
		s := summed{u: q.u, column: column, domain: d, done: make(map[*node]*node)}
		if where := s.strip(q.root, 0); !s.failed {
			p.sum(&s, Query{q.u, where})
			return p.b.String()
		}
	}
	p.node(q.root)
	return p.b.String()
}

// summed takes the values of a column out of a query that weights each record by them, plus a number where some are below 0.
type summed struct {
	u      *Universe
	column int
	domain Domain
	plus   int64 // once met
	met    bool
	failed bool // the query has other weights
	done   map[*node]*node
}

// strip returns a diagram with weights 1 in place of the values. Below the column one value is given, and else 0.
func (s *summed) strip(n *node, value int64) *node {
	switch {
	case s.failed || n.isZero():
		return zero
	case value == 0 && n.level > s.column || value != 0 && n.weight != value:
		s.failed = true
		return zero
	case n.isLeaf():
		return one
	case s.done[n] == nil && n.level == s.column:
		s.done[n] = s.values(n)
	case s.done[n] == nil:
		s.done[n] = n.mapped(n.level, s.u.columns[n.level].Domain, func(to *node) *node { return s.strip(to, value) })
	}
	return s.done[n]
}

// values is strip for a node of the column. Records without a weight may be in the result.
func (s *summed) values(n *node) *node {
	if !s.met {
		s.met, s.plus = true, n.spans[0].to.weight-s.domain.Value(n.spans[0].First).n
		s.failed = s.plus < 0 || s.plus > 0 && s.domain.Value(min(s.domain.firstNotNull(), s.domain.Size()-1)).n >= 0
	}
	var spans []span // few: the values mostly lead to the same
	for _, sp := range n.spans {
		value, last := s.domain.Value(sp.First).n+s.plus, len(spans)-1
		var to *node
		if last >= 0 && sp.to.isLike(spans[last].to, value) { // of a million values this saves 200 MiB
			to = spans[last].to
		} else {
			to = s.strip(sp.to, value)
		}
		if s.failed = s.failed || sp.First < sp.Last; s.failed {
			return zero
		}
		if last >= 0 && spans[last].Last+1 == sp.First && spans[last].to.equals(to) {
			spans[last].Last = sp.Last
		} else {
			spans = append(spans, span{sp.Range, to})
		}
	}
	m := newSpans(n.level, s.domain, spans)
	if m.level == s.column {
		if set, to, same := m.only(s.domain); same && s.domain.SetOf(Null(), Int(-s.plus)).Union(set).IsAll() {
			return to
		}
	}
	return m
}

// isLike reports whether a node has its leaves, of one weight, where another has its, of weight 1. Of deep nodes it does not know.
func (n *node) isLike(other *node, weight int64) bool {
	return !n.isLeaf() && n.rest == nil && n.level == other.level && slices.EqualFunc(n.spans, other.spans, func(a, b span) bool {
		return a.Range == b.Range && a.to.isLeaf() && a.to.weight == weight && b.to.isOne()
	})
}

// sum writes the sum of a column where a 0/1 query holds.
func (p *printer) sum(s *summed, where Query) {
	p.b.WriteString("SUM(" + quoteName(p.u.columns[s.column].Name))
	if s.plus > 0 {
		fmt.Fprintf(&p.b, " + %d", s.plus)
	}
	p.b.WriteString(")")
	word := " where "
	sets, ok := where.Product()
	if !ok {
		p.b.WriteString(word)
		p.node(where.root)
	}
	for i, set := range sets {
		if set.IsAll() || p.b.Len() > p.most {
			continue
		}
		part := printer{u: p.u, shown: true, between: p.between, most: p.most}
		part.node(restricted(i, set, one))
		name, text := quoteName(p.u.columns[i].Name), part.b.String()
		if values, one := strings.CutSuffix(text[len(name)+1:], ": 1}"); one && !set.except {
			text = name + " " + values
		}
		p.b.WriteString(word + text)
		word = " and "
	}
}
