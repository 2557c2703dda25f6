package syntax

import (
	"slices"
	"strconv"
	"strings"
)

// This file desugars clauses of other systems: TOP, FETCH, OFFSET, GROUP BY ALL, QUALIFY,
// generate_series and names of columns in FROM, and takes the schema public away.

// desugar desugars a statement's query.
func (d *desugaring) desugar(q *Query) error {
	return caught(func() {
		d.clauses(q)
		d.named(q)
		Replace(q, d.expr)
		d.check(d.tokens)
	})
}

// clauses desugars the clauses of all queries in a statement, which the query q is.
func (d *desugaring) clauses(q *Query) {
	d.schemas(q)
	Walk(q, func(n Node) bool {
		switch n := n.(type) {
		case *Query:
			d.query(n)
		case *Derived:
			d.columns(n)
		}
		return true
	})
	d.series(q)
}

// named finds the entries that columns name of the sub-selects in FROM and of WITH, for an EXTRACT among them.
func (d *desugaring) named(q *Query) {
	if !slices.ContainsFunc(d.tokens, func(t Token) bool { return t.Matches("EXTRACT") || t.Matches("DATE_PART") }) {
		return
	}
	common := make(map[string]*CommonTable)
	d.entries = make(map[*Column][]*Item)
	Walk(q, func(n Node) bool {
		switch n := n.(type) {
		case *CommonTable:
			common[UpperASCII(n.Name.Text)] = n
		case *Block:
			of := make(map[string][]*Item)
			for _, s := range n.From {
				entriesOf(s, common, of)
			}
			d.namedIn(n, of)
		}
		return true
	})
}

// namedIn notes the columns of a SELECT that name entries.
func (d *desugaring) namedIn(b *Block, of map[string][]*Item) {
	if len(of) == 0 {
		return
	}
	Walk(b, func(n Node) bool {
		if c, ok := n.(*Column); ok {
			if items := of[UpperASCII(c.Path[len(c.Path)-1].Text)]; items != nil {
				d.entries[c] = items
			}
		}
		_, inner := n.(*Query)
		return !inner
	})
}

// entriesOf adds the entries of a source in FROM, by name.
func entriesOf(s Source, common map[string]*CommonTable, of map[string][]*Item) {
	var q *Query
	var names []Ident
	switch s := s.(type) {
	case *Derived:
		q, names = s.Query, s.Alias.Columns
	case *Table:
		if c := common[UpperASCII(s.Path[0].Text)]; c != nil && len(s.Path) == 1 {
			q, names = c.Query, c.Columns
		}
	case *Join:
		entriesOf(s.X, common, of)
		entriesOf(s.Y, common, of)
	case *ParenSource:
		for _, inner := range s.List {
			entriesOf(inner, common, of)
		}
	}
	if q == nil {
		return
	}
	for _, b := range blocks(q.Body, nil) {
		for i := range b.Items {
			it := &b.Items[i]
			name := it.As.Text
			if i < len(names) {
				name = names[i].Text
			} else if c, ok := it.X.(*Column); ok && it.As.None() {
				name = c.Path[len(c.Path)-1].Text
			}
			of[UpperASCII(name)] = append(of[UpperASCII(name)], it)
		}
	}
}

// schemas takes PostgreSQL's usual schema away: "public"."t" is t. It does nothing if the
// statement uses the name for something else.
func (d *desugaring) schemas(q *Query) {
	found := false
	for i, t := range d.tokens {
		if !t.isName() || UpperASCII(t.Value) != "PUBLIC" || i > 0 && d.tokens[i-1].Matches(".") {
			continue
		}
		if i+2 >= len(d.tokens) || !d.tokens[i+1].Matches(".") || !d.tokens[i+2].isName() {
			return
		}
		d.replaces(t.Position)
		found = true
	}
	if !found {
		return
	}
	Walk(q, func(n Node) bool {
		switch n := n.(type) {
		case *Column:
			n.Path = withoutSchema(n.Path)
		case *Star:
			n.Of = withoutSchema(n.Of)
		case *Call:
			n.Path = withoutSchema(n.Path)
		case *Type:
			n.Path = withoutSchema(n.Path)
		case *Collate:
			n.Name = withoutSchema(n.Name)
		case *Table:
			n.Path = withoutSchema(n.Path)
		}
		return true
	})
}

