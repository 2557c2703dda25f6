package surround

import (
	"slices"

	"github.com/rqlite/sql"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// enters makes an expression part of the core. It opens aliases, and the columns of the
// SELECTs that are folded into the core.
func (b *block) enters(e sql.Expr) {
	if b.err != nil {
		return
	}
	if s, list := subSelect(e); s != nil {
		if first, _ := b.span(e); b.opened[first].tokens > 0 {
			return
		}
		b.entersSelect(e, s, list)
		return
	}
	switch e := e.(type) {
	case *sql.Ident:
		t := b.name(e)
		if n := b.alias(t); n >= 0 {
			if b.entering[n] {
				b.refuse(sqlerr.New(sqlerr.Invalid, "%s is defined by itself", syntax.Excerpt(t.Value, 40)).At(t.Position))
				return
			}
			if b.opened[b.of(e)].tokens > 0 {
				return
			}
			b.opened[b.of(e)] = opening{tokens: 1, at: b.items[n], parens: true}
			b.entering[n] = true
			b.enters(b.exprs[n])
			delete(b.entering, n)
			return
		}
		b.open(b.of(e), 1, "", t)
	case *sql.QualifiedRef:
		table, t := b.qualified(e)
		b.open(b.of(e.Table), 3, table, t)
	}
	for _, p := range parts(e) {
		b.enters(p)
	}
}

// open finds what a column is in the core.
func (b *block) open(first, tokens int, table string, t syntax.Token) {
	var rest *rows
	for _, i := range b.frame.items {
		if table != "" && !query.SameName(i.name, table) {
			continue
		}
		if i.rows != nil && i.rows.rest != nil {
			rest = i.rows
		}
		if !slices.ContainsFunc(i.columns, func(n string) bool { return query.SameName(n, t.Value) }) {
			continue
		}
		if i.rows != nil && i.rows.s != nil || table == "" && b.outermost != b && b.folded.tables > 1 {
			o := b.means(i, t.Value)
			o.tokens = tokens
			b.opened[first] = o
		}
		return
	}
	if rest != nil {
		b.opened[first] = opening{tokens: tokens, text: query.Quoted(rest.rest.name) + "." + query.Quoted(t.Value)}
		return
	}
	b.correlated(table, t)
}

// means returns what a known column of a relation is in the core.
func (b *block) means(i item, name string) opening {
	if i.rows == nil || i.rows.s == nil {
		if b.folded.tables == 1 {
			return opening{text: query.Quoted(name)}
		}
		return opening{text: query.Quoted(i.name) + "." + query.Quoted(name)}
	}
	d := i.rows.find(name)
	if d.expr == nil {
		return b.means(d.of, d.column)
	}
	_, plain := bareOf(d.expr).(*sql.Ident)
	_, qualified := bareOf(d.expr).(*sql.QualifiedRef)
	return opening{at: d.at, parens: !plain && !qualified}
}

// correlated refuses a column of a SELECT around the core, and one that no SELECT in FROM has
// though the table that it reads does.
func (b *block) correlated(table string, t syntax.Token) {
	publics, folded := false, false
	for _, i := range b.frame.items {
		if table != "" && query.SameName(i.name, table) ||
			table == "" && slices.ContainsFunc(i.columns, func(n string) bool { return query.SameName(n, t.Value) }) {
			return
		}
		publics = publics || i.columns == nil
		folded = folded || i.made
	}
	if table == "" && (publics || constantWord(t)) {
		return
	}
	for f := b.frame.outer; f != nil; f = f.outer {
		for _, i := range f.items {
			if table != "" && query.SameName(i.name, table) || table == "" && (i.columns == nil ||
				slices.ContainsFunc(i.columns, func(n string) bool { return query.SameName(n, t.Value) })) {
				name := syntax.Excerpt(t.Value, 40)
				qualified := name
				if table != "" {
					qualified = syntax.Excerpt(table, 40) + "." + name
				}
				b.refuse(t.Unsupported("a private aggregate that names the column "+name+" of the SELECT around it").
					WithHint("aggregate by group, and join the result: … JOIN (SELECT x, COUNT(*) AS n FROM t GROUP BY x) AS c ON c.x = %s", qualified))
				return
			}
		}
	}
	if folded && t.Kind == syntax.KindWord {
		b.refuse(sqlerr.New(sqlerr.Unknown, "no column %s in the sub-select", syntax.Excerpt(t.Value, 40)).Of(sqlerr.Column).
			WithHint("it has the columns of its select list").At(t.Position))
	}
}

// check checks what becomes part of the core as it stands: FROM, WHERE and GROUP BY.
func (b *block) check(s *sql.SelectStatement) {
	b.checkRows(s)
	for _, k := range b.keys { // some are entries of the select list
		b.enters(k.expr)
	}
}

// checkRows folds the SELECTs in FROM, and adds the condition.
func (b *block) checkRows(s *sql.SelectStatement) {
	for n, i := range b.frame.items {
		switch {
		case i.made && i.rows == nil:
			b.refuse(i.place.Unsupported("a join of private rows with a sub-select").
				WithHint("select rows by it, WHERE x IN (SELECT …); or aggregate the private rows in a sub-select of their own, and join its result"))
		case i.made && n > 0 && len(i.rows.items) > 1:
			b.refuse(i.place.Unsupported("a join with a sub-select that joins").WithHint("write it first in FROM"))
		case i.made:
			b.fold(i)
		case slices.ContainsFunc(b.folded.names, func(n string) bool { return query.SameName(n, i.name) }):
			b.refuse(i.place.Unsupported("a private aggregate in which " + syntax.Excerpt(i.name, 40) + " means two tables").WithHint("give one of them another alias"))
		default:
			b.folded.names = append(b.folded.names, i.name)
		}
	}
	b.ons(s.Source)
	if s.WhereExpr != nil {
		first := b.index(s.Where) + 1
		b.folded.wheres = append(b.folded.wheres, stretch{first, b.clauseEnd(first) - 1})
		b.enters(s.WhereExpr)
	}
}

// ons checks the conditions of joins.
func (b *block) ons(s sql.Source) {
	if j, ok := s.(*sql.JoinClause); ok {
		b.ons(j.X)
		b.ons(j.Y)
		if on, ok := j.Constraint.(*sql.OnConstraint); ok {
			b.enters(on.X)
		}
	}
}

// fold puts the tables of a SELECT in FROM in its place.
func (b *block) fold(i item) {
	s := i.rows.s
	refuse := func(at sql.Pos, construct, hint string) {
		if at.IsValid() {
			b.refuse(b.tokens[b.index(at)].Unsupported(construct).WithHint("%s", hint))
		}
	}
	refuse(s.Distinct, "DISTINCT over private rows", "GROUP BY the columns")
	refuse(s.Limit, "LIMIT over private rows", "limit the result of an aggregate")
	refuse(s.Window, "a window over private rows", "aggregate first: windows may run over the result")
	sub := &block{cutter: b.cutter, with: b.with, folded: b.folded, outermost: b.outermost, frame: &frame{items: i.rows.items, outer: b.frame.outer}}
	sub.checkRows(s)
	for _, d := range i.rows.columns {
		if d.expr != nil {
			sub.noWindow(d.expr)
			sub.enters(d.expr)
		}
	}
	first := b.index(s.From) + 1
	b.opened[i.at.first] = opening{tokens: i.at.last - i.at.first + 1, at: stretch{first, b.clauseEnd(first) - 1}}
}

// noWindow refuses a window over private rows.
func (b *block) noWindow(e sql.Expr) {
	if call, ok := e.(*sql.Call); ok && call.Over != nil {
		b.refuse(b.name(call.Name).Unsupported("a window over private rows").WithHint("aggregate first: windows may run over the result"))
	}
	for _, p := range parts(e) {
		b.noWindow(p)
	}
}
