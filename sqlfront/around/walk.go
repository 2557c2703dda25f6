package around

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// kind is the type of an expression's values, NULL aside. The zero value means that it is
// not known.
type kind uint8

const (
	unknown kind = iota
	null         // always NULL
	integer
	boolean // an integer: 0 or 1
	real
	exact // a REAL: the value of a NUMERIC column
	text
	moment   // a text that is a timestamp, or a date among timestamps
	day      // a text that is a date
	argument // of a function: the kind of its first argument
	numbers  // of a function: REAL if an argument is, INTEGER if all are
	either   // of a function: that of all arguments, if they agree
)

// functions are the functions that a statement may call, in lower case, with the kinds of
// their values. None reads anything but its arguments and the clock, and none makes a text
// that is longer than SQLite's own limit. Not here, among others: random and randomblob,
// so that a statement has one result; zeroblob; load_extension; and everything about the
// connection, its files, or the compiled library.
var functions = map[string]kind{
	"abs": argument, "char": text, "coalesce": either, "concat": text, "concat_ws": text, "format": text, "glob": boolean, "hex": text,
	"ifnull": either, "iif": unknown, "if": unknown, "instr": integer, "length": integer, "like": boolean, "lower": text, "ltrim": text,
	"nullif": argument, "octet_length": integer, "printf": text, "quote": text, "replace": text, "round": real, "rtrim": text,
	"sign": integer, "substr": text, "substring": text, "trim": text, "typeof": text, "unicode": integer, "upper": text,

	"acos": real, "acosh": real, "asin": real, "asinh": real, "atan": real, "atan2": real, "atanh": real, "ceil": argument, "ceiling": argument,
	"cos": real, "cosh": real, "degrees": real, "exp": real, "floor": argument, "ln": real, "log": real, "log10": real, "log2": real,
	"mod": real, "pi": real, "pow": real, "power": real, "radians": real, "sin": real, "sinh": real, "sqrt": real, "tan": real, "tanh": real,
	"trunc": argument,

	"current_date": day, "current_time": text, "current_timestamp": moment, "date": day, "datetime": moment, "julianday": real,
	"strftime": text, "time": text, "timediff": text, "unixepoch": integer,

	"avg": real, "count": integer, "group_concat": text, "max": either, "min": either, "string_agg": text, "sum": numbers, "total": real,

	"cume_dist": real, "dense_rank": integer, "first_value": argument, "lag": argument, "last_value": argument, "lead": argument,
	"nth_value": argument, "ntile": integer, "percent_rank": real, "rank": integer, "row_number": integer,
}

// column is a column of a table or SELECT.
type column struct {
	name string
	kind kind
}

// relation is what columns of a SELECT's FROM can be named by.
type relation struct {
	name    string
	columns []column
}

// scope has the relations of a SELECT, and the scope around it.
type scope struct {
	relations []relation
	merged    bool // USING or NATURAL merges columns: the columns of * are not known
	outer     *scope
}

// bodies are the common table expressions in scope, by folded name.
type bodies map[string]*body

// body is a common table expression.
type body struct {
	columns []column
	size    int // see walker.size; 0 while it is not known
	open    bool
}

// maxSize bounds walker.size. Ten expressions, each of which names the one before it twice,
// would have SQLite compile a thousand SELECTs.
const maxSize = 500

// walker goes through the tree of a statement. It collects the tables, refuses what is not
// allowed, and infers the kinds of columns. Whatever it does not know has kind unknown.
type walker struct {
	statement *Statement
	found     map[string]bool     // folded names of the tables so far; nil if they are not collected
	tables    map[string][]column // of the copies, by folded name; nil while they are not known
	size      int                 // of SELECTs and tables that SQLite compiles: those of an entry of WITH count wherever it is named
	err       error

	// Both are nil if they are not collected.
	parameters map[int]kind         // of arguments, by their index, where their first use tells it
	typed      map[syntax.Expr]bool // texts that are numbers, and moments; see Statement.withTypes
}

