package source_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dpsql/internal/scratch"
	"dpsql/internal/seeds"
	"dpsql/query"
	"dpsql/source"
)

var long = flag.Bool("long", false, "run the campaigns at full size")

// TestMain lets properties be tried 30 times in place of 100, unless -rapid.checks says otherwise.
func TestMain(m *testing.M) {
	flag.Set("rapid.checks", "30")
	scratch.CollectSeldom()
	os.Exit(m.Run())
}

// sized returns the size of a campaign.
func sized(small, full int) int {
	if *long {
		return full
	}
	return small
}

var randomViews = flag.Int("views", 100, "how many random views TestRandomViews makes for each of its two properties")

// viewMaker makes the texts of random views over the tables of randomSchema. Most of
// the views repeat or mix rows. Each has the columns u, x0 and x1, and one more.
type viewMaker struct {
	*rand.Rand
	aliases int
	tame    bool // one private table first, joins by keys or the unit, and little else
}

// made is a table or sub-select under its alias.
type made struct {
	alias   string
	columns []string
	private bool
}

var randomTables = []struct {
	name    string
	columns string
	private bool
}{
	{"raw", "id u a b c f", true}, {"raw", "id u a b c f", true}, {"raw", "id u a b c f", true}, {"more", "u a b f", true},
	{"keyed", "k n t", false}, {"num", "k t", false}, {"multi", "k n", false}, {"fold", "k t", false}, {"loose", "k t", false},
	{"pair", "k n t", false}, {"partial", "k t", false}, {"bare", "k t", false},
}

var randomSchema = []string{
	"CREATE TABLE raw (id INTEGER PRIMARY KEY, u TEXT, a INTEGER, b TEXT, c TEXT COLLATE NOCASE, f)", "CREATE INDEX raw_b ON raw (b)",
	"CREATE TABLE more (u TEXT, a INTEGER, b TEXT COLLATE NOCASE, f)",
	"CREATE TABLE keyed (k TEXT PRIMARY KEY, n INTEGER, t TEXT)", "CREATE TABLE num (k INTEGER PRIMARY KEY, t TEXT)",
	"CREATE TABLE multi (k TEXT, n INTEGER)", "CREATE TABLE fold (k TEXT COLLATE NOCASE UNIQUE, t TEXT)",
	"CREATE TABLE loose (k UNIQUE, t TEXT)", "CREATE TABLE pair (k TEXT, n INTEGER, t TEXT, UNIQUE (k, n))",
	"CREATE TABLE partial (k TEXT, t TEXT)", "CREATE UNIQUE INDEX partial_k ON partial (k) WHERE t > 'b'",
	"CREATE TABLE bare (k TEXT COLLATE NOCASE, t TEXT)", "CREATE UNIQUE INDEX bare_k ON bare (k COLLATE BINARY)",
}

func (m *viewMaker) pick(all ...string) string { return all[m.IntN(len(all))] }

func (m *viewMaker) chance(percent int) bool { return m.IntN(100) < percent }

// column names a column, of a private table more often than not.
func (m *viewMaker) column(from []made) string {
	if m.chance(4) { // its meaning depends on all tables and aliases
		return m.pick("k", "n", "t", "x2", "rowid", "oid", "true", `"k"`, `"t"`, `"x2"`, `"rowid"`, `"zz"`, "zz", `"true"`)
	}
	t := from[m.IntN(len(from))]
	return t.alias + "." + m.pick(t.columns...)
}

// unit names a column, most often the unit's.
func (m *viewMaker) unit(from []made) string {
	for _, t := range from {
		if t.private && slices.Contains(t.columns, "u") && m.chance(80) {
			return t.alias + ".u"
		}
	}
	return m.expr(from, 1)
}

