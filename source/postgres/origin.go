package postgres

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dpsql/source"
)

// origins follows the rows of a view down to tables through the stored definitions. It
// says whose rows they are, and accepts only a closed list of constructs.
//
// Without a unit a view must be row by row: each row of one table brings about at most
// one row of the view, and nothing else decides that row. Such a view is a chain: the
// only member of FROM is a table or again a chain, and the columns and conditions above
// it see one row. No row multiplies, and none is read twice. Removing a row of the
// table removes at most one row of the view.
//
// With a unit a view may join, group and merge private tables if it is unit by unit:
// its rows with the value v in the unit's column are a function of the rows of v in the
// tables. Then the rows kept of another unit do not change with v (Table in package
// source). Say that a set S of columns carries the unit of rows if in each row all
// values of S that are not NULL are one value v, and if the rows with v in S are a
// function of the rows of v in the tables. This holds of one column of a table, its
// unit, and of an expression over the rows of one table, if that is the only table. The
// property is kept
//   - by conditions that see one row;
//   - by a join, inner or outer, that compares a column of S on one side with one
//     of S' on the other by = in its condition, for S ∪ S': a row of v meets, or
//     fails to meet, rows of v alone, as NULL equals nothing;
//   - by a subquery in an expression whose WHERE compares in this way with a column of S
//     of the query around it; and by u IN (SELECT …), of a column that carries the
//     unit there, as a condition in WHERE, where it matters only whether it is true;
//   - by GROUP BY, DISTINCT, UNION, INTERSECT and EXCEPT, for those columns of S
//     by which they compare: equal rows have equal units.
//
// Rows without a value in S can come from anywhere. They do no harm: the view's unit
// column is in S, and a row without a unit is not counted. Of each table one column is
// the unit, however often a view reads it. Rows that belong to v by one column and to
// somebody else by another would carry one unit into the other.
type origins struct {
	queries map[string]*tree // the views' queries, by number
	kinds   map[string]byte  // the kinds, as in pg_class, of all relations that are read, by number
	equals  func(operator string) bool
	units   []unitColumn // the units of the tables found
	steps   int
}

// unitColumn is a table and the column taken for its unit, by their numbers. Both are
// empty if the unit is computed.
type unitColumn struct{ table, column string }

// maxSteps bounds how many members of FROM are looked at. Views that each read another
// view twice would take exponentially many steps, and a view can read itself.
const maxSteps = 10_000

// scope is a query with the queries around it, whose common table expressions it sees.
type scope struct {
	query  *tree
	outer  *scope
	stored bool // in a materialized view
}

// quiet lists the fields of a QUERY that do not affect which rows there are; byUnit
// those that a unit-by-unit view may have besides. called has the words for fields.
const (
	quiet  = wordList(`commandType canSetTag rtable rteperminfos jointree targetList sortClause cteList stmt_location stmt_len`)
	byUnit = wordList(`hasAggs groupClause havingQual distinctClause setOperations constraintDeps hasSubLinks`)
)

var called = map[string]string{"hasAggs": "an aggregate", "groupClause": "GROUP BY", "havingQual": "HAVING", "groupingSets": "GROUPING SETS",
	"distinctClause": "DISTINCT", "setOperations": "UNION, INTERSECT or EXCEPT", "hasSubLinks": "a subquery in an expression"}

const (
	aJoin    = "a join"
	noTable  = "something in FROM that is no table, view or subquery"
	noColumn = "a unit that is no column of its tables"
)

// odd names a field of a query that is set and is not among those allowed.
func odd(query *tree, allowed ...wordList) string {
	for _, field := range slices.Sorted(maps.Keys(query.fields)) {
		value := query.atom(field)
		empty := query.fields[field] != nil && !query.has(field) || value == "false" || value == "0"
		if empty || slices.ContainsFunc(allowed, func(a wordList) bool { return a.has(field) }) {
			continue
		}
		if name, ok := called[field]; ok {
			return name
		}
		return "a query with " + field
	}
	return ""
}

// rowByRow names what keeps a view from being row by row. It returns "" if nothing
// does.
func (o *origins) rowByRow(s *scope) string {
	if what := odd(s.query, quiet); what != "" {
		return what
	}
	from := s.query.node("jointree")
	if from == nil {
		return noTable
	}
	switch members := from.list("fromlist"); len(members) {
	case 0:
		return "" // a row of constants
	case 1:
		_, below, what := o.member(s, members[0])
		if below != nil {
			return o.rowByRow(below)
		}
		return what
	}
	return aJoin
}

// member resolves a member of FROM. It returns the number of a table, or the query of a
// view, a subquery or a common table expression.
func (o *origins) member(s *scope, value any) (table string, below *scope, what string) {
	if o.steps++; o.steps > maxSteps {
		return "", nil, "too many views of views"
	}
	n, _ := value.(*tree)
	if n != nil && n.kind == "JOINEXPR" {
		return "", nil, aJoin
	}
	entry := entryOf(s, n)
	if entry == nil || entry.atom("lateral") == "true" {
		return "", nil, noTable
	}
	switch entry.atom("rtekind") {
	case "0":
		return o.relation(s, entry.atom("relid"))
	case "1":
		if query := entry.node("subquery"); query != nil {
			return "", &scope{query, s, s.stored}, ""
		}
	case "6":
		if below = common(s, entry); below != nil {
			return "", below, ""
		}
	}
	return "", nil, noTable
}

