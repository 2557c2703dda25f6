package surround

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rqlite/sql"

	"dpsql/post"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
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

	text    string     // the statement with the columns
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
	text   string   // of a column without noise in a table
	item   *sourced // the item that it is a leaf of
	scalar *shape   // or the sub-select
	inner  int      // of the item's or the sub-select's shape
	core   *Table   // of a number in a core's shape
	column int      // of the core
}

// shape is what a relation looks like.
type shape struct {
	names   []string // nil if they are not known; "" for a column without a name of its own
	forms   []*formula
	leaves  []leaf
	core    *Table // the core that it is; nil for SELECTs and public tables
	s       *sql.SelectStatement
	items   []*sourced
	merged  bool // USING merges columns of the items
	single  bool // it has one row at most
	cte     *sql.CTE
	stars   []int // the tokens of its *
	exports []string
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
	shapes  []*shape          // of the SELECTs that numbers may pass
	read    map[*sql.CTE]int  // how often such SELECTs read an entry
	bodies  map[string]*shape // the entries in scope, by folded name
	needs   []Need
	natural bool
	names   int
}

// lineage returns the lineage of a statement with cores, see trace.
func (s *Statement) lineage(cores []*Table, tables map[string][]column) (l *Lineage, err error) {
	err = sqlerr.Guard(func() error {
		if l = s.trace(cores, tables); l == nil {
			l = &Lineage{text: s.typed}
		}
		return nil
	})
	return l, err
}

// trace returns the lineage of a statement, or nil if no number of its result has one. cores
// are the tables of its cores, and tables the columns of the copies.
func (s *Statement) trace(cores []*Table, tables map[string][]column) *Lineage {
	t := &tracer{cutter: cutter{Statement: s, taken: make(map[string]bool), closing: closing(s.tokens)}, tables: tables, cores: make(map[string]*shape),
		read: make(map[*sql.CTE]int), bodies: make(map[string]*shape)}
	for _, token := range s.tokens {
		t.taken[query.FoldName(token.Value)] = true
		t.natural = t.natural || token.Matches("NATURAL")
	}
	for _, core := range cores {
		t.cores[query.FoldName(core.Name)] = coreShape(core)
	}
	out := t.selected(s.tree)
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
	text, ok := t.written()
	if !ok {
		return nil
	}
	l.text, l.Needs = text, t.needs
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
	switch {
	case h.core != nil:
		t.needs = append(t.needs, Need{h.core.Name, l.column, name, end, max(1, share)})
		return name
	case l.item != nil:
		h.exports = append(h.exports, l.item.of(t.export(l.item.shape, l.inner, end, share, false))+" AS "+query.Quoted(name))
	case l.scalar != nil:
		h.exports = append(h.exports, t.repeated(l.scalar, l.inner, end, share)+" AS "+query.Quoted(name))
	default:
		h.exports = append(h.exports, l.text+" AS "+query.Quoted(name))
	}
	return name
}

// of returns the text of a column of an item.
func (i *sourced) of(column string) string {
	if i.name == "" {
		return query.Quoted(column)
	}
	return query.Quoted(i.name) + "." + query.Quoted(column)
}

// repeated returns a scalar sub-select with another column.
func (t *tracer) repeated(h *shape, n int, end End, share int) string {
	l := &h.leaves[n]
	column := l.text
	if l.item != nil {
		column = l.item.of(t.export(l.item.shape, l.inner, end, share, false))
	} else if l.scalar != nil {
		column = t.repeated(l.scalar, l.inner, end, share)
	}
	from := t.index(h.s.From)
	return "(SELECT " + column + " " + t.tokensOf(from, t.outside(from), nil, nil) + ")"
}

