package syntax

import (
	"math"
	"slices"

	"github.com/xwb1989/sqlparser"
)

// FirstToken returns the first name or literal in a syntax node, or the statement's
// first token if the node has none.
func (g *Tokens) FirstToken(node sqlparser.SQLNode) Token {
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

// StartToken returns the first token of an expression. If the expression opens with
// a keyword, that is the keyword before its first name.
func (g *Tokens) StartToken(e sqlparser.Expr) Token {
	first := g.FirstToken(e)
	switch Unwrap(e).(type) {
	case *sqlparser.Subquery:
		return g.before(first, "SELECT")
	case *sqlparser.ExistsExpr:
		return g.before(first, "EXISTS")
	case *sqlparser.CaseExpr:
		return g.before(first, "CASE")
	}
	return first
}

// before returns the last of a keyword in front of a token, else the token.
func (g *Tokens) before(t Token, keyword string) Token {
	found := t
	for _, k := range g.tokens {
		if k.Position >= t.Position {
			break
		}
		if k.Matches(keyword) {
			found = k
		}
	}
	return found
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