func withoutSchema(path []Ident) []Ident {
	if len(path) > 1 && UpperASCII(path[0].Text) == "PUBLIC" {
		return path[1:]
	}
	return path
}

// query desugars the clauses of one query.
func (d *desugaring) query(q *Query) {
	if q.foreign {
		d.limits(q)
	}
	for _, b := range blocks(q.Body, nil) {
		if b.Top != nil {
			d.top(b, q)
		}
		if b.GroupAll {
			d.groupAll(b)
		}
		if b.Qualify != nil {
			d.qualify(b)
		}
	}
}

// top writes SELECT TOP n … as SELECT … LIMIT n.
func (d *desugaring) top(b *Block, q *Query) {
	if q.Limit != nil || q.Offset != nil || q.Body != Body(b) {
		d.refuse(b.topAt, "TOP beside LIMIT or in a part of a set operation", "write LIMIT at the end; or put the SELECT TOP into FROM")
	}
	d.replaces(b.topAt)
	q.Limit, b.Top = Inside(b.Top), nil
}

// blocks adds the SELECTs that a body is made of.
func blocks(b Body, list []*Block) []*Block {
	switch b := b.(type) {
	case *Block:
		return append(list, b)
	case *Compound:
		return blocks(b.Y, blocks(b.X, list))
	}
	return list
}

// limits has a LIMIT where OFFSET is alone: FETCH FIRST n ROWS ONLY, OFFSET n ROWS and LIMIT ALL are
// LIMIT n OFFSET m.
func (d *desugaring) limits(q *Query) {
	d.replaces(q.limits.from)
	m := maker{d, q.limits}
	if q.Limit == nil {
		q.Limit = m.negative("1")
	}
}

// aggregating are names of aggregates, and families the beginnings of others.
var (
	aggregating = words(`SUM TOTAL AVG MIN MAX MARGIN LOW HIGH MEDIAN MODE GROUP_CONCAT STRING_AGG
		ARRAY_AGG ANY_VALUE`)
	families = []string{"COUNT", "STDDEV", "STDEV", "VAR", "CORR", "COVAR_", "REGR_", "PERCENTILE_", "QUANTILE",
		"APPROX_", "BOOL_"}
)

// isAggregate reports whether a call is one of an aggregate. MIN and MAX of several values are none.
func isAggregate(c *Call) bool {
	name := UpperASCII(c.Path[len(c.Path)-1].Text)
	if c.Over != nil || aggregating[name] && (len(c.Args) == 1 || name != "MIN" && name != "MAX") {
		return true
	}
	return slices.ContainsFunc(families, func(family string) bool { return strings.HasPrefix(name, family) })
}

// aggregates reports whether an expression computes something of many rows, or of none.
func aggregates(e Expr) bool {
	aggregate, names := false, false
	Walk(e, func(n Node) bool {
		switch n := n.(type) {
		case *Column, *Subquery, *Exists:
			names = true
		case *Call:
			names = true
			aggregate = aggregate || isAggregate(n)
		}
		return true
	})
	return aggregate || !names
}

// groupAll writes GROUP BY ALL as the numbers of the entries that aggregate nothing.
func (d *desugaring) groupAll(b *Block) {
	if slices.ContainsFunc(b.Items, func(it Item) bool { _, star := it.X.(*Star); return star }) {
		return
	}
	d.replaces(b.groupAt)
	m := maker{d, span{b.groupAt, b.groupAt}}
	for i, it := range b.Items {
		if !aggregates(it.X) {
			b.Group = append(b.Group, m.number(strconv.Itoa(i+1)))
		}
	}
	b.GroupAll = false
}

// title returns the name of an entry of a select list.
func (it Item) title() Ident {
	if c, ok := it.X.(*Column); ok && it.As.None() {
		return c.Path[len(c.Path)-1]
	}
	return it.As
}

