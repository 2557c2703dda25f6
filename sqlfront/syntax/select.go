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
	s, err := parseSelect(tokens, nil)
	if err != nil {
		return nil, err
	}
	s.Parameters = countParameters(tokens)
	s.Tables = s.tables()
	s.Table = s.Tables[0]
	return s, nil
}

// parseSelect parses tokens that end with the SELECT's end. Names of common
// table expressions are in with.
func parseSelect(tokens []Token, with []expression) (*Select, error) {
	tokens, with, err := parseWith(tokens, with)
	if err != nil {
		return nil, err
	}
	tokens, subs, err := openFrom(tokens, with)
	if err != nil {
		return nil, err
	}
	g := &Tokens{tokens, subs}
	d, err := g.disguised()
	if err != nil {
		return nil, err
	}
	node, err := d.parse()
	if err != nil {
		return nil, err
	}
	sel, ok := node.(*sqlparser.Select)
	if !ok {
		return nil, g.Find("UNION").Unsupported("UNION").WithHint("ask for each count in a statement of its own")
	}
	if sel.Cache != "" || sel.Hints != "" || sel.Lock != "" || len(sel.Comments) > 0 {
		return nil, g.tokens[0].Unsupported("this form of SELECT")
	}
	s := &Select{Tokens: g, GroupBy: sel.GroupBy, OrderBy: sel.OrderBy, Limit: sel.Limit, Distinct: sel.Distinct != ""}
	if sel.Where != nil {
		s.Where = sel.Where.Expr
	}
	if sel.Having != nil {
		s.Having = sel.Having.Expr
	}
	s.List, s.ListsParameter = g.items(sel.SelectExprs), g.hasParameter(sel.SelectExprs)
	s.From, err = g.sources(sel.From, with)
	return s, err
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
	for i := range s.Tokens.tokens {
		if s.Tokens.tokens[i].Matches("SELECT") && s.Tokens.tokenAt(i-1).Matches("(") && !s.Tokens.tokenAt(i-2).Matches("IN") {
			return true
		}
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

// expression is a common table expression.
type expression struct {
	name Name
	body *Select
}

// maxExpressions bounds the common table expressions of a statement.
const maxExpressions = 100

// parseWith parses the WITH clause that the tokens may start with, and returns
// what follows it. An expression sees those before it.
func parseWith(tokens []Token, outer []expression) ([]Token, []expression, error) {
	if !tokens[0].Matches("WITH") {
		return tokens, outer, nil
	}
	with := slices.Clone(outer)
	p := &parser{tokens: tokens, pos: 1}
	if t := p.peek(); t.Matches("RECURSIVE") && p.after(1).isName() {
		return nil, nil, t.Unsupported("WITH RECURSIVE")
	}
	for {
		e, err := p.expression(with)
		if err != nil {
			return nil, nil, err
		}
		if with = append(with, e); len(with) > maxExpressions {
			return nil, nil, tokens[0].Unsupported("a WITH of this many expressions")
		}
		if !p.accept(",") {
			break
		}
	}
	if t := p.peek(); !t.Matches("SELECT") {
		if isForeign(t) && t.Kind == KindWord {
			return nil, nil, t.Unsupported(t.Upper).WithHint("%s", foreign[t.Upper])
		}
		return nil, nil, p.unexpected("SELECT")
	}
	return p.tokens[p.pos:], with, nil
}

// expression parses name [(columns)] AS (SELECT …).
func (p *parser) expression(with []expression) (expression, error) {
	name, err := p.name("a name")
	if err != nil {
		return expression{}, err
	}
	var columns []Name
	if p.peek().Matches("(") {
		if columns, err = p.names("a column"); err != nil {
			return expression{}, err
		}
	}
	if err := p.expect("AS"); err != nil {
		return expression{}, err
	}
	if t := p.peek(); t.Matches("MATERIALIZED") || t.Matches("NOT") {
		return expression{}, t.Unsupported("MATERIALIZED")
	}
	if !p.peek().Matches("(") {
		return expression{}, p.unexpected("(")
	}
	inner, end, err := inParentheses(p.tokens, p.pos)
	if err != nil {
		return expression{}, err
	}
	body, err := parseSelect(inner, with)
	if err != nil {
		return expression{}, err
	}
	body.Columns = columns
	p.pos = end + 1
	return expression{name, body}, nil
}

// inParentheses returns the tokens inside the parenthesis that opens at an
// index, which must be a SELECT, and the index of the one that closes it.
func inParentheses(tokens []Token, open int) (inner []Token, end int, err error) {
	depth := 0
	for i := open; i < len(tokens); i++ {
		switch {
		case tokens[i].Matches("("):
			depth++
		case tokens[i].Matches(")"):
			depth--
		}
		if depth == 0 {
			inner = append(slices.Clone(tokens[open+1:i]), Token{Kind: KindEnd, Text: ")", Position: tokens[i].Position})
			if first := inner[0]; !first.Matches("SELECT") && !first.Matches("WITH") {
				return nil, 0, first.Malformed("expected SELECT, found %s", first.describe())
			}
			return inner, i, nil
		}
	}
	last := tokens[len(tokens)-1]
	return nil, 0, last.Malformed("the statement ends too early").WithHint("a parenthesis is not closed")
}

// openFrom parses the sub-selects in FROM and replaces each by a name, so that the
// SELECT itself has none. It returns the sub-selects by the positions of their names.
func openFrom(tokens []Token, with []expression) ([]Token, map[int]*Select, error) {
	nested := false
	for i := 1; i < len(tokens) && !nested; i++ {
		nested = tokens[i].selects()
	}
	if !nested {
		return tokens, nil, nil
	}
	subs := make(map[int]*Select)
	out := make([]Token, 0, len(tokens))
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if next := i + 1; t.Matches("(") && next < len(tokens) && tokens[next].selects() && inFrom(out) {
			inner, end, err := inParentheses(tokens, i)
			if err != nil {
				return nil, nil, err
			}
			if subs[t.Position], err = parseSelect(inner, with); err != nil {
				return nil, nil, err
			}
			t = Token{Kind: KindQuoted, Text: "(…)", Position: t.Position}
			i = end
		}
		out = append(out, t)
	}
	return out, subs, nil
}

// selects reports whether a SELECT can start with the token.
func (t *Token) selects() bool {
	return t.Kind == KindWord && (t.Upper == "SELECT" || t.Upper == "WITH")
}

// inFrom reports whether a table can follow the tokens.
func inFrom(before []Token) bool {
	i := len(before) - 1
	for i >= 0 && before[i].Matches("(") {
		i--
	}
	return i >= 0 && (before[i].Matches("FROM") && !(i > 0 && before[i-1].Matches("DISTINCT")) || before[i].Matches("JOIN"))
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
func (g *Tokens) sources(from sqlparser.TableExprs, with []expression) ([]FromItem, error) {
	if len(from) != 1 {
		return nil, g.FirstToken(from[1]).Unsupported("a join").WithHint(JoinHint)
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
	return nil, g.FirstToken(from[0]).Unsupported("this form of FROM")
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
	case e.Join != sqlparser.JoinStr && e.Join != sqlparser.LeftJoinStr || len(right) != 1:
		return nil, g.Find("JOIN").Unsupported("this form of join").WithHint(JoinHint)
	case e.Condition.On == nil && e.Condition.Using == nil:
		return nil, g.Find("JOIN").Unsupported("a join without a condition").WithHint(JoinHint)
	}
	right[0].On, right[0].Using, right[0].Left = e.Condition.On, e.Condition.Using, e.Join == sqlparser.LeftJoinStr
	return append(left, right[0]), nil
}

// sourceOf accepts a table name, which only main may qualify, or the name that stands
// for a sub-select.
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
	s := FromItem{Name: Name{t.Value, t.Position}, Sub: g.subs[t.Position], Token: t}
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