// relation returns a table, or the query of a view, by number. A materialized view over
// views is refused: it was filled by the definitions of that time.
func (o *origins) relation(s *scope, number string) (table string, below *scope, what string) {
	query, kind := o.queries[number], o.kinds[number]
	switch {
	case query == nil && (kind == 'r' || kind == 'p' || kind == 'f'):
		return number, nil, ""
	case query == nil || kind != 'v' && kind != 'm':
		return "", nil, noTable
	case s != nil && s.stored:
		return "", nil, "a materialized view of a view, which may have been another when that was filled"
	}
	return "", &scope{query: query, stored: kind == 'm'}, ""
}

// entryOf returns the entry of the range table to which a RANGETBLREF refers.
func entryOf(s *scope, ref *tree) *tree {
	if ref == nil || ref.kind != "RANGETBLREF" {
		return nil
	}
	entry, _ := nth(s.query.list("rtable"), ref.atom("rtindex")).(*tree)
	return entry
}

// nth returns a value of a list by its number, counted from 1.
func nth(values []any, number string) any {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(values) {
		return nil
	}
	return values[n-1]
}

// common returns the query of a common table expression.
func common(s *scope, entry *tree) *scope {
	levels, err := strconv.Atoi(entry.atom("ctelevelsup"))
	if err != nil {
		return nil
	}
	for ; s != nil && levels > 0; levels-- {
		s = s.outer
	}
	if s == nil || entry.atom("self_reference") != "false" {
		return nil
	}
	for _, value := range s.query.list("cteList") {
		if c, ok := value.(*tree); ok && c.atom("ctename") == entry.atom("ctename") && c.atom("cterecursive") == "false" && c.node("ctequery") != nil {
			return &scope{c.node("ctequery"), s, s.stored}
		}
	}
	return nil
}

func originsOf(v view, known catalog) *origins {
	return &origins{queries: v.queries, kinds: v.kinds, equals: func(operator string) bool {
		name := known.operators[operator]
		return total.MatchString(name) && strings.Contains(name, "eq(")
	}}
}

// whose refuses a view unless it can tell that one row of a table, or one unit if there
// is a unit, changes no more of the view than is charged for. See origins.
func (r *reader) whose(ctx context.Context, rel *relation, t source.Table, v view, known catalog) error {
	o := originsOf(v, known)
	_, root, what := o.relation(nil, rel.number())
	if root == nil && what == "" {
		return nil // a table
	}
	if what == "" {
		what = o.rowByRow(root)
	}
	if what == "" {
		return nil
	}
	if t.Period != nil {
		return source.MixesPeriods(t.Source, "has "+what)
	}
	if t.Unit == "" {
		return source.Mixes(t.Source, "", "has "+what).
			WithHint("without a unit a view takes columns and conditions of one table; with WITH (…, unit = …, max_rows = …) it may join and group by the unit's column")
	}
	number, err := rel.columnNumber(t.Unit, t.Source)
	if err != nil {
		return err
	}
	if _, what = o.unitByUnit(root, number); what == "" {
		what, err = r.oneUnitEach(ctx, o.units)
	}
	if err != nil || what == "" {
		return err
	}
	return source.Mixes(t.Source, t.Unit, "has "+what).
		WithHint("join its tables by = on their columns of the unit, and group by the unit, too")
}

// unitsText names the columns of tables, and which tables share rows. A partition
// shares rows with its partitioned table, under columns of the same names. Tables that
// inherit, and foreign tables, are not told apart.
const unitsText = `SELECT a.attrelid::text, a.attnum::text, a.attname::text,
		CASE WHEN c.relkind = 'f' OR EXISTS (SELECT FROM pg_partition_tree(pg_partition_root(c.oid)) AS p JOIN pg_class AS l ON l.oid = p.relid WHERE l.relkind = 'f')
			THEN '' WHEN NOT EXISTS (SELECT FROM pg_inherits AS i WHERE c.oid IN (i.inhrelid, i.inhparent)) THEN c.oid::text
			ELSE coalesce(pg_partition_root(c.oid)::oid::text, '') END
	FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid WHERE a.attrelid = ANY ($1::oid[]) AND a.attnum > 0`

// oneUnitEach refuses two different columns as the unit of the same rows.
func (r *reader) oneUnitEach(ctx context.Context, units []unitColumn) (what string, err error) {
	wanted, oids := make(map[unitColumn]bool), []string(nil)
	for _, u := range units {
		wanted[u] = true
		oids = append(oids, u.table)
	}
	switch {
	case wanted[unitColumn{}] && len(units) > 1:
		return noColumn, nil
	case len(wanted) < 2:
		return "", nil
	}
	chosen := make(map[string]string)
	err = r.rows(ctx, statement{unitsText, texts(array(numbered(oids))), "dpsql_units"}, func(row [][]byte) bool {
		rows, column := string(row[3]), string(row[2])
		if !wanted[unitColumn{string(row[0]), string(row[1])}] {
			return true
		}
		if other, ok := chosen[rows]; ok && other != column {
			what = "two columns as the unit of the same rows, " + min(column, other) + " and " + max(column, other)
		}
		chosen[rows] = column
		return true
	})
	return what, err
}
