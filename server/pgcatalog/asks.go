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
	with := make(map[string]bool) // the names that WITH makes
	syntax.Walk(q, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CommonTable); ok {
			with[folded(c.Name)] = true
		}
		return true
	})
	reads, tables, calls := false, false, false
	syntax.Walk(q, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Table:
			schema, name := schemaAndName(n.Path)
			made := schema == "" && with[name]
			reads = reads || isSystem(schema) || schema == "" && !made && inSystem(name)
			tables = tables || !made
		case *syntax.Cast: // CAST is the engine's as well
			calls = calls || n.Name == "" || len(n.Type.Path) > 1
		case syntax.Expr:
			c, ok := callOf(n)
			calls = calls || ok && (isSystem(c.schema) || ours(c.name))
		}
		return true
	})
	return reads || calls && !tables
}

func isSystem(schema string) bool { return schema == "pg_catalog" || schema == "information_schema" }

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
	if len(list) == 0 || !slices.ContainsFunc([]string{"SELECT", "WITH", "TABLE", "("}, list[0].Matches) {
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
		case isSystem(name) && list[i+1].Matches("."):
			return true
		case i > 0 && (list[i-1].Matches("FROM") || list[i-1].Matches("JOIN")) && inSystem(name):
			return true
		}
	}
	return false
}
