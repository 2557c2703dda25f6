package pgcatalog

import (
	"strings"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// binder gives the nodes of a statement types, and makes them a program.
type binder struct {
	catalog    *Catalog
	parameters []uint32 // the types, from $1; 0 where nothing told one yet
	nodes      int      // that were bound
	calls      []*goCall
	reads      []*relation
	names      int // of sources and queries of WITH that were given
	written    int // bytes of SQL, those that were put into others counted again
}

// fromItem is an item of FROM, as names see it.
type fromItem struct {
	alias    string
	columns  []outColumn
	sql      []string        // of each column
	name     string          // in SQL
	relation *relation       // nil but for tables
	merged   map[string]bool // columns that USING merged with those of an item before
}

// scope is what the names of one SELECT can mean. While a statement runs, each scope has a
// frame.
type scope struct {
	up      *scope
	tables  *withQueries
	sources []*fromItem
	leaf    bool // of a UNION or the like: its untyped literals take types there
	level   *level
}

// level is what the expressions of one SELECT have, beside columns.
type level struct {
	aggregates int
	windows    int
	sets       []*setCall
	zipped     string                    // the name in SQL of the sets' rows
	named      map[string]*syntax.Window // those of the clause WINDOW
	clause     string                    // where the expression stands, if aggregates cannot be there; "" if they can
	noSets     string                    // the same for functions that return sets
}

// computed is the number of what is computed after grouping.
func (l *level) computed() int { return l.aggregates + l.windows + len(l.sets) }

// withQueries are the queries of WITH that a name can mean.
type withQueries struct {
	up      *withQueries
	name    string
	columns []outColumn
	sql     string // its name in SQL
}

// maxSources is the number of items that FROM may have: the bits of scope.used.
const maxSources = 40

// column returns the expression of a column by its name.
func (b *binder) column(s *scope, c columnRef) expr {
	name := c.parts[len(c.parts)-1]
	table := ""
	if len(c.parts) > 1 {
		table = c.parts[len(c.parts)-2]
	}
	for at := s; at != nil; at = at.up {
		if e, ok := b.columnIn(at, table, name, c); ok {
			return e
		}
	}
	if table != "" && s.source(table) == nil {
		fail(sqlerr.New(sqlerr.Unknown, "missing FROM-clause entry for table %q", table).At(c.position))
	}
	fail(sqlerr.New(sqlerr.Unknown, "column %q does not exist", joinNames(c.parts)).Of(sqlerr.Column).At(c.position))
	return expr{}
}

func joinNames(parts []string) string {
	s := parts[0]
	for _, p := range parts[1:] {
		s += "." + p
	}
	return s
}

// source returns the source of a name that the scope or one above has.
func (s *scope) source(name string) *fromItem {
	for ; s != nil; s = s.up {
		for _, src := range s.sources {
			if src.alias == name {
				return src
			}
		}
	}
	return nil
}

func (b *binder) columnIn(s *scope, table, name string, c columnRef) (found expr, ok bool) {
	for _, src := range s.sources {
		if table != "" && src.alias != table {
			continue
		}
		for j, col := range src.columns {
			if col.name != name || table == "" && src.merged[name] {
				continue
			}
			if ok {
				fail(sqlerr.New(sqlerr.Unknown, "column reference %q is ambiguous", name).Of(sqlerr.Column).At(c.position))
			}
			found, ok = src.column(j), true
		}
		if !ok && src.relation != nil && (table != "" || len(s.sources) == 1) {
			found, ok = src.system(name)
		}
	}
	if ok || table != "" {
		return found, ok
	}
	for _, src := range s.sources { // the name of a table is its row
		if src.alias == name {
			return expr{typ: recordOID, fields: src.columns, sql: src.present(jsonList(src.sql))}, true
		}
	}
	return found, false
}

// system returns a column that each table of PostgreSQL has. A row has no place, and no transaction made it: but for the
// table, these are constants.
func (src *fromItem) system(name string) (found expr, ok bool) {
	for _, col := range hidden {
		if col.name != name {
			continue
		}
		value := "0"
		switch name {
		case "ctid":
			value = "'(0,1)'"
		case "xmin":
			value = "1"
		case "tableoid":
			value = itoa(int(src.relation.oid))
		}
		return expr{typ: col.typ, sql: src.present(value)}, true
	}
	return expr{}, false
}

// present is a value that is NULL where an outer join found no row.
func (src *fromItem) present(sql string) string {
	if src.relation == nil {
		return sql
	}
	return "CASE WHEN " + src.name + ".rowid IS NOT NULL THEN " + sql + " END"
}

func (src *fromItem) column(j int) expr {
	return expr{typ: src.columns[j].typ, fields: src.columns[j].fields, sql: src.sql[j]}
}

// jsonList returns the list of some values.
func jsonList(values []string) string { return "json_array(" + strings.Join(values, ", ") + ")" }

// star returns the columns that * or a.* means.
func (b *binder) star(s *scope, n *syntax.Star) (out []resultItem) {
	table := ""
	if n.Of != nil {
		table = folded(n.Of[0])
	}
	for _, src := range s.sources {
		if table != "" && src.alias != table {
			continue
		}
		for j, col := range src.columns {
			if table == "" && src.merged[col.name] {
				continue
			}
			out = append(out, resultItem{expr: src.column(j), name: col.name})
		}
		if table != "" {
			return out
		}
	}
	switch {
	case table != "":
		fail(sqlerr.New(sqlerr.Unknown, "missing FROM-clause entry for table %q", table).At(n.Pos()))
	case len(s.sources) == 0:
		fail(sqlerr.New(sqlerr.Malformed, "SELECT * with no tables specified is not valid").At(n.Pos()))
	}
	return out
}

// resultItem is an expression of a select list with its name.
type resultItem struct {
	expr
	name string
	late bool // it has an aggregate, a window function or a set: it is computed after grouping
}

// fresh returns a name for SQL.
func (b *binder) fresh(kind string) string {
	b.names++
	return kind + itoa(b.names)
}

// ordered writes a key of ORDER BY. NULLs come last, and first in descending order, unless it says otherwise.
func ordered(t syntax.OrderTerm, of string) string {
	if t.Desc {
		of += " DESC"
	}
	if t.Nulls == "FIRST" || t.Nulls == "" && t.Desc {
		return of + " NULLS FIRST"
	}
	return of + " NULLS LAST"
}
