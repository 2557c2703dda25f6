package sqlfront

import (
	"cmp"
	"encoding/binary"
	"math"
	"strconv"

	"dpsql/query"
)

// scalar is a value as SQLite computes with it: unlike a column's, it can be a
// REAL. Two kinds are not values: a text of which only the column is known,
// and the result of an operation on it that its value would decide.
type scalar struct {
	kind scalarKind
	n    int64  // an integer, the bits of a real, or the column of other and undefined
	s    string // a text, or what is undefined
}

type scalarKind uint8

// The kinds, those of values in SQLite's order; numbers compare with each other.
const (
	isNull scalarKind = iota
	isInteger
	isReal
	isText
	isTop       // above every text; a bound and never a value
	isOther     // a text of a column without a domain that the expression does not name
	isUndefined // what only the text behind an isOther decides
)

func integerOf(n int64) scalar { return scalar{kind: isInteger, n: n} }

// realOf returns a REAL; what is not a number is NULL to SQLite.
func realOf(r float64) scalar {
	if math.IsNaN(r) {
		return scalar{}
	}
	return scalar{kind: isReal, n: int64(math.Float64bits(r))}
}

func textOf(s string) scalar { return scalar{kind: isText, s: s} }

// noDomain is the result of something done to a text of a column without a
// domain.
func noDomain(what string, column int64) scalar {
	return scalar{kind: isUndefined, n: column, s: what}
}

// refused is a result that SQLite gives as an error, or that is not computed
// here.
func refused(what string) scalar { return scalar{kind: isUndefined, n: -1, s: what} }

// scalarOf returns a column's value.
func scalarOf(v query.Value) scalar {
	switch {
	case v.IsInt():
		return integerOf(v.Int64())
	case v.IsText():
		return textOf(v.Str())
	}
	return scalar{}
}

// scalar returns the constant's value.
func (k constant) scalar() scalar {
	if k.real == nil {
		return scalarOf(k.value)
	}
	r, _ := k.real.Float64()
	return realOf(r)
}

func (x scalar) isNumber() bool { return x.kind == isInteger || x.kind == isReal }

// float returns a number as a float64.
func (x scalar) float() float64 {
	if x.kind == isReal {
		return math.Float64frombits(uint64(x.n))
	}
	return float64(x.n)
}

// integer returns a number cut to an integer, as SQLite's CAST does.
func (x scalar) integer() int64 {
	if x.kind == isInteger {
		return x.n
	}
	switch r := x.float(); {
	case r <= math.MinInt64:
		return math.MinInt64
	case r >= math.MaxInt64:
		return math.MaxInt64
	default:
		return int64(r)
	}
}

// text returns the text that SQLite makes of a value; false for a REAL, whose
// digits are SQLite's own, and for what is no value.
func (x scalar) text() (string, bool) {
	switch x.kind {
	case isInteger:
		return strconv.FormatInt(x.n, 10), true
	case isText:
		return x.s, true
	}
	return "", false
}

// compare orders two values as SQLite does where no affinity applies: NULL,
// numbers by value, texts byte by byte.
func (x scalar) compare(y scalar) int {
	switch {
	case x.isNumber() && y.isNumber():
		return x.compareNumber(y)
	case x.kind == isText && y.kind == isText:
		return cmp.Compare(x.s, y.s)
	}
	return cmp.Compare(x.kind, y.kind)
}

// compareNumber is exact: not every integer is a float64.
func (x scalar) compareNumber(y scalar) int {
	switch {
	case x.kind == isInteger && y.kind == isInteger:
		return cmp.Compare(x.n, y.n)
	case x.kind == isReal && y.kind == isReal:
		return cmp.Compare(x.float(), y.float())
	case x.kind == isReal:
		return -y.compareNumber(x)
	}
	r := y.float()
	if r < math.MinInt64 {
		return +1
	}
	if r >= math.MaxInt64 {
		return -1
	}
	if c := cmp.Compare(x.n, int64(r)); c != 0 {
		return c
	}
	return cmp.Compare(float64(x.n), r)
}

// plain maps values that compare as equal to one scalar.
func (x scalar) plain() scalar {
	if x.kind == isReal {
		if n := x.integer(); integerOf(n).compareNumber(x) == 0 {
			return integerOf(n)
		}
	}
	return x
}

// appendTo adds an encoding of the scalar, by which it is told from others.
func (x scalar) appendTo(b []byte) []byte {
	b = append(b, byte(x.kind))
	b = binary.BigEndian.AppendUint64(b, uint64(x.n))
	b = binary.AppendUvarint(b, uint64(len(x.s)))
	return append(b, x.s...)
}
