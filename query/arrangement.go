package query

import (
	"cmp"
	"slices"
)

// Arrangement is a list of queries over one universe. It cuts the support of
// another query into cells, on each of which that query and every query of the
// list are constant. It walks all diagrams side by side and skips columns on
// which none of them branches. So the number of cells depends on where the
// queries of the list cross the support. The size of the support is only an
// upper bound. An Arrangement is not safe for concurrent use.
type Arrangement struct {
	u      *Universe
	roots  []*node
	index  []rootIndex // the roots' branches, by level
	active []member
	levels []cutLevel
	cell   Cell
	yield  func(*Cell)
}

// Cell is a set of records: a product of sets, one a column.
type Cell struct {
	// Sets holds the ordinals of each finite column, sorted and disjoint. nil
	// means the whole domain. Sets says nothing about unbounded columns.
	Sets   [][]Range
	Size   uint64   // the number of records
	Weight int64    // of the query being cut
	In     []Member // the queries of the list that are not 0 here
}

// Member is a query of the list, by its index, and its weight.
type Member struct {
	Query  int
	Weight int64
}

// NewArrangement returns an empty list.
func NewArrangement(u *Universe) *Arrangement {
	n := len(u.columns)
	return &Arrangement{u: u, levels: make([]cutLevel, n), index: make([]rootIndex, n), cell: Cell{Sets: make([][]Range, n)}}
}

// Add appends a query of finite support over the universe.
func (a *Arrangement) Add(q Query) {
	if !q.root.isLeaf() {
		a.index[q.root.level].add(len(a.roots), q.root)
	}
	a.roots = append(a.roots, q.root)
}

// Cells calls f with each cell of the support of q, which has at most 2^64 − 1
// records. The cell and all it points to are valid until f returns.
func (a *Arrangement) Cells(q Query, f func(*Cell)) {
	a.yield, a.active = f, a.active[:0]
	for i, r := range a.roots {
		if !r.isZero() {
			a.active = append(a.active, member{i, r})
		}
	}
	a.walk(0, q.root, a.active, 1)
	a.yield = nil
}

// member is a query of the list and the node that the walk has reached in it.
type member struct {
	query int
	node  *node
}

// cutLevel is the scratch space of one column. A column has one walk at a time.
type cutLevel struct {
	here, later, next []member
	cursors           []int // into the spans or cases of here, followed by those of the index
	inIndex           int
	hits, open        []hit
	whole             [1]span
	one               [1]Range
	bare              bare
}

// hit is a span of a query of the list, clipped to the span being walked.
type hit struct {
	span
	query int
}

// bare gathers values of a column at which no query of the list branches and
// which lead q to the same node. They form one cell.
type bare struct {
	to     *node
	ranges []Range
	size   uint64
}

// walk cuts n along the active queries. size is the number of settings of the
// columns before from that lead here.
func (a *Arrangement) walk(from int, n *node, active []member, size uint64) {
	if n.isZero() {
		return
	}
	at := n.level
	for _, m := range active {
		at = min(at, m.node.level)
	}
	for i := from; i < min(at, len(a.levels)); i++ {
		a.cell.Sets[i] = nil
		size *= a.u.columns[i].Domain.Size()
	}
	if at == leafLevel {
		a.emit(n, active, size)
		return
	}
	l := &a.levels[at]
	l.here, l.later, l.cursors, l.bare = l.here[:0], l.later[:0], l.cursors[:0], bare{ranges: l.bare.ranges[:0]}
	l.inIndex = 0
	for _, m := range active {
		switch {
		case m.node.level != at:
			l.later = append(l.later, m)
		case m.node != a.roots[m.query]: // a root is found by the index
			l.here, l.cursors = append(l.here, m), append(l.cursors, 0)
		}
	}
	for range a.index[at].wide {
		l.cursors = append(l.cursors, 0)
	}
	if a.u.columns[at].Domain.Finite() {
		a.cutSpans(at, n, size)
	} else {
		a.cutCases(at, n, size)
	}
	if l.bare.to != nil {
		if a.cell.Sets[at] = nil; len(l.bare.ranges) > 0 {
			a.cell.Sets[at] = l.bare.ranges
		}
		a.walk(at+1, l.bare.to, l.later, size*l.bare.size)
	}
}

