package sqlfront

import (
	"github.com/xwb1989/sqlparser"

	"dpsql/sqlerr"
	"dpsql/sqlvalue"
)

// expr compiles a syntax tree to an expression that has SQLite's value for
// every record. Conditions are expressions whose values are 1, 0 and NULL.
func (b *binder) expr(e sqlparser.Expr) (*expr, error) {
	if err := b.part(); err != nil {
		return nil, b.placedAt(err, e)
	}
	e = unwrap(e)
	if o, ok, err := b.operand(e); err != nil || ok {
		if o.isColumn && err == nil && b.joins.steps(o.column) != nil {
			return nil, b.g.start(e).unsupported("computing with REAL column " + b.u.Columns()[o.column].Name + " in a condition or function").
				WithHint("compare it with a number, or add it up")
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
		return b.comparisonExpr(e)
	case *sqlparser.RangeCond:
		return b.rangeExpr(e)
	case *sqlparser.IsExpr:
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

// applied is apply for operands that were compiled without an error.
func applied(err error, of operation, args ...*expr) (*expr, error) {
	if err != nil {
		return nil, err
	}
	return apply(of, args...), nil
}

// placedAt gives an error without a place that of an expression.
func (b *binder) placedAt(err error, e sqlparser.Expr) error {
	if s, ok := err.(*sqlerr.Error); ok {
		return s.At(b.g.start(e).position)
	}
	return err
}

// number compiles an operand of arithmetic.
func (b *binder) number(e sqlparser.Expr) (*expr, error) {
	return b.notText(e, "arithmetic with a text", binHint)
}

// condition compiles an expression that is used as a condition.
func (b *binder) condition(e sqlparser.Expr) (*expr, error) {
	return b.notText(e, "a text as a condition", "compare it with a value")
}

// notText compiles an expression that must not be a text.
func (b *binder) notText(e sqlparser.Expr, what, hint string) (*expr, error) {
	x, err := b.expr(e)
	switch {
	case err != nil:
		return nil, err
	case x.full.undefined():
		return nil, b.placedAt(b.undefined(x.full.lo), e)
	case !x.full.isNumber():
		return nil, b.g.start(e).unsupported(what).WithHint("%s", hint)
	}
	return x, nil
}

func (b *binder) unaryExpr(e *sqlparser.UnaryExpr) (*expr, error) {
	x, err := b.number(e.Expr)
	if err != nil {
		return nil, err
	}
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
	if bitOperators[e.Operator] {
		if mixes(e.Operator, e.Left) || mixes(e.Operator, e.Right) {
			return nil, b.g.start(e).unsupported("a mixture of bit operators").WithHint("set parentheses: (a & b) | c")
		}
	}
	x, err := b.number(e.Left)
	if err != nil {
		return nil, err
	}
	y, err := b.number(e.Right)
	if err != nil {
		return nil, err
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
	for _, part := range chain(e, and) {
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
		x, err = applied(err, missing, x)
		return negatedIf(e.Operator == sqlparser.IsNotNullStr, x, err)
	}
	x, err := b.condition(e.Expr)
	wanted := canBeTrue
	if e.Operator == sqlparser.IsFalseStr || e.Operator == sqlparser.IsNotFalseStr {
		wanted = canBeFalse
	}
	x, err = applied(err, test(wanted), x)
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
	args := make([]*expr, 0, 2*len(e.Whens)+1)
	for _, w := range e.Whens {
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
		then, err := b.expr(w.Val)
		if err != nil {
			return nil, err
		}
		args = append(args, when, then)
	}
	if e.Else == nil {
		return apply(choice, append(args, constantExpr(constant{}))...), nil
	}
	x, err := b.expr(e.Else)
	return applied(err, choice, append(args, x)...)
}
