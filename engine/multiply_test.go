package engine_test

import (
	"path/filepath"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// mapped makes a database in which a person with the code 'rare' meets 200 rows
// of a public table.
func mapped(t *testing.T) *engine.Session {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "mapped.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (person TEXT, age INTEGER, code TEXT)`, `CREATE TABLE map (code TEXT, area TEXT)`,
		`INSERT INTO raw SELECT 'p' || i, i % 90, 'c' || (i % 7) FROM `+numbers(500), `INSERT INTO raw VALUES ('x', 50, 'rare')`,
		`INSERT INTO map SELECT 'rare', 'area ' || i FROM `+numbers(200),
		`CREATE VIEW mapped AS SELECT r.person, r.age, m.area FROM raw AS r JOIN map AS m ON r.code = m.code`)
	must(t, s, `CREATE PUBLIC TABLE map`)
	return s
}

// TestViewsThatMultiply declares views by which one row would count several times,
// or change what others count, for the price of one: without a unit each is
// refused, nothing is charged, and no account is made.
func TestViewsThatMultiply(t *testing.T) {
	t.Parallel()
	s := mapped(t)
	for _, text := range []string{
		`SELECT * FROM mapped`,
		`SELECT a.person, a.age FROM raw AS a JOIN raw AS b ON a.age = b.age`,
		`SELECT * FROM raw UNION ALL SELECT * FROM raw UNION ALL SELECT * FROM raw`,
		`SELECT person, (SELECT count(*) FROM raw) AS age FROM raw`,
		`SELECT * FROM raw LIMIT 10`,
	} {
		fill(t, s, `CREATE VIEW seen AS `+text)
		e := refused(t, s, sqlerr.Unsupported, `CREATE PRIVATE TABLE people (age INTEGER BETWEEN 0 AND 1000) FROM seen WITH (epsilon = 1, delta = 1e-6)`)
		if !strings.Contains(e.Message, "more than once") || !strings.Contains(e.Hint, "unit") {
			t.Errorf("%s: %v (%s)", text, e, e.Hint)
		}
		fill(t, s, `DROP VIEW seen`)
	}
	if after := ledger(t, s); after != "" {
		t.Errorf("the ledger has\n%s", after)
	}
	fill(t, s, `DELETE FROM map WHERE rowid > 1`, `CREATE UNIQUE INDEX by_code ON map (code)`)
	must(t, s, `CREATE PRIVATE TABLE people (age INTEGER BETWEEN 0 AND 1000) FROM mapped WITH (epsilon = 1, delta = 1e-6)`)
	fill(t, s, `DROP INDEX by_code`)
	before := ledger(t, s)
	must(t, s, `SET accuracy = 50`)
	refused(t, s, sqlerr.Unsupported, `SELECT COUNT(*) FROM people`)
	refused(t, s, sqlerr.Unsupported, `CREATE RELEASE r ON people USING PROJECTION WITH (epsilon = 0.1)`)
	if after := ledger(t, s); after != before {
		t.Errorf("the ledger changed to\n%s", after)
	}
}

// TestUnitOfAJoin declares the same join with a unit, which it may have: of the
// person's 200 rows two count, and those of all others stay without her.
func TestUnitOfAJoin(t *testing.T) {
	t.Parallel()
	s := mapped(t)
	fill(t, s, `INSERT INTO map SELECT 'c3', 'area ' || i FROM `+numbers(5))
	must(t, s, `CREATE PRIVATE TABLE people (age INTEGER BETWEEN 0 AND 99) FROM mapped WITH (epsilon = 1, delta = 1e-6, unit = person, max_rows = 2)`)
	with := trueCount(t, s, `SELECT COUNT(*) FROM people`)
	others := trueCount(t, s, `SELECT COUNT(*) FROM people WHERE age <> 50`)
	fill(t, s, `DELETE FROM raw WHERE person = 'x'`)
	if without := trueCount(t, s, `SELECT COUNT(*) FROM people`); with-without != 2 {
		t.Errorf("the person counts %d times", with-without)
	}
	if n := trueCount(t, s, `SELECT COUNT(*) FROM people WHERE age <> 50`); n != others || n == 0 {
		t.Errorf("the others count %d, with the person %d", n, others)
	}
	fill(t, s, `CREATE VIEW friends AS SELECT a.person, b.age FROM raw AS a JOIN raw AS b ON a.age = b.age`)
	e := refused(t, s, sqlerr.Unsupported, `CREATE PRIVATE TABLE friends (age INTEGER BETWEEN 0 AND 99) FROM friends WITH (epsilon = 1, delta = 1e-6, unit = person, max_rows = 2)`)
	if !strings.Contains(e.Message, "several units") {
		t.Error(e)
	}
}

// TestASecondBudgetWarns declares tables of which one could be made from the rows
// of another, and a view, which has their budget.
func TestASecondBudgetWarns(t *testing.T) {
	t.Parallel()
	s := mapped(t)
	const with = ` WITH (epsilon = 1, delta = 1e-6)`
	if r := must(t, s, `CREATE PRIVATE TABLE people (age INTEGER BETWEEN 0 AND 99) FROM raw`+with); len(r.Warnings) > 0 {
		t.Errorf("the first declaration warns: %q", r.Warnings)
	}
	fill(t, s, `CREATE VIEW decades AS SELECT age / 10 AS decade FROM raw`, `CREATE TABLE copy AS SELECT person, age FROM raw`)
	if r := must(t, s, `CREATE PRIVATE TABLE decades (decade INTEGER BETWEEN 0 AND 9) FROM decades`+with); len(r.Warnings) > 0 {
		t.Errorf("a view over rows with a budget warns: %q", r.Warnings)
	}
	r := must(t, s, `CREATE PRIVATE TABLE copy (age INTEGER BETWEEN 0 AND 99) FROM copy`+with)
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "copy gets a budget of its own") || !strings.Contains(r.Warnings[0], "(raw)") {
		t.Errorf("a copy of the rows is declared with the warnings %q", r.Warnings)
	}
	if r := must(t, s, `CREATE PRIVATE TABLE IF NOT EXISTS copy (age INTEGER BETWEEN 0 AND 99) FROM copy`+with); len(r.Warnings) > 0 {
		t.Errorf("nothing is declared, which warns: %q", r.Warnings)
	}
}
