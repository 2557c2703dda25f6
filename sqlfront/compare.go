package sqlfront

import (
	"fmt"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlfront/syntax"
	"dpsql/sqlvalue"
)

// relations are the comparison operators as the parser writes them.
var relations = map[string]sqlvalue.Relation{
	sqlparser.EqualStr: sqlvalue.Equal, sqlparser.NotEqualStr: sqlvalue.NotEqual,
	sqlparser.LessThanStr: sqlvalue.Less, sqlparser.LessEqualStr: sqlvalue.LessOrEqual,
	sqlparser.GreaterThanStr: sqlvalue.Greater, sqlparser.GreaterEqualStr: sqlvalue.GreaterOrEqual,
}

// mirrored returns the relation read from right to left.
func mirrored(r sqlvalue.Relation) sqlvalue.Relation {
	switch r {
	case sqlvalue.Less:
		return sqlvalue.Greater
	case sqlvalue.LessOrEqual:
		return sqlvalue.GreaterOrEqual
	case sqlvalue.Greater:
		return sqlvalue.Less
	case sqlvalue.GreaterOrEqual:
		return sqlvalue.LessOrEqual
	}
	return r
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
	case relations[e.Operator] == "":
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
	relation := relations[e.Operator]
	switch {
	case !simple || !also || l.isColumn && r.isColumn:
		return b.whenComputed(e, want)
	case isOrdered(relation) && (l.isColumn && b.isPinned(l.column) || r.isColumn && b.isPinned(r.column)):
		return b.whenComputed(e, want)
	case l.isColumn:
		return b.compareColumn(l.column, relation, r.constant, want)
	case r.isColumn:
		return b.compareColumn(r.column, mirrored(relation), l.constant, want)
	case l.constant.isNull() || r.constant.isNull():
		return truth(false), nil
	}
	return truth(relation.Holds(l.constant.compare(r.constant)) == want), nil
}

// isOrdered reports whether a relation asks for more than equality.
func isOrdered(r sqlvalue.Relation) bool { return r != sqlvalue.Equal && r != sqlvalue.NotEqual }

// compareColumn compiles column relation constant; with NULL it is unknown.
func (b *binder) compareColumn(column int, relation sqlvalue.Relation, k constant, want bool) (pred, error) {
	if k.isNull() {
		return truth(false), nil
	}
	yes, err := b.matching(column, relation, k)
	if err != nil || want {
		return where(column, yes), err
	}
	return where(column, b.domain(column).NotNull().Minus(yes)), nil
}

// matching returns the values of a column for which the comparison is true.
func (b *binder) matching(column int, relation sqlvalue.Relation, k constant) (query.Set, error) {
	d := b.domain(column)
	switch relation {
	case sqlvalue.Equal, sqlvalue.NotEqual:
		v, ok, err := b.convert(column, k)
		if err != nil {
			return query.Set{}, err
		}
		equal := d.None()
		if ok {
			equal = d.Of(v)
		}
		if relation == sqlvalue.NotEqual {
			return d.NotNull().Minus(equal), nil
		}
		if equal.IsEmpty() {
			b.warnOutside(column, "= "+k.label(), "it matches")
		}
		return equal, nil
	}
	return b.ordered(column, relation, k)
}

// warnOutside says that a literal can match nothing.
func (b *binder) warnOutside(column int, what, matches string) {
	c := b.u.Columns()[column]
	is := "is"
	if matches == "they match" {
		is = "are"
	}
	where := "outside the declared domain " + syntax.Excerpt(c.Domain.String(), 80)
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
