package engine_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// TestWrongTypesWarn declares columns whose type in the source lets values be
// stored that belong to no value of the domain: rows with them would be counted
// nowhere, in silence.
func TestWrongTypesWarn(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "types.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (i INTEGER, big BIGINT, r REAL, d DATE, ts TIMESTAMP, t TEXT, n, num NUMERIC, dec DECIMAL(8, 2), bool BOOLEAN, b BLOB, dbl DOUBLE)`,
		`CREATE VIEW seen AS SELECT i, r, r AS "odd ""name", t, n, CAST(r AS INTEGER) AS whole, r * 2 AS twice, d FROM raw`,
		`CREATE TABLE exact (i INT, b BLOB, t TEXT, a ANY, r REAL) STRICT`)
	const whole = "not a whole number"
	for _, c := range []struct{ from, column, want string }{
		{"raw", "i INTEGER BETWEEN 0 AND 100", ""}, {"raw", "big INTEGER BETWEEN 0 AND 100", ""}, {"raw", "n INTEGER BETWEEN 0 AND 100", ""},
		{"raw", "num INTEGER BETWEEN 0 AND 100", ""}, {"raw", "bool INTEGER IN (0, 1)", ""},
		{"raw", "r INTEGER BETWEEN 0 AND 100", whole}, {"raw", "R INTEGER IN (1, 2)", whole}, {"raw", "dbl INTEGER BETWEEN 0 AND 100", whole},
		{"raw", "dec INTEGER BETWEEN 0 AND 100", whole}, {"raw", "d INTEGER BETWEEN 20240101 AND 20240199", whole}, {"raw", "ts INTEGER BETWEEN 0 AND 100", whole},
		{"raw", "t INTEGER BETWEEN 2020 AND 2030", whole}, {"raw", "b INTEGER BETWEEN 0 AND 100", whole},
		{"raw", "t TEXT IN ('01', 'x')", ""}, {"raw", "d TEXT IN ('2024-01-31')", ""}, {"raw", "n TEXT", ""}, {"raw", "i TEXT IN ('1', '-20', 'x', 'inf', '0x1', NULL)", ""},
		{"raw", "i TEXT", ""}, {"raw", "i TEXT IN ('1', '01')", "'01' is stored as a number"}, {"raw", "i TEXT IN (' 1')", "' 1' is stored as a number"},
		{"raw", "i TEXT IN ('1.5')", "'1.5' is stored as a number"}, {"raw", "r TEXT IN ('1', '2')", "'40.0'"},
		{"seen", "i INTEGER BETWEEN 0 AND 100", ""}, {"seen", "n INTEGER BETWEEN 0 AND 100", ""}, {"seen", "whole INTEGER BETWEEN 0 AND 100", ""},
		{"seen", "twice INTEGER BETWEEN 0 AND 100", ""}, {"seen", `"odd ""name" INTEGER BETWEEN 0 AND 100`, whole}, {"seen", "d INTEGER BETWEEN 0 AND 100", whole},
		{"exact", "i INTEGER BETWEEN 0 AND 100", ""}, {"exact", "a INTEGER BETWEEN 0 AND 100", ""}, {"exact", "r INTEGER BETWEEN 0 AND 100", whole},
		{"exact", "t INTEGER BETWEEN 0 AND 100", whole},
	} {
		r := must(t, s, `CREATE PRIVATE TABLE p (`+c.column+`) FROM `+c.from+` WITH (epsilon = 1, delta = 1e-6)`)
		r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "budget of its own") })
		if (len(r.Warnings) == 0) != (c.want == "") || c.want != "" && !strings.Contains(r.Warnings[0], c.want) {
			t.Errorf("%s of %s: warnings %q, want %q", c.column, c.from, r.Warnings, c.want)
		}
		must(t, s, `DROP PRIVATE TABLE p`)
	}
	for _, column := range []string{"b INTEGER BETWEEN 0 AND 100", "b TEXT"} {
		refused(t, s, sqlerr.Unsupported, `CREATE PRIVATE TABLE p (`+column+`) FROM exact WITH (epsilon = 1, delta = 1e-6)`)
	}
	if n := len(must(t, s, `SHOW TABLES`).Rows); n > 0 {
		t.Errorf("%d tables are declared", n)
	}
	fill(t, s, `INSERT INTO raw (r) VALUES (1), (1.5), (2.0), (2.5), (NULL)`)
	warned := must(t, s, `CREATE PRIVATE TABLE p (r INTEGER BETWEEN 0 AND 100) FROM raw WITH (epsilon = 1, delta = 1e-6)`).Warnings[0]
	_, check, _ := strings.Cut(warned, "not counted; ")
	check, _, _ = strings.Cut(check, " tells")
	var n int
	if err := plain(t, s).QueryRow(check).Scan(&n); err != nil || n != 2 {
		t.Errorf("%s gives %d, %v, and two rows are not counted", check, n, err)
	}
}