func (m *viewMaker) expr(from []made, depth int) string {
	if depth == 0 || m.chance(60) || m.tame && m.chance(70) {
		return m.column(from)
	}
	a, b := m.expr(from, depth-1), m.expr(from, depth-1)
	switch m.IntN(11) {
	case 9:
		return m.pick("date", "julianday", "unixepoch", "time") + "(" + m.pick(a, "min("+a+", ':')", "'now'", "+"+a, a+" + 0") + m.pick("", "", ", '+1 day'", ", "+b, ", 'localtime'") + ")"
	case 10:
		return m.pick("substr("+a+", 1, 2)", "instr("+a+", "+b+")", "trim("+a+", "+b+")", "round("+a+", "+b+")", "char("+a+", "+b+")", "abs("+a+")", "iif("+a+", "+b+", 1)", "nullif("+a+", "+b+")", "strftime("+b+", "+a+")", "strftime('%Y', min('9', "+a+"))")
	case 0:
		return a + m.pick(" || ", " || ' ' || ", " + ", " * ", " << ", " / ", " % ", " = ", " < ") + b
	case 1:
		return "CAST(" + a + " AS " + m.pick("INTEGER", "TEXT", "REAL", "INTEGER", "TEXT", `"x" TEXT`, "TEXT/*INT*/", "BLOB", "") + ")"
	case 2:
		return m.pick("lower", "upper", "length", "typeof") + "(" + a + ")"
	case 3:
		return "coalesce(" + a + ", " + b + ")"
	case 4:
		return "+" + a
	case 5:
		return m.pick("1", "'a'", "NULL")
	case 6:
		return a + " COLLATE " + m.pick("NOCASE", "BINARY")
	case 7:
		return "(SELECT " + m.pick("max(", "count(", "total(") + m.pick("k", b) + ") FROM " + m.pick("multi", "keyed", "raw", "num") + " WHERE " + m.pick("1", "k = "+a) + ")"
	}
	return "CASE WHEN " + m.cond(from, depth-1) + " THEN " + a + " ELSE " + b + " END"
}

func (m *viewMaker) cond(from []made, depth int) string {
	a, b := m.column(from), m.column(from)
	switch m.IntN(12) {
	case 0:
		return a + " IS " + b
	case 1:
		return a + " > " + b
	case 2:
		return a + " = " + m.expr(from, 1)
	case 3:
		return a + " IN (SELECT k FROM " + m.pick("multi", "keyed", "num") + ")"
	case 4:
		return "EXISTS (SELECT 1 FROM " + m.pick("multi AS e", "keyed AS e", "more AS e") + " WHERE e." + m.pick("k", "u") + " = " + a + ")"
	}
	if depth > 0 && m.chance(30) {
		return "(" + m.cond(from, depth-1) + ")" + m.pick(" OR ", " AND ", " AND ") + m.cond(from, depth-1)
	}
	return a + " = " + b
}

// link joins a table to others, by its key or by the unit more often than not.
func (m *viewMaker) link(from []made, t made) string {
	other := m.column(from)
	var keys []string
	for _, c := range t.columns {
		if c == "k" || c == "u" {
			keys = append(keys, c)
		}
	}
	if len(keys) == 0 || !m.tame && m.chance(15) {
		return m.cond(append(slices.Clone(from), t), 1)
	}
	if keys[0] == "u" && m.chance(80) {
		other = m.unit(from)
	}
	if m.chance(20) {
		other = m.expr(from, 1)
	}
	link := m.pick(t.alias+"."+keys[0]+" = "+other, other+" = "+t.alias+"."+keys[0])
	if slices.Contains(t.columns, "n") && m.chance(50) {
		link += " AND " + t.alias + ".n = " + m.pick("1", m.column(from))
	}
	return link
}

func (m *viewMaker) table(depth int, first bool) (string, made) {
	m.aliases++
	alias := fmt.Sprintf("t%d", m.aliases)
	if depth > 0 && (first || !m.tame) && m.chance(25) {
		return "(" + m.query(depth-1) + ") AS " + alias, made{alias, []string{"u", "x0", "x1"}, true}
	}
	t := randomTables[m.IntN(len(randomTables))]
	for m.tame && (t.private != first) && m.chance(85) {
		t = randomTables[m.IntN(len(randomTables))]
	}
	return t.name + " AS " + alias, made{alias, strings.Fields(t.columns), t.private}
}

