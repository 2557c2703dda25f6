package pgcatalog

import (
	"slices"
	"strings"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// maxColumns is PostgreSQL's limit of a select list.
const maxColumns = 1664

// nested binds a query inside an expression.
func (b *binder) nested(s *scope, q *syntax.Query) *plan { return b.query(s, s.tables, q) }

// query binds a query whose names can mean columns of the scope up.
func (b *binder) query(up *scope, with *withQueries, q *syntax.Query) *plan {
	for _, c := range q.With {
		with = b.with(up, with, c, q.Recursive)
	}
	var p *plan
	var keys []outputKey
	if s, ok := q.Body.(*syntax.Block); ok {
		p, keys = b.selection(up, with, s, q.Order, false)
	} else {
		p = b.body(up, with, q.Body)
		keys = b.outputKeys(p, q.Order)
	}
	p = ordered(p, keys, len(p.columns))
	return b.limited(up, with, p, q)
}

func (b *binder) with(up *scope, with *withQueries, c *syntax.CommonTable, recursive bool) *withQueries {
	t := &withQueries{up: with, name: folded(c.Name), scope: up}
	rename := func(columns []outColumn) []outColumn {
		out := append([]outColumn{}, columns...)
		for i, name := range foldedAll(c.Columns) {
			if i < len(out) {
				out[i].name = name
			}
		}
		return out
	}
	q := c.Query
	body, isCompound := q.Body.(*syntax.Compound)
	if !recursive || !isCompound || body.Op != "UNION" || len(q.With) > 0 || q.Order != nil || q.Limit != nil {
		p := *b.query(up, with, q)
		p.columns = rename(p.columns)
		t.plan = &p
		return t
	}
	first := b.body(up, with, body.X)
	l := &loop{columns: rename(first.columns)}
	t.loop = l
	second := b.body(up, t, body.Y)
	if len(second.columns) != len(first.columns) {
		fail(sqlerr.New(sqlerr.Invalid, "each UNION query must have the same number of columns").At(body.Operator))
	}
	second = b.recast(second, first.columns, body.Operator)
	t.plan = &plan{columns: l.columns, correlated: first.correlated, each: func(f *frame, emit func([]any) bool) {
		seen := make(map[any]bool)
		fresh := func(rows [][]any) (out [][]any) {
			for _, row := range rows {
				f.run.kept(row)
				if k := f.run.key(row); body.All || !seen[k] {
					seen[k] = !body.All
					out = append(out, row)
				}
			}
			return out
		}
		saved := f.run.working[l]
		defer func() { f.run.working[l] = saved }()
		for rows := fresh(first.collect(f)); len(rows) > 0; {
			for _, row := range rows {
				if !emit(row) {
					return
				}
			}
			f.run.working[l] = rows
			var next [][]any
			second.each(f, func(row []any) bool { next = append(next, row); f.run.kept(row); return true })
			rows = fresh(next)
		}
	}}
	return t
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
	}
	p.correlated = s.escaped
	p.each = func(up *frame, emit func([]any) bool) {
		f := &frame{run: up.run, up: up}
		for _, row := range rows {
			out := make([]any, len(row))
			for i, e := range row {
				out[i] = e.eval(f)
			}
			if !emit(out) {
				return
			}
		}
	}
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
	l, r = b.recast(l, columns, n.Operator), b.recast(r, columns, n.Operator)
	return &plan{columns: columns, correlated: l.correlated || r.correlated, each: func(f *frame, emit func([]any) bool) {
		f.run.combine(n, l.collect(f), r, f, emit)
	}}
}

// combine emits the rows of a UNION, EXCEPT or INTERSECT.
func (r *run) combine(n *syntax.Compound, left [][]any, second *plan, f *frame, emit func([]any) bool) {
	right := second.collect(f)
	count := make(map[any]int)
	if n.Op != "UNION" {
		for _, row := range right {
			count[r.key(row)]++
		}
	} else {
		left = append(left[:len(left):len(left)], right...)
	}
	seen := make(map[any]bool)
	for _, row := range left {
		r.step()
		k := r.key(row)
		has := count[k] > 0
		if has && n.All {
			count[k]--
		}
		if n.Op == "EXCEPT" && has || n.Op == "INTERSECT" && !has || !n.All && seen[k] {
			continue
		}
		seen[k] = true
		if !emit(row) {
			return
		}
	}
}

