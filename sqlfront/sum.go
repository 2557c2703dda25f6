package sqlfront

import (
	"cmp"
	"math"
	"slices"

	"dpsql/internal/sqlvalue"
)

// term is a summand, with its sign.
type term struct {
	x     *expr
	minus bool
}

// maxSum bounds the sum of the magnitudes of reordered terms, so that no partial sum
// overflows.
const maxSum = 1 << 62

// sum returns x + y, or x − y. It adds integers whose sum cannot overflow in the order
// of their columns, not of the text. It is then enough to remember one number for the
// columns so far. It may be off by what both may.
func sum(x, y *expr, minus bool) *expr {
	s := added(x, y, minus)
	s.off = x.off + y.off
	return s
}

func added(x, y *expr, minus bool) *expr {
	plus := term{minus: minus}.operation()
	s, other := x.asSum(), y.asSum()
	if s == nil || other == nil || s.size+other.size >= maxSum {
		return apply(plus, x, y)
	}
	full := plus([]bounds{x.full, y.full})
	if full.known {
		return constantOf(full)
	}
	return &expr{column: -1, terms: slices.Concat(s.terms, negate(other.terms, minus)),
		size: s.size + other.size, last: max(x.last, y.last), full: full}
}

// times returns x · y. Where values may be off, the product is off by what the bounds of both allow.
func times(x, y *expr) *expr {
	xy := apply(arithmetical(sqlvalue.Times), x, y)
	if x.off != 0 || y.off != 0 {
		xy.off = x.full.reach()*y.off + y.full.reach()*x.off + x.off*y.off
	}
	return xy
}

// asSum returns the expression as a sum, or nil if it can be large or is not always
// an integer.
func (x *expr) asSum() *expr {
	f := x.full
	switch {
	case x.terms != nil && x.modulus == 0:
		return x
	case !f.integral:
		return nil
	}
	s := &expr{column: -1, terms: []term{{x: x}}, last: x.last, full: f}
	if !f.isNull() {
		s.size = max(sqlvalue.Magnitude(f.lo.integer()), sqlvalue.Magnitude(f.hi.integer()))
	}
	if s.size >= maxSum {
		return nil
	}
	return s
}

func negate(terms []term, minus bool) []term {
	if !minus {
		return terms
	}
	out := slices.Clone(terms)
	for i := range out {
		out[i].minus = !out[i].minus
	}
	return out
}

func (t term) operation() operation {
	if t.minus {
		return arithmetical(sqlvalue.Minus)
	}
	return arithmetical(sqlvalue.Plus)
}

// modulo returns x % y. For a sum that is never negative it is enough to remember
// the remainder of the terms added so far.
func modulo(x, y *expr) *expr {
	s, m := x.asSum(), y.full
	if s == nil || x.full.known || x.full.lo.integer() < 0 ||
		!y.isConstant() || !m.integral || m.isNull() || m.lo.integer() == 0 || m.lo.integer() == math.MinInt64 {
		return apply(arithmetical(sqlvalue.Modulo), x, y)
	}
	n := max(m.lo.integer(), -m.lo.integer())
	full := remainders(x.full.lo.integer(), x.full.hi.integer(), n, n, x.full.null)
	return &expr{column: -1, terms: s.terms, modulus: n, last: x.last, full: full}
}

// chain returns the sum as additions of one term after the other.
func (x *expr) chain() *expr {
	terms := slices.Clone(x.terms)
	slices.SortStableFunc(terms, func(s, t term) int { return cmp.Compare(s.x.last, t.x.last) })
	total := numberExpr(0)
	for _, t := range terms {
		total = apply(t.operation(), total, t.x)
		if x.modulus > 0 {
			total = apply(residue(x.modulus), total)
		}
	}
	return total
}

// residue is the remainder in 0 … m−1.
func residue(m int64) operation {
	return func(args []bounds) bounds {
		x := args[0]
		switch {
		case x.isNull() || x.undefined():
			return x
		case x.known:
			n := x.lo.integer() % m
			if n < 0 {
				n += m
			}
			return exactly(integerOf(n))
		case x.lo.integer() >= 0:
			return remainders(x.lo.integer(), x.hi.integer(), m, m, x.null)
		}
		return integersBetween(0, m-1, x.null)
	}
}
