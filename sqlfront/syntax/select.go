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

// sources reads the list behind FROM.
func (p *queryParser) sources() (list []Source) {
	for more := true; more; more = p.accept(",") {
		list = append(list, p.joined())
	}
	return list
}

// joined reads a source and what is joined to it.
func (p *queryParser) joined() Source {
	p.enter()
	defer p.leave()
	from := p.peek().Position
	x := p.source()
	for {
		j := p.join(from, x)
		if j == nil {
			return x
		}
		x = j
	}
}

// join reads a join to x, which begins at a position; nil if none comes next. In
// a JOIN b JOIN c ON … ON …, the first ON belongs to the inner join.
func (p *queryParser) join(from int, x Source) *Join {
	j := &Join{X: x, Operator: p.peek().Position}
	j.Natural = p.accept("NATURAL")
	if j.Kind = p.choose("LEFT", "RIGHT", "FULL", "CROSS"); j.Kind == "" {
		if !p.accept("INNER") && !j.Natural && !p.is("JOIN") {
			return nil
		}
	} else if j.Kind != "CROSS" {
		p.accept("OUTER")
	}
	p.expect("JOIN")
	inner := p.peek().Position
	j.Y = p.source()
	conditional := !j.Natural && j.Kind != "CROSS"
	if conditional && p.dialect == Postgres && !p.isOne("ON", "USING") {
		p.enter()
		y := p.join(inner, j.Y)
		p.leave()
		if y == nil {
			p.unexpected("ON")
		}
		j.Y = y
	}
	switch {
	case !conditional && p.dialect == Postgres:
	case p.accept("ON"):
		j.On = p.expr(0)
	case p.accept("USING"):
		j.Using = p.nameList()
	case p.dialect == Postgres:
		p.unexpected("ON")
	}
	j.span = p.since(from)
	return j
}

func (p *queryParser) source() Source {
	p.enter()
	defer p.leave()
	from := p.peek().Position
	if p.dialect == Postgres {
		p.accept("ONLY")
	}
	called := p.after(1).Matches("(") || p.after(2).Matches("(")
	lateral := (called || p.dialect == Postgres) && p.accept("LATERAL")
	switch {
	case p.is("(") && p.selects(1) && (p.isSubquery() || p.dialect == Postgres):
		return p.derived(from, lateral)
	case p.is("("):
		return p.parenSource(from)
	case p.is("ROWS") && p.after(1).Matches("FROM") && p.dialect == Postgres:
		panic(outsideCatalog("ROWS FROM", from))
	}
	first := p.peek()
	bare := p.dialect == Postgres && first.Kind == KindWord && niladic()[first.Upper]
	if !bare && !p.isName() {
		p.unexpected("a table")
	}
	path := p.pathFrom(identOf(p.next()))
	if p.is("(") || bare && len(path) == 1 {
		return p.function(from, lateral, path)
	}
	t := &Table{Path: path}
	if p.dialect == Postgres {
		p.accept("*")
	}
	t.Alias = p.alias()
	t.span = p.since(from)
	return t
}

// derived reads a query in FROM.
func (p *queryParser) derived(from int, lateral bool) Source {
	p.expect("(")
	d := &Derived{Lateral: lateral, Query: p.query()}
	p.expect(")")
	d.Alias = p.alias()
	d.span = p.since(from)
	return d
}

// parenSource reads sources in parentheses.
func (p *queryParser) parenSource(from int) Source {
	p.expect("(")
	s := &ParenSource{List: []Source{p.joined()}}
	for p.dialect == Native && p.accept(",") {
		s.List = append(s.List, p.joined())
	}
	p.expect(")")
	s.Alias = p.alias()
	s.span = p.since(from)
	return s
}

// function reads a call in FROM, behind its name.
func (p *queryParser) function(from int, lateral bool, path []Ident) Source {
	f := &Function{Lateral: lateral}
	if p.is("(") {
		f.Call = p.call(path)
	} else {
		f.Call = &Call{span: p.since(path[0].from), Path: path}
	}
	f.Ordinality = p.accept("WITH", "ORDINALITY")
	f.Alias = p.alias()
	f.span = p.since(from)
	return f
}

// alias reads [AS] name [(columns)].
func (p *queryParser) alias() (a Alias) {
	switch {
	case p.accept("AS"):
		if p.is("(") && p.dialect == Postgres {
			panic(outsideCatalog("a list of column definitions", p.peek().Position))
		}
		a.Name = p.aliasName()
	case p.dialect == Postgres && p.isName(), p.isAlias():
		a.Name = identOf(p.next())
	default:
		return a
	}
	if !p.accept("(") {
		return a
	}
	for more := true; more; more = p.accept(",") {
		a.Columns = append(a.Columns, p.name())
		if p.isName() {
			a.Types = append(a.Types, p.typeName())
		}
	}
	p.expect(")")
	return a
}
