package main

import (
	"bytes"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

// visits makes a database of 900 visits, 300 for each ward, with a release that has no noise.
func visits(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "visits.db")
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Exec(`CREATE TABLE raw_visits AS WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 899)
		SELECT char(65 + i % 3) AS ward, i % 100 AS age FROM n`); err != nil {
		t.Fatal(err)
	}
	raw.Close()
	db, err := sql.Open("dpsql", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, text := range []string{
		`CREATE PRIVATE TABLE visits (ward TEXT IN ('A', 'B', 'C'), age INTEGER BETWEEN 0 AND 99) FROM raw_visits WITH (epsilon = 100, delta = 1e-6)`,
		`CREATE RELEASE wards ON visits (ward) USING PROJECTION WITH (epsilon = 50)`,
	} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestAnalyst(t *testing.T) {
	path := visits(t)
	ask := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if err := run(t.Context(), &out, args); err != nil {
			return explained(err)
		}
		return out.String()
	}
	if got, want := ask(path, `SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward`),
		"ward  n\nA     300 ± 0\nB     300 ± 0\nC     300 ± 0\n± at 95 % · wards · ρ = 0\n"; got != want {
		t.Errorf("free:\n%s, want\n%s", got, want)
	}
	const narrow = `SELECT COUNT(*) AS n FROM visits WHERE age < 10`
	if got := ask(path, narrow); !strings.Contains(got, "uncovered") || !strings.Contains(got, "(in Go: `?accuracy=50` or dpsql.With)") {
		t.Errorf("what no release answers: %s", got)
	}
	bought := ask("-accuracy", "5", "-confidence", "0.99", path, narrow)
	if !strings.Contains(bought, "± at 99 % · direct · ρ = ") || strings.HasSuffix(bought, "ρ = 0\n") {
		t.Errorf("bought: %s", bought)
	}
	if again := ask("-accuracy", "5", "-confidence", "0.99", path, narrow); !strings.HasSuffix(again, "ρ = 0\n") || strings.Split(again, "\n")[1] != strings.Split(bought, "\n")[1] {
		t.Errorf("again: %s, and before %s", again, bought)
	}
	if got := ask(path, `SELECT COUNT(*) FROM visits WHERE ward = 'X'`); !strings.Contains(got, "warning: ward = 'X'") {
		t.Errorf("a ward that does not exist: %s", got)
	}
	for _, args := range [][]string{nil, {path}, {path, "DROP RELEASE wards"}, {path, "SELECT"}} {
		if got := ask(args...); !strings.Contains(got, "usage") && !strings.Contains(got, "forbidden") && !strings.Contains(got, "malformed") {
			t.Errorf("%q: %s", args, got)
		}
	}
}
