package around

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/post"
	"dpsql/sqlfront/syntax"
	"dpsql/sqlfront/types"
)

// Lineage says how numbers of a statement's result are computed from numbers of its cores, so
// that the intervals of these give theirs. It follows from the statement's text and from the
// names of columns.
//
// A number passes through select lists, FROM, joins, WITH, UNION ALL, ORDER BY, LIMIT and
// conditions, and through what post computes with: + - * / % with constants, columns without
// noise and other such numbers, CAST to REAL, ABS, ROUND and COALESCE. It does not pass through
// DISTINCT, GROUP BY and the set operations that compare rows, nor through other functions.
//
// The statement is given more columns, which carry the numbers of the rows that it reads, from
// the cores' tables to the result. Then the cores' own rows have the values, and their intervals
// at any confidence. A scalar sub-select is repeated with another column, if it has one row at
// most. Each SELECT of a UNION ALL has the columns in an order of its own, and one more that is
// its index: it says whose expression a row of the union was computed by. What a result shows is
// read from the same rows.
//
// The intervals hold at the confidence asked for. An expression's number is computed from cells:
// the true value of each is within its interval at 1 − β/k, where k cells with noise are used in
// the row, and so all are within theirs at 1 − β (post, newBox). Which cells these are depends on
// the statement, on public tables and on the noisy rows, and the interval is about the true
// values of these same cells.
type Lineage struct {
	text    string      // as SQLite runs it, with the columns
	hidden  int         // how many these are; they are the last. 0 if no number has an interval
	columns []post.Expr // of the result, over cells; nil for those without an interval
	cells   []cell
	names   []string // of its columns
}

// cell is what an expression of the result reads from a hidden column: the column's value, or a
// value of a core's row.
type cell struct {
	hidden int    // the column
	core   string // the core whose row's number it has; "" for a value, which has no noise
	column int    // of the core
	twins  []int  // the cells before it that may be of the same row and column
}

// slot is what an expression over the columns of a SELECT starts from.
type slot struct {
	carrier int
	core    *Table // the core whose row the carrier has the number of; nil for a value without noise
	column  int    // of the core
}

// carrier is what a SELECT can hand on in a hidden column: the column of a public table, the
// number of a core's row, the index of a SELECT in a union, or what a relation or a scalar
// sub-select hands on.
type carrier struct {
	in     *part    // the SELECT; nil for an index
	item   *sourced // whose column it is
	scalar *shape   // or whose value
	inner  int      // the column of a table, or ofRow; the carrier of another relation
	union  *shape   // that it is an index in
}

// ofRow is the column of a core's table that has the numbers of the rows.
const ofRow = -1

// shape is what a relation looks like.
type shape struct {
	names  []string    // nil if they are not known; "" for a column without a name of its own
	forms  []post.Expr // of a query's columns, over slots
	core   *Table      // the core that it is
	table  bool        // it is a core or a public table
	query  *syntax.Query
	parts  []*part  // a query's SELECTs, with UNION ALL between them
	hidden []string // the names of a query's hidden columns
	single bool     // it has one row at most
	entry  *syntax.CommonTable
}

// part is a SELECT of a query.
type part struct {
	of      *shape
	block   *syntax.Block
	names   []string
	forms   []post.Expr
	items   []*sourced
	passes  bool // numbers pass it
	merged  bool // USING merges columns of the items
	stars   []*syntax.Star
	carried []int         // the carriers of its hidden columns, behind the index
	exports []syntax.Expr // these columns
}

// sourced is an item of a FROM clause.
type sourced struct {
	name string
	of   *shape
}

// tracer finds the lineage of one statement.
type tracer struct {
	cutter
	tables   map[string][]column
	cores    map[string]*Table
	bodies   map[string]*shape // the entries in scope, by folded name
	parts    map[*syntax.Block]*part
	read     map[*syntax.CommonTable]int // how often SELECTs that numbers pass read an entry
	slots    []slot
	carriers []carrier
	natural  bool
	names    int
	size     int // of the expressions that were handed on
}

// lineage returns the lineage of a statement with cores, see trace.
func (s *Statement) lineage(cores []*Table, tables map[string][]column) (l *Lineage, err error) {
	err = sqlerr.Guard(func() error {
		if l = s.trace(cores, tables); l == nil {
			l = s.untraced(nil)
		}
		return nil
	})
	return l, err
}

