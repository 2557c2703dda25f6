package sqlfront

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
	"strings"

	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// number returns k with the value of a number's text: an integer exactly, any
// other as the nearest REAL of 64 bits, as far as there is one.
func (k constant) number(text string) (constant, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		k.value = query.Int(n)
		return k, nil
	}
	real, err := syntax.Rational(text)
	if err != nil {
		return k, err.At(k.source.Position)
	}
	if r, _ := real.Float64(); !math.IsInf(r, 0) {
		real.SetFloat64(r)
	}
	k.real = real
	return k, nil
}

// negated returns the number with the other sign.
func (k constant) negated() constant {
	k.minus = !k.minus
	if k.real == nil && k.value.Int64() != math.MinInt64 {
		k.value = query.Int(-k.value.Int64())
		return k
	}
	k.real = new(big.Rat).Neg(k.rat())
	if k.real.IsInt() && k.real.Num().IsInt64() && k.source.Kind == syntax.KindInteger {
		k.value, k.real = query.Int(k.real.Num().Int64()), nil // −2^63
	}
	return k
}

// rat returns a number as a fraction.
func (k constant) rat() *big.Rat {
	if k.real != nil {
		return k.real
	}
	return new(big.Rat).SetInt64(k.value.Int64())
}

// compare orders two constants that are not NULL as SQLite does without a
// column: numbers by value, before texts byte by byte.
func (k constant) compare(m constant) int {
	switch {
	case k.isNumber() && m.isNumber():
		return k.rat().Cmp(m.rat())
	case k.isNumber():
		return -1
	case m.isNumber():
		return +1
	}
	return cmp.Compare(k.value.Str(), m.value.Str())
}

// integer reduces a number to an int64 n and the relation of its exact value
// to n: 0 when they are equal, +1 when n is the largest int64 that is smaller.
// Beyond the range of int64 n is the nearest one and the relation -1 or +1.
func (k constant) integer() (n int64, relation int) {
	if k.real == nil {
		return k.value.Int64(), 0
	}
	floor, rest := new(big.Int).DivMod(k.real.Num(), k.real.Denom(), new(big.Int))
	switch {
	case floor.IsInt64():
		return floor.Int64(), rest.Sign()
	case floor.Sign() < 0:
		return math.MinInt64, -1
	}
	return math.MaxInt64, +1
}

// readNumber parses a text as a number the way a comparison with an INTEGER
// column does, blanks around it aside.
func (k constant) readNumber(text string) (constant, bool, error) {
	text = strings.Trim(text, " \t\n\v\f\r")
	if !syntax.IsNumber(text) {
		return k, false, nil
	}
	k, err := k.number(text)
	return k, true, err
}
