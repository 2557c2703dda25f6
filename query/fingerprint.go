package query

import (
	"encoding/binary"
	"math/bits"
	"sync"
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

// hashTable holds the hashes of the values of a finite column that has not too
// many, and the sums of those of this and all later columns where these are not
// too many either. Both are filled when they are first needed.
type hashTable struct {
	once   sync.Once
	hashes []Element // by ordinal

	sumOnce sync.Once
	sums    []Element // of all ways to set the columns from this one on
}

// maxHashes is the largest number of values of a column whose hashes are kept.
const maxHashes = 1 << 16

// newHashTables returns the tables of a universe, nil for columns without one.
func newHashTables(u *Universe) []*hashTable {
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

// table returns the hashes of a column by ordinal, nil where it has too many.
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

// tail returns the sums of the columns from the given one on, nil where these
// can be set in too many ways.
func (c Coder) tail(column int) []Element {
	t := c.tables[column]
	if t == nil {
		return nil
	}
	t.sumOnce.Do(func() {
		rest := []Element{{}}
		if column+1 < len(c.tables) {
			rest = c.tail(column + 1)
		}
		hashes := c.table(column)
		if rest == nil || len(rest)*len(hashes) > maxHashes {
			return
		}
		t.sums = make([]Element, 0, len(rest)*len(hashes))
		for _, h := range hashes {
			for _, r := range rest {
				t.sums = append(t.sums, h.plus(r))
			}
		}
	})
	return t.sums
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

// fingerprinter enumerates a support along the diagram, adding the hash of one
// column's value a step.
type fingerprinter struct {
	c     Coder
	yield func(Element, int64) bool
	texts map[*node][]Element // the hashes of the cases of a node: it can be met again
}

func (f *fingerprinter) walk(level int, n *node, sum Element) bool {
	switch {
	case n.isZero():
		return true
	case level == len(f.c.u.columns):
		return f.yield(sum, n.weight)
	case n.isLeaf() && f.c.tail(level) != nil:
		for _, t := range f.c.tail(level) {
			if !f.yield(sum.plus(t), n.weight) {
				return false
			}
		}
		return true
	case n.level != level: // free: an infinite one cannot occur, m is finite
		return f.span(level, span{Range{0, f.c.u.columns[level].Domain.Size() - 1}, n}, sum)
	}
	for _, s := range n.spans {
		if !f.span(level, s, sum) {
			return false
		}
	}
	return len(n.cases) == 0 || f.cases(level, n, sum)
}

// span walks on from each ordinal of a span.
func (f *fingerprinter) span(level int, s span, sum Element) bool {
	kept := f.c.table(level)
	for o := s.First; ; o++ {
		var h Element
		if kept != nil {
			h = kept[o]
		} else {
			h = f.c.hashAnew(level, o)
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
	kept, ok := f.texts[n]
	if !ok {
		kept = make([]Element, len(n.cases))
		for i, cs := range n.cases {
			kept[i] = f.c.hashText(level, cs.value)
		}
		if f.texts == nil {
			f.texts = make(map[*node][]Element)
		}
		f.texts[n] = kept
	}
	for i, cs := range n.cases {
		if !f.walk(level+1, cs.to, sum.plus(kept[i])) {
			return false
		}
	}
	return true
}