// untraced returns the lineage of a statement whose result has no intervals.
func (s *Statement) untraced(names []string) *Lineage {
	return &Lineage{text: s.typed, names: names}
}

// trace returns the lineage of a statement, or nil if no number of its result has one. cores
// are the tables of its cores, and tables the columns of the copies.
func (s *Statement) trace(cores []*Table, tables map[string][]column) *Lineage {
	t := &tracer{cutter: cutter{Statement: s, taken: s.taken()}, tables: tables, cores: make(map[string]*Table),
		bodies: make(map[string]*shape), parts: make(map[*syntax.Block]*part),
		read: make(map[*syntax.CommonTable]int)}
	for _, core := range cores {
		t.cores[query.FoldName(core.Name)] = core
	}
	out := t.selected(s.types)
	l := &Lineage{columns: make([]post.Expr, len(out.forms))}
	known := make(map[int]int)
	for i, e := range out.forms {
		if t.noisy(e) {
			l.columns[i] = post.Moved(e, func(s int) int { return t.cell(l, out, known, s) })
		}
	}
	l.hidden = len(out.hidden)
	if l.hidden == 0 || len(out.names) != len(out.forms) {
		return nil
	}
	q, ok := t.carrying()
	if !ok {
		return nil
	}
	l.text = s.written(q)
	return l
}

// noisy reports whether an expression uses a number with noise.
func (t *tracer) noisy(e post.Expr) (noisy bool) {
	post.Moved(e, func(s int) int {
		noisy = noisy || t.slots[s].core != nil
		return s
	})
	return noisy
}

// cell returns the cell of a slot of the result. known has those that there are.
func (t *tracer) cell(l *Lineage, out *shape, known map[int]int, n int) int {
	i, ok := known[n]
	if ok {
		return i
	}
	s := t.slots[n]
	c := cell{hidden: slices.Index(out.hidden, t.export(out, s.carrier)), column: s.column}
	if s.core != nil {
		c.core = s.core.Name
	}
	for i, other := range l.cells {
		if c.core != "" && other.core == c.core && other.column == c.column {
			c.twins = append(c.twins, i)
		}
	}
	l.cells = append(l.cells, c)
	known[n] = len(l.cells) - 1
	return known[n]
}

// intern returns the index of an element of a list, to which it is added if it is not there.
func intern[E comparable](list *[]E, e E) int {
	if i := slices.Index(*list, e); i >= 0 {
		return i
	}
	*list = append(*list, e)
	return len(*list) - 1
}

// number returns the expression that is a slot.
func (t *tracer) number(c carrier, core *Table, column int) post.Number {
	return post.Number{Slot: intern(&t.slots, slot{intern(&t.carriers, c), core, column})}
}

// export has a relation hand on a carrier in a column, and returns its name.
func (t *tracer) export(r *shape, n int) string {
	c := t.carriers[n]
	at := 0
	if c.union == nil {
		p := c.in
		if at = slices.Index(p.carried, n); at < 0 {
			at = len(p.carried)
			p.carried = append(p.carried, n)
			p.exports = append(p.exports, t.carry(c))
		}
		at += min(len(r.parts)-1, 1)
	}
	for len(r.hidden) <= at {
		t.names++
		r.hidden = append(r.hidden, t.free("h"+strconv.Itoa(t.names), func(string) bool { return false }))
	}
	return r.hidden[at]
}

// carry returns what a SELECT reads of a carrier.
func (t *tracer) carry(c carrier) syntax.Expr {
	switch {
	case c.scalar != nil: // it is repeated with another column
		block, q := *c.scalar.parts[0].block, *c.scalar.query
		block.Items = []syntax.Item{{X: t.carry(t.carriers[c.inner])}}
		q.Body = &block
		return &syntax.Subquery{Query: &q}
	case c.inner == ofRow:
		return c.item.column(c.item.of.core.Name)
	case c.item.of.table:
		return c.item.column(c.item.of.names[c.inner])
	}
	return c.item.column(t.export(c.item.of, c.inner))
}

