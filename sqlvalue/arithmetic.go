package sqlvalue

import (
	"math"
	"math/bits"
)

// Operator is an arithmetic operator.
type Operator string

// The operators.
const (
	Plus       Operator = "+"
	Minus      Operator = "-"
	Times      Operator = "*"
	Over       Operator = "/"
	Modulo     Operator = "%"
	BitAnd     Operator = "&"
	BitOr      Operator = "|"
	ShiftLeft  Operator = "<<"
	ShiftRight Operator = ">>"
)

// Arithmetic computes x op y for numbers and NULL. Integers stay integers unless
// they overflow 64 bits: then the result is a REAL. A quotient of integers is
// cut. With NULL, and where the divisor is 0, the result is NULL.
func Arithmetic(op Operator, x, y Value) Value {
	if x.kind == null || y.kind == null {
		return Value{}
	}
	switch op {
	case BitAnd:
		return Int(x.Int64() & y.Int64())
	case BitOr:
		return Int(x.Int64() | y.Int64())
	case ShiftLeft:
		return Int(shift(x.Int64(), y.Int64()))
	case ShiftRight:
		return Int(shift(x.Int64(), -max(y.Int64(), -math.MaxInt64)))
	case Modulo:
		return remainder(x, y)
	}
	if x.kind == integer && y.kind == integer {
		if y.n == 0 && op == Over {
			return Value{}
		}
		if n, ok := Integers(op, x.n, y.n); ok {
			return Int(n)
		}
	}
	return reals(op, x.Float(), y.Float())
}

func reals(op Operator, a, b float64) Value {
	switch op {
	case Plus:
		return Real(a + b)
	case Minus:
		return Real(a - b)
	case Times:
		return Real(a * b)
	}
	if b == 0 {
		return Value{}
	}
	return Real(a / b)
}

// remainder has the sign of x. Of a REAL it is taken of the integer parts, and
// is a REAL.
func remainder(x, y Value) Value {
	n, ok := Integers(Modulo, x.Int64(), y.Int64())
	switch {
	case !ok:
		return Value{}
	case x.kind == integer && y.kind == integer:
		return Int(n)
	}
	return Real(float64(n))
}

// Integers computes a op b for + - * / %. It is false where the result is no
// integer of 64 bits, and where the divisor is 0.
func Integers(op Operator, a, b int64) (int64, bool) {
	switch op {
	case Plus:
		n := a + b
		return n, (a < 0) != (b < 0) || (n < 0) == (a < 0)
	case Minus:
		n := a - b
		return n, (a < 0) == (b < 0) || (n < 0) == (a < 0)
	case Times:
		return product(a, b)
	}
	switch {
	case b == 0:
		return 0, false
	case op == Modulo && b == -1:
		return 0, true
	case op == Modulo:
		return a % b, true
	case a == math.MinInt64 && b == -1:
		return 0, false
	}
	return a / b, true
}

func product(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(Magnitude(a), Magnitude(b))
	most := uint64(math.MaxInt64)
	if (a < 0) != (b < 0) {
		most++
	}
	return a * b, hi == 0 && lo <= most
}

// Magnitude returns |a|.
func Magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
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
