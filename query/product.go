package query

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
