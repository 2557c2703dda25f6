// Package sqlvalue computes with values as SQLite does: its arithmetic, its
// comparisons and its order. sqlfront evaluates conditions on records with it,
// and post expressions over answers, so an expression has one meaning.
package sqlvalue

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"dpsql/query"
)

// Value is NULL, an INTEGER, a REAL or a TEXT. The zero Value is NULL. Values
// are comparable with ==, which distinguishes 1 from 1.0; Compare does not.
type Value struct {
	kind kind
	n    int64  // an integer, or the bits of a real
	s    string // a text
}

type kind uint8

// The kinds are in SQLite's order; numbers compare with each other.
const (
	null kind = iota
	integer
	real
	text
)

// Null returns NULL.
func Null() Value { return Value{} }

// Int returns an INTEGER.
func Int(n int64) Value { return Value{kind: integer, n: n} }

// Real returns a REAL. It returns NULL for a NaN, as SQLite does.
func Real(r float64) Value {
	if math.IsNaN(r) {
		return Value{}
	}
	return Value{kind: real, n: int64(math.Float64bits(r))}
}

// Text returns a TEXT.
func Text(s string) Value { return Value{kind: text, s: s} }

// Bool returns a condition's value: 1 or 0.
func Bool(b bool) Value {
	if b {
		return Int(1)
	}
	return Int(0)
}

// FromColumn converts a column's value.
func FromColumn(v query.Value) Value {
	switch {
	case v.IsInt():
		return Int(v.Int64())
	case v.IsText():
		return Text(v.Str())
	}
	return Value{}
}

// FromAny converts an int64, a float64 or a string to a value, and anything
// else to NULL.
func FromAny(v any) Value {
	switch v := v.(type) {
	case int64:
		return Int(v)
	case float64:
		return Real(v)
	case string:
		return Text(v)
	}
	return Value{}
}

// Any returns the value as an int64, a float64, a string, or nil for NULL.
func (x Value) Any() any {
	switch x.kind {
	case integer:
		return x.n
	case real:
		return x.Float()
	case text:
		return x.s
	}
	return nil
}

// IsNull reports whether x is NULL.
func (x Value) IsNull() bool { return x.kind == null }

// IsInt reports whether x is an INTEGER.
func (x Value) IsInt() bool { return x.kind == integer }

// IsReal reports whether x is a REAL.
func (x Value) IsReal() bool { return x.kind == real }

// IsText reports whether x is a TEXT.
func (x Value) IsText() bool { return x.kind == text }

// IsNumber reports whether x is an INTEGER or a REAL.
func (x Value) IsNumber() bool { return x.kind == integer || x.kind == real }

// Str returns the text of a TEXT, else "".
func (x Value) Str() string { return x.s }

// Float returns a number as a float64; NULL and texts are 0.
func (x Value) Float() float64 {
	switch x.kind {
	case integer:
		return float64(x.n)
	case real:
		return math.Float64frombits(uint64(x.n))
	}
	return 0
}

// Int64 returns a number truncated to an integer, as CAST does. Beyond 64 bits
// it is the nearest int64. NULL and texts are 0.
func (x Value) Int64() int64 {
	switch x.kind {
	case integer:
		return x.n
	case text, null:
		return 0
	}
	switch r := x.Float(); {
	case r <= math.MinInt64:
		return math.MinInt64
	case r >= math.MaxInt64:
		return math.MaxInt64
	default:
		return int64(r)
	}
}

// AsText returns the text to which SQLite converts an integer or a text. It
// returns false for NULL, and for a REAL, whose digits are SQLite's own.
func (x Value) AsText() (string, bool) {
	switch x.kind {
	case integer:
		return strconv.FormatInt(x.n, 10), true
	case text:
		return x.s, true
	}
	return "", false
}

// Compare orders values as SQLite does where no affinity applies: NULL, then
// numbers by value, then texts byte by byte. The result is -1, 0 or +1.
func (x Value) Compare(y Value) int {
	switch {
	case x.IsNumber() && y.IsNumber():
		return x.compareNumber(y)
	case x.kind == text && y.kind == text:
		return cmp.Compare(x.s, y.s)
	}
	return cmp.Compare(x.kind, y.kind)
}

// compareNumber compares exactly: not every integer is a float64.
func (x Value) compareNumber(y Value) int {
	switch {
	case x.kind == integer && y.kind == integer:
		return cmp.Compare(x.n, y.n)
	case x.kind == real && y.kind == real:
		return cmp.Compare(x.Float(), y.Float())
	case x.kind == real:
		return -y.compareNumber(x)
	}
	r := y.Float()
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

// Canonical returns one representative of the values that compare as equal: a
// REAL that is an integer becomes that integer.
func (x Value) Canonical() Value {
	if x.kind == real {
		if n := Int(x.Int64()); n.compareNumber(x) == 0 {
			return n
		}
	}
	return x
}

// AppendTo appends an encoding of the value that no other value has.
func (x Value) AppendTo(b []byte) []byte {
	b = append(b, byte(x.kind))
	b = binary.BigEndian.AppendUint64(b, uint64(x.n))
	b = binary.AppendUvarint(b, uint64(len(x.s)))
	return append(b, x.s...)
}

// Relation is a comparison operator.
type Relation string

// The relations.
const (
	Equal          Relation = "="
	NotEqual       Relation = "<>"
	Less           Relation = "<"
	LessOrEqual    Relation = "<="
	Greater        Relation = ">"
	GreaterOrEqual Relation = ">="
)

// Holds reports whether the relation accepts the result of a comparison.
func (r Relation) Holds(c int) bool {
	switch r {
	case Equal:
		return c == 0
	case NotEqual:
		return c != 0
	case Less:
		return c < 0
	case LessOrEqual:
		return c <= 0
	case Greater:
		return c > 0
	}
	return c >= 0
}

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

// Arithmetic computes x op y for numbers and NULL. Integers stay integers
// unless they overflow 64 bits; then the result is a REAL. A quotient of
// integers is truncated. The result is NULL if an operand is NULL or the
// divisor is 0.
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

// remainder returns x % y, with the sign of x. For REALs it takes the integer
// parts, and the result is a REAL.
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

// Integers computes a op b for + - * / %. It returns false if the result does
// not fit 64 bits or the divisor is 0.
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

// shift shifts the bits of a to the left by b, or to the right by −b if b is
// negative.
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

// Affinity is what a column or CAST of a declared type converts its values to.
type Affinity string

// The affinities. A column of the last one keeps its values as they are.
const (
	Integer Affinity = "INTEGER"
	Float   Affinity = "REAL"
	Numeric Affinity = "NUMERIC"
	Textual Affinity = "TEXT"
	Blob    Affinity = "BLOB"
)

// AffinityOf applies SQLite's rules for a declared type (its documentation, "Datatypes In
// SQLite", section 3.1). ANY is taken as in a STRICT table, where it is Blob; elsewhere it
// is Numeric.
func AffinityOf(declared string) Affinity {
	folded := query.FoldName(declared) // folds ASCII only, as SQLite does
	has := func(part string) bool { return strings.Contains(folded, part) }
	switch {
	case has("int"):
		return Integer
	case has("char"), has("clob"), has("text"):
		return Textual
	case has("blob"), folded == "", folded == "any":
		return Blob
	case has("real"), has("floa"), has("doub"):
		return Float
	}
	return Numeric
}
