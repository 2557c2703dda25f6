package sqlfront

import (
	"math"

	"github.com/xwb1989/sqlparser"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
)

// bounds encloses a value while some columns are known by ranges only. If known
// is set the value is lo. Otherwise it lies from lo to hi in SQLite's order, or is
// NULL if null is set.
type bounds struct {
	known    bool
	null     bool // can be NULL
	integral bool // every value but NULL is an integer
	real     bool // every value but NULL is a REAL
	lo, hi   scalar
}

func exactly(x scalar) bounds {
	return bounds{known: true, null: x.isNull(), integral: x.isInteger() || x.isNull(), real: x.value.IsReal(), lo: x, hi: x}
}

// integersBetween returns the bounds of the integers from lo to hi.
func integersBetween(lo, hi int64, null bool) bounds {
	if lo == hi && !null {
		return exactly(integerOf(lo))
	}
	return bounds{null: null, integral: true, lo: integerOf(lo), hi: integerOf(hi)}
}

var (
	anything = bounds{null: true, lo: lowest, hi: scalar{standIn: isTop}}
	anyText  = bounds{null: true, lo: textOf(""), hi: scalar{standIn: isTop}}
)

// anyNumber returns the bounds of every number.
func anyNumber(null bool) bounds { return bounds{null: null, lo: lowest, hi: highest} }

// boundsOf returns the bounds of the values of a column with ordinals from first to
// last, as people write them. They are in the order of the domain.
func boundsOf(c query.Column, first, last uint64) bounds {
	d := c.Domain
	if first == last {
		return exactly(scalarOf(c.Form.Shown(d.Value(first))))
	}
	null := d.Value(first).IsNull()
	if null {
		first++
	}
	lo, hi := scalarOf(c.Form.Shown(d.Value(first))), scalarOf(c.Form.Shown(d.Value(last)))
	return bounds{null: null, integral: lo.isInteger(), lo: lo, hi: hi}
}

// isNull reports whether the value can only be NULL.
func (x bounds) isNull() bool { return x.known && x.lo.isNull() }

// undefined reports whether the expression has no value.
func (x bounds) undefined() bool { return x.known && x.lo.standIn == isUndefined }

// isNumber reports whether every value but NULL is a number.
func (x bounds) isNumber() bool { return x.isNull() || x.lo.isNumber() && x.hi.isNumber() }

// isText reports whether every value but NULL is a text.
func (x bounds) isText() bool {
	return x.isNull() || x.lo.isText() || x.lo.standIn == isOther
}

// reach returns the largest distance of an integer within the bounds from 0.
func (x bounds) reach() float64 {
	if x.isNull() {
		return 0
	}
	return max(math.Abs(float64(x.lo.integer())), math.Abs(float64(x.hi.integer())))
}

// hull returns bounds that hold for the values of both.
func (x bounds) hull(y bounds) bounds {
	switch {
	case x.known && y.known && x.lo == y.lo:
		return x
	case x.undefined() || y.undefined() || x.lo.standIn == isOther || y.lo.standIn == isOther:
		return anything
	case x.isNull():
		y.known, y.null = false, true
		return y
	case y.isNull():
		x.known, x.null = false, true
		return x
	}
	h := bounds{null: x.null || y.null, integral: x.integral && y.integral, real: x.real && y.real, lo: x.lo, hi: x.hi}
	if y.lo.compare(h.lo) < 0 {
		h.lo = y.lo
	}
	if y.hi.compare(h.hi) > 0 {
		h.hi = y.hi
	}
	return h
}

// truths is a set of truth values.
type truths uint8

const (
	canBeTrue truths = 1 << iota
	canBeFalse
	canBeUnknown
)

// truths returns the truth values that the bounds allow. They must be defined.
func (x bounds) truths() truths {
	if x.isNull() {
		return canBeUnknown
	}
	var t truths
	if x.null {
		t = canBeUnknown
	}
	zero := integerOf(0)
	lo, hi := x.lo.compare(zero), x.hi.compare(zero)
	if lo <= 0 && hi >= 0 {
		t |= canBeFalse
	}
	if lo != 0 || hi != 0 {
		t |= canBeTrue
	}
	return t
}

