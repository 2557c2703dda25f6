package engine

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dpsql/source/postgres/pgtest"
	"dpsql/sqlerr"
)

// onServer makes a database on a PostgreSQL server with the rows of clinic, and
// returns a session that declared them. The test is skipped where there is no
// server.
func onServer(t *testing.T) (s *Session, c *pgtest.Cluster) {
	t.Helper()
	c = pgtest.Start(t)
	c.MustExec(t, `CREATE TABLE raw_admissions (sex text, age integer, diagnosis text, zip text, patient integer);
		INSERT INTO raw_admissions SELECT CASE WHEN i % 2 = 1 THEN 'F' ELSE 'M' END, i % 100,
			CASE i % 3 WHEN 0 THEN 'E10' WHEN 1 THEN 'E11' ELSE 'I10' END, 15210 + i / 800, i / 3 FROM generate_series(0, 3999) AS i`)
	t.Setenv("WAREHOUSE_DSN", c.DSN())
	s = open(t, filepath.Join(t.TempDir(), "clinic.db"), Options{}).NewSession()
	fill(t, s, `CREATE TABLE icd10 (code TEXT, label TEXT)`,
		`INSERT INTO icd10 VALUES ('E10', 'type 1'), ('E11', 'type 2'), ('I10', 'pressure')`)
	for _, text := range []string{`CREATE PUBLIC TABLE icd10`, createWarehouse, from("warehouse.public.raw_admissions")} {
		must(t, s, text)
	}
	return s, c
}

// TestPostgresIsAsTheFile runs one script on rows of the file and on the same
// rows in PostgreSQL, under the same noise: all it says is the same.
func TestPostgresIsAsTheFile(t *testing.T) {
	s, _ := onServer(t)
	got := sayings(t, s, "warehouse.public.raw_admissions")
	want := sayings(t, clinic(t), "raw_admissions")
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("PostgreSQL: %s\nthe file:   %s", got[i], want[i])
		}
	}
}

// TestPostgresStops stops the server: before a charge nothing is charged, and
// what needs no rows goes on; when it is back, so is all.
func TestPostgresStops(t *testing.T) {
	s, c := onServer(t)
	must(t, s, `CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.2)`)
	must(t, s, `SET accuracy = 200`)
	must(t, s, `SET mechanism = direct`)
	must(t, s, `SELECT COUNT(*) FROM admissions WHERE zip = '15210'`)
	before := ledger(t, s)
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	e := refused(t, s, sqlerr.IO, `SELECT COUNT(*) FROM admissions WHERE zip = '15211'`)
	if strings.Contains(e.Error()+e.Hint, "host=") || e.Hint == "" {
		t.Errorf("%v (%s)", e, e.Hint)
	}
	refused(t, s, sqlerr.IO, `CREATE RELEASE more ON admissions (sex) USING PROJECTION WITH (epsilon = 0.2)`)
	must(t, s, `SELECT COUNT(*) FROM admissions WHERE zip = '15210'`)
	mustWith(t, s.db, "cells", `SELECT COUNT(*) FROM admissions WHERE age = 3`)
	if after := ledger(t, s); after != before {
		t.Errorf("charged:\n%s", after)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	must(t, s, `SELECT COUNT(*) FROM admissions WHERE zip = '15211'`)
}

// TestPostgresChanges alters the table under the declaration.
func TestPostgresChanges(t *testing.T) {
	s, c := onServer(t)
	must(t, s, `SET accuracy = 200`)
	c.MustExec(t, `ALTER TABLE raw_admissions ALTER COLUMN age TYPE bigint`)
	before := ledger(t, s)
	if e := refused(t, s, sqlerr.Invalid, `SELECT COUNT(*) FROM admissions WHERE zip = '15211'`); !strings.Contains(e.Message, "changed since") {
		t.Error(e)
	}
	c.MustExec(t, `DROP TABLE raw_admissions`)
	refused(t, s, sqlerr.Unknown, `SELECT COUNT(*) FROM admissions WHERE zip = '15211'`)
	if after := ledger(t, s); after != before {
		t.Errorf("charged:\n%s", after)
	}
}

// TestPostgresIsCancelled cancels a statement that waits on the server, which
// then no longer has it, and lets another run into its timeout.
func TestPostgresIsCancelled(t *testing.T) {
	s, c := onServer(t)
	c.MustExec(t, `CREATE VIEW slow AS SELECT sex, age, (SELECT 1 FROM pg_sleep(3600)) AS zip FROM raw_admissions`)
	for _, text := range []string{`CREATE SOURCE hasty USING POSTGRES WITH (dsn_env = WAREHOUSE_DSN, timeout = 1)`,
		strings.Replace(strings.Replace(from("warehouse.slow"), "admissions (", "slow (", 1), "zip TEXT", "zip INTEGER BETWEEN 0 AND 9", 1),
		strings.Replace(strings.Replace(from("hasty.slow"), "admissions (", "hasty (", 1), "zip TEXT", "zip INTEGER BETWEEN 0 AND 9", 1),
		`SET accuracy = 200`} {
		if strings.HasPrefix(text, "CREATE PRIVATE") {
			text = strings.Replace(text, ", diagnosis TEXT IN (SELECT code FROM icd10)", "", 1)
		}
		if _, err := s.Exec(context.Background(), text, nil); err != nil {
			if strings.Contains(text, "slow") && slices.Contains([]sqlerr.Code{sqlerr.Unsupported, sqlerr.Forbidden, sqlerr.Invalid}, sqlerr.CodeOf(err)) {
				t.Skipf("a view that sleeps is refused: %v", err)
			}
			t.Fatal(text, err)
		}
	}
	refused(t, s, sqlerr.IO, `SELECT COUNT(*) FROM hasty WHERE zip = 1 AND age = 1`)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for c.MustExec(t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'`) == "0" {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	if _, err := s.Exec(ctx, `SELECT COUNT(*) FROM slow WHERE zip = 1 AND age = 2`, nil); sqlerr.CodeOf(err) != sqlerr.Cancelled {
		t.Errorf("%v, want cancelled", err)
	}
	if n := c.MustExec(t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'`); n != "0" {
		t.Errorf("%s statements still sleep", n)
	}
}
