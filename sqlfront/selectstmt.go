package sqlfront

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

	g       *guarded
	from    []source // what is selected from; the first, and what is joined to it
	columns []Name   // of a common table expression that renames its columns
	list    []item
	where   sqlparser.Expr // nil without a WHERE
	groupBy sqlparser.GroupBy
	having  sqlparser.Expr // nil without a HAVING
	orderBy sqlparser.OrderBy
	limit   *sqlparser.Limit // nil without a LIMIT
	unique  bool             // DISTINCT
}

// item is one entry of the select list.
type item struct {
	expr  sqlparser.Expr // nil for a star
	star  *sqlparser.StarExpr
	alias string // as written behind it; "" where there is none
	index int    // in the list
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
func parseSelect(tokens []token, with []expression) (*Select, error) {
	tokens, with, err := parseWith(tokens, with)
	if err != nil {
		return nil, err
	}
	tokens, subs, err := openFrom(tokens, with)
	if err != nil {
		return nil, err
	}
	g := &guarded{tokens, subs}
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
		return nil, g.find("UNION").unsupported("UNION").WithHint("ask for each count in a statement of its own")
	}
	if sel.Cache != "" || sel.Hints != "" || sel.Lock != "" || len(sel.Comments) > 0 {
		return nil, g.tokens[0].unsupported("this form of SELECT")
	}
	s := &Select{g: g, groupBy: sel.GroupBy, orderBy: sel.OrderBy, limit: sel.Limit, unique: sel.Distinct != ""}
	if sel.Where != nil {
		s.where = sel.Where.Expr
	}
	if sel.Having != nil {
		s.having = sel.Having.Expr
	}
	s.list = g.items(sel.SelectExprs)
	s.from, err = g.sources(sel.From, with)
	return s, err
}

// items returns the select list.
func (g *guarded) items(exprs sqlparser.SelectExprs) []item {
	items := make([]item, len(exprs))
	for i, e := range exprs {
		items[i].index = i
		switch e := e.(type) {
		case *sqlparser.StarExpr:
			items[i].star = e
		case *sqlparser.AliasedExpr:
			items[i].expr = e.Expr
			if t, ok := g.token(e.As.String()); ok {
				items[i].alias = t.value
			}
		}
	}
	return items
}

// placeOf returns the token that an entry of the select list is found at.
func (g *guarded) placeOf(it item) token {
	if it.star != nil {
		return g.find("*")
	}
	return g.start(it.expr)
}

// listTexts writes each entry of the select list as it stands in the text,
// blanks apart.
func (g *guarded) listTexts() []string {
	var texts []string
	depth, text, before := 0, "", token{}
	for _, t := range g.tokens[1:] {
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case depth == 0 && (t.is("FROM") || t.kind == kindEnd):
			return append(texts, text)
		case depth == 0 && t.is(","):
			texts, text, before = append(texts, text), "", token{}
			continue
		case depth == 0 && text == "" && (t.is("DISTINCT") || t.is("ALL")):
			continue
		}
		if text != "" && !tight(before, t) {
			text += " "
		}
		text, before = text+t.text, t
	}
	return texts
}

// tight reports whether two tokens are written without a blank between them.
func tight(before, t token) bool {
	switch {
	case before.is("(") || before.is("."), t.is(")") || t.is(",") || t.is("."):
		return true
	}
	return t.is("(") && before.isName()
}

// tables returns the tables that a SELECT reads, sub-selects opened.
func (s *Select) tables() []Name {
	var names []Name
	for _, f := range s.from {
		if f.sub == nil {
			names = append(names, f.name)
			continue
		}
		names = append(names, f.sub.tables()...)
	}
	return slices.Clip(names)
}