// column returns a column of an item.
func (i *sourced) column(name string) *syntax.Column {
	path := []syntax.Ident{{Text: i.name, Quoted: true}, {Text: name, Quoted: true}}
	if i.name == "" {
		path = path[1:]
	}
	return &syntax.Column{Path: path}
}

// selected returns the relation that a query is.
func (t *tracer) selected(q *syntax.Query) *shape {
	r := &shape{query: q}
	if len(q.With) > 0 {
		outer := t.bodies
		t.bodies = maps.Clone(outer)
		defer func() { t.bodies = outer }()
		t.entries(q)
	}
	for _, b := range unionAll(q.Body) {
		r.parts = append(r.parts, t.part(b, r))
	}
	switch len(r.parts) {
	case 0:
	case 1:
		p := r.parts[0]
		r.names, r.forms = p.names, p.forms
		r.single = len(p.block.From) == 0 || len(p.items) == 1 && p.items[0].of.single
	default:
		t.unite(r)
	}
	return r
}

// unionAll returns the SELECTs of a query with UNION ALL between them, nil for other queries.
func unionAll(b syntax.Body) []*syntax.Block {
	all := members(b)
	blocks := make([]*syntax.Block, len(all))
	for i := range all {
		var ok bool
		if blocks[i], ok = all[i].(*syntax.Block); !ok {
			return nil
		}
	}
	for c, ok := b.(*syntax.Compound); ok; c, ok = c.X.(*syntax.Compound) {
		if c.Op != "UNION" || !c.All {
			return nil
		}
	}
	return blocks
}

// unite finds the columns of a union. The index of a row's SELECT chooses what they are.
func (t *tracer) unite(r *shape) {
	names := r.parts[0].names
	for _, p := range r.parts {
		if p.names == nil || len(p.names) != len(names) {
			return
		}
	}
	by := t.number(carrier{union: r}, nil, 0).Slot
	r.names, r.forms = names, make([]post.Expr, len(names))
	for i := range names {
		choice := post.Choice{By: by}
		for _, p := range r.parts {
			choice.Of = append(choice.Of, p.forms[i])
		}
		if slices.ContainsFunc(choice.Of, func(e post.Expr) bool { return e != nil }) {
			r.forms[i] = choice
		}
	}
}

// part returns a SELECT of a query.
func (t *tracer) part(b *syntax.Block, r *shape) *part {
	p := &part{of: r, block: b, names: []string{}}
	t.sourcesOf(b.From, p)
	q := r.query
	if q.Body != syntax.Body(b) {
		q = nil
	}
	p.passes = !b.Distinct && len(b.Group) == 0 && b.Having == nil && !t.aggregates(b, q)
	t.parts[b] = p
	for _, i := range p.items {
		if p.passes && i.of.entry != nil {
			t.read[i.of.entry]++
		}
	}
	for _, entry := range b.Items {
		if star, ok := entry.X.(*syntax.Star); ok {
			p.stars = append(p.stars, star)
			t.star(p, qualifier(star.Of))
			continue
		}
		var f post.Expr
		if p.passes {
			f = t.formula(entry.X, p)
		}
		if p.names != nil {
			p.names = append(p.names, nameOf(entry))
		}
		p.forms = append(p.forms, f)
	}
	return p
}

// entries adds the entries of a WITH to those in scope.
func (t *tracer) entries(q *syntax.Query) {
	for _, e := range q.With { // it may read itself
		t.bodies[query.FoldName(e.Name.Text)] = &shape{entry: e}
	}
	for _, e := range q.With {
		folded := query.FoldName(e.Name.Text)
		body := t.selected(e.Query)
		if mentions(e.Query, folded) || e.Columns != nil && len(body.names) != len(e.Columns) {
			body = &shape{}
		}
		body.entry = e
		if e.Columns != nil && body.names != nil {
			body.names = nil
			for _, c := range e.Columns {
				body.names = append(body.names, c.Text)
			}
		}
		t.bodies[folded] = body
	}
}

