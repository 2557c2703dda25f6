package engine

import (
	"math"
	"math/big"

	"dpsql/query"
)

// supportSize is m, the sparsity of a query over the columns that something
// looks at. The zero value is not known.
type supportSize struct {
	m        *big.Int // nil where it is infinite, or not known
	infinite bool
}

// supportOf returns m over all columns of the query's universe.
func supportOf(q query.Query) supportSize {
	if m, ok := q.SizeWithin(math.MaxUint64); ok {
		return finiteSupport(m)
	}
	m := q.Size()
	return supportSize{m, m == nil}
}

func finiteSupport(m uint64) supportSize { return supportSize{m: new(big.Int).SetUint64(m)} }

func (s supportSize) known() bool { return s.m != nil || s.infinite }

// String returns m in decimal, or "infinite"; "" where it is not known.
func (s supportSize) String() string {
	switch {
	case s.m != nil:
		return s.m.String()
	case s.infinite:
		return "infinite"
	}
	return ""
}

// below orders sizes, the infinite one last.
func (s supportSize) below(t supportSize) bool {
	if s.infinite || t.infinite {
		return !s.infinite
	}
	return s.m.Cmp(t.m) < 0
}

// supportRange is the least and the largest of several sizes.
type supportRange struct{ least, most supportSize }

// add takes in a size, if it is known.
func (r *supportRange) add(s supportSize) {
	if !s.known() {
		return
	}
	if !r.least.known() || s.below(r.least) {
		r.least = s
	}
	if !r.most.known() || r.most.below(s) {
		r.most = s
	}
}

// String writes one number, or the least and the largest; "" where there are none.
func (r supportRange) String() string {
	least, most := r.least.String(), r.most.String()
	if least == most {
		return most
	}
	return least + " to " + most
}
