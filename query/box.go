package query

import "iter"

// Box is a set of names: Start plus, for each of the steps, a multiple of its
// stride below its count. Each sum is another name, of the same high half.
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

// each calls f with the names of the box from x on, until it is false.
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

// Boxes yields the support of q, a query of finite sparsity over the coder's
// universe, as disjoint boxes of one weight: as many as the diagram has paths
// through the columns that are hashed, taken value by value, and those that are
// coded, however large the support. They come in no particular order; strides
// descend within a box, whose steps are valid until the next one.
func (c Coder) Boxes(q Query) iter.Seq2[Box, int64] {
	return func(yield func(Box, int64) bool) {
		if c.chained {
			one := func(x Element, w int64) bool { return yield(Box{Start: x}, w) }
			chainer{c: c, yield: one}.walk(0, q.root, make([]byte, 0, 256))
			return
		}
		p := packer{c: c, yield: yield}
		p.walk(0, q.root, Element{}, 0, p.some[:0])
	}
}

// packer emits boxes.
type packer struct {
	c      Coder
	yield  func(Box, int64) bool
	texts  map[*node][]Element // the hashes of the cases of a node: it can be met again
	some   [8]Step             // room for the steps of a walk, and
	merged [8]Step             // for those of a box
}

// walk emits the records of the box of sum, code and steps over the columns
// before level that n admits.
func (p *packer) walk(level int, n *node, sum Element, code uint64, steps []Step) bool {
	if n.isZero() {
		return true
	}
	columns := p.c.u.columns
	for free := min(n.level, len(columns)); level < free; level++ {
		size := columns[level].Domain.Size()
		switch stride := p.c.stride[level]; {
		case stride == 0: // an infinite one cannot occur, m is finite
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

// hashed walks on from each ordinal of a span of a column that is hashed.
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

// cases walks on from each value that a node of a column without a domain names.
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

// emit yields a box, with steps that go on where the next one ends as one step.
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
