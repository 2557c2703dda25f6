package syntax

import (
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
)

// Select is a SELECT as written, split into its clauses. None of its names has been
// looked up.
type Select struct {
	Table      Name   // the first table in FROM, sub-selects opened
	Tables     []Name // all of them, in the order of the text
	Parameters int    // the number of arguments that Bind takes

	Tokens   *Tokens
	From     []FromItem // the tables and sub-selects; all but the first are joined
	Columns  []Name     // of a common table expression that renames its columns
	List     []ListItem
	Where    sqlparser.Expr // nil without a WHERE
	GroupBy  sqlparser.GroupBy
	Having   sqlparser.Expr // nil without a HAVING
	OrderBy  sqlparser.OrderBy
	Limit    *sqlparser.Limit // nil without a LIMIT
	Distinct bool             // DISTINCT

	ListsParameter bool // a parameter stands in the select list, so that the types of columns may hang on its type
}

// ListItem is one entry of the select list.
type ListItem struct {
	Expr  sqlparser.Expr // nil for a star
	Star  *sqlparser.StarExpr
	Alias string // as written after it; "" if there is none
	Index int    // in the list
}

// selectStatement parses the SELECT, or the WITH … SELECT, that starts at the
// next token.
func (p *parser) selectStatement() (*Select, error) {
	tokens := p.tokens[p.pos:]
	if err := checkDepth(tokens); err != nil {
		return nil, err
	}
	if t := tokens[min(1, len(tokens)-1)]; tokens[0].Matches("WITH") && t.Matches("RECURSIVE") && tokens[2].isName() {
		return nil, t.Unsupported("WITH RECURSIVE")
	}
	reader := &queryParser{tokens: tokens, dialect: Native}
	q, err := reader.parse()
	if reader.certain {
		return nil, err
	}
	if refusal := (&Tokens{tokens: tokens}).refused(); refusal != nil {
		return nil, refusal
	}
	if err != nil {
		return nil, err
	}
	s, err := lowered(q, tokens)
	if err != nil {
		return nil, err
	}
	s.Parameters = countParameters(tokens)
	s.Tables = s.tables()
	s.Table = s.Tables[0]
	return s, nil
}

// hasParameter reports whether a parameter stands in the select list.
func (g *Tokens) hasParameter(list sqlparser.SelectExprs) (found bool) {
	_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		if v, ok := n.(*sqlparser.SQLVal); ok {
			t, _ := g.Token(string(v.Val))
			found = found || t.Kind == KindParameter
		}
		return !found, nil
	}, list)
	return found
}

// items returns the select list.
func (g *Tokens) items(exprs sqlparser.SelectExprs) []ListItem {
	items := make([]ListItem, len(exprs))
	for i, e := range exprs {
		items[i].Index = i
		switch e := e.(type) {
		case *sqlparser.StarExpr:
			items[i].Star = e
		case *sqlparser.AliasedExpr:
			items[i].Expr = e.Expr
			if t, ok := g.Token(e.As.String()); ok {
				items[i].Alias = t.Value
			}
		}
	}
	return items
}

// ItemToken returns the token at which an entry of the select list starts.
func (g *Tokens) ItemToken(it ListItem) Token {
	if it.Star != nil {
		return g.Find("*")
	}
	return g.StartToken(it.Expr)
}

// ListTexts writes each entry of the select list as it stands in the text,
// blanks apart.
func (g *Tokens) ListTexts() []string {
	var texts []string
	depth, text, before := 0, "", Token{}
	for _, t := range g.tokens[1:] {
		switch {
		case t.Matches("("):
			depth++
		case t.Matches(")"):
			depth--
		case depth == 0 && (t.Matches("FROM") || t.Kind == KindEnd):
			return append(texts, text)
		case depth == 0 && t.Matches(","):
			texts, text, before = append(texts, text), "", Token{}
			continue
		case depth == 0 && text == "" && (t.Matches("DISTINCT") || t.Matches("ALL")):
			continue
		}
		if text != "" && !tight(before, t) {
			text += " "
		}
		text, before = text+t.Text, t
	}
	return texts
}

// tight reports whether two tokens are written without a blank between them.
func tight(before, t Token) bool {
	number := func(t Token) bool { return t.Text != "" && t.Text[0] >= '0' && t.Text[0] <= '9' }
	switch {
	case number(before) && t.Matches("."), before.Matches(".") && number(t):
		return false // they would be another number
	case before.Matches("(") || before.Matches("."), t.Matches(")") || t.Matches(",") || t.Matches("."):
		return true
	}
	return t.Matches("(") && before.isName() && !before.Matches("FILTER")
}

