package pgcatalog

import (
	"slices"
	"strings"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// maxColumns is PostgreSQL's limit of a select list.
const maxColumns = 1664

// plan is a query in SQL. Its columns are c0, c1, …
type plan struct {
	columns []outColumn
	sql     string

	// Of one SELECT without ORDER BY and the like, so that its columns can be converted where it stands: SQLite
	// wants the recursive part of a query in WITH to be no query in another's FROM.
	head, tail string
	items      []expr
}

// nested binds a query inside an expression.
func (b *binder) nested(s *scope, q *syntax.Query) *plan { return b.query(s, s.tables, q) }

// query binds a query whose names can mean columns of the scope up.
func (b *binder) query(up *scope, with *withQueries, q *syntax.Query) *plan {
	var queries []string
	for _, c := range q.With {
		var text string
		with, text = b.with(up, with, c, q.Recursive)
		queries = append(queries, text)
	}
	var p *plan
	var order []string
	if s, ok := q.Body.(*syntax.Block); ok {
		p, order = b.selection(up, with, s, q.Order, false)
	} else {
		p = b.body(up, with, q.Body)
		order = b.outputKeys(p, q.Order)
	}
	if queries != nil {
		p.sql = "WITH RECURSIVE " + strings.Join(queries, ", ") + " " + p.sql
	}
	if order != nil {
		p.sql += " ORDER BY " + strings.Join(order, ", ")
	}
	b.limited(up, with, p, q)
	if queries != nil || order != nil || q.Limit != nil || q.Offset != nil {
		p.items = nil
	}
	b.grown(p.sql)
	return p
}

// with binds a query of WITH.
func (b *binder) with(up *scope, with *withQueries, c *syntax.CommonTable, recursive bool) (*withQueries, string) {
	t := &withQueries{up: with, name: folded(c.Name), sql: b.fresh("w")}
	named := func(columns []outColumn) string {
		t.columns = append([]outColumn{}, columns...)
		for i, name := range foldedAll(c.Columns) {
			if i < len(t.columns) {
				t.columns[i].name = name
			}
		}
		return t.sql + "(" + columnList(len(columns)) + ") AS ("
	}
	q := c.Query
	body, isCompound := q.Body.(*syntax.Compound)
	if !recursive || !isCompound || body.Op != "UNION" || len(q.With) > 0 || q.Order != nil || q.Limit != nil {
		p := b.query(up, with, q)
		return t, named(p.columns) + p.sql + ")"
	}
	first := b.body(up, with, body.X)
	head := named(first.columns)
	second := b.body(up, t, body.Y)
	if len(second.columns) != len(first.columns) {
		fail(sqlerr.New(sqlerr.Invalid, "each UNION query must have the same number of columns").At(body.Operator))
	}
	union := " UNION "
	if body.All {
		union = " UNION ALL "
	}
	return t, head + b.recastBlock(first, first.columns, body.Operator) + union + b.recastBlock(second, first.columns, body.Operator) + ")"
}

// columnList is c0, c1, …
func columnList(n int) string {
	names := make([]string, max(n, 1))
	for i := range names {
		names[i] = "c" + itoa(i)
	}
	return strings.Join(names, ", ")
}

func (b *binder) body(up *scope, with *withQueries, n syntax.Body) *plan {
	switch n := n.(type) {
	case *syntax.Block:
		p, _ := b.selection(up, with, n, nil, true)
		return p
	case *syntax.Query:
		return b.query(up, with, n)
	case *syntax.Values:
		return b.values(up, with, n)
	case *syntax.Compound:
		return b.combination(up, with, n)
	}
	fail(sqlerr.New(sqlerr.Internal, "the catalog cannot bind a %T", n))
	return nil
}

func (b *binder) values(up *scope, with *withQueries, n *syntax.Values) *plan {
	s := &scope{up: up, tables: with, level: &level{clause: "VALUES", noSets: "VALUES"}}
	rows := make([][]expr, len(n.Rows))
	for i, row := range n.Rows {
		if len(row.Items) != len(n.Rows[0].Items) {
			fail(sqlerr.New(sqlerr.Malformed, "VALUES lists must all be the same length").At(n.Pos()))
		}
		for _, item := range row.Items {
			rows[i] = append(rows[i], b.expr(s, item))
		}
	}
	p := &plan{}
	names := make([]string, len(rows[0]))
	for j := range rows[0] {
		list := make([]expr, len(rows))
		for i := range rows {
			list[i] = rows[i][j]
		}
		t := b.alike(list, "VALUES", n.Pos())
		for i := range rows {
			rows[i][j] = list[i]
		}
		p.columns = append(p.columns, outColumn{name: "column" + itoa(j+1), typ: t, fields: list[0].fields})
		names[j] = "column" + itoa(j+1) + " AS c" + itoa(j)
	}
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = "(" + joined(row) + ")"
	}
	p.sql = b.grown("SELECT " + strings.Join(names, ", ") + " FROM (VALUES " + strings.Join(texts, ", ") + ")")
	return p
}