// expects notes the kind that an expression has where it stands, for the parameters in it whose
// value is its value.
func (w *walker) expects(e syntax.Expr, k kind) {
	if w.parameters == nil || k == unknown || k == null || k >= argument {
		return
	}
	switch e := e.(type) {
	case *syntax.Literal:
		numeric := k.plain() == integer || k.plain() == real
		if w.typed != nil && e.Kind == syntax.KindString && numeric && syntax.IsNumber(strings.TrimSpace(e.Value)) {
			w.typed[e] = true
		}
	case *syntax.Parameter:
		if _, known := w.parameters[e.Number-1]; !known {
			w.parameters[e.Number-1] = k
		}
	case *syntax.Paren:
		w.expects(e.X, k)
	case *syntax.Collate:
		w.expects(e.X, k)
	case *syntax.Tuple:
		w.expectAlike(k, e.Items...)
	case *syntax.Case:
		for _, when := range e.Whens {
			w.expects(when.Then, k)
		}
		w.expects(e.Else, k)
	case *syntax.Call:
		switch name := functionOf(e); {
		case functions[name] == either || name == "nullif":
			w.expectAlike(k, e.Args...)
		case name == "iif" && len(e.Args) == 3:
			w.expectAlike(k, e.Args[1:]...)
		}
	}
}

// expectAlike has expressions expect the kind that they agree on.
func (w *walker) expectAlike(k kind, all ...syntax.Expr) {
	for _, e := range all {
		w.expects(e, k)
	}
}

// refuse keeps the first refusal.
func (w *walker) refuse(err error) {
	if w.err == nil {
		w.err = err
	}
}

// selected returns the columns of a query. nil means that they are not known.
func (w *walker) selected(q *syntax.Query) []column { return w.inside(q, nil, nil) }

func (s *Statement) tooManySelects() error {
	return s.first().Unsupported(s.about() + " with this many SELECTs, common table expressions opened,")
}

// inside returns the columns of a query inside a scope. A column of parameters that nothing tells
// the type of has texts, as in PostgreSQL.
func (w *walker) inside(q *syntax.Query, with bodies, outer *scope) []column {
	columns := w.parts(q, with, outer)
	if w.parameters == nil {
		return columns
	}
	for _, part := range members(q.Body) {
		for _, row := range rowsOf(part) {
			for i := range columns {
				if len(row) != len(columns) {
					break
				}
				known := len(w.parameters)
				w.expects(row[i], cmp.Or(nonNull(columns[i].kind), text))
				if columns[i].kind == null && len(w.parameters) > known {
					columns[i].kind = text
				}
			}
		}
	}
	return columns
}

// rowsOf returns the expressions of VALUES, or of a select list without stars.
func rowsOf(part syntax.Body) (rows [][]syntax.Expr) {
	switch part := part.(type) {
	case *syntax.Values:
		for _, row := range part.Rows {
			rows = append(rows, row.Items)
		}
	case *syntax.Block:
		var list []syntax.Expr
		for _, item := range part.Items {
			if _, star := item.X.(*syntax.Star); star {
				return nil
			}
			list = append(list, item.X)
		}
		rows = [][]syntax.Expr{list}
	}
	return rows
}

// parts returns the columns of a query. ORDER BY and LIMIT are looked at with its first part.
func (w *walker) parts(q *syntax.Query, with bodies, outer *scope) (columns []column) {
	if w.size >= maxSize {
		w.size++
		w.refuse(w.statement.tooManySelects())
		return nil
	}
	with = w.with(q, with)
	for i, part := range members(q.Body) {
		if w.size++; w.size > maxSize {
			w.refuse(w.statement.tooManySelects())
			return columns
		}
		in, rest := &scope{outer: outer}, &syntax.Query{}
		if i == 0 {
			rest = q
		}
		found := w.part(part, rest, with, in)
		if i == 0 {
			columns = found
		} else {
			columns = unite(columns, found)
		}
	}
	return columns
}

