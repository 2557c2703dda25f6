package sqlfront

import (
	"cmp"
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

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
	full      bounds     // bounds of its value
	last      int        // the last column it depends on, -1 for none
	cost      int        // of the operation beyond the usual cost, in steps
}

// maxParts bounds the names, literals and operators in a statement's computed
// expressions.
const maxParts = 5_000

// columnExpr returns a column as an expression.
func (b *binder) columnExpr(column int) *expr {
	c := b.u.Columns()[column]
	x := &expr{column: column, affinity: c.ShownType(), last: column, full: anyText, noCase: c.Form.IsNoCase()}
	if c.Form.IsTime() {
		x.time, x.derived = isMoment, true
	}
	if c.Form.IsDate() {
		x.time = isDay
	}
	if c.Form.HasOther() {
		x.others = []int{column}
	}
	if c.Domain.Finite() {
		x.full = boundsOf(c, 0, c.Domain.Size()-1)
	}
	return x
}

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

// effort counts the work of compiling a statement and its sub-selects.
type effort struct {
	parts int        // see maxParts
	steps int        // see maxSteps
	told  int        // the steps when the table was last told, see Worker
	work  query.Work // of combining conditions
	sums  query.Work // of combining functions, whose branches have leaves and no memory in between
}

// countPart counts compiled parts of expressions and refuses too many.
func (b *binder) countPart() error {
	if b.spent.parts++; b.spent.parts > maxParts {
		return sqlerr.New(sqlerr.Unsupported, "the expressions of the statement are too long: they have more than %d parts", maxParts).
			WithHint(binHint)
	}
	return nil
}

// expr compiles a syntax tree to an expression that has SQLite's value for
// every record. Conditions are expressions whose values are 1, 0 and NULL.
func (b *binder) expr(e sqlparser.Expr) (*expr, error) {
	if e = syntax.Unwrap(e); !isCondition(e) {
		return b.value(e)
	}
	c, err := b.conditionOf(e)
	if err != nil {
		return nil, err
	}
	return b.valueOf(c), nil
}

// value compiles an expression that is no condition.
func (b *binder) value(e sqlparser.Expr) (*expr, error) {
	if err := b.countPart(); err != nil {
		return nil, b.placedAt(err, e)
	}
	if o, ok, err := b.operand(e); err != nil || ok {
		if o.isColumn && err == nil && b.steps(o.column) != nil {
			return nil, b.refuseSteps(o.column, e)
		}
		if o.isColumn {
			return b.columnExpr(o.column), err
		}
		return constantExpr(o.constant), err
	}
	switch e := e.(type) {
	case *sqlparser.UnaryExpr:
		return b.unaryExpr(e)
	case *sqlparser.BinaryExpr:
		return b.binaryExpr(e)
	case *sqlparser.CaseExpr:
		return b.caseExpr(e)
	case *sqlparser.FuncExpr:
		return b.functionExpr(e)
	}
	return nil, b.unsupported(e)
}

// placedAt gives an error without a position the position of an expression.
func (b *binder) placedAt(err error, e sqlparser.Expr) error {
	if s, ok := err.(*sqlerr.Error); ok {
		return s.At(b.g.StartToken(e).Position)
	}
	return err
}

// number compiles an operand of arithmetic.
func (b *binder) number(e sqlparser.Expr) (*expr, error) {
	return b.notText(e, textArithmetic, binHint)
}

const textArithmetic = "arithmetic with a text"

// notText compiles an expression that must not be a text.
func (b *binder) notText(e sqlparser.Expr, what, hint string) (*expr, error) {
	x, err := b.expr(e)
	if err != nil {
		return nil, err
	}
	return x, b.refuseText(x, e, what, hint)
}

// refuseText refuses a compiled expression that can be a text, or has no value.
func (b *binder) refuseText(x *expr, e sqlparser.Expr, what, hint string) error {
	switch {
	case x.full.undefined():
		return b.placedAt(b.undefined(x.full.lo), e)
	case !x.full.isNumber():
		return b.g.StartToken(e).Unsupported(what).WithHint("%s", hint)
	}
	return nil
}

func (b *binder) unaryExpr(e *sqlparser.UnaryExpr) (*expr, error) {
	x, err := b.number(e.Expr)
	if err != nil {
		return nil, err
	}
	return b.unaryOf(e, x)
}

