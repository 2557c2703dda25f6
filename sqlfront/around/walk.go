package around

import (
	"maps"
	"sync"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
	"dpsql/sqlfront/types"
)

// column is a column of a table or SELECT.
type column struct {
	name string
	kind types.Type
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
	with      bodies
	walker    *walker
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
	mixed     bool // dates and moments meet, see meet

	pass  types.Pass
	whole map[syntax.Expr]types.Type // all types, where pass.Types are those that SQLite needs to be told
}

// collect has the walker collect the types of n parameters, and those of expressions if each is set.
func (w *walker) collect(n int, each bool) {
	if w.pass.Parameters = make([]types.Type, n); each {
		w.pass.Types = make(map[syntax.Expr]types.Type)
	}
}

// newWalker returns a walker that knows tables; nil while they are not known.
func (s *Statement) newWalker(tables map[string][]column) *walker {
	w := &walker{statement: s, tables: tables}
	d := *dialect()
	d.Meet = w.meet
	w.pass = types.Pass{Dialect: &d, Check: w.check}
	return w
}

// meet notes that values of two types meet in a column, an expression or USING: dates and moments are written in two ways.
func (w *walker) meet(a, b types.Type) {
	w.mixed = w.mixed || a != b && types.IsTime(a) && types.IsTime(b)
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
	if w.pass.Parameters == nil {
		return columns
	}
	for _, part := range members(q.Body) {
		for _, row := range rowsOf(part) {
			for i := range columns {
				if len(row) != len(columns) {
					break
				}
				told, typ := w.pass.Told, columns[i].kind
				if !types.Known(typ) {
					typ = query.SQLText
				}
				w.pass.Expect(typ, row[i])
				if columns[i].kind == types.Null && w.pass.Told > told {
					columns[i].kind = query.SQLText
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
		in, rest := &scope{outer: outer, with: with, walker: w}, &syntax.Query{}
		if i == 0 {
			rest = q
		}
		found := w.part(part, rest, in)
		if i == 0 {
			columns = found
		} else {
			columns = w.unite(columns, found)
		}
	}
	return columns
}

// part returns the columns of a SELECT or VALUES. What its query has beside it is in its scope.
func (w *walker) part(part syntax.Body, q *syntax.Query, in *scope) (columns []column) {
	around := w.pass.Scope
	w.pass.Scope = in
	defer func() { w.pass.Scope = around }()
	b, ok := part.(*syntax.Block)
	if !ok {
		b = &syntax.Block{}
	}
	for _, s := range b.From {
		w.source(s, in)
	}
	if v, ok := part.(*syntax.Values); ok {
		columns = w.values(v)
	} else {
		columns = w.list(b, in)
	}
	w.pass.Clauses(b, q)
	return columns
}

// unite returns the columns of a compound SELECT, which has the names of its first part.
func (w *walker) unite(a, b []column) []column {
	if len(a) != len(b) {
		return nil
	}
	out := make([]column, len(a))
	for i := range a {
		out[i] = column{a[i].name, w.pass.Common(a[i].kind, b[i].kind)}
	}
	return out
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

// merge notes that columns of the same name are merged, so those of * are not known.
func (in *scope) merge() {
	in.merged = true
	kinds := make(map[string]types.Type)
	for _, r := range in.relations {
		for _, c := range r.columns {
			name := query.FoldName(c.name)
			in.walker.meet(kinds[name], c.kind)
			kinds[name] = c.kind
		}
	}
}

// source adds the relations of a FROM clause to the scope.
func (w *walker) source(s syntax.Source, in *scope) {
	switch s := s.(type) {
	case *syntax.Join:
		w.source(s.X, in)
		w.source(s.Y, in)
		if s.Natural || s.Using != nil {
			in.merge()
		}
		w.pass.Condition(s.On)
	case *syntax.ParenSource:
		for _, inner := range s.List {
			w.source(inner, in)
		}
	case *syntax.Derived:
		if s.Lateral {
			w.refuse(refusedLateral(s))
			in.relations = append(in.relations, relation{name: s.Alias.Name.Text})
			return
		}
		in.relations = append(in.relations, relation{s.Alias.Name.Text, w.inside(s.Query, in.with, in.outer)})
	case *syntax.Table:
		w.table(s, in)
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
func (w *walker) table(s *syntax.Table, in *scope) {
	t, other := lastOf(s.Path), len(s.Path) > 1
	folded := query.FoldName(t.Text)
	r := relation{name: t.Text}
	if !s.Alias.Name.None() {
		r.name = s.Alias.Name.Text
	}
	expression := in.with[folded]
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
func (w *walker) values(v *syntax.Values) (columns []column) {
	for i, row := range v.Rows {
		next := make([]column, len(row.Items))
		for k, e := range row.Items {
			next[k].kind = w.pass.Of(e)
		}
		if i == 0 {
			columns = next
		} else {
			columns = w.unite(columns, next)
		}
	}
	return columns
}

// list returns the columns of the select list.
func (w *walker) list(b *syntax.Block, in *scope) (columns []column) {
	known := true
	for _, item := range b.Items {
		if star, ok := item.X.(*syntax.Star); ok {
			known = w.star(qualifier(star.Of), in, &columns) && known
			continue
		}
		columns = append(columns, column{nameOf(item), w.pass.Of(item.X)})
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

// Column implements types.Scope.
func (s *scope) Column(c *syntax.Column) types.Type {
	table, name := qualified(c)
	for at := s; at != nil; at = at.outer {
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
				return types.Unknown
			}
		}
	}
	if table != "" {
		return types.Unknown
	}
	return types.Clock(name)
}

// Query implements types.Scope.
func (s *scope) Query(q *syntax.Query) []types.Type {
	columns := s.walker.inside(q, s.with, s)
	found := make([]types.Type, len(columns))
	for i := range columns {
		found[i] = columns[i].kind
	}
	return found
}

// dialect is that of what SQLite runs. Values of two types, of which neither takes in the other, can
// have any.
var dialect = sync.OnceValue(func() *types.Dialect {
	return &types.Dialect{Functions: functions(), Operators: types.SQLite, Long: query.SQLFloat8}
})