// part returns the columns of a SELECT or VALUES. What its query has beside it is in its scope.
func (w *walker) part(part syntax.Body, q *syntax.Query, with bodies, in *scope) (columns []column) {
	b, ok := part.(*syntax.Block)
	if !ok {
		b = &syntax.Block{}
	}
	for _, s := range b.From {
		w.source(s, with, in)
	}
	if v, ok := part.(*syntax.Values); ok {
		columns = w.values(v, with, in)
	} else {
		columns = w.list(b, with, in)
	}
	for _, e := range []syntax.Expr{b.Where, b.Having, q.Limit, q.Offset} {
		w.expr(e, with, in)
	}
	w.expectAlike(boolean, b.Where, b.Having)
	w.expectAlike(integer, q.Limit, q.Offset)
	w.exprs(b.Group, with, in)
	w.terms(q.Order, with, in)
	for _, n := range b.Windows {
		w.window(n.Window, with, in)
	}
	return columns
}

// unite returns the columns of a compound SELECT, which has the names of its first part.
func unite(a, b []column) []column {
	if len(a) != len(b) {
		return nil
	}
	out := make([]column, len(a))
	for i := range a {
		out[i] = column{a[i].name, agreed(a[i].kind, b[i].kind)}
	}
	return out
}

// plain returns the kind without what only people see in it: that an integer is a truth value, a
// REAL of a NUMERIC column, and a timestamp a date.
func (k kind) plain() kind {
	switch k {
	case boolean:
		return integer
	case exact:
		return real
	case day:
		return moment
	}
	return k
}

// agreed returns the kind of values that are of one of two kinds.
func agreed(a, b kind) kind {
	switch {
	case a == b || b == null:
		return a
	case a == null:
		return b
	case a == exact && b.plain() == integer || b == exact && a.plain() == integer:
		return exact
	}
	switch a, b = a.plain(), b.plain(); {
	case a == b:
		return a
	case a == integer && b == real || a == real && b == integer:
		return real
	case a == moment && b == text || a == text && b == moment:
		return text
	}
	return unknown
}

// with adds common table expressions. Each sees itself and those before it.
func (w *walker) with(q *syntax.Query, outer bodies) bodies {
	if len(q.With) == 0 {
		return outer
	}
	in := maps.Clone(outer)
	if in == nil {
		in = make(bodies)
	}
	for _, e := range q.With { // SQLite has all names in scope: none of these is a table
		in[w.expression(e)] = &body{}
	}
	for _, e := range q.With {
		b := in[w.expression(e)]
		before := w.size
		b.open = true
		b.columns = renamed(e, w.inside(e.Query, in, nil))
		b.open, b.size = false, w.size-before
	}
	return in
}

// expression returns the folded name of a common table expression.
func (w *walker) expression(e *syntax.CommonTable) string {
	name := query.FoldName(e.Name.Text)
	if w.found != nil {
		w.statement.names[name] = true
	}
	return name
}

// renamed gives the columns the names that a common table expression lists.
func renamed(e *syntax.CommonTable, columns []column) []column {
	if len(e.Columns) == 0 {
		return columns
	}
	named := make([]column, len(e.Columns))
	for i, c := range e.Columns {
		named[i].name = c.Text
		if len(columns) == len(named) {
			named[i].kind = columns[i].kind
		}
	}
	return named
}

// source adds the relations of a FROM clause to the scope.
func (w *walker) source(s syntax.Source, with bodies, in *scope) {
	switch s := s.(type) {
	case *syntax.Join:
		w.source(s.X, with, in)
		w.source(s.Y, with, in)
		in.merged = in.merged || s.Natural || s.Using != nil
		w.expr(s.On, with, in)
		w.expects(s.On, boolean)
	case *syntax.ParenSource:
		for _, inner := range s.List {
			w.source(inner, with, in)
		}
	case *syntax.Derived:
		if s.Lateral {
			w.refuse(refusedLateral(s))
			in.relations = append(in.relations, relation{name: s.Alias.Name.Text})
			return
		}
		in.relations = append(in.relations, relation{s.Alias.Name.Text, w.inside(s.Query, with, in.outer)})
	case *syntax.Table:
		w.table(s, with, in)
	default:
		w.refuse(at(s).Unsupported("a table-valued function").
			WithHint("FROM takes public tables, sub-selects and VALUES"))
	}
}