// qualify puts a SELECT with QUALIFY into FROM, and the condition into WHERE around it. An alias
// in the condition is what it stands for.
func (d *desugaring) qualify(b *Block) {
	if b.From == nil {
		return
	}
	d.replaces(b.qualifyAt)
	m := d.in(b)
	outer := &Block{span: b.span}
	meant := make(map[string]Expr)
	var names []string
	for _, it := range b.Items {
		name := it.title()
		folded := strings.ToLower(name.Text)
		if name.None() || slices.Contains(names, folded) {
			d.refuse(b.qualifyAt, "QUALIFY over entries without names of their own",
				"write AS and a name behind each entry of the select list")
		}
		names = append(names, folded)
		outer.Items = append(outer.Items, Item{span: it.span, X: counted(m, &Column{name.span, []Ident{name}})})
		if !it.As.None() {
			meant[folded] = it.X
		}
	}
	condition := Replace(b.Qualify, func(e Expr) Expr {
		c, ok := e.(*Column)
		if !ok || len(c.Path) != 1 || meant[strings.ToLower(c.Path[0].Text)] == nil {
			return e
		}
		m := d.in(e)
		return m.paren(m.again(meant[strings.ToLower(c.Path[0].Text)]))
	})
	inner := *b
	inner.Qualify = nil
	inner.Items = append(slices.Clip(b.Items), Item{X: m.paren(condition), As: m.named("qualify")})
	from := &Derived{span: b.span, Query: &Query{span: b.span, Body: &inner}, Alias: Alias{Name: m.named("qualified")}}
	outer.From, outer.Where = []Source{counted(m, from)}, m.column(m.named("qualify"))
	*b = *outer
}

// columns desugars (SELECT …) AS t (a, b): a common table expression has names for its columns.
func (d *desugaring) columns(s *Derived) {
	if s.Alias.Columns == nil || s.Alias.Types != nil {
		return
	}
	m := d.in(s)
	d.replaces(s.Alias.Columns[0].Pos())
	name := m.named("named")
	with := &CommonTable{span: m.at, Name: name, Columns: s.Alias.Columns, Query: s.Query}
	all := &Block{span: m.at, Items: []Item{{span: m.at, X: counted(m, &Star{span: m.at})}}, From: []Source{counted(m, &Table{span: m.at, Path: []Ident{name}})}}
	s.Query, s.Alias.Columns = counted(m, &Query{span: m.at, With: []*CommonTable{counted(m, with)}, Body: counted(m, all)}), nil
}

// series writes generate_series(a, b, step) in FROM, or as the only entry of a select list, as a
// recursive common table expression in front of the statement.
func (d *desugaring) series(q *Query) {
	var with []*CommonTable
	add := func(c *Call, column Ident) (table Ident, ok bool) {
		if len(c.Args) < 2 || len(c.Args) > 3 {
			return Ident{}, false
		}
		m, name := d.in(c), "generate_series"
		if len(with) > 0 {
			name += " " + strconv.Itoa(len(with)+1)
		}
		d.replaces(c.Pos())
		with = append(with, m.entry(c, m.named(name), column))
		return m.named(name), true
	}
	Walk(q, func(n Node) bool {
		if b, ok := n.(*Block); ok {
			d.onlySeries(b, add)
		}
		eachSource(n, func(s Source) Source {
			if f, ok := s.(*Function); ok && isSeries(f.Call) {
				return d.sourceSeries(f, add)
			}
			return s
		})
		return true
	})
	if len(with) > 0 {
		q.With, q.Recursive = append(with, q.With...), true
	}
}

// eachSource replaces the sources that a node has itself.
func eachSource(n Node, f func(Source) Source) {
	switch n := n.(type) {
	case *Block:
		for i := range n.From {
			n.From[i] = f(n.From[i])
		}
	case *Join:
		n.X, n.Y = f(n.X), f(n.Y)
	case *ParenSource:
		for i := range n.List {
			n.List[i] = f(n.List[i])
		}
	}
}

func isSeries(c *Call) bool {
	return len(c.Path) == 1 && UpperASCII(c.Path[0].Text) == "GENERATE_SERIES"
}

// onlySeries reads a series from a table, if it is all that a SELECT has.
func (d *desugaring) onlySeries(b *Block, add func(c *Call, column Ident) (Ident, bool)) {
	if len(b.Items) != 1 || b.From != nil || b.Where != nil || b.Distinct || !b.Items[0].As.None() {
		return
	}
	c, ok := b.Items[0].X.(*Call)
	if !ok || !isSeries(c) {
		return
	}
	m := d.in(c)
	column := Ident{m.at, "generate_series", false}
	if table, ok := add(c, column); ok {
		b.Items[0].X = m.column(column)
		b.From = []Source{counted(m, &Table{span: m.at, Path: []Ident{table}})}
	}
}

