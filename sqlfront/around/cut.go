package around

import (
	"fmt"
	"maps"
	"slices"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Private returns the columns of a private table, and false for any other name.
type Private func(name syntax.Name) (columns []string, ok bool)

// Cut divides a statement that names private tables. The cores are its private aggregates.
// What is left of it reads a table in the place of each, see Source.Cores, and names public
// tables and cores only.
//
// A SELECT over private rows is divided itself: its core has the keys of GROUP BY and the
// aggregates, each once; its select list, HAVING, windows, ORDER BY, LIMIT and DISTINCT read
// them from the core's table. SELECTs in FROM, and common table expressions, that make
// one row of a private row are folded into the core that reads them.
//
// Cut refuses private rows anywhere else. A refusal depends on the text, and on the names
// and columns of private tables.
func (s *Statement) Cut(private Private) (cores []Core, around *Statement, err error) {
	err = sqlerr.Guard(func() error {
		if len(s.text) > maxText {
			return s.tooLong()
		}
		if s.large {
			return s.tooManySelects()
		}
		c := &cutter{Statement: s, private: private, taken: s.taken(),
			known: make(map[*syntax.Query]*rows), opened: make(map[syntax.Node]opening)}
		q := c.query(s.query, nil, nil)
		if c.err != nil {
			return c.err
		}
		cores = c.cores
		around, err = c.around(q)
		return err
	})
	return cores, around, err
}

// taken returns the folded names that mean something in the statement.
func (s *Statement) taken() map[string]bool {
	taken := make(map[string]bool)
	for _, t := range s.tokens {
		taken[query.FoldName(t.Value)] = true
	}
	for name := range s.names { // some are made
		taken[name] = true
	}
	return taken
}

// entry is a common table expression. If it only filters and computes from private rows, it is
// part of cores and of nothing else.
type entry struct {
	table *syntax.CommonTable
	rows  *rows // nil unless it has private rows
	cores bool  // it has cores in it
}

// around returns the statement that is left. Its nodes have their places in the one that was cut.
func (c *cutter) around(q *syntax.Query) (*Statement, error) {
	names := make([]string, len(c.cores))
	for i, core := range c.cores {
		names[i] = core.Table
	}
	around := statementOf(q, c.tokens, names)
	if len(around.text) > maxText {
		return nil, c.tooLong()
	}
	around.Explain, around.Full = c.Explain, c.Full
	around.Tables = slices.DeleteFunc(around.Tables, func(t syntax.Name) bool { return named(names, t.Text) })
	return around, nil
}

// body cuts the SELECTs of a compound one.
func (c *cutter) body(b syntax.Body, with entries, outer *frame) syntax.Body {
	switch b := b.(type) {
	case *syntax.Compound:
		out := *b
		out.X, out.Y = c.body(b.X, with, outer), c.body(b.Y, with, outer)
		return &out
	case *syntax.Block:
		return c.part(b, nil, with, outer)
	}
	return syntax.Copy(b, c.visitor(with, &frame{outer: outer}))
}

// with cuts the common table expressions. Those that make one row of a private row are not among
// the ones that are left.
func (c *cutter) with(q *syntax.Query, outer entries) (left []*syntax.CommonTable, in entries) {
	if len(q.With) == 0 {
		return nil, outer
	}
	in = make(entries, len(outer)+len(q.With))
	maps.Copy(in, outer)
	for _, t := range q.With {
		in[query.FoldName(t.Name.Text)] = &entry{table: t}
	}
	for _, t := range q.With {
		name := query.FoldName(t.Name.Text)
		e := in[name]
		if r := c.rows(t.Query, in); r != nil {
			e.rows = r
			for k, n := range t.Columns {
				if k < len(r.columns) {
					r.columns[k].name = n.Text
				}
			}
			continue
		}
		before := c.divided
		out := *t
		out.Query = c.query(t.Query, in, nil)
		e.cores = c.divided > before
		if e.cores && q.Recursive && mentions(t.Query, name) {
			c.refuseAt(t.Name, "a private aggregate in a recursive WITH entry",
				"put the aggregate into an entry of its own, before the recursive one")
		}
		left = append(left, &out)
	}
	return left, in
}

// mentions reports whether a query reads a table or entry of a folded name.
func mentions(q *syntax.Query, folded string) bool {
	found := false
	syntax.Walk(q, func(n syntax.Node) bool {
		t, ok := n.(*syntax.Table)
		found = found || ok && query.FoldName(lastOf(t.Path).Text) == folded
		return !found
	})
	return found
}

// rows returns the rows of a query that makes one row of a private row, or none. It is nil
// for every other query.
func (c *cutter) rows(q *syntax.Query, with entries) *rows {
	r, known := c.known[q]
	if !known {
		r = c.makes(q, with)
		c.known[q] = r
	}
	return r
}

// makes returns the rows of a query that was not looked at before.
func (c *cutter) makes(q *syntax.Query, with entries) *rows {
	b, ok := q.Body.(*syntax.Block)
	if !ok || len(q.With) > 0 || len(b.From) == 0 {
		return nil
	}
	r := &rows{query: q, block: b, items: c.from(b.From, with)}
	at, more := privates(r.items)
	if at < 0 || more >= 0 || c.aggregates(b, q) {
		return nil
	}
	r.table = r.items[at].rows.table
	for _, entry := range b.Items {
		if len(r.columns) > maxColumn {
			c.refuseAt(r.table, fmt.Sprintf("a SELECT of more than %d columns", maxColumn),
				"name those that matter")
			return r
		}
		star, ok := entry.X.(*syntax.Star)
		if !ok {
			r.columns = append(r.columns, derived{name: nameOf(entry), expr: entry.X})
			continue
		}
		r.addStar(qualifier(star.Of))
	}
	return r
}

// addStar adds the columns of *, or of table.*.
func (r *rows) addStar(table string) {
	for i := range r.items {
		from := r.items[i]
		if table != "" && !query.SameName(from.name, table) {
			continue
		}
		if from.columns == nil {
			r.rest = &r.items[i]
		}
		for _, n := range from.columns {
			r.columns = append(r.columns, derived{name: n, of: from, column: n})
		}
	}
}

// privates returns the indices of the first two relations with private rows, -1 for none.
func privates(items []item) (first, second int) {
	first, second = -1, -1
	for i := range items {
		switch {
		case items[i].rows == nil:
		case first < 0:
			first = i
		case second < 0:
			second = i
		}
	}
	return first, second
}

// named returns the names of the columns.
func (r *rows) named() (names []string) {
	for _, d := range r.columns {
		names = append(names, d.name)
	}
	return names
}

// from returns the relations of a FROM clause. It cuts nothing.
func (c *cutter) from(list []syntax.Source, with entries) (items []item) {
	for _, s := range list {
		switch s := s.(type) {
		case *syntax.Join:
			items = append(items, c.from([]syntax.Source{s.X, s.Y}, with)...)
		case *syntax.ParenSource:
			items = append(items, c.from(s.List, with)...)
		case *syntax.Derived:
			i := item{name: s.Alias.Name.Text, made: true, source: s, place: s}
			if i.rows = c.rows(s.Query, with); i.rows != nil {
				i.columns = i.rows.named()
			}
			items = append(items, i)
		case *syntax.Table:
			items = append(items, c.table(s, with))
		default:
			items = append(items, item{made: true, source: s, place: s})
		}
	}
	return items
}

// table returns the relation that a name in FROM means.
func (c *cutter) table(s *syntax.Table, with entries) item {
	t := lastOf(s.Path)
	i := item{name: t.Text, source: s, place: t}
	if !s.Alias.Name.None() {
		i.name = s.Alias.Name.Text
	}
	if e := with[query.FoldName(t.Text)]; e != nil && len(s.Path) == 1 {
		i.made, i.cores, i.rows = true, e.cores, e.rows
		if e.rows != nil {
			i.columns = e.rows.named()
		}
	} else if columns, ok := c.private(syntax.Name{Text: t.Text, Position: t.Pos()}); ok {
		i.columns, i.rows = columns, &rows{table: t}
	}
	return i
}

// computed returns the expressions of a SELECT that are computed after grouping.
func computed(b *syntax.Block, q *syntax.Query) (all []syntax.Expr) {
	for _, i := range b.Items {
		all = append(all, i.X)
	}
	if b.Having != nil {
		all = append(all, b.Having)
	}
	for _, w := range b.Windows {
		all = append(all, windowed(w.Window)...)
	}
	if q == nil {
		return all
	}
	for _, t := range q.Order {
		all = append(all, t.X)
	}
	return all
}

// part cuts one SELECT, and returns what is left of it. The query that it is has ORDER BY and
// LIMIT beside it, which part cuts too; it is nil for a part of a compound SELECT.
func (c *cutter) part(b *syntax.Block, q *syntax.Query, with entries, outer *frame) *syntax.Block {
	f := &frame{items: c.from(b.From, with), outer: outer}
	private, more := privates(f.items)
	if more >= 0 {
		c.refuseAt(f.items[more].place, "a join of private rows with private rows",
			"join them in a view, and declare the view; or aggregate each, and join the results")
		return b
	}
	if private >= 0 {
		if !c.aggregates(b, q) && !(q != nil && c.lists(b)) {
			c.refuseRows(f.items[private])
			return b
		}
		return c.divide(b, q, f, with)
	}
	from := c.sources(b.From, with, f)
	out := *b
	out.From = nil
	out = *syntax.Copy(&out, c.visitor(with, f))
	out.From = from
	if q != nil {
		q.Order = c.visitTerms(q.Order, with, f)
		q.Limit, q.Offset = c.visit(q.Limit, with, f), c.visit(q.Offset, with, f)
	}
	return &out
}

// refuseRows refuses a SELECT of private rows, where their table is named.
func (c *cutter) refuseRows(i item) {
	place, name := syntax.Token{Position: i.rows.table.Pos()}, syntax.Excerpt(i.rows.table.Text, 40)
	if _, made := i.source.(*syntax.Derived); !made {
		place = at(i.place)
	}
	c.refuse(place.Unsupported("a SELECT of the rows of "+name).
		WithHint("only aggregates of private rows come out: SELECT x, COUNT(*) AS n FROM %s GROUP BY x", name))
}

// sources cuts the SELECTs in a FROM clause without private rows.
func (c *cutter) sources(list []syntax.Source, with entries, f *frame) (out []syntax.Source) {
	inside := c.visitor(with, f)
	for _, s := range list {
		out = append(out, syntax.Copy(s, func(n syntax.Node) syntax.Node {
			d, ok := n.(*syntax.Derived)
			if !ok {
				return inside(n)
			}
			if d.Lateral {
				c.refuse(refusedLateral(d))
			}
			other := *d
			other.Query = c.query(d.Query, with, f.outer)
			return &other
		}))
	}
	return out
}

func (c *cutter) visitTerms(list []syntax.OrderTerm, with entries, f *frame) []syntax.OrderTerm {
	out := slices.Clone(list)
	for i := range out {
		out[i].X = c.visit(out[i].X, with, f)
	}
	return out
}

// visitor returns what stands in the surroundings for a part of an expression: for a query what is
// left of it, and for others what is left of their parts.
func (c *cutter) visitor(with entries, f *frame) func(syntax.Node) syntax.Node {
	return func(n syntax.Node) syntax.Node {
		if c.err != nil {
			return n
		}
		switch n := n.(type) {
		case *syntax.Query:
			return c.query(n, with, f)
		case *syntax.Column:
			c.reach(n, f)
		}
		return nil
	}
}

// reach refuses a name in a sub-select that means a private column of a SELECT around it,
// unless that is grouped by the column.
func (c *cutter) reach(col *syntax.Column, f *frame) {
	table, name := qualified(col)
	for ; f != nil; f = f.outer {
		for _, i := range f.items {
			if table != "" && !query.SameName(table, i.name) {
				continue
			}
			known := named(i.columns, name.Text)
			switch {
			case known && f.core != nil && i.rows != nil && !f.core.keeps(name.Text):
				c.refuse(bare(col))
				return
			case known || i.columns == nil:
				return
			}
		}
	}
}

// visit cuts the sub-selects of an expression that stays in the surroundings.
func (c *cutter) visit(e syntax.Expr, with entries, f *frame) syntax.Expr {
	if e == nil {
		return nil
	}
	return syntax.Copy(e, c.visitor(with, f))
}

// query cuts a query, and returns what is left of it. The scope around it is outer.
func (c *cutter) query(q *syntax.Query, with entries, outer *frame) *syntax.Query {
	out := *q
	out.With, with = c.with(q, with)
	if b, ok := q.Body.(*syntax.Block); ok {
		out.Body = c.part(b, &out, with, outer)
		return &out
	}
	out.Body = c.body(q.Body, with, outer)
	// Terms of ORDER BY are entries of the select list, which SQLite finds by their names.
	f := &frame{outer: outer}
	out.Order = c.visitTerms(q.Order, with, f)
	out.Limit, out.Offset = c.visit(q.Limit, with, f), c.visit(q.Offset, with, f)
	return &out
}

// lists reports whether the statement is SELECT DISTINCT without aggregates. Over private rows it
// has the values of its columns that are declared, as GROUP BY has.
func (c *cutter) lists(b *syntax.Block) bool {
	return syntax.Body(b) == c.Statement.query.Body && b.Distinct && b.Having == nil && len(b.Windows) == 0
}
