package sqlfront

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/xwb1989/sqlparser"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// operand is one side of a comparison: a column or a constant.
type operand struct {
	isColumn bool
	column   int
	constant constant
}

// operand returns an expression as a column or a constant. It is false for any
// other expression.
func (b *binder) operand(e sqlparser.Expr) (operand, bool, error) {
	switch e := syntax.Unwrap(e).(type) {
	case *sqlparser.ColName:
		if k, ok := b.clockWord(e); ok {
			return operand{constant: k}, true, nil
		}
		column, err := b.column(e)
		return operand{isColumn: true, column: column}, err == nil, err
	case *sqlparser.SQLVal:
		return b.literal(e)
	case *sqlparser.UnaryExpr:
		o, ok, err := b.operand(e.Expr)
		if err != nil || !ok || o.isColumn || !o.constant.isNumber() {
			return operand{}, false, err
		}
		switch e.Operator {
		case sqlparser.UMinusStr:
			o.constant = o.constant.negated()
		case sqlparser.UPlusStr:
		default:
			return operand{}, false, nil
		}
		return o, true, nil
	}
	return operand{}, false, nil
}

// literal returns the constant that a placeholder stands for. TRUE and FALSE are 1
// and 0, unless a column has that name, as in SQLite.
func (b *binder) literal(v *sqlparser.SQLVal) (operand, bool, error) {
	t, ok := b.g.Token(string(v.Val))
	if !ok || v.Type != sqlparser.ValArg {
		return operand{}, false, nil
	}
	k := constant{source: t}
	switch t.Kind {
	case syntax.KindString:
		k.value = query.Text(t.Value)
	case syntax.KindParameter:
		if k.value = b.args[t.Parameter-1]; k.value.IsNumber() {
			var err error
			if k, err = k.number(k.value.Str()); err != nil {
				return operand{}, false, err
			}
		}
	case syntax.KindInteger, syntax.KindDecimal:
		var err error
		if k, err = k.number(t.Text); err != nil {
			return operand{}, false, err
		}
	case syntax.KindWord:
		if columns := b.scope.columnsNamed("", t.Value); len(columns) == 1 && columns[0] != notBound && t.Upper != "NULL" {
			err := b.refuseUndecided(columns[0])
			return operand{isColumn: true, column: columns[0]}, err == nil, err
		}
		switch t.Upper {
		case "TRUE":
			k.value = query.Int(1)
		case "FALSE":
			k.value = query.Int(0)
		}
	}
	return operand{constant: k}, true, nil
}

// constant is a literal or an argument.
type constant struct {
	value  query.Value // unless real is set
	real   *big.Rat    // a number written as a decimal, or beyond 64 bits
	minus  bool        // a minus stands before it in the statement
	time   temporal    // of CURRENT_DATE and CURRENT_TIMESTAMP, else 0
	source syntax.Token
}

// readTruth returns a text as TRUE or FALSE, if it is one to PostgreSQL: 't', 'true', 'yes', 'on'.
func (k constant) readTruth() (constant, bool) {
	v, err := query.SQLBool.Parse(k.value.Str())
	k.value = v
	return k, err == nil
}

func (k constant) isNull() bool { return k.real == nil && k.value.IsNull() }

func (k constant) isNumber() bool { return k.real != nil || k.value.IsInt() }

// label names the constant in a message. An argument is named by its number; its
// value is never shown.
func (k constant) label() string {
	text := syntax.Excerpt(k.source.Text, 40)
	if k.source.Kind == syntax.KindParameter {
		text = "parameter " + query.Int(int64(k.source.Parameter)).String()
	}
	if k.minus {
		return "-" + text
	}
	return text
}

// number returns k with the value of a number's text: an integer exactly, and any
// other number as the nearest REAL of 64 bits if it is finite.
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
	k.value, k.real = query.Null(), real
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

// decimal returns a number as a fraction. One that is the REAL nearest to a short decimal is that
// decimal, as 0.1 is a tenth.
func (k constant) decimal() *big.Rat {
	x := k.rat()
	if f, exact := x.Float64(); exact && !x.IsInt() {
		if d, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64)); ok {
			return d
		}
	}
	return x
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

// readNumber parses a text as a comparison with an INTEGER column does: blanks
// around a number do not matter.
func (k constant) readNumber(text string) (constant, bool, error) {
	text = strings.Trim(text, " \t\n\v\f\r")
	if !syntax.IsNumber(text) {
		return k, false, nil
	}
	k, err := k.number(text)
	return k, true, err
}

