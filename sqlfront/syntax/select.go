package syntax

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/xwb1989/sqlparser"
)

// Select is a SELECT as written, split into its clauses. None of its names has been
// looked up.
type Select struct {
	Table      Name   // the first table in FROM, sub-selects opened
	Tables     []Name // all of them, in the order of the text
	Parameters int    // the number of arguments that Bind takes

	Tree  *Query // that it was lowered from
	Block *Block // of Tree

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
	at    span
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

// items returns the select list of a block.
func (l *lowering) items(b *Block, exprs sqlparser.SelectExprs) []ListItem {
	items := make([]ListItem, len(exprs))
	for i, e := range exprs {
		items[i].at = span{b.Items[i].X.Pos(), b.Items[i].X.End()}
		switch e := e.(type) {
		case *sqlparser.StarExpr:
			items[i].Star = e
		case *sqlparser.AliasedExpr:
			items[i].Expr = e.Expr
			if t, ok := l.Token(e.As.String()); ok {
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

// TextOf writes an entry of the select list as it stands in the text, blanks apart.
func (g *Tokens) TextOf(it ListItem) string {
	var text strings.Builder
	var before Token
	for i, t := range within(g.tokens, it.at.from, it.at.to) {
		if i > 0 && !tight(before, t) {
			text.WriteByte(' ')
		}
		text.WriteString(t.Text)
		before = t
	}
	return text.String()
}

// tight reports whether two tokens are written without a blank between them.
func tight(before, t Token) bool {
	number := func(t Token) bool { return t.Text != "" && t.Text[0] >= '0' && t.Text[0] <= '9' }
	switch {
	case number(before) && t.Matches("."), before.Matches(".") && number(t):
		return false // they would be another number
	case before.Matches("(") || before.Matches(".") || before.Matches("::") || t.Matches("::"), t.Matches(")") || t.Matches(",") || t.Matches("."):
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

// Tokens are the tokens of a SELECT, and those behind the placeholders of its tree, see Token.
type Tokens struct {
	tokens []Token                 // those of the statement
	placed []*Token                // by the numbers of placeholders
	subs   map[string]*Select      // the sub-selects in FROM, by the name that stands for each
	nodes  map[sqlparser.Expr]Expr // see Node
	sets   []string                // the names that stand for GROUPING SETS
	valued bool                    // a sub-select is a value
}

// IsSubselect reports whether a name stands for a sub-select in FROM.
func (g *Tokens) IsSubselect(name sqlparser.TableIdent) bool { return g.subs[name.String()] != nil }

// tokenAt returns a token by its index, and an end outside the statement.
func (g *Tokens) tokenAt(i int) Token {
	if i < 0 || i >= len(g.tokens) {
		return Token{Kind: KindEnd}
	}
	return g.tokens[i]
}

// Token returns the token behind an emitted name or placeholder.
func (g *Tokens) Token(placeholder string) (Token, bool) {
	digits := strings.TrimPrefix(strings.TrimPrefix(placeholder, ":v"), "i")
	i, err := strconv.Atoi(digits)
	if err != nil || i < 0 || i >= len(g.placed) { // the statement has none here
		return Token{Kind: KindEnd}, false
	}
	return *g.placed[i], true
}

// FirstToken returns the first name or literal in a syntax node, or the statement's
// first token if the node has none. An argument may be written before its call: it stands
// for a name in it then.
func (g *Tokens) FirstToken(node sqlparser.SQLNode) Token {
	if f, ok := node.(*sqlparser.FuncExpr); ok {
		t, named := g.Token(f.Name.String())
		if _, qualified := g.Token(f.Qualifier.String()); named && !qualified {
			return t
		}
	}
	first := Token{Position: math.MaxInt}
	note := func(placeholder string) {
		if t, ok := g.Token(placeholder); ok && t.Position < first.Position {
			first = t
		}
	}
	visit := func(n sqlparser.SQLNode) (bool, error) {
		switch n := n.(type) {
		case sqlparser.ColIdent:
			note(n.String())
		case sqlparser.TableIdent:
			note(n.String())
		case *sqlparser.SQLVal:
			note(string(n.Val))
		}
		return true, nil
	}
	if err := sqlparser.Walk(visit, node); err != nil || first.Position == math.MaxInt {
		return g.tokens[0]
	}
	return first
}

// ColumnNames returns the names of the columns in an expression, as written.
func (g *Tokens) ColumnNames(e sqlparser.Expr) []string {
	var names []string
	visit := func(n sqlparser.SQLNode) (bool, error) {
		if c, ok := n.(*sqlparser.ColName); ok {
			if t, ok := g.Token(c.Name.String()); ok && !slices.Contains(names, t.Value) && len(names) < 10 {
				names = append(names, t.Value)
			}
		}
		return true, nil
	}
	if err := sqlparser.Walk(visit, e); err != nil {
		return nil
	}
	return names
}

// Find returns the first of the given keywords or operators outside parentheses, or
// the statement's first token if there is none.
func (g *Tokens) Find(wanted ...string) Token {
	depth := 0
	for _, t := range g.tokens {
		switch {
		case t.Matches("("):
			depth++
		case t.Matches(")"):
			depth--
		}
		for _, w := range wanted {
			if depth == 0 && t.Matches(w) {
				return t
			}
		}
	}
	return g.tokens[0]
}

// Node returns what an expression was lowered from; nil for a literal, a row, and what was made later.
func (g *Tokens) Node(e sqlparser.Expr) Expr {
	if _, row := e.(sqlparser.ValTuple); row {
		return nil
	}
	return g.nodes[e]
}

// StartToken returns the first token of an expression. If the expression opens with
// a keyword, that is the keyword before its first name.
func (g *Tokens) StartToken(e sqlparser.Expr) Token {
	e = Unwrap(e)
	switch n := g.Node(e).(type) {
	case *Subquery:
		return keyword("SELECT", n.Query)
	case *Exists:
		return keyword("EXISTS", n)
	case *Case:
		return keyword("CASE", n)
	}
	return g.FirstToken(e)
}

// keyword is the word that an expression begins with.
func keyword(word string, of Node) Token {
	return Token{Kind: KindWord, Text: word, Value: word, Upper: word, Position: of.Pos(), End: of.End()}
}

// Unwrap takes the parentheses off an expression.
func Unwrap(e sqlparser.Expr) sqlparser.Expr {
	for {
		p, ok := e.(*sqlparser.ParenExpr)
		if !ok {
			return e
		}
		e = p.Expr
	}
}

func (*Select) statement() {}
