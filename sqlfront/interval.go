package sqlfront

import (
	"math"

	"dpsql/sqlvalue"
)

// operation computes bounds of a result from bounds of its operands. Where
// these are known it is SQLite's own computation, and otherwise whatever it
// says must hold for all values within.
type operation func(args []bounds) bounds

// strict makes an operation of a function of values: its result is known when
// its operands are, and within rest else. what names it where it is applied to
// a text of which only the column is known.
func strict(what string, rest func([]bounds) bounds, f func(args []scalar) scalar) operation {
	return func(args []bounds) bounds {
		values := make([]scalar, len(args))
		complete := true
		for i, x := range args {
			switch {
			case x.undefined():
				return x
			case x.known && x.lo.standIn == isOther:
				return known(noDomain(what, x.lo.column))
			}
			values[i], complete = x.lo, complete && x.known
		}
		if !complete {
			return rest(args)
		}
		return known(f(values))
	}
}

// just returns the same bounds whatever the operands are.
func just(x bounds) func([]bounds) bounds { return func([]bounds) bounds { return x } }

// arithmetical returns the operation of + - * / % & | << >>.
func arithmetical(operator sqlvalue.Operator) operation {
	return ofBoth(func(x, y bounds) bounds {
		if x.known && y.known {
			return known(scalar{value: sqlvalue.Arithmetic(operator, x.lo.value, y.lo.value)})
		}
		return intervals(operator, x, y)
	})
}

// ofBoth returns the operation that is undefined where an operand is, NULL where
// one is NULL, and else what of says.
func ofBoth(of func(x, y bounds) bounds) operation {
	return func(args []bounds) bounds {
		x, y := args[0], args[1]
		switch {
		case x.undefined():
			return x
		case y.undefined():
			return y
		case x.isNull() || y.isNull():
			return known(scalar{})
		}
		return of(x, y)
	}
}

// intervals bounds the result for operands that are not both known.
func intervals(operator sqlvalue.Operator, x, y bounds) bounds {
	null := x.null || y.null
	if operator == sqlvalue.Over || operator == sqlvalue.Modulo {
		zero := integerOf(0)
		null = null || operator == sqlvalue.Modulo && !y.integral || y.lo.compare(zero) <= 0 && y.hi.compare(zero) >= 0
	}
	if !x.integral || !y.integral {
		return reals(operator, x, y, null)
	}
	a, b, c, d := x.lo.integer(), x.hi.integer(), y.lo.integer(), y.hi.integer()
	switch operator {
	case sqlvalue.Plus, sqlvalue.Minus, sqlvalue.Times:
		return corners(operator, a, b, c, d, null)
	case sqlvalue.Over:
		return quotients(a, b, c, d, null)
	case sqlvalue.Modulo:
		return remainders(a, b, c, d, null)
	}
	return between(math.MinInt64, math.MaxInt64, null)
}

// corners bounds a monotone operator on [a, b] and [c, d].
func corners(operator sqlvalue.Operator, a, b, c, d int64, null bool) bounds {
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for _, x := range [2]int64{a, b} {
		for _, y := range [2]int64{c, d} {
			n, ok := sqlvalue.Integers(operator, x, y)
			if !ok {
				return anyNumber(null)
			}
			lo, hi = min(lo, n), max(hi, n)
		}
	}
	return bounds{null: null, integral: true, lo: integerOf(lo), hi: integerOf(hi)}
}

// reals bounds + - * / where an operand may be a REAL: by the corners, and a
// little beyond, for of two numbers in between that are integers the result is
// not rounded. Infinities have results that are no numbers, which are NULL.
func reals(operator sqlvalue.Operator, x, y bounds, null bool) bounds {
	if operator == sqlvalue.Modulo || bitOperators[string(operator)] {
		return anyNumber(null)
	}
	largest := 0.0
	for _, end := range [4]scalar{x.lo, x.hi, y.lo, y.hi} {
		largest = max(largest, math.Abs(end.value.Float()))
	}
	if math.IsInf(largest, 0) {
		return anyNumber(true)
	}
	if operator == sqlvalue.Over && y.lo.value.Float() <= 0 && y.hi.value.Float() >= 0 {
		return anyNumber(true)
	}
	lo, hi := math.Inf(+1), math.Inf(-1)
	for _, a := range [2]scalar{x.lo, x.hi} {
		for _, b := range [2]scalar{y.lo, y.hi} {
			r := sqlvalue.Arithmetic(operator, sqlvalue.Real(a.value.Float()), sqlvalue.Real(b.value.Float())).Float()
			lo, hi = min(lo, r), max(hi, r)
		}
	}
	largest = max(largest, -lo, hi)
	slack := 1 + largest*0x1p-50 // more than rounding, and cutting a quotient, move a result
	return bounds{null: null, lo: realOf(lo - slack), hi: realOf(hi + slack)}
}

// quotients bounds [a, b] / [c, d]: by the corners where the divisor is not 0
// in between, and by the dividend else.
func quotients(a, b, c, d int64, null bool) bounds {
	if c > 0 || d < 0 {
		return corners(sqlvalue.Over, a, b, c, d, null)
	}
	if a == math.MinInt64 {
		return anyNumber(null)
	}
	m := max(b, -b, a, -a)
	return bounds{null: null, integral: true, lo: integerOf(-m), hi: integerOf(m)}
}

// remainders bounds [a, b] % [c, d]: exactly where every dividend has the same
// quotient.
func remainders(a, b, c, d int64, null bool) bounds {
	if c == d && c != 0 && c != -1 && a/c == b/c && (a >= 0) == (b >= 0) {
		return bounds{null: null, integral: true, lo: integerOf(a % c), hi: integerOf(b % c)}
	}
	m := int64(math.MaxInt64)
	if c > math.MinInt64 {
		m = max(c, -c, d, -d, 1) - 1
	}
	r := bounds{null: null, integral: true, lo: integerOf(max(-m, min(a, 0))), hi: integerOf(min(m, max(b, 0)))}
	return r
}

// complement is ~x.
func complement(args []bounds) bounds {
	x := args[0]
	switch {
	case x.undefined() || x.isNull():
		return x
	case x.known:
		return known(integerOf(^x.lo.integer()))
	case x.integral:
		return between(^x.hi.integer(), ^x.lo.integer(), x.null)
	}
	return between(math.MinInt64, math.MaxInt64, x.null)
}
