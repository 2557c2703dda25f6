package sqlfront

import (
	"github.com/xwb1989/sqlparser"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// maxRow bounds the values of a row value.
const maxRow = 100

// splitRows writes a comparison of row values, such as (a, b) = (1, 2) and (a, b)
// IN ((0, 1), (1, 1)), with comparisons of their values; false where the
// operands are no rows.
func (b *binder) splitRows(e *sqlparser.ComparisonExpr) (sqlparser.Expr, bool, error) {
	left, ok := e.Left.(sqlparser.ValTuple)
	if !ok {
		return nil, false, nil
	}
	right, ok := e.Right.(sqlparser.ValTuple)
	if !ok {
		return nil, false, nil
	}
	var err error
	var x sqlparser.Expr
	switch e.Operator {
	case sqlparser.InStr, sqlparser.NotInStr:
		x, err = b.rowIn(left, right)
		return notIf(e.Operator == sqlparser.NotInStr, x), true, err
	case syntax.OperatorIs, syntax.OperatorIsNot:
		x, err = b.rowEqual(syntax.OperatorSame, left, right)
		return notIf(e.Operator == syntax.OperatorIsNot, x), true, err
	case sqlparser.EqualStr, sqlparser.NotEqualStr:
		x, err = b.rowEqual(sqlparser.EqualStr, left, right)
		return notIf(e.Operator == sqlparser.NotEqualStr, x), true, err
	}
	if relations[e.Operator] == "" {
		return nil, false, nil
	}
	x, err = b.rowOrdered(e.Operator, left, right)
	return x, true, err
}

func notIf(not bool, e sqlparser.Expr) sqlparser.Expr {
	if not {
		return &sqlparser.NotExpr{Expr: e}
	}
	return e
}

// checkRows refuses rows that cannot be compared.
func (b *binder) checkRows(left, right sqlparser.ValTuple) error {
	switch {
	case len(left) != len(right):
		return sqlerr.New(sqlerr.Invalid, "a row of %d values is compared with a row of %d", len(left), len(right)).
			At(b.g.Start(right).Position)
	case len(left) > maxRow:
		return b.g.Start(left).Unsupported("a row of this many values")
	}
	return nil
}

// rowEqual is a = c AND b = d for (a, b) = (c, d), and the same with IS.
func (b *binder) rowEqual(operator string, left, right sqlparser.ValTuple) (sqlparser.Expr, error) {
	if err := b.checkRows(left, right); err != nil {
		return nil, err
	}
	var all sqlparser.Expr
	for i := range left {
		equal := &sqlparser.ComparisonExpr{Left: left[i], Operator: operator, Right: right[i]}
		if all == nil {
			all = equal
		} else {
			all = &sqlparser.AndExpr{Left: all, Right: equal}
		}
	}
	return all, nil
}

// rowOrdered is a < c OR a = c AND b < d for (a, b) < (c, d).
func (b *binder) rowOrdered(operator string, left, right sqlparser.ValTuple) (sqlparser.Expr, error) {
	if err := b.checkRows(left, right); err != nil {
		return nil, err
	}
	sharp := map[string]string{sqlparser.LessEqualStr: sqlparser.LessThanStr, sqlparser.GreaterEqualStr: sqlparser.GreaterThanStr}[operator]
	if sharp == "" {
		sharp = operator
	}
	last := len(left) - 1
	var x sqlparser.Expr = &sqlparser.ComparisonExpr{Left: left[last], Operator: operator, Right: right[last]}
	for i := last - 1; i >= 0; i-- {
		equal := &sqlparser.ComparisonExpr{Left: left[i], Operator: sqlparser.EqualStr, Right: right[i]}
		x = &sqlparser.OrExpr{
			Left:  &sqlparser.ComparisonExpr{Left: left[i], Operator: sharp, Right: right[i]},
			Right: &sqlparser.AndExpr{Left: equal, Right: x},
		}
	}
	return x, nil
}

// rowIn is the disjunction of the equalities with the rows of a list.
func (b *binder) rowIn(left, list sqlparser.ValTuple) (sqlparser.Expr, error) {
	var any sqlparser.Expr
	for _, e := range list {
		right, ok := syntax.Unwrap(e).(sqlparser.ValTuple)
		if !ok {
			return nil, sqlerr.New(sqlerr.Invalid, "a row of %d values is looked up among single values", len(left)).
				WithHint("write (a, b) IN ((1, 2), (3, 4))").At(b.g.Start(e).Position)
		}
		equal, err := b.rowEqual(sqlparser.EqualStr, left, right)
		switch {
		case err != nil:
			return nil, err
		case any == nil:
			any = equal
		default:
			any = &sqlparser.OrExpr{Left: any, Right: equal}
		}
	}
	return any, nil
}