// query makes a SELECT with the columns u, x0 and x1.
func (m *viewMaker) query(depth int) string {
	text, first := m.table(depth, true)
	from := []made{first}
	for range m.IntN(3) {
		joined, t := m.table(depth, false)
		kind := m.IntN(12)
		if m.tame && m.chance(85) {
			kind = 5
		}
		switch kind {
		case 0:
			text += ", " + joined
		case 1:
			text += " NATURAL " + m.pick("", "LEFT ") + "JOIN " + joined
		case 2:
			text += " JOIN " + joined + " USING (" + m.pick(t.columns...) + ")"
		case 3:
			text += m.pick(" RIGHT", " FULL", " CROSS") + " JOIN " + joined + " ON " + m.link(from, t)
		case 4:
			more, t2 := m.table(depth, false)
			text += " LEFT JOIN (" + joined + " JOIN " + more + " ON " + m.link([]made{t}, t2) + ") ON " + m.link(from, t)
			from = append(from, t2)
		default:
			text += m.pick(" JOIN ", " LEFT JOIN ") + joined + " ON " + m.link(from, t)
		}
		from = append(from, t)
	}
	u, where, tail := m.unit(from), "", ""
	if m.chance(30) {
		where = " WHERE " + m.cond(from, 1)
	}
	x0, x1, distinct := m.expr(from, 2), m.expr(from, 1), ""
	shape := m.IntN(14)
	if m.tame && m.chance(60) {
		shape = 4
	}
	switch shape {
	case 0:
		distinct = "DISTINCT "
	case 1:
		x1, tail = m.pick("count(*)", "max("+x1+")"), " GROUP BY "+m.pick(u, "u", u+", "+x0, "1, 2", x0, "x'01'", "+1", "rowid", "k", `"x2"`)
	case 2:
		x1 = m.pick("count(*)", "max("+x1+")", "total("+x1+")") + " OVER (" + m.pick("", "PARTITION BY "+u, "PARTITION BY "+u, "PARTITION BY "+x0) + m.pick("", " ORDER BY "+x0+m.pick("", " ROWS 1 PRECEDING", " GROUPS 1 PRECEDING")) + ")"
	case 3:
		tail = " ORDER BY 1, 2, 3, 4 LIMIT 2"
	}
	out := "SELECT " + distinct + u + " AS u, " + x0 + " AS x0, " + x1 + " AS x1, " + m.odd(from) + " FROM " + text + where + tail
	if depth > 0 && tail == "" && m.chance(15) {
		out += m.pick(" UNION ALL ", " UNION ALL ", " UNION ", " EXCEPT ") + m.query(0)
	}
	return out
}

// odd returns an expression that can be read as a column, an alias or a text.
func (m *viewMaker) odd(from []made) string {
	switch m.IntN(4) {
	case 0:
		return m.pick("rowid", `"zz"`, "true", "u", "x'01'", "'k'")
	case 1:
		return m.column(from) + " COLLATE " + m.pick("NOCASE", "BINARY")
	}
	x := m.column(from)
	return x + m.pick("", " COLLATE NOCASE", " COLLATE BINARY") + m.pick("", "\ufeff", " /* FROM */") + " AS " + m.pick("x2", "k", "n", "t", "rowid", "oid", `"true"`, `"zz"`, "[k:1]", `""`)
}

