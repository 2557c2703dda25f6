package query

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"sync"

	"github.com/dchest/siphash"
)

// Element names one record of a universe. Where the universe is coded it is the
// code, with Hi = 0. Elsewhere it combines a keyed fingerprint of 126 bits with
// a code, see NewCoder, or is a code of two words, see NewWideCoder.
type Element struct{ Hi, Lo uint64 }

// Run is a run of consecutive codes of a coded universe.
type Run struct{ Start, Len uint64 }

// Coder names the records of one universe. It is safe for concurrent use.
type Coder struct {
	u      *Universe
	k0, k1 uint64
	wide   bool         // names are codes of two words
	stride []uint64     // the change of the code per ordinal of each column; 0 where it is hashed
	tables []*hashTable // the stored hashes of each column
}

// NewCoder returns the coder of u. The key matters only where u is not coded.
//
// Where u is not coded, its columns are divided into coded and hashed ones.
// Going from the last column to the first, each finite column is coded if codes
// then stay below 2^61 − 1; their codes are those of a coded universe. All
// other columns are hashed. An element is a sum modulo 2^128. Each hashed
// column contributes the SipHash-2-4-128 of its number and value, with two bits
// of the low half cleared. The coded columns contribute their code. So records
// that differ in coded columns only have names at known distances. Two records
// that differ in a hashed column share a name only if two hashes differ by one
// given number in 126 bits, which has probability 2^-126. Whoever knows the key
// can construct records that share a name, by the generalised birthday search
// (Wagner 2002). Keys are drawn before any query, and no answer's privacy
// depends on them.
func NewCoder(u *Universe, key [16]byte) Coder {
	c := newCoder(u, key)
	if !u.Coded() {
		c.stride = strides(u.columns)
	}
	return c
}

// NewWideCoder returns a coder of u, which must be WideCoded. Where u is coded, the names
// are those of NewCoder. Elsewhere they are the mixed-radix codes in two words; such a coder
// names records, but enumerates no query.
func NewWideCoder(u *Universe) Coder {
	c := newCoder(u, [16]byte{})
	c.wide = !u.Coded()
	return c
}

// Digits writes the ordinals of the record with the given mixed-radix code, one a column, and
// reports whether u, which is WideCoded, has such a code.
func (u *Universe) Digits(x Element, digits []int) bool {
	for i := len(u.columns) - 1; i >= 0; i-- {
		size := u.columns[i].Domain.Size()
		high, rest := x.Hi/size, x.Hi%size
		low, digit := bits.Div64(rest, x.Lo, size)
		x, digits[i] = Element{high, low}, int(digit)
	}
	return x == Element{}
}

func newCoder(u *Universe, key [16]byte) Coder {
	return Coder{u: u, k0: binary.LittleEndian.Uint64(key[:8]), k1: binary.LittleEndian.Uint64(key[8:]),
		stride: u.stride, tables: newHashTables(u)}
}

// strides returns the change of the code per ordinal of each column, and 0 for
// the columns that are not coded. Going from the last column to the first, each
// finite column is coded if codes then stay below 2^61 − 1. In a coded universe
// all are.
func strides(columns []Column) []uint64 {
	strides := make([]uint64, len(columns))
	for i, step := len(columns)-1, uint64(1); i >= 0; i-- {
		d := columns[i].Domain
		if !d.Finite() || d.Size() > (maxCode-1)/step {
			continue
		}
		strides[i] = step
		step *= d.Size()
	}
	return strides
}

// Universe returns the universe whose records the coder names.
func (c Coder) Universe() *Universe { return c.u }

// Code returns the name of a record, which has one value a column. It returns
// false when the record lies outside the declared domains.
func (c Coder) Code(tuple []Value) (Element, bool) {
	if c.wide {
		return c.wideCode(tuple)
	}
	var sum Element
	var code uint64
	for i, col := range c.u.columns {
		if !col.Domain.Finite() {
			if !col.Domain.Contains(tuple[i]) {
				return Element{}, false
			}
			sum = sum.plus(c.hashText(i, tuple[i]))
			continue
		}
		o, ok := col.Domain.Ordinal(tuple[i])
		if !ok {
			return Element{}, false
		}
		if s := c.stride[i]; s > 0 {
			code += o * s
		} else {
			sum = sum.plus(c.hashOrdinal(i, o))
		}
	}
	return c.name(sum, code), true
}

// wideCode returns the mixed-radix code of a record in two words.
func (c Coder) wideCode(tuple []Value) (x Element, ok bool) {
	for i, col := range c.u.columns {
		o, ok := col.Domain.Ordinal(tuple[i])
		if !ok {
			return Element{}, false
		}
		size := col.Domain.Size()
		high, low := bits.Mul64(x.Lo, size)
		x = Element{high + x.Hi*size, low}.plus(Element{Lo: o})
	}
	return x, true
}

// hashBits are the bits of the low half of a name that belong to the hashes.
const hashBits = 1<<62 - 1

// name combines a sum of hashes and a code into an element.
func (c Coder) name(sum Element, code uint64) Element { return Element{sum.Hi, sum.Lo&hashBits + code} }

