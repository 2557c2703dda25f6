package around

import (
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// enters makes an expression part of the core. It opens aliases, and the columns of the
// SELECTs that are folded into the core.
func (b *block) enters(e syntax.Expr) {
	syntax.Walk(e, func(n syntax.Node) bool {
		if b.err != nil {
			return false
		}
		switch n := n.(type) {
		case *syntax.In:
			if sub, ok := n.Set.(*syntax.Subquery); ok {
				b.enters(n.X)
				b.entersSelect(n, sub.Query)
				return false
			}
		case *syntax.Unary:
			if exists, ok := n.X.(*syntax.Exists); ok && n.Op == "NOT" {
				b.entersSelect(n, exists.Query)
				return false
			}
		case *syntax.Exists:
			b.entersSelect(n, n.Query)
			return false
		case *syntax.Subquery:
			b.entersSelect(n, n.Query)
			return false
		case *syntax.Column:
			b.entersColumn(n)
		}
		return true
	})
}

// entersColumn opens a name.
func (b *block) entersColumn(c *syntax.Column) {
	n := b.alias(c)
	if n < 0 {
		b.open(c)
		return
	}
	if b.entering[n] {
		b.refuse(sqlerr.New(sqlerr.Invalid, "%s is defined by itself", syntax.Excerpt(c.Path[0].Text, 40)).
			At(c.Pos()))
		return
	}
	if _, opened := b.opened[c]; opened {
		return
	}
	b.opened[c] = opening{expr: b.items[n].X, parens: true}
	b.entering[n] = true
	b.enters(b.items[n].X)
	delete(b.entering, n)
}

// open finds what a column is in the core.
func (b *block) open(c *syntax.Column) {
	table, name := qualified(c)
	var rest *rows
	for _, i := range b.frame.items {
		if table != "" && !query.SameName(i.name, table) {
			continue
		}
		if i.rows != nil && i.rows.rest != nil {
			rest = i.rows
		}
		if !named(i.columns, name.Text) {
			continue
		}
		if i.rows != nil && i.rows.query != nil || table == "" && b.outermost != b && b.folded.tables > 1 {
			b.opened[c] = b.means(i, name.Text, c)
		}
		return
	}
	if rest != nil {
		b.opened[c] = opening{made: columnAt(c, rest.rest.name, name.Text)}
		return
	}
	b.correlated(c)
}

// means returns what a known column of a relation is in the core, at a place.
func (b *block) means(i item, name string, place syntax.Node) opening {
	if i.rows == nil || i.rows.query == nil {
		if b.folded.tables == 1 {
			return opening{made: columnAt(place, name)}
		}
		return opening{made: columnAt(place, i.name, name)}
	}
	d := i.rows.find(name)
	if d.expr == nil {
		return b.means(d.of, d.column, place)
	}
	_, plain := syntax.Inside(d.expr).(*syntax.Column)
	return opening{expr: d.expr, parens: !plain}
}

// correlated refuses a column of a SELECT around the core, and one that no SELECT in FROM has
// though the table that it reads does.
func (b *block) correlated(c *syntax.Column) {
	table, name := qualified(c)
	publics, folded := false, false
	for _, i := range b.frame.items {
		if table != "" && query.SameName(i.name, table) || table == "" && named(i.columns, name.Text) {
			return
		}
		publics = publics || i.columns == nil
		folded = folded || i.made
	}
	if table == "" && (publics || constantWord(name)) {
		return
	}
	for f := b.frame.outer; f != nil; f = f.outer {
		for _, i := range f.items {
			known := i.columns == nil || named(i.columns, name.Text)
			if table != "" && query.SameName(i.name, table) || table == "" && known {
				b.refuseCorrelated(c)
				return
			}
		}
	}
	if folded && !name.Quoted {
		b.refuse(sqlerr.New(sqlerr.Unknown, "no column %s in the sub-select", syntax.Excerpt(name.Text, 40)).Of(sqlerr.Column).
			WithHint("it has the columns of its select list").At(c.Pos()))
	}
}

func (b *block) refuseCorrelated(c *syntax.Column) {
	name := syntax.Excerpt(lastOf(c.Path).Text, 40)
	qualified := name
	if len(c.Path) > 1 {
		qualified = syntax.Excerpt(c.Path[len(c.Path)-2].Text, 40) + "." + name
	}
	b.refuseAt(c, "a private aggregate that names the column "+name+" of the SELECT around it",
		"aggregate by group, and join the result: … JOIN (SELECT x, COUNT(*) AS n FROM t GROUP BY x) AS c ON c.x = %s", qualified)
}

// check checks what becomes part of the core as it stands: FROM, WHERE and GROUP BY.
func (b *block) check(s *syntax.Block) {
	b.checkRows(s)
	for _, k := range b.keys { // some are entries of the select list
		b.enters(k.expr)
	}
}

// checkRows folds the SELECTs in FROM, and adds the condition.
func (b *block) checkRows(s *syntax.Block) {
	for n, i := range b.frame.items {
		switch {
		case i.made && i.rows == nil:
			b.refuseAt(i.place, "a join of private rows with a sub-select",
				"select rows by it, WHERE x IN (SELECT …); or aggregate the private rows in a sub-select of their own, and join its result")
		case i.made && n > 0 && len(i.rows.items) > 1:
			b.refuseAt(i.place, "a join with a sub-select that joins", "write it first in FROM")
		case i.made:
			b.fold(i)
		case named(b.folded.names, i.name):
			b.refuseAt(i.place, "a private aggregate in which "+syntax.Excerpt(i.name, 40)+" means two tables",
				"give one of them another alias")
		default:
			b.folded.names = append(b.folded.names, i.name)
		}
	}
	b.ons(s.From)
	if s.Where != nil {
		b.folded.wheres = append(b.folded.wheres, s.Where)
		b.enters(s.Where)
	}
}

// ons checks the conditions of joins.
func (b *block) ons(list []syntax.Source) {
	for _, s := range list {
		if j, ok := s.(*syntax.Join); ok {
			b.ons([]syntax.Source{j.X, j.Y})
			if j.On != nil {
				b.enters(j.On)
			}
		}
	}
}

// fold puts the tables of a SELECT in FROM in its place.
func (b *block) fold(i item) {
	s, q := i.rows.block, i.rows.query
	refuse := func(before int, word, construct, hint string) {
		b.refuse(b.wordBefore(before, word).Unsupported(construct).WithHint("%s", hint))
	}
	switch {
	case s.Distinct:
		refuse(s.Items[0].Pos(), "DISTINCT", "DISTINCT over private rows", "GROUP BY the columns")
	case q.Offset != nil && q.Limit == nil:
		refuse(q.Offset.Pos(), "OFFSET", "OFFSET over private rows", "limit the result of an aggregate")
	case q.Limit != nil:
		refuse(q.Limit.Pos(), "LIMIT", "LIMIT over private rows", "limit the result of an aggregate")
	case len(s.Windows) > 0:
		refuse(s.Windows[0].Name.Pos(), "WINDOW", "a window over private rows",
			"aggregate first: windows may run over the result")
	}
	sub := &block{cutter: b.cutter, with: b.with, folded: b.folded, outermost: b.outermost,
		frame: &frame{items: i.rows.items, outer: b.frame.outer}}
	sub.checkRows(s)
	for _, d := range i.rows.columns {
		if d.expr != nil {
			sub.noWindow(d.expr)
			sub.enters(d.expr)
		}
	}
	b.opened[i.source] = opening{from: s.From}
}

// wordBefore returns the last token before a position that is a word.
func (s *Statement) wordBefore(position int, word string) (found syntax.Token) {
	found = s.first()
	for _, t := range s.tokens {
		if t.Matches(word) && t.Position < position {
			found = t
		}
	}
	return found
}

// noWindow refuses a window over private rows.
func (b *block) noWindow(e syntax.Expr) {
	contains(e, func(e syntax.Expr) bool {
		call, ok := e.(*syntax.Call)
		if ok && call.Over != nil {
			b.refuseAt(call, "a window over private rows",
				"aggregate first: windows may run over the result")
		}
		return b.err != nil
	})
}

// hasTables reports whether a query reads a table for which is returns true.
func hasTables(q *syntax.Query, is func(name syntax.Ident) bool) bool {
	found := false
	syntax.Walk(q, func(n syntax.Node) bool {
		t, ok := n.(*syntax.Table)
		found = found || ok && is(lastOf(t.Path))
		return !found
	})
	return found
}
