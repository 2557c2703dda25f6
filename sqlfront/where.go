package sqlfront

import (
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// when returns where a condition is true (want) or is false (!want). The two
// are compiled apart because where NULL is involved a condition is neither:
// NOT swaps them, and AND is false where one side is false.
func (b *binder) when(e sqlparser.Expr, want bool) (pred, error) {
	switch e := e.(type) {
	case *sqlparser.ParenExpr:
		return b.when(syntax.Unwrap(e), want)
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
	}
	return b.whenComputed(e, want)
}

// unsupported refuses an expression.
func (b *binder) unsupported(e sqlparser.Expr) error {
	construct, hint := b.construct(e)
	return b.g.Start(e).Unsupported(construct).WithHint("%s", hint)
}

// whenChain compiles a whole chain of ANDs, or of ORs, at once. The parts of a
// conjunction that can pin a column come first.
func (b *binder) whenChain(e sqlparser.Expr, want bool) (pred, error) {
	_, and := e.(*sqlparser.AndExpr)
	parts := chain(e, and)
	preds := make([]pred, 0, len(parts))
	if and == want {
		defer func(pins map[int][]query.Value, pinning int) { b.pins, b.pinning = pins, pinning }(b.pins, b.pinning)
		var err error
		if preds, parts, err = b.pin(parts, want); err != nil {
			return pred{}, err
		}
	}
	for _, part := range parts {
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
		last := syntax.Unwrap(pending[len(pending)-1])
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
	return b.not(p)
}

// whenNotNull returns where the operand of an IS NULL is not NULL.
func (b *binder) whenNotNull(e *sqlparser.IsExpr, null bool) (pred, error) {
	o, ok, err := b.operand(e.Expr)
	switch {
	case err != nil:
		return pred{}, err
	case !ok && isCondition(e.Expr):
		return b.whenKnown(e)
	case !ok:
		return b.whenComputed(&sqlparser.IsExpr{Operator: sqlparser.IsNotNullStr, Expr: e.Expr}, true)
	case !o.isColumn:
		return truth(!o.constant.isNull()), nil
	}
	d := b.domain(o.column)
	if null && !d.HasNull() {
		b.warn(b.u.Columns()[o.column].Name + " IS NULL matches nothing: NULL is not in the declared domain " +
			syntax.Excerpt(d.String(), 80))
	}
	return where(o.column, d.NotNull()), nil
}

// isCondition reports whether an expression is made of conditions.
func isCondition(e sqlparser.Expr) bool {
	switch syntax.Unwrap(e).(type) {
	case *sqlparser.ComparisonExpr, *sqlparser.RangeCond, *sqlparser.IsExpr, *sqlparser.NotExpr, *sqlparser.AndExpr, *sqlparser.OrExpr:
		return true
	}
	return false
}

// whenKnown returns where a condition is true or false, and not unknown. It
// is kept for the node: nested IS NULLs would ask for it twice a level. What
// was compiled for the pinned values of a column holds while they are pinned;
// how often that happens is bounded.
func (b *binder) whenKnown(e *sqlparser.IsExpr) (pred, error) {
	key := knownKey{e, b.pinning}
	if p, ok := b.known[key]; ok {
		return p, nil
	}
	if b.pinning > 0 {
		if err := b.part(); err != nil {
			return pred{}, b.placedAt(err, e.Expr)
		}
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
	if b.known == nil {
		b.known = make(map[knownKey]pred)
	}
	b.known[key] = p
	return p, err
}

// knownKey names a condition, and the pins it is compiled under.
type knownKey struct {
	e       *sqlparser.IsExpr
	pinning int
}