// TextsOf encodes what a record has in the columns without a domain. A record has one value a
// column. Records of a cell have one encoding, since a cell is one record.
func (u *Universe) TextsOf(record []Value) string {
	var b []byte
	for i, c := range u.columns {
		switch v := record[i]; {
		case c.Domain.Finite():
		case v.IsNull():
			b = append(b, 0)
		default:
			b = append(binary.AppendUvarint(b, uint64(len(v.s))+1), v.s...)
		}
	}
	return string(b)
}

// CutTexts reads an encoding by TextsOf from the beginning of b. It returns the values of the
// columns without a domain, in their order, and what is left of b. It is false for what TextsOf
// does not write.
func (u *Universe) CutTexts(b []byte) (values []Value, rest []byte, ok bool) {
	for _, c := range u.columns {
		if c.Domain.Finite() {
			continue
		}
		n, size := binary.Uvarint(b)
		switch {
		case size <= 0 || size > 1 && b[size-1] == 0 || n > uint64(len(b)-size)+1:
			return nil, nil, false
		case n == 0:
			values, b = append(values, Null()), b[size:]
		default:
			end := size + int(n-1)
			values, b = append(values, Text(string(b[size:end]))), b[end:]
		}
	}
	return values, b, true
}

func (c Coder) hash(encoding []byte) Element {
	hi, lo := siphash.Hash128(c.k0, c.k1, encoding)
	return Element{hi, lo}
}

// Elements yields each element of the support of q once, with its weight. q is
// a query of finite sparsity over the coder's universe. The elements of a coded
// universe come in ascending order.
func (c Coder) Elements(q Query) iter.Seq2[Element, int64] {
	return func(yield func(Element, int64) bool) {
		if c.u.Coded() {
			eachCode(q, yield)
			return
		}
		for b, w := range c.Boxes(q) {
			if !b.each(b.Start, func(x Element) bool { return yield(x, w) }) {
				return
			}
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

// Runs yields the support of q, a query over a coded universe, in ascending
// order. A run is a maximal range of consecutive codes of one weight.
func (q Query) Runs() iter.Seq2[Run, int64] {
	return func(yield func(Run, int64) bool) {
		e := enumerator{u: q.u, yield: yield}
		if e.walk(0, q.root, 0) && e.run.Len > 0 {
			yield(e.run, e.weight)
		}
	}
}

// enumerator emits runs. It holds back the last run while that may still grow.
type enumerator struct {
	u      *Universe
	yield  func(Run, int64) bool
	run    Run
	weight int64
}

// walk emits the records that n admits and whose columns before level have the
// given code.
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

// WeightOf returns the weight of the record with the given code, in a query
// over a coded universe. The code must be below |X|.
func (q Query) WeightOf(code uint64) int64 {
	n := q.root
	for !n.isLeaf() {
		o := code / q.u.stride[n.level] % q.u.columns[n.level].Domain.Size()
		n = n.childAt(o)
	}
	return n.weight
}

// plus returns e + f modulo 2^128.
func (e Element) plus(f Element) Element {
	lo, carry := bits.Add64(e.Lo, f.Lo, 0)
	hi, _ := bits.Add64(e.Hi, f.Hi, carry)
	return Element{hi, lo}
}

// hashTable holds the hashes of the values of a finite column of at most
// maxHashes values. It is filled on first use.
type hashTable struct {
	once   sync.Once
	hashes []Element // by ordinal
}

// maxHashes bounds the size of a hashTable.
const maxHashes = 1 << 16

// newHashTables returns the tables of a universe, with nil for columns without
// one.
func newHashTables(u *Universe) []*hashTable {
	if u.Coded() {
		return nil
	}
	tables := make([]*hashTable, len(u.columns))
	for i, c := range u.columns {
		if c.Domain.Finite() && c.Domain.Size() <= maxHashes {
			tables[i] = new(hashTable)
		}
	}
	return tables
}

func (c Coder) hashOrdinal(column int, o uint64) Element {
	if kept := c.table(column); kept != nil {
		return kept[o]
	}
	return c.hashAnew(column, o)
}

// table returns the hashes of a column by ordinal, and nil for a column without
// table.
func (c Coder) table(column int) []Element {
	t := c.tables[column]
	if t == nil {
		return nil
	}
	t.once.Do(func() {
		hashes := make([]Element, c.u.columns[column].Domain.Size())
		for o := range hashes {
			hashes[o] = c.hashAnew(column, uint64(o))
		}
		t.hashes = hashes
	})
	return t.hashes
}

func (c Coder) hashAnew(column int, o uint64) Element {
	var buf [16]byte
	binary.BigEndian.PutUint64(buf[:8], uint64(column))
	binary.BigEndian.PutUint64(buf[8:], o)
	return c.hash(buf[:])
}

// hashText hashes a value of an unbounded column.
func (c Coder) hashText(column int, v Value) Element {
	var stack [128]byte
	return c.hash(appendText(binary.BigEndian.AppendUint64(stack[:0], uint64(column)), v))
}

// appendText appends the canonical encoding of a value of an unbounded column.
// The encodings are prefix-free.
func appendText(buf []byte, v Value) []byte {
	if v.IsNull() {
		return append(buf, 0)
	}
	buf = append(buf, 1)
	buf = binary.AppendUvarint(buf, uint64(len(v.s)))
	return append(buf, v.s...)
}