// unaryOf applies a sign, or ~, to its compiled operand.
func (b *binder) unaryOf(e *sqlparser.UnaryExpr, x *expr) (*expr, error) {
	switch e.Operator {
	case sqlparser.UPlusStr:
		x := *x // without the affinity of a column
		x.affinity = 0
		return &x, nil
	case sqlparser.UMinusStr:
		return sum(numberExpr(0), x, true), nil
	case sqlparser.TildaStr:
		return apply(complement, x), nil
	}
	return nil, b.unsupported(e)
}

// bitOperators have one precedence in SQLite, and several in MySQL.
var bitOperators = map[string]bool{
	sqlparser.BitAndStr: true, sqlparser.BitOrStr: true, sqlparser.ShiftLeftStr: true, sqlparser.ShiftRightStr: true,
}

func (b *binder) binaryExpr(e *sqlparser.BinaryExpr) (*expr, error) {
	x, err := b.expr(e.Left)
	if err != nil {
		return nil, err
	}
	y, err := b.expr(e.Right)
	if err != nil {
		return nil, err
	}
	if x, ok, err := b.dateArithmetic(e, x, y); ok || err != nil {
		return x, err
	}
	if err := b.refuseText(x, e.Left, textArithmetic, binHint); err != nil {
		return nil, err
	}
	if err := b.refuseText(y, e.Right, textArithmetic, binHint); err != nil {
		return nil, err
	}
	return b.binaryOf(e, x, y)
}

// binaryOf applies an arithmetic operator to its compiled operands.
func (b *binder) binaryOf(e *sqlparser.BinaryExpr, x, y *expr) (*expr, error) {
	if bitOperators[e.Operator] && (mixes(e.Operator, e.Left) || mixes(e.Operator, e.Right)) {
		return nil, b.g.StartToken(e).Unsupported("a mixture of bit operators").WithHint("set parentheses: (a & b) | c")
	}
	switch e.Operator {
	case sqlparser.PlusStr, sqlparser.MinusStr:
		return sum(x, y, e.Operator == sqlparser.MinusStr), nil
	case sqlparser.ModStr:
		return modulo(x, y), nil
	case sqlparser.MultStr, sqlparser.DivStr:
		return apply(arithmetical(sqlvalue.Operator(e.Operator)), x, y), nil
	}
	if !bitOperators[e.Operator] {
		return nil, b.unsupported(e)
	}
	return apply(arithmetical(sqlvalue.Operator(e.Operator)), x, y), nil
}

// mixes reports whether an operand is itself another bit operation.
func mixes(operator string, e sqlparser.Expr) bool {
	o, ok := e.(*sqlparser.BinaryExpr)
	return ok && bitOperators[o.Operator] && o.Operator != operator
}

// unsupported refuses an expression.
func (b *binder) unsupported(e sqlparser.Expr) error {
	construct, hint := b.construct(e)
	return b.g.StartToken(e).Unsupported(construct).WithHint("%s", hint)
}

// caseExpr compiles both forms of CASE.
func (b *binder) caseExpr(e *sqlparser.CaseExpr) (*expr, error) {
	var results []*expr
	for _, w := range e.Whens {
		then, err := b.expr(w.Val)
		if err != nil {
			return nil, err
		}
		results = append(results, then)
	}
	if e.Else != nil {
		x, err := b.expr(e.Else)
		if err != nil {
			return nil, err
		}
		results = append(results, x)
	}
	return b.caseOf(e, results)
}

// caseOf compiles a CASE with the results of its arms and its ELSE.
func (b *binder) caseOf(e *sqlparser.CaseExpr, results []*expr) (*expr, error) {
	args, time := make([]*expr, 0, 2*len(e.Whens)+1), alike(results)
	for i, w := range e.Whens {
		var when *condition
		var err error
		if e.Expr == nil {
			when, err = b.condition(w.Cond)
		} else {
			when, err = b.compare(sqlparser.EqualStr, e.Expr, w.Cond)
		}
		if err != nil {
			return nil, err
		}
		args = append(args, b.valueOf(when), results[i])
	}
	if e.Else == nil {
		results = append(results, constantExpr(constant{}))
	}
	return inTime(time, apply(firstTrue, append(args, results[len(e.Whens)])...)), nil
}
