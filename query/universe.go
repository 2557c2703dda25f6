package query

import (
	"math/big"
	"slices"
	"sync"

	"dpsql/sqlerr"
)

// maxCode bounds the size of universes whose elements are named by one-word
// codes: a prime just above them, 2^61 − 1, is the modulus of fast hashing.
const maxCode = 1<<61 - 1

// Column is a declared column.
type Column struct {
	Name   string
	Domain Domain
}

// Universe is the set X of possible records: the product of the domains of
// the declared columns, in declared order. It is infinite when a column is
// unbounded. It is immutable.
type Universe struct {
	columns []Column
	size    *big.Int // nil when infinite
	stride  []uint64 // of a coded universe: what one step of a column adds to the code

	projecting  sync.RWMutex
	projections []projection // that were asked for
}

// projection is the universe of some of the columns.
type projection struct {
	columns []int
	u       *Universe
}

// maxProjections bounds how many a universe keeps: releases and mechanisms are
// over few lists of columns.
const maxProjections = 64

// NewUniverse returns the universe of the columns. Names are compared without
// case, as SQLite does; an empty or repeated name is refused.
func NewUniverse(columns []Column) (*Universe, error) {
	seen := make(map[string]bool)
	for _, c := range columns {
		key := FoldName(c.Name)
		if key == "" {
			return nil, sqlerr.New(sqlerr.Invalid, "a column has an empty name")
		}
		if seen[key] {
			return nil, sqlerr.New(sqlerr.Invalid, "column %s is declared twice", c.Name)
		}
		seen[key] = true
	}
	if len(columns) == 0 {
		return nil, sqlerr.New(sqlerr.Invalid, "no columns are declared")
	}
	return newUniverse(columns), nil
}

func newUniverse(columns []Column) *Universe {
	u := &Universe{columns: columns, size: big.NewInt(1)}
	for _, c := range columns {
		if !c.Domain.Finite() {
			u.size = nil
			return u
		}
		u.size.Mul(u.size, new(big.Int).SetUint64(c.Domain.Size()))
	}
	if u.Coded() {
		u.stride = strides(columns)
	}
	return u
}

// SameName reports whether two names are equal to SQLite: it ignores the case of
// ASCII letters, and of no others.
func SameName(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if a[i] != b[i] && lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

// FoldName maps names that SQLite takes as equal to one text: ASCII letters
// lose their case, byte by byte.
func FoldName(name string) string {
	b := []byte(name)
	for i, c := range b {
		b[i] = lower(c)
	}
	return string(b)
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// Columns returns the columns in declared order. The slice must not be changed.
func (u *Universe) Columns() []Column { return u.columns }

// Index returns the position of the named column, compared without ASCII case.
func (u *Universe) Index(name string) (int, bool) {
	for i := range u.columns {
		if SameName(u.columns[i].Name, name) {
			return i, true
		}
	}
	return 0, false
}

// Size returns |X|, or nil when it is infinite. The result must not be changed.
func (u *Universe) Size() *big.Int { return u.size }

// Coded reports whether |X| < 2^61 − 1, so that elements are named by their
// mixed-radix codes 0 … |X|−1, the last column varying fastest.
func (u *Universe) Coded() bool {
	return u.size != nil && u.size.IsUint64() && u.size.Uint64() < maxCode
}

// Project returns the universe of the given columns, in ascending order of
// their positions in u.
func (u *Universe) Project(columns []int) *Universe {
	u.projecting.RLock()
	known := u.projections
	u.projecting.RUnlock()
	for i := range known {
		if slices.Equal(known[i].columns, columns) {
			return known[i].u
		}
	}
	picked := make([]Column, len(columns))
	for i, c := range columns {
		picked[i] = u.columns[c]
	}
	p := newUniverse(picked)
	u.projecting.Lock()
	defer u.projecting.Unlock()
	if len(u.projections) < maxProjections {
		u.projections = append(u.projections, projection{slices.Clone(columns), p})
	}
	return p
}