// fillRandom gives every table a few rows. Their values are equal under one comparison
// and differ under another.
func fillRandom(t *testing.T, m *viewMaker, db *sql.DB) {
	t.Helper()
	text := func() string { return m.pick("'a'", "'A'", "'b'", "'1'", "'01'", "'1.0'", "NULL") }
	number := func() string { return m.pick("0", "1", "1", "2", "'a'", "NULL") }
	free := func() string { return m.pick("1", "'1'", "'a'", "'A'", "1.0", "x'61'", "NULL") }
	for range 5 {
		run(t, db, fmt.Sprintf("INSERT INTO raw VALUES (NULL, %s, %s, %s, %s, %s)", m.pick(text(), "'a'", "'a'"), number(), text(), text(), free()))
		run(t, db, fmt.Sprintf("INSERT INTO more VALUES (%s, %s, %s, %s)", m.pick(text(), "'a'", "'a'"), number(), text(), free()))
		run(t, db, fmt.Sprintf("INSERT OR IGNORE INTO keyed VALUES (%s, %s, %s)", text(), number(), text()))
		run(t, db, fmt.Sprintf("INSERT OR IGNORE INTO num VALUES (%d, %s)", m.IntN(4), text()))
		run(t, db, fmt.Sprintf("INSERT INTO multi VALUES (%s, %s)", text(), number()))
		run(t, db, fmt.Sprintf("INSERT OR IGNORE INTO pair VALUES (%s, %s, %s)", text(), number(), text()))
		run(t, db, fmt.Sprintf("INSERT OR IGNORE INTO loose VALUES (%s, %s)", free(), text()))
		for _, table := range []string{"fold", "partial", "bare"} {
			run(t, db, fmt.Sprintf("INSERT OR IGNORE INTO %s VALUES (%s, %s)", table, text(), text()))
		}
	}
}

// rowsOf returns, by unit, how often the view has each row.
func rowsOf(t *testing.T, db *sql.DB) map[string]map[string]int {
	t.Helper()
	found, err := db.Query("SELECT CASE WHEN u IS NULL THEN '' ELSE typeof(u) || quote(u) END, quote(x0), quote(x1) FROM made")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	out := make(map[string]map[string]int)
	for found.Next() {
		var u, x0, x1 string
		if err := found.Scan(&u, &x0, &x1); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(u, "real") { // 1.0 is the unit 1
			u = strings.TrimSuffix("integer"+strings.TrimPrefix(u, "real"), ".0")
		}
		if out[u] == nil {
			out[u] = make(map[string]int)
		}
		out[u][x0+","+x1]++
	}
	return out
}

// TestRandomViews makes random views over random rows. It removes each private row
// alone, and then all of them; it gives all rows other places in storage; and it adds a row
// of extreme values. A view that is accepted without a unit, as a multiset,
// loses at most one row and gains none. In a view that is accepted with the unit u,
// the rows of at most one unit change, always of the same unit, and no rows are left
// in the end. The errors of readers, SQLite's program and the clock are the same for all of
// these neighbours, and no value is longer than || may make it.
//
// Floors keep the test from passing if all views are refused. Of 20,000 views, 2039 were
// accepted without a unit and 4254 with one. Of these, 592 and 2765 were joins.
// Acceptance depends on the text alone. So fewer than 2 of 200 views are accepted with
// probability below 1e-7, and no join of either kind with probability below 1e-15.
// Nothing else is left to chance: any other failure is a fault.
func TestRandomViews(t *testing.T) {
	seed := seeds.Of(t)
	joins := 0
	for _, unit := range []string{"", "u"} {
		m := &viewMaker{Rand: rand.New(rand.NewPCG(seed, 1))}
		db := memory(t, randomSchema...)
		fillRandom(t, m, db)
		accepted := 0
		for i := range *randomViews {
			if i%50 == 49 {
				for _, table := range []string{"raw", "more", "keyed", "num", "multi", "fold", "loose", "pair", "partial", "bare"} {
					run(t, db, "DELETE FROM "+table)
				}
				fillRandom(t, m, db)
			}
			m.tame = i%2 == 0
			text := m.query(1)
			if _, err := db.Exec("CREATE VIEW made AS " + text); err != nil {
				continue
			}
			table := source.Table{Source: "made", Unit: unit, MaxRows: 3, Key: []byte{1}, Public: []string{"keyed", "num", "multi", "fold", "loose", "pair", "partial", "bare"}}
			schema, err := source.SQLite(db).Check(context.Background(), table)
			if err == nil && (slices.Contains(schema.Bases, "raw") || slices.Contains(schema.Bases, "more")) {
				accepted++
				if strings.Contains(text, "JOIN") {
					joins++
				}
				removeEach(t, db, unit, text)
				moveRows(t, db, text)
				addExtremes(t, m, db, unit, text)
			}
			run(t, db, "DROP VIEW made")
			if t.Failed() {
				return
			}
		}
		t.Logf("unit %q: %d of %d views accepted, and %d joins so far", unit, accepted, *randomViews, joins)
		if accepted < *randomViews/100 {
			t.Errorf("unit %q: only %d views of %d are accepted", unit, accepted, *randomViews)
		}
	}
	if joins == 0 {
		t.Error("no join is accepted")
	}
}

