package query

import (
	"encoding/binary"
	"iter"

	"github.com/dchest/siphash"
)

// Element names one record of a universe: its code (Hi = 0) where the universe
// is coded, else a 128-bit keyed fingerprint. Two records share a fingerprint
// with probability 2^-128 a pair, for records chosen without the key.
type Element struct{ Hi, Lo uint64 }

// Run is a run of consecutive codes of a coded universe.
type Run struct{ Start, Len uint64 }

// Coder names the records of one universe. It is safe for concurrent use.
type Coder struct {
	u      *Universe
	k0, k1 uint64
}

// NewCoder returns the coder of u. The key matters only where u is not coded:
// there an element is the SipHash-2-4-128 of the record's canonical encoding.
func NewCoder(u *Universe, key [16]byte) Coder {
	return Coder{u, binary.LittleEndian.Uint64(key[:8]), binary.LittleEndian.Uint64(key[8:])}
}

// Universe returns the universe whose records the coder names.
func (c Coder) Universe() *Universe { return c.u }

// Code returns the name of a record, which has one value a column; false when
// the record lies outside the declared domains.
func (c Coder) Code(tuple []Value) (Element, bool) {
	if !c.u.Coded() {
		return c.fingerprint(tuple)
	}
	var code uint64
	for i, col := range c.u.columns {
		o, ok := col.Domain.Ordinal(tuple[i])
		if !ok {
			return Element{}, false
		}
		code += o * c.u.stride[i]
	}
	return Element{Lo: code}, true
}

func (c Coder) fingerprint(tuple []Value) (Element, bool) {
	var stack [128]byte
	buf := stack[:0]
	for i, col := range c.u.columns {
		if !col.Domain.Finite() {
			if !col.Domain.Contains(tuple[i]) {
				return Element{}, false
			}
			buf = appendText(buf, tuple[i])
			continue
		}
		o, ok := col.Domain.Ordinal(tuple[i])
		if !ok {
			return Element{}, false
		}
		buf = binary.BigEndian.AppendUint64(buf, o)
	}
	return c.hash(buf), true
}

// appendText appends the canonical encoding of a value of an unbounded column,
// which no other value's encoding begins with.
func appendText(buf []byte, v Value) []byte {
	if v.IsNull() {
		return append(buf, 0)
	}
	buf = append(buf, 1)
	buf = binary.AppendUvarint(buf, uint64(len(v.s)))
	return append(buf, v.s...)
}

func (c Coder) hash(encoding []byte) Element {
	hi, lo := siphash.Hash128(c.k0, c.k1, encoding)
	return Element{hi, lo}
}

// Elements yields the support of q, a query of finite sparsity over the
// coder's universe: each element once, with its weight.
func (c Coder) Elements(q Query) iter.Seq2[Element, int64] {
	if c.u.Coded() {
		return func(yield func(Element, int64) bool) {
			for r, w := range q.Runs() {
				for i := uint64(0); i < r.Len; i++ {
					if !yield(Element{Lo: r.Start + i}, w) {
						return
					}
				}
			}
		}
	}
	return func(yield func(Element, int64) bool) {
		f := fingerprinter{c: c, yield: yield}
		f.walk(0, q.root, make([]byte, 0, 256))
	}
}

// fingerprinter enumerates a support along the diagram, extending the
// encoding of the record by one column a step. What stands behind a prefix is
// overwritten by the records that follow.
type fingerprinter struct {
	c     Coder
	yield func(Element, int64) bool
}

func (f *fingerprinter) walk(level int, n *node, prefix []byte) bool {
	if n.isZero() {
		return true
	}
	if level == len(f.c.u.columns) {
		return f.yield(f.c.hash(prefix), n.weight)
	}
	d := f.c.u.columns[level].Domain
	if n.level != level { // free: an infinite one cannot occur, m is finite
		return f.each(level, Range{0, d.Size() - 1}, n, prefix)
	}
	for _, cs := range n.cases {
		if !f.walk(level+1, cs.to, appendText(prefix, cs.value)) {
			return false
		}
	}
	for _, s := range n.spans {
		if !f.each(level, s.Range, s.to, prefix) {
			return false
		}
	}
	return true
}

func (f *fingerprinter) each(level int, r Range, to *node, prefix []byte) bool {
	for o := r.First; ; o++ {
		if !f.walk(level+1, to, binary.BigEndian.AppendUint64(prefix, o)) {
			return false
		}
		if o == r.Last {
			return true
		}
	}
}

// Runs yields the support of q, a query over a coded universe, as maximal runs
// of consecutive codes of one weight, in ascending order.
func (q Query) Runs() iter.Seq2[Run, int64] {
	return func(yield func(Run, int64) bool) {
		e := enumerator{u: q.u, yield: yield}
		if e.walk(0, q.root, 0) && e.run.Len > 0 {
			yield(e.run, e.weight)
		}
	}
}

// enumerator emits runs, holding back the last one while it may still grow.
type enumerator struct {
	u      *Universe
	yield  func(Run, int64) bool
	run    Run
	weight int64
}

// walk emits the records that begin with the given code over the columns
// before level, and that n admits.
func (e *enumerator) walk(level int, n *node, base uint64) bool {
	if n.isZero() {
		return true
	}
	if n.isLeaf() {
		return e.emit(Run{base, e.below(level)}, n.weight)
	}
	stride := e.u.stride[n.level]
	width := e.below(n.level) // codes below one setting of the free columns
	for free := e.below(level) / width; free > 0; free-- {
		for _, s := range n.spans {
			if !e.span(n.level, s, base, stride) {
				return false
			}
		}
		base += width
	}
	return true
}

func (e *enumerator) span(level int, s span, base, stride uint64) bool {
	if s.to.isLeaf() {
		return e.emit(Run{base + s.First*stride, (s.Last - s.First + 1) * stride}, s.to.weight)
	}
	for o := s.First; o <= s.Last; o++ {
		if !e.walk(level+1, s.to, base+o*stride) {
			return false
		}
	}
	return true
}

// below returns the number of records over the columns from level on.
func (e *enumerator) below(level int) uint64 {
	if level == len(e.u.columns) {
		return 1
	}
	return e.u.stride[level] * e.u.columns[level].Domain.Size()
}

func (e *enumerator) emit(r Run, weight int64) bool {
	if e.run.Start+e.run.Len == r.Start && e.weight == weight {
		e.run.Len += r.Len
		return true
	}
	if e.run.Len > 0 && !e.yield(e.run, e.weight) {
		return false
	}
	e.run, e.weight = r, weight
	return true
}
