package main

import (
	"database/sql"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// rows makes a file of 9,000 rows: 750 for each ward in each quarter of 2024.
func rows(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "visits.db")
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Exec(`CREATE TABLE raw_visits AS WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 8999)
		SELECT char(65 + i % 3) AS ward, date('2024-01-15', (i / 3 % 4 * 3) || ' months') AS came FROM n`); err != nil {
		t.Fatal(err)
	}
	return path
}

// charges returns the number of lines of the ledger.
func charges(t *testing.T, path string) (n int) {
	t.Helper()
	db, err := sql.Open("dpsql", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	lines, err := db.Query(`SHOW LEDGER`)
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	for lines.Next() {
		n++
	}
	return n
}

func TestNightly(t *testing.T) {
	path, file := rows(t), filepath.Join(t.TempDir(), "visits.csv")
	now := time.Date(2025, 2, 3, 4, 5, 6, 0, time.UTC)
	if err := run(t.Context(), path, file, 0.5, now); err != nil {
		t.Fatal(explained(err))
	}
	text, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	lines, err := csv.NewReader(text).ReadAll()
	if err != nil || len(lines) != 13 || lines[1][0] != "2024-01-01" || lines[12][0] != "2024-10-01" || lines[12][1] != "C" {
		t.Fatalf("%v, %v", lines, err)
	}
	for _, line := range lines[1:] {
		n, err := strconv.Atoi(line[2])
		margin, none := strconv.Atoi(line[3])
		// The noise of a quarter is that of at most 92 cells at ε = 0.5: beyond 300 with probability below 1e-9.
		if err != nil || none != nil || n < 450 || n > 1050 || margin < 1 || margin > 300 {
			t.Errorf("%v", line)
		}
	}
	before := charges(t, path)
	if err := run(t.Context(), path, file, 0.5, now); err != nil || charges(t, path) != before {
		t.Errorf("the second night: %v, and %d lines of the ledger after %d", err, charges(t, path), before)
	}
}

func TestStatus(t *testing.T) {
	path, file := rows(t), filepath.Join(t.TempDir(), "visits.csv")
	now := time.Date(2025, 2, 3, 0, 0, 0, 0, time.UTC)
	if err := run(t.Context(), path, file, 1.5, now); status(err) != 3 {
		t.Errorf("beyond the budget: %v", err)
	}
	if err := run(t.Context(), filepath.Join(path, "none", "x.db"), file, 0.5, now); err == nil || status(err) != 1 {
		t.Errorf("no such folder: %v", err)
	}
}
