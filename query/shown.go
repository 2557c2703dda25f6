package query

import "fmt"

// Shown returns the text of the query with values as people write them, or somewhat more than its first
// bytes where it has more than most. It is not canonical, and Parse does not read it: parts that are used
// twice are written twice, and a sum of a column is written as one, wherever the column was declared:
//
//	SUM(age) where educ 5 … 16
func (q Query) Shown(most int) string {
	p := printer{u: q.u, shown: true, between: " … ", most: most}
	if s, where := q.summed(); s != nil {
		p.sum(s, where)
	} else {
		p.node(q.root)
	}
	return p.b.String()
}

// summed returns the column that a query adds up, and where it does; nil if it adds up none.
func (q Query) summed() (*summed, Query) {
	if q.root.weight <= 1 {
		return nil, q
	}
	for _, column := range q.Columns() {
		d := q.u.columns[column].Domain
		if !d.Finite() || d.Type() != TypeInteger {
			continue
		}
		s := &summed{u: q.u, column: column, domain: d, plus: max(0, -d.Value(min(d.firstNotNull(), d.Size()-1)).n), done: make(map[*node]*node)}
		if where := s.strip(q.root); !s.failed {
			return s, Query{q.u, where}
		}
	}
	return nil, q
}

// summed takes the values of a column out of a query that weights each record by them, plus a number.
type summed struct {
	u      *Universe
	column int
	domain Domain
	plus   int64
	weight int64 // of the value that is looked at
	failed bool  // the query has other weights
	done   map[*node]*node
	flats  memo[*node] // what is below the value
}

// strip returns the diagram with weights 1 in place of the values.
func (s *summed) strip(n *node) *node {
	switch {
	case s.failed || n.isZero():
		return zero
	case n.level > s.column:
		s.failed = true
		return zero
	case s.done[n] != nil:
		return s.done[n]
	case n.level < s.column:
		s.done[n] = n.mapped(n.level, s.u.columns[n.level].Domain, s.strip)
		return s.done[n]
	}
	var spans []span // few: the values mostly lead to the same
	for _, sp := range n.spans {
		s.weight, s.flats = s.domain.Value(sp.First).n+s.plus, memo[*node]{}
		if to := s.flat(sp.to); s.failed || sp.First < sp.Last {
			s.failed = true
			return zero
		} else if last := len(spans) - 1; last >= 0 && spans[last].Last+1 == sp.First && spans[last].to.equals(to) {
			spans[last].Last = sp.Last
		} else {
			spans = append(spans, span{sp.Range, to})
		}
	}
	m := newSpans(n.level, s.domain, spans)
	if m.level == s.column { // records without a weight may be in it
		if set, to, same := m.only(s.domain); same && s.domain.SetOf(Null(), Int(-s.plus)).Union(set).IsAll() {
			m = to
		}
	}
	s.done[n] = m
	return m
}

// flat returns a diagram below a value of the column with weights 1 in place of the value's.
func (s *summed) flat(n *node) *node {
	switch {
	case n.isZero():
		return zero
	case n.weight != s.weight:
		s.failed = true
		return zero
	case n.isLeaf():
		return one
	}
	m, known := s.flats.of(n)
	if !known {
		m = n.mapped(n.level, s.u.columns[n.level].Domain, s.flat)
		s.flats.note(n, m)
	}
	return m
}

// sum writes the sum of a column where a 0/1 query holds.
func (p *printer) sum(s *summed, where Query) {
	p.b.WriteString("SUM(" + quoteName(p.u.columns[s.column].Name))
	if s.plus > 0 {
		fmt.Fprintf(&p.b, " + %d", s.plus)
	}
	p.b.WriteString(")")
	sets, ok := where.Product()
	if !ok {
		p.b.WriteString(" where ")
		p.node(where.root)
		return
	}
	word := " where "
	for i, set := range sets {
		if set.IsAll() {
			continue
		}
		p.b.WriteString(word + quoteName(p.u.columns[i].Name) + " ")
		p.values(p.u.columns[i], set)
		word = " and "
	}
}

// values writes the values of a set.
func (p *printer) values(c Column, s Set) {
	if s.except {
		p.b.WriteString("not ")
	}
	before := ""
	write := func(text string) {
		if p.b.Len() <= p.most {
			p.b.WriteString(before + text)
			before = ", "
		}
	}
	for _, v := range s.values {
		write(v.String())
	}
	for _, r := range s.ranges {
		for _, text := range p.rangeTexts(c, r) {
			write(text)
		}
	}
}