// tables returns the tables that a SELECT reads, sub-selects opened.
func (s *Select) tables() []Name {
	var names []Name
	for _, f := range s.From {
		if f.Sub == nil {
			names = append(names, f.Name)
			continue
		}
		names = append(names, f.Sub.tables()...)
	}
	return slices.Clip(names)
}

// Composed reports whether the text shows that the SELECT is more than one aggregate of rows:
// a sub-select in FROM groups, limits or computes, or a sub-select is a value. No binding
// succeeds then. It does not look for every such text.
func (s *Select) Composed() bool {
	if s.Tokens.valued {
		return true
	}
	for i := range s.From {
		if sub := s.From[i].Sub; sub != nil && (sub.Distinct || sub.GroupBy != nil || sub.Having != nil || sub.Limit != nil || sub.computes() || sub.Composed()) {
			return true
		}
	}
	return false
}

// computes reports whether an entry of the select list is not the name of a column.
func (s *Select) computes() bool {
	return slices.ContainsFunc(s.List, func(it ListItem) bool {
		_, named := Unwrap(it.Expr).(*sqlparser.ColName)
		return it.Star == nil && !named
	})
}

// FromItem is a table, a sub-select or a common table expression in FROM.
type FromItem struct {
	Name  Name    // of a table
	Alias Name    // what qualifies its columns: its alias, else its name
	Sub   *Select // nil for a table
	On    sqlparser.Expr
	Using sqlparser.Columns
	Left  bool // it is joined by LEFT JOIN
	Token Token
}

// sources returns the items of a FROM clause: the first, and those joined to it.
func (l *lowering) sources(from sqlparser.TableExprs) []FromItem {
	if len(from) != 1 {
		panic(l.FirstToken(from[1]).Unsupported("a join").WithHint(JoinHint))
	}
	switch e := from[0].(type) {
	case *sqlparser.ParenTableExpr:
		return l.sources(e.Exprs)
	case *sqlparser.JoinTableExpr:
		return l.joined(e)
	}
	return []FromItem{l.sourceOf(from[0].(*sqlparser.AliasedTableExpr))}
}

const JoinHint = "join a public table on its key: FROM t JOIN p ON t.code = p.code; private tables are joined in a view, and the view declared"

// joined returns the sources of left JOIN right.
func (l *lowering) joined(e *sqlparser.JoinTableExpr) []FromItem {
	left := l.sources(sqlparser.TableExprs{e.LeftExpr})
	right := l.sources(sqlparser.TableExprs{e.RightExpr})
	switch {
	case e.Join != sqlparser.JoinStr && e.Join != sqlparser.LeftJoinStr || len(right) != 1:
		panic(l.Find("JOIN").Unsupported("this form of join").WithHint(JoinHint))
	case e.Condition.On == nil && e.Condition.Using == nil:
		panic(l.Find("JOIN").Unsupported("a join without a condition").WithHint(JoinHint))
	}
	right[0].On, right[0].Using, right[0].Left = e.Condition.On, e.Condition.Using, e.Join == sqlparser.LeftJoinStr
	return append(left, right[0])
}

// sourceOf accepts a table name, which only main may qualify, or the name that stands
// for a sub-select.
func (l *lowering) sourceOf(e *sqlparser.AliasedTableExpr) FromItem {
	name := e.Expr.(sqlparser.TableName)
	t, ok := l.Token(name.Name.String())
	if !ok {
		panic(l.tokens[0].Unsupported("SELECT without FROM").WithHint("write SELECT COUNT(*) FROM table"))
	}
	schema, qualified := l.Token(name.Qualifier.String())
	switch {
	case qualified && !query.SameName(schema.Value, "main"):
		panic(schema.Unsupported("a table of another database").
			WithHint("ask the private table that is declared over it, by its own name: SHOW TABLES lists them"))
	case t.Value == "" && !l.IsSubselect(t):
		panic(t.Malformed("a table's name is empty"))
	}
	s := FromItem{Name: Name{t.Value, t.Position}, Sub: l.subs[t.Position], Token: t}
	for i := len(l.with) - 1; i >= 0 && !qualified && s.Sub == nil; i-- {
		if query.SameName(l.with[i].name, t.Value) {
			s.Sub = l.with[i].body
		}
	}
	s.Alias = s.Name
	if a, ok := l.Token(e.As.String()); ok {
		s.Alias = Name{a.Value, a.Position}
	}
	return s
}