// bounds returns the condition as a number: 1, 0 or NULL.
func (t truths) bounds() bounds {
	switch t {
	case canBeUnknown:
		return exactly(scalar{})
	case canBeTrue, canBeTrue | canBeUnknown:
		return truthsBetween(1, 1, t)
	case canBeFalse, canBeFalse | canBeUnknown:
		return truthsBetween(0, 0, t)
	}
	return truthsBetween(0, 1, t)
}

func truthsBetween(lo, hi int64, t truths) bounds {
	return integersBetween(lo, hi, t&canBeUnknown != 0)
}

// conditionBounds returns a condition that is known.
func conditionBounds(holds bool) bounds {
	if holds {
		return exactly(integerOf(1))
	}
	return exactly(integerOf(0))
}

// operation computes bounds of a result from bounds of its operands. On known
// operands it computes as SQLite does. On others its bounds must hold for all
// values within the operands' bounds.
type operation func(args []bounds) bounds

// valueOperation turns a function f of values into an operation. It applies f to known
// operands and bounds the result for others by rest. Errors call the operation what:
// it cannot be applied to a text that the statement does not name.
func valueOperation(what string, rest func([]bounds) bounds, f func(args []scalar) scalar) operation {
	return func(args []bounds) bounds {
		values := make([]scalar, len(args))
		complete := true
		for i, x := range args {
			switch {
			case x.undefined():
				return x
			case x.known && x.lo.standIn == isOther:
				return exactly(noDomain(what, x.lo.column))
			}
			values[i], complete = x.lo, complete && x.known
		}
		if !complete {
			return rest(args)
		}
		return exactly(f(values))
	}
}

// constantBounds returns a function that ignores its operands.
func constantBounds(x bounds) func([]bounds) bounds { return func([]bounds) bounds { return x } }

// arithmetical returns the operation of + - * / % & | << >>.
func arithmetical(operator sqlvalue.Operator) operation {
	return nullIfNull(func(x, y bounds) bounds {
		if x.known && y.known {
			return exactly(scalar{value: sqlvalue.Arithmetic(operator, x.lo.value, y.lo.value)})
		}
		return intervals(operator, x, y)
	})
}

// nullIfNull returns an operation that is undefined if an operand is undefined, and
// NULL if an operand is NULL. It applies of to other operands.
func nullIfNull(of func(x, y bounds) bounds) operation {
	return func(args []bounds) bounds {
		x, y := args[0], args[1]
		switch {
		case x.undefined():
			return x
		case y.undefined():
			return y
		case x.isNull() || y.isNull():
			return exactly(scalar{})
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
	return integersBetween(math.MinInt64, math.MaxInt64, null)
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

// reals bounds + - * / if an operand may be a REAL. The bounds lie a little beyond
// the corners, since the result of two integers in between is not rounded. An
// infinite operand can give a result that is not a number, which is NULL.
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
	slack := 1 + largest*0x1p-50 // exceeds what rounding and cutting a quotient change
	if x.real || y.real {        // then nothing is cut, and rounding keeps the order
		slack = 0
	}
	return bounds{null: null, real: slack == 0, lo: realOf(lo - slack), hi: realOf(hi + slack)}
}

// quotients bounds [a, b] / [c, d]: by the corners if the divisor cannot be 0, else
// by the dividend.
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

// remainders bounds [a, b] % [c, d]. The bounds are exact if all dividends have the
// same quotient.
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
		return exactly(integerOf(^x.lo.integer()))
	case x.integral:
		return integersBetween(^x.hi.integer(), ^x.lo.integer(), x.null)
	}
	return integersBetween(math.MinInt64, math.MaxInt64, x.null)
}

// comparison returns the operation of = <> < <= > >=.
func comparison(relation sqlvalue.Relation) operation {
	equality := relation == sqlvalue.Equal || relation == sqlvalue.NotEqual
	return nullIfNull(func(x, y bounds) bounds {
		if x.lo.standIn == isOther || y.lo.standIn == isOther {
			if x.lo == y.lo {
				return conditionBounds(relation.Holds(0))
			}
			return compareOther(x, y, equality, relation == sqlvalue.NotEqual)
		}
		var t truths
		if x.null || y.null {
			t = canBeUnknown
		}
		return (t | outcomes(relation, x, y)).bounds()
	})
}

// outcomes reports whether the relation can hold, and whether it can fail, between
// values that are not NULL.
func outcomes(relation sqlvalue.Relation, x, y bounds) truths {
	least, most := -1, +1
	if c := x.lo.compare(y.hi); c >= 0 {
		least = c
	}
	if c := x.hi.compare(y.lo); c <= 0 {
		most = c
	}
	var t truths
	for c := least; c <= most; c++ {
		if relation.Holds(c) {
			t |= canBeTrue
		} else {
			t |= canBeFalse
		}
	}
	return t
}

