package query

import "iter"

// Box is a set of codes of a coded universe: Start plus, for each of the steps,
// a multiple of its stride below its count. Each sum is another code.
type Box struct {
	Start uint64
	Steps []Step
}

// Step is one direction of a box. Count is at least 2.
type Step struct{ Stride, Count uint64 }

// Last returns the largest code of the box.
func (b Box) Last() uint64 {
	last := b.Start
	for _, s := range b.Steps {
		last += s.Stride * (s.Count - 1)
	}
	return last
}

// Boxes yields the support of q, a query over a coded universe, as disjoint
// boxes of one weight: as many as the diagram has paths, however large the
// support. They come in no particular order; strides descend within a box, whose
// steps are valid until the next one.
func (q Query) Boxes() iter.Seq2[Box, int64] {
	return func(yield func(Box, int64) bool) {
		p := packer{u: q.u, yield: yield}
		p.walk(0, q.root, 0, p.some[:0])
	}
}

// packer emits boxes.
type packer struct {
	u      *Universe
	yield  func(Box, int64) bool
	some   [8]Step // room for the steps of a walk, and
	merged [8]Step // for those of a box
}

// walk emits the records of the box of start and steps over the columns before
// level that n admits.
func (p *packer) walk(level int, n *node, start uint64, steps []Step) bool {
	if n.isZero() {
		return true
	}
	for free := min(n.level, len(p.u.columns)); level < free; level++ {
		if n := p.u.columns[level].Domain.Size(); n > 1 {
			steps = append(steps, Step{p.u.stride[level], n})
		}
	}
	if n.isLeaf() {
		return p.emit(start, steps, n.weight)
	}
	stride := p.u.stride[level]
	for _, s := range n.spans {
		inner := steps
		if s.First < s.Last {
			inner = append(inner, Step{stride, s.Last - s.First + 1})
		}
		if !p.walk(level+1, s.to, start+s.First*stride, inner) {
			return false
		}
	}
	return true
}

// emit yields a box, with steps that go on where the next one ends as one step.
func (p *packer) emit(start uint64, steps []Step, weight int64) bool {
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
