package engine_test

import (
	"path/filepath"
	"testing"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// TestHugeValues has blobs that SQLite cannot sort or convert within its own limits. As units and
// in columns they are outside. In a view that groups by them the first statement fails, when it
// was charged, and after it everything that reads the table is refused before a charge.
func TestHugeValues(t *testing.T) {
	if !*long {
		t.Skip("it takes two gigabytes: run with -args -long, as .ci/long does")
	}
	s := open(t, filepath.Join(t.TempDir(), "state.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (unit, v INTEGER, s)`, `INSERT INTO raw VALUES (1, 1, 'a'), (2, 2, 'b'), (zeroblob(510000000), 4, 'a'), (3, 4, zeroblob(510000000))`,
		`CREATE TABLE below (unit, v INTEGER, s)`, `INSERT INTO below VALUES (1, 1, 'a'), (2, 4, zeroblob(510000000))`, `CREATE VIEW grouped AS SELECT unit, max(v) AS v FROM below GROUP BY unit, s, lower(s)`)
	must(t, s, `CREATE PRIVATE TABLE seen (v INTEGER BETWEEN 0 AND 9, s TEXT) FROM raw WITH (epsilon = 100, delta = 1e-6, interactive = 0.5, unit = unit, max_rows = 1)`)
	must(t, s, `CREATE PRIVATE TABLE groups (v INTEGER BETWEEN 0 AND 9) FROM grouped WITH (epsilon = 100, delta = 1e-6, interactive = 0.5, unit = unit, max_rows = 1)`)
	must(t, s, `SET accuracy = 100`)
	must(t, s, `SELECT SUM(v) FROM seen WHERE s <> 'b'`)
	before := len(entries(t, s.DB()))
	refused(t, s, sqlerr.Invalid, `SELECT COUNT(*) FROM groups WHERE v = 3`)
	told := len(entries(t, s.DB()))
	for _, text := range []string{`SELECT COUNT(*) FROM groups WHERE v = 4`, `SELECT COUNT(*) FROM groups`, `CREATE RELEASE r ON groups USING PROJECTION WITH (epsilon = 1)`} {
		refused(t, s, sqlerr.Invalid, text)
	}
	if n := len(entries(t, s.DB())); told == before || n != told {
		t.Errorf("%d lines before, %d when it was told, %d later: %v", before, told, n, entries(t, s.DB())[before:])
	}
}