// scalar is a value that a condition computes, or a stand-in for one.
type scalar struct {
	value   sqlvalue.Value
	standIn standIn
	column  int // of isOther and isUndefined, -1 if there is none
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
func scalarOf(v query.Value) scalar { return scalar{value: sqlvalue.FromColumn(v)} }

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

// clockWord returns the value of CURRENT_DATE and CURRENT_TIMESTAMP, if the name is one
// of them and no column has it.
func (b *binder) clockWord(e *sqlparser.ColName) (constant, bool) {
	t, ok := b.g.Token(e.Name.String())
	if !ok || t.Kind != syntax.KindWord || !e.Qualifier.IsEmpty() || len(b.scope.columnsNamed("", t.Value)) > 0 {
		return constant{}, false
	}
	switch t.Upper {
	case "CURRENT_DATE":
		return constant{source: t, value: query.Text(b.now()[:10]), time: isDay}, true
	case "CURRENT_TIMESTAMP":
		return constant{source: t, value: query.Text(b.now()), time: isMoment}, true
	}
	return constant{}, false
}

// calledFunction returns the call of a function with its lower-case name, or "" and
// nil for any other expression.
func (b *binder) calledFunction(e sqlparser.Expr) (string, *sqlparser.FuncExpr) {
	f, ok := syntax.Unwrap(e).(*sqlparser.FuncExpr)
	if !ok || !f.Qualifier.IsEmpty() {
		return "", nil
	}
	if t, ok := b.g.Token(f.Name.String()); ok {
		return syntax.LowerASCII(t.Value), f
	}
	return strings.ToLower(f.Name.String()), f
}

// argumentsOf returns the arguments of a call. It is false if one is a star, or has a name.
func argumentsOf(f *sqlparser.FuncExpr) ([]sqlparser.Expr, bool) {
	args := make([]sqlparser.Expr, len(f.Exprs))
	for i, x := range f.Exprs {
		arg, ok := x.(*sqlparser.AliasedExpr)
		if !ok || !arg.As.IsEmpty() {
			return nil, false
		}
		args[i] = arg.Expr
	}
	return args, true
}

// expr is an expression over the columns of a table, with bounds that hold for all
// records. A sum has terms instead of operands.
type expr struct {
	operation operation // nil for a column, a constant and a sum
	args      []*expr
	terms     []term
	modulus   int64    // of a sum that is only used modulo this number, else 0
	mentions  []string // texts that it compares a text with
	column    int      // of a column, else -1
	literal   *constant
	affinity  query.Type // of a column: converts the values it is compared with; else 0
	derived   bool       // can be a text that neither the statement nor a domain lists
	time      temporal   // what it may be compared with if it is a date; else 0
	noCase    bool       // of a column: COLLATE NOCASE
	others    []int      // columns with OR OTHER whose text it can be
	digits    bool       // every value but NULL is a text of digits, all of one length
	size      uint64     // of a sum: bounds the magnitude of every part
	off       float64    // of a number in units: how far it may be from that of a row, by the declared steps
	full      bounds     // bounds of its value
	last      int        // the last column it depends on, -1 for none
	cost      int        // of the operation beyond the usual cost, in steps
}

// maxParts bounds the names, literals and operators in a statement's computed
// expressions.
const maxParts = 5_000

// constantExpr returns a literal or an argument as an expression.
func constantExpr(k constant) *expr {
	return &expr{column: -1, literal: &k, last: -1, time: k.time, full: exactly(k.scalar())}
}

// numberExpr returns an integer as an expression.
func numberExpr(n int64) *expr { return constantExpr(constant{value: query.Int(n)}) }

// apply applies an operation to expressions. A result that is the same for all
// records becomes a constant.
func apply(of operation, args ...*expr) *expr {
	x := &expr{operation: of, args: args, column: -1, last: -1}
	full := make([]bounds, len(args))
	for i, a := range args {
		full[i] = a.full
		x.last = max(x.last, a.last)
		x.derived = x.derived || a.derived
	}
	x.full = of(full)
	if x.full.known {
		return constantOf(x.full)
	}
	if !x.full.isNumber() {
		for _, a := range args {
			x.others = append(x.others, a.others...)
		}
	}
	return x
}

// applyLeft folds a binary operation over several operands, from left to right. It is
// then enough to remember one value for the operands so far.
func applyLeft(of operation, args []*expr) *expr {
	x := args[0]
	for _, y := range args[1:] {
		x = apply(of, x, y)
	}
	return x
}

// chainOf returns the AND, or the OR, of conditions, in the order of their columns.
func chainOf(args []*expr, and bool) *expr {
	args = slices.Clone(args)
	slices.SortStableFunc(args, func(x, y *expr) int { return cmp.Compare(x.last, y.last) })
	if and {
		return applyLeft(conjunction, args)
	}
	return applyLeft(disjunction, args)
}

// constantOf returns an expression with known bounds.
func constantOf(full bounds) *expr { return &expr{column: -1, last: -1, full: full} }

// isConstant reports whether the value is the same for all records.
func (x *expr) isConstant() bool { return x.last < 0 }

// columnExpr returns a column as an expression.
func (b *binder) columnExpr(column int) *expr {
	c := b.u.Columns()[column]
	x := &expr{column: column, affinity: c.ShownType(), last: column, full: anyText, noCase: c.Form.IsNoCase()}
	if c.Form.IsTime() {
		x.time, x.derived = isMoment, true
	}
	if c.Form.IsDate() {
		x.time = isDay
	} else if c.Form.IsClock() {
		x.time = isClock
	}
	if c.Form.HasOther() {
		x.others = []int{column}
	}
	if c.Domain.Finite() {
		x.full = boundsOf(c, 0, c.Domain.Size()-1)
	}
	return x
}

// countPart counts compiled parts of expressions and refuses too many.
func (b *binder) countPart() error {
	if b.spent.parts++; b.spent.parts > maxParts {
		return sqlerr.New(sqlerr.Unsupported, "the expressions of the statement are too long: they have more than %d parts", maxParts).
			WithHint(binHint)
	}
	return nil
}

// temporal says whether an expression is a date. Its values are then texts that sort as
// the instants do: YYYY-MM-DD, or that with HH:MM:SS behind a blank, or HH:MM:SS alone.
type temporal uint8

const (
	isDay temporal = iota + 1
	isMoment
	isClock
)

// function is one of SQLite's functions on values.
type function struct {
	least, most int                   // arguments
	rest        func([]bounds) bounds // bounds of the result while an argument is not known
	text        bool                  // the result can be a text
	compute     func(args []scalar) scalar
}

// operation returns the function as an operation.
func (f function) operation(name string) operation {
	return valueOperation("the function "+name+"()", f.rest, f.compute)
}
