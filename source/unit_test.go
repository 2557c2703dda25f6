package source_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

func TestUnits(t *testing.T) {
	same := [][]any{{int64(1), 1.0}, {0.0, int64(0)}, {"1"}, {"a"}, {"A"}, {"a "}, {[]byte("a")}, {[]byte("61")}, {""}, {[]byte{}}, {0.5}, {"0.5"}, {"\xff"}, {"a\x00"}, {[]byte{0}},
		{int64(1) << 53, float64(1 << 53)}, {int64(1)<<53 + 1}, {9.2233720368547758e18}, {int64(-1 << 63), -9.2233720368547758e18}, {int64(1<<63 - 1)}}
	db := memory(t, "CREATE TABLE raw (a INTEGER, person COLLATE NOCASE)", "INSERT INTO raw VALUES (1, NULL), (1, NULL)")
	for range 2 { // those of a unit are apart, so that they come together by sorting only
		for _, group := range same {
			for _, v := range group {
				run(t, db, "INSERT INTO raw VALUES (1, ?)", v)
			}
		}
	}
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 1, 1)}}, Unit: "person", MaxRows: 1, Key: []byte{1}}
	if n, err := countAll(context.Background(), db, table); err != nil || n != int64(len(same)) {
		t.Errorf("%d rows of one a unit, %v, want %d", n, err, len(same))
	}
}

// TestTextsAndBlobs: the last text and the first blob in SQLite's order hold the
// same bytes, and the blob in hexadecimal the same as another text.
func TestTextsAndBlobs(t *testing.T) {
	for _, texts := range [][]any{{"a", []byte("a")}, {"", []byte{}}, {"61", []byte("a")}} {
		db := memory(t, "CREATE TABLE raw (a INTEGER, person)")
		for _, v := range texts {
			run(t, db, "INSERT INTO raw VALUES (1, ?), (1, ?)", v, v)
		}
		table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 1, 1)}}, Unit: "person", MaxRows: 1, Key: []byte{1}}
		if n, err := countAll(context.Background(), db, table); err != nil || n != 2 {
			t.Errorf("%q: %d rows of one a unit, %v, want 2", texts, n, err)
		}
	}
}

// TestUnitsOfDates: the driver would turn a text of a DATE column into a time.
func TestUnitsOfDates(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a INTEGER, d DATE)", "INSERT INTO raw VALUES (1, '2024-05-01'), (1, '2024-05-01 00:00:00'), (1, 20240501), (1, 20240501)")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 1, 1)}}, Unit: "d", MaxRows: 1, Key: []byte{1}}
	if n, err := countAll(context.Background(), db, table); err != nil || n != 3 {
		t.Errorf("%d rows, %v, want 3", n, err)
	}
}

// TestUnitsInUTF16: texts that are no valid UTF-16 are different units although
// they are the same text once converted.
func TestUnitsInUTF16(t *testing.T) {
	db := memory(t, "PRAGMA encoding = 'UTF-16le'", "CREATE TABLE raw (a INTEGER, person TEXT)",
		"INSERT INTO raw VALUES (1, CAST(x'00D8' AS TEXT)), (1, CAST(x'01D8' AS TEXT)), (1, CAST(x'01D8' AS TEXT)), (1, 'é'), (1, 'é')")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 1, 1)}}, Unit: "person", MaxRows: 1, Key: []byte{1}}
	if n, err := countAll(context.Background(), db, table); err != nil || n != 3 {
		t.Errorf("%d rows, %v, want 3", n, err)
	}
}

// TestDomainsBeforeUnits: rows outside the domains do not displace rows inside. That
// includes the domains of columns that the query does not name.
func TestDomainsBeforeUnits(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a INTEGER, b INTEGER, person)",
		"WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99) INSERT INTO raw SELECT 1, i, 1 FROM n")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 1)}, {Name: "b", Domain: between(t, 40, 41)}}, Unit: "person", MaxRows: 2, Key: []byte{1}}
	q := query.Where(universe(t, table.Columns), 0, table.Columns[0].Domain.SetOf(query.Int(1)))
	if n, err := source.SQLite(db).Count(context.Background(), anyone{}, table, q); err != nil || n != 2 {
		t.Errorf("counted %d, %v, want 2", n, err)
	}
}

