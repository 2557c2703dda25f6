package pgcatalog

import (
	"strings"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// from binds an item of FROM, and returns it in SQL.
func (b *binder) from(s *scope, item syntax.Source) string {
	for p, ok := item.(*syntax.ParenSource); ok; p, ok = item.(*syntax.ParenSource) {
		item = p.List[0]
	}
	j, ok := item.(*syntax.Join)
	if !ok {
		return b.single(s, item)
	}
	left := b.from(s, j.X)
	before := len(s.sources)
	right := b.from(s, j.Y)
	if _, nested := unwrapped(j.Y).(*syntax.Join); nested {
		right = "(" + right + ")"
	}
	kind := " " + j.Kind + " JOIN "
	if j.Kind == "" || j.Kind == "CROSS" {
		kind = " JOIN "
	}
	on := b.joinConditions(s, j, before)
	if on != "" {
		on = " ON " + on
	}
	return b.grown(left + kind + right + on)
}

func unwrapped(item syntax.Source) syntax.Source {
	for p, ok := item.(*syntax.ParenSource); ok; p, ok = item.(*syntax.ParenSource) {
		item = p.List[0]
	}
	return item
}

func (b *binder) joinConditions(s *scope, j *syntax.Join, before int) string {
	names := foldedAll(j.Using)
	if j.Natural {
		for _, src := range s.sources[before:] {
			for _, col := range src.columns {
				if _, ok := b.columnIn(&scope{sources: s.sources[:before]}, "", col.name, columnRef{[]string{col.name}, j.Operator}); ok {
					names = append(names, col.name)
				}
			}
		}
	}
	if len(names) > 0 && j.Kind != "" && j.Kind != "LEFT" {
		unsupported(j.Operator, "%s JOIN with USING", strings.ToLower(j.Kind))
	}
	if j.On != nil {
		return b.condition(s, j.On, "JOIN/ON")
	}
	var on []string
	for _, name := range names {
		l, ok := b.columnIn(&scope{sources: s.sources[:before]}, "", name, columnRef{[]string{name}, j.Operator})
		if !ok {
			fail(sqlerr.New(sqlerr.Unknown, "column %q specified in USING clause does not exist in left table", name).Of(sqlerr.Column).At(j.Operator))
		}
		for _, src := range s.sources[before:] {
			for k, col := range src.columns {
				if col.name != name {
					continue
				}
				on = append(on, b.operated(l, "=", src.column(k), j.Operator).sql)
				if src.merged == nil {
					src.merged = make(map[string]bool)
				}
				src.merged[name] = true
			}
		}
	}
	return strings.Join(on, " AND ")
}

// single binds an item of FROM that is no join.
func (b *binder) single(s *scope, item syntax.Source) string {
	if len(s.sources) == maxSources {
		fail(sqlerr.New(sqlerr.Unsupported, "a FROM of more than %d items is outside the catalog's dialect", maxSources))
	}
	switch item := item.(type) {
	case *syntax.Table:
		return b.table(s, item)
	case *syntax.Derived:
		return b.derived(s, item)
	case *syntax.Function:
		return b.called(s, item)
	}
	fail(sqlerr.New(sqlerr.Internal, "the catalog cannot bind a %T", item))
	return ""
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

// numberedColumns are the columns c0, c1, … of a source.
func (src *fromItem) numberedColumns() {
	for i := range src.columns {
		src.sql = append(src.sql, src.name+".c"+itoa(i))
	}
}

// listedColumns are the columns of a source whose rows are lists.
func (src *fromItem) listedColumns() {
	for i := range src.columns {
		src.sql = append(src.sql, "json_extract("+src.name+".value, '$["+itoa(i)+"]')")
	}
}

func (b *binder) table(s *scope, n *syntax.Table) string {
	schema, name := schemaAndName(n.Path)
	named := aliasOf(n.Alias)
	src := &fromItem{alias: named.name, name: b.fresh("s")}
	if src.alias == "" {
		src.alias = name
	}
	if schema == "" {
		if t := s.tables.find(name); t != nil {
			src.columns = t.columns
			src.numberedColumns()
			s.addSource(src, named.columns, n.Pos())
			return t.sql + " AS " + src.name
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
	for _, col := range r.columns {
		src.columns = append(src.columns, outColumn{name: col.name, typ: col.typ})
	}
	src.relation = r
	b.reads = append(b.reads, r)
	for _, col := range r.columns {
		src.sql = append(src.sql, src.name+`."`+col.name+`"`)
	}
	if r.name == "pg_settings" {
		b.sessionSettings(src)
	}
	s.addSource(src, named.columns, n.Pos())
	return r.tableName() + " AS " + src.name
}

// sessionSettings makes the settings of pg_settings those of the session.
func (b *binder) sessionSettings(src *fromItem) {
	text := func(column string) expr { return expr{typ: textOID, sql: src.name + "." + column} }
	now := b.invoked(textOID, false, func(r *run, a []any) any {
		v, _ := r.setting(a[0].(string))
		return v
	}, text("name")).sql
	for i, col := range src.columns {
		switch col.name {
		case "setting":
			src.sql[i] = now
		case "source":
			src.sql[i] = "CASE WHEN " + now + " = " + text("boot_val").sql + " THEN 'default' ELSE 'session' END"
		}
	}
}

func (t *withQueries) find(name string) *withQueries {
	for ; t != nil; t = t.up {
		if t.name == name {
			return t
		}
	}
	return nil
}

func (b *binder) derived(s *scope, d *syntax.Derived) string {
	if d.Lateral {
		return b.lateral(s, d)
	}
	p := b.query(s.up, s.tables, d.Query)
	named := aliasOf(d.Alias)
	src := &fromItem{alias: named.name, name: b.fresh("s"), columns: p.columns}
	src.numberedColumns()
	s.addSource(src, named.columns, d.Pos())
	return b.grown("(" + p.sql + ") AS " + src.name)
}

// lateral is a query that reads items before it, which SQLite lets a function's argument do: its rows are one list.
func (b *binder) lateral(s *scope, d *syntax.Derived) string {
	saved := s.level
	s.level = &level{clause: "a LATERAL query"}
	p := b.query(s, s.tables, d.Query)
	s.level = saved
	named := aliasOf(d.Alias)
	src := &fromItem{alias: named.name, name: b.fresh("s"), columns: p.columns}
	src.listedColumns()
	s.addSource(src, named.columns, d.Pos())
	rows := make([]string, len(p.columns))
	for i := range rows {
		rows[i] = "c" + itoa(i)
	}
	return b.grown("json_each((SELECT json_group_array(" + jsonList(rows) + ") FROM (" + p.sql + "))) AS " + src.name)
}

// called binds a function in FROM. It may read the items before it.
func (b *binder) called(s *scope, c *syntax.Function) string {
	f, _ := callOf(c.Call)
	named := aliasOf(c.Alias)
	src := &fromItem{alias: named.name, name: b.fresh("s")}
	if src.alias == "" {
		src.alias = f.name
	}
	saved := s.level
	s.level = &level{clause: "functions in FROM", noSets: "functions in FROM"}
	var set *setCall
	if kindOf(f.name) == sets && f.over == nil {
		set = b.set(s, f)
	} else {
		value := b.settled(b.call(s, f))
		set = &setCall{out: value, args: []expr{value}, eval: func(_ *run, a []any) any { return a }}
	}
	s.level = saved
	rows := b.invoked(recordOID, true, func(r *run, a []any) any { return &array{elements: set.elements(r, a), lower: 1} }, set.args...)
	switch {
	case set.out.fields != nil:
		src.columns = append(src.columns, set.out.fields...)
		src.listedColumns()
	case len(named.columns) == 0:
		src.columns, src.sql = []outColumn{{name: src.alias, typ: set.out.typ}}, []string{src.name + ".value"}
	default:
		src.columns, src.sql = []outColumn{{name: named.columns[0], typ: set.out.typ}}, []string{src.name + ".value"}
	}
	if c.Ordinality {
		src.columns = append(src.columns, outColumn{name: "ordinality", typ: int8OID})
		src.sql = append(src.sql, "("+src.name+".key + 1)")
	}
	s.addSource(src, named.columns, f.position)
	return "json_each(" + rows.sql + ") AS " + src.name
}