func (b *binder) combination(up *scope, with *withQueries, n *syntax.Compound) *plan {
	l, r := b.body(up, with, n.X), b.body(up, with, n.Y)
	if len(l.columns) != len(r.columns) {
		fail(sqlerr.New(sqlerr.Invalid, "each %s query must have the same number of columns", strings.ToLower(n.Op)).At(n.Operator))
	}
	columns := append([]outColumn{}, l.columns...)
	for i := range columns {
		columns[i].typ = b.common([]expr{{typ: l.columns[i].typ, untyped: l.columns[i].typ == unknownOID}, {typ: r.columns[i].typ, untyped: r.columns[i].typ == unknownOID}}, strings.ToLower(n.Op), n.Operator)
	}
	left, right := b.recastBlock(l, columns, n.Operator), b.recastBlock(r, columns, n.Operator)
	switch {
	case n.All && n.Op == "UNION":
		return &plan{columns: columns, sql: b.grown(left + " UNION ALL " + right)}
	case n.All: // rows are told apart by their number among equal ones
		list := columnList(len(columns))
		count := func(sql string) string {
			return "SELECT " + list + ", row_number() OVER (PARTITION BY " + list + ") AS n FROM (" + sql + ")"
		}
		return &plan{columns: columns, sql: b.grown("SELECT " + list + " FROM (" + count(left) + " " + n.Op + " " + count(right) + ")")}
	}
	return &plan{columns: columns, sql: b.grown(left + " " + n.Op + " " + right)}
}

// recastBlock converts a plan's columns to the types of others.
func (b *binder) recastBlock(p *plan, to []outColumn, at int) string {
	list := make([]string, len(to))
	for i, col := range p.columns {
		e := expr{typ: col.typ, fields: col.fields, sql: "c" + itoa(i)}
		if p.items != nil {
			e = p.items[i]
		}
		if col.typ != to[i].typ {
			if b.catalog.conversion(col.typ, to[i].typ) == nil {
				fail(sqlerr.New(sqlerr.Invalid, "types %s and %s cannot be matched", b.catalog.typeTitle(col.typ), b.catalog.typeTitle(to[i].typ)).At(at))
			}
			e = b.converted(e, to[i].typ, at)
		}
		list[i] = e.sql + " AS c" + itoa(i)
	}
	if len(list) == 0 {
		list = []string{"c0"}
	}
	if p.items != nil {
		return b.grown(p.head + strings.Join(list, ", ") + p.tail)
	}
	return b.grown("SELECT " + strings.Join(list, ", ") + " FROM (" + p.sql + ")")
}

// outputKeys binds an ORDER BY that can name columns of the result only.
func (b *binder) outputKeys(p *plan, order []syntax.OrderTerm) (keys []string) {
	for _, k := range order {
		i := b.outputColumn(p.columns, k.X)
		if i < 0 {
			unsupported(at(k.X), "ORDER BY of an expression behind UNION, EXCEPT or INTERSECT")
		}
		keys = append(keys, ordered(k, itoa(i+1)))
	}
	return keys
}

