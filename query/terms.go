package query

// Term is a conjunction of conditions on single columns, with a weight above 0.
type Term struct {
	Sets   []Set // one a column
	Weight int64
}

// Terms returns the query as a sum of terms of which no record meets two: one
// for each path of the diagram. It is false where there are more than limit.
func (q Query) Terms(limit int) ([]Term, bool) {
	w := termWriter{columns: q.u.columns, limit: limit, sets: make([]Set, len(q.u.columns))}
	for i, c := range q.u.columns {
		w.sets[i] = c.Domain.All()
	}
	if !w.walk(q.root) {
		return nil, false
	}
	return w.terms, true
}

// termWriter follows the paths of a diagram.
type termWriter struct {
	columns []Column
	limit   int
	sets    []Set // of the path so far
	terms   []Term
}

func (w *termWriter) walk(n *node) bool {
	if n.isZero() {
		return true
	}
	if n.isLeaf() {
		w.terms = append(w.terms, Term{append([]Set(nil), w.sets...), n.weight})
		return len(w.terms) <= w.limit
	}
	d := w.columns[n.level].Domain
	for _, to := range n.children() {
		w.sets[n.level] = n.leadingTo(d, to)
		if !w.walk(to) {
			return false
		}
	}
	w.sets[n.level] = d.All()
	return true
}

// children returns the different children, the rest of an unbounded column
// first.
func (n *node) children() []*node {
	var out []*node
	seen := make(map[[32]byte]bool)
	add := func(to *node) {
		if !seen[to.digest] {
			seen[to.digest] = true
			out = append(out, to)
		}
	}
	if n.rest != nil {
		add(n.rest)
	}
	for _, s := range n.spans {
		add(s.to)
	}
	for _, c := range n.cases {
		add(c.to)
	}
	return out
}

// leadingTo returns the values of the node's column that lead to a child.
func (n *node) leadingTo(d Domain, to *node) Set {
	if n.rest == nil {
		s := Set{dom: d}
		for _, sp := range n.spans {
			if sp.to.is(to) {
				s.ranges = append(s.ranges, sp.Range)
			}
		}
		return s
	}
	s := Set{dom: d, except: n.rest.is(to)}
	for _, c := range n.cases {
		if s.except != c.to.is(to) {
			s.values = append(s.values, c.value)
		}
	}
	return s
}
