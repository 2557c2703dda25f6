package sqlfront

import (
	"cmp"
	"maps"
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// compileCondition returns the records for which a condition is true if truth is set,
// and those for which it is false otherwise. The two are compiled separately, because
// with NULL a condition is neither. NOT swaps them. AND is false if one side is false.
func (b *binder) compileCondition(e sqlparser.Expr, truth bool) (pred, error) {
	switch e := e.(type) {
	case *sqlparser.ParenExpr:
		return b.compileCondition(syntax.Unwrap(e), truth)
	case *sqlparser.NotExpr:
		return b.compileCondition(e.Expr, !truth)
	case *sqlparser.AndExpr, *sqlparser.OrExpr:
		return b.compileJunction(e, truth)
	case *sqlparser.ComparisonExpr:
		return b.compileComparison(e, truth)
	case *sqlparser.RangeCond:
		return b.compileBetween(e, truth)
	case *sqlparser.IsExpr:
		return b.compileIs(e, truth)
	}
	return b.compileComputed(e, truth)
}

// unsupported refuses an expression.
func (b *binder) unsupported(e sqlparser.Expr) error {
	construct, hint := b.construct(e)
	return b.g.StartToken(e).Unsupported(construct).WithHint("%s", hint)
}

// compileJunction compiles a whole chain of ANDs, or of ORs. The parts of a
// conjunction that can pin a column come first.
func (b *binder) compileJunction(e sqlparser.Expr, truth bool) (pred, error) {
	_, and := e.(*sqlparser.AndExpr)
	parts := flatten(e, and)
	preds := make([]pred, 0, len(parts))
	if and == truth {
		defer func(pins map[int][]query.Value, pinning int) { b.pins, b.pinning = pins, pinning }(b.pins, b.pinning)
		var err error
		if preds, parts, err = b.compilePins(parts, truth); err != nil {
			return pred{}, err
		}
	}
	for _, part := range parts {
		p, err := b.compileCondition(part, truth)
		if err != nil {
			return pred{}, err
		}
		preds = append(preds, p)
	}
	return b.merge(preds, and == truth)
}

// flatten returns the parts of nested ANDs, or ORs, in the order of the text.
func flatten(e sqlparser.Expr, and bool) []sqlparser.Expr {
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

// compileIs compiles IS [NOT] NULL, TRUE and FALSE, which are never unknown.
func (b *binder) compileIs(e *sqlparser.IsExpr, truth bool) (pred, error) {
	var p pred
	var err error
	switch e.Operator {
	case sqlparser.IsNotNullStr, sqlparser.IsNotTrueStr, sqlparser.IsNotFalseStr:
		truth = !truth
	}
	switch e.Operator {
	case sqlparser.IsTrueStr, sqlparser.IsNotTrueStr:
		p, err = b.compileCondition(e.Expr, true)
	case sqlparser.IsFalseStr, sqlparser.IsNotFalseStr:
		p, err = b.compileCondition(e.Expr, false)
	default:
		p, err = b.compileNotNull(e, truth)
		truth = !truth
	}
	if err != nil || truth {
		return p, err
	}
	return b.not(p)
}

// compileNotNull returns the records for which the operand of IS NULL is not NULL.
func (b *binder) compileNotNull(e *sqlparser.IsExpr, null bool) (pred, error) {
	o, ok, err := b.operand(e.Expr)
	switch {
	case err != nil:
		return pred{}, err
	case !ok && isCondition(e.Expr):
		return b.compileKnown(e)
	case !ok && null: // it warns if none is NULL
		p, err := b.compileComputed(&sqlparser.IsExpr{Operator: sqlparser.IsNullStr, Expr: e.Expr}, true)
		if err != nil {
			return pred{}, err
		}
		return b.not(p)
	case !ok:
		return b.compileComputed(&sqlparser.IsExpr{Operator: sqlparser.IsNotNullStr, Expr: e.Expr}, true)
	case !o.isColumn:
		return constantPred(!o.constant.isNull()), nil
	}
	d := b.domain(o.column)
	if null && !d.HasNull() {
		b.warn(b.u.Columns()[o.column].Name + " IS NULL matches nothing: NULL is not in the declared domain " +
			syntax.Excerpt(b.u.Columns()[o.column].DomainText(), 80))
	}
	return columnPred(o.column, d.NotNull()), nil
}

// isCondition reports whether an expression is made of conditions.
func isCondition(e sqlparser.Expr) bool {
	switch syntax.Unwrap(e).(type) {
	case *sqlparser.ComparisonExpr, *sqlparser.RangeCond, *sqlparser.IsExpr, *sqlparser.NotExpr, *sqlparser.AndExpr, *sqlparser.OrExpr:
		return true
	}
	return false
}

// compileKnown returns the records for which a condition is true or false, and not
// unknown. It keeps the result for the node, since nested IS NULLs ask for it twice per
// level. A result for the pinned values of a column holds while they are pinned. The
// number of such compilations is bounded.
func (b *binder) compileKnown(e *sqlparser.IsExpr) (pred, error) {
	key := knownKey{e, b.pinning}
	if p, ok := b.knownConditions[key]; ok {
		return p, nil
	}
	if b.pinning > 0 {
		if err := b.countPart(); err != nil {
			return pred{}, b.placedAt(err, e.Expr)
		}
	}
	yes, err := b.compileCondition(e.Expr, true)
	if err != nil {
		return pred{}, err
	}
	no, err := b.compileCondition(e.Expr, false)
	if err != nil {
		return pred{}, err
	}
	p, err := b.merge([]pred{yes, no}, false)
	if b.knownConditions == nil {
		b.knownConditions = make(map[knownKey]pred)
	}
	b.knownConditions[key] = p
	return p, err
}

// knownKey names a condition, and the pins it is compiled under.
type knownKey struct {
	e       *sqlparser.IsExpr
	pinning int
}

// pred is the set of records for which a condition holds. While that depends on
// one column only, it is kept as a set of the column's values.
type pred struct {
	shape  predShape
	always bool        // of a constant
	column int         // of a set
	set    query.Set   // of a set
	q      query.Query // of a diagram
}

type predShape uint8

const (
	isConstant predShape = iota
	isSet
	isDiagram
)

func constantPred(always bool) pred { return pred{always: always} }

func columnPred(column int, s query.Set) pred { return pred{shape: isSet, column: column, set: s} }

// query returns the diagram of a pred.
func (p pred) query(u *query.Universe) query.Query {
	switch {
	case p.shape == isSet:
		return query.Where(u, p.column, p.set)
	case p.shape == isDiagram:
		return p.q
	case p.always:
		return query.All(u)
	}
	return query.None(u)
}

// not returns the records for which p does not hold.
func (b *binder) not(p pred) (pred, error) {
	switch p.shape {
	case isSet:
		return columnPred(p.column, p.set.Complement()), nil
	case isDiagram:
		q, err := b.spent.work.Not(p.q)
		return pred{shape: isDiagram, q: q}, err
	}
	return constantPred(!p.always), nil
}

// merge returns the conjunction, or the disjunction, of preds. Those on one
// column are merged as sets before any diagram is made.
func (b *binder) merge(preds []pred, conjunction bool) (pred, error) {
	var sets []pred
	var diagrams []query.Query
	for _, p := range preds {
		switch {
		case p.shape == isSet:
			sets = append(sets, p)
		case p.shape == isDiagram:
			diagrams = append(diagrams, p.q)
		case p.always != conjunction:
			return p, nil
		}
	}
	merged := mergeSets(sets, conjunction)
	switch {
	case len(diagrams) == 0 && len(merged) == 0:
		return constantPred(conjunction), nil
	case len(diagrams) == 0 && len(merged) == 1:
		return merged[0], nil
	case len(diagrams) == 1 && len(merged) == 0:
		return pred{shape: isDiagram, q: diagrams[0]}, nil
	}
	op := b.spent.work.Or
	if conjunction {
		op = b.spent.work.And
	}
	if conjunction && len(merged) > 0 {
		diagrams = append(diagrams, conjunctionOf(b.u, merged))
		merged = nil
	}
	for _, p := range merged {
		diagrams = append(diagrams, p.query(b.u))
	}
	q, err := foldBalanced(diagrams, op)
	return pred{shape: isDiagram, q: q}, err
}

// conjunctionOf returns the diagram of sets of ascending columns, in one go.
func conjunctionOf(u *query.Universe, sets []pred) query.Query {
	each := make([]query.ColumnSet, len(sets))
	for i, p := range sets {
		each[i] = query.ColumnSet{Column: p.column, Set: p.set}
	}
	return query.Conjunction(u, each)
}

// mergeSets returns one set a column, in the columns' order.
func mergeSets(sets []pred, conjunction bool) []pred {
	op := query.Set.Union
	if conjunction {
		op = query.Set.Intersect
	}
	slices.SortStableFunc(sets, func(a, b pred) int { return cmp.Compare(a.column, b.column) })
	var merged []pred
	for len(sets) > 0 {
		n := 1
		for n < len(sets) && sets[n].column == sets[0].column {
			n++
		}
		p, _ := foldBalanced(sets[:n], func(a, b pred) (pred, error) { return columnPred(a.column, op(a.set, b.set)), nil })
		merged, sets = append(merged, p), sets[n:]
	}
	return merged
}

// foldBalanced combines values pairwise in a balanced tree, so that n small operands
// cost n log n and not n².
func foldBalanced[T any](values []T, op func(a, b T) (T, error)) (T, error) {
	if len(values) == 1 {
		return values[0], nil
	}
	a, err := foldBalanced(values[:len(values)/2], op)
	if err != nil {
		return a, err
	}
	b, err := foldBalanced(values[len(values)/2:], op)
	if err != nil {
		return b, err
	}
	return op(a, b)
}

// compilePins compiles the parts of a conjunction that can pin a column without a
// domain to a list of values, such as the first part of zip IN ('1', '2') AND zip LIKE
// '1%'. It returns the other parts, which are then compiled for those values only. The
// pins stay until the caller restores b.pins.
func (b *binder) compilePins(parts []sqlparser.Expr, truth bool) (preds []pred, rest []sqlparser.Expr, err error) {
	for _, part := range parts {
		column, ok := b.comparedColumn(part)
		if !ok {
			rest = append(rest, part)
			continue
		}
		p, err := b.compileCondition(part, truth)
		if err != nil {
			return nil, nil, err
		}
		preds = append(preds, p)
		if values, except := p.set.Listed(); p.shape == isSet && !except {
			b.addPin(column, values)
		}
	}
	return preds, rest, nil
}

// addPin notes the values of a column that matter.
func (b *binder) addPin(column int, values []query.Value) {
	if old, ok := b.pins[column]; ok && len(old) <= len(values) {
		return
	}
	b.pins = maps.Clone(b.pins)
	if b.pins == nil {
		b.pins = make(map[int][]query.Value)
	}
	b.pins[column] = values
	b.pinnings++
	b.pinning = b.pinnings
}

// isPinned reports whether only some values of a column matter.
func (b *binder) isPinned(column int) bool {
	_, ok := b.pins[column]
	return ok
}

// pinRows pins each column without a domain that FROM and WHERE restrict to a list of
// values. The rest of the statement is computed for these records only.
func (b *binder) pinRows() {
	for i, c := range b.u.Columns() {
		if c.Domain.Finite() {
			continue
		}
		if values, except := b.rows.Values(i).Listed(); !except {
			b.addPin(i, values)
		}
	}
}

// comparedColumn returns the column without a domain that a condition compares with
// constants. It is false for any other condition.
func (b *binder) comparedColumn(e sqlparser.Expr) (int, bool) {
	switch e := syntax.Unwrap(e).(type) {
	case *sqlparser.NotExpr:
		return b.comparedColumn(e.Expr)
	case *sqlparser.AndExpr, *sqlparser.OrExpr:
		_, and := e.(*sqlparser.AndExpr)
		return b.columnComparedByAll(flatten(e, and))
	case *sqlparser.ComparisonExpr:
		switch e.Operator {
		case sqlparser.EqualStr, sqlparser.NotEqualStr:
			return b.onlyColumn(e.Left, e.Right)
		case sqlparser.InStr, sqlparser.NotInStr:
			if list, ok := e.Right.(sqlparser.ValTuple); ok {
				return b.onlyColumn(append([]sqlparser.Expr{e.Left}, list...)...)
			}
			if _, public := e.Right.(*sqlparser.Subquery); public {
				return b.onlyColumn(e.Left)
			}
		}
	}
	return 0, false
}

// columnComparedByAll is comparedColumn for several conditions on one column.
func (b *binder) columnComparedByAll(parts []sqlparser.Expr) (int, bool) {
	first, ok := b.comparedColumn(parts[0])
	return first, ok && !slices.ContainsFunc(parts[1:], func(e sqlparser.Expr) bool {
		column, ok := b.comparedColumn(e)
		return !ok || column != first
	})
}

// onlyColumn returns the one operand that is a column without a domain. All other
// operands must be constants.
func (b *binder) onlyColumn(operands ...sqlparser.Expr) (int, bool) {
	column, found := 0, 0
	for _, e := range operands {
		o, ok, err := b.operand(e)
		if err != nil || !ok {
			return 0, false
		}
		if o.isColumn {
			column = o.column
			found++
		}
	}
	return column, found == 1 && !b.domain(column).Finite()
}