// outputColumn returns the column of a result that an ordinal or a name means, or -1.
func (b *binder) outputColumn(columns []outColumn, e syntax.Expr) int {
	if v, ok := constantOf(e); ok {
		if i, ok := v.(int64); ok {
			if i < 1 || i > int64(len(columns)) {
				fail(sqlerr.New(sqlerr.Invalid, "position %d is not in select list", i).At(at(e)))
			}
			return int(i - 1)
		}
	}
	if n, ok := columnOf(e); ok && len(n.parts) == 1 {
		return slices.IndexFunc(columns, func(c outColumn) bool { return c.name == n.parts[0] })
	}
	return -1
}

// limited applies LIMIT and OFFSET.
func (b *binder) limited(up *scope, with *withQueries, p *plan, q *syntax.Query) {
	if q.Limit == nil && q.Offset == nil {
		return
	}
	s := &scope{up: up, tables: with, level: &level{clause: "LIMIT", noSets: "LIMIT"}}
	bound := func(n syntax.Expr, otherwise int64) string {
		if n == nil {
			return itoa(int(otherwise))
		}
		e := b.implied(b.expr(s, n), int8OID, at(n))
		return b.invoked(int8OID, true, func(_ *run, a []any) any {
			v, ok := a[0].(int64)
			if ok && v < 0 {
				fail(sqlerr.New(sqlerr.Invalid, "LIMIT and OFFSET must not be negative").At(at(n)))
			}
			if !ok {
				return otherwise
			}
			return v
		}, e).sql
	}
	p.sql += " LIMIT " + bound(q.Limit, -1) + " OFFSET " + bound(q.Offset, 0)
}

// selected is a SELECT while it is bound.
type selected struct {
	items   []resultItem // the result's columns, then the keys of ORDER BY
	width   int          // of the result
	grouped bool
	keys    []expr
	having  string
	on      []string // the keys of DISTINCT ON
}

// names are the columns of the result by their names.
func (q *selected) names() []outColumn {
	columns := make([]outColumn, q.width)
	for i, it := range q.items[:q.width] {
		columns[i].name = it.name
	}
	return columns
}

// selection binds a SELECT, and returns the keys of its ORDER BY.
func (b *binder) selection(up *scope, with *withQueries, n *syntax.Block, order []syntax.OrderTerm, leaf bool) (*plan, []string) {
	s := &scope{up: up, tables: with, level: &level{named: make(map[string]*syntax.Window)}, leaf: leaf}
	for _, w := range n.Windows {
		s.level.named[folded(w.Name)] = w.Window
	}
	q := &selected{}
	var from, where string
	s.level.clause, s.level.noSets = "FROM", "FROM"
	for i, f := range n.From {
		text := b.from(s, f)
		if _, join := unwrapped(f).(*syntax.Join); join && i > 0 {
			text = "(" + text + ")"
		}
		if i > 0 {
			from += " JOIN "
		}
		from += text
	}
	if n.Where != nil {
		s.level.clause, s.level.noSets = "WHERE", "WHERE"
		where = " WHERE " + b.condition(s, n.Where, "WHERE")
	}
	s.level.clause, s.level.noSets = "", ""
	b.selectItems(s, n, q)
	b.grouping(s, n, q)
	keys := b.ordering(s, n, q, order)
	p := b.block(s, n, q, from, where, keys)
	if n.On != nil {
		for i, k := range order {
			keys[i] = ordered(k, "k"+itoa(i))
		}
	}
	return p, keys
}

