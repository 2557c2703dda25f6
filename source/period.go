package source

import (
	"context"
	"slices"
	"strings"

	"dpsql/internal/calendar"
	"dpsql/internal/period"
	"dpsql/query"
)

// Period says in which period a row of a Table lies. MaxRows rows are then kept of each unit in
// each period.
//
// The rows of some periods alone are read if the column's domain in Table.Columns is that of
// these periods. The reader then looks for them by the stored values, before it works out which
// of these stand for values of the domain. This can leave out no row that counts.
type Period struct {
	Column    int // among the declared columns
	Partition period.Partition
	Declared  query.Domain // the column's whole domain; the zero Domain if it is that in Table.Columns
	Base      string       // the base table with the partition's column, which a view in SQLite shows; "" if it is not known

	read query.Domain // the zero Domain for all that count
}

// readPart returns the part of the column's domain that is read, and the declared domain.
func (t Table) readPart() (part, declared query.Domain) {
	part = t.Columns[t.Period.Column].Domain
	declared = part
	if t.Period.Declared != (query.Domain{}) {
		declared = t.Period.Declared
	}
	if t.Period.read != (query.Domain{}) {
		part = t.Period.read
	}
	return part, declared
}

// Few reports whether the periods that are read are few of those declared, and their column. A
// reader then looks their rows up. It reads the whole table otherwise, which takes less time than
// to look up most of its rows. The answer is told from the declaration and the query.
func (t Table) Few() (part query.Column, few bool) {
	if t.Period == nil {
		return part, false
	}
	part = t.Columns[t.Period.Column]
	read, declared := t.readPart()
	part.Domain = read
	return part, part.Domain.Finite() && declared.Finite() && part.Domain.Size() <= declared.Size()/fewest
}

// fewest is the number of times that what is read must fit into what is declared.
const fewest = 4

// reading is For for a table with periods.
func (t Table) reading(queries []query.Query) Table {
	if !t.Columns[t.Period.Column].Domain.Finite() {
		return t
	}
	var touched period.Ranges
	for _, q := range queries {
		touched = touched.Union(t.Period.Partition.Touched(q, t.Period.Column))
	}
	hull, some := touched.Hull()
	if !some {
		return t
	}
	if part, ok := t.Period.Partition.Restrict(t.Columns[t.Period.Column].Domain, hull); ok {
		p := *t.Period
		p.read, t.Period = part, &p
	}
	return t
}

// Access says how the rows of some periods are reached. It is told from the schema alone.
type Access struct {
	By   string // what finds them, as in "index raw_visited"; "" if the whole table is read
	Hint string // a statement that makes an index to find them; "" if none would help
}

// Access implements Checker.
func (s sqlite) Access(ctx context.Context, t Table) (Access, error) {
	r, err := routeOf(ctx, s.q, t)
	return Access{r.by, r.hint}, err
}

// lookUp is routeOf for a table with periods. SQLite is told the index, so that the rows that it
// reads depend on the schema and not on what ANALYZE has found.
func lookUp(ctx context.Context, q Querier, t Table) (route, error) {
	part, few := t.Few()
	if !few {
		return route{}, nil
	}
	of, named := t.Source, part.Name
	types, err := storedTypes(ctx, q, of)
	if err != nil {
		return route{}, err
	}
	column, view := columnOf(part.Name), len(types) == 0
	if view && t.Period.Base != "" {
		of, named = t.Period.Base, t.Period.Partition.Column
		if types, err = storedTypes(ctx, q, of); err != nil {
			return route{}, err
		}
	}
	declared, ordinary := types[query.FoldName(named)]
	compound, err := hasCompound(ctx, q, view, t.Source)
	if err != nil {
		return route{}, err
	}
	where, ok := storedWithin(part, affinityOf(declared), ordinary && !compound)
	switch {
	case !ok:
		return route{}, nil
	case !ordinary || compound:
		return route{where: where("+" + column)}, nil
	}
	found, err := indexesOn(ctx, q, t, of, named)
	if err != nil {
		return route{}, err
	}
	if len(found) == 0 {
		hint := "CREATE INDEX " + query.Quoted(of+"_"+named) + " ON " + query.Quoted(of) + " (" + query.Quoted(named) + ")"
		return route{where: where("+" + column), hint: hint}, nil
	}
	best := slices.MinFunc(found, index.compare)
	r := route{by: best.String(), where: where(column + " COLLATE " + best.collation)}
	if !view { // which has no index to name: SQLite chooses
		r.clause = best.clause()
	}
	return r, nil
}

