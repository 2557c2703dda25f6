package importer_test

import (
	"database/sql"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpsql/internal/importer"
)

func TestTypes(t *testing.T) {
	tests := []struct{ fields, want string }{
		{"1 2 -3", "INTEGER"}, {"0", "INTEGER"}, {"9223372036854775807 -9223372036854775808", "INTEGER"},
		{"007", "TEXT"}, {"1 007", "TEXT"}, {"+5", "TEXT"}, {"-0", "TEXT"}, {"-", "TEXT"}, {"9223372036854775808", "TEXT"}, {"0x10", "TEXT"}, {"1_000", "TEXT"},
		{"1.5", "REAL"}, {"1 1.5", "REAL"}, {"1.0", "REAL"}, {".5 5.", "REAL"}, {"-1e3 1E+5 2e-7", "REAL"}, {"-.5", "REAL"}, {"0.0", "REAL"},
		{"00.5", "TEXT"}, {"1.5 007", "TEXT"}, {".", "TEXT"}, {"e5", "TEXT"}, {"1e", "TEXT"}, {"1e999", "TEXT"}, {"inf", "TEXT"}, {"NaN", "TEXT"}, {"1.5.2", "TEXT"},
		{"0x1p4", "TEXT"}, {"1.5 9007199254740993", "TEXT"}, {"1.5 9007199254740992", "REAL"}, {"1.5 9223372036854775808", "TEXT"},
		{"a 1", "TEXT"}, {"", "TEXT"}, {"1 2 ", "INTEGER"},
	}
	for _, test := range tests {
		if got := importer.TypeOf(strings.Split(test.fields, " ")); got != test.want {
			t.Errorf("%q: %s, want %s", test.fields, got, test.want)
		}
	}
}

// TestIntegersSurvive checks that SQLite prints an INTEGER field as it was written.
func TestIntegersSurvive(t *testing.T) {
	db := memory(t, "CREATE TABLE t (i INTEGER)")
	field := rapid.OneOf(rapid.StringMatching(`[+-]?[0-9]{0,20}[ .e]?[0-9]{0,1}`),
		rapid.StringMatching(`-?9223372036854775[0-9]{3}`), rapid.SampledFrom([]string{"0", "-0", "-", "00"}))
	rapid.Check(t, func(t *rapid.T) {
		f := field.Filter(func(s string) bool { return s != "" }).Draw(t, "field")
		back := throughSQLite(t, db, f)
		if _, ok := importer.Integer(f); ok != (back == "integer:"+f) {
			t.Fatalf("%q: taken %v, SQLite keeps %q", f, ok, back)
		}
		if importer.IsNumber(f) && !strings.HasPrefix(back, "real:") && !strings.HasPrefix(back, "integer:") {
			t.Fatalf("%q taken for a number, SQLite keeps %q", f, back)
		}
	})
}

// throughSQLite returns the stored type and text of a field in an INTEGER column.
func throughSQLite(t *rapid.T, db *sql.DB, field string) string {
	var back string
	for _, s := range []string{"DELETE FROM t", "INSERT INTO t VALUES (?1)"} {
		if _, err := db.Exec(s, field); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.QueryRow("SELECT typeof(i) || ':' || CAST(i AS TEXT) FROM t").Scan(&back); err != nil {
		t.Fatal(err)
	}
	return back
}
