package source

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dpsql/query"
)

// Cells implements Reader. The rows stream by once.
func (s sqlite) Cells(ctx context.Context, p Permit, t Table, columns []int, coder query.Coder, most int) (*Histogram, error) {
	if err := Admit(p, t); err != nil {
		return nil, err
	}
	projected, err := t.Project(columns)
	if err == nil {
		err = projected.Over(coder.Universe())
	}
	if err != nil {
		return nil, err
	}
	cells := NewTally(coder, most)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	err = stream(reading, s.q, t, columns, func(tuple []query.Value) {
		if e, ok := coder.Code(tuple); ok && !cells.Add(e, 1) {
			stop()
		}
	})
	if err != nil && !cells.over {
		return nil, err
	}
	return cells.Histogram()
}

// ErrTooManyCells is returned when more cells are occupied than the caller allows.
// It depends on private rows and must not reach a user.
var ErrTooManyCells = errors.New("too many cells are occupied")

// Tally counts rows by the names of their cells: codes in a table of its own,
// open addressed, fingerprints in a map. It prints as its type only.
type Tally struct {
	coder  query.Coder
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

// NewTally returns an empty tally of cells named by the coder, at most most of
// them.
func NewTally(coder query.Coder, most int) *Tally {
	t := &Tally{coder: coder, most: most, coded: coder.Universe().Coded()}
	if !t.coded {
		t.prints = make(map[query.Element]int64)
		return t
	}
	t.make(firstSlots)
	return t
}

// Format prints the type and none of the counts.
func (t *Tally) Format(s fmt.State, _ rune) { fmt.Fprint(s, "tally") }

// Histogram returns the counts. Nothing may be added afterwards. It returns
// ErrTooManyCells if an Add returned false.
func (t *Tally) Histogram() (*Histogram, error) {
	if t.over {
		return nil, ErrTooManyCells
	}
	h := &Histogram{coder: t.coder, prints: t.prints}
	if !t.coded {
		return h, nil
	}
	codes, counts := t.sorted()
	h.codes, h.sums = codes, make([]int64, len(codes)+1)
	for i, n := range counts {
		h.sums[i+1] = h.sums[i] + n
	}
	h.buildIndex()
	return h, nil
}

func (t *Tally) make(bits uint) {
	t.codes, t.counts, t.shift = make([]uint64, 1<<bits), make([]int64, 1<<bits), 64-bits
}

func (t *Tally) len() int {
	if t.coded {
		return t.used
	}
	return len(t.prints)
}

// Add counts n rows of a cell, or none if n is not positive. It returns false once
// more than most cells are occupied.
func (t *Tally) Add(e query.Element, n int64) bool {
	switch {
	case t.over || n <= 0:
		return !t.over
	case t.coded:
		t.addCode(e.Lo, n)
	default:
		t.prints[e] += n
	}
	t.over = t.len() > t.most
	return !t.over
}

func (t *Tally) addCode(code uint64, n int64) {
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
func (t *Tally) slot(code uint64) uint64 {
	i := (code * 0x9E3779B97F4A7C15) >> t.shift
	for t.counts[i] != 0 && t.codes[i] != code {
		if i++; i == uint64(len(t.codes)) {
			i = 0
		}
	}
	return i
}

func (t *Tally) grow() {
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
func (t *Tally) sorted() (codes []uint64, counts []int64) {
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
