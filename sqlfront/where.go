package sqlfront

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// compileCondition returns the records for which a condition is true.
func (b *binder) compileCondition(e sqlparser.Expr) (pred, error) {
	c, err := b.condition(e)
	if err != nil {
		return pred{}, err
	}
	return b.where(c, true)
}

// where returns the records for which a condition is true if truth is set, and those
// for which it is false otherwise. The two are found separately, because with NULL a
// condition is neither. NOT swaps them. AND is false if one side is false. While a part
// depends on one column only, it stays a set of the column's values.
func (b *binder) where(c *condition, truth bool) (pred, error) {
	switch c.logic {
	case isLeaf:
		return b.leafRecords(&c.leaf, truth), nil
	case isNot:
		return b.where(c.parts[0], !truth)
	case isAnd, isOr:
		return b.whereAll(c, truth)
	case isTrue: // which is never unknown
		p, err := b.whereTrue(c)
		if err != nil || truth {
			return p, err
		}
		return b.not(p)
	}
	return b.whereComputed(c, truth)
}

// whereAll is where for a whole chain of ANDs, or of ORs. The parts of a conjunction
// that can pin a column come first.
func (b *binder) whereAll(c *condition, truth bool) (pred, error) {
	conjunction := (c.logic == isAnd) == truth
	parts := c.parts
	preds := make([]pred, 0, len(parts))
	if conjunction {
		defer func(pins map[int][]query.Value, pinning int) { b.pins, b.pinning = pins, pinning }(b.pins, b.pinning)
		var err error
		if preds, parts, err = b.pinColumns(parts, truth); err != nil {
			return pred{}, err
		}
	}
	for _, part := range parts {
		p, err := b.where(part, truth)
		if err != nil {
			return pred{}, err
		}
		preds = append(preds, p)
	}
	return b.merge(preds, conjunction)
}

// whereTrue returns the records for which the condition in an IS TRUE is true. It keeps the
// result for the node, since nested IS NULLs ask for it twice per level. A result for the
// pinned values of a column holds while they are pinned. The number of such compilations
// is bounded.
func (b *binder) whereTrue(c *condition) (pred, error) {
	key := testKey{c, b.pinning}
	if p, ok := b.tests[key]; ok {
		return p, nil
	}
	if b.pinning > 0 {
		if err := b.countPart(); err != nil {
			return pred{}, err
		}
	}
	p, err := b.where(c.parts[0], true)
	if err != nil {
		return pred{}, err
	}
	if b.tests == nil {
		b.tests = make(map[testKey]pred)
	}
	b.tests[key] = p
	return p, nil
}

// whereComputed is where for a condition that is known by its values as an expression.
func (b *binder) whereComputed(c *condition, truth bool) (pred, error) {
	wanted := canBeFalse
	if truth {
		wanted = canBeTrue
	}
	q, err := b.diagram(c.computed, func(r bounds) (int64, bool, error) {
		t := r.truths()
		if t == wanted {
			return 1, true, nil
		}
		return 0, t&wanted == 0, nil
	})
	if err != nil {
		return pred{}, b.placedAt(err, b.blamed(c.source))
	}
	p := b.simplest(q)
	if p.shape == isConstant && !p.always && (truth || c.logic == isMissing) {
		b.warnNothing(c.source)
	}
	return p, nil
}

// blamed returns what an error of a condition points to: a constant that a column is compared
// with, or all of it.
func (b *binder) blamed(e sqlparser.Expr) sqlparser.Expr {
	c, ok := syntax.Unwrap(e).(*sqlparser.ComparisonExpr)
	if !ok || relations[c.Operator] == "" {
		return e
	}
	l, simple, _ := b.operand(c.Left)
	r, also, _ := b.operand(c.Right)
	switch {
	case !simple || !also || l.isColumn == r.isColumn:
		return e
	case l.isColumn:
		return c.Right
	}
	return c.Left
}

// warnNothing warns that no record can meet a condition.
func (b *binder) warnNothing(e sqlparser.Expr) {
	if names := b.g.ColumnNames(e); len(names) > 0 {
		b.warn("a condition on " + syntax.Excerpt(strings.Join(names, ", "), 80) + " matches nothing in the declared domains")
	}
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

// pinColumns returns the records of those parts of a conjunction that can pin a column
// without a domain to a list of values, such as the first part of zip IN ('1', '2') AND
// zip LIKE '1%'. It returns the other parts, which are then compiled for those values
// only. The pins stay until the caller restores b.pins.
func (b *binder) pinColumns(parts []*condition, truth bool) (preds []pred, rest []*condition, err error) {
	for _, part := range parts {
		column, ok := b.leafColumn(part)
		if !ok {
			rest = append(rest, part)
			continue
		}
		p, err := b.where(part, truth)
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

// leafColumn returns the column without a domain that all leaves of a condition are of. It is
// false for any other condition.
func (b *binder) leafColumn(c *condition) (int, bool) {
	switch c.logic {
	case isLeaf:
		return c.leaf.column, !b.domain(c.leaf.column).Finite()
	case isNot, isAnd, isOr:
		first, ok := b.leafColumn(c.parts[0])
		return first, ok && !slices.ContainsFunc(c.parts[1:], func(part *condition) bool {
			column, ok := b.leafColumn(part)
			return !ok || column != first
		})
	}
	return 0, false
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
