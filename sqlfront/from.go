package sqlfront

import (
	"github.com/xwb1989/sqlparser"

	"dpsql/query"
)

// source is a table, a sub-select or a common table expression in FROM.
type source struct {
	name  Name    // of a table
	alias Name    // what qualifies its columns: its alias, else its name
	sub   *Select // nil for a table
	on    sqlparser.Expr
	using sqlparser.Columns
	place token
}

// sources returns what a FROM clause names: one source, and those joined to it.
func (g *guarded) sources(from sqlparser.TableExprs, with []expression) ([]source, error) {
	if len(from) != 1 {
		return nil, g.place(from[1]).unsupported("a join").WithHint(joinHint)
	}
	switch e := from[0].(type) {
	case *sqlparser.ParenTableExpr:
		return g.sources(e.Exprs, with)
	case *sqlparser.JoinTableExpr:
		return g.joined(e, with)
	case *sqlparser.AliasedTableExpr:
		if e.Hints == nil && e.Partitions == nil {
			s, err := g.sourceOf(e, with)
			return []source{s}, err
		}
	}
	return nil, g.place(from[0]).unsupported("this form of FROM")
}

const joinHint = "join a public table on its key: FROM t JOIN p ON t.code = p.code; private tables are joined in a view, and the view declared"

// joined returns the sources of left JOIN right.
func (g *guarded) joined(e *sqlparser.JoinTableExpr, with []expression) ([]source, error) {
	left, err := g.sources(sqlparser.TableExprs{e.LeftExpr}, with)
	if err != nil {
		return nil, err
	}
	right, err := g.sources(sqlparser.TableExprs{e.RightExpr}, with)
	switch {
	case err != nil:
		return nil, err
	case e.Join != sqlparser.JoinStr || len(right) != 1:
		return nil, g.find("JOIN").unsupported("this form of join").WithHint(joinHint)
	case e.Condition.On == nil && e.Condition.Using == nil:
		return nil, g.find("JOIN").unsupported("a join without a condition").WithHint(joinHint)
	}
	right[0].on, right[0].using = e.Condition.On, e.Condition.Using
	return append(left, right[0]), nil
}

// sourceOf accepts a table name, qualified by main at most, or what stands for a
// sub-select.
func (g *guarded) sourceOf(e *sqlparser.AliasedTableExpr, with []expression) (source, error) {
	name, ok := e.Expr.(sqlparser.TableName)
	if !ok {
		return source{}, g.find("FROM").unsupported("this form of FROM")
	}
	t, ok := g.token(name.Name.String())
	if !ok {
		return source{}, g.tokens[0].unsupported("SELECT without FROM").WithHint("write SELECT COUNT(*) FROM table")
	}
	schema, qualified := g.token(name.Qualifier.String())
	switch {
	case qualified && !query.SameName(schema.value, "main"):
		return source{}, schema.unsupported("a table of another database").
			WithHint("ask the private table that is declared over it, by its own name: SHOW TABLES lists them")
	case t.value == "" && g.subs[t.position] == nil:
		return source{}, t.malformed("a table's name is empty")
	}
	s := source{name: Name{t.value, t.position}, sub: g.subs[t.position], place: t}
	for i := len(with) - 1; i >= 0 && !qualified && s.sub == nil; i-- {
		if query.SameName(with[i].name.Text, t.value) {
			s.sub = with[i].body
		}
	}
	s.alias = s.name
	if a, ok := g.token(e.As.String()); ok {
		s.alias = Name{a.value, a.position}
	}
	return s, nil
}
