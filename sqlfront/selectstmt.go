package sqlfront

import (
	"github.com/xwb1989/sqlparser"

	"dpsql/sqlerr"
)

// Select is a SELECT within the dialect, not yet bound to its table.
type Select struct {
	Table      Name // as written in FROM
	Alias      Name // empty where there is none
	Parameters int  // the number of arguments that Bind takes

	g     *guarded
	items []item
	where sqlparser.Expr // nil without a WHERE
}

// selectStatement parses the SELECT that starts at the next token.
func (p *parser) selectStatement() (*Select, error) {
	g, err := guard(p.tokens[p.at:])
	if err != nil {
		return nil, err
	}
	node, err := p.shapes.syntax(g)
	if err != nil {
		return nil, err
	}
	sel, ok := node.(*sqlparser.Select)
	if !ok {
		return nil, g.find("UNION").unsupported("UNION").WithHint("ask for each count in a statement of its own")
	}
	if err := g.checkClauses(sel); err != nil {
		return nil, err
	}
	s := &Select{g: g, Parameters: countParameters(g.tokens)}
	if err := s.from(sel.From); err != nil {
		return nil, err
	}
	if sel.Where != nil {
		s.where = sel.Where.Expr
	}
	s.items, err = g.items(sel.SelectExprs)
	return s, err
}

// checkClauses refuses the clauses that are outside the dialect.
func (g *guarded) checkClauses(sel *sqlparser.Select) error {
	switch {
	case sel.Distinct != "":
		return g.find("DISTINCT").unsupported("SELECT DISTINCT")
	case sel.GroupBy != nil:
		return g.find("GROUP").unsupported("GROUP BY").WithHint("ask for each group's count in a statement of its own")
	case sel.Having != nil:
		return g.find("HAVING").unsupported("HAVING").WithHint("put conditions on rows into WHERE")
	case sel.OrderBy != nil:
		return g.find("ORDER").unsupported("ORDER BY").WithHint("a count is one row: leave it out")
	case sel.Limit != nil:
		return g.find("LIMIT").unsupported("LIMIT").WithHint("a count is one row: leave it out")
	case sel.Cache != "" || sel.Hints != "" || sel.Lock != "" || len(sel.Comments) > 0:
		return g.tokens[0].unsupported("this form of SELECT")
	}
	return nil
}

// from accepts one table with an optional alias.
func (s *Select) from(from sqlparser.TableExprs) error {
	if len(from) != 1 {
		return s.g.place(from[1]).unsupported("a join")
	}
	switch e := from[0].(type) {
	case *sqlparser.ParenTableExpr:
		return s.from(e.Exprs)
	case *sqlparser.JoinTableExpr:
		return s.g.find("JOIN").unsupported("a join").WithHint("join the tables in a view and declare the view")
	case *sqlparser.AliasedTableExpr:
		if e.Hints == nil && e.Partitions == nil {
			return s.table(e)
		}
	}
	return s.g.place(from[0]).unsupported("this form of FROM")
}

// table accepts a table name, qualified by main at most.
func (s *Select) table(e *sqlparser.AliasedTableExpr) error {
	name, ok := e.Expr.(sqlparser.TableName)
	if !ok {
		return s.g.find("FROM").unsupported("a sub-select in FROM").
			WithHint("select from its table and put its conditions into WHERE")
	}
	t, ok := s.g.token(name.Name.String())
	if !ok {
		return s.g.tokens[0].unsupported("SELECT without FROM").WithHint("write SELECT COUNT(*) FROM table")
	}
	if schema, ok := s.g.token(name.Qualifier.String()); ok && !equalFold(schema.value, "main") {
		return schema.unsupported("an attached database").WithHint("every table lives in the one database file")
	}
	if t.value == "" {
		return t.malformed("a table's name is empty")
	}
	s.Table = Name{t.value, t.position}
	if a, ok := s.g.token(e.As.String()); ok {
		s.Alias = Name{a.value, a.position}
	}
	return nil
}

// checkArguments refuses a number of arguments that the statement does not
// take.
func (s *Select) checkArguments(n int) error {
	if n == s.Parameters {
		return nil
	}
	return sqlerr.New(sqlerr.Invalid, "the number of placeholders is %d and of arguments %d", s.Parameters, n)
}
