package syntax

import (
	"slices"

	"github.com/xwb1989/sqlparser"
)

// Select is a SELECT as written: its clauses are taken apart, and no name in
// it has been looked up.
type Select struct {
	Table      Name   // the first table in FROM, sub-selects opened
	Tables     []Name // all of them, in the order of the text
	Parameters int    // the number of arguments that Bind takes

	Tokens   *Tokens
	From     []FromItem // what is selected from; the first, and what is joined to it
	Columns  []Name     // of a common table expression that renames its columns
	List     []ListItem
	Where    sqlparser.Expr // nil without a WHERE
	GroupBy  sqlparser.GroupBy
	Having   sqlparser.Expr // nil without a HAVING
	OrderBy  sqlparser.OrderBy
	Limit    *sqlparser.Limit // nil without a LIMIT
	Distinct bool             // DISTINCT
}

// item is one entry of the select list.
type ListItem struct {
	Expr  sqlparser.Expr // nil for a star
	Star  *sqlparser.StarExpr
	Alias string // as written behind it; "" where there is none
	Index int    // in the list
}

// selectStatement parses the SELECT, or the WITH … SELECT, that starts at the
// next token.
func (p *parser) selectStatement() (*Select, error) {
	tokens := p.tokens[p.at:]
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
	s.List = g.items(sel.SelectExprs)
	s.From, err = g.sources(sel.From, with)
	return s, err
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

// placeOf returns the token that an entry of the select list is found at.
func (g *Tokens) PlaceOf(it ListItem) Token {
	if it.Star != nil {
		return g.Find("*")
	}
	return g.Start(it.Expr)
}

// listTexts writes each entry of the select list as it stands in the text,
// blanks apart.
func (g *Tokens) ListTexts() []string {
	var texts []string
	depth, text, before := 0, "", Token{}
	for _, t := range g.tokens[1:] {
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case depth == 0 && (t.Is("FROM") || t.Kind == KindEnd):
			return append(texts, text)
		case depth == 0 && t.Is(","):
			texts, text, before = append(texts, text), "", Token{}
			continue
		case depth == 0 && text == "" && (t.Is("DISTINCT") || t.Is("ALL")):
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
	switch {
	case before.Is("(") || before.Is("."), t.Is(")") || t.Is(",") || t.Is("."):
		return true
	}
	return t.Is("(") && before.isName()
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
