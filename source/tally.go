package source

import (
	"errors"
	"slices"

	"dpsql/query"
)

// ErrTooManyCells says that more cells are occupied than the caller wants in
// memory. It depends on private rows, and must not reach a user.
var ErrTooManyCells = errors.New("too many cells are occupied")

// tally counts rows by the names of their cells: codes in a table of its own,
// open addressed, fingerprints in a map.
type tally struct {
	most   int // cells
	over   bool
	coded  bool
	used   int
	codes  []uint64
	counts []int64 // 0 where the slot is free
	shift  uint    // a hash's high bits are the slot
	prints map[query.Element]int64
}

const firstSlots = 10 // bits

func newTally(coded bool, most int) *tally {
	if !coded {
		return &tally{most: most, prints: make(map[query.Element]int64)}
	}
	t := &tally{most: most, coded: true}
	t.make(firstSlots)
	return t
}

func (t *tally) make(bits uint) {
	t.codes, t.counts, t.shift = make([]uint64, 1<<bits), make([]int64, 1<<bits), 64-bits
}

func (t *tally) len() int {
	if t.coded {
		return t.used
	}
	return len(t.prints)
}

// add counts a row, and is false once there are too many cells.
func (t *tally) add(e query.Element) bool {
	switch {
	case t.over:
		return false
	case t.coded:
		t.addCode(e.Lo, 1)
	default:
		t.prints[e]++
	}
	t.over = t.len() > t.most
	return !t.over
}

func (t *tally) addCode(code uint64, n int64) {
	if 4*t.used >= 3*len(t.codes) {
		t.grow()
	}
	i := t.slot(code)
	if t.counts[i] == 0 {
		t.codes[i] = code
		t.used++
	}
	t.counts[i] += n
}

// slot returns where a code is, or would be. The multiplier is 2^64 over the
// golden ratio, which spreads neighbouring codes (Knuth, volume 3, section 6.4).
func (t *tally) slot(code uint64) uint64 {
	i := (code * 0x9E3779B97F4A7C15) >> t.shift
	for t.counts[i] != 0 && t.codes[i] != code {
		if i++; i == uint64(len(t.codes)) {
			i = 0
		}
	}
	return i
}

func (t *tally) grow() {
	codes, counts := t.codes, t.counts
	t.make(64 - t.shift + 1)
	t.used = 0
	for i, n := range counts {
		if n != 0 {
			t.addCode(codes[i], n)
		}
	}
}

// sorted returns the codes in ascending order, and n(c) for each.
func (t *tally) sorted() (codes []uint64, counts []int64) {
	for i, n := range t.counts {
		if n != 0 {
			codes = append(codes, t.codes[i])
		}
	}
	slices.Sort(codes)
	counts = make([]int64, len(codes))
	for i, c := range codes {
		counts[i] = t.counts[t.slot(c)]
	}
	return codes, counts
}
