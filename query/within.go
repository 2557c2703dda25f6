package query

// Within returns q as a query over u, whose columns are those of q's universe, some with a part
// of their domain. Records that u lacks are left out, so q and the result have the same weight
// on every record of u. It is false if a domain of u has a value that q's lacks.
func (q Query) Within(u *Universe) (Query, bool) {
	if len(u.columns) != len(q.u.columns) {
		return Query{}, false
	}
	w := narrower{from: q.u, to: u, done: make(map[*node]*node)}
	differ := false
	for i, c := range q.u.columns {
		part := u.columns[i].Domain
		if part.d == c.Domain.d {
			continue
		}
		if !part.partOf(c.Domain) {
			return Query{}, false
		}
		differ = true
	}
	if !differ {
		return Query{u, q.root}, true
	}
	return Query{u, w.narrow(q.root)}, true
}

// partOf reports whether every value of d is a value of e, in the same order.
func (d Domain) partOf(e Domain) bool {
	switch {
	case !d.Finite() || !e.Finite():
		return d.Finite() == e.Finite()
	case !d.ordered() || !e.ordered():
		return false
	case d.IsRange() && e.IsRange():
		lo, hi := d.Bounds()
		least, most := e.Bounds()
		return least <= lo && hi <= most && (e.HasNull() || !d.HasNull())
	case d.Size() > e.Size():
		return false
	}
	for o := range d.Size() {
		if _, ok := e.Ordinal(d.Value(o)); !ok {
			return false
		}
	}
	return true
}

// ordinalsOf returns the ordinals in d, a part of e, of the values with these ordinals in e. It
// is false if there are none.
func (d Domain) ordinalsOf(e Domain, r Range) (Range, bool) {
	var first, end uint64 // as many values of d are below the range, and up to its end
	if v := e.Value(r.First); !v.IsNull() {
		first = d.position(v, false)
	}
	if v := e.Value(r.Last); !v.IsNull() {
		end = d.position(v, true)
	} else {
		end = d.firstNotNull()
	}
	if first >= end {
		return Range{}, false
	}
	return Range{first, end - 1}, true
}

// narrower takes diagrams from one universe to a part of it.
type narrower struct {
	from, to *Universe
	done     map[*node]*node
}

func (w *narrower) narrow(n *node) *node {
	if n.isLeaf() {
		return n
	}
	if m := w.done[n]; m != nil {
		return m
	}
	m := w.narrowed(n)
	w.done[n] = m
	return m
}

func (w *narrower) narrowed(n *node) *node {
	part, whole := w.to.columns[n.level].Domain, w.from.columns[n.level].Domain
	if n.rest != nil {
		cases := make([]valueCase, len(n.cases))
		for i, c := range n.cases {
			cases[i] = valueCase{c.value, w.narrow(c.to)}
		}
		return newCases(n.level, cases, w.narrow(n.rest))
	}
	spans := make([]span, 0, len(n.spans))
	for _, s := range n.spans {
		r := s.Range
		if part.d != whole.d {
			var some bool
			if r, some = part.ordinalsOf(whole, r); !some {
				continue
			}
		}
		spans = append(spans, span{r, w.narrow(s.to)})
	}
	return newSpans(n.level, part, spans)
}
