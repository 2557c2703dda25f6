package surround

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rqlite/sql"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
	"dpsql/sqlvalue"
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
	size      int                 // the number of SELECTs and tables that SQLite compiles: a common table expression counts wherever it is named
	err       error

	parameters map[int]kind             // of arguments, by their index, where their first use tells it; nil if they are not collected
	compared   map[*sql.BinaryExpr]kind // of the operands of comparisons
	edits      map[int]string           // see Statement.withTypes; nil if they are not collected
}

// expects notes the kind that an expression has where it stands, for the parameters in it whose
// value is its value. The parser sees them as NULL.
func (w *walker) expects(e sql.Expr, k kind) {
	if w.parameters == nil || k == unknown || k == null || k >= argument {
		return
	}
	switch e := e.(type) {
	case *sql.StringLit:
		number := strings.TrimSpace(w.statement.token(e.Value).Value)
		if w.edits != nil && (k.plain() == integer || k.plain() == real) && syntax.IsNumber(number) {
			w.edits[w.statement.index(e.ValuePos)] = number
		}
	case *sql.NullLit:
		t := w.statement.at(w.statement.index(e.Pos))
		if _, known := w.parameters[t.Parameter-1]; t.Parameter > 0 && !known {
			w.parameters[t.Parameter-1] = k
		}
	case *sql.ParenExpr:
		w.expects(e.X, k)
	case *sql.ExprList:
		for _, x := range e.Exprs {
			w.expects(x, k)
		}
	case *sql.CaseExpr:
		for _, b := range e.Blocks {
			w.expects(b.Body, k)
		}
		w.expects(e.ElseExpr, k)
	case *sql.Call:
		switch name := strings.ToLower(w.statement.name(e.Name).Value); {
		case functions[name] == either || name == "nullif":
			w.expectAlike(k, e.Args...)
		case name == "iif" && len(e.Args) == 3:
			w.expectAlike(k, e.Args[1:]...)
		}
	}
}

// expectAlike has expressions expect the kind that they agree on.
func (w *walker) expectAlike(k kind, all ...sql.Expr) {
	for _, e := range all {
		w.expects(e, k)
	}
}

// refuse keeps the first refusal, and the first of a malformed statement rather than another.
func (w *walker) refuse(err error) {
	if w.err == nil || sqlerr.CodeOf(err) == sqlerr.Malformed && sqlerr.CodeOf(w.err) != sqlerr.Malformed {
		w.err = err
	}
}

// selected returns the columns of a SELECT. nil means that they are not known.
func (w *walker) selected(s *sql.SelectStatement, with bodies) []column {
	return w.inside(s, with, nil)
}

func (s *Statement) tooManySelects() error {
	return s.at(0).Unsupported(s.about() + " with this many SELECTs, common table expressions opened,")
}