// sourcesOf adds the items of a FROM clause.
func (t *tracer) sourcesOf(list []syntax.Source, p *part) {
	for _, s := range list {
		switch s := s.(type) {
		case *syntax.Join:
			t.sourcesOf([]syntax.Source{s.X, s.Y}, p)
			p.merged = p.merged || s.Using != nil
			t.natural = t.natural || s.Natural
		case *syntax.ParenSource:
			t.sourcesOf(s.List, p)
		case *syntax.Derived:
			p.items = append(p.items, &sourced{s.Alias.Name.Text, t.selected(s.Query)})
		case *syntax.Table:
			p.items = append(p.items, t.tableOf(s))
		default:
			p.items = append(p.items, &sourced{"", &shape{}})
		}
	}
}

// tableOf returns the item that a name is.
func (t *tracer) tableOf(s *syntax.Table) *sourced {
	name := lastOf(s.Path).Text
	i := &sourced{name: name, of: &shape{table: true}}
	if !s.Alias.Name.None() {
		i.name = s.Alias.Name.Text
	}
	folded := query.FoldName(name)
	switch body, core := t.bodies[folded], t.cores[folded]; {
	case body != nil && len(s.Path) == 1:
		i.of = body
	case core != nil:
		i.of.core, i.of.single = core, core.Single
		for _, c := range core.Columns {
			i.of.names = append(i.of.names, c.Name)
		}
	default:
		for _, c := range t.tables[folded] {
			i.of.names = append(i.of.names, c.name)
		}
	}
	return i
}

// star adds the columns of *, or of table.*.
func (t *tracer) star(p *part, table string) {
	for _, i := range p.items {
		if table != "" && !query.SameName(i.name, table) {
			continue
		}
		if i.of.names == nil || p.merged && table == "" {
			p.names = nil
		}
		for n, name := range i.of.names {
			var f post.Expr
			if p.passes {
				f = t.column(p, i, n)
			}
			if p.names != nil {
				p.names = append(p.names, name)
			}
			p.forms = append(p.forms, f)
		}
	}
}

// column returns the expression that a column of an item is.
func (t *tracer) column(p *part, i *sourced, n int) post.Expr {
	switch core := i.of.core; {
	case core != nil && n >= core.Keys:
		return t.number(carrier{in: p, item: i, inner: ofRow}, core, n)
	case i.of.table:
		return t.number(carrier{in: p, item: i, inner: n}, nil, 0)
	case n < len(i.of.forms):
		return t.through(carrier{in: p, item: i}, i.of.forms[n])
	}
	return nil
}

// Entries of WITH that name the one before them twice double an expression each. maxExpr bounds one
// that is handed on, and maxExprs all of them together.
const (
	maxExpr  = 1 << 10
	maxExprs = 1 << 18
)

// through returns an expression over what a carrier hands on, or nil if it is too large.
func (t *tracer) through(c carrier, e post.Expr) post.Expr {
	size := post.Size(e)
	if t.size += size; size > maxExpr || t.size > maxExprs {
		return nil
	}
	return post.Moved(e, func(n int) int {
		s := t.slots[n]
		c.inner = s.carrier
		return t.number(c, s.core, s.column).Slot
	})
}

// formula returns the expression over slots that an expression is, or nil if it is none.
func (t *tracer) formula(e syntax.Expr, p *part) post.Expr {
	switch e := e.(type) {
	case *syntax.Paren:
		return t.formula(e.X, p)
	case *syntax.Collate:
		return t.formula(e.X, p)
	case *syntax.Column:
		table, name := qualified(e)
		return t.reference(p, table, name)
	case *syntax.Literal:
		return constant(e)
	case *syntax.Unary:
		switch x := t.formula(e.X, p); {
		case x != nil && e.Op == "-":
			return post.Negative{Operand: x}
		case e.Op == "+":
			return x
		}
	case *syntax.Binary:
		if !slices.Contains([]string{"+", "-", "*", "/", "%"}, e.Op) {
			return nil
		}
		x, y := t.formula(e.X, p), t.formula(e.Y, p)
		if x != nil && y != nil {
			return post.Arithmetic{Op: sqlvalue.Operator(e.Op), Left: x, Right: y}
		}
	case *syntax.Cast:
		if x := t.formula(e.X, p); x != nil && types.Cast(e.Type) == query.SQLFloat8 {
			return post.Arithmetic{Op: sqlvalue.Times, Left: x, Right: post.Constant{Value: 1.0}}
		}
	case *syntax.Call:
		return t.call(e, p)
	case *syntax.Subquery:
		return t.scalar(e.Query, p)
	}
	return nil
}

