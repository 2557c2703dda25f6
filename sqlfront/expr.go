package sqlfront

import (
	"cmp"
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
	"dpsql/sqlvalue"
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

// junctionOf returns the AND, or the OR, of conditions, in the order of their
// columns.
func junctionOf(args []*expr, and bool) *expr {
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
	if err := b.countPart(); err != nil {
		return nil, b.placedAt(err, e)
	}
	e = syntax.Unwrap(e)
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
	case *sqlparser.ComparisonExpr:
		if b.isMembership(e) {
			return b.memberExpr(e)
		}
		return b.comparisonExpr(e)
	case *sqlparser.RangeCond:
		if b.isOfReal(e.Left, e.From, e.To) {
			return b.memberExpr(e)
		}
		return b.rangeExpr(e)
	case *sqlparser.IsExpr:
		if (e.Operator == sqlparser.IsNullStr || e.Operator == sqlparser.IsNotNullStr) && b.isOfReal(e.Expr) {
			return b.memberExpr(e)
		}
		return b.isExpr(e)
	case *sqlparser.NotExpr:
		x, err := b.condition(e.Expr)
		return applied(err, negation, x)
	case *sqlparser.AndExpr:
		return b.junctionExpr(e, true)
	case *sqlparser.OrExpr:
		return b.junctionExpr(e, false)
	}
	return nil, b.unsupported(e)
}

// applied is apply, unless compiling the operands failed.
func applied(err error, of operation, args ...*expr) (*expr, error) {
	if err != nil {
		return nil, err
	}
	return apply(of, args...), nil
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

// condition compiles an expression that is used as a condition.
func (b *binder) condition(e sqlparser.Expr) (*expr, error) {
	return b.notText(e, "a text as a condition", "compare it with a value")
}

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

// junctionExpr compiles a chain of ANDs, or of ORs.
func (b *binder) junctionExpr(e sqlparser.Expr, and bool) (*expr, error) {
	var args []*expr
	for _, part := range flatten(e, and) {
		x, err := b.condition(part)
		if err != nil {
			return nil, err
		}
		args = append(args, x)
	}
	return junctionOf(args, and), nil
}

// isExpr compiles IS [NOT] NULL, TRUE and FALSE.
func (b *binder) isExpr(e *sqlparser.IsExpr) (*expr, error) {
	switch e.Operator {
	case sqlparser.IsNullStr, sqlparser.IsNotNullStr:
		x, err := b.expr(e.Expr)
		x, err = applied(err, isMissing, x)
		return negatedIf(e.Operator == sqlparser.IsNotNullStr, x, err)
	}
	x, err := b.condition(e.Expr)
	wanted := canBeTrue
	if e.Operator == sqlparser.IsFalseStr || e.Operator == sqlparser.IsNotFalseStr {
		wanted = canBeFalse
	}
	x, err = applied(err, testTruth(wanted), x)
	return negatedIf(e.Operator == sqlparser.IsNotTrueStr || e.Operator == sqlparser.IsNotFalseStr, x, err)
}

func negatedIf(not bool, x *expr, err error) (*expr, error) {
	if !not {
		return x, err
	}
	return applied(err, negation, x)
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
		var when *expr
		var err error
		if e.Expr == nil {
			when, err = b.condition(w.Cond)
		} else {
			when, err = b.comparisonOf(sqlparser.EqualStr, e.Expr, w.Cond)
		}
		if err != nil {
			return nil, err
		}
		args = append(args, when, results[i])
	}
	if e.Else == nil {
		results = append(results, constantExpr(constant{}))
	}
	return inTime(time, apply(firstTrue, append(args, results[len(e.Whens)])...)), nil
}

// isMembership reports whether a comparison can be compiled only as a set of a
// column's values: a comparison of a REAL column with constants, or IN (SELECT …).
func (b *binder) isMembership(e *sqlparser.ComparisonExpr) bool {
	if e.Operator == sqlparser.InStr || e.Operator == sqlparser.NotInStr {
		if list, ok := e.Right.(sqlparser.ValTuple); ok {
			return b.isOfReal(append([]sqlparser.Expr{e.Left}, list...)...)
		}
		_, ok := e.Right.(*sqlparser.Subquery)
		return ok
	}
	if relations[e.Operator] == "" {
		return false
	}
	_, _, _, solved := b.solved(e.Left, relations[e.Operator], e.Right)
	return solved || b.isOfReal(e.Left, e.Right)
}

// isOfReal reports whether one of the operands is a REAL column, and the others
// are constants.
func (b *binder) isOfReal(operands ...sqlparser.Expr) bool {
	columns := 0
	for _, e := range operands {
		o, ok, err := b.operand(e)
		if err != nil || !ok || o.isColumn && b.steps(o.column) == nil {
			return false
		}
		if o.isColumn {
			columns++
		}
	}
	return columns == 1
}

// memberExpr compiles a condition that is a set of one column's values.
func (b *binder) memberExpr(e sqlparser.Expr) (*expr, error) {
	yes, err := b.compileCondition(e, true)
	if err != nil {
		return nil, err
	}
	no, err := b.compileCondition(e, false)
	switch {
	case err != nil:
		return nil, err
	case yes.shape == isDiagram || no.shape == isDiagram:
		return nil, b.unsupported(e)
	case yes.shape == isConstant && no.shape == isConstant:
		return constantOf(membership(yes, no, query.Column{}, scalar{})), nil
	}
	column := yes.column
	if yes.shape == isConstant {
		column = no.column
	}
	x := apply(func(args []bounds) bounds {
		if !args[0].known {
			return integersBetween(0, 1, true)
		}
		return membership(yes, no, b.u.Columns()[column], args[0].lo)
	}, b.columnExpr(column))
	for _, p := range []pred{yes, no} {
		values, _ := p.set.Listed()
		for _, v := range values {
			if v.IsText() {
				x.mentions = append(x.mentions, v.Str())
			}
		}
	}
	return x, nil
}

// membership returns a condition's truth for a column's value: true in yes, false in
// no, and unknown outside of both.
func membership(yes, no pred, c query.Column, x scalar) bounds {
	switch {
	case yes.contains(c, x):
		return conditionBounds(true)
	case no.contains(c, x):
		return conditionBounds(false)
	}
	return exactly(scalar{})
}

// contains reports whether a set, or a constant, holds for a value of column c.
func (p pred) contains(c query.Column, x scalar) bool {
	if p.shape == isConstant {
		return p.always
	}
	if x.standIn == isOther {
		_, except := p.set.Listed()
		return except
	}
	v := query.Null()
	switch {
	case x.isInteger():
		v = query.Int(x.integer())
	case x.isText():
		v = query.Text(x.value.Str())
	}
	v, ok := c.Canonical(v)
	return ok && p.set.Contains(v)
}
