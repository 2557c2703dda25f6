package post

import (
	"math"
	"math/bits"
	"strconv"
)

// arithmetic computes a op b as SQLite does: integers stay integers, unless
// they overflow; a quotient of integers is cut; NULL, and dividing by 0, give
// NULL.
func arithmetic(op Operator, a, b any) any {
	if a == nil || b == nil {
		return nil
	}
	if op == Modulo {
		return modulo(a, b)
	}
	m, isInt := a.(int64)
	n, both := b.(int64)
	if isInt && both {
		if v, ok := integers(op, m, n); ok {
			return v
		}
	}
	return reals(op, toReal(a), toReal(b))
}

// integers returns false where the result is no integer of 64 bits.
func integers(op Operator, m, n int64) (any, bool) {
	switch op {
	case Plus:
		s := m + n
		return s, (s > m) == (n > 0)
	case Minus:
		d := m - n
		return d, (d < m) == (n > 0)
	case Times:
		return product(m, n)
	}
	switch {
	case n == 0:
		return nil, true
	case n == -1 && m == math.MinInt64:
		return nil, false
	}
	return m / n, true
}

func product(m, n int64) (any, bool) {
	hi, lo := bits.Mul64(magnitude(m), magnitude(n))
	negative := (m < 0) != (n < 0)
	switch {
	case hi != 0, lo > 1<<63, lo == 1<<63 && !negative:
		return nil, false
	case negative:
		return -int64(lo), true
	}
	return int64(lo), true
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func reals(op Operator, x, y float64) any {
	switch op {
	case Plus:
		return real64(x + y)
	case Minus:
		return real64(x - y)
	case Times:
		return real64(x * y)
	}
	if y == 0 {
		return nil
	}
	return real64(x / y)
}

func modulo(a, b any) any {
	m, n := toInteger(a), toInteger(b)
	if n == 0 {
		return nil
	}
	if n == -1 {
		m = 0 // math.MinInt64 % -1
	}
	_, isInt := a.(int64)
	if _, both := b.(int64); isInt && both {
		return m % n
	}
	return float64(m % n)
}

// saturatingSum adds factor·value over the terms; beyond 64 bits it stays at
// the end of their range.
func saturatingSum(terms []Term, r *row) int64 {
	var sum wide
	for _, t := range terms {
		sum.add(t.Factor, r.answers[t.Slot].Value)
	}
	return sum.int64()
}

// wide is a 128-bit integer in two's complement.
type wide struct{ hi, lo uint64 }

func (w *wide) add(a, b int64) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if (a < 0) != (b < 0) {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	w.hi, _ = bits.Add64(w.hi, hi, carry)
}

func (w wide) int64() int64 {
	switch {
	case int64(w.hi) < -1 || w.hi == math.MaxUint64 && int64(w.lo) >= 0:
		return math.MinInt64
	case int64(w.hi) > 0 || w.hi == 0 && int64(w.lo) < 0:
		return math.MaxInt64
	}
	return int64(w.lo)
}

// roundTo rounds to a number of decimal places, halves away from zero where a
// half can be told.
func roundTo(x float64, places int) float64 {
	if math.Abs(x) >= 1<<52 {
		return x
	}
	if places == 0 {
		return math.Trunc(x + math.Copysign(0.5, x))
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', places, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}
