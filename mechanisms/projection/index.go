package projection

import (
	"math/bits"

	"dpsql/query"
)

// index tells of nearly all cells that are not published that they are not: it
// has a bit for each name, one of sixty-four or more for each cell.
type index []uint64 // bit Lo mod its length is set for each name

func (h heavyCells) index() index {
	if len(h) == 0 {
		return nil
	}
	ix := make(index, 1<<bits.Len(uint(len(h))))
	for _, c := range h {
		word, bit := ix.bit(c.x)
		ix[word] |= bit
	}
	return ix
}

func (ix index) bit(x query.Element) (word int, bit uint64) {
	return int(x.Lo >> 6 & uint64(len(ix)-1)), 1 << (x.Lo & 63)
}

// may reports whether a cell may be published.
func (ix index) may(x query.Element) bool {
	if len(ix) == 0 {
		return false
	}
	word, bit := ix.bit(x)
	return ix[word]&bit != 0
}
