package around

import (
	"slices"
	"strings"

	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// at returns the place of a node, for its errors.
func at(n syntax.Node) syntax.Token { return syntax.Token{Position: n.Pos()} }

func lastOf(path []syntax.Ident) syntax.Ident { return path[len(path)-1] }

// qualifier returns the table that a column or star is qualified by, "" for none.
func qualifier(path []syntax.Ident) string {
	if len(path) == 0 {
		return ""
	}
	return lastOf(path).Text
}

// qualified returns the names of a column: of its table, "" for none, and its own.
func qualified(c *syntax.Column) (table string, name syntax.Ident) {
	return qualifier(c.Path[:len(c.Path)-1]), lastOf(c.Path)
}

// functionOf returns the name of a function in lower case.
func functionOf(c *syntax.Call) string { return strings.ToLower(lastOf(c.Path).Text) }

// columnOf returns the column that an expression is, parentheses and collations apart, or nil.
func columnOf(e syntax.Expr) (c *syntax.Column, collated bool) {
	for {
		switch x := syntax.Inside(e).(type) {
		case *syntax.Column:
			return x, collated
		case *syntax.Collate:
			e, collated = x.X, true
		default:
			return nil, collated
		}
	}
}

// columnAt returns a column of a name, in the place of a node.
func columnAt(e syntax.Node, path ...string) *syntax.Column {
	c := &syntax.Column{}
	for _, name := range path {
		c.Path = append(c.Path, syntax.Named(name, e))
	}
	return syntax.Placed(c, e)
}

func nullValue() syntax.Expr { return &syntax.Literal{Kind: syntax.KindWord, Value: "NULL"} }

// numberOf returns a text as the number that it has.
func numberOf(l *syntax.Literal) *syntax.Literal {
	text := strings.TrimSpace(l.Value)
	kind := syntax.KindInteger
	if strings.ContainsAny(text, ".eE") {
		kind = syntax.KindDecimal
	}
	return &syntax.Literal{Kind: kind, Value: text}
}

// members returns the SELECTs and VALUES that a query is compounded of.
func members(b syntax.Body) []syntax.Body {
	if c, ok := b.(*syntax.Compound); ok {
		return append(members(c.X), members(c.Y)...)
	}
	return []syntax.Body{b}
}

// windowed returns the expressions of a window.
func windowed(w *syntax.Window) (all []syntax.Expr) {
	all = slices.Clone(w.Partition)
	for _, t := range w.Order {
		all = append(all, t.X)
	}
	if w.Frame != nil {
		for _, e := range []syntax.Expr{w.Frame.Low.By, w.Frame.High.By} {
			if e != nil {
				all = append(all, e)
			}
		}
	}
	return all
}

// contains reports whether an expression, or one in it, is of a kind. It looks into no sub-select.
func contains(e syntax.Expr, is func(syntax.Expr) bool) bool {
	found := false
	syntax.Walk(e, func(n syntax.Node) bool {
		if _, inner := n.(*syntax.Query); inner || found {
			return false
		}
		part, ok := n.(syntax.Expr)
		found = ok && is(part)
		return !found
	})
	return found
}

// named reports whether one of the names is a name.
func named(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return query.SameName(n, name) })
}

// foreign returns an error at the first form of a tree that SQLite does not have.
func foreign(q *syntax.Query, tokens []syntax.Token) error {
	first := 0 // the position
	found := func(position int) {
		if first == 0 {
			first = position
		}
	}
	syntax.Walk(q, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Query:
			foreignQuery(n, found)
		case syntax.Body:
			foreignBody(n, found)
		case syntax.Source:
			foreignSource(n, found)
		case syntax.Expr:
			foreignExpr(n, found)
		}
		return first == 0
	})
	i := slices.IndexFunc(tokens, func(t syntax.Token) bool { return t.Position == first })
	if i < 0 {
		return nil
	}
	return tokens[i].Malformed("unexpected %s", syntax.Excerpt(tokens[i].Text, 40))
}

func foreignQuery(q *syntax.Query, found func(int)) {
	for _, s := range q.Settings {
		found(s.Name.Position)
	}
	if q.Offset != nil && q.Limit == nil {
		found(q.Offset.Pos())
	}
}

func foreignBody(b syntax.Body, found func(int)) {
	switch b := b.(type) {
	case *syntax.Compound:
		for _, side := range []syntax.Body{b.X, b.Y} {
			if q, ok := side.(*syntax.Query); ok {
				found(q.Pos())
			}
		}
	case *syntax.Block:
		for _, e := range []syntax.Expr{b.Top, b.Qualify} {
			if e != nil {
				found(e.Pos())
			}
		}
		if b.On != nil || b.GroupAll {
			found(b.Pos())
		}
	}
}

func foreignSource(s syntax.Source, found func(int)) {
	is := false
	switch s := s.(type) {
	case *syntax.Table:
		is = len(s.Path) > 2 || s.Alias.Columns != nil
	case *syntax.Derived:
		is = s.Alias.Columns != nil
	case *syntax.Function:
		is = s.Ordinality
	}
	if is {
		found(s.Pos())
	}
}

// operators are those of SQLite that stand between values.
var operators = strings.Fields("AND OR IS LIKE GLOB = == <> != < <= > >= & | << >> + - * / % || -> ->>")

func foreignExpr(e syntax.Expr, found func(int)) {
	is, position := false, e.Pos()
	switch e := e.(type) {
	case *syntax.Column:
		is = len(e.Path) > 2
	case *syntax.Star:
		is = len(e.Of) > 1
	case *syntax.Literal:
		is = e.Type != nil
	case *syntax.Test:
		is = e.Is == "UNKNOWN"
	case *syntax.Binary:
		is = e.Op != "IS DISTINCT FROM" && !slices.Contains(operators, e.Op) || e.Quantifier != ""
		position = e.Operator
	case *syntax.In:
		_, is = e.Set.(*syntax.Column)
	case *syntax.Cast:
		is = e.Name != "CAST" || len(e.Type.Path) > 1 || e.Type.Zone != "" || e.Type.Array > 0
	case *syntax.Call:
		words := slices.ContainsFunc(e.Words, func(word string) bool { return word != "" })
		is = len(e.Path) > 1 || e.Order != nil || e.Within != nil || words
	case *syntax.Tuple:
		is = e.Row
	case *syntax.Interval, *syntax.Array, *syntax.Index, *syntax.Field, *syntax.AtZone:
		is = true
	}
	if is {
		found(position)
	}
}
