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
	u       *Universe
	k0, k1  uint64
	chained bool
	tables  []*hashTable // of a universe without codes, one a column
}

// NewCoder returns the coder of u. The key matters only where u is not coded:
// there an element is the sum modulo 2^128, over the columns, of the
// SipHash-2-4-128 of the column's number and value. For two records that differ
// in a column the sums agree only if that column's two hashes differ by one
// given number, which has probability 2^-128. Who knows the key can construct
// records that share a name, by the generalised birthday search (Wagner 2002);
// keys are drawn before any query and no answer's privacy depends on them.
func NewCoder(u *Universe, key [16]byte) Coder {
	c := Coder{u: u, k0: binary.LittleEndian.Uint64(key[:8]), k1: binary.LittleEndian.Uint64(key[8:])}
	if !u.Coded() {
		c.tables = newHashTables(u)
	}
	return c
}

// ChainedCoder is NewCoder as it was for the first stored releases: where u is
// not coded an element is the hash of the record's whole encoding.
func ChainedCoder(u *Universe, key [16]byte) Coder {
	c := NewCoder(u, key)
	c.chained = true
	return c
}

// Universe returns the universe whose records the coder names.
func (c Coder) Universe() *Universe { return c.u }

// Code returns the name of a record, which has one value a column; false when
// the record lies outside the declared domains.
func (c Coder) Code(tuple []Value) (Element, bool) {
	switch {
	case c.u.Coded():
		return c.code(tuple)
	case c.chained:
		return c.chain(tuple)
	}
	return c.fingerprint(tuple)
}

func (c Coder) code(tuple []Value) (Element, bool) {
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

func (c Coder) hash(encoding []byte) Element {
	hi, lo := siphash.Hash128(c.k0, c.k1, encoding)
	return Element{hi, lo}
}

// Elements yields the support of q, a query of finite sparsity over the
// coder's universe: each element once, with its weight.
func (c Coder) Elements(q Query) iter.Seq2[Element, int64] {
	return func(yield func(Element, int64) bool) {
		switch {
		case c.u.Coded():
			eachCode(q, yield)
		case c.chained:
			chainer{c: c, yield: yield}.walk(0, q.root, make([]byte, 0, 256))
		default:
			f := fingerprinter{c: c, yield: yield}
			f.walk(0, q.root, Element{})
		}
	}
}

func eachCode(q Query, yield func(Element, int64) bool) {
	for r, w := range q.Runs() {
		for i := uint64(0); i < r.Len; i++ {
			if !yield(Element{Lo: r.Start + i}, w) {
				return
			}
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
