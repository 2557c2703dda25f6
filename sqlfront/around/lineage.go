package around

import (
	"maps"
	"slices"
	"strconv"
	"strings"

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
// A number passes through select lists, FROM, joins, WITH, ORDER BY, LIMIT and conditions, and
// through + - * / with constants, columns without noise and other such numbers. It does not
// pass through DISTINCT, GROUP BY, set operations and functions, CAST to REAL apart.
//
// The statement is given more columns, which carry the numbers and the ends of their intervals
// from the cores' tables to the result, row by row. A scalar sub-select is repeated with
// another column, if it has one row at most. What a result shows is read from the same rows.
type Lineage struct {
	Needs []Need // the columns that the cores' tables must have, beside those of their text

	text    string     // as SQLite runs it, with the columns
	hidden  int        // how many these are; they are the last. 0 if no number has an interval
	columns []*formula // of the result; nil for those without an interval
	names   []string   // of its columns
}

// Need is a column that a core's table must have: a number of the core, or an end of its
// interval.
type Need struct {
	Core   string // Core.Table
	Column int    // the number
	Name   string // of the needed column
	End    End
	// Share is how many numbers an output depends on. By the union bound an interval of the
	// output holds at confidence 1 - β if each of theirs holds at 1 - β/Share.
	Share int
}

// End is what a needed column has.
type End int

// The ends of an interval, and the number itself.
const (
	Value End = iota
	Low
	High
)

// formula computes a number.
type formula struct {
	op   byte // + - * / as in SQL, n for a sign, r for CAST AS REAL, c for a constant, l for a leaf
	x, y *formula
	c    float64
	leaf int  // of the shape that it is in; in the result, the index of the first of its hidden columns
	real bool // its values are REAL for certain
	num  bool // of a leaf: it has noise, and two more hidden columns for the ends
}

// leaf is something that formulas of a SELECT start from: a column of an item in FROM, a
// column without noise, or a scalar sub-select.
type leaf struct {
	column *syntax.Column // a column without noise in a table
	item   *sourced       // the item that it is a leaf of
	scalar *shape         // or the sub-select
	inner  int            // of the item's or the sub-select's shape
	core   *Table         // of a number in a core's shape
	number int            // of the core
}

// shape is what a relation looks like.
type shape struct {
	names   []string // nil if they are not known; "" for a column without a name of its own
	forms   []*formula
	leaves  []leaf
	core    *Table        // the core that it is; nil for SELECTs and public tables
	query   *syntax.Query // nil for tables
	block   *syntax.Block // of a query that is one SELECT
	items   []*sourced
	merged  bool // USING merges columns of the items
	single  bool // it has one row at most
	entry   *syntax.CommonTable
	stars   []*syntax.Star
	exports []syntax.Item
	known   map[string]string
}

// sourced is an item of a FROM clause.
type sourced struct {
	name  string
	shape *shape
}

// tracer finds the lineage of one statement.
type tracer struct {
	cutter
	tables  map[string][]column
	cores   map[string]*shape
	shapes  map[*syntax.Block]*shape    // of the SELECTs that numbers may pass
	read    map[*syntax.CommonTable]int // how often such SELECTs read an entry
	bodies  map[string]*shape           // the entries in scope, by folded name
	needs   []Need
	natural bool
	names   int
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
	t := &tracer{cutter: cutter{Statement: s, taken: s.taken()}, tables: tables, shapes: make(map[*syntax.Block]*shape),
		cores: make(map[string]*shape), bodies: make(map[string]*shape), read: make(map[*syntax.CommonTable]int)}
	for _, core := range cores {
		t.cores[query.FoldName(core.Name)] = coreShape(core)
	}
	out := t.selected(s.types)
	l := &Lineage{}
	for _, f := range out.forms {
		numbers := 0
		for _, n := range f.leavesOf(nil) {
			if out.isNumber(n) {
				numbers++
			}
		}
		if numbers == 0 {
			l.columns = append(l.columns, nil)
			continue
		}
		l.columns = append(l.columns, t.carried(out, f, numbers))
	}
	l.hidden = len(out.exports)
	if l.hidden == 0 || len(out.names) != len(out.forms) {
		return nil
	}
	q, ok := t.carrying()
	if !ok {
		return nil
	}
	l.text, l.Needs = s.written(q), t.needs
	return l
}

// leavesOf returns the leaves of a formula, each once.
func (f *formula) leavesOf(all []int) []int {
	if f == nil {
		return all
	}
	if f.op == 'l' && !slices.Contains(all, f.leaf) {
		all = append(all, f.leaf)
	}
	return f.y.leavesOf(f.x.leavesOf(all))
}

// isNumber reports whether a leaf has noise.
func (h *shape) isNumber(n int) bool {
	l := &h.leaves[n]
	switch {
	case l.item != nil:
		return l.item.shape.isNumber(l.inner)
	case l.scalar != nil:
		return l.scalar.isNumber(l.inner)
	}
	return l.core != nil
}

// carried returns a formula of the result, whose leaves are hidden columns.
func (t *tracer) carried(out *shape, f *formula, share int) *formula {
	if f == nil {
		return nil
	}
	c := *f
	c.x, c.y = t.carried(out, f.x, share), t.carried(out, f.y, share)
	if f.op == 'l' {
		c.num = out.isNumber(f.leaf)
		c.leaf = len(out.exports)
		t.export(out, f.leaf, Value, share, true)
		if c.num {
			t.export(out, f.leaf, Low, share, true)
			t.export(out, f.leaf, High, share, true)
		}
	}
	return &c
}

// hide returns a name for a hidden column.
func (t *tracer) hide() string {
	t.names++
	return t.free("h"+strconv.Itoa(t.names), func(string) bool { return false })
}

// export has a relation carry what a leaf has, and returns the name of the column. The result
// carries it anew each time.
func (t *tracer) export(h *shape, n int, end End, share int, anew bool) string {
	l := &h.leaves[n]
	if end == Value {
		share = 0
	}
	key := strconv.Itoa(n) + " " + strconv.Itoa(int(end)) + " " + strconv.Itoa(share)
	if name, ok := h.known[key]; ok && !anew {
		return name
	}
	name := t.hide()
	if h.known == nil {
		h.known = make(map[string]string)
	}
	h.known[key] = name
	if h.core != nil {
		t.needs = append(t.needs, Need{h.core.Name, l.number, name, end, max(1, share)})
		return name
	}
	as := syntax.Ident{Text: name, Quoted: true}
	h.exports = append(h.exports, syntax.Item{X: t.exported(l, end, share), As: as})
	return name
}

// exported returns the column that has what a leaf has.
func (t *tracer) exported(l *leaf, end End, share int) syntax.Expr {
	switch {
	case l.item != nil:
		return l.item.of(t.export(l.item.shape, l.inner, end, share, false))
	case l.scalar != nil: // it is repeated with another column
		block, q := *l.scalar.block, *l.scalar.query
		block.Items = []syntax.Item{{X: t.exported(&l.scalar.leaves[l.inner], end, share)}}
		q.Body = &block
		return &syntax.Subquery{Query: &q}
	}
	return l.column
}

// of returns a column of an item.
func (i *sourced) of(column string) *syntax.Column {
	path := []syntax.Ident{{Text: i.name, Quoted: true}, {Text: column, Quoted: true}}
	if i.name == "" {
		path = path[1:]
	}
	return &syntax.Column{Path: path}
}

// selected returns the shape of a query.
func (t *tracer) selected(q *syntax.Query) *shape {
	h := &shape{query: q}
	if len(q.With) > 0 {
		outer := t.bodies
		t.bodies = maps.Clone(outer)
		defer func() { t.bodies = outer }()
		t.entries(q.With)
	}
	b, ok := q.Body.(*syntax.Block)
	if !ok {
		return h
	}
	h.block = b
	t.sourcesOf(b.From, h)
	passes := !b.Distinct && len(b.Group) == 0 && b.Having == nil && !t.aggregates(b, q)
	h.single = len(b.From) == 0 || len(h.items) == 1 && h.items[0].shape.single
	if passes {
		t.shapes[b] = h
		for _, i := range h.items {
			if i.shape.entry != nil {
				t.read[i.shape.entry]++
			}
		}
	}
	h.names = []string{}
	for _, entry := range b.Items {
		if star, ok := entry.X.(*syntax.Star); ok {
			h.stars = append(h.stars, star)
			t.star(h, qualifier(star.Of), passes)
			continue
		}
		var f *formula
		if passes {
			f = t.formula(entry.X, h)
		}
		if h.names != nil {
			h.names = append(h.names, nameOf(entry))
		}
		h.forms = append(h.forms, f)
	}
	return h
}

// entries adds the entries of WITH to those in scope.
func (t *tracer) entries(with []*syntax.CommonTable) {
	for _, e := range with { // it may read itself
		t.bodies[query.FoldName(e.Name.Text)] = &shape{entry: e}
	}
	for _, e := range with {
		body := t.selected(e.Query)
		body.entry = e
		if e.Columns != nil {
			if len(body.names) != len(e.Columns) {
				body = &shape{entry: e}
			}
			body.names = nil
			for _, c := range e.Columns {
				body.names = append(body.names, c.Text)
			}
		}
		t.bodies[query.FoldName(e.Name.Text)] = body
	}
}

// sourcesOf adds the items of a FROM clause.
func (t *tracer) sourcesOf(list []syntax.Source, h *shape) {
	for _, s := range list {
		switch s := s.(type) {
		case *syntax.Join:
			t.sourcesOf([]syntax.Source{s.X, s.Y}, h)
			h.merged = h.merged || s.Using != nil
			t.natural = t.natural || s.Natural
		case *syntax.ParenSource:
			t.sourcesOf(s.List, h)
		case *syntax.Derived:
			h.items = append(h.items, &sourced{s.Alias.Name.Text, t.selected(s.Query)})
		case *syntax.Table:
			h.items = append(h.items, t.tableOf(s))
		default:
			h.items = append(h.items, &sourced{"", &shape{}})
		}
	}
}

// tableOf returns the item that a name is.
func (t *tracer) tableOf(s *syntax.Table) *sourced {
	name := lastOf(s.Path).Text
	i := &sourced{name: name, shape: &shape{}}
	if !s.Alias.Name.None() {
		i.name = s.Alias.Name.Text
	}
	folded := query.FoldName(name)
	switch body, core := t.bodies[folded], t.cores[folded]; {
	case body != nil && len(s.Path) == 1:
		i.shape = body
	case core != nil:
		i.shape = core
	default:
		for n, c := range t.tables[folded] {
			i.shape.names = append(i.shape.names, c.name)
			i.shape.forms = append(i.shape.forms, &formula{op: 'l', leaf: n})
			i.shape.leaves = append(i.shape.leaves, leaf{number: n})
		}
	}
	return i
}

// coreShape returns the shape of a core's table.
func coreShape(core *Table) *shape {
	h := &shape{core: core, single: core.Single}
	for n, c := range core.Columns {
		h.names = append(h.names, c.Name)
		h.forms = append(h.forms, &formula{op: 'l', leaf: n, real: core.Types != nil && typeName(core.Types[n]) == "REAL"})
		l := leaf{number: n}
		if n >= core.Keys {
			l.core = core
		}
		h.leaves = append(h.leaves, l)
	}
	return h
}

// star adds the columns of *, or of table.*.
func (t *tracer) star(h *shape, table string, passes bool) {
	for _, i := range h.items {
		if table != "" && !query.SameName(i.name, table) {
			continue
		}
		if i.shape.names == nil || h.merged && table == "" {
			h.names = nil
		}
		for n, name := range i.shape.names {
			var f *formula
			if passes {
				f = t.column(h, i, n)
			}
			if h.names != nil {
				h.names = append(h.names, name)
			}
			h.forms = append(h.forms, f)
		}
	}
}

// column returns the formula of a column of an item.
func (t *tracer) column(h *shape, i *sourced, n int) *formula {
	if n >= len(i.shape.forms) {
		return nil
	}
	return i.shape.forms[n].in(func(inner int) int {
		l := leaf{item: i, inner: inner}
		if i.shape.query == nil && !i.shape.isNumber(inner) { // the column of a table, without noise
			l = leaf{column: i.of(i.shape.names[n]), inner: inner}
		}
		return h.leaf(l)
	})
}

// in returns a formula with other leaves.
func (f *formula) in(leaf func(int) int) *formula {
	if f == nil {
		return nil
	}
	c := *f
	c.x, c.y = f.x.in(leaf), f.y.in(leaf)
	if f.op == 'l' {
		c.leaf = leaf(f.leaf)
	}
	return &c
}

// leaf returns the index of a leaf.
func (h *shape) leaf(l leaf) int {
	for n, have := range h.leaves {
		if have.item == l.item && have.scalar == l.scalar && have.inner == l.inner && have.same(l.column) {
			return n
		}
	}
	h.leaves = append(h.leaves, l)
	return len(h.leaves) - 1
}

// same reports whether a leaf is of a column without noise, or none is.
func (l *leaf) same(c *syntax.Column) bool {
	return l.column == c || l.column != nil && c != nil && slices.Equal(l.column.Path, c.Path)
}

// formula returns the formula of an expression, or nil if it has none.
func (t *tracer) formula(e syntax.Expr, h *shape) *formula {
	switch e := e.(type) {
	case *syntax.Paren:
		return t.formula(e.X, h)
	case *syntax.Collate:
		return t.formula(e.X, h)
	case *syntax.Column:
		table, name := qualified(e)
		return t.reference(h, table, name)
	case *syntax.Literal:
		c, err := strconv.ParseFloat(e.Value, 64)
		if err != nil || e.Kind != syntax.KindInteger && e.Kind != syntax.KindDecimal {
			return nil
		}
		return &formula{op: 'c', c: c, real: strings.ContainsAny(e.Value, ".eE")}
	case *syntax.Unary:
		x := t.formula(e.X, h)
		if x != nil && e.Op == "-" {
			return &formula{op: 'n', x: x, real: x.real}
		}
		if e.Op == "+" {
			return x
		}
	case *syntax.Binary:
		if !slices.Contains([]string{"+", "-", "*", "/"}, e.Op) {
			return nil
		}
		x, y := t.formula(e.X, h), t.formula(e.Y, h)
		if x != nil && y != nil {
			return &formula{op: e.Op[0], x: x, y: y, real: x.real || y.real}
		}
	case *syntax.Cast:
		if x := t.formula(e.X, h); x != nil && types.Cast(e.Type) == query.SQLFloat8 {
			return &formula{op: 'r', x: x, real: true}
		}
	case *syntax.Subquery:
		return t.scalar(e.Query, h)
	}
	return nil
}

// reference returns the formula of a column that is named.
func (t *tracer) reference(h *shape, table string, name syntax.Ident) *formula {
	var at *sourced
	column := -1
	for _, i := range h.items {
		if table != "" && !query.SameName(i.name, table) {
			continue
		}
		if i.shape.names == nil {
			return nil
		}
		for n, have := range i.shape.names {
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
	return t.column(h, at, column)
}

// scalar returns the formula of a scalar sub-select of one row at most.
func (t *tracer) scalar(q *syntax.Query, h *shape) *formula {
	b, ok := q.Body.(*syntax.Block)
	if !ok || len(q.With) > 0 || len(b.From) == 0 {
		return nil
	}
	inner := t.selected(q)
	if !inner.single || len(inner.forms) != 1 || len(inner.stars) > 0 || inner.forms[0] == nil {
		return nil
	}
	return inner.forms[0].in(func(n int) int { return h.leaf(leaf{scalar: inner, inner: n}) })
}

// carrying returns the query with its hidden columns. It returns false if these would be
// seen by a part of the statement that numbers do not pass.
func (t *tracer) carrying() (*syntax.Query, bool) {
	stars, read := 0, true
	columns := make(map[*syntax.Star][]syntax.Item)
	added := make(map[*syntax.CommonTable][]syntax.Ident)
	for _, h := range t.shapes {
		stars += len(h.stars)
		if slices.ContainsFunc(h.items, func(i *sourced) bool { return len(i.shape.exports) > 0 }) {
			if t.natural || !h.expand(columns) {
				return nil, false
			}
		}
		if h.entry == nil || len(h.exports) == 0 {
			continue
		}
		read = read && t.mentioned(h.entry) <= t.read[h.entry]
		if h.entry.Columns != nil {
			for _, e := range h.exports {
				added[h.entry] = append(added[h.entry], e.As)
			}
		}
	}
	if !read && t.countStars() > stars {
		return nil, false
	}
	return syntax.Copy(t.Statement.types, t.adding(columns, added)), true
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
			h := t.shapes[n]
			if done[n] || h == nil {
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
			other.Items = append(other.Items, h.exports...)
			done[&other] = true
			return syntax.Copy(&other, put)
		}
		return nil
	}
	return put
}

// expand finds the columns for each * of a SELECT that would have hidden columns.
func (h *shape) expand(columns map[*syntax.Star][]syntax.Item) bool {
	for _, star := range h.stars {
		table := qualifier(star.Of)
		for _, i := range h.items {
			if table != "" && !query.SameName(i.name, table) {
				continue
			}
			if i.shape.names == nil || h.merged && table == "" || i.name == "" && len(h.items) > 1 {
				return false
			}
			for n, name := range i.shape.names {
				if name == "" || named(i.shape.names[:n], name) {
					return false
				}
				columns[star] = append(columns[star], syntax.Item{X: i.of(name)})
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

// traces reports whether a number of the result has an interval.
func (l *Lineage) traces() bool { return l != nil && l.hidden > 0 }

// carriedBy returns the cores' tables with the columns that the lineage needs.
func (l *Lineage) carriedBy(cores []*Table) []*Table {
	if !l.traces() {
		return cores
	}
	out := make([]*Table, len(cores))
	for i, core := range cores {
		t := *core
		for _, need := range l.Needs {
			if need.Core == t.Name {
				t.Hidden = append(t.Hidden, need.Name)
			}
		}
		out[i] = &t
	}
	return out
}

// intervals returns the intervals of a row of the result: nil, a post.Interval or post.Unknown, or
// the post.Span of a date that is passed on as it is.
func (l *Lineage) intervals(row []any) []any {
	visible := len(l.columns)
	out := make([]any, visible)
	for n, f := range l.columns {
		if f == nil {
			continue
		}
		value, ok := number(row[n])
		if date, is := row[n].(string); is {
			if span, ok := f.span(row[visible:], date); ok {
				out[n] = span
			}
		}
		if !ok {
			continue
		}
		// The parser and SQLite may read an expression differently. Then its value differs.
		if again, ok := f.interval(row[visible:], Value); !ok || !near(again, value) {
			continue
		}
		if i, ok := f.interval(row[visible:], Low); ok && i.Finite() {
			out[n] = post.Interval{Low: min(i.Low, value), High: max(i.High, value)}
		} else {
			out[n] = post.MayBeNil // or a part of it has none
		}
	}
	return out
}

// near reports whether a value is that of a formula.
func near(i post.Interval, value float64) bool {
	slack := 1e-9 * max(1, value, -value)
	return i.Low-slack <= value && value <= i.High+slack
}

// span returns the interval of a date that hidden columns have.
func (f *formula) span(hidden []any, date string) (post.Span, bool) {
	if f.op != 'l' || !f.num || hidden[f.leaf] != any(date) {
		return post.Span{}, false
	}
	low, known := hidden[f.leaf+1].(string)
	high, also := hidden[f.leaf+2].(string)
	return post.Span{Low: low, High: high}, known && also
}

// interval computes an interval from the hidden columns. With Value it is that of the numbers
// themselves.
func (f *formula) interval(hidden []any, end End) (post.Interval, bool) {
	point := func(v any) (post.Interval, bool) {
		x, ok := number(v)
		return post.Interval{Low: x, High: x}, ok
	}
	switch f.op {
	case 'c':
		return post.Interval{Low: f.c, High: f.c}, true
	case 'l':
		if !f.num || end == Value {
			return point(hidden[f.leaf])
		}
		low, known := number(hidden[f.leaf+1])
		high, also := number(hidden[f.leaf+2])
		return post.Interval{Low: low, High: high}, known && also
	}
	x, ok := f.x.interval(hidden, end)
	if !ok {
		return x, false
	}
	switch f.op {
	case 'n':
		return post.Interval{Low: -x.High, High: -x.Low}, true
	case 'r':
		return x, true
	}
	y, ok := f.y.interval(hidden, end)
	if !ok {
		return y, false
	}
	switch f.op {
	case '+':
		return x.Add(y), true
	case '-':
		return x.Subtract(y), true
	case '*':
		return x.Multiply(y), true
	}
	return x.Divide(y, !f.real)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