// compareOther compares a text that the expression does not name. That text differs
// from all named texts. Nothing else is known about it.
func compareOther(x, y bounds, equality, negated bool) bounds {
	if x.lo.standIn != isOther {
		x, y = y, x
	}
	switch {
	case !equality:
		return exactly(noDomain("an ordered comparison", x.lo.column))
	case y.lo.standIn == isOther:
		return exactly(noDomain("a comparison with another column", x.lo.column))
	case y.known || y.isNumber():
		t := canBeFalse
		if negated {
			t = canBeTrue
		}
		if y.null {
			t |= canBeUnknown
		}
		return t.bounds()
	}
	return anything
}

// isSame is IS, which holds for two NULLs and is never unknown.
func isSame(args []bounds) bounds {
	x, y := args[0], args[1]
	switch {
	case x.undefined():
		return x
	case y.undefined():
		return y
	case x.isNull() && y.isNull():
		return conditionBounds(true)
	case x.isNull() && !y.null, y.isNull() && !x.null:
		return conditionBounds(false)
	case x.isNull() || y.isNull():
		return integersBetween(0, 1, false)
	}
	equal := comparison(sqlvalue.Equal)(args)
	if equal.undefined() || !equal.null {
		return equal
	}
	if !x.null || !y.null {
		return (equal.truths()&^canBeUnknown | canBeFalse).bounds()
	}
	return integersBetween(0, 1, false)
}

// conjunction is AND.
func conjunction(args []bounds) bounds { return junction(args, canBeFalse, canBeTrue) }

// disjunction is OR.
func disjunction(args []bounds) bounds { return junction(args, canBeTrue, canBeFalse) }

// junction is AND or OR. One absorbing operand decides it, even beside an undefined
// one.
func junction(args []bounds, absorbing, neutral truths) bounds {
	var lost *bounds
	can := neutral
	for i, x := range args {
		if x.undefined() {
			lost = &args[i]
			continue
		}
		t := x.truths()
		if t == absorbing {
			return t.bounds()
		}
		can |= t &^ neutral
		if t&neutral == 0 {
			can &^= neutral
		}
	}
	switch {
	case lost == nil:
		return can.bounds()
	case can&absorbing != 0:
		return integersBetween(0, 1, true)
	}
	return *lost
}

// negation is NOT.
func negation(args []bounds) bounds {
	if args[0].undefined() {
		return args[0]
	}
	t := args[0].truths()
	n := t & canBeUnknown
	if t&canBeTrue != 0 {
		n |= canBeFalse
	}
	if t&canBeFalse != 0 {
		n |= canBeTrue
	}
	return n.bounds()
}

// testTrue is IS TRUE.
func testTrue(args []bounds) bounds {
	if args[0].undefined() {
		return args[0]
	}
	switch t := args[0].truths(); {
	case t == canBeTrue:
		return conditionBounds(true)
	case t&canBeTrue == 0:
		return conditionBounds(false)
	}
	return integersBetween(0, 1, false)
}

// missing is IS NULL.
func missing(args []bounds) bounds {
	switch x := args[0]; {
	case x.undefined():
		return x
	case x.isNull():
		return conditionBounds(true)
	case !x.null:
		return conditionBounds(false)
	}
	return integersBetween(0, 1, false)
}

// firstTrue is CASE WHEN: conditions and results alternate, the ELSE comes last.
func firstTrue(args []bounds) bounds {
	var result bounds
	found := false
	add := func(x bounds) {
		if found {
			x = result.hull(x)
		}
		result, found = x, true
	}
	for ; len(args) > 1; args = args[2:] {
		if args[0].undefined() {
			if !found {
				return args[0]
			}
			return anything
		}
		t := args[0].truths()
		if t&canBeTrue != 0 {
			add(args[1])
		}
		if t == canBeTrue {
			return result
		}
	}
	add(args[0])
	return result
}

// bitOperators have one precedence in SQLite, and several in MySQL.
var bitOperators = map[string]bool{
	sqlparser.BitAndStr: true, sqlparser.BitOrStr: true, sqlparser.ShiftLeftStr: true, sqlparser.ShiftRightStr: true,
}