// sourceSeries returns the table that add makes of a series in FROM.
func (d *desugaring) sourceSeries(s *Function, add func(c *Call, column Ident) (Ident, bool)) Source {
	m := d.in(s)
	column := Ident{m.at, "generate_series", false}
	if !s.Alias.Name.None() {
		column = s.Alias.Name
	}
	if len(s.Alias.Columns) == 1 {
		column = s.Alias.Columns[0]
	}
	table, ok := add(s.Call, column)
	if !ok {
		return s
	}
	return counted(m, &Table{span: m.at, Path: []Ident{table}, Alias: Alias{Name: s.Alias.Name}})
}

// entry makes the common table expression of a series.
func (m maker) entry(c *Call, table, column Ident) *CommonTable {
	value, next, within := m.step(c)
	member := func(x func() Expr) *Block {
		until := m.binary(x(), within, value(c.Args[1]))
		return counted(m, &Block{span: m.at, Items: []Item{{span: m.at, X: x()}}, Where: until})
	}
	first := member(func() Expr { return value(c.Args[0]) })
	others := member(func() Expr { return next(m.column(column)) })
	others.From = []Source{counted(m, &Table{span: m.at, Path: []Ident{table}})}
	all := counted(m, &Compound{span: m.at, Op: "UNION", All: true, X: first, Y: others, Operator: m.at.from})
	return &CommonTable{span: m.at, Name: table, Columns: []Ident{column}, Query: &Query{span: m.at, Body: all}}
}

// step returns the forms of the ends of a series and of what follows a value, and the comparison
// that ends it. All values are days, if the step has whole days and no end is a moment, or else
// moments. A series of numbers has numbers for its ends: to SQLite each number is less than any text, and
// a series up to one would not end.
func (m maker) step(c *Call) (value, next func(x Expr) Expr, within string) {
	value = func(x Expr) Expr {
		if l, ok := Inside(x).(*Literal); ok && l.Kind == KindInteger {
			return m.again(x)
		}
		return m.binary(m.again(x), "+", m.number("0"))
	}
	plus := func(op, n string) func(Expr) Expr {
		return func(x Expr) Expr { return m.binary(x, op, m.number(n)) }
	}
	if len(c.Args) == 2 {
		return value, plus("+", "1"), "<="
	}
	by := Inside(c.Args[2])
	if x, ok := by.(*Unary); ok && x.Op == "-" {
		if l, ok := x.X.(*Literal); ok && l.Kind == KindInteger && l.Value != "0" {
			return value, plus("-", l.Value), ">="
		}
	}
	if l, ok := by.(*Literal); ok && l.Kind == KindInteger && l.Value != "0" {
		return value, plus("+", l.Value), "<="
	}
	text, ok := m.interval(by)
	if !ok {
		text, ok = textOf(by)
	}
	parts, days, known := modifiers(text, false)
	if !ok || !known || len(parts) == 0 || slices.ContainsFunc(parts, func(part string) bool { return part[0] == '-' }) {
		m.refuse(c.Pos(), "this step of generate_series",
			"it is a whole number, or a text such as '1 month' with a number and a unit")
	}
	at := func(x Expr, modifiers ...Expr) Expr { return m.call("datetime", append([]Expr{x}, modifiers...)...) }
	if days && !isMoment(c.Args[0]) && !isMoment(c.Args[1]) {
		at = m.day
	}
	value = func(x Expr) Expr { return at(m.again(x)) }
	return value, func(x Expr) Expr { return at(x, m.texts(parts)...) }, "<="
}

// isMoment reports whether an expression makes a value that has a time of day.
func isMoment(e Expr) (moment bool) {
	Walk(e, func(n Node) bool {
		switch n := n.(type) {
		case *Literal:
			moment = moment || n.Kind == KindString && len(n.Value) > 10 && isoDate(n.Value[:10])
		case *Column:
			moment = moment || len(n.Path) == 1 && UpperASCII(n.Path[0].Text) == "CURRENT_TIMESTAMP"
		case *Call:
			moment = moment || UpperASCII(n.Path[0].Text) == "DATETIME" || UpperASCII(n.Path[0].Text) == "NOW"
		case *Cast:
			to := types[UpperASCII(n.Type.Path[len(n.Type.Path)-1].Text)]
			moment = moment || to == "DATETIME"
		}
		return true
	})
	return moment
}