// recast converts a plan's columns to the types of others.
func (b *binder) recast(p *plan, to []outColumn, at int) *plan {
	converts := make([]func(any) any, len(to))
	changed := false
	for i, col := range p.columns {
		if col.typ == to[i].typ {
			continue
		}
		changed = true
		if converts[i] = b.catalog.conversion(col.typ, to[i].typ); converts[i] == nil {
			fail(sqlerr.New(sqlerr.Invalid, "types %s and %s cannot be matched", b.catalog.typeTitle(col.typ), b.catalog.typeTitle(to[i].typ)).At(at))
		}
	}
	if !changed {
		return p
	}
	return &plan{columns: to, correlated: p.correlated, each: func(f *frame, emit func([]any) bool) {
		p.each(f, func(row []any) bool {
			out := slices.Clone(row)
			for i, c := range converts {
				if c != nil && out[i] != nil {
					out[i] = c(out[i])
				}
			}
			return emit(out)
		})
	}}
}

// outputKeys binds an ORDER BY that can name columns of the result only.
func (b *binder) outputKeys(p *plan, order []syntax.OrderTerm) (keys []outputKey) {
	for _, k := range order {
		i := b.outputColumn(p.columns, k.X)
		if i < 0 {
			unsupported(at(k.X), "ORDER BY of an expression behind UNION, EXCEPT or INTERSECT")
		}
		keys = append(keys, keyOfTerm(i, k))
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

// ordered sorts a plan's rows by keys, and cuts them to the width.
func ordered(p *plan, keys []outputKey, width int) *plan {
	if len(keys) == 0 {
		return p
	}
	return &plan{columns: p.columns[:width], correlated: p.correlated, each: func(f *frame, emit func([]any) bool) {
		rows := slices.Clone(p.collect(f))
		slices.SortStableFunc(rows, func(a, b []any) int {
			f.run.step()
			return compareKeys(a, b, keys)
		})
		for _, row := range rows {
			if !emit(row[:width:width]) {
				return
			}
		}
	}}
}

func compareKeys(a, b []any, keys []outputKey) int {
	for _, k := range keys {
		x, y := a[k.column], b[k.column]
		if x == nil || y == nil {
			if n := compareNulls(x, y, k.nullsFirst); n != 0 {
				return n
			}
			continue
		}
		if n := compare(x, y); n != 0 {
			if k.desc {
				return -n
			}
			return n
		}
	}
	return 0
}

// limited applies LIMIT and OFFSET.
func (b *binder) limited(up *scope, with *withQueries, p *plan, q *syntax.Query) *plan {
	if q.Limit == nil && q.Offset == nil {
		return p
	}
	s := &scope{up: up, tables: with, level: &level{clause: "LIMIT", noSets: "LIMIT"}}
	bound := func(n syntax.Expr, otherwise int64) func(f *frame) int64 {
		if n == nil {
			return func(*frame) int64 { return otherwise }
		}
		e := b.implied(b.expr(s, n), int8OID, at(n))
		return func(f *frame) int64 {
			v, ok := e.eval(f).(int64)
			if !ok {
				return otherwise
			}
			if v < 0 {
				fail(sqlerr.New(sqlerr.Invalid, "LIMIT and OFFSET must not be negative").At(at(n)))
			}
			return v
		}
	}
	limit, offset := bound(q.Limit, -1), bound(q.Offset, 0)
	return &plan{columns: p.columns, correlated: p.correlated || s.escaped, each: func(up *frame, emit func([]any) bool) {
		f := &frame{run: up.run, up: up}
		left, skip := limit(f), offset(f)
		if left == 0 {
			return
		}
		p.each(up, func(row []any) bool {
			up.run.step()
			if skip > 0 {
				skip--
				return true
			}
			left--
			return emit(row) && left != 0
		})
	}}
}

// selected is a SELECT while it is bound, and its program.
type selected struct {
	scope      *scope
	from       stepper
	items      []resultItem // the result's columns, then the keys of ORDER BY and DISTINCT ON
	width      int          // of the result
	grouped    bool
	keys       []expr
	having     func(*frame) any
	distinct   bool
	distinctOn []outputKey
	order      []outputKey
}

// selection binds a SELECT. Its plan has the columns that the keys need behind its own.
func (b *binder) selection(up *scope, with *withQueries, n *syntax.Block, order []syntax.OrderTerm, leaf bool) (*plan, []outputKey) {
	s := &scope{up: up, tables: with, level: &level{named: make(map[string]*syntax.Window)}, leaf: leaf}
	for _, w := range n.Windows {
		s.level.named[folded(w.Name)] = w.Window
	}
	q := &selected{scope: s}
	var items []joinItem
	var on []conjunct
	s.level.clause, s.level.noSets = "FROM", "FROM"
	for _, f := range n.From {
		i, o := b.list(s, f)
		items, on = append(items, i...), append(on, o...)
	}
	if n.Where != nil {
		s.level.clause, s.level.noSets = "WHERE", "WHERE"
		on = append(on, b.conjuncts(s, n.Where, "WHERE")...)
	}
	q.from = joinOf(items, on, 0)
	s.level.clause, s.level.noSets = "", ""
	b.selectItems(s, n, q)
	b.grouping(s, n, q)
	b.ordering(s, n, q, order)
	q.grouped = q.grouped || len(s.level.aggregates) > 0
	p := &plan{correlated: s.escaped, each: q.each}
	for _, it := range q.items[:q.width] {
		p.columns = append(p.columns, outColumn{it.name, it.typ, it.fields})
	}
	return p, q.order
}

func (b *binder) selectItems(s *scope, n *syntax.Block, q *selected) {
	for _, it := range n.Items {
		if st, ok := it.X.(*syntax.Star); ok {
			q.items = append(q.items, b.star(s, st)...)
			if len(q.items) > maxColumns {
				fail(sqlerr.New(sqlerr.Unsupported, "a result of more than %d columns is outside the catalog's dialect", maxColumns))
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
			fail(sqlerr.New(sqlerr.Unsupported, "a result of more than %d columns is outside the catalog's dialect", maxColumns))
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
		out = append(out, resultItem{expr: expr{typ: f.typ, fields: f.fields, eval: func(fr *frame) any {
			if r, ok := e.eval(fr).(record); ok {
				return r[i]
			}
			return nil
		}}, name: f.name})
	}
	return out
}

func (b *binder) grouping(s *scope, n *syntax.Block, q *selected) {
	s.level.clause, s.level.noSets = "GROUP BY", "GROUP BY"
	for _, g := range n.Group {
		q.grouped = true
		columns := make([]outColumn, q.width)
		for i, it := range q.items {
			columns[i].name = it.name
		}
		i := -1
		if c, ok := columnOf(g); !ok || len(c.parts) > 1 {
			i = b.outputColumn(columns, g)
		} else if _, isInput := b.columnIn(s, "", c.parts[0], 0, c); !isInput {
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
	windows := len(s.level.windows)
	if n.Having != nil {
		q.grouped = true
		q.having = b.condition(s, n.Having, "HAVING")
		if len(s.level.windows) > windows {
			fail(sqlerr.New(sqlerr.Invalid, "window functions are not allowed in HAVING").At(at(n.Having)))
		}
	}
	s.level.noSets = ""
}

// ordering binds the keys of ORDER BY and of DISTINCT ON, as columns behind the result's.
func (b *binder) ordering(s *scope, n *syntax.Block, q *selected, order []syntax.OrderTerm) {
	columns := make([]outColumn, q.width)
	for i, it := range q.items {
		columns[i].name = it.name
	}
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
	q.distinct = n.Distinct && n.On == nil
	for _, k := range n.On {
		q.distinctOn = append(q.distinctOn, outputKey{column: key(k)})
	}
	for _, k := range order {
		q.order = append(q.order, keyOfTerm(key(k.X), k))
	}
	if q.distinctOn != nil && q.order == nil {
		q.order = q.distinctOn
	}
}

func sameColumn(a, b syntax.Expr) bool {
	x, ok := columnOf(syntax.Inside(a))
	y, also := columnOf(syntax.Inside(b))
	return ok && also && (slices.Equal(x.parts, y.parts) || x.parts[len(x.parts)-1] == y.parts[len(y.parts)-1])
}

// each runs the SELECT.
func (q *selected) each(up *frame, emit func([]any) bool) {
	l := q.scope.level
	out := emit
	if q.distinct {
		seen := make(map[any]bool)
		out = func(row []any) bool {
			k := up.run.key(row[:q.width])
			if seen[k] {
				return true
			}
			seen[k] = true
			up.run.kept(row)
			return emit(row)
		}
	}
	f := &frame{run: up.run, up: up, rows: make([][]any, len(q.scope.sources)), sets: make([]any, len(l.sets))}
	if q.distinctOn != nil {
		q.first(f, emit)
		return
	}
	q.eachRow(f, out)
}

// first emits the first row, in the order of ORDER BY, of those with equal keys.
func (q *selected) first(f *frame, emit func([]any) bool) {
	var rows [][]any
	q.eachRow(f, func(row []any) bool { f.run.kept(row); rows = append(rows, row); return true })
	slices.SortStableFunc(rows, func(a, b []any) int { f.run.step(); return compareKeys(a, b, q.order) })
	seen := make(map[any]bool)
	for _, row := range rows {
		key := make([]any, len(q.distinctOn))
		for i, k := range q.distinctOn {
			key[i] = row[k.column]
		}
		if k := f.run.key(key); !seen[k] {
			if seen[k] = true; !emit(row) {
				return
			}
		}
	}
}

// eachRow emits rows before DISTINCT and ORDER BY.
func (q *selected) eachRow(f *frame, emit func([]any) bool) {
	l := q.scope.level
	if !q.grouped && len(l.windows) == 0 {
		q.from(f, func() bool { return q.project(f, emit) })
		return
	}
	var states []*frame
	if q.grouped {
		states = q.groups(f)
	} else {
		q.from(f, func() bool {
			states = append(states, f.copied())
			return true
		})
	}
	for _, w := range l.windows {
		w.compute(states)
	}
	for _, state := range states {
		if !q.project(state, emit) {
			return
		}
	}
}

// project emits the rows that one combination of source rows makes: one, or several where the
// select list has functions that return sets.
func (q *selected) project(f *frame, emit func([]any) bool) bool {
	f.run.step()
	l := q.scope.level
	if len(l.sets) == 0 {
		return emit(q.row(f))
	}
	values, most := make([][]any, len(l.sets)), 0
	for i, set := range l.sets {
		values[i] = set.values(f)
		most = max(most, len(values[i]))
	}
	for n := range most {
		for i, v := range values {
			f.sets[i] = nil
			if n < len(v) {
				f.sets[i] = v[n]
			}
		}
		f.run.step()
		if !emit(q.row(f)) {
			return false
		}
	}
	return true
}

func (q *selected) row(f *frame) []any {
	row := make([]any, len(q.items))
	for i, it := range q.items {
		row[i] = it.eval(f)
	}
	return row
}

// groups returns a frame of each group that HAVING keeps, with the first of its rows.
func (q *selected) groups(f *frame) []*frame {
	type group struct {
		frame *frame
		calls []*aggregateState
	}
	var groups []*group
	byKey := make(map[any]*group)
	add := func(rows *frame) *group {
		g := &group{frame: rows}
		for _, a := range q.scope.level.aggregates {
			g.calls = append(g.calls, &aggregateState{call: a})
		}
		groups = append(groups, g)
		return g
	}
	q.from(f, func() bool {
		key := make([]any, len(q.keys))
		for i, k := range q.keys {
			key[i] = k.eval(f)
		}
		k := f.run.key(key)
		g := byKey[k]
		if g == nil {
			g = add(f.copied())
			byKey[k] = g
		}
		for _, c := range g.calls {
			c.add(f)
		}
		return true
	})
	if len(groups) == 0 && len(q.keys) == 0 {
		f.clear(1<<len(f.rows) - 1)
		add(f.copied())
	}
	var out []*frame
	for _, g := range groups {
		for _, c := range g.calls {
			g.frame.aggregates = append(g.frame.aggregates, c.result(f.run))
		}
		if q.having == nil || q.having(g.frame) == true {
			out = append(out, g.frame)
		}
	}
	return out
}

// compute sets the call's value in each frame.
func (w *windowCall) compute(states []*frame) {
	type line struct {
		frame *frame
		keys  []any
	}
	parts := make(map[any][]line)
	var names []any
	for _, f := range states {
		eval := func(list []expr) []any {
			out := make([]any, len(list))
			for i, e := range list {
				out[i] = e.eval(f)
			}
			return out
		}
		k := f.run.key(eval(w.partition))
		if _, ok := parts[k]; !ok {
			names = append(names, k)
		}
		keys := eval(w.order)
		f.run.kept(keys)
		parts[k] = append(parts[k], line{f, keys})
	}
	for _, name := range names {
		lines := parts[name]
		slices.SortStableFunc(lines, func(a, b line) int { a.frame.run.step(); return compareKeys(a.keys, b.keys, w.keys) })
		state := &aggregateState{call: w.aggregate}
		ranked, dense := 0, 0
		for i := 0; i < len(lines); {
			peers := i
			for peers < len(lines) && compareKeys(lines[i].keys, lines[peers].keys, w.keys) == 0 {
				if w.aggregate != nil {
					state.add(lines[peers].frame)
				}
				peers++
			}
			ranked, dense = i+1, dense+1
			var value any
			if w.aggregate != nil {
				value = state.result(lines[i].frame.run)
			}
			for ; i < peers; i++ {
				v := value
				switch w.name {
				case "row_number":
					v = int64(i + 1)
				case "rank":
					v = int64(ranked)
				case "dense_rank":
					v = int64(dense)
				}
				lines[i].frame.setWindow(w.index, v)
			}
		}
	}
}

func (f *frame) setWindow(i int, v any) {
	for len(f.windows) <= i {
		f.windows = append(f.windows, nil)
	}
	f.windows[i] = v
}

// aggregateState is an aggregate of a group, with the rows of its arguments.
type aggregateState struct {
	call *aggregate
	rows [][]any // arguments, then the keys of its ORDER BY
}

func (s *aggregateState) add(f *frame) {
	a := s.call
	if a.filter != nil && a.filter(f) != true {
		return
	}
	row := make([]any, 0, len(a.args)+len(a.order))
	for _, e := range a.args {
		row = append(row, e.eval(f))
	}
	for _, e := range a.order {
		row = append(row, e.eval(f))
	}
	f.run.kept(row)
	s.rows = append(s.rows, row)
}

func (s *aggregateState) result(r *run) any {
	rows := s.rows
	r.work(len(rows) * r.price)
	if s.call.distinct {
		seen := make(map[any]bool)
		var once [][]any
		for _, row := range rows {
			if k := r.key(row); !seen[k] {
				seen[k] = true
				once = append(once, row)
			}
		}
		rows = once
		slices.SortStableFunc(rows, func(a, b []any) int { r.step(); return compareAll(a, b) })
	}
	if s.call.keys != nil {
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(a, b []any) int {
			r.step()
			return compareKeys(a, b, s.call.keys)
		})
	}
	return s.call.compute(r, rows)
}