// block writes a SELECT.
func (b *binder) block(s *scope, n *syntax.Block, q *selected, from, where string, order []string) *plan {
	var around *plan
	switch {
	case s.level.sets != nil && (q.grouped || s.level.aggregates > 0 || s.level.windows > 0):
		around = b.setsAround(s, n, q)
	case s.level.sets != nil && from != "":
		from += " JOIN " + b.zip(s.level)
	case s.level.sets != nil:
		from = b.zip(s.level)
	}
	if q.having != "" && len(q.keys) == 0 && q.width > 0 { // SQLite wants an aggregate in the list
		q.items[0].sql = "CASE WHEN count(*) >= 0 THEN " + q.items[0].sql + " END"
	}
	p := &plan{}
	list := make([]string, q.width)
	for i, it := range q.items[:q.width] {
		p.columns = append(p.columns, outColumn{it.name, it.typ, it.fields})
		list[i] = it.sql + " AS c" + itoa(i)
	}
	if len(list) == 0 {
		list = []string{"NULL AS c0"}
		if q.having != "" && len(q.keys) == 0 {
			list[0] = "max(NULL) AS c0"
		}
	}
	p.head = "SELECT "
	if n.Distinct && n.On == nil {
		p.head += "DISTINCT "
	}
	if from != "" {
		p.tail = " FROM " + from
	}
	p.tail += where
	if len(q.keys) > 0 {
		groups := make([]string, len(q.keys))
		for i, k := range q.keys {
			groups[i] = unordinal(k.sql)
		}
		p.tail += " GROUP BY " + strings.Join(groups, ", ")
	}
	if q.having != "" {
		p.tail += " HAVING " + q.having
	}
	p.sql = b.grown(p.head + strings.Join(list, ", ") + p.tail)
	if around != nil {
		around.sql = b.grown(around.head + " FROM (" + p.sql + ")" + around.tail)
		return around
	}
	if n.On != nil {
		p.sql = b.firstOfEach(p, q, list, order)
		return p
	}
	for _, it := range q.items[:q.width] {
		p.items = append(p.items, it.expr)
	}
	return p
}

// setsAround takes the sets out of a list that is computed after grouping. What stays is a query, and the plan
// that it returns takes them of the query's rows.
func (b *binder) setsAround(s *scope, n *syntax.Block, q *selected) *plan {
	name := b.fresh("q")
	var inner []resultItem
	take := func(e expr) string {
		inner = append(inner, resultItem{expr: e})
		return name + ".c" + itoa(len(inner)-1)
	}
	p := &plan{}
	list := make([]string, q.width)
	for i, it := range q.items[:q.width] {
		p.columns = append(p.columns, outColumn{it.name, it.typ, it.fields})
		switch whole := strings.HasPrefix(it.sql, "json_extract("+s.level.zipped+".value, "); {
		case whole:
			list[i] = it.sql
		case !strings.Contains(it.sql, s.level.zipped+".value"):
			list[i] = take(it.expr)
		}
		if list[i] == "" || len(q.items) > q.width || n.Distinct {
			fail(sqlerr.New(sqlerr.Unsupported, "a function that returns a set beside an aggregate or a window, inside an "+
				"expression or with DISTINCT or ORDER BY of other columns, is outside the catalog's dialect").
				WithHint("aggregate in a sub-select in FROM, and take the set around it").At(n.Pos()))
		}
		list[i] += " AS c" + itoa(i)
	}
	for _, set := range s.level.sets {
		for i := range set.args {
			set.args[i].sql = take(set.args[i])
		}
	}
	q.items, q.width = inner, len(inner)
	p.head, p.tail = "SELECT "+strings.Join(list, ", "), " AS "+name+" JOIN "+b.zip(s.level)
	return p
}

// firstOfEach writes DISTINCT ON: the first row, in the order of ORDER BY, of those with equal keys.
func (b *binder) firstOfEach(p *plan, q *selected, list, order []string) string {
	over := "PARTITION BY " + strings.Join(q.on, ", ")
	if order != nil {
		over += " ORDER BY " + strings.Join(order, ", ")
	}
	list = append(list, "row_number() OVER ("+over+") AS n")
	for i, k := range order {
		key, _, _ := strings.Cut(k, " NULLS ")
		list = append(list, strings.TrimSuffix(key, " DESC")+" AS k"+itoa(i))
	}
	return b.grown("SELECT " + columnList(q.width) + " FROM (" + p.head + strings.Join(list, ", ") + p.tail + ") WHERE n = 1")
}

// unordinal is a key that SQLite does not take for the number of a column.
func unordinal(sql string) string {
	if strings.Trim(sql, "()-0123456789") == "" {
		return "NULL"
	}
	return sql
}

