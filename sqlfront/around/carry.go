package around

import (
	"slices"
	"strconv"

	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// This file adds the hidden columns of a lineage to a statement.

// carrying returns the query with its hidden columns. It returns false if these would be
// seen by a part of the statement that numbers do not pass.
func (t *tracer) carrying() (*syntax.Query, bool) {
	stars, read := 0, true
	columns := make(map[*syntax.Star][]syntax.Item)
	added := make(map[*syntax.CommonTable][]syntax.Ident)
	for _, p := range t.parts {
		if p.passes {
			stars += len(p.stars)
			if slices.ContainsFunc(p.items, func(i *sourced) bool { return len(i.of.hidden) > 0 }) {
				if t.natural || !p.expand(columns) {
					return nil, false
				}
			}
		}
		e := p.of.entry
		if e == nil || len(p.of.hidden) == 0 {
			continue
		}
		read = read && t.mentioned(e) <= t.read[e]
		if e.Columns != nil && added[e] == nil {
			for _, name := range p.of.hidden {
				added[e] = append(added[e], syntax.Ident{Text: name, Quoted: true})
			}
		}
	}
	if !read && t.countStars() > stars {
		return nil, false
	}
	return syntax.Copy(t.Statement.types, t.adding(columns, added)), true
}

// handsOn returns the hidden columns of a SELECT, in the order that its relation has.
func (p *part) handsOn() (columns []syntax.Item) {
	values := p.exports
	if len(p.of.parts) > 1 {
		index := strconv.Itoa(slices.Index(p.of.parts, p))
		values = slices.Insert(slices.Clone(values), 0,
			syntax.Expr(&syntax.Literal{Kind: syntax.KindInteger, Value: index}))
	}
	for i, name := range p.of.hidden {
		item := syntax.Item{X: nullValue(), As: syntax.Ident{Text: name, Quoted: true}}
		if i < len(values) {
			item.X = values[i]
		}
		columns = append(columns, item)
	}
	return columns
}

// adding returns what puts the hidden columns into a copy of the statement.
func (t *tracer) adding(
	columns map[*syntax.Star][]syntax.Item, added map[*syntax.CommonTable][]syntax.Ident,
) func(syntax.Node) syntax.Node {
	done := make(map[*syntax.Block]bool) // those that are made below
	var put func(syntax.Node) syntax.Node
	put = func(n syntax.Node) syntax.Node {
		switch n := n.(type) {
		case *syntax.CommonTable:
			if names := added[n]; names != nil {
				other := *n
				other.Columns, other.Query = slices.Concat(n.Columns, names), syntax.Copy(n.Query, put)
				return &other
			}
		case *syntax.Block:
			p := t.parts[n]
			if done[n] || p == nil {
				return nil
			}
			other := *n
			other.Items = nil
			for _, i := range n.Items {
				if star, ok := i.X.(*syntax.Star); ok && columns[star] != nil {
					other.Items = append(other.Items, columns[star]...)
				} else {
					other.Items = append(other.Items, i)
				}
			}
			other.Items = append(other.Items, p.handsOn()...)
			done[&other] = true
			return syntax.Copy(&other, put)
		}
		return nil
	}
	return put
}

// expand finds the columns for each * of a SELECT that would have hidden columns.
func (p *part) expand(columns map[*syntax.Star][]syntax.Item) bool {
	for _, star := range p.stars {
		table := qualifier(star.Of)
		for _, i := range p.items {
			if table != "" && !query.SameName(i.name, table) {
				continue
			}
			if i.of.names == nil || p.merged && table == "" || i.name == "" && len(p.items) > 1 {
				return false
			}
			for n, name := range i.of.names {
				if name == "" || named(i.of.names[:n], name) {
					return false
				}
				columns[star] = append(columns[star], syntax.Item{X: i.column(name)})
			}
		}
		if len(columns[star]) == 0 {
			return false
		}
	}
	return true
}

// mentioned returns how often an entry is read in the statement.
func (t *tracer) mentioned(e *syntax.CommonTable) (n int) {
	hasTables(t.Statement.types, func(name syntax.Ident) bool {
		if query.SameName(name.Text, e.Name.Text) {
			n++
		}
		return false
	})
	return n
}

// countStars returns how many * stand for columns.
func (t *tracer) countStars() (n int) {
	syntax.Walk(t.Statement.types, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Call: // not in COUNT(*)
			return !slices.ContainsFunc(node.Args, func(e syntax.Expr) bool { _, star := e.(*syntax.Star); return star })
		case *syntax.Star:
			n++
		}
		return true
	})
	return n
}
