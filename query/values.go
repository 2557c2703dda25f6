package query

import "iter"

// Values returns the values of a column that some record in the query's support
// has: those into which GROUP BY divides it.
func (q Query) Values(column int) Set {
	v := valuesOf{column: column, domain: q.u.columns[column].Domain, seen: make(map[*node]bool)}
	v.found = v.domain.None()
	v.walk(q.root)
	return v.found
}

type valuesOf struct {
	column int
	domain Domain
	found  Set
	seen   map[*node]bool
}

// walk adds the values that lead to the support through n.
func (v *valuesOf) walk(n *node) {
	switch {
	case n.isZero() || v.seen[n]:
		return
	case n.level > v.column:
		v.found = v.domain.All()
		return
	}
	v.seen[n] = true
	if n.level == v.column {
		v.found = v.found.Union(n.support(v.domain))
		return
	}
	for _, s := range n.spans {
		v.walk(s.to)
	}
	for _, c := range n.cases {
		v.walk(c.to)
	}
	if n.rest != nil {
		v.walk(n.rest)
	}
}

// support returns the values that do not lead to zero.
func (n *node) support(d Domain) Set {
	s := Set{dom: d}
	for _, sp := range n.spans {
		s.ranges = appendRange(s.ranges, sp.Range)
	}
	if n.rest == nil {
		return s
	}
	s.except = !n.rest.isZero()
	for _, c := range n.cases {
		if s.except == c.to.isZero() {
			s.values = append(s.values, c.value)
		}
	}
	return s
}

// Each yields the values of a finite set in order.
func (s Set) Each() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for _, v := range s.values {
			if !yield(v) {
				return
			}
		}
		for _, r := range s.ranges {
			for o := r.First; o <= r.Last; o++ {
				if !yield(s.dom.Value(o)) {
					return
				}
			}
		}
	}
}

// Branches returns the number of branches of the diagram at columns up to one.
func (q Query) Branches(column int) int {
	n := 0
	q.visit(func(m *node) {
		if m.level <= column {
			n += len(m.spans) + len(m.cases)
		}
	})
	return n
}