// hasCompound reports whether a view may be a UNION. SQLite can take no condition into one, and its
// columns can have values of several affinities, which are converted before they are compared.
// Any other view has the affinity of the column that it shows.
func hasCompound(ctx context.Context, q Querier, view bool, source string) (yes bool, err error) {
	if !view {
		return false, nil
	}
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'view' AND sql LIKE '%union%')`).Scan(&yes)
	if err != nil {
		err = failure(ctx, err, source)
	}
	return yes, err
}

// storedWithin returns a condition on a column that is true of each stored value that stands for a
// value of its domain, given how the column is written. It returns false if there is none that an
// index can serve. The affinity is that of an ordinary table's column.
//
// Dates are stored as texts or numbers, and no date is stored as both. Only texts that begin with
// a date of ten characters, and numbers, count. All collations of SQLite order such texts alike.
func storedWithin(c query.Column, a affinity, ordinary bool) (on func(column string) condition, ok bool) {
	if c.Form.IsClamped() || c.Domain.HasNull() || !c.Domain.Finite() {
		return nil, false
	}
	lo, hi := c.Domain.Bounds()
	first, end := lo*c.Form.Step(), (hi+1)*c.Form.Step() // moments
	between := func(operator string, least, most any) func(string) condition {
		return func(column string) condition {
			return condition{column + " >= ? AND " + column + operator + "?", []any{least, most}}
		}
	}
	switch {
	case c.Form.IsTime() && c.Form.Stored() == query.StoredISO:
		// A time follows a blank or T. All characters of a timestamp are below ~.
		return between(" <= ", calendar.Format(calendar.DayOf(first)), calendar.Format(calendar.DayOf(end-1))+"~"), true
	case c.Form.IsTime() && c.Form.Stored() == query.StoredUnix:
		return between(" < ", first, end), true
	case c.Form.IsTime():
		// Rounding to milliseconds moves no value by a second.
		const slack = 1
		return between(" < ", julianDay(first-slack), julianDay(end+slack)), true
	case !ordinary || !c.Form.IsPlain() || !compares(c, a):
		return nil, false
	case c.Domain.IsRange():
		return between(" <= ", lo, hi), true
	}
	m, ok := newMembers(c, c.Domain.All())
	return func(column string) condition { return m.condition(column, column) }, ok
}

func julianDay(moment int64) float64 { return float64(moment)/86_400 + 2440587.5 }

// index is one that begins with the column of periods.
type index struct {
	name      string // primaryKey for a column that is the rowid
	collation string
	missing   int // how many of the columns that are read it lacks
	columns   int
}

func (i index) clause() string {
	if i.rowid() {
		return " NOT INDEXED"
	}
	return " INDEXED BY " + query.Quoted(i.name)
}

const primaryKey = "primary key"

// String returns the index as people read it.
func (i index) String() string {
	if i.rowid() {
		return i.name
	}
	return "index " + i.name
}

func (i index) rowid() bool { return i.name == primaryKey }

// compare puts an index first that has all columns that are read, and then a narrow one.
func (i index) compare(j index) int {
	switch {
	case (i.missing == 0) != (j.missing == 0):
		if i.missing == 0 {
			return -1
		}
		return 1
	case i.columns != j.columns:
		return i.columns - j.columns
	}
	return strings.Compare(i.name, j.name)
}

// indexesOn returns the indexes of all rows of a base table that begin with a column. t is read.
func indexesOn(ctx context.Context, q Querier, t Table, of, column string) ([]index, error) {
	rowid, err := isPrimaryRowid(ctx, q, of, column)
	if err != nil {
		return nil, err
	}
	found, err := q.QueryContext(ctx, `SELECT l.name, x.seqno, coalesce(x.name, ''), upper(coalesce(x.coll, ''))
		FROM main.sqlite_schema AS s, pragma_index_list(s.name, 'main') AS l, pragma_index_xinfo(l.name, 'main') AS x
		WHERE s.type = 'table' AND s.name = ? COLLATE NOCASE AND NOT l.partial AND x.key ORDER BY l.name, x.seqno`, of)
	if err != nil {
		return nil, failure(ctx, err, t.Source)
	}
	defer found.Close()
	var out []index
	if rowid {
		out = append(out, index{name: primaryKey, collation: binaryCollation})
	}
	leading := false // of the index being read
	has := make(map[string]bool)
	for found.Next() {
		var name, of, collation string
		var place int
		if err := found.Scan(&name, &place, &of, &collation); err != nil {
			return nil, failure(ctx, err, t.Source)
		}
		if place == 0 {
			leading = query.SameName(of, column) && (collation == binaryCollation || collation == "NOCASE" || collation == "RTRIM")
			clear(has)
			if leading {
				out = append(out, index{name: name, collation: collation})
			}
		}
		if leading {
			i := &out[len(out)-1]
			has[query.FoldName(of)] = true
			i.columns++
			i.missing = t.lacking(has)
		}
	}
	if err := found.Err(); err != nil {
		return nil, failure(ctx, err, t.Source)
	}
	return out, nil
}

// lacking returns how many columns a reading needs that are not among some.
func (t Table) lacking(has map[string]bool) (n int) {
	for _, c := range t.Columns {
		if !has[query.FoldName(c.Name)] {
			n++
		}
	}
	if t.Unit != "" && !has[query.FoldName(t.Unit)] {
		n++
	}
	return n
}

// isPrimaryRowid reports whether a column is the rowid, which rows are stored by.
func isPrimaryRowid(ctx context.Context, q Querier, table, column string) (bool, error) {
	var yes bool
	err := q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM main.sqlite_schema AS s, pragma_table_list(s.name) AS l, pragma_table_xinfo(s.name, 'main') AS x
		WHERE s.type = 'table' AND s.name = ?1 COLLATE NOCASE AND l.schema = 'main' AND NOT l.wr AND x.pk = 1 AND x.name = ?2 COLLATE NOCASE AND x.type = 'INTEGER' COLLATE NOCASE
			AND NOT EXISTS (SELECT 1 FROM pragma_index_list(s.name, 'main') AS i WHERE i.origin = 'pk')
			AND (SELECT count(*) FROM pragma_table_xinfo(s.name, 'main') AS y WHERE y.pk > 0) = 1)`, table, column).Scan(&yes)
	if err != nil {
		return false, failure(ctx, err, table)
	}
	return yes, nil
}