func refusedLateral(s *syntax.Derived) *sqlerr.Error {
	return at(s).Unsupported("LATERAL").
		WithHint("aggregate by group, and join the result: … JOIN (SELECT x, COUNT(*) AS n FROM t GROUP BY x) AS c ON c.x = …")
}

// table adds a table or common table expression.
func (w *walker) table(s *syntax.Table, with bodies, in *scope) {
	t, other := lastOf(s.Path), len(s.Path) > 1
	folded := query.FoldName(t.Text)
	r := relation{name: t.Text}
	if !s.Alias.Name.None() {
		r.name = s.Alias.Name.Text
	}
	expression := with[folded]
	w.size++
	switch {
	case other && !query.SameName(s.Path[0].Text, "main"):
		w.refuse(at(s).Unsupported("a table of another database").WithHint("SHOW TABLES lists the tables"))
	case !other && expression != nil:
		if expression.size == 0 && !expression.open {
			w.refuse(at(t).Unsupported("a common table expression that is used before it is defined").
				WithHint("write %s first", t))
		}
		w.size += expression.size
		r.columns = expression.columns
	default:
		r.columns = w.tables[folded]
		if w.found != nil && !w.found[folded] {
			w.found[folded], w.statement.names[folded] = true, true
			w.statement.Tables = append(w.statement.Tables, syntax.Name{Text: t.Text, Position: t.Pos()})
		}
	}
	in.relations = append(in.relations, r)
}

// values returns the columns of VALUES.
func (w *walker) values(v *syntax.Values, with bodies, in *scope) (columns []column) {
	for i, row := range v.Rows {
		kinds := w.exprs(row.Items, with, in)
		next := make([]column, len(kinds))
		for k := range kinds {
			next[k].kind = kinds[k]
		}
		if i == 0 {
			columns = next
		} else {
			columns = unite(columns, next)
		}
	}
	return columns
}

// list returns the columns of the select list.
func (w *walker) list(b *syntax.Block, with bodies, in *scope) (columns []column) {
	known := true
	for _, item := range b.Items {
		if star, ok := item.X.(*syntax.Star); ok {
			known = w.star(qualifier(star.Of), in, &columns) && known
			continue
		}
		columns = append(columns, column{nameOf(item), w.expr(item.X, with, in)})
	}
	if !known {
		return nil
	}
	return columns
}

// star adds the columns of *, or of table.*. It returns false if they are not known.
func (w *walker) star(table string, in *scope, columns *[]column) bool {
	known := table != "" || !in.merged
	for _, r := range in.relations {
		if table == "" || query.SameName(r.name, table) {
			known = known && r.columns != nil
			*columns = append(*columns, r.columns...)
		}
		if len(*columns) > maxColumn { // SQLite refuses them
			return false
		}
	}
	return known
}

func (w *walker) exprs(list []syntax.Expr, with bodies, in *scope) []kind {
	kinds := make([]kind, len(list))
	for i, e := range list {
		kinds[i] = w.expr(e, with, in)
	}
	return kinds
}

func (w *walker) terms(list []syntax.OrderTerm, with bodies, in *scope) {
	for _, t := range list {
		w.expr(t.X, with, in)
	}
}

func (w *walker) window(o *syntax.Window, with bodies, in *scope) {
	if o != nil {
		w.exprs(windowed(o), with, in)
	}
}

// expr returns the kind of an expression. It refuses expressions that it does not know.
func (w *walker) expr(e syntax.Expr, with bodies, in *scope) kind {
	k := w.kind(e, with, in)
	time := k.plain() == moment
	switch e := e.(type) {
	case *syntax.Column, *syntax.Paren:
	case *syntax.Call: // of other functions SQLite has the collation from their arguments
		name := functionOf(e)
		time = name == "date" || name == "datetime"
	default:
		return k
	}
	if w.typed != nil && time {
		w.typed[e] = true
	}
	return k
}

