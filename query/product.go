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
		if !sp.to.equals(n.spans[0].to) {
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
		if s.except != c.to.isZero() || !s.except && !c.to.equals(to) {
			return Set{}, nil, false
		}
		s.values = append(s.values, c.value)
	}
	return s, to, true
}

// Project returns the same query over the universe of the given columns, which
// are ascending; false when the query depends on another column.
func (q Query) Project(columns []int) (Query, bool) {
	r := relabeler{to: make([]int, len(q.u.columns))}
	for i := range r.to {
		r.to[i] = -1
	}
	for i, c := range columns {
		r.to[c] = i
	}
	root, ok := r.relabel(q.root)
	if !ok {
		return Query{}, false
	}
	return Query{q.u.Project(columns), root}, true
}

// relabeler renames the levels of a diagram, in the same order.
type relabeler struct {
	to   []int // the new name of each level; -1 where it has none
	done map[*node]*node
}

// relabel returns the diagram renamed; false where a level has no new name.
func (r *relabeler) relabel(n *node) (*node, bool) {
	if n.isLeaf() {
		return n, true
	}
	if r.to[n.level] < 0 {
		return nil, false
	}
	if done := r.done[n]; done != nil {
		return done, true
	}
	m, ok := &node{level: r.to[n.level]}, true
	var last, renamed *node // neighbours often lead to the same node
	child := func(to *node) *node {
		if to != last && ok {
			last = to
			renamed, ok = r.relabel(to)
		}
		return renamed
	}
	if len(n.spans) > 0 {
		m.spans = make([]span, len(n.spans))
	}
	for i, s := range n.spans {
		m.spans[i] = span{s.Range, child(s.to)}
	}
	if len(n.cases) > 0 {
		m.cases = make([]valueCase, len(n.cases))
	}
	for i, c := range n.cases {
		m.cases[i] = valueCase{c.value, child(c.to)}
	}
	if n.rest != nil {
		m.rest = child(n.rest)
	}
	if !ok {
		return nil, false
	}
	m.seal()
	if len(n.spans)+len(n.cases) > 1 || r.done != nil { // a chain is renamed once without it
		if r.done == nil {
			r.done = make(map[*node]*node)
		}
		r.done[n] = m
	}
	return m, true
}

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
			if sp.to.equals(to) {
				s.ranges = append(s.ranges, sp.Range)
			}
		}
		return s
	}
	s := Set{dom: d, except: n.rest.equals(to)}
	for _, c := range n.cases {
		if s.except != c.to.equals(to) {
			s.values = append(s.values, c.value)
		}
	}
	return s
}
