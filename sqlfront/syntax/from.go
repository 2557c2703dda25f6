package syntax

import (
	"github.com/xwb1989/sqlparser"

	"dpsql/query"
)

// source is a table, a sub-select or a common table expression in FROM.
type FromItem struct {
	Name  Name    // of a table
	Alias Name    // what qualifies its columns: its alias, else its name
	Sub   *Select // nil for a table
	On    sqlparser.Expr
	Using sqlparser.Columns
	Place Token
}

// sources returns what a FROM clause names: one source, and those joined to it.
func (g *Tokens) sources(from sqlparser.TableExprs, with []expression) ([]FromItem, error) {
	if len(from) != 1 {
		return nil, g.Place(from[1]).Unsupported("a join").WithHint(JoinHint)
	}
	switch e := from[0].(type) {
	case *sqlparser.ParenTableExpr:
		return g.sources(e.Exprs, with)
	case *sqlparser.JoinTableExpr:
		return g.joined(e, with)
	case *sqlparser.AliasedTableExpr:
		if e.Hints == nil && e.Partitions == nil {
			s, err := g.sourceOf(e, with)
			return []FromItem{s}, err
		}
	}
	return nil, g.Place(from[0]).Unsupported("this form of FROM")
}

const JoinHint = "join a public table on its key: FROM t JOIN p ON t.code = p.code; private tables are joined in a view, and the view declared"

// joined returns the sources of left JOIN right.
func (g *Tokens) joined(e *sqlparser.JoinTableExpr, with []expression) ([]FromItem, error) {
	left, err := g.sources(sqlparser.TableExprs{e.LeftExpr}, with)
	if err != nil {
		return nil, err
	}
	right, err := g.sources(sqlparser.TableExprs{e.RightExpr}, with)
	switch {
	case err != nil:
		return nil, err
	case e.Join != sqlparser.JoinStr || len(right) != 1:
		return nil, g.Find("JOIN").Unsupported("this form of join").WithHint(JoinHint)
	case e.Condition.On == nil && e.Condition.Using == nil:
		return nil, g.Find("JOIN").Unsupported("a join without a condition").WithHint(JoinHint)
	}
	right[0].On, right[0].Using = e.Condition.On, e.Condition.Using
	return append(left, right[0]), nil
}

// sourceOf accepts a table name, qualified by main at most, or what stands for a
// sub-select.
func (g *Tokens) sourceOf(e *sqlparser.AliasedTableExpr, with []expression) (FromItem, error) {
	name, ok := e.Expr.(sqlparser.TableName)
	if !ok {
		return FromItem{}, g.Find("FROM").Unsupported("this form of FROM")
	}
	t, ok := g.Token(name.Name.String())
	if !ok {
		return FromItem{}, g.tokens[0].Unsupported("SELECT without FROM").WithHint("write SELECT COUNT(*) FROM table")
	}
	schema, qualified := g.Token(name.Qualifier.String())
	switch {
	case qualified && !query.SameName(schema.Value, "main"):
		return FromItem{}, schema.Unsupported("a table of another database").
			WithHint("ask the private table that is declared over it, by its own name: SHOW TABLES lists them")
	case t.Value == "" && !g.IsSubselect(t):
		return FromItem{}, t.Malformed("a table's name is empty")
	}
	s := FromItem{Name: Name{t.Value, t.Position}, Sub: g.subs[t.Position], Place: t}
	for i := len(with) - 1; i >= 0 && !qualified && s.Sub == nil; i-- {
		if query.SameName(with[i].name.Text, t.Value) {
			s.Sub = with[i].body
		}
	}
	s.Alias = s.Name
	if a, ok := g.Token(e.As.String()); ok {
		s.Alias = Name{a.Value, a.Position}
	}
	return s, nil
}
