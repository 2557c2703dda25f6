package projection

import (
	"math/bits"

	"dpsql/query"
)

// index finds published cells by name. Nearly all cells that are looked for are
// not published, which a bit for each name tells, sixteen bits a cell apart.
type index struct {
	cells heavyCells
	at    map[query.Element]int
	some  []uint64 // bit Lo mod its length is set for each name
}

func (h heavyCells) index() index {
	ix := index{cells: h}
	if len(h) == 0 {
		return ix
	}
	ix.at = make(map[query.Element]int, len(h))
	ix.some = make([]uint64, 1<<bits.Len(uint(len(h)/4)))
	for i, c := range h {
		ix.at[c.x] = i
		word, bit := ix.bit(c.x)
		ix.some[word] |= bit
	}
	return ix
}

func (ix *index) bit(x query.Element) (word int, bit uint64) {
	return int(x.Lo >> 6 & uint64(len(ix.some)-1)), 1 << (x.Lo & 63)
}

// find returns the cell of the name, if it is published.
func (ix *index) find(x query.Element) (published, bool) {
	if len(ix.some) == 0 {
		return published{}, false
	}
	if word, bit := ix.bit(x); ix.some[word]&bit == 0 {
		return published{}, false
	}
	i, ok := ix.at[x]
	if !ok {
		return published{}, false
	}
	return ix.cells[i], true
}
