package around

import (
	"slices"
	"strings"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

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

// block is a SELECT over private rows while it is divided into its core and what reads it.
type block struct {
	*cutter
	frame *frame
	with  entries
	items []syntax.Item // the select list

	keys       []key
	sets       bool // it has ROLLUP, CUBE or GROUPING SETS
	aggregates []aggregate
	entering   map[int]bool // the entries of the select list that are being opened
	folded     *folded
	outermost  *block // into which it is folded
}

// opening is what stands inside a core for a node of the statement.
type opening struct {
	expr   syntax.Expr // opened in turn
	parens bool        // around it
	made   syntax.Expr // or this, as it is
	from   []syntax.Source
	hole   *hole
}

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

// check checks what becomes part of the core as it stands: FROM, WHERE and GROUP BY.
func (b *block) check(s *syntax.Block) {
	b.checkRows(s)
	for _, k := range b.keys { // some are entries of the select list
		b.enters(k.expr)
	}
}

// entersSelect makes a sub-select of public tables part of the core: as a hole, which Resolve
// fills with values. The front end reads those of x IN (SELECT column FROM table) itself.
func (b *block) entersSelect(e syntax.Expr, q *syntax.Query) {
	if _, opened := b.opened[e]; opened {
		return
	}
	h := &hole{private: hasTables(q, b.isPrivate)}
	if _, list := e.(*syntax.In); list && !h.private && b.isPlain(q) {
		return
	}
	switch e := e.(type) {
	case *syntax.In:
		h.not = e.Not
	case *syntax.Exists:
		h.exists = true
	case *syntax.Unary:
		h.exists, h.not = true, true
	}
	out := b.emitter()
	if h.private { // a statement by itself: nothing in it is folded into this core
		out.opened = nil
	}
	asked := &syntax.Query{Recursive: true, With: b.needed(out, q)}
	var outer, inner *syntax.Column
	var equal syntax.Expr
	if h.exists && !h.private {
		outer, inner, equal = b.compared(q)
	}
	if outer == nil {
		inside := syntax.Copy(q, out.emit)
		asked.With = append(asked.With, inside.With...)
		asked.Body, asked.Order, asked.Limit, asked.Offset = inside.Body, inside.Order, inside.Limit, inside.Offset
	} else {
		asked.Body = semiJoin(out, q.Body.(*syntax.Block), inner, equal)
		b.enters(outer)
		h.outer = syntax.Copy[syntax.Expr](outer, out.emit)
	}
	h.statement = statementOf(syntax.Placed(asked, q), b.tokens, nil)
	if out.long || len(h.statement.text) > maxText {
		b.refuseAt(q, "this sub-select", "ask for it first, and write its result as a value")
	}
	b.opened[e] = opening{hole: h}
}

// alias returns the index of the select list's entry that a name means, or -1. A column has
// precedence.
func (b *block) alias(c *syntax.Column) int {
	if len(c.Path) > 1 || b.isColumn(c.Path[0].Text) {
		return -1
	}
	return b.entry(c.Path[0].Text)
}

// constantWord reports whether a word means a value where no column has its name.
func constantWord(name syntax.Ident) bool {
	words := []string{"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP"}
	return !name.Quoted && slices.Contains(words, strings.ToUpper(name.Text))
}

// folded is what a core is over: one private table, public tables joined with it, and the
// conditions of all SELECTs that are folded into it.
type folded struct {
	tables int
	names  []string // of the tables so far
	wheres []syntax.Expr
}

// key is an expression of GROUP BY.
type key struct {
	expr   syntax.Expr
	canon  string
	name   string // in the core
	column string // the column that it is, "" for none
	base   string // the column of a table that this one is, "" for none
}

// aggregate is an aggregate of a core.
type aggregate struct {
	expr  syntax.Expr // as it stands there
	text  string
	holes []hole
	name  string
}

// find returns a column, or nil.
func (r *rows) find(name string) *derived {
	for k := range r.columns {
		if query.SameName(r.columns[k].name, name) {
			return &r.columns[k]
		}
	}
	return nil
}