// kind is expr without its types.
func (w *walker) kind(e syntax.Expr, with bodies, in *scope) kind {
	switch e := e.(type) {
	case nil, *syntax.Star:
		return unknown
	case *syntax.Column:
		return w.named(e, in)
	case *syntax.Parameter:
		return w.parameters[e.Number-1].known()
	case *syntax.Literal:
		return kindOfLiteral(e)
	case *syntax.Paren:
		return w.expr(e.X, with, in)
	case *syntax.Collate:
		return w.expr(e.X, with, in)
	case *syntax.Tuple:
		w.exprs(e.Items, with, in)
		return unknown
	case *syntax.GroupingSets:
		w.exprs(e.Sets, with, in)
		return unknown
	case *syntax.Exists:
		w.inside(e.Query, with, in)
		return boolean
	case *syntax.Test:
		k := w.expr(e.X, with, in)
		if e.Is != "NULL" {
			w.expects(e.X, cmp.Or(nonNull(k), boolean))
		}
		return boolean
	case *syntax.Subquery:
		if columns := w.inside(e.Query, with, in); len(columns) == 1 {
			return columns[0].kind
		}
		return unknown
	case *syntax.Unary:
		return w.unary(e, with, in)
	case *syntax.Binary:
		return w.binary(e, with, in)
	case *syntax.Between:
		k := w.expr(e.X, with, in)
		for _, end := range []syntax.Expr{e.Low, e.High} {
			k = w.compare(e.X, end, k, w.expr(end, with, in), e.Operator)
		}
		return boolean
	case *syntax.In:
		return w.in(e, with, in)
	case *syntax.Cast:
		w.expr(e.X, with, in)
		k := kindOfCast(e)
		w.expects(e.X, k)
		return k
	case *syntax.Case:
		return w.cases(e, with, in)
	case *syntax.Call:
		return w.call(e, with, in)
	}
	w.refuse(w.statement.first().Unsupported("this form of expression"))
	return unknown
}

func kindOfLiteral(l *syntax.Literal) kind {
	switch l.Kind {
	case syntax.KindString:
		return text
	case syntax.KindBlob:
		return unknown
	case syntax.KindWord:
		if l.Value == "NULL" {
			return null
		}
		return boolean
	}
	if strings.ContainsAny(l.Value, ".eE") || len(l.Value) > 18 {
		return real
	}
	return integer
}

// named returns the kind of a column.
func (w *walker) named(c *syntax.Column, in *scope) kind {
	table, name := qualified(c)
	for at := in; at != nil; at = at.outer {
		for _, r := range at.relations {
			if table != "" && !query.SameName(r.name, table) {
				continue
			}
			for _, c := range r.columns {
				if query.SameName(c.name, name.Text) {
					return c.kind
				}
			}
			if r.columns == nil {
				return unknown
			}
		}
	}
	if table != "" {
		return unknown
	}
	switch strings.ToUpper(name.Text) {
	case "CURRENT_DATE":
		return day
	case "CURRENT_TIMESTAMP":
		return moment
	case "CURRENT_TIME":
		return text
	}
	return unknown
}

func (w *walker) unary(e *syntax.Unary, with bodies, in *scope) kind {
	k := w.expr(e.X, with, in)
	if e.Op == "-" || e.Op == "~" {
		w.refuseMoments(e.Pos(), k)
	}
	switch {
	case e.Op == "NOT":
		w.expects(e.X, boolean)
		return boolean
	case k == null:
		w.expects(e.X, real) // as in PostgreSQL
		return real
	case k.plain() == real && e.Op == "-":
		return k
	case k.plain() == integer || e.Op == "~":
		return integer
	}
	return unknown
}