func TestUnitRefused(t *testing.T) {
	db := memory(t, "CREATE TABLE a (x INTEGER, person)", "INSERT INTO a VALUES (1, 1)", "CREATE VIEW v AS SELECT x FROM a")
	columns := []query.Column{{Name: "x", Domain: between(t, 0, 9)}}
	u := universe(t, columns)
	tests := []struct {
		table          source.Table
		checked, asked sqlerr.Code
	}{
		{source.Table{Source: "a", Unit: "person", MaxRows: 1, Key: []byte{1}}, "", ""},
		{source.Table{Source: "a", Unit: "PERSON", MaxRows: 1, Key: []byte{1}}, "", ""},
		{source.Table{Source: "a", Unit: "x", MaxRows: 1, Key: []byte{1}}, "", ""},
		{source.Table{Source: "a", MaxRows: 1}, "", ""},
		{source.Table{Source: "a", Unit: "nosuch", MaxRows: 1, Key: []byte{1}}, sqlerr.Unknown, sqlerr.Invalid},
		{source.Table{Source: "a", Unit: "rowid", MaxRows: 1, Key: []byte{1}}, sqlerr.Unknown, ""},
		{source.Table{Source: "v", Unit: "person", MaxRows: 1, Key: []byte{1}}, sqlerr.Unknown, sqlerr.Invalid},
		{source.Table{Source: "a", Unit: "person", Key: []byte{1}}, sqlerr.Invalid, sqlerr.Invalid},
		{source.Table{Source: "a", Unit: "person", MaxRows: -1, Key: []byte{1}}, sqlerr.Invalid, sqlerr.Invalid},
		{source.Table{Source: "a", Unit: "person", MaxRows: 1}, sqlerr.Invalid, sqlerr.Invalid},
	}
	for _, test := range tests {
		test.table.Columns = columns
		_, checked := source.SQLite(db).Check(context.Background(), test.table)
		_, counted := source.SQLite(db).Count(context.Background(), anyone{}, test.table, query.All(u))
		_, celled := source.SQLite(db).Cells(context.Background(), anyone{}, test.table, []int{0}, query.NewCoder(u, [16]byte{}), math.MaxInt)
		for i, err := range []error{checked, counted, celled} {
			if want := []sqlerr.Code{test.checked, test.asked, test.asked}[i]; sqlerr.CodeOf(err) != want {
				t.Errorf("%+v: call %d: %v, want %q", test.table, i, err, want)
			}
		}
	}
}

// TestUnitErrorsCarryNoValues: a unit is as secret as any other value.
func TestUnitErrorsCarryNoValues(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a INTEGER, person TEXT)", "INSERT INTO raw VALUES (1, 'secret')",
		"CREATE VIEW v AS SELECT a, json_extract('{}', person) AS person FROM raw")
	table := source.Table{Source: "v", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 1)}}, Unit: "person", MaxRows: 1, Key: []byte{1}}
	u := universe(t, table.Columns)
	_, counted := source.SQLite(db).Count(context.Background(), anyone{}, table, query.All(u))
	_, celled := source.SQLite(db).Cells(context.Background(), anyone{}, table, []int{0}, query.NewCoder(u, [16]byte{}), math.MaxInt)
	for _, err := range []error{counted, celled} {
		if sqlerr.CodeOf(err) != sqlerr.Invalid || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want invalid without the value", err)
		}
	}
}

func TestUnitCancelled(t *testing.T) {
	db := memory(t, "CREATE VIEW forever AS WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT a, a AS person FROM n")
	table := source.Table{Source: "forever", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 9)}}, Unit: "person", MaxRows: 1, Key: []byte{1}}
	ctx, cancel := context.WithTimeout(context.Background(), 50e6)
	defer cancel()
	if _, err := countAll(ctx, db, table); sqlerr.CodeOf(err) != sqlerr.Cancelled {
		t.Errorf("got %v, want cancelled", err)
	}
}

