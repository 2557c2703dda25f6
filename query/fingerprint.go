package query

import (
	"encoding/binary"
	"math/bits"
)

// fingerprint returns the sum of the hashes of a record's values.
func (c Coder) fingerprint(tuple []Value) (sum Element, ok bool) {
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
		sum = sum.plus(c.hashOrdinal(i, o))
	}
	return sum, true
}

// plus returns e + f modulo 2^128.
func (e Element) plus(f Element) Element {
	lo, carry := bits.Add64(e.Lo, f.Lo, 0)
	hi, _ := bits.Add64(e.Hi, f.Hi, carry)
	return Element{hi, lo}
}

func (c Coder) hashOrdinal(column int, o uint64) Element {
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

// fingerprinter enumerates a support along the diagram, adding the hash of one
// column's value a step. The records below a node that is met again take the
// same hashes at its level, so they are computed once.
type fingerprinter struct {
	c     Coder
	yield func(Element, int64) bool
	known map[*node][]Element // of the values that lead on from an inner node
	free  [][]Element         // by level: of all values of a column that a node skips
}

// maxHashes is the largest number of values whose hashes are kept for a node.
const maxHashes = 1 << 12

func (f *fingerprinter) walk(level int, n *node, sum Element) bool {
	switch {
	case n.isZero():
		return true
	case level == len(f.c.u.columns):
		return f.yield(sum, n.weight)
	case n.level != level:
		return f.skipped(level, n, sum)
	case len(n.cases) > 0:
		return f.cases(level, n, sum)
	}
	kept, ok := f.known[n]
	if !ok {
		kept = f.hashes(level, n.spans)
		f.known[n] = kept
	}
	for _, s := range n.spans {
		if !f.span(level, s, kept, sum) {
			return false
		}
		if kept != nil {
			kept = kept[s.Last-s.First+1:]
		}
	}
	return true
}

// skipped adds a column that the diagram does not branch on: a finite one, since
// m is finite.
func (f *fingerprinter) skipped(level int, n *node, sum Element) bool {
	all := span{Range{0, f.c.u.columns[level].Domain.Size() - 1}, n}
	if f.free == nil {
		f.free = make([][]Element, len(f.c.u.columns))
	}
	if f.free[level] == nil {
		f.free[level] = f.hashes(level, []span{all})
	}
	return f.span(level, all, f.free[level], sum)
}

// hashes returns those of the ordinals in spans, in order; nil where these are
// too many to keep.
func (f *fingerprinter) hashes(level int, spans []span) []Element {
	total := uint64(0)
	for _, s := range spans {
		if total += s.Last - s.First + 1; total > maxHashes || s.Last-s.First >= maxHashes {
			return nil
		}
	}
	kept := make([]Element, 0, total)
	for _, s := range spans {
		for o := s.First; o <= s.Last; o++ {
			kept = append(kept, f.c.hashOrdinal(level, o))
		}
	}
	return kept
}

// span walks on from each ordinal of a span, whose hashes come first in kept,
// if they are kept.
func (f *fingerprinter) span(level int, s span, kept []Element, sum Element) bool {
	for o := s.First; ; o++ {
		var h Element
		if kept != nil {
			h = kept[o-s.First]
		} else {
			h = f.c.hashOrdinal(level, o)
		}
		if !f.walk(level+1, s.to, sum.plus(h)) {
			return false
		}
		if o == s.Last {
			return true
		}
	}
}

func (f *fingerprinter) cases(level int, n *node, sum Element) bool {
	kept, ok := f.known[n]
	if !ok {
		kept = make([]Element, len(n.cases))
		for i, cs := range n.cases {
			kept[i] = f.c.hashText(level, cs.value)
		}
		f.known[n] = kept
	}
	for i, cs := range n.cases {
		if !f.walk(level+1, cs.to, sum.plus(kept[i])) {
			return false
		}
	}
	return true
}
