package query

import "iter"

// Product returns one set a column when the query is a conjunction of
// conditions on single columns and has weight 1. Otherwise it returns false.
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

// only returns the one child that is not zero, and the set of values that leads
// to it.
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
// are ascending. It returns false when the query depends on another column.
func (q Query) Project(columns []int) (Query, bool) {
	r := newRelabeler(q.u, columns)
	root := r.relabel(q.root)
	if r.failed {
		return Query{}, false
	}
	return Query{q.u.Project(columns), root}, true
}

// ProjectAll projects queries over one universe, none of which may depend on another column. What
// their diagrams share stays shared: the groups of a sum have the weights of its column once.
func ProjectAll(queries []Query, columns []int) []Query {
	u, r := queries[0].u.Project(columns), newRelabeler(queries[0].u, columns)
	projected := make([]Query, len(queries))
	for i, q := range queries {
		projected[i] = Query{u, r.relabel(q.root)}
	}
	return projected
}

func newRelabeler(u *Universe, columns []int) *relabeler {
	r := &relabeler{u: u, to: make([]int, len(u.columns))}
	for i := range r.to {
		r.to[i] = -1
	}
	for i, c := range columns {
		r.to[c] = i
	}
	return r
}

// relabeler renames the levels of a diagram and keeps their order.
type relabeler struct {
	u      *Universe
	to     []int // the new name of each level; -1 where it has none
	failed bool  // a level had none
	done   map[*node]*node
}

// relabel returns the renamed diagram.
func (r *relabeler) relabel(n *node) *node {
	if n.isLeaf() {
		return n
	}
	if r.to[n.level] < 0 {
		r.failed = true
		return zero
	}
	if done := r.done[n]; done != nil {
		return done
	}
	m := n.mapped(r.to[n.level], r.u.columns[n.level].Domain, r.relabel)
	if len(n.spans)+len(n.cases) > 1 || r.done != nil { // a chain needs no memo
		if r.done == nil {
			r.done = make(map[*node]*node)
		}
		r.done[n] = m
	}
	return m
}

// Term is a conjunction of conditions on single columns with a positive weight.
type Term struct {
	Sets   []Set // one a column
	Weight int64
}

// Terms returns the query as a sum of disjoint terms, one for each path of the
// diagram. It returns false when there are more than limit.
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

// children returns the distinct children. The rest of an unbounded column comes
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

// Box is a set of names: Start plus any sum of multiples of the steps' strides,
// where each multiple is below its step's Count. The sums are distinct, and all
// names of a box share their high half.
type Box struct {
	Start Element
	Steps []Step
}

// Step is one direction of a box. Count is at least 2.
type Step struct{ Stride, Count uint64 }

// Last returns the largest name of the box.
func (b Box) Last() Element {
	last := b.Start
	for _, s := range b.Steps {
		last.Lo += s.Stride * (s.Count - 1)
	}
	return last
}

// each calls f with the names of the box from x on, and stops when f returns
// false.
func (b Box) each(x Element, f func(Element) bool) bool {
	if len(b.Steps) == 0 {
		return f(x)
	}
	first, inner := b.Steps[0], Box{Steps: b.Steps[1:]}
	for range first.Count {
		if len(inner.Steps) == 0 {
			if !f(x) {
				return false
			}
		} else if !inner.each(x, f) {
			return false
		}
		x.Lo += first.Stride
	}
	return true
}

// Boxes yields the support of q as disjoint boxes, each of one weight. q is a
// query of finite sparsity over the coder's universe. The number of boxes
// depends on the paths of the diagram: hashed columns are taken value by value,
// coded columns in ranges. It does not otherwise grow with the support. Boxes
// come in no particular order. Strides descend within a box. The steps are
// valid until the next box.
func (c Coder) Boxes(q Query) iter.Seq2[Box, int64] {
	return func(yield func(Box, int64) bool) {
		p := packer{c: c, yield: yield}
		p.walk(0, q.root, Element{}, 0, p.some[:0])
	}
}

// packer walks a diagram and emits boxes.
type packer struct {
	c      Coder
	yield  func(Box, int64) bool
	texts  map[*node][]Element // the hashes of a node's cases; many paths can reach one node
	some   [8]Step             // room for the steps of a walk
	merged [8]Step             // room for the steps of a box
}

// walk emits the records that n admits, over the columns before level, from the
// box that sum, code and steps describe.
func (p *packer) walk(level int, n *node, sum Element, code uint64, steps []Step) bool {
	if n.isZero() {
		return true
	}
	columns := p.c.u.columns
	for free := min(n.level, len(columns)); level < free; level++ {
		size := columns[level].Domain.Size()
		switch stride := p.c.stride[level]; {
		case stride == 0: // hashed; m is finite, so the column is too
			return p.hashed(level, span{Range{0, size - 1}, n}, sum, code, steps)
		case size > 1:
			steps = append(steps, Step{stride, size})
		}
	}
	if n.isLeaf() {
		return p.emit(p.c.name(sum, code), steps, n.weight)
	}
	stride := p.c.stride[level]
	for _, s := range n.spans {
		if stride == 0 {
			if !p.hashed(level, s, sum, code, steps) {
				return false
			}
			continue
		}
		inner := steps
		if s.First < s.Last {
			inner = append(inner, Step{stride, s.Last - s.First + 1})
		}
		if !p.walk(level+1, s.to, sum, code+s.First*stride, inner) {
			return false
		}
	}
	return len(n.cases) == 0 || p.cases(level, n, sum, code, steps)
}

// hashed continues the walk from each ordinal of a span of a hashed column.
func (p *packer) hashed(level int, s span, sum Element, code uint64, steps []Step) bool {
	kept := p.c.table(level)
	for o := s.First; ; o++ {
		var h Element
		if kept != nil {
			h = kept[o]
		} else {
			h = p.c.hashAnew(level, o)
		}
		if !p.walk(level+1, s.to, sum.plus(h), code, steps) {
			return false
		}
		if o == s.Last {
			return true
		}
	}
}

// cases continues the walk from each value that a node of an unbounded column
// lists.
func (p *packer) cases(level int, n *node, sum Element, code uint64, steps []Step) bool {
	if len(n.cases) == 1 {
		return p.walk(level+1, n.cases[0].to, sum.plus(p.c.hashText(level, n.cases[0].value)), code, steps)
	}
	kept, ok := p.texts[n]
	if !ok {
		kept = make([]Element, len(n.cases))
		for i, cs := range n.cases {
			kept[i] = p.c.hashText(level, cs.value)
		}
		if p.texts == nil {
			p.texts = make(map[*node][]Element)
		}
		p.texts[n] = kept
	}
	for i, cs := range n.cases {
		if !p.walk(level+1, cs.to, sum.plus(kept[i]), code, steps) {
			return false
		}
	}
	return true
}

// emit yields a box. It merges a step with the next one where they are
// contiguous.
func (p *packer) emit(start Element, steps []Step, weight int64) bool {
	if len(steps) < 2 {
		return p.yield(Box{start, steps}, weight)
	}
	merged := p.merged[:0]
	for _, s := range steps {
		if last := len(merged) - 1; last >= 0 && merged[last].Stride == s.Stride*s.Count {
			merged[last] = Step{s.Stride, merged[last].Count * s.Count}
		} else {
			merged = append(merged, s)
		}
	}
	return p.yield(Box{start, merged}, weight)
}