// selected returns the shape of a SELECT.
func (t *tracer) selected(s *sql.SelectStatement) *shape {
	h := &shape{s: s}
	if s.WithClause != nil {
		outer := t.bodies
		t.bodies = make(map[string]*shape)
		for name, body := range outer {
			t.bodies[name] = body
		}
		defer func() { t.bodies = outer }()
		for _, cte := range s.WithClause.CTEs { // it may read itself
			t.bodies[query.FoldName(t.name(cte.TableName).Value)] = &shape{cte: cte}
		}
		for _, cte := range s.WithClause.CTEs {
			body := t.selected(cte.Select)
			body.cte = cte
			if cte.Columns != nil {
				if len(body.names) != len(cte.Columns) {
					body = &shape{cte: cte}
				}
				body.names = nil
				for _, c := range cte.Columns {
					body.names = append(body.names, t.name(c).Value)
				}
			}
			t.bodies[query.FoldName(t.name(cte.TableName).Value)] = body
		}
	}
	if s.Compound != nil || len(s.ValueLists) > 0 {
		return h
	}
	if s.Source != nil {
		t.sourcesOf(s.Source, h)
	}
	passes := !s.Distinct.IsValid() && len(s.GroupByExprs) == 0 && s.HavingExpr == nil && !t.aggregates(s)
	h.single = s.Source == nil || len(h.items) == 1 && h.items[0].shape.single
	if passes {
		t.shapes = append(t.shapes, h)
		for _, i := range h.items {
			if i.shape.cte != nil {
				t.read[i.shape.cte]++
			}
		}
	}
	h.names = []string{}
	for _, col := range s.Columns {
		ref, qualified := col.Expr.(*sql.QualifiedRef)
		if col.Star.IsValid() || qualified && ref.Star.IsValid() {
			table := ""
			if qualified {
				table = t.name(ref.Table).Value
				h.stars = append(h.stars, t.index(ref.Star))
			} else {
				h.stars = append(h.stars, t.index(col.Star))
			}
			t.star(h, table, passes)
			continue
		}
		name := t.name(col.Alias).Value
		if col.Alias == nil {
			switch e := col.Expr.(type) {
			case *sql.Ident:
				name = t.name(e).Value
			case *sql.QualifiedRef:
				name = t.name(e.Column).Value
			}
		}
		var f *formula
		if passes {
			f = t.formula(col.Expr, h)
		}
		if h.names != nil {
			h.names = append(h.names, name)
		}
		h.forms = append(h.forms, f)
	}
	return h
}

// sourcesOf adds the items of a FROM clause.
func (t *tracer) sourcesOf(s sql.Source, h *shape) {
	switch s := s.(type) {
	case *sql.JoinClause:
		t.sourcesOf(s.X, h)
		t.sourcesOf(s.Y, h)
		if _, ok := s.Constraint.(*sql.UsingConstraint); ok {
			h.merged = true
		}
	case *sql.ParenSource:
		if inner, ok := s.X.(*sql.SelectStatement); ok {
			h.items = append(h.items, &sourced{t.name(s.Alias).Value, t.selected(inner)})
			return
		}
		t.sourcesOf(s.X, h)
	case *sql.SelectStatement:
		h.items = append(h.items, &sourced{"", t.selected(s)})
	case *sql.QualifiedTableName:
		name := t.name(s.Name).Value
		i := &sourced{name: name, shape: &shape{}}
		if s.Alias != nil {
			i.name = t.name(s.Alias).Value
		}
		folded := query.FoldName(name)
		switch body, core := t.bodies[folded], t.cores[folded]; {
		case body != nil && s.Schema == nil:
			i.shape = body
		case core != nil:
			i.shape = core
		default:
			for n, c := range t.tables[folded] {
				i.shape.names = append(i.shape.names, c.name)
				i.shape.forms = append(i.shape.forms, &formula{op: 'l', leaf: n})
				i.shape.leaves = append(i.shape.leaves, leaf{column: n})
			}
		}
		h.items = append(h.items, i)
	default:
		h.items = append(h.items, &sourced{"", &shape{}})
	}
}

