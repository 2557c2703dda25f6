package sqlfront

import (
	"slices"

	"github.com/xwb1989/sqlparser"
)

// when returns where a condition is true (want) or is false (!want). The two
// are compiled apart because where NULL is involved a condition is neither:
// NOT swaps them, and AND is false where one side is false.
func (b *binder) when(e sqlparser.Expr, want bool) (pred, error) {
	switch e := e.(type) {
	case *sqlparser.ParenExpr:
		return b.when(unwrap(e), want)
	case *sqlparser.NotExpr:
		return b.when(e.Expr, !want)
	case *sqlparser.AndExpr, *sqlparser.OrExpr:
		return b.whenChain(e, want)
	case *sqlparser.ComparisonExpr:
		return b.whenComparison(e, want)
	case *sqlparser.RangeCond:
		return b.whenBetween(e, want)
	case *sqlparser.IsExpr:
		return b.whenIs(e, want)
	case *sqlparser.SQLVal, *sqlparser.UnaryExpr:
		return b.whenLiteral(e, want)
	case *sqlparser.ColName:
		if _, err := b.column(e); err != nil {
			return pred{}, err
		}
	}
	return pred{}, b.unsupported(e)
}

// unsupported refuses an expression.
func (b *binder) unsupported(e sqlparser.Expr) error {
	construct, hint := b.g.construct(e)
	return b.g.start(e).unsupported(construct).WithHint("%s", hint)
}

// whenChain compiles a whole chain of ANDs, or of ORs, at once.
func (b *binder) whenChain(e sqlparser.Expr, want bool) (pred, error) {
	_, and := e.(*sqlparser.AndExpr)
	var preds []pred
	for _, part := range chain(e, and) {
		p, err := b.when(part, want)
		if err != nil {
			return pred{}, err
		}
		preds = append(preds, p)
	}
	return b.merge(preds, and == want)
}

// chain returns the parts of nested ANDs, or ORs, in the order of the text.
func chain(e sqlparser.Expr, and bool) []sqlparser.Expr {
	var parts []sqlparser.Expr
	for pending := []sqlparser.Expr{e}; len(pending) > 0; {
		last := unwrap(pending[len(pending)-1])
		pending = pending[:len(pending)-1]
		if n, ok := last.(*sqlparser.AndExpr); ok && and {
			pending = append(pending, n.Left, n.Right)
		} else if n, ok := last.(*sqlparser.OrExpr); ok && !and {
			pending = append(pending, n.Left, n.Right)
		} else {
			parts = append(parts, last)
		}
	}
	slices.Reverse(parts)
	return parts
}

// whenLiteral compiles a literal as a condition, as in WHERE TRUE.
func (b *binder) whenLiteral(e sqlparser.Expr, want bool) (pred, error) {
	o, ok, err := b.operand(e)
	switch {
	case err != nil:
		return pred{}, err
	case !ok:
		return pred{}, b.unsupported(e)
	case o.isColumn: // a column named true
		return pred{}, b.unsupported(e)
	case o.constant.isNull():
		return truth(false), nil
	case o.constant.value.IsText():
		return pred{}, b.g.place(e).unsupported("a text as a condition")
	}
	return truth(o.constant.isZero() != want), nil
}

// whenIs compiles IS [NOT] NULL, TRUE and FALSE, which are never unknown.
func (b *binder) whenIs(e *sqlparser.IsExpr, want bool) (pred, error) {
	var p pred
	var err error
	switch e.Operator {
	case sqlparser.IsNotNullStr, sqlparser.IsNotTrueStr, sqlparser.IsNotFalseStr:
		want = !want
	}
	switch e.Operator {
	case sqlparser.IsTrueStr, sqlparser.IsNotTrueStr:
		p, err = b.when(e.Expr, true)
	case sqlparser.IsFalseStr, sqlparser.IsNotFalseStr:
		p, err = b.when(e.Expr, false)
	default:
		p, err = b.whenNotNull(e, want)
		want = !want
	}
	if err != nil || want {
		return p, err
	}
	return p.not()
}

// whenNotNull returns where the operand of an IS NULL is not NULL.
func (b *binder) whenNotNull(e *sqlparser.IsExpr, null bool) (pred, error) {
	o, ok, err := b.operand(e.Expr)
	switch {
	case err != nil:
		return pred{}, err
	case !ok:
		return b.whenKnown(e)
	case !o.isColumn:
		return truth(!o.constant.isNull()), nil
	}
	d := b.domain(o.column)
	if null && !d.HasNull() {
		b.warn(b.u.Columns()[o.column].Name + " IS NULL matches nothing: NULL is not in the declared domain " +
			excerpt(d.String(), 80))
	}
	return where(o.column, d.NotNull()), nil
}

// whenKnown returns where a condition is true or false, and not unknown. It
// is kept for the node: nested IS NULLs would ask for it twice a level.
func (b *binder) whenKnown(e *sqlparser.IsExpr) (pred, error) {
	if p, ok := b.known[e]; ok {
		return p, nil
	}
	yes, err := b.when(e.Expr, true)
	if err != nil {
		return pred{}, err
	}
	no, err := b.when(e.Expr, false)
	if err != nil {
		return pred{}, err
	}
	p, err := b.merge([]pred{yes, no}, false)
	b.known[e] = p
	return p, err
}