// binary returns the kind of x op y. The result of + - * / % is REAL if an operand is. One
// of integers beyond 64 bits is REAL too, which Run corrects.
func (w *walker) binary(e *syntax.Binary, with bodies, in *scope) kind {
	x, y := w.expr(e.X, with, in), w.expr(e.Y, with, in)
	w.expr(e.Escape, with, in)
	switch e.Op {
	case "AND", "OR":
		w.expectAlike(boolean, e.X, e.Y)
	case "+", "-", "*", "/", "%":
		w.expectNumbers(e, x, y)
		w.refuseMoments(e.Operator, x, y)
		return arithmetic(x, y)
	case "&", "|", "<<", ">>":
		w.expectNumbers(e, x, y)
		return integer
	case "||", "LIKE", "GLOB":
		w.expectAlike(text, e.X, e.Y)
		if e.Op == "||" {
			return text
		}
	case "->", "->>":
		w.refuse(syntax.Token{Position: e.Operator}.Unsupported("an operator on JSON"))
		return unknown
	case "IS", "IS DISTINCT FROM":
		w.compare(e.X, e.Y, x, y, 0)
	default:
		w.compare(e.X, e.Y, x, y, e.Operator)
	}
	return boolean
}

// expectNumbers has the operands of an operator on numbers expect their kinds.
func (w *walker) expectNumbers(e *syntax.Binary, x, y kind) {
	if k := arithmetic(cmp.Or(nonNull(x), integer), cmp.Or(nonNull(y), integer)); k != unknown {
		w.expectAlike(k, e.X, e.Y)
	}
}

// compare has the operands of a comparison expect their kinds, and returns what they agree on. A
// date with a number is refused at the operator, if one is given.
func (w *walker) compare(left, right syntax.Expr, x, y kind, operator int) kind {
	isDate := func(a, b kind) bool { return a == moment && (b == integer || b == real) }
	if a, b := x.plain(), y.plain(); operator > 0 && (isDate(a, b) || isDate(b, a)) {
		w.refuse(sqlerr.New(sqlerr.Invalid, "a date is compared with a number").
			WithHint("write the date in single quotes: '2024-12-31'").At(operator))
	}
	if isText(left) {
		x = unknown
	}
	k := cmp.Or(nonNull(x), nonNull(y))
	w.expectAlike(k, left, right)
	return k
}

func isText(e syntax.Expr) bool {
	l, ok := e.(*syntax.Literal)
	return ok && l.Kind == syntax.KindString
}

// in has the operands of x IN (…) expect the kind of its last literal, where x has none.
func (w *walker) in(e *syntax.In, with bodies, in *scope) kind {
	x := w.expr(e.X, with, in)
	list, ok := e.Set.(*syntax.Tuple)
	if !ok {
		w.expr(e.Set, with, in)
		return boolean
	}
	w.exprs(list.Items, with, in)
	y := unknown
	for _, element := range list.Items {
		if l, ok := element.(*syntax.Literal); ok && l.Kind != syntax.KindBlob && l.Kind != syntax.KindWord {
			y = kindOfLiteral(l)
		}
	}
	w.compare(e.X, list, x, y, 0)
	return boolean
}

// known returns null for unknown.
func (k kind) known() kind {
	if k == unknown {
		return null
	}
	return k
}

// nonNull returns unknown for null.
func nonNull(k kind) kind {
	if k == null {
		return unknown
	}
	return k
}

// refuseMoments refuses to compute with dates, at a place. To SQLite they are the numbers that
// their texts begin with: a day after 2024-03-01 would be 2025.
func (w *walker) refuseMoments(position int, operands ...kind) {
	if slices.ContainsFunc(operands, func(k kind) bool { return k.plain() == moment }) {
		w.refuse(syntax.Token{Position: position}.Unsupported("computing with a date, which is a text around aggregates,").
			WithHint("write date(x, '+1 day') for a later date, and julianday(x) - julianday(y) for the days between two"))
	}
}

// arithmetic returns the kind of x + y and the like. With NULL it is NULL, of the other's kind.
func arithmetic(x, y kind) kind {
	if x == null {
		x = cmp.Or(nonNull(y), integer)
	}
	if y == null {
		y = x
	}
	if x == exact && y.plain() == integer || y == exact && x.plain() == integer || x == exact && y == exact {
		return exact
	}
	switch x, y = x.plain(), y.plain(); {
	case x == integer && y == integer:
		return integer
	case x == real && (y == integer || y == real) || x == integer && y == real:
		return real
	}
	return unknown
}

