package pgcatalog

import (
	"slices"
	"strings"

	"dpsql/sqlfront/syntax"
)

// Asks reports whether a statement is for a Catalog: it reads relations of pg_catalog or
// information_schema, or it reads no table and calls a function, or makes a cast, that only
// PostgreSQL has. q is what Parse made of the tokens; where the statement is broken and q is nil, it
// is so if they name such a relation.
func Asks(tokens []syntax.Token, q *syntax.Query) bool {
	if q == nil {
		return mentioned(tokens)
	}
	m := mentions{with: make(map[string]bool)}
	syntax.Walk(q, m.add)
	return m.ask()
}

// mentions is what a statement names.
type mentions struct {
	tables [][2]string     // schemas and names
	with   map[string]bool // the names that WITH makes
	calls  []call
	casts  int
}

// add adds what a node names. Walk calls it.
func (m *mentions) add(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.CommonTable:
		m.with[folded(n.Name)] = true
	case *syntax.Table:
		schema, name := schemaAndName(n.Path)
		m.tables = append(m.tables, [2]string{schema, name})
	case *syntax.Cast:
		if n.Name == "" || len(n.Type.Path) > 1 { // CAST is the engine's as well
			m.casts++
		}
	case syntax.Expr:
		if c, ok := callOf(n); ok {
			m.calls = append(m.calls, c)
		}
	}
	return true
}

// ask reports whether the catalog is asked.
func (m *mentions) ask() bool {
	tables := 0
	for _, t := range m.tables {
		schema, name := t[0], t[1]
		switch {
		case schema == "pg_catalog", schema == "information_schema", schema == "" && inSystem(name) && !m.with[name]:
			return true
		case schema != "" || !m.with[name]:
			tables++
		}
	}
	if tables > 0 {
		return false
	}
	for _, c := range m.calls {
		if c.schema == "pg_catalog" || c.schema == "information_schema" || ours(c.name) {
			return true
		}
	}
	return m.casts > 0
}

// Alone reports whether a query is a SELECT or VALUES without FROM, as SELECT 1. A Catalog gives it the
// types and names that PostgreSQL does, if it has all that the query calls.
func Alone(tokens []syntax.Token, q *syntax.Query) bool {
	reads := func(t syntax.Token) bool { return t.Matches("FROM") || t.Matches("TABLE") }
	return q != nil && q.With == nil && !slices.ContainsFunc(tokens, reads)
}

// ours reports whether a function is the catalog's alone.
func ours(name string) bool {
	own := func(f *function) bool { return f.how&shared == 0 }
	return syntax.IsNiladic(syntax.UpperASCII(name)) || slices.ContainsFunc(functionTable()[name], own)
}

// inSystem reports whether a name without a schema is one of pg_catalog's relations. An ordinary name
// does not cost a process that has no question about the catalog the making of their list.
func inSystem(name string) bool {
	return strings.HasPrefix(name, "pg_") && sharedCatalog().relations["pg_catalog."+name] != nil
}

// mentioned reports whether tokens have a schema of the catalog, or behind FROM and JOIN a
// relation of it.
func mentioned(list []syntax.Token) bool {
	if len(list) == 0 || !list[0].Matches("SELECT") && !list[0].Matches("WITH") && !list[0].Matches("TABLE") && !list[0].Matches("(") {
		return false
	}
	for i, t := range list[:len(list)-1] {
		name := t.Value
		switch t.Kind {
		case syntax.KindWord:
			name = syntax.LowerASCII(name)
		case syntax.KindQuoted:
		default:
			continue
		}
		switch {
		case (name == "pg_catalog" || name == "information_schema") && list[i+1].Matches("."):
			return true
		case i > 0 && (list[i-1].Matches("FROM") || list[i-1].Matches("JOIN")) && inSystem(name):
			return true
		}
	}
	return false
}