func (b *binder) selectItems(s *scope, n *syntax.Block, q *selected) {
	for _, it := range n.Items {
		if st, ok := it.X.(*syntax.Star); ok {
			q.items = append(q.items, b.star(s, st)...)
			if len(q.items) > maxColumns {
				unsupported(0, "a result of more than %d columns", maxColumns)
			}
			continue
		}
		if f, ok := syntax.Inside(it.X).(*syntax.Field); ok && f.Name.None() {
			q.items = append(q.items, b.fields(s, f)...)
			continue
		}
		name := folded(it.As)
		if name == "" {
			name = columnName(it.X)
		}
		if len(q.items) >= maxColumns {
			unsupported(0, "a result of more than %d columns", maxColumns)
		}
		late := s.level.computed()
		e := b.expr(s, it.X)
		if s.leaf && e.untyped && e.parameter == 0 {
			e.untyped = false
		}
		q.items = append(q.items, resultItem{expr: b.settled(e), name: name, late: s.level.computed() > late})
	}
	q.width = len(q.items)
}

// fields is (f(x)).*.
func (b *binder) fields(s *scope, n *syntax.Field) (out []resultItem) {
	e := b.expr(s, n.X)
	if e.fields == nil {
		fail(sqlerr.New(sqlerr.Invalid, "type %s is not composite", b.catalog.typeTitle(e.typ)).At(n.Operator))
	}
	for i, f := range e.fields {
		out = append(out, resultItem{expr: fieldOf(e, i), name: f.name})
	}
	return out
}

func (b *binder) grouping(s *scope, n *syntax.Block, q *selected) {
	s.level.clause, s.level.noSets = "GROUP BY", "GROUP BY"
	for _, g := range n.Group {
		q.grouped = true
		columns, i := q.names(), -1
		if c, ok := columnOf(g); !ok || len(c.parts) > 1 {
			i = b.outputColumn(columns, g)
		} else if _, isInput := b.columnIn(s, "", c.parts[0], c); !isInput {
			i = b.outputColumn(columns, g)
		}
		if i >= 0 {
			if q.items[i].late {
				fail(sqlerr.New(sqlerr.Invalid, "an aggregate, a window function or a set is not allowed in GROUP BY").At(at(g)))
			}
			q.keys = append(q.keys, q.items[i].expr)
		} else if r, ok := syntax.Inside(g).(*syntax.Tuple); ok {
			for _, item := range r.Items {
				q.keys = append(q.keys, b.settled(b.expr(s, item)))
			}
		} else {
			q.keys = append(q.keys, b.settled(b.expr(s, g)))
		}
	}
	s.level.clause = ""
	s.level.noSets = "HAVING"
	windows := s.level.windows
	if n.Having != nil {
		q.grouped = true
		q.having = b.condition(s, n.Having, "HAVING")
		if s.level.windows > windows {
			fail(sqlerr.New(sqlerr.Invalid, "window functions are not allowed in HAVING").At(at(n.Having)))
		}
	}
	s.level.noSets = ""
}

// ordering binds the keys of ORDER BY: columns of the result by their number, or expressions.
func (b *binder) ordering(s *scope, n *syntax.Block, q *selected, order []syntax.OrderTerm) (out []string) {
	columns := q.names()
	key := func(k syntax.Expr) int {
		if i := b.outputColumn(columns, k); i >= 0 {
			return i
		}
		if n.Distinct && n.On == nil {
			for i, it := range n.Items {
				if len(n.Items) == q.width && sameColumn(it.X, k) {
					return i
				}
			}
			fail(sqlerr.New(sqlerr.Invalid, "for SELECT DISTINCT, ORDER BY expressions must appear in select list").At(at(k)))
		}
		q.items = append(q.items, resultItem{expr: b.settled(b.expr(s, k))})
		return len(q.items) - 1
	}
	for _, k := range n.On {
		q.on = append(q.on, unordinal(q.items[key(k)].sql))
	}
	for _, k := range order {
		i := key(k.X)
		text := itoa(i + 1)
		if i >= q.width || n.On != nil {
			text = unordinal(q.items[i].sql)
		}
		out = append(out, ordered(k, text))
	}
	return out
}

func sameColumn(a, b syntax.Expr) bool {
	x, ok := columnOf(syntax.Inside(a))
	y, also := columnOf(syntax.Inside(b))
	return ok && also && (slices.Equal(x.parts, y.parts) || x.parts[len(x.parts)-1] == y.parts[len(y.parts)-1])
}
