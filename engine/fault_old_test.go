package engine

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"dpsql/sqlerr"
)

// oldDatabase makes a database as an older version of the catalog left it.
func oldDatabase(t *testing.T, version string) string {
	t.Helper()
	text, err := os.ReadFile("../catalog/testdata/" + version + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "people.db")
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Exec(string(text)); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOldDatabase answers from a database of each older version what it answered
// then, for reading only and when it may be taken to the present version.
func TestOldDatabase(t *testing.T) {
	for _, version := range []string{"version1", "version2"} {
		t.Run(version, func(t *testing.T) { answersAsBefore(t, oldDatabase(t, version)) })
	}
}

func answersAsBefore(t *testing.T, path string) {
	t.Helper()
	remembers := func(db *DB) {
		t.Helper()
		for _, known := range []struct {
			mechanism, text string
			want            int64
		}{
			{"cells", `SELECT COUNT(*) FROM people WHERE age = 7`, 101},
			{"direct", `SELECT COUNT(*) FROM people WHERE age = 7`, 95},
		} {
			if r := mustWith(t, db, known.mechanism, known.text); r.Rows[0][0] != known.want || r.Answer.Cost != (Cost{}) {
				t.Errorf("%s by %s: %v at a cost of %v, it was %d", known.text, known.mechanism, r.Rows, r.Answer.Cost, known.want)
			}
		}
	}
	reading := open(t, path, Options{ReadOnly: true})
	remembers(reading)
	spent := must(t, reading.NewSession(), `SHOW BUDGET`).Rows
	db := open(t, path, Options{})
	if r := mustWith(t, db, "live", `SELECT COUNT(*) FROM people WHERE age IN (4, 5, 6)`); r.Rows[0][0] != int64(301) {
		t.Errorf("%v, it was 301", r.Rows)
	}
	remembers(db)
	mustWith(t, db, "live", `SELECT COUNT(*) FROM people WHERE age = 60`)
	before := must(t, db.NewSession(), `SHOW BUDGET`).Rows
	for i := range spent {
		if spent[i][4] != before[i][4] {
			t.Errorf("%v was spent, and now %v", spent[i], before[i])
		}
	}
	must(t, db.NewSession(), `DROP MECHANISM live`)
	audit(t, db)
	if _, err := with(open(t, path, Options{}), "cells", `SELECT COUNT(*) FROM gone`); sqlerr.CodeOf(err) != sqlerr.Unknown {
		t.Errorf("a dropped table: %v", err)
	}
}
