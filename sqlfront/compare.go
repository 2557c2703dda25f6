package sqlfront

import (
	"fmt"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
)

// mirrored is a comparison operator read from right to left.
var mirrored = map[string]string{
	sqlparser.EqualStr: sqlparser.EqualStr, sqlparser.NotEqualStr: sqlparser.NotEqualStr,
	sqlparser.LessThanStr: sqlparser.GreaterThanStr, sqlparser.GreaterThanStr: sqlparser.LessThanStr,
	sqlparser.LessEqualStr: sqlparser.GreaterEqualStr, sqlparser.GreaterEqualStr: sqlparser.LessEqualStr,
}

// whenComparison compiles =, <>, <, <=, >, >=, IN and NOT IN.
func (b *binder) whenComparison(e *sqlparser.ComparisonExpr, want bool) (pred, error) {
	if rows, ok, err := b.splitRows(e); err != nil {
		return pred{}, err
	} else if ok {
		return b.when(rows, want)
	}
	switch {
	case e.Operator == sqlparser.InStr:
		return b.whenIn(e, want)
	case e.Operator == sqlparser.NotInStr:
		return b.whenIn(e, !want)
	case mirrored[e.Operator] == "":
		return b.whenComputed(e, want)
	}
	return b.compare(e, want)
}

// compare compiles a comparison: of a column with a constant at once, any other
// by computing it.
func (b *binder) compare(e *sqlparser.ComparisonExpr, want bool) (pred, error) {
	l, simple, err := b.operand(e.Left)
	if err != nil {
		return pred{}, err
	}
	r, also, err := b.operand(e.Right)
	if err != nil {
		return pred{}, err
	}
	switch {
	case !simple || !also || l.isColumn && r.isColumn:
		return b.whenComputed(e, want)
	case isOrdered(e.Operator) && (l.isColumn && b.isPinned(l.column) || r.isColumn && b.isPinned(r.column)):
		return b.whenComputed(e, want)
	case l.isColumn:
		return b.compareColumn(l.column, e.Operator, r.constant, want)
	case r.isColumn:
		return b.compareColumn(r.column, mirrored[e.Operator], l.constant, want)
	case l.constant.isNull() || r.constant.isNull():
		return truth(false), nil
	}
	return truth(holds(e.Operator, l.constant.compare(r.constant)) == want), nil
}

// isOrdered reports whether an operator asks for more than equality.
func isOrdered(operator string) bool {
	return operator != sqlparser.EqualStr && operator != sqlparser.NotEqualStr
}

// holds reports whether the operator accepts the result of a comparison.
func holds(operator string, c int) bool {
	switch operator {
	case sqlparser.EqualStr:
		return c == 0
	case sqlparser.NotEqualStr:
		return c != 0
	case sqlparser.LessThanStr:
		return c < 0
	case sqlparser.LessEqualStr:
		return c <= 0
	case sqlparser.GreaterThanStr:
		return c > 0
	}
	return c >= 0
}

// compareColumn compiles column operator constant; with NULL it is unknown.
func (b *binder) compareColumn(column int, operator string, k constant, want bool) (pred, error) {
	if k.isNull() {
		return truth(false), nil
	}
	yes, err := b.matching(column, operator, k)
	if err != nil || want {
		return where(column, yes), err
	}
	return where(column, b.domain(column).NotNull().Minus(yes)), nil
}

// matching returns the values of a column for which the comparison is true.
func (b *binder) matching(column int, operator string, k constant) (query.Set, error) {
	d := b.domain(column)
	switch operator {
	case sqlparser.EqualStr, sqlparser.NotEqualStr:
		v, ok, err := b.convert(column, k)
		if err != nil {
			return query.Set{}, err
		}
		equal := d.None()
		if ok {
			equal = d.Of(v)
		}
		if operator == sqlparser.NotEqualStr {
			return d.NotNull().Minus(equal), nil
		}
		if equal.IsEmpty() {
			b.warnOutside(column, "= "+k.label(), "it matches")
		}
		return equal, nil
	}
	return b.ordered(column, operator, k)
}

// warnOutside says that a literal can match nothing.
func (b *binder) warnOutside(column int, what, matches string) {
	c := b.u.Columns()[column]
	is := "is"
	if matches == "they match" {
		is = "are"
	}
	where := "outside the declared domain " + excerpt(c.Domain.String(), 80)
	if b.joins.steps(column) != nil { // which has no domain but its values
		where = "in no row of the public table"
	}
	b.warn(fmt.Sprintf("%s %s %s %s: %s nothing", c.Name, what, is, where, matches))
}

// whenBetween compiles x BETWEEN a AND b as x >= a AND x <= b.
func (b *binder) whenBetween(e *sqlparser.RangeCond, want bool) (pred, error) {
	if e.Operator == sqlparser.NotBetweenStr {
		want = !want
	}
	from, to := rangeParts(e)
	low, err := b.whenComparison(from, want)
	if err != nil {
		return pred{}, err
	}
	high, err := b.whenComparison(to, want)
	if err != nil {
		return pred{}, err
	}
	return b.merge([]pred{low, high}, want)
}