// moveRows gives all rows other places in storage, in the other order, in which another plan may read
// them, too. The view stays as it was.
func moveRows(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	before := rowsOf(t, db)
	run(t, db, "SAVEPOINT whole")
	for _, table := range []string{"more", "keyed", "multi", "fold", "loose", "pair", "partial", "bare"} {
		run(t, db, "UPDATE "+table+" SET rowid = 1000000 - rowid")
	}
	if after := rowsOf(t, db); !reflect.DeepEqual(before, after) {
		t.Errorf("CREATE VIEW made AS %s\nwith its rows elsewhere is %v\nand was %v", text, after, before)
	}
	run(t, db, "ROLLBACK TO whole")
	run(t, db, "RELEASE whole")
}

// extremes are values of a row that other rows do not have.
var extremes = []string{"'now'", "'NOW' || char(0) || '1'", "'localtime'", "'subsec'", "9223372036854775807", "-9223372036854775808", "1e308", "-1e308", "1e999", "zeroblob(200000)", "x'ff00'",
	"CAST(x'ff00fe' AS TEXT)", "hex(zeroblob(50000))", "char(0)", "''", "NULL", "2.5", "'2024-02-30'", "5373484.5", "'%s%J%Y-%m-%d'"}

// longest bounds the bytes of a value of a view: an extreme one has 200,000.
const longest = 32*200_000 + 1000

// addExtremes adds an extreme row. Nothing fails, the program that SQLite compiles stays, no value
// grows without bound or is near the time of the test, and as many rows change as may.
func addExtremes(t *testing.T, m *viewMaker, db *sql.DB, unit, text string) {
	t.Helper()
	value := func() string { return m.pick(extremes...) }
	row := "INSERT INTO raw VALUES (" + m.pick("NULL", "9223372036854775807", "-9223372036854775808") + ", " + strings.Join([]string{value(), value(), value(), value(), value()}, ", ") + ")"
	if m.chance(30) {
		row = "INSERT INTO more VALUES (" + value() + ", " + value() + ", " + value() + ", " + value() + ")"
	}
	table := source.Table{Source: "made", Unit: unit, MaxRows: 3, Key: []byte{1}, Columns: []query.Column{
		{Name: "x0", Domain: between(t, -5, 5)}, {Name: "x1", Domain: list(t, query.TypeText, query.Text("a"), query.Text("1"), query.Null())}}}
	seen := func() (program string, errs []string) {
		steps, err := db.Query("EXPLAIN SELECT * FROM made")
		if err != nil {
			t.Fatal(err)
		}
		for steps.Next() {
			all := make([]any, 8)
			if err := steps.Scan(&all[0], &all[1], &all[2], &all[3], &all[4], &all[5], &all[6], &all[7]); err != nil {
				t.Fatal(err)
			}
			program += fmt.Sprintln(all...)
		}
		steps.Close()
		_, counted := countAll(t.Context(), db, table)
		u := universe(t, table.Columns)
		_, cells := source.SQLite(db).Cells(t.Context(), anyone{}, table, []int{0, 1}, query.NewCoder(u, [16]byte{}), 1000)
		return program, []string{fmt.Sprint(counted), fmt.Sprint(cells)}
	}
	run(t, db, "SAVEPOINT whole")
	before := rowsOf(t, db)
	program, errs := seen()
	run(t, db, row)
	after := rowsOf(t, db)
	if p, e := seen(); p != program || !reflect.DeepEqual(e, errs) {
		t.Errorf("CREATE VIEW made AS %s\nwith %s more: errors %q, were %q; the same program: %v", text, row, e, errs, p == program)
	}
	if what := changed(after, before, unit, make(map[string]string), row); what != "" {
		t.Errorf("CREATE VIEW made AS %s\nwith %s more: %s", text, row, what)
	}
	var long int
	var clock bool
	err := db.QueryRow(`SELECT coalesce(max(max(length(CAST(u AS BLOB)), coalesce(length(CAST(x0 AS BLOB)), 0), coalesce(length(CAST(x1 AS BLOB)), 0))), 0),
		coalesce(max(abs(x0 - julianday('now')) < 3 OR abs(x1 - julianday('now')) < 3 OR abs(x0 - unixepoch()) < 200000 OR abs(x1 - unixepoch()) < 200000
			OR instr(x0, strftime('%Y-%m', 'now')) OR instr(x1, strftime('%Y-%m', 'now'))), 0) FROM made`).Scan(&long, &clock)
	if err != nil || long > longest || clock {
		t.Errorf("CREATE VIEW made AS %s\nwith %s more has a value of %d bytes, and the time of the test: %v (%v)", text, row, long, clock, err)
	}
	run(t, db, "ROLLBACK TO whole")
	run(t, db, "RELEASE whole")
}

