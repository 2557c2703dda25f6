package sqlfront

import (
	"maps"
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// pin compiles the parts of a conjunction that can leave only some values of a
// column without a domain, as the first of zip IN ('1', '2') AND zip LIKE '1%',
// and returns the other parts. These are then compiled for those values only:
// no others matter. It takes effect until b.pins is set back.
func (b *binder) pin(parts []sqlparser.Expr, want bool) (preds []pred, rest []sqlparser.Expr, err error) {
	for _, part := range parts {
		column, ok := b.about(part)
		if !ok {
			rest = append(rest, part)
			continue
		}
		p, err := b.when(part, want)
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

// pinRows pins the columns without a domain of which FROM and WHERE leave some
// values only: whatever else the statement computes is asked of these records.
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

// about returns the column without a domain that a condition compares with
// constants, when that is all it is made of.
func (b *binder) about(e sqlparser.Expr) (int, bool) {
	switch e := syntax.Unwrap(e).(type) {
	case *sqlparser.NotExpr:
		return b.about(e.Expr)
	case *sqlparser.AndExpr, *sqlparser.OrExpr:
		_, and := e.(*sqlparser.AndExpr)
		return b.aboutAll(chain(e, and))
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

// aboutAll is about for conditions on the same column.
func (b *binder) aboutAll(parts []sqlparser.Expr) (int, bool) {
	first, ok := b.about(parts[0])
	return first, ok && !slices.ContainsFunc(parts[1:], func(e sqlparser.Expr) bool {
		column, ok := b.about(e)
		return !ok || column != first
	})
}

// onlyColumn returns the one column without a domain among operands that are
// constants else.
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
