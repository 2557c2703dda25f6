package post

import (
	"math"

	"dpsql/sqlvalue"
)

// bounds encloses the true value of an expression. Where it has no rule it
// knows nothing, and the margin is NULL.
func (b box) bounds(e Expr) bounds {
	switch e := e.(type) {
	case Constant:
		return exactly(e.value(b.row))
	case Key:
		return exactly(e.value(b.row))
	case Sum:
		return b.of(&ratio{over: inUnits(e.Terms, e.Unit)})
	case Mean:
		return b.of(&ratio{inUnits(e.Terms, e.Unit), terms([]Term{{e.Count, 1}})})
	case Variance:
		return b.variance(e)
	case Negative:
		return b.combine(sqlvalue.Minus, Arithmetic{Left: Constant{int64(0)}, Right: e.Of})
	case Arithmetic:
		return b.combine(e.Op, e)
	case Call:
		return b.call(e)
	}
	return bounds{}
}

func exactly(v sqlvalue.Value) bounds {
	if !v.IsNumber() {
		return bounds{}
	}
	x := v.Float()
	return checked(x, x, &ratio{over: constant(x)})
}

func (b box) combine(op sqlvalue.Operator, e Arithmetic) bounds {
	x, y := b.bounds(e.Left), b.bounds(e.Right)
	if !x.known || !y.known {
		return bounds{}
	}
	switch op {
	case sqlvalue.Plus:
		return b.plus(x, y, 1)
	case sqlvalue.Minus:
		return b.plus(x, y, -1)
	case sqlvalue.Times:
		return b.times(x, y)
	case sqlvalue.Over:
		q := b.over(x, y)
		if e.Type() == Integer && q.known { // SQLite cuts the quotient
			return between(math.Trunc(q.lo), math.Trunc(q.hi))
		}
		return q
	}
	return modular(x, y)
}

// plus encloses x + k·y for k = ±1.
func (b box) plus(x, y bounds, k float64) bounds {
	if p, q := x.ratio, y.ratio; p != nil && q != nil {
		c, constantY := y.isConstant()
		d, constantX := x.isConstant()
		switch {
		case p.under == q.under:
			return b.of(&ratio{p.over.plus(q.over, k), p.under})
		case constantY && p.under != nil:
			return b.of(&ratio{p.over.plus(p.under, k*c), p.under})
		case constantX && q.under != nil:
			return b.of(&ratio{q.under.times(d).plus(q.over, k), q.under})
		}
	}
	if k < 0 {
		return between(x.lo-y.hi, x.hi-y.lo)
	}
	return between(x.lo+y.lo, x.hi+y.hi)
}

func (b box) times(x, y bounds) bounds {
	if c, ok := x.isConstant(); ok {
		x, y = y, bounds{c, c, true, nil}
	}
	if c, ok := y.isConstant(); ok && x.ratio != nil {
		return b.of(&ratio{x.ratio.over.times(c), x.ratio.under})
	}
	return span(x.lo*y.lo, x.lo*y.hi, x.hi*y.lo, x.hi*y.hi)
}

func (b box) over(x, y bounds) bounds {
	switch {
	case y.lo <= 0 && y.hi >= 0:
		return bounds{}
	case x.ratio == nil || y.ratio == nil || y.ratio.under != nil:
	case x.ratio.under == nil:
		return b.of(&ratio{x.ratio.over, y.ratio.over})
	case y.lo == y.hi:
		return b.of(&ratio{x.ratio.over, x.ratio.under.times(y.lo)})
	}
	return span(x.lo/y.lo, x.lo/y.hi, x.hi/y.lo, x.hi/y.hi)
}

// span encloses a value that is extreme in one of four corners.
func span(corners ...float64) bounds {
	lo, hi := corners[0], corners[0]
	for _, x := range corners {
		if math.IsNaN(x) {
			return bounds{}
		}
		lo, hi = min(lo, x), max(hi, x)
	}
	return between(lo, hi)
}

// modular encloses x % y: smaller than y, with the sign of x.
func modular(x, y bounds) bounds {
	most := math.Floor(max(math.Abs(y.lo), math.Abs(y.hi))) - 1
	if y.lo < 1 && y.hi > -1 || most < 0 {
		return bounds{}
	}
	lo, hi := -most, most
	if x.lo > -1 {
		lo = 0
	}
	if x.hi < 1 {
		hi = 0
	}
	return between(lo, hi)
}

// call encloses the functions that are monotone or nearly so.
func (b box) call(c Call) bounds {
	if c.Name == Coalesce {
		return bounds{} // which argument is the true value is not known
	}
	x := b.bounds(c.Args[0])
	if !x.known {
		return bounds{}
	}
	if c.Name == Abs {
		switch {
		case x.lo >= 0:
			return x
		case x.hi <= 0:
			return between(-x.hi, -x.lo)
		}
		return between(0, max(-x.lo, x.hi))
	}
	places := int64(0)
	if len(c.Args) > 1 {
		n, ok := c.Args[1].(Constant)
		if !ok {
			return bounds{}
		}
		places = n.value(b.row).Int64()
	}
	return between(roundTo(x.lo, places), roundTo(x.hi, places))
}