func (a *Arrangement) emit(n *node, active []member, size uint64) {
	c := &a.cell
	c.Size, c.Weight, c.In = size, n.weight, c.In[:0]
	for _, m := range active {
		c.In = append(c.In, Member{m.query, m.node.weight})
	}
	a.yield(c)
}

func (a *Arrangement) cutSpans(at int, n *node, size uint64) {
	l := &a.levels[at]
	spans := n.spans
	if n.level != at {
		l.whole[0] = span{Range{0, a.u.columns[at].Domain.Size() - 1}, n}
		spans = l.whole[:]
	}
	for _, s := range spans {
		l.hits = l.hits[:0]
		for k, m := range l.here {
			l.cross(s, m.query, m.node.spans, &l.cursors[k])
		}
		for k, w := range a.index[at].wide {
			l.cross(s, w.query, w.spans, &l.cursors[len(l.here)+k])
		}
		l.inIndex = a.index[at].cross(s, l.inIndex, &l.hits)
		a.sweep(at, s, size)
	}
}

// cross adds the parts of a query's spans, from the cursor on, that lie in s.
func (l *cutLevel) cross(s span, query int, spans []span, cursor *int) {
	i := seekSpan(spans, *cursor, s.First)
	for *cursor = i; i < len(spans) && spans[i].First <= s.Last; i++ {
		l.hits = append(l.hits, hit{spans[i].within(s.Range), query})
	}
}

// within returns the part of a span that lies in r.
func (s span) within(r Range) span {
	return span{Range{max(s.First, r.First), min(s.Last, r.Last)}, s.to}
}

// sweep cuts a span of q into pieces on which the same queries branch alike.
func (a *Arrangement) sweep(at int, s span, size uint64) {
	l := &a.levels[at]
	if len(l.hits) > 1 {
		slices.SortFunc(l.hits, func(x, y hit) int { return cmp.Compare(x.First, y.First) })
	}
	l.open = l.open[:0]
	for p, i := s.First, 0; ; {
		l.open = slices.DeleteFunc(l.open, func(h hit) bool { return h.Last < p })
		for ; i < len(l.hits) && l.hits[i].First == p; i++ {
			l.open = append(l.open, l.hits[i])
		}
		end := s.Last
		if i < len(l.hits) {
			end = l.hits[i].First - 1
		}
		for _, h := range l.open {
			end = min(end, h.Last)
		}
		a.piece(at, span{Range{p, end}, s.to}, size)
		if end == s.Last {
			return
		}
		p = end + 1
	}
}

// piece walks the values of s, at which exactly the open queries branch.
func (a *Arrangement) piece(at int, s span, size uint64) {
	l := &a.levels[at]
	if n := s.Last - s.First + 1; len(l.open) > 0 || !l.bare.add(s.to, n) {
		l.next = append(l.next[:0], l.later...)
		for _, h := range l.open {
			l.next = append(l.next, member{h.query, h.to})
		}
		l.one[0] = s.Range
		a.cell.Sets[at] = l.one[:]
		a.walk(at+1, s.to, l.next, size*n)
		return
	}
	l.bare.ranges = append(l.bare.ranges, s.Range)
}

// add adds n values if they lead to the same node as the others, and reports
// whether they do.
func (b *bare) add(to *node, n uint64) bool {
	if b.to == nil {
		b.to = to
	}
	if !b.to.equals(to) {
		return false
	}
	b.size += n
	return true
}

// cutCases cuts at an unbounded column. q has finite support, so it lists the
// values.
func (a *Arrangement) cutCases(at int, n *node, size uint64) {
	l := &a.levels[at]
	a.cell.Sets[at] = nil
	for _, c := range n.casesAt(at) {
		l.next = append(l.next[:0], l.later...)
		branched := false
		for k, m := range l.here {
			i := seekCase(m.node.cases, l.cursors[k], c.value)
			l.cursors[k] = i
			to := m.node.rest
			if i < len(m.node.cases) && m.node.cases[i].value == c.value {
				to = m.node.cases[i].to
			}
			if !to.isZero() {
				l.next, branched = append(l.next, member{m.query, to}), true
			}
		}
		x := a.index[at].cases
		for l.inIndex = seekRoot(x, l.inIndex, c.value); l.inIndex < len(x) && x[l.inIndex].value == c.value; l.inIndex++ {
			l.next, branched = append(l.next, member{x[l.inIndex].query, x[l.inIndex].to}), true
		}
		if branched || !l.bare.add(c.to, 1) {
			a.walk(at+1, c.to, l.next, size)
		}
	}
}