// inside returns the columns of a SELECT inside a scope. A column of parameters that nothing tells
// the type of has texts, as in PostgreSQL.
func (w *walker) inside(s *sql.SelectStatement, with bodies, outer *scope) []column {
	columns := w.parts(s, with, outer)
	if w.parameters == nil {
		return columns
	}
	for part := s; part != nil; part = part.Compound {
		rows := [][]sql.Expr{listed(part)}
		for _, row := range part.ValueLists {
			rows = append(rows, row.Exprs)
		}
		for _, row := range rows {
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

// listed returns the expressions of a select list without stars.
func listed(s *sql.SelectStatement) []sql.Expr {
	var list []sql.Expr
	for _, c := range s.Columns {
		if ref, ok := c.Expr.(*sql.QualifiedRef); c.Star.IsValid() || ok && ref.Star.IsValid() {
			return nil
		}
		list = append(list, c.Expr)
	}
	return list
}

// parts returns the columns of a SELECT and of those that it is united with.
func (w *walker) parts(s *sql.SelectStatement, with bodies, outer *scope) []column {
	if w.size++; w.size > maxSize {
		w.refuse(w.statement.tooManySelects())
		return nil
	}
	with = w.with(s.WithClause, with)
	in := &scope{outer: outer}
	if s.Source != nil {
		w.source(s.Source, with, in)
	}
	columns := w.list(s, with, in)
	for _, e := range []sql.Expr{s.WhereExpr, s.HavingExpr, s.LimitExpr, s.OffsetExpr} {
		w.expr(e, with, in)
	}
	w.expectAlike(boolean, s.WhereExpr, s.HavingExpr)
	w.expectAlike(integer, s.LimitExpr, s.OffsetExpr)
	w.exprs(s.GroupByExprs, with, in)
	w.terms(s.OrderingTerms, with, in)
	for _, window := range s.Windows {
		w.window(window.Definition, with, in)
	}
	if s.Compound != nil {
		columns = unite(columns, w.parts(s.Compound, with, outer))
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
func (w *walker) with(clause *sql.WithClause, outer bodies) bodies {
	if clause == nil {
		return outer
	}
	in := maps.Clone(outer)
	if in == nil {
		in = make(bodies)
	}
	for _, e := range clause.CTEs { // SQLite has all names in scope: none of these is a table
		in[w.expression(e)] = &body{}
	}
	for _, e := range clause.CTEs {
		b := in[w.expression(e)]
		before := w.size
		b.open = true
		b.columns = w.renamed(e, w.inside(e.Select, in, nil))
		b.open, b.size = false, w.size-before
	}
	return in
}

// expression returns the folded name of a common table expression.
func (w *walker) expression(e *sql.CTE) string {
	name := query.FoldName(w.statement.name(e.TableName).Value)
	if w.found != nil {
		w.statement.names[name] = true
	}
	return name
}

// renamed gives the columns the names that a common table expression lists.
func (w *walker) renamed(e *sql.CTE, columns []column) []column {
	if len(e.Columns) == 0 {
		return columns
	}
	named := make([]column, len(e.Columns))
	for i, c := range e.Columns {
		named[i].name = w.statement.name(c).Value
		if len(columns) == len(named) {
			named[i].kind = columns[i].kind
		}
	}
	return named
}

// source adds the relations of a FROM clause to the scope.
func (w *walker) source(s sql.Source, with bodies, in *scope) {
	switch s := s.(type) {
	case *sql.JoinClause:
		w.source(s.X, with, in)
		w.source(s.Y, with, in)
		in.merged = in.merged || s.Operator.Natural.IsValid()
		switch c := s.Constraint.(type) {
		case *sql.OnConstraint:
			w.expr(c.X, with, in)
			w.expects(c.X, boolean)
		case *sql.UsingConstraint:
			in.merged = true
		}
	case *sql.ParenSource:
		inner, ok := s.X.(*sql.SelectStatement)
		if !ok {
			w.source(s.X, with, in)
			return
		}
		in.relations = append(in.relations, relation{w.statement.name(s.Alias).Value, w.inside(inner, with, in.outer)})
	case *sql.SelectStatement:
		in.relations = append(in.relations, relation{"", w.inside(s, with, in.outer)})
	case *sql.QualifiedTableName:
		w.table(s, with, in)
	case *sql.QualifiedTableFunctionName:
		if t := w.statement.name(s.Name); t.Matches("LATERAL") {
			w.refuse(t.Unsupported("LATERAL").WithHint("aggregate by group, and join the result: … JOIN (SELECT x, COUNT(*) AS n FROM t GROUP BY x) AS c ON c.x = …"))
		}
		w.refuse(w.statement.name(s.Name).Unsupported("a table-valued function").WithHint("FROM takes public tables, sub-selects and VALUES"))
	default:
		w.refuse(w.statement.at(0).Unsupported("this form of FROM"))
	}
}

// table adds a table or common table expression.
func (w *walker) table(s *sql.QualifiedTableName, with bodies, in *scope) {
	t, alias := w.statement.name(s.Name), w.statement.name(s.Alias)
	folded := query.FoldName(t.Value)
	r := relation{name: t.Value}
	if s.Alias != nil {
		r.name = alias.Value
	}
	schema := w.statement.name(s.Schema)
	expression := with[folded]
	w.size++
	switch {
	case s.Schema != nil && !query.SameName(schema.Value, "main"):
		w.refuse(schema.Unsupported("a table of another database").WithHint("SHOW TABLES lists the tables"))
	case s.Index != nil:
		w.refuse(t.Unsupported("INDEXED BY"))
	case s.Schema == nil && expression != nil:
		if expression.size == 0 && !expression.open {
			w.refuse(t.Unsupported("a common table expression that is used before it is defined").WithHint("write %s first", t.Text))
		}
		w.size += expression.size
		r.columns = expression.columns
	default:
		r.columns = w.tables[folded]
		if w.found != nil && !w.found[folded] {
			w.found[folded], w.statement.names[folded] = true, true
			w.statement.Tables = append(w.statement.Tables, syntax.Name{Text: t.Value, Position: t.Position})
		}
	}
	in.relations = append(in.relations, r)
}

// list returns the columns of the select list or of VALUES.
func (w *walker) list(s *sql.SelectStatement, with bodies, in *scope) []column {
	if len(s.ValueLists) > 0 {
		var columns []column
		for i, row := range s.ValueLists {
			kinds := w.exprs(row.Exprs, with, in)
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
	var columns []column
	known := true
	for _, c := range s.Columns {
		if c.Star.IsValid() {
			known = w.star("", in, &columns) && known
			continue
		}
		if ref, ok := c.Expr.(*sql.QualifiedRef); ok && ref.Star.IsValid() {
			known = w.star(w.statement.name(ref.Table).Value, in, &columns) && known
			continue
		}
		named := column{w.statement.name(c.Alias).Value, w.expr(c.Expr, with, in)}
		if c.Alias == nil {
			switch e := c.Expr.(type) {
			case *sql.Ident:
				named.name = w.statement.name(e).Value
			case *sql.QualifiedRef:
				named.name = w.statement.name(e.Column).Value
			}
		}
		columns = append(columns, named)
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

func (w *walker) exprs(list []sql.Expr, with bodies, in *scope) []kind {
	kinds := make([]kind, len(list))
	for i, e := range list {
		kinds[i] = w.expr(e, with, in)
	}
	return kinds
}

func (w *walker) terms(list []*sql.OrderingTerm, with bodies, in *scope) {
	for _, t := range list {
		w.expr(t.X, with, in)
	}
}

func (w *walker) window(d *sql.WindowDefinition, with bodies, in *scope) {
	if d == nil {
		return
	}
	w.exprs(d.Partitions, with, in)
	w.terms(d.OrderingTerms, with, in)
	if d.Frame != nil {
		w.expr(d.Frame.X, with, in)
		w.expr(d.Frame.Y, with, in)
	}
}

// expr returns the kind of an expression. It refuses expressions that it does not know.
func (w *walker) expr(e sql.Expr, with bodies, in *scope) kind {
	k := w.kind(e, with, in)
	last, time := -1, k.plain() == moment
	switch e := e.(type) {
	case *sql.Ident:
		last = w.statement.of(e)
	case *sql.QualifiedRef:
		last = w.statement.of(e.Column)
	case *sql.ParenExpr:
		last = w.statement.index(e.Rparen)
	case *sql.Call: // of other functions SQLite has the collation from their arguments
		t := w.statement.name(e.Name)
		last, time = w.statement.index(e.Rparen), t.Matches("DATE") || t.Matches("DATETIME")
	}
	if w.edits != nil && last >= 0 && time {
		w.edits[last] = w.statement.at(last).Text + " COLLATE moment"
	}
	return k
}

// kind is expr without its edits.
func (w *walker) kind(e sql.Expr, with bodies, in *scope) kind {
	switch e := e.(type) {
	case nil:
		return unknown
	case *sql.Ident:
		return w.named("", w.statement.name(e), in)
	case *sql.QualifiedRef:
		return w.named(w.statement.name(e.Table).Value, w.statement.name(e.Column), in)
	case *sql.NullLit:
		return w.parameters[w.statement.at(w.statement.index(e.Pos)).Parameter-1].known()
	case *sql.NumberLit:
		if strings.ContainsAny(e.Value, ".eE") || len(e.Value) > 18 {
			return real
		}
		return integer
	case *sql.StringLit:
		return text
	case *sql.BlobLit, *sql.TimestampLit, *sql.BindExpr:
		return unknown
	case *sql.BoolLit:
		return boolean
	case *sql.ParenExpr:
		if t := w.statement.at(w.statement.index(e.Rparen)); !t.Matches(")") { // the parser takes anything
			w.refuse(t.Malformed("expected ) in the place of %s", syntax.Excerpt(t.Text, 40)))
		}
		return w.expr(e.X, with, in)
	case *sql.ExprList:
		w.exprs(e.Exprs, with, in)
		return unknown
	case *sql.Exists:
		w.inside(e.Select, with, in)
		return boolean
	case *sql.Null:
		w.expr(e.X, with, in)
		return boolean
	case sql.SelectExpr:
		if first := w.statement.firstOf(e.SelectStatement); e.WithClause == nil && !w.statement.at(first-1).Matches("(") {
			w.refuse(w.statement.at(first).Malformed("a SELECT without parentheses"))
		}
		if columns := w.inside(e.SelectStatement, with, in); len(columns) == 1 {
			return columns[0].kind
		}
		return unknown
	case *sql.UnaryExpr:
		k := w.expr(e.X, with, in)
		if e.Op == sql.MINUS || e.Op == sql.BITNOT {
			w.refuseMoments(e.OpPos, k)
		}
		switch {
		case e.Op == sql.NOT:
			w.expects(e.X, boolean)
			return boolean
		case k == null:
			w.expects(e.X, real) // as in PostgreSQL
			return real
		case k.plain() == real && e.Op == sql.MINUS:
			return k
		case k.plain() == integer || e.Op == sql.BITNOT:
			return integer
		}
		return unknown
	case *sql.BinaryExpr:
		return w.binary(e, with, in)
	case *sql.CastExpr:
		w.expr(e.X, with, in)
		k := w.cast(e.Type)
		w.expects(e.X, k)
		return k
	case *sql.CaseExpr:
		return w.cases(e, with, in)
	case *sql.Call:
		return w.call(e, with, in)
	}
	w.refuse(w.statement.at(0).Unsupported("this form of expression"))
	return unknown
}

// named returns the kind of a column.
func (w *walker) named(table string, t syntax.Token, in *scope) kind {
	for at := in; at != nil; at = at.outer {
		for _, r := range at.relations {
			if table != "" && !query.SameName(r.name, table) {
				continue
			}
			for _, c := range r.columns {
				if query.SameName(c.name, t.Value) {
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
	switch t.Upper {
	case "TRUE", "FALSE":
		return boolean
	case "CURRENT_DATE":
		return day
	case "CURRENT_TIMESTAMP":
		return moment
	case "CURRENT_TIME":
		return text
	}
	return unknown
}

// binary returns the kind of x op y. The result of + - * / % is REAL if an operand is. One
// of integers beyond 64 bits is REAL too, which Run corrects.
func (w *walker) binary(e *sql.BinaryExpr, with bodies, in *scope) kind {
	x, y := w.expr(e.X, with, in), w.expr(e.Y, with, in)
	if inner, ok := e.X.(*sql.BinaryExpr); ok && w.statement.ranges[w.statement.index(e.OpPos)] {
		x = w.compared[inner] // the end of a BETWEEN
	}
	w.expectOperands(e, x, y)
	switch e.Op {
	case sql.PLUS, sql.MINUS, sql.STAR, sql.SLASH, sql.REM:
		w.refuseMoments(e.OpPos, x, y)
		return arithmetic(x, y)
	case sql.CONCAT:
		return text
	case sql.JSON_EXTRACT_JSON, sql.JSON_EXTRACT_SQL:
		w.refuse(w.arrow().Unsupported("an operator on JSON"))
		return unknown
	case sql.EQ, sql.NE, sql.LT, sql.LE, sql.GT, sql.GE:
		if a, b := x.plain(), y.plain(); a == moment && (b == integer || b == real) || b == moment && (a == integer || a == real) {
			w.refuse(sqlerr.New(sqlerr.Invalid, "a date is compared with a number").WithHint("write the date in single quotes: '2024-12-31'").
				At(w.statement.at(w.statement.index(e.OpPos)).Position))
		}
	case sql.BITAND, sql.BITOR, sql.LSHIFT, sql.RSHIFT:
		return integer
	}
	return boolean
}

// expectOperands has the operands of x op y expect their kinds.
func (w *walker) expectOperands(e *sql.BinaryExpr, x, y kind) {
	switch e.Op {
	case sql.AND, sql.OR:
		w.expectAlike(boolean, e.X, e.Y)
	case sql.PLUS, sql.MINUS, sql.STAR, sql.SLASH, sql.REM, sql.BITAND, sql.BITOR, sql.LSHIFT, sql.RSHIFT:
		if k := arithmetic(cmp.Or(nonNull(x), integer), cmp.Or(nonNull(y), integer)); k != unknown {
			w.expectAlike(k, e.X, e.Y)
		}
	case sql.CONCAT, sql.LIKE, sql.NOTLIKE, sql.GLOB, sql.NOTGLOB:
		w.expectAlike(text, e.X, e.Y)
	default:
		if list, ok := e.Y.(*sql.ExprList); ok {
			for _, element := range list.Exprs {
				if number, ok := element.(*sql.NumberLit); ok {
					y = w.expr(number, nil, nil)
				} else if _, ok := element.(*sql.StringLit); ok {
					y = text
				}
			}
		}
		if _, literal := e.X.(*sql.StringLit); literal {
			x = unknown
		}
		k := cmp.Or(nonNull(x), nonNull(y))
		w.expectAlike(k, e.X, e.Y)
		if w.compared == nil {
			w.compared = make(map[*sql.BinaryExpr]kind)
		}
		w.compared[e] = k
	}
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
func (w *walker) refuseMoments(at sql.Pos, operands ...kind) {
	if slices.ContainsFunc(operands, func(k kind) bool { return k.plain() == moment }) {
		w.refuse(w.statement.at(w.statement.index(at)).Unsupported("computing with a date, which is a text around aggregates,").
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

// arrow returns the first operator on JSON.
func (w *walker) arrow() syntax.Token {
	for _, t := range w.statement.tokens {
		if t.Matches("->") || t.Matches("->>") {
			return t
		}
	}
	return w.statement.at(0)
}

// cast returns the kind of CAST(… AS type).
func (w *walker) cast(t *sql.Type) kind {
	name := ""
	if t != nil && t.Name != nil {
		for _, placeholder := range strings.Fields(t.Name.Name) {
			name += w.statement.token(placeholder).Upper + " "
		}
	}
	switch sqlvalue.AffinityOf(strings.TrimSpace(name)) {
	case sqlvalue.Integer:
		return integer
	case sqlvalue.Textual:
		return text
	case sqlvalue.Float:
		return real
	}
	return unknown
}

func (w *walker) cases(e *sql.CaseExpr, with bodies, in *scope) kind {
	operand, out := nonNull(w.expr(e.Operand, with, in)), null
	for _, b := range e.Blocks {
		k := nonNull(w.expr(b.Condition, with, in))
		if e.Operand == nil {
			w.expects(b.Condition, boolean)
		} else {
			w.expectAlike(cmp.Or(operand, k), e.Operand, b.Condition)
		}
		out = agreed(out, w.expr(b.Body, with, in))
	}
	if e.ElseExpr != nil {
		out = agreed(out, w.expr(e.ElseExpr, with, in))
	}
	w.expects(e, out)
	return out
}

// call returns the kind of a function's values, and refuses a function that is not listed.
func (w *walker) call(e *sql.Call, with bodies, in *scope) kind {
	kinds := w.exprs(e.Args, with, in)
	if e.Filter != nil {
		w.expr(e.Filter.X, with, in)
	}
	if e.Over != nil {
		w.window(e.Over.Definition, with, in)
	}
	t := w.statement.name(e.Name)
	k, ok := functions[strings.ToLower(t.Value)]
	if !ok {
		w.refuse(refusedFunction(t, w.statement.about()))
		return unknown
	}
	switch name := strings.ToLower(t.Value); name {
	case "sum", "avg", "total", "abs", "round", "sign":
		w.refuseMoments(e.Name.NamePos, kinds...)
	}
	w.expectArguments(strings.ToLower(t.Value), k, e.Args, kinds)
	switch {
	case k == argument && len(kinds) > 0 && kinds[0] == null && numeric[strings.ToLower(t.Value)]:
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
func (w *walker) expectArguments(name string, k kind, args []sql.Expr, kinds []kind) {
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
func refusedFunction(t syntax.Token, about string) *sqlerr.Error {
	err := t.Unsupported("the function " + syntax.Excerpt(t.Value, 40) + " in " + about)
	if t.Upper == "MARGIN" || t.Upper == "LOW" || t.Upper == "HIGH" {
		return err.WithHint("it stands where its aggregate does: SELECT COUNT(*) AS n, %s(n) AS m FROM …", t.Upper)
	}
	if near := sqlerr.Closest(t.Value, maps.Keys(functions)); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("docs/sql/public.md lists the functions")
}
