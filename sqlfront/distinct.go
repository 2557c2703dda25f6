package sqlfront

import (
	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/post"
	"dpsql/sqlfront/syntax"
)

// distinct compiles COUNT(DISTINCT unit) and COUNT(DISTINCT column). The unit's column need
// not be declared: its name is public.
func (o *outputs) distinct(name string, f *sqlparser.FuncExpr) (post.Expr, error) {
	at, upper := o.g.FirstToken(f), syntax.UpperASCII(name)
	unit := o.unit()
	hint := "COUNT(*) counts rows; GROUP BY lists the declared values"
	if unit != "" {
		hint = "COUNT(DISTINCT " + unit + ") counts the units; " + hint
	}
	refused := at.Unsupported(upper+"(DISTINCT …)").WithHint("%s", hint)
	if name != "count" {
		return nil, at.Unsupported(upper+"(DISTINCT …)").WithHint("write %s(x), which takes each row; for one row a unit, declare a view that has one", upper)
	}
	args, ok := argumentsOf(f)
	if !ok || len(args) != 1 {
		return nil, refused
	}
	c, ok := syntax.Unwrap(args[0]).(*sqlparser.ColName)
	if !ok {
		return nil, refused
	}
	if isUnit, err := o.isUnit(c, unit); err != nil {
		return nil, err
	} else if !isUnit {
		column, err := o.column(c)
		if err != nil {
			return nil, o.notUnit(err, unit)
		}
		x, err := o.valuesOf(column)
		return x, o.placedAt(err, c)
	}
	return post.Sum{Terms: []post.Term{{Slot: o.slot(o.rows, Slot{Scale: 1, Split: 1, Question: Units}), Factor: 1}}}, nil
}

// maxValues bounds the domain of a column whose values are counted: the days of 27 years, or the
// hours of one. Each of them is a query.
const maxValues = 10_000

// valuesOf compiles COUNT(DISTINCT column) of a declared column.
func (o *outputs) valuesOf(column int) (post.Expr, error) {
	c := o.u.Columns()[column]
	switch {
	case column >= len(o.table.Universe().Columns()):
		return nil, sqlerr.New(sqlerr.Unsupported, "COUNT(DISTINCT …) of a public table's column is outside the dialect").
			WithHint("count the distinct values of the private column that the table is joined on")
	case !c.Domain.Finite():
		return nil, sqlerr.New(sqlerr.Unsupported, "COUNT(DISTINCT …) of column %s, which has no domain, is outside the dialect", c.Name).
			WithHint("declare its values: TEXT IN ('a', 'b'), or those of a public table")
	case c.Domain.Size() > maxValues:
		return nil, sqlerr.New(sqlerr.Unsupported, "COUNT(DISTINCT …) of column %s, which has more than %d values, is outside the dialect", c.Name, maxValues).
			WithHint("bin it in a view, or count the values of a coarser column")
	}
	return post.Sum{Terms: []post.Term{{Slot: o.slot(o.rows, Slot{Scale: 1, Split: 1, Question: DistinctValues, Column: column}), Factor: 1}}}, nil
}

// notUnit adds to the error of an unknown name what COUNT(DISTINCT) can count.
func (o *outputs) notUnit(err error, unit string) error {
	e, ok := err.(*sqlerr.Error)
	switch {
	case !ok || e.Code != sqlerr.Unknown:
		return err
	case unit == "":
		return e.WithHint("%s; persons can be counted in a table that is declared WITH (unit = person, max_rows = …)", e.Hint)
	}
	return e.WithHint("%s; COUNT(DISTINCT %s) counts the units", e.Hint, unit)
}

// unit returns the name of the column that identifies a unit of the table, or "".
func (b *binder) unit() string {
	if t, ok := b.table.(Unit); ok {
		return t.Unit()
	}
	return ""
}

// isUnit reports whether a name means the unit's column. It need not be declared. Then it is
// visible where the table itself stands in FROM, and a declared column of the name hides it.
func (b *binder) isUnit(e *sqlparser.ColName, unit string) (bool, error) {
	t, ok := b.g.Token(e.Name.String())
	if !ok || unit == "" {
		return false, nil
	}
	qualifier, err := b.qualifier(e.Qualifier)
	if err != nil {
		return false, err
	}
	if columns := b.scope.columnsNamed(qualifier, t.Value); len(columns) > 0 {
		private := len(b.table.Universe().Columns())
		return len(columns) == 1 && columns[0] >= 0 && columns[0] < private && query.SameName(b.u.Columns()[columns[0]].Name, unit), nil
	}
	for _, r := range b.scope {
		if r.private && (qualifier == "" || query.SameName(r.name, qualifier)) {
			return query.SameName(t.Value, unit), nil
		}
	}
	return false, nil
}