// seekSpan returns the first index from i on whose span does not end before x.
func seekSpan(spans []span, i int, x uint64) int {
	return seek(i, len(spans), func(j int) bool { return spans[j].Last < x })
}

// seekCase returns the first index from i on whose value is not below v.
func seekCase(cases []valueCase, i int, v Value) int {
	return seek(i, len(cases), func(j int) bool { return cases[j].value.Compare(v) < 0 })
}

// seek returns the first index in [i, n) at which before, true at first, is
// false, in time logarithmic in the distance.
func seek(i, n int, before func(int) bool) int {
	step := 1
	for i+step-1 < n && before(i+step-1) {
		i += step
		step *= 2
	}
	lo, hi := i, min(i+step-1, n)
	for lo < hi {
		if mid := (lo + hi) / 2; before(mid) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// rootIndex holds the branches of all roots of one level, sorted together. One
// search then finds a literal in all of them, where there would be one search a
// query: a list of 1,000 literals against 50 such lists takes 0.6 ms with it and 6.6
// without, of texts 0.9 and 13.9 (BenchmarkValue in mechanisms/smw, load 20).
type rootIndex struct {
	narrow []hit // spans of up to narrowest values, sorted by First
	wide   []wideSpans
	cases  []rootCase
}

// narrowest is the largest number of values of a narrow span.
const narrowest = 8

// wideSpans are the spans of one root that are not narrow.
type wideSpans struct {
	query int
	spans []span
}

// rootCase is a case of one root.
type rootCase struct {
	valueCase
	query int
}

func (x *rootIndex) add(query int, root *node) {
	spans, cases := len(x.narrow), len(x.cases)
	wide := wideSpans{query: query}
	for _, s := range root.spans {
		if s.Last-s.First < narrowest {
			x.narrow = append(x.narrow, hit{s, query})
		} else {
			wide.spans = append(wide.spans, s)
		}
	}
	if len(wide.spans) > 0 {
		x.wide = append(x.wide, wide)
	}
	for _, c := range root.cases {
		x.cases = append(x.cases, rootCase{c, query})
	}
	merge(x.narrow, spans, func(a, b hit) int { return cmp.Compare(a.First, b.First) })
	merge(x.cases, cases, func(a, b rootCase) int { return a.value.Compare(b.value) })
}

// merge sorts a slice. Its first n elements are sorted, and so are the others.
func merge[T any](s []T, n int, compare func(a, b T) int) {
	tail := slices.Clone(s[n:])
	for i, j, to := n-1, len(tail)-1, len(s)-1; j >= 0; to-- {
		if i >= 0 && compare(s[i], tail[j]) > 0 {
			s[to] = s[i]
			i--
		} else {
			s[to] = tail[j]
			j--
		}
	}
}

// cross adds the parts of the narrow spans that lie in s, and returns the index
// from which the next call goes on. Calls come with ascending s.
func (x *rootIndex) cross(s span, from int, hits *[]hit) int {
	least := s.First - min(s.First, narrowest-1)
	from = seek(from, len(x.narrow), func(j int) bool { return x.narrow[j].First < least })
	for i := from; i < len(x.narrow) && x.narrow[i].First <= s.Last; i++ {
		if h := x.narrow[i]; h.Last >= s.First {
			*hits = append(*hits, hit{h.within(s.Range), h.query})
		}
	}
	return from
}

// seekRoot returns the first index from i on whose value is not below v.
func seekRoot(cases []rootCase, i int, v Value) int {
	return seek(i, len(cases), func(j int) bool { return cases[j].value.Compare(v) < 0 })
}
