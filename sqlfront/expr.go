package sqlfront

import (
	"github.com/xwb1989/sqlparser"

	"dpsql/internal/sqlvalue"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

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

// exprs compiles expressions.
func (b *binder) exprs(all []sqlparser.Expr) ([]*expr, error) {
	compiled := make([]*expr, len(all))
	for i, e := range all {
		var err error
		if compiled[i], err = b.expr(e); err != nil {
			return nil, err
		}
	}
	return compiled, nil
}

// both compiles two operands.
func (b *binder) both(left, right sqlparser.Expr) (x, y *expr, err error) {
	if x, err = b.expr(left); err == nil {
		y, err = b.expr(right)
	}
	return x, y, err
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

func (b *binder) binaryExpr(e *sqlparser.BinaryExpr) (*expr, error) {
	x, y, err := b.both(e.Left, e.Right)
	if err != nil {
		return nil, err
	}
	if x, ok, err := b.dateArithmetic(e, x, y); ok || err != nil {
		return x, err
	}
	x, y = unquoted(x), unquoted(y)
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
	results, err := b.exprs(resultsOf(e))
	if err != nil {
		return nil, err
	}
	return b.caseOf(e, results)
}

// resultsOf returns the results of a CASE, that of ELSE last.
func resultsOf(e *sqlparser.CaseExpr) []sqlparser.Expr {
	results := make([]sqlparser.Expr, 0, len(e.Whens)+1)
	for _, w := range e.Whens {
		results = append(results, w.Val)
	}
	if e.Else != nil {
		results = append(results, e.Else)
	}
	return results
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

// compared applies a comparison. It refuses to compare a computed text with an
// unnamed text of a column without a domain, because the two could be equal.
func compared(of operation, x, y *expr) *expr {
	if x.derived || y.derived {
		of = refuseUnnamed("a comparison with a computed text", of)
	}
	return apply(of, x, y)
}

// comparedBy applies an operator that compares.
func comparedBy(operator string, x, y *expr) *expr {
	if operator != syntax.OperatorSame {
		if d := difference(x, y); d != nil {
			return apply(comparison(relations[operator]), d, numberExpr(0))
		}
	}
	of := isSame
	if operator != syntax.OperatorSame {
		of = comparison(relations[operator])
	}
	return compared(of, x, y)
}

// difference returns x − y if comparing it with 0 is the same as comparing x with y.
// That holds for integers whose difference cannot overflow. Otherwise it returns nil.
// Constants are compared as they are.
func difference(x, y *expr) *expr {
	if x.isConstant() || y.isConstant() || x.full.isNull() || y.full.isNull() {
		return nil
	}
	if d := sum(x, y, true); d.terms != nil {
		return d
	}
	return nil
}
