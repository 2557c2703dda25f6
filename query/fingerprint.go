package query

import (
	"encoding/binary"
	"math/bits"
	"sync"
)

// plus returns e + f modulo 2^128.
func (e Element) plus(f Element) Element {
	lo, carry := bits.Add64(e.Lo, f.Lo, 0)
	hi, _ := bits.Add64(e.Hi, f.Hi, carry)
	return Element{hi, lo}
}

// hashTable holds the hashes of the values of a finite column that has not too
// many. It is filled when it is first needed.
type hashTable struct {
	once   sync.Once
	hashes []Element // by ordinal
}

// maxHashes is the largest number of values of a column whose hashes are kept.
const maxHashes = 1 << 16

// newHashTables returns the tables of a universe, nil for columns without one.
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
