package query

import "encoding/binary"

// chain returns the hash of a record's whole encoding.
func (c Coder) chain(tuple []Value) (Element, bool) {
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

// chainer enumerates a support along the diagram, extending the encoding of the
// record by one column a step. What stands behind a prefix is overwritten by the
// records that follow.
type chainer struct {
	c     Coder
	yield func(Element, int64) bool
}

func (f chainer) walk(level int, n *node, prefix []byte) bool {
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

func (f chainer) each(level int, r Range, to *node, prefix []byte) bool {
	for o := r.First; ; o++ {
		if !f.walk(level+1, to, binary.BigEndian.AppendUint64(prefix, o)) {
			return false
		}
		if o == r.Last {
			return true
		}
	}
}
