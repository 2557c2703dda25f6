package pgcatalog

import (
	"strings"
	"time"

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
		if !ok && name == "tableoid" && src.relation != nil && (table != "" || len(s.sources) == 1) {
			found, ok = expr{typ: oidOID, sql: src.present(itoa(int(src.relation.oid)))}, true
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

// typed gives an untyped expression the type that the context tells. Other expressions stay.
func (b *binder) typed(e expr, t uint32) expr {
	if !e.untyped {
		return e
	}
	switch {
	case e.parameter > 0:
		t = concrete(t)
		if known := b.parameters[e.parameter-1]; known == 0 {
			b.parameters[e.parameter-1] = t
		} else if known != t {
			out := b.argument(e.parameter)
			return b.converted(out, t, 0)
		}
		return b.argument(e.parameter)
	case e.isNull:
		return always(t, nil)
	}
	return always(t, b.catalog.input(e.literal, t))
}

// concrete returns the type that an untyped expression takes where any is allowed.
func concrete(t uint32) uint32 {
	switch t {
	case anyOID, anyelementOID, unknownOID, 0:
		return textOID
	case anyarrayOID:
		return arrayOfType(textOID)
	}
	return t
}

// settled gives an expression that nothing told a type the type text.
func (b *binder) settled(e expr) expr {
	if e.untyped {
		return b.typed(e, textOID)
	}
	return e
}

func (b *binder) argument(n int) expr {
	t := b.parameters[n-1]
	if t == 0 {
		return expr{typ: unknownOID, untyped: true, parameter: n}
	}
	return expr{typ: t, sql: "?" + itoa(n+1)}
}

// implicit reports whether a value of one type may stand where another is wanted.
func implicit(from, to uint32) bool {
	from, to = baseOf(from), baseOf(to)
	if from == to || to == anyOID || to == anyelementOID {
		return true
	}
	a, z := classOf(from), classOf(to)
	switch {
	case to == anyarrayOID:
		return a == arrays
	case a == textual && z == textual:
		return isText(from) && (isText(to) || to == pgNodeTree)
	case a == textual && isReg(to):
		return from == textOID || from == varcharOID
	case a == integers && z == integers:
		switch {
		case isReg(to) || to == oidOID:
			return from != xidOID && from != cidOID
		case isReg(from) || from == oidOID:
			return to == int8OID
		}
		return widthOf(from) > 0 && widthOf(from) < widthOf(to)
	case a == integers && z == floats:
		return widthOf(from) > 0
	case a == floats && z == floats:
		return widthOf(from) < widthOf(to)
	case a == arrays && z == arrays:
		return elementOf(from) == elementOf(to)
	}
	return false
}

// converted casts an expression.
func (b *binder) converted(e expr, to uint32, at int) expr {
	if e.untyped {
		return b.typed(e, to)
	}
	from := e.typ
	if from == to {
		return e
	}
	convert := b.catalog.conversion(from, to)
	if convert == nil {
		fail(sqlerr.New(sqlerr.Unsupported, "cannot cast type %s to %s", b.catalog.typeTitle(from), b.catalog.typeTitle(to)).At(at))
	}
	if same(from, to) {
		e.typ = to
		return e
	}
	return b.invoked(to, false, func(r *run, a []any) any {
		v := convert(a[0])
		switch v := v.(type) {
		case string:
			r.spend(len(v))
		case *array:
			r.spend(16 * len(v.elements))
		}
		return v
	}, e)
}

// same reports whether a value of one type is held as the same value of the other.
func same(from, to uint32) bool {
	from, to = baseOf(from), baseOf(to)
	whole := func(t uint32) bool { return isReg(t) || t == oidOID }
	switch {
	case isText(from) && isText(to):
		return to != charOID && to != nameOID && to != unknownOID || from == charOID
	case whole(from) && (whole(to) || to == int8OID):
		return true
	case widthOf(from) > 0 && widthOf(to) > 0 && classOf(from) == integers && classOf(to) == integers:
		return widthOf(from) <= widthOf(to)
	}
	return false
}

// conversion returns the function that casts values, or nil.
func (c *Catalog) conversion(from, to uint32) func(any) any {
	a, z := classOf(from), classOf(to)
	switch {
	case z == textual && (isText(to) || isText(from) || to == jsonOID):
		return func(v any) any { return c.input(c.output(v, from), to) }
	case a == textual && isText(from):
		return func(v any) any { return c.input(v.(string), to) }
	case a == integers && z == integers:
		return func(v any) any { return c.ranged(v.(int64), to) }
	case a == integers && z == floats:
		return func(v any) any { return float64(v.(int64)) }
	case a == floats && z == floats:
		return func(v any) any { return v }
	case a == floats && z == integers:
		return func(v any) any { return c.rounded(v.(float64), to) }
	case a == booleans && to == int4OID:
		return func(v any) any { return int64(rank(v.(bool))) }
	case from == int4OID && z == booleans:
		return func(v any) any { return v != int64(0) }
	case a == arrays && z == arrays:
		return c.arrayConversion(from, to)
	case layouts[from] != nil && layouts[to] != nil:
		return func(v any) any {
			at, _ := time.Parse(layouts[from][0], v.(string))
			return at.Format(layouts[to][0])
		}
	case a == textual && z == textual && baseOf(from) == baseOf(to):
		return func(v any) any { return v }
	}
	return nil
}

func (c *Catalog) arrayConversion(from, to uint32) func(any) any {
	one, two := elementOf(from), elementOf(to)
	convert := func(v any) any { return v }
	if one != two {
		if convert = c.conversion(one, two); convert == nil {
			return nil
		}
	}
	return func(v any) any {
		a := v.(*array)
		out := &array{make([]any, len(a.elements)), a.lower}
		for i, e := range a.elements {
			if e != nil {
				out.elements[i] = convert(e)
			}
		}
		return out
	}
}

// implied is converted where the types allow it without a cast.
func (b *binder) implied(e expr, to uint32, at int) expr {
	if e.untyped {
		return b.typed(e, concrete(to))
	}
	if to == anyOID || to == anyelementOID || to == anyarrayOID || e.typ == to {
		return e
	}
	if !implicit(e.typ, to) {
		fail(sqlerr.New(sqlerr.Invalid, "a value of type %s cannot stand where %s is wanted", b.catalog.typeTitle(e.typ), b.catalog.typeTitle(to)).At(at))
	}
	return b.converted(e, to, at)
}

// condition is an expression that must be boolean.
func (b *binder) condition(s *scope, e syntax.Expr, what string) string {
	return b.boolean(b.expr(s, e), what, at(e))
}

func (b *binder) boolean(e expr, what string, at int) string {
	if e.untyped {
		e = b.typed(e, boolOID)
	}
	if baseOf(e.typ) != boolOID {
		fail(sqlerr.New(sqlerr.Invalid, "argument of %s must be type boolean, not type %s", what, b.catalog.typeTitle(e.typ)).At(at))
	}
	return e.sql
}

// common returns the type that CASE, UNION and the like have for several expressions.
func (b *binder) common(list []expr, what string, at int) uint32 {
	out := uint32(0)
	for _, e := range list {
		switch {
		case e.untyped || out == e.typ:
		case out == 0:
			out = e.typ
		case !preferred(out) && implicit(out, e.typ) && !implicit(e.typ, out):
			out = e.typ
		case !implicit(e.typ, out):
			fail(sqlerr.New(sqlerr.Invalid, "%s types %s and %s cannot be matched", what, b.catalog.typeTitle(out), b.catalog.typeTitle(e.typ)).At(at))
		}
	}
	if out == 0 {
		return textOID
	}
	return out
}

func preferred(t uint32) bool { return t == textOID || t == oidOID || t == float8OID || t == boolOID }

// alike gives all expressions their common type.
func (b *binder) alike(list []expr, what string, at int) uint32 {
	t := b.common(list, what, at)
	for i, e := range list {
		list[i] = b.converted(e, t, at)
	}
	return t
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
