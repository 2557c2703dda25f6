package query

// Support returns the values of a column for which q has a weight in some record.
func (q Query) Support(column int) Set {
	s := supporter{column: column, domain: q.u.columns[column].Domain, done: make(map[*node]Set)}
	return s.of(q.root)
}

type supporter struct {
	column int
	domain Domain
	done   map[*node]Set
}

// of returns the values for which a diagram has a weight. Diagrams are canonical: all but the
// zero leaf have one somewhere.
func (s *supporter) of(n *node) (out Set) {
	switch {
	case n.isZero():
		return s.domain.None()
	case n.isLeaf() || n.level > s.column:
		return s.domain.All()
	}
	if known, ok := s.done[n]; ok {
		return known
	}
	defer func() { s.done[n] = out }()
	if n.level == s.column {
		return n.leadingAnywhere(s.domain)
	}
	out = s.domain.None()
	for _, child := range n.children() {
		out = out.Union(s.of(child))
	}
	return out
}

// leadingAnywhere returns the values of the node's column that do not lead to zero.
func (n *node) leadingAnywhere(d Domain) Set {
	if n.rest == nil {
		s := d.None()
		for _, sp := range n.spans {
			if !sp.to.isZero() {
				s.ranges = appendRange(s.ranges, sp.Range)
			}
		}
		return s
	}
	return n.leadingTo(d, zero).Complement()
}
