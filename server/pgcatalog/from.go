package pgcatalog

import (
	"strings"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// A stepper calls emit for each combination of rows that an item of FROM has, with the rows in
// the frame. It ends, with false, when emit returns false.
type stepper func(f *frame, emit func() bool) bool

// joinItem is an item of a list of inner joins.
type joinItem struct {
	scan     *scan      // a table, query or function; nil for an outer join
	outer    *outerJoin // an outer join
	provides uint64     // the sources that it sets
	needs    uint64     // the sources that it reads
}

// outerJoin is a join that keeps rows of the left side, or of both.
type outerJoin struct {
	left, right []joinItem
	on          []conjunct
	full        bool
}

// list flattens an item of FROM into the items and conditions of inner joins.
func (b *binder) list(s *scope, item syntax.Source) (items []joinItem, on []conjunct) {
	for p, ok := item.(*syntax.ParenSource); ok; p, ok = item.(*syntax.ParenSource) {
		item = p.List[0]
	}
	j, ok := item.(*syntax.Join)
	if !ok {
		return []joinItem{b.single(s, item)}, nil
	}
	left, leftOn := b.list(s, j.X)
	before := len(s.sources)
	right, rightOn := b.list(s, j.Y)
	on = b.joinConditions(s, j, before)
	if j.Kind == "" || j.Kind == "CROSS" {
		return append(left, right...), append(append(leftOn, rightOn...), on...)
	}
	if j.Kind == "RIGHT" {
		left, right, leftOn, rightOn = right, left, rightOn, leftOn
	}
	o := &outerJoin{left: left, right: right, full: j.Kind == "FULL"}
	it := joinItem{outer: o}
	for _, one := range append(left[:len(left):len(left)], right...) {
		it.provides |= one.provides
		it.needs |= one.needs
	}
	// The conditions inside the right side decide which of its rows exist, as ON does: each
	// row on the left that none of them matches stays.
	o.on = append(on, rightOn...)
	for _, c := range append(leftOn[:len(leftOn):len(leftOn)], o.on...) {
		it.needs |= c.uses
	}
	it.needs &^= it.provides
	if len(leftOn) > 0 {
		o.left = []joinItem{{outer: &outerJoin{left: left, on: leftOn}, provides: usedBy(left)}}
		o.left[0].outer.right = nil
	}
	if o.full && len(rightOn) > 0 {
		unsupported(j.Operator, "a FULL JOIN with joins on its right side")
	}
	return []joinItem{it}, nil
}

func usedBy(items []joinItem) (bits uint64) {
	for _, i := range items {
		bits |= i.provides
	}
	return bits
}

func (b *binder) joinConditions(s *scope, j *syntax.Join, before int) (on []conjunct) {
	names := foldedAll(j.Using)
	if j.Natural {
		for _, src := range s.sources[before:] {
			for _, col := range src.columns {
				if _, ok := b.columnIn(&scope{sources: s.sources[:before]}, "", col.name, 0, columnRef{[]string{col.name}, j.Operator}); ok {
					names = append(names, col.name)
				}
			}
		}
	}
	if len(names) > 0 && j.Kind != "" && j.Kind != "LEFT" {
		unsupported(j.Operator, "%s JOIN with USING", strings.ToLower(j.Kind))
	}
	for _, name := range names {
		n := columnRef{[]string{name}, j.Operator}
		l, ok := b.columnIn(&scope{sources: s.sources[:before]}, "", name, 0, n)
		if !ok {
			fail(sqlerr.New(sqlerr.Unknown, "column %q specified in USING clause does not exist in left table", name).Of(sqlerr.Column).At(j.Operator))
		}
		for i := before; i < len(s.sources); i++ {
			for k, col := range s.sources[i].columns {
				if col.name != name {
					continue
				}
				r := columnExpr(col, i, k, 0)
				on = append(on, b.equality(l, r, 1<<l.source, 1<<i, j.Operator))
				if s.sources[i].merged == nil {
					s.sources[i].merged = make(map[string]bool)
				}
				s.sources[i].merged[name] = true
			}
		}
	}
	if j.On != nil {
		on = b.conjuncts(s, j.On, "JOIN/ON")
	}
	return on
}

// conjuncts binds a condition.
func (b *binder) conjuncts(s *scope, e syntax.Expr, what string) (out []conjunct) {
	e = syntax.Inside(e)
	o, ok := e.(*syntax.Binary)
	switch {
	case ok && o.Op == "AND":
		for _, operand := range conjoined(o) {
			out = append(out, b.conjuncts(s, operand, what)...)
		}
		return out
	case ok && o.Op == "=" && o.Quantifier == "":
		var l, r expr
		left := s.track(func() { l = b.expr(s, o.X) })
		right := s.track(func() { r = b.expr(s, o.Y) })
		return append(out, b.equality(l, r, left, right, o.Operator))
	}
	var c conjunct
	c.uses = s.track(func() { c.eval = b.condition(s, e, what) })
	c.sides[0].source, c.sides[1].source = -1, -1
	return append(out, c)
}

func (b *binder) equality(l, r expr, left, right uint64, at int) conjunct {
	l, r = b.matched(l, r, "=", at)
	c := conjunct{eval: comparison(l, "=", r).eval, uses: left | right}
	c.sides[0] = joinSide(l, right, r)
	c.sides[1] = joinSide(r, left, l)
	return c
}

func joinSide(e expr, uses uint64, other expr) equalSide {
	if e.isColumn && uses&(1<<e.source) == 0 {
		return equalSide{e.source, e.column, uses, other.eval}
	}
	return equalSide{source: -1}
}

// single binds an item of FROM that is no join.
func (b *binder) single(s *scope, item syntax.Source) joinItem {
	if len(s.sources) == maxSources {
		fail(sqlerr.New(sqlerr.Unsupported, "a FROM of more than %d items is outside the catalog's dialect", maxSources))
	}
	sc := &scan{source: len(s.sources)}
	it := joinItem{scan: sc, provides: 1 << sc.source}
	switch item := item.(type) {
	case *syntax.Table:
		b.table(s, item, sc)
	case *syntax.Derived:
		it.needs = b.derived(s, item, sc)
	case *syntax.Function:
		it.needs = b.called(s, item, sc)
	}
	return it
}

// addSource makes an item's columns visible.
func (s *scope) addSource(src *fromItem, names []string, at int) {
	if len(names) > len(src.columns) {
		fail(sqlerr.New(sqlerr.Invalid, "table %q has %d columns available but %d columns specified", src.alias, len(src.columns), len(names)).At(at))
	}
	if len(names) > 0 {
		renamed := append([]outColumn{}, src.columns...)
		for i, name := range names {
			renamed[i].name = name
		}
		src.columns = renamed
	}
	for _, other := range s.sources {
		if other.alias == src.alias && src.alias != "" {
			fail(sqlerr.New(sqlerr.Invalid, "table name %q specified more than once", src.alias).At(at))
		}
	}
	s.sources = append(s.sources, src)
}

func (b *binder) table(s *scope, n *syntax.Table, sc *scan) {
	schema, name := schemaAndName(n.Path)
	named := aliasOf(n.Alias)
	src := &fromItem{alias: named.name}
	if src.alias == "" {
		src.alias = name
	}
	if schema == "" {
		if t := s.tables.find(name); t != nil {
			b.commonTable(s, t, src, sc)
			s.addSource(src, named.columns, n.Pos())
			return
		}
	}
	r := b.catalog.lookup(schema, name)
	switch {
	case r == nil:
		fail(sqlerr.New(sqlerr.Unknown, "relation %q does not exist", strings.Join(foldedAll(n.Path), ".")).At(n.Pos()))
	case r.schema == "public":
		fail(sqlerr.New(sqlerr.Unsupported, "a statement that reads both the catalog and the table %s is outside the dialect", r.name).
			WithHint("ask about them in two statements").At(n.Pos()))
	}
	src.relation = r
	for _, col := range r.columns {
		src.columns = append(src.columns, outColumn{name: col.name, typ: col.typ})
	}
	s.addSource(src, named.columns, n.Pos())
	sc.fixed = true
	if r.name == "pg_settings" {
		sc.size = len(settings)
		sc.rows = func(f *frame) [][]any { return f.run.settingRows() }
		return
	}
	sc.size = len(r.rows) + perTable(r.name)*len(b.catalog.sorted)
	sc.rows = func(f *frame) [][]any { return f.run.relation(r) }
}

// commonTable makes a source of a query of WITH.
func (b *binder) commonTable(s *scope, t *withQueries, src *fromItem, sc *scan) {
	depth := 0
	for at := s; at != t.scope; at = at.up {
		if at == nil {
			fail(sqlerr.New(sqlerr.Internal, "a query of WITH is out of reach"))
		}
		depth++
	}
	for at := s; at != t.scope && t.plan != nil && t.plan.correlated; at = at.up {
		at.escaped = true
	}
	sc.size = 50
	if t.loop != nil && t.plan == nil { // the query itself, while it is bound
		src.columns = t.loop.columns
		l := t.loop
		sc.rows = func(f *frame) [][]any { return f.run.working[l] }
		for at := s; at != nil; at = at.up {
			at.escaped = true
		}
		return
	}
	src.columns = t.plan.columns
	sc.fixed = !t.plan.correlated
	sc.rows = func(f *frame) [][]any { return t.plan.collect(f.above(depth)) }
}

func (t *withQueries) find(name string) *withQueries {
	for ; t != nil; t = t.up {
		if t.name == name {
			return t
		}
	}
	return nil
}

func (b *binder) derived(s *scope, d *syntax.Derived, sc *scan) (needs uint64) {
	inner, depth := s, 0
	if !d.Lateral {
		inner, depth = s.up, 1
	}
	var p *plan
	if d.Lateral {
		needs = s.track(func() { p = b.query(inner, s.tables, d.Query) })
	} else {
		p = b.query(inner, s.tables, d.Query)
		if p.correlated {
			s.escaped = true
		}
	}
	named := aliasOf(d.Alias)
	s.addSource(&fromItem{alias: named.name, columns: p.columns}, named.columns, d.Pos())
	sc.size, sc.fixed = 50, !p.correlated
	sc.rows = func(f *frame) [][]any { return p.collect(f.above(depth)) }
	return needs
}

// called binds a function in FROM. It may read the items before it.
func (b *binder) called(s *scope, c *syntax.Function, sc *scan) (needs uint64) {
	f, _ := callOf(c.Call)
	named := aliasOf(c.Alias)
	name := named.name
	if name == "" {
		name = f.name
	}
	src := &fromItem{alias: name}
	var set *setCall
	var value expr
	saved := s.level
	s.level = &level{clause: "functions in FROM", noSets: "functions in FROM"}
	needs = s.track(func() {
		if set = b.set(s, f); set == nil {
			value = b.settled(b.call(s, f))
		}
	})
	s.level = saved
	out := expr{typ: value.typ, fields: value.fields}
	if set != nil {
		out = set.out
	}
	switch {
	case out.fields != nil:
		src.columns = append(src.columns, out.fields...)
	case len(named.columns) == 0:
		src.columns = []outColumn{{name: name, typ: out.typ}}
	default:
		src.columns = []outColumn{{name: named.columns[0], typ: out.typ}}
	}
	if c.Ordinality {
		src.columns = append(src.columns, outColumn{name: "ordinality", typ: int8OID})
	}
	s.addSource(src, named.columns, f.position)
	sc.size = 20
	sc.rows = func(f *frame) [][]any {
		values := []any{nil}
		if set != nil {
			values = set.values(f)
		} else {
			values[0] = value.eval(f)
		}
		rows := make([][]any, len(values))
		for i, v := range values {
			row := []any{v}
			if out.fields != nil {
				if row = make([]any, len(out.fields)); v != nil {
					copy(row, v.(record))
				}
			}
			if c.Ordinality {
				row = append(row, int64(i+1))
			}
			f.run.kept(row)
			rows[i] = row
		}
		return rows
	}
	return needs
}

// joinOf plans inner joins: the conditions are checked as soon as the rows that they read are
// there, and where one is an equality, the rows are looked up. known are the sources that are
// set already.
func joinOf(items []joinItem, on []conjunct, known uint64) stepper {
	var steps []stepper
	left := append([]joinItem{}, items...)
	used := make([]bool, len(on))
	for len(left) > 0 {
		best, cost := -1, 0
		for i, it := range left {
			if it.needs&^known != 0 {
				continue
			}
			if c := it.cost(on, known); best < 0 || c < cost {
				best, cost = i, c
			}
		}
		if best < 0 { // it reads an item behind it, which the binder does not allow
			fail(sqlerr.New(sqlerr.Internal, "the items of FROM depend on each other"))
		}
		it := left[best]
		left = append(left[:best], left[best+1:]...)
		before := known
		known |= it.provides
		var now []conjunct
		for i, c := range on {
			if !used[i] && c.uses&^known == 0 {
				used[i] = true
				now = append(now, c)
			}
		}
		steps = append(steps, it.stepper(now, before))
	}
	if len(steps) == 0 {
		steps = []stepper{func(_ *frame, emit func() bool) bool { return emit() }}
	}
	var late []conjunct // of no item: all are set where the join is done
	for i, c := range on {
		if !used[i] {
			late = append(late, c)
		}
	}
	return filtered(chainSteps(steps), late)
}

func chainSteps(steps []stepper) stepper {
	if len(steps) == 1 {
		return steps[0]
	}
	rest := chainSteps(steps[1:])
	return func(f *frame, emit func() bool) bool {
		return steps[0](f, func() bool { return rest(f, emit) })
	}
}

func filtered(s stepper, on []conjunct) stepper {
	if len(on) == 0 {
		return s
	}
	return func(f *frame, emit func() bool) bool {
		return s(f, func() bool {
			for _, c := range on {
				if c.eval(f) != true {
					return true
				}
			}
			return emit()
		})
	}
}

// cost guesses how many rows an item has for each combination of those before it.
func (it joinItem) cost(on []conjunct, known uint64) int {
	if it.outer != nil {
		c := 0
		for _, l := range it.outer.left {
			c += l.cost(on, known)
		}
		return c
	}
	if it.scan.lookup(on, known) != nil {
		return it.scan.size / 16
	}
	return it.scan.size
}

// lookup returns the side of an equality by which rows can be looked up, or nil.
func (sc *scan) lookup(on []conjunct, known uint64) *equalSide {
	for _, c := range on {
		for i, side := range c.sides {
			if side.source == sc.source && side.uses&^known == 0 {
				return &c.sides[i]
			}
		}
	}
	return nil
}

// stepper returns the item's rows that meet the conditions.
func (it joinItem) stepper(on []conjunct, known uint64) stepper {
	if it.outer != nil {
		return it.outer.stepper(on, known)
	}
	sc := it.scan
	by := sc.lookup(on, known)
	return filtered(func(f *frame, emit func() bool) bool {
		for _, row := range sc.candidates(f, by) {
			f.run.step()
			if f.rows[sc.source] = row; !emit() {
				return false
			}
		}
		return true
	}, on)
}

// stepper returns the rows of an outer join that meet the conditions. Those that only the
// left side decides are checked there.
func (o *outerJoin) stepper(on []conjunct, known uint64) stepper {
	var before, after []conjunct
	provided := usedBy(o.left)
	for _, c := range on {
		if c.uses&^(known|provided) == 0 && !o.full {
			before = append(before, c)
		} else {
			after = append(after, c)
		}
	}
	if o.right == nil { // inner joins in parentheses
		return filtered(joinOf(o.left, append(before, o.on...), known), after)
	}
	left := joinOf(o.left, before, known)
	if o.full {
		return filtered(o.both(left, known), after)
	}
	right := joinOf(o.right, o.on, known|provided)
	nulls := usedBy(o.right)
	return filtered(func(f *frame, emit func() bool) bool {
		return left(f, func() bool {
			matched := false
			if !right(f, func() bool { matched = true; return emit() }) {
				return false
			}
			if !matched {
				f.clear(nulls)
				return emit()
			}
			return true
		})
	}, after)
}

// both is a FULL JOIN: it compares each row of the left side with each of the right.
func (o *outerJoin) both(left stepper, known uint64) stepper {
	right := joinOf(o.right, nil, known)
	lefts, rights := usedBy(o.left), usedBy(o.right)
	return func(f *frame, emit func() bool) bool {
		var rows [][][]any
		right(f, func() bool {
			f.run.kept(nil)
			rows = append(rows, append([][]any{}, f.rows...))
			return true
		})
		matched := make([]bool, len(rows))
		place := func(row [][]any) {
			for i := range row {
				if rights&(1<<i) != 0 {
					f.rows[i] = row[i]
				}
			}
		}
		on := filtered(func(_ *frame, emit func() bool) bool { return emit() }, o.on)
		more := left(f, func() bool {
			found := false
			for i, row := range rows {
				f.run.step()
				place(row)
				if !on(f, func() bool { found, matched[i] = true, true; return emit() }) {
					return false
				}
			}
			if !found {
				f.clear(rights)
				return emit()
			}
			return true
		})
		f.clear(lefts)
		for i, row := range rows {
			if more && !matched[i] {
				place(row)
				more = emit()
			}
		}
		return more
	}
}