// TestUnitPlans: SQLite sorts the rows itself rather than look each up by an
// index on the unit, but finds the rows of few units by that index.
func TestUnitPlans(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a INTEGER, person)", "CREATE INDEX ia ON raw (a)", "CREATE INDEX ip ON raw (person)")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 9)}}, Unit: "person", MaxRows: 1, Key: []byte{1}}
	details := func(where string, args ...any) string {
		return strings.Join(explained(t, db, source.ByUnit(table, where, args), args...), "; ")
	}
	if all := details("1"); !strings.HasPrefix(all, "SCAN r;") || strings.Contains(all, "INDEX") {
		t.Errorf("all units: %s", all)
	}
	where, args := source.UnitsWith(table, "r.a = ?", []any{1}, true)
	some := details(where, args...)
	if !strings.Contains(some, "ip (person=?)") || !strings.Contains(some, "ia (a=?)") {
		t.Errorf("few units: %s", some)
	}
}

func explained(t *testing.T, db *sql.DB, statement string, args ...any) []string {
	found, err := db.Query("EXPLAIN QUERY PLAN "+statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	var details []string
	for found.Next() {
		var id, parent, unused int
		var detail string
		if err := found.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		details = append(details, detail)
	}
	return details
}

// naiveKept chooses the rows kept as the definition says, all in memory. It stores the
// rows in a table whose columns have the declared types, with the unit in a column
// without affinity or collation. SQLite decides which units are equal.
func naiveKept(t testing.TB, db *sql.DB, table source.Table) [][]query.Value {
	t.Helper()
	return slices.Concat(naiveUnits(t, db, table)...)
}

// naiveUnits returns the rows kept of each unit.
func naiveUnits(t testing.TB, db *sql.DB, table source.Table) [][][]query.Value {
	t.Helper()
	perUnit := make(map[int64][]rankedRow)
	seen := make(map[string]uint64)
	for _, r := range unitRows(t, db, table) {
		if query.All(universe(t, table.Columns)).Weight(r.tuple) == 0 {
			continue
		}
		equal := fmt.Sprintf("%d %q", r.unit, r.tuple)
		perUnit[r.unit] = append(perUnit[r.unit], rankedRow{naiveRank(table.Key, r.raw, r.tuple, seen[equal]), r.tuple})
		seen[equal]++
	}
	var units [][][]query.Value
	for _, rows := range perUnit {
		slices.SortFunc(rows, func(a, b rankedRow) int { return bytes.Compare(a.rank[:], b.rank[:]) })
		var kept [][]query.Value
		for _, r := range rows[:min(int64(len(rows)), table.MaxRows)] {
			kept = append(kept, r.tuple)
		}
		units = append(units, kept)
	}
	return units
}

type rankedRow struct {
	rank  [sha256.Size]byte
	tuple []query.Value
}

type unitRow struct {
	unit  int64 // a number that the rows of the unit share
	raw   any   // the value of the unit
	tuple []query.Value
}

// unitRows returns the rows that have a unit and stand for values of the types.
func unitRows(t testing.TB, db *sql.DB, table source.Table) []unitRow {
	t.Helper()
	defs, names := []string{"unit"}, []string{query.Quoted(table.Unit)}
	for i, c := range table.Columns {
		defs = append(defs, fmt.Sprintf("k%d %s", i, c.Domain.Type()))
		names = append(names, query.Quoted(c.Name))
	}
	run(t, db, "DROP TABLE IF EXISTS naive")
	run(t, db, "CREATE TABLE naive ("+strings.Join(defs, ", ")+")")
	run(t, db, "CREATE INDEX naive_unit ON naive (unit)")
	run(t, db, "INSERT INTO naive SELECT "+strings.Join(names, ", ")+" FROM "+query.Quoted(table.Source))
	found, err := db.Query("SELECT (SELECT MIN(m.rowid) FROM naive AS m WHERE m.unit = n.unit) AS number, n.* FROM naive AS n WHERE n.unit IS NOT NULL")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	var out []unitRow
	for found.Next() {
		var number int64
		raw := make([]any, len(table.Columns))
		var unit any
		into := []any{&number, &unit}
		for i := range raw {
			into = append(into, &raw[i])
		}
		if err := found.Scan(into...); err != nil {
			t.Fatal(err)
		}
		if tuple, ok := typed(table, raw); ok {
			out = append(out, unitRow{number, unit, tuple})
		}
	}
	return out
}

func naiveRank(key []byte, unit any, tuple []query.Value, number uint64) [sha256.Size]byte {
	message := naiveUnit(unit)
	for _, v := range tuple {
		switch {
		case v.IsNull():
			message = append(message, 0)
		case v.IsInt():
			message = append(message, 1)
			message, _ = binary.Append(message, binary.BigEndian, v.Int64())
		case v.IsText():
			message = append(message, 2)
			length := len(v.Str())
			for ; length >= 128; length /= 128 {
				message = append(message, byte(128+length%128))
			}
			message = append(append(message, byte(length)), v.Str()...)
		}
	}
	message, _ = binary.Append(message, binary.BigEndian, number)
	mac := hmac.New(sha256.New, key)
	mac.Write(message)
	return [sha256.Size]byte(mac.Sum(nil))
}

func naiveUnit(raw any) []byte {
	number := func(kind byte, v any) []byte {
		message, _ := binary.Append([]byte{kind}, binary.BigEndian, v)
		return message
	}
	switch v := raw.(type) {
	case int64:
		return number(1, v)
	case float64:
		if i := int64(v); v < 9e18 && float64(i) == v {
			return number(1, i)
		}
		return number(2, v)
	case string:
		return append([]byte{3, byte(len(v))}, v...)
	case []byte:
		return append([]byte{4, byte(2 * len(v))}, fmt.Sprintf("%X", v)...)
	}
	return []byte{4, 0} // empty blobs come as nil
}

// multiset counts tuples.
func multiset(tuples [][]query.Value) map[string]int {
	m := make(map[string]int)
	for _, tuple := range tuples {
		m[fmt.Sprintf("%q", tuple)]++
	}
	return m
}

// someUnits are values that are equal in some ways and not in others.
var someUnits = append([]any{int64(1)<<53 + 1, float64(1 << 53), int64(1) << 53, 9.2233720368547758e18, -0.5, []byte{}}, small...)

// unitScenario is a scenario whose rows have units.
func unitScenario(t *rapid.T, db *sql.DB) source.Table {
	table := scenario(t, db)
	table.Unit = rapid.SampledFrom([]string{"unit", "group", `u"n.it`}).Draw(t, "unit")
	table.MaxRows = rapid.Int64Range(1, 4).Draw(t, "max_rows")
	table.Key = rapid.SliceOfN(rapid.Byte(), 1, 80).Draw(t, "key")
	exec := func(statement string, args ...any) {
		_, err := db.Exec(statement, args...)
		must(t, err)
	}
	exec("ALTER TABLE raw ADD COLUMN " + query.Quoted(table.Unit) + " " + rapid.SampledFrom(affinities).Draw(t, "affinity"))
	few := rapid.SliceOfN(rapid.SampledFrom(someUnits), 1, 4).Draw(t, "units")
	var n int
	must(t, db.QueryRow("SELECT COUNT(*) FROM raw").Scan(&n))
	for id := 1; id <= n; id++ {
		exec("UPDATE raw SET "+query.Quoted(table.Unit)+" = ? WHERE rowid = ?", rapid.SampledFrom(few).Draw(t, "of"), id)
	}
	if rapid.Bool().Draw(t, "indexed") {
		exec("CREATE INDEX iu ON raw (" + query.Quoted(table.Unit) + ")")
	}
	table.Source = rapid.SampledFrom([]string{"raw", "RAW", "v", "w", "x"}).Draw(t, "source")
	var names []string
	for _, c := range table.Columns {
		names = append(names, query.Quoted(c.Name))
	}
	columns, unit := strings.Join(names, ", "), query.Quoted(table.Unit)
	exec("DROP VIEW w")
	exec("DROP VIEW IF EXISTS x")
	exec("CREATE VIEW w AS SELECT " + columns + ", " + unit + " COLLATE NOCASE AS " + unit + " FROM raw")
	exec("CREATE VIEW x AS SELECT " + columns + ", CAST(" + unit + " AS TEXT) AS " + unit + " FROM raw UNION ALL SELECT " + columns + ", " + unit + " FROM raw")
	return table
}

// BenchmarkUnits reads a million rows of about 250 000 units, in no order. Four rows of
// each unit are kept. It times a count of few rows, a count of half of the rows, all
// rows and all cells, and last a count of few rows with indexes.
func BenchmarkUnits(b *testing.B) {
	db, table := million(b)
	run(b, db, "ALTER TABLE raw ADD COLUMN person INTEGER")
	run(b, db, "UPDATE raw SET person = (rowid * 2654435761 % 4294967296 >> 7) % 250000")
	table.Unit, table.MaxRows, table.Key = "person", 4, make([]byte, 32)
	u, c := universe(b, table.Columns), table.Columns
	few := where(b, u, c[0].Domain.SetOf(query.Int(1)), c[1].Domain.SetOf(query.Int(30)), c[2].Domain.All(), c[3].Domain.SetOf(query.Text("d1"), query.Text("d2")))
	half := query.Where(u, 0, c[0].Domain.SetOf(query.Int(1)))
	coder := query.NewCoder(u, [16]byte{})
	measure := func(name string, read func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	count := func(q query.Query) func() error {
		return func() error {
			_, err := source.SQLite(db).Count(context.Background(), anyone{}, table, q)
			return err
		}
	}
	measure("few rows", count(few))
	measure("half the rows", count(half))
	measure("all rows", count(query.All(u)))
	measure("cells", func() error {
		_, err := source.SQLite(db).Cells(context.Background(), anyone{}, table, []int{0, 1, 2, 3, 4}, coder, math.MaxInt)
		return err
	})
	run(b, db, "CREATE INDEX i ON raw (diagnosis, sex, age)")
	run(b, db, "CREATE INDEX p ON raw (person)")
	measure("few rows indexed", count(few))
}

// TestKeys counts units by key, and compares them with a table of rows and one of units. NULL is
// no key, a row outside the domains has none, and a unit counts once for each key of the rows that
// are kept of it: of two rows at most two keys.
func TestKeys(t *testing.T) {
	ctx := context.Background()
	db := memory(t, "CREATE TABLE raw (a INTEGER, zip TEXT, person)",
		"INSERT INTO raw VALUES (1, 'x', 1), (1, 'x', 1), (1, 'y', 2), (1, 'X', 2), (1, NULL, 3), (1, 'x', 3), (7, 'z', 4), (1, '', 5), (1, 'x', NULL), (1, 12, 6), (1, x'78', 7)",
		"WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99) INSERT INTO raw SELECT 1, 'many ' || i, 'one of many' FROM n")
	columns := []query.Column{{Name: "a", Domain: between(t, 0, 1)}, {Name: "zip", Domain: query.Unbounded()}}
	for unit, want := range map[string]map[string]int64{
		"":       {"x": 4, "X": 1, "y": 1, "": 1, "12": 1},
		"person": {"x": 2, "X": 1, "y": 1, "": 1, "12": 1},
	} {
		table := source.Table{Source: "raw", Columns: columns, Unit: unit, MaxRows: 2, Key: []byte{1}}
		keys, err := source.SQLite(db).Keys(ctx, anyone{}, table, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, many := make(map[string]int64), int64(0)
		for key, n := range keys.All() {
			if strings.HasPrefix(key, "many") {
				many += n
			} else {
				got[key] = n
			}
		}
		if !maps.Equal(got, want) || unit == "" && many != 100 || unit != "" && many != 2 {
			t.Errorf("unit %q: %v and %d others, want %v", unit, got, many, want)
		}
		if text := fmt.Sprintf("%v %+v %#v", keys, keys, keys); text != "keys keys keys" {
			t.Errorf("keys are printed as %s", text)
		}
	}
	if _, err := source.SQLite(db).Keys(ctx, anyone{}, source.Table{Source: "raw", Columns: columns}, 2); sqlerr.CodeOf(err) != sqlerr.Internal {
		t.Errorf("a column that the table does not have: %v", err)
	}
	if _, err := source.SQLite(db).Keys(ctx, anyone{}, source.Table{Source: "raw", Columns: columns, Unit: "person", MaxRows: 2}, 1); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("a unit without key: %v", err)
	}
}