// removeEach removes each private row alone, and then all one after the other. It
// checks the changes of the view.
func removeEach(t *testing.T, db *sql.DB, unit, text string) {
	t.Helper()
	owner := make(map[string]string)
	for _, stay := range []bool{false, true} {
		run(t, db, "SAVEPOINT whole")
		before := rowsOf(t, db)
		for _, table := range []string{"raw", "more"} {
			ids, err := source.Texts(context.Background(), db, table, "SELECT CAST(rowid AS TEXT) FROM "+table)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				if !stay {
					run(t, db, "SAVEPOINT one")
				}
				run(t, db, "DELETE FROM "+table+" WHERE rowid = "+id)
				after := rowsOf(t, db)
				what := changed(before, after, unit, owner, table+id)
				if what != "" {
					t.Errorf("CREATE VIEW made AS %s\nwithout row %s of %s: %s\nbefore %v\nafter  %v", text, id, table, what, before, after)
				}
				if stay {
					before = after
				} else {
					run(t, db, "ROLLBACK TO one")
					run(t, db, "RELEASE one")
				}
			}
		}
		if delete(before, ""); stay && unit != "" && len(before) > 0 {
			t.Errorf("CREATE VIEW made AS %s\nwithout any private row there are %v", text, before)
		}
		run(t, db, "ROLLBACK TO whole")
		run(t, db, "RELEASE whole")
	}
}

// changed describes a fault in how the removal of a row changed the view.
func changed(before, after map[string]map[string]int, unit string, owner map[string]string, row string) string {
	lost, of := 0, make(map[string]bool)
	for _, m := range []map[string]map[string]int{before, after} {
		for u := range m {
			for x := range m[u] {
				d := before[u][x] - after[u][x]
				if d < 0 && unit == "" {
					return "a row is gained"
				}
				if d != 0 && u != "" {
					of[u] = true
				}
			}
		}
	}
	if unit == "" {
		for u := range before {
			for x := range before[u] {
				lost += before[u][x] - after[u][x]
			}
		}
		if lost > 1 {
			return fmt.Sprintf("%d rows are lost", lost)
		}
		return ""
	}
	for u := range of {
		if had, ok := owner[row]; ok && had != u || len(of) > 1 {
			return fmt.Sprintf("rows of %v change, before of %q", of, had)
		}
		owner[row] = u
	}
	return ""
}
