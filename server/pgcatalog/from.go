package pgcatalog

import (
	"cmp"
	"slices"
	"strings"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// from binds an item of FROM, and returns it in SQL.
func (b *binder) from(s *scope, item syntax.Source) string {
	j, ok := unwrapped(item).(*syntax.Join)
	if !ok {
		return b.single(s, unwrapped(item))
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
	if on := b.joinConditions(s, j, before); on != "" {
		right += " ON " + on
	}
	return b.grown(left + kind + right)
}

func unwrapped(item syntax.Source) syntax.Source {
	for p, ok := item.(*syntax.ParenSource); ok; p, ok = item.(*syntax.ParenSource) {
		item = p.List[0]
	}
	return item
}

func (b *binder) joinConditions(s *scope, j *syntax.Join, before int) string {
	if j.On != nil {
		return b.condition(s, j.On, "JOIN/ON")
	}
	left := func(name string) (expr, bool) {
		return b.columnIn(&scope{sources: s.sources[:before]}, "", name, columnRef{[]string{name}, j.Operator})
	}
	names := foldedAll(j.Using)
	for _, src := range s.sources[before:] {
		for _, col := range src.columns {
			if !j.Natural {
				continue
			}
			if _, common := left(col.name); common {
				names = append(names, col.name)
			}
		}
	}
	if len(names) > 0 && j.Kind != "" && j.Kind != "LEFT" {
		unsupported(j.Operator, "%s JOIN with USING", strings.ToLower(j.Kind))
	}
	var on []string
	for _, name := range names {
		l, ok := left(name)
		if !ok {
			fail(sqlerr.New(sqlerr.Unknown, "column %q specified in USING clause does not exist in left table", name).
				Of(sqlerr.Column).At(j.Operator))
		}
		for _, src := range s.sources[before:] {
			for k, col := range src.columns {
				if col.name == name {
					on = append(on, b.operated(l, "=", src.column(k), j.Operator).sql)
					src.merged[name] = true
				}
			}
		}
	}
	return strings.Join(on, " AND ")
}

// single binds an item of FROM that is no join.
func (b *binder) single(s *scope, item syntax.Source) string {
	if len(s.sources) == maxSources {
		unsupported(0, "a FROM of more than %d items", maxSources)
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

// source makes an item's columns visible. Each is what of returns for it, by the item's name in SQL.
func (b *binder) source(
	s *scope, a syntax.Alias, name string, at int, columns []outColumn, of func(name string, i int) string,
) *fromItem {
	src := &fromItem{alias: cmp.Or(folded(a.Name), name), name: b.fresh("s"), columns: slices.Clone(columns),
		merged: make(map[string]bool)}
	if n := len(a.Columns); n > len(columns) {
		fail(sqlerr.New(sqlerr.Invalid, "table %q has %d columns available but %d columns specified",
			src.alias, len(columns), n).At(at))
	}
	for i := range columns {
		src.sql = append(src.sql, of(src.name, i))
		if i < len(a.Columns) {
			src.columns[i].name = folded(a.Columns[i])
		}
	}
	for _, other := range s.sources {
		if other.alias == src.alias && src.alias != "" {
			fail(sqlerr.New(sqlerr.Invalid, "table name %q specified more than once", src.alias).At(at))
		}
	}
	s.sources = append(s.sources, src)
	return src
}

// byNumber is a column c0, c1, … of a source.
func byNumber(name string, i int) string { return name + ".c" + itoa(i) }

// fromList is a column of a source whose rows are lists.
func fromList(name string, i int) string {
	return "json_extract(" + name + ".value, '$[" + itoa(i) + "]')"
}

func (b *binder) table(s *scope, n *syntax.Table) string {
	schema, name := schemaAndName(n.Path)
	if t := s.tables.find(name); t != nil && schema == "" {
		return t.sql + " AS " + b.source(s, n.Alias, name, n.Pos(), t.columns, byNumber).name
	}
	r := b.catalog.lookup(schema, name)
	switch {
	case r == nil:
		name := strings.Join(foldedAll(n.Path), ".")
		fail(sqlerr.New(sqlerr.Unknown, "relation %q does not exist", name).At(n.Pos()))
	case r.schema == "public":
		fail(sqlerr.New(sqlerr.Unsupported, "a statement that reads both the catalog and the table %s is outside "+
			"the dialect", r.name).WithHint("ask about them in two statements").At(n.Pos()))
	}
	columns := make([]outColumn, len(r.columns))
	for i, col := range r.columns {
		columns[i] = outColumn{name: col.name, typ: col.typ}
	}
	named := func(name string, i int) string { return name + `."` + r.columns[i].name + `"` }
	src := b.source(s, n.Alias, name, n.Pos(), columns, named)
	src.relation = r
	b.reads = append(b.reads, r)
	if r.name == "pg_settings" {
		b.sessionSettings(src)
	}
	return r.tableName() + " AS " + src.name
}

// sessionSettings makes the settings of pg_settings those of the session.
func (b *binder) sessionSettings(src *fromItem) {
	text := func(column string) expr { return expr{typ: textOID, sql: src.name + "." + column} }
	now := b.invoked(textOID, false, func(r *run, a []any) any {
		v, _ := r.setting(a[0].(string))
		return v
	}, text("name")).sql
	for i, col := range src.relation.columns {
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

// derived is a query in FROM. One that reads items before it is a function's argument, which SQLite lets do that:
// its rows are one list.
func (b *binder) derived(s *scope, d *syntax.Derived) string {
	if !d.Lateral {
		p := b.query(s.up, s.tables, d.Query)
		return b.grown("(" + p.sql + ") AS " + b.source(s, d.Alias, "", d.Pos(), p.columns, byNumber).name)
	}
	saved := s.level
	s.level = &level{clause: "a LATERAL query"}
	p := b.query(s, s.tables, d.Query)
	s.level = saved
	src := b.source(s, d.Alias, "", d.Pos(), p.columns, fromList)
	rows := "SELECT json_group_array(json_array(" + columnList(len(p.columns)) + ")) FROM (" + p.sql + ")"
	return b.grown("json_each((" + rows + ")) AS " + src.name)
}

// called binds a function in FROM. It may read the items before it.
func (b *binder) called(s *scope, c *syntax.Function) string {
	f, _ := callOf(c.Call)
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
	rows := b.invoked(recordOID, true, func(r *run, a []any) any {
		return &array{elements: set.elements(r, a), lower: 1}
	}, set.args...)
	columns, width := set.out.fields, len(set.out.fields)
	if columns == nil {
		columns = []outColumn{{name: cmp.Or(folded(c.Alias.Name), f.name), typ: set.out.typ}}
	}
	if c.Ordinality {
		columns = append(slices.Clone(columns), outColumn{name: "ordinality", typ: int8OID})
	}
	src := b.source(s, c.Alias, f.name, f.position, columns, func(name string, i int) string {
		switch {
		case i < width:
			return fromList(name, i)
		case c.Ordinality && i == len(columns)-1:
			return "(" + name + ".key + 1)"
		}
		return name + ".value"
	})
	return "json_each(" + rows.sql + ") AS " + src.name
}
