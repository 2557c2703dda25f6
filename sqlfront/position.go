package sqlfront

import (
	"math"
	"slices"

	"github.com/xwb1989/sqlparser"
)

// place returns the first token of the names and literals in a syntax node,
// and the statement's first token where it has none.
func (g *guarded) place(node sqlparser.SQLNode) token {
	first := token{position: math.MaxInt}
	note := func(placeholder string) {
		if t, ok := g.token(placeholder); ok && t.position < first.position {
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
	if err := sqlparser.Walk(visit, node); err != nil || first.position == math.MaxInt {
		return g.tokens[0]
	}
	return first
}

// columnNames returns the names of the columns in an expression, as written.
func (g *guarded) columnNames(e sqlparser.Expr) []string {
	var names []string
	visit := func(n sqlparser.SQLNode) (bool, error) {
		if c, ok := n.(*sqlparser.ColName); ok {
			if t, ok := g.token(c.Name.String()); ok && !slices.Contains(names, t.value) && len(names) < 10 {
				names = append(names, t.value)
			}
		}
		return true, nil
	}
	if err := sqlparser.Walk(visit, e); err != nil {
		return nil
	}
	return names
}

// find returns the first of the given keywords or operators that stands
// outside parentheses, and the statement's first token where none does.
func (g *guarded) find(wanted ...string) token {
	depth := 0
	for _, t := range g.tokens {
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		}
		for _, w := range wanted {
			if depth == 0 && t.is(w) {
				return t
			}
		}
	}
	return g.tokens[0]
}

// start returns the first token of an expression as far as it can be told:
// for those that open with a keyword, the keyword before their first name.
func (g *guarded) start(e sqlparser.Expr) token {
	first := g.place(e)
	switch unwrap(e).(type) {
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
func (g *guarded) before(t token, keyword string) token {
	found := t
	for _, k := range g.tokens {
		if k.position >= t.position {
			break
		}
		if k.is(keyword) {
			found = k
		}
	}
	return found
}

// unwrap takes the parentheses off an expression.
func unwrap(e sqlparser.Expr) sqlparser.Expr {
	for {
		p, ok := e.(*sqlparser.ParenExpr)
		if !ok {
			return e
		}
		e = p.Expr
	}
}
