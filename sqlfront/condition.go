package sqlfront

import (
	"github.com/xwb1989/sqlparser"

	"dpsql/post"
	"dpsql/sqlfront/syntax"
)

// condition compiles a condition over keys and aggregates, as in HAVING.
func (o *outputs) condition(e sqlparser.Expr, aliases bool) (post.Expr, error) {
	switch e := e.(type) {
	case *sqlparser.AndExpr, *sqlparser.OrExpr:
		_, and := e.(*sqlparser.AndExpr)
		logic := post.Logic{And: and}
		for _, part := range chain(e, and) {
			p, err := o.number(part, aliases, "a condition")
			if err != nil {
				return nil, err
			}
			logic.Of = append(logic.Of, p)
		}
		return logic, nil
	case *sqlparser.NotExpr:
		p, err := o.number(e.Expr, aliases, "a condition")
		return post.Not{Of: p}, err
	case *sqlparser.IsExpr:
		return o.is(e, aliases)
	case *sqlparser.RangeCond:
		return o.between(e, aliases)
	case *sqlparser.ComparisonExpr:
		if e.Operator == sqlparser.InStr || e.Operator == sqlparser.NotInStr {
			return o.in(e, aliases)
		}
		return o.comparison(e.Left, e.Operator, e.Right, aliases)
	}
	return nil, o.outside(e)
}

// comparison compiles left operator right: of two numbers, or of two texts.
func (o *outputs) comparison(left sqlparser.Expr, operator string, right sqlparser.Expr, aliases bool) (post.Expr, error) {
	op, ok := relations[operator]
	if !ok {
		return nil, o.g.Start(left).Unsupported(syntax.UpperASCII(operator) + " outside WHERE").WithHint("put it into WHERE")
	}
	l, err := o.expr(left, aliases)
	if err != nil {
		return nil, err
	}
	r, err := o.expr(right, aliases)
	if err != nil {
		return nil, err
	}
	if l != (post.Constant{}) && r != (post.Constant{}) && (l.Type() == post.Text) != (r.Type() == post.Text) {
		return nil, o.g.Start(left).Unsupported("a comparison of a number with a text outside WHERE").
			WithHint("compare numbers with numbers, and texts with texts in single quotes")
	}
	return post.Comparison{Op: op, Left: l, Right: r}, nil
}

// between compiles x BETWEEN a AND b as x >= a AND x <= b.
func (o *outputs) between(e *sqlparser.RangeCond, aliases bool) (post.Expr, error) {
	low, err := o.comparison(e.Left, sqlparser.GreaterEqualStr, e.From, aliases)
	if err != nil {
		return nil, err
	}
	high, err := o.comparison(e.Left, sqlparser.LessEqualStr, e.To, aliases)
	if err != nil {
		return nil, err
	}
	both := post.Logic{And: true, Of: []post.Expr{low, high}}
	if e.Operator == sqlparser.NotBetweenStr {
		return post.Not{Of: both}, nil
	}
	return both, nil
}

// in compiles x IN (a, b) as x = a OR x = b.
func (o *outputs) in(e *sqlparser.ComparisonExpr, aliases bool) (post.Expr, error) {
	list, ok := e.Right.(sqlparser.ValTuple)
	if !ok {
		return nil, o.outside(e.Right)
	}
	var any post.Logic
	for _, x := range list {
		equal, err := o.comparison(e.Left, sqlparser.EqualStr, x, aliases)
		if err != nil {
			return nil, err
		}
		any.Of = append(any.Of, equal)
	}
	if e.Operator == sqlparser.NotInStr {
		return post.Not{Of: any}, nil
	}
	return any, nil
}

// is compiles IS [NOT] NULL, TRUE and FALSE.
func (o *outputs) is(e *sqlparser.IsExpr, aliases bool) (post.Expr, error) {
	var out post.Expr
	switch e.Operator {
	case sqlparser.IsNullStr, sqlparser.IsNotNullStr:
		x, err := o.expr(e.Expr, aliases)
		if err != nil {
			return nil, err
		}
		out = post.IsNull{Of: x}
	default:
		x, err := o.number(e.Expr, aliases, "a condition")
		if err != nil {
			return nil, err
		}
		out = post.Is{Of: x, True: e.Operator == sqlparser.IsTrueStr || e.Operator == sqlparser.IsNotTrueStr}
	}
	switch e.Operator {
	case sqlparser.IsNotNullStr, sqlparser.IsNotTrueStr, sqlparser.IsNotFalseStr:
		return post.Not{Of: out}, nil
	}
	return out, nil
}