// kindOfCast returns the kind of CAST(… AS type).
func kindOfCast(c *syntax.Cast) kind {
	switch sqlvalue.AffinityOf(strings.TrimSpace(strings.ToUpper(lastOf(c.Type.Path).Text + " " + c.Type.Word))) {
	case sqlvalue.Integer:
		return integer
	case sqlvalue.Textual:
		return text
	case sqlvalue.Float:
		return real
	}
	return unknown
}

func (w *walker) cases(e *syntax.Case, with bodies, in *scope) kind {
	operand, out := nonNull(w.expr(e.Of, with, in)), null
	for _, when := range e.Whens {
		k := nonNull(w.expr(when.If, with, in))
		if e.Of == nil {
			w.expects(when.If, boolean)
		} else {
			w.expectAlike(cmp.Or(operand, k), e.Of, when.If)
		}
		out = agreed(out, w.expr(when.Then, with, in))
	}
	if e.Else != nil {
		out = agreed(out, w.expr(e.Else, with, in))
	}
	w.expects(e, out)
	return out
}

// call returns the kind of a function's values, and refuses a function that is not listed.
func (w *walker) call(e *syntax.Call, with bodies, in *scope) kind {
	kinds := w.exprs(e.Args, with, in)
	w.expr(e.Filter, with, in)
	w.window(e.Over, with, in)
	name := functionOf(e)
	k, ok := functions[name]
	if !ok {
		w.refuse(refusedFunction(lastOf(e.Path), w.statement.about()))
		return unknown
	}
	switch name {
	case "sum", "avg", "total", "abs", "round", "sign":
		w.refuseMoments(e.Pos(), kinds...)
	}
	w.expectArguments(name, k, e.Args, kinds)
	switch {
	case k == argument && len(kinds) > 0 && kinds[0] == null && numeric[name]:
		return integer
	case k == argument && len(kinds) > 0:
		return kinds[0]
	case k == either && len(kinds) > 0:
		return together(kinds)
	case k == numbers && len(kinds) == 1 && kinds[0].plain() == integer:
		return integer
	case k == numbers && len(kinds) == 1 && kinds[0].plain() == real:
		return kinds[0]
	case k >= argument:
		return unknown
	}
	return k
}

// expectArguments has the arguments of a function expect their kinds.
func (w *walker) expectArguments(name string, k kind, args []syntax.Expr, kinds []kind) {
	switch {
	case k == either || name == "nullif":
		w.expectAlike(together(kinds), args...)
		return
	case name == "iif" && len(args) == 3:
		w.expects(args[0], boolean)
		w.expectAlike(agreed(kinds[1], kinds[2]), args[1:]...)
		return
	}
	for i, e := range args {
		switch {
		case i > 0 && integerArguments[name], numeric[name], name == "sum", name == "sign":
			w.expects(e, integer)
		case k == real && name != "julianday":
			w.expects(e, real)
		default:
			w.expects(e, text)
		}
	}
}

// numeric are the functions of a number that have its kind.
var numeric = map[string]bool{"abs": true, "ceil": true, "ceiling": true, "floor": true, "trunc": true}

// integerArguments are the functions whose arguments behind the first are integers.
var integerArguments = map[string]bool{"substr": true, "substring": true, "round": true, "lag": true, "lead": true, "nth_value": true}

func together(kinds []kind) kind {
	out := null
	for _, k := range kinds {
		out = agreed(out, k)
	}
	return out
}

// refusedFunction returns the error for a function that is not on the list.
func refusedFunction(name syntax.Ident, about string) *sqlerr.Error {
	err := at(name).Unsupported("the function " + syntax.Excerpt(name.Text, 40) + " in " + about)
	if upper := strings.ToUpper(name.Text); upper == "MARGIN" || upper == "LOW" || upper == "HIGH" {
		return err.WithHint("it stands where its aggregate does: SELECT COUNT(*) AS n, %s(n) AS m FROM …", upper)
	}
	if near := sqlerr.Closest(name.Text, maps.Keys(functions)); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("docs/sql/public.md lists the functions")
}
