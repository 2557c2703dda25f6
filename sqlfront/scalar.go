package sqlfront

import (
	"cmp"
	"encoding/binary"
	"math"

	"dpsql/query"
	"dpsql/sqlvalue"
)

// scalar is a value that a condition computes, or a stand-in for one.
type scalar struct {
	value   sqlvalue.Value
	standIn standIn
	column  int // of isOther and isUndefined, -1 where there is none
}

// standIn is the kind of a scalar.
type standIn uint8

const (
	isValue     standIn = iota // its value
	isTop                      // above every text; a bound and never a result
	isOther                    // a text of a column without a domain that the expression does not name
	isUndefined                // a result that depends on the text behind an isOther, or is refused; the value names it
)

func integerOf(n int64) scalar { return scalar{value: sqlvalue.Int(n)} }

func realOf(r float64) scalar { return scalar{value: sqlvalue.Real(r)} }

func textOf(s string) scalar { return scalar{value: sqlvalue.Text(s)} }

// scalarOf returns a column's value.
func scalarOf(v query.Value) scalar { return scalar{value: sqlvalue.OfColumn(v)} }

// noDomain is the result of an operation on a text of a column without a domain.
func noDomain(what string, column int) scalar {
	return scalar{standIn: isUndefined, column: column, value: sqlvalue.Text(what)}
}

// refused is a result that is an error in SQLite, or that the compiler does not
// compute.
func refused(what string) scalar { return noDomain(what, -1) }

// scalar returns the constant's value.
func (k constant) scalar() scalar {
	if k.real == nil {
		return scalarOf(k.value)
	}
	r, _ := k.real.Float64()
	return realOf(r)
}

func (x scalar) isNull() bool { return x.standIn == isValue && x.value.IsNull() }

func (x scalar) isInteger() bool { return x.value.IsInt() }

func (x scalar) isNumber() bool { return x.value.IsNumber() }

func (x scalar) isText() bool { return x.standIn == isValue && x.value.IsText() }

// integer returns a number cut to an integer, as SQLite's CAST does.
func (x scalar) integer() int64 { return x.value.Int64() }

// text returns the text that SQLite makes of a value. It is false for a REAL,
// whose digits are SQLite's own, and for stand-ins.
func (x scalar) text() (string, bool) {
	if x.standIn != isValue {
		return "", false
	}
	return x.value.AsText()
}

// compare orders values as SQLite does. Stand-ins are above all values.
func (x scalar) compare(y scalar) int {
	if x.standIn == isValue && y.standIn == isValue {
		return x.value.Compare(y.value)
	}
	return cmp.Compare(x.standIn, y.standIn)
}

// canonical maps values that compare as equal to one scalar.
func (x scalar) canonical() scalar {
	x.value = x.value.Canonical()
	return x
}

// appendTo appends an encoding that tells the scalar from all others.
func (x scalar) appendTo(b []byte) []byte {
	b = append(b, byte(x.standIn))
	b = binary.AppendVarint(b, int64(x.column))
	return x.value.AppendTo(b)
}

// The bounds of every number.
var (
	lowest  = realOf(math.Inf(-1))
	highest = realOf(math.Inf(+1))
)