// constant returns a number that is written out, nil for other literals.
func constant(l *syntax.Literal) post.Expr {
	if l.Kind != syntax.KindInteger && l.Kind != syntax.KindDecimal {
		return nil
	}
	if n, err := strconv.ParseInt(l.Value, 10, 64); err == nil {
		return post.Constant{Value: n}
	}
	if x, err := strconv.ParseFloat(l.Value, 64); err == nil {
		return post.Constant{Value: x}
	}
	return nil
}

// passable are the functions that numbers pass.
var passable = map[string]post.Function{
	"abs": post.Abs, "round": post.Round, "coalesce": post.Coalesce, "ifnull": post.Coalesce,
}

// call returns the expression that a function's value is.
func (t *tracer) call(e *syntax.Call, p *part) post.Expr {
	f, ok := passable[functionOf(e)]
	if !ok || e.Over != nil || e.Filter != nil || e.Distinct || len(e.Args) == 0 {
		return nil
	}
	out := post.Call{Name: f}
	for _, a := range e.Args {
		x := t.formula(a, p)
		if x == nil {
			return nil
		}
		out.Args = append(out.Args, x)
	}
	return out
}

// reference returns the expression that a named column is.
func (t *tracer) reference(p *part, table string, name syntax.Ident) post.Expr {
	var at *sourced
	column := -1
	for _, i := range p.items {
		if table != "" && !query.SameName(i.name, table) {
			continue
		}
		if i.of.names == nil {
			return nil
		}
		for n, have := range i.of.names {
			if query.SameName(have, name.Text) {
				if at != nil {
					return nil
				}
				at, column = i, n
			}
		}
	}
	if at == nil {
		return nil
	}
	return t.column(p, at, column)
}

// scalar returns the expression that a scalar sub-select of one row at most is.
func (t *tracer) scalar(q *syntax.Query, p *part) post.Expr {
	b, ok := q.Body.(*syntax.Block)
	if !ok || len(q.With) > 0 || len(b.From) == 0 {
		return nil
	}
	inner := t.selected(q)
	if !inner.single || len(inner.forms) != 1 || len(inner.parts[0].stars) > 0 {
		return nil
	}
	return t.through(carrier{in: p, scalar: inner}, inner.forms[0])
}

// traces reports whether a number of the result has an interval.
func (l *Lineage) traces() bool { return l != nil && l.hidden > 0 }

// intervals returns the intervals of rows of the result, which the values of the hidden columns
// end: nil, or what post.Enclose returns. It stops when the context is done.
func (l *Lineage) intervals(ctx context.Context, rows [][]any, from Source) ([][]any, error) {
	cores := make([]*Table, len(l.cells))
	for i, c := range l.cells {
		cores[i] = coreNamed(from.Cores, c.core)
	}
	out := make([][]any, len(rows))
	for r, row := range rows {
		out[r] = make([]any, len(l.columns))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		cells := l.read(row[len(l.columns):], cores)
		for i, e := range l.columns {
			if e != nil {
				out[r][i] = post.Enclose(e, row[i], cells, from.Confidence)
			}
		}
	}
	return out, nil
}

// read returns the cells of a row's hidden columns. cores are the cells' cores.
func (l *Lineage) read(hidden []any, cores []*Table) []post.Cell {
	cells := make([]post.Cell, len(l.cells))
	for i, c := range l.cells {
		cells[i] = post.Cell{Value: hidden[c.hidden], Same: i}
		if cores[i] == nil {
			continue
		}
		cells[i].Value = nil
		row, ok := hidden[c.hidden].(int64)
		if !ok || row < 0 || row >= int64(len(cores[i].Rows)) {
			continue // an outer join found none, or the row is of a SELECT that does not use the cell
		}
		cells[i].Value = cores[i].Rows[row][c.column]
		if cores[i].Ends == nil {
			continue
		}
		cells[i].Ends = func(confidence float64) any { return cores[i].Ends(confidence)[row][c.column] }
		for _, twin := range c.twins {
			if hidden[l.cells[twin].hidden] == any(row) {
				cells[i].Same = twin
				break
			}
		}
	}
	return cells
}
