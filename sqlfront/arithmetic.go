package sqlfront

import (
	"math"
	"math/bits"

	"github.com/xwb1989/sqlparser"
)

// arithmetic computes x operator y for numbers and NULL as SQLite does:
// integers stay integers unless they overflow 64 bits, when the result is a
// REAL; a quotient of integers is cut; x / 0 and x % 0 are NULL.
func arithmetic(operator string, x, y scalar) scalar {
	if x.kind == isNull || y.kind == isNull {
		return scalar{}
	}
	if n, ok := bitwise(operator, x, y); ok {
		return n
	}
	if operator == sqlparser.ModStr {
		return remainderOf(x, y)
	}
	if x.kind == isInteger && y.kind == isInteger {
		if n, ok := integers(operator, x.n, y.n); ok {
			return n
		}
	}
	a, b := x.float(), y.float()
	switch operator {
	case sqlparser.PlusStr:
		return realOf(a + b)
	case sqlparser.MinusStr:
		return realOf(a - b)
	case sqlparser.MultStr:
		return realOf(a * b)
	}
	if b == 0 {
		return scalar{}
	}
	return realOf(a / b)
}

// integers is false where the result overflows.
func integers(operator string, a, b int64) (scalar, bool) {
	switch operator {
	case sqlparser.PlusStr:
		n, ok := addInt(a, b)
		return integerOf(n), ok
	case sqlparser.MinusStr:
		n, ok := subInt(a, b)
		return integerOf(n), ok
	case sqlparser.MultStr:
		n, ok := mulInt(a, b)
		return integerOf(n), ok
	}
	switch {
	case b == 0:
		return scalar{}, true
	case a == math.MinInt64 && b == -1:
		return scalar{}, false
	}
	return integerOf(a / b), true
}

func addInt(a, b int64) (int64, bool) {
	n := a + b
	return n, (a < 0) != (b < 0) || (n < 0) == (a < 0)
}

func subInt(a, b int64) (int64, bool) {
	n := a - b
	return n, (a < 0) == (b < 0) || (n < 0) == (a < 0)
}

func mulInt(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	n := a * b
	negative := (a < 0) != (b < 0)
	switch {
	case hi != 0:
		return 0, false
	case negative:
		return n, lo <= 1<<63
	}
	return n, lo < 1<<63
}

// magnitude returns |a|.
func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// remainderOf has the sign of x; of a REAL it is taken of the integer parts, and
// is a REAL.
func remainderOf(x, y scalar) scalar {
	a, b := x.integer(), y.integer()
	switch b {
	case 0:
		return scalar{}
	case -1:
		b = 1 // math.MinInt64 % -1 is 0 too
	}
	if x.kind == isInteger && y.kind == isInteger {
		return integerOf(a % b)
	}
	return realOf(float64(a % b))
}

// bitwise computes &, |, << and >> on integers; false for other operators. A
// shift by a negative number goes the other way.
func bitwise(operator string, x, y scalar) (scalar, bool) {
	a, b := x.integer(), y.integer()
	switch operator {
	case sqlparser.BitAndStr:
		return integerOf(a & b), true
	case sqlparser.BitOrStr:
		return integerOf(a | b), true
	case sqlparser.ShiftLeftStr:
		return integerOf(shift(a, b)), true
	case sqlparser.ShiftRightStr:
		if b == math.MinInt64 {
			return integerOf(shift(a, math.MaxInt64)), true
		}
		return integerOf(shift(a, -b)), true
	}
	return scalar{}, false
}

// shift moves the bits of a to the left by b, to the right where b is negative.
func shift(a, b int64) int64 {
	switch {
	case b >= 64:
		return 0
	case b >= 0:
		return a << b
	case b <= -64:
		return a >> 63
	}
	return a >> -b
}
