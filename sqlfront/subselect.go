package sqlfront

import (
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// bindFrom sets the scope to that of the FROM clause. It returns the records that
// FROM leaves.
func (b *binder) bindFrom() (pred, error) {
	all := []pred{constantPred(true)}
	private := false
	for i := range b.s.From {
		from := &b.s.From[i]
		if j := b.joins[from]; j != nil {
			b.scope = append(b.scope, j.relation(from.Alias.Text))
			continue
		}
		if private {
			return pred{}, from.Token.Unsupported("a join").WithHint(syntax.JoinHint)
		}
		r, kept, err := b.relation(from)
		if err != nil {
			return pred{}, err
		}
		b.scope, all, private = append(b.scope, r), append(all, kept), true
	}
	for i := range b.s.From {
		from := &b.s.From[i]
		if j := b.joins[from]; i > 0 && (j != nil || b.joins[&b.s.From[0]] != nil) {
			if j == nil { // the public table is written first
				j = b.joins[&b.s.From[0]]
			}
			kept, err := b.bindOn(from, j)
			if err != nil {
				return pred{}, err
			}
			all = append(all, kept)
		}
	}
	return b.merge(all, true)
}

// relation binds the private table, or a sub-select of it.
func (b *binder) relation(from *syntax.FromItem) (relation, pred, error) {
	if from.Sub == nil {
		r := relation{name: from.Alias.Text}
		for i, c := range b.table.Universe().Columns() {
			r.columns = append(r.columns, visible{c.Name, i})
		}
		return r, constantPred(true), nil
	}
	sub := &binder{s: from.Sub, g: from.Sub.Tokens, table: b.table, u: b.u, joins: b.joins, read: b.read, args: b.args, knownConditions: make(map[knownKey]pred), spent: b.spent}
	columns, kept, err := sub.subselect()
	for _, w := range sub.warnings {
		b.warn(w)
	}
	if err != nil {
		return relation{}, pred{}, placedAtWhere(from.Sub, err)
	}
	return relation{from.Alias.Text, columns}, kept, nil
}

// subselect binds a SELECT that only renames columns and filters rows.
func (b *binder) subselect() ([]visible, pred, error) {
	s := b.s
	switch {
	case s.Distinct:
		return nil, pred{}, b.notInside("DISTINCT")
	case s.GroupBy != nil:
		return nil, pred{}, b.notInside("GROUP BY")
	case s.Having != nil:
		return nil, pred{}, b.notInside("HAVING")
	case s.Limit != nil:
		return nil, pred{}, b.notInside("LIMIT")
	}
	kept, err := b.restrict()
	if err != nil {
		return nil, pred{}, err
	}
	var columns []visible
	for _, it := range s.List {
		named, err := b.subselected(it)
		if err != nil {
			return nil, pred{}, err
		}
		columns = append(columns, named...)
	}
	columns, err = b.renamed(columns)
	return columns, kept, err
}

func (b *binder) notInside(clause string) error {
	first := clause
	if clause == "GROUP BY" {
		first = "GROUP"
	}
	return b.g.Find(first).Unsupported(clause + " in a sub-select").
		WithHint("a sub-select can rename columns and filter rows; group and limit outside it")
}

// subselected returns the columns of an entry of the select list.
func (b *binder) subselected(it syntax.ListItem) ([]visible, error) {
	if it.Star != nil {
		return b.starred(it)
	}
	name, ok := syntax.Unwrap(it.Expr).(*sqlparser.ColName)
	if !ok {
		construct, _ := b.construct(it.Expr)
		return nil, b.g.ItemToken(it).Unsupported(construct + " in the select list of a sub-select").
			WithHint("a sub-select can rename columns and filter rows; compute outside it")
	}
	column, err := b.column(name)
	if err != nil {
		return nil, err
	}
	t, _ := b.g.Token(name.Name.String())
	if it.Alias != "" {
		return []visible{{it.Alias, column}}, nil
	}
	return []visible{{t.Value, column}}, nil
}

// starred returns every column of * or t.*.
func (b *binder) starred(it syntax.ListItem) ([]visible, error) {
	qualifier, err := b.qualifier(it.Star.TableName)
	if err != nil {
		return nil, err
	}
	var columns []visible
	for _, r := range b.scope {
		if qualifier == "" || query.SameName(r.name, qualifier) {
			columns = append(columns, r.columns...)
		}
	}
	return columns, nil
}

// renamed gives the columns the names that a common table expression lists.
func (b *binder) renamed(columns []visible) ([]visible, error) {
	names := b.s.Columns
	if names == nil {
		return columns, nil
	}
	if len(names) != len(columns) {
		return nil, sqlerr.New(sqlerr.Malformed, "%d names are given to %d columns", len(names), len(columns)).At(names[0].Position)
	}
	for i, n := range names {
		columns[i].name = n.Text
	}
	return columns, nil
}

const inPublicHint = "write column IN (SELECT column FROM a public table)"

// compileInPublic compiles x IN (SELECT column FROM table), where x is a column and
// the table is public: x IN the list of its values.
func (b *binder) compileInPublic(e *sqlparser.ComparisonExpr, sub *sqlparser.Subquery, truth bool) (pred, error) {
	x, simple, err := b.operand(e.Left)
	if err != nil {
		return pred{}, err
	}
	table, column, ok := b.selectedColumn(sub)
	if !simple || !x.isColumn || !ok || query.SameName(table.Value, b.table.Name()) {
		return pred{}, b.g.StartToken(sub).Unsupported("a sub-select").WithHint(inPublicHint)
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
	return b.among(x.column, d.Of(values...), listed.HasNull(), truth), nil
}

// selectedColumn returns the table and the column of SELECT column FROM table. It is
// false for any other sub-select.
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