// coreShape returns the shape of a core's table.
func coreShape(core *Table) *shape {
	h := &shape{core: core, single: core.Single}
	for n, c := range core.Columns {
		h.names = append(h.names, c.Name)
		h.forms = append(h.forms, &formula{op: 'l', leaf: n, real: core.Types != nil && kinds[core.Types[n]].plain() == real})
		l := leaf{column: n}
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
		if i.shape.s == nil && !i.shape.isNumber(inner) { // the column of a table, without noise
			l = leaf{text: i.of(i.shape.names[n]), inner: inner}
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
		if have.item == l.item && have.scalar == l.scalar && have.inner == l.inner && have.text == l.text {
			return n
		}
	}
	h.leaves = append(h.leaves, l)
	return len(h.leaves) - 1
}

// formula returns the formula of an expression, or nil if it has none.
func (t *tracer) formula(e sql.Expr, h *shape) *formula {
	switch e := e.(type) {
	case *sql.ParenExpr:
		return t.formula(e.X, h)
	case *sql.Ident:
		return t.reference(h, "", t.name(e))
	case *sql.QualifiedRef:
		return t.reference(h, t.name(e.Table).Value, t.name(e.Column))
	case *sql.NumberLit:
		c, err := strconv.ParseFloat(e.Value, 64)
		if err != nil {
			return nil
		}
		return &formula{op: 'c', c: c, real: strings.ContainsAny(e.Value, ".eE")}
	case *sql.UnaryExpr:
		x := t.formula(e.X, h)
		if x != nil && e.Op == sql.MINUS {
			return &formula{op: 'n', x: x, real: x.real}
		}
		if e.Op == sql.PLUS {
			return x
		}
	case *sql.BinaryExpr:
		op, ok := map[sql.Token]byte{sql.PLUS: '+', sql.MINUS: '-', sql.STAR: '*', sql.SLASH: '/'}[e.Op]
		if !ok {
			return nil
		}
		x, y := t.formula(e.X, h), t.formula(e.Y, h)
		if x != nil && y != nil {
			return &formula{op: op, x: x, y: y, real: x.real || y.real}
		}
	case *sql.CastExpr:
		w := walker{statement: t.Statement}
		if x := t.formula(e.X, h); x != nil && w.cast(e.Type) == real {
			return &formula{op: 'r', x: x, real: true}
		}
	case sql.SelectExpr:
		return t.scalar(e.SelectStatement, h)
	}
	return nil
}

// reference returns the formula of a column that is named.
func (t *tracer) reference(h *shape, table string, name syntax.Token) *formula {
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
			if query.SameName(have, name.Value) {
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
func (t *tracer) scalar(s *sql.SelectStatement, h *shape) *formula {
	if s.WithClause != nil || s.Source == nil {
		return nil
	}
	inner := t.selected(s)
	if !inner.single || len(inner.forms) != 1 || len(inner.stars) > 0 || inner.forms[0] == nil {
		return nil
	}
	return inner.forms[0].in(func(n int) int { return h.leaf(leaf{scalar: inner, inner: n}) })
}

// written returns the statement with its hidden columns. It returns false if these would be
// seen by a part of the statement that numbers do not pass.
func (t *tracer) written() (string, bool) {
	insert, replace := make(map[int]string), make(map[int]string)
	stars, read := 0, true
	for _, h := range t.shapes {
		carries := func(i *sourced) bool { return len(i.shape.exports) > 0 }
		stars += len(h.stars)
		if slices.ContainsFunc(h.items, carries) {
			if t.natural {
				return "", false
			}
			for _, at := range h.stars {
				if !t.expand(h, at, replace) {
					return "", false
				}
			}
		}
		if len(h.exports) == 0 {
			continue
		}
		first := t.index(h.s.Select) + 1
		end := t.outside(first, "FROM", "WHERE", "WINDOW", "ORDER", "LIMIT")
		insert[end] = ", " + strings.Join(h.exports, ", ") + " "
		if h.cte != nil {
			if t.mentioned(h.cte) > t.read[h.cte] {
				read = false
			}
			if h.cte.Columns != nil {
				var names []string
				for _, e := range h.exports {
					names = append(names, e[strings.LastIndex(e, " AS ")+4:])
				}
				insert[t.index(h.cte.ColumnsRparen)] = ", " + strings.Join(names, ", ")
			}
		}
	}
	if !read && t.starTokens() > stars {
		return "", false
	}
	text := t.tokensOf(0, len(t.tokens), insert, replace)
	return text, len(text) <= maxText
}

// expand puts columns in the place of a * that would have hidden columns.
func (t *tracer) expand(h *shape, at int, replace map[int]string) bool {
	table := ""
	if t.at(at - 1).Matches(".") {
		table = t.tokens[at-2].Value
	}
	var columns []string
	for _, i := range h.items {
		if table != "" && !query.SameName(i.name, table) {
			continue
		}
		if i.shape.names == nil || h.merged && table == "" || i.name == "" && len(h.items) > 1 {
			return false
		}
		for n, name := range i.shape.names {
			if name == "" || slices.ContainsFunc(i.shape.names[:n], func(have string) bool { return query.SameName(have, name) }) {
				return false
			}
			columns = append(columns, i.of(name))
		}
	}
	if replace[at] = strings.Join(columns, ", "); table != "" {
		replace[at-2], replace[at-1] = " ", " "
	}
	return len(columns) > 0
}

// mentioned returns how often the name of an entry stands in the statement, its definition
// apart.
func (t *tracer) mentioned(cte *sql.CTE) int {
	name, n := t.name(cte.TableName).Value, -1
	for _, token := range t.tokens {
		if (token.Kind == syntax.KindWord || token.Kind == syntax.KindQuoted) && query.SameName(token.Value, name) {
			n++
		}
	}
	return n
}

// starTokens returns how many * stand for columns.
func (t *tracer) starTokens() (n int) {
	for i, token := range t.tokens {
		before := t.at(i - 1)
		if token.Matches("*") && (before.Matches("SELECT") || before.Matches("DISTINCT") || before.Matches("ALL") || before.Matches(",") || before.Matches(".")) {
			n++
		}
	}
	return n
}

// tokensOf writes tokens from an index up to another, with texts before some and in the place
// of others.
func (t *Statement) tokensOf(from, end int, insert, replace map[int]string) string {
	var b strings.Builder
	for i := from; i < end; i++ {
		b.WriteString(insert[i])
		token := t.tokens[i]
		token.Text = cmp.Or(t.edits[i], token.Text)
		switch text, replaced := replace[i]; {
		case replaced:
			b.WriteString(text)
		case token.Parameter > 0:
			b.WriteString("?" + strconv.Itoa(t.parameter(token.Parameter-1)))
		default:
			b.WriteString(token.Text)
		}
		b.WriteString(" ")
	}
	b.WriteString(insert[end])
	return b.String()
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
