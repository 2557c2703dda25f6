package source_test

import (
	"context"
	"database/sql"
	"math"
	"strings"
	"testing"

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

// TestDomainsBeforeUnits: rows outside the domains take no place of those
// inside, those of columns that are not asked for included.
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
