package sqlfront

import (
	"github.com/xwb1989/sqlparser"

	"dpsql/post"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// distinct compiles COUNT(DISTINCT unit). The unit's column need not be declared: its name
// is public.
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
	if len(f.Exprs) != 1 {
		return nil, refused
	}
	arg, ok := f.Exprs[0].(*sqlparser.AliasedExpr)
	if !ok || !arg.As.IsEmpty() {
		return nil, refused
	}
	c, ok := syntax.Unwrap(arg.Expr).(*sqlparser.ColName)
	if !ok {
		return nil, refused
	}
	if isUnit, err := o.isUnit(c, unit); err != nil {
		return nil, err
	} else if !isUnit {
		if _, err := o.column(c); err != nil {
			return nil, o.notUnit(err, unit)
		}
		return nil, refused
	}
	return post.Sum{Terms: []post.Term{{Slot: o.slot(o.rows, Slot{Scale: 1, Split: 1, Question: Units}), Factor: 1}}}, nil
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
