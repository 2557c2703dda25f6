package sqlfront

import (
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

const inPublicHint = "write column IN (SELECT column FROM a public table)"

// whenInPublic compiles x IN (SELECT column FROM table), where x is a column and
// the table is public: x IN the list of its values.
func (b *binder) whenInPublic(e *sqlparser.ComparisonExpr, sub *sqlparser.Subquery, want bool) (pred, error) {
	x, simple, err := b.operand(e.Left)
	if err != nil {
		return pred{}, err
	}
	table, column, ok := b.selectedColumn(sub)
	if !simple || !x.isColumn || !ok || query.SameName(table.Value, b.table.Name()) {
		return pred{}, b.g.Start(sub).Unsupported("a sub-select").WithHint(inPublicHint)
	}
	t, err := b.public(syntax.Name{Text: table.Value, Position: table.Position}, table)
	if err != nil {
		return pred{}, err
	}
	i := slices.IndexFunc(t.Columns, func(name string) bool { return query.SameName(name, column.Value) })
	if i < 0 {
		return pred{}, sqlerr.New(sqlerr.Unknown, "no column %s in the public table %s", syntax.Excerpt(column.Value, 40), syntax.Excerpt(table.Value, 40)).At(column.Position)
	}
	d := b.domain(x.column)
	listed, ok := t.domain(i)
	if !ok || listed.Type() != d.Type() || t.steps(i) != nil || b.joins.steps(x.column) != nil {
		return pred{}, column.Unsupported("a list of values of another type").
			WithHint("%s is %v; the values of %s must all be, or NULL", b.u.Columns()[x.column].Name, d.Type(), syntax.Excerpt(column.Value, 40))
	}
	values := make([]query.Value, 0, listed.Size())
	for v := range listed.NotNull().Each() {
		values = append(values, v)
	}
	return b.among(x.column, d.Of(values...), listed.HasNull(), want), nil
}

// selectedColumn returns the table and the column of SELECT column FROM table,
// false where the sub-select is anything more.
func (b *binder) selectedColumn(sub *sqlparser.Subquery) (table, column syntax.Token, ok bool) {
	s, ok := sub.Select.(*sqlparser.Select)
	if !ok || len(s.SelectExprs) != 1 || len(s.From) != 1 || s.Where != nil || s.GroupBy != nil || s.Having != nil || s.Limit != nil {
		return table, column, false
	}
	it, ok := s.SelectExprs[0].(*sqlparser.AliasedExpr)
	if !ok {
		return table, column, false
	}
	c, ok := syntax.Unwrap(it.Expr).(*sqlparser.ColName)
	if !ok || !c.Qualifier.IsEmpty() {
		return table, column, false
	}
	from, ok := s.From[0].(*sqlparser.AliasedTableExpr)
	if !ok {
		return table, column, false
	}
	name, ok := from.Expr.(sqlparser.TableName)
	if !ok || !name.Qualifier.IsEmpty() {
		return table, column, false
	}
	table, ok = b.g.Token(name.Name.String())
	if !ok || b.g.IsSubselect(table) {
		return table, column, false
	}
	column, ok = b.g.Token(c.Name.String())
	return table, column, ok
}
