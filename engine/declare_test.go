package engine_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// TestBadDeclarations checks that each is refused with its code and a position or a hint,
// and that nothing is charged.
func TestBadDeclarations(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.1)`)
	before := ledger(t, s)
	private := func(columns, with string) string {
		return `CREATE PRIVATE TABLE p (` + columns + `) FROM raw_admissions WITH (` + with + `)`
	}
	release := func(with string) string {
		return `CREATE RELEASE r ON admissions (sex, age) USING PROJECTION WITH (` + with + `)`
	}
	mechanism := func(with string) string {
		return `CREATE MECHANISM m ON admissions (sex, age) USING SMW WITH (` + with + `)`
	}
	tests := []struct {
		code sqlerr.Code
		text string
	}{
		{sqlerr.Unknown, `CREATE PRIVATE TABLE p (a INTEGER BETWEEN 0 AND 1) FROM nowhere WITH (epsilon = 1)`},
		{sqlerr.Unknown, private(`shoe INTEGER BETWEEN 0 AND 1`, `epsilon = 1`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 9 AND 0`, `epsilon = 1`)},
		{sqlerr.Invalid, private(`age INTEGER IN (1, 1)`, `epsilon = 1`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9, AGE INTEGER BETWEEN 0 AND 9`, `epsilon = 1`)},
		{sqlerr.Invalid, private(`age INTEGER`, `epsilon = 1`)},
		{sqlerr.Invalid, private(`age REAL`, `epsilon = 1`)},
		{sqlerr.Unsupported, private(`age BLOB`, `epsilon = 1`)},
		{sqlerr.Forbidden, private(`sex TEXT IN (SELECT sex FROM raw_admissions)`, `epsilon = 1`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `delta = 1e-6`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = 0`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = -1`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = NaN`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = 1e20`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = 1e-320`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = 1, delta = 1`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = 1, delta = -1e-9`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = 1, interactive = 2`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = 1, interactive = 0.5`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = 1, epsilon = 2`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = 1, colour = 2`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = 9, delta = 1e-6`)},                           // another budget for the same rows
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = 4, delta = 1e-6, unit = sex, max_rows = 2`)}, // the table's unit is a row
		{sqlerr.Unknown, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = 4, delta = 1e-6, unit = shoe, max_rows = 2`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = 4, delta = 1e-6, unit = sex`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = 4, delta = 1e-6, unit = 3, max_rows = 2`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = 4, delta = 1e-6, unit = sex, max_rows = 0`)},
		{sqlerr.Invalid, private(`age INTEGER BETWEEN 0 AND 9`, `epsilon = 4, delta = 1e-6, max_rows = 2`)},
		{sqlerr.Forbidden, `CREATE PRIVATE TABLE p (name TEXT) FROM dpsql_ledger WITH (epsilon = 1)`},
		{sqlerr.Exists, `CREATE PRIVATE TABLE admissions (sex TEXT) FROM raw_admissions WITH (epsilon = 4, delta = 1e-6)`},
		{sqlerr.Invalid, `CREATE PUBLIC TABLE raw_admissions`},
		{sqlerr.Unknown, `CREATE PUBLIC TABLE nowhere`},
		{sqlerr.Unknown, `CREATE RELEASE r ON nowhere USING PROJECTION WITH (epsilon = 1)`},
		{sqlerr.Unknown, `CREATE RELEASE r ON admissions (shoe) USING PROJECTION WITH (epsilon = 1)`},
		{sqlerr.Malformed, release(``)},
		{sqlerr.Invalid, release(`rows = 64`)},
		{sqlerr.Invalid, release(`epsilon = 0`)},
		{sqlerr.Invalid, release(`epsilon = 1, transform = magic`)},
		{sqlerr.Invalid, release(`epsilon = 1, rows = 0`)},
		{sqlerr.Invalid, release(`epsilon = 1, rows = 1e15`)},
		{sqlerr.Invalid, release(`epsilon = 1, rows = 10.5`)},
		{sqlerr.Invalid, release(`epsilon = 1, max_support = -1`)},
		{sqlerr.Invalid, release(`epsilon = 1, transform = identity, rows = 10`)},
		{sqlerr.Invalid, release(`epsilon = 1, noise = laplace`)},
		{sqlerr.Budget, release(`epsilon = 3`)},
		{sqlerr.Budget, release(`epsilon = 1, delta = 0.5, transform = dense, rows = 64`)},
		{sqlerr.Exists, `CREATE RELEASE cells ON admissions USING PROJECTION WITH (epsilon = 1)`},
		{sqlerr.Invalid, `CREATE RELEASE direct ON admissions USING PROJECTION WITH (epsilon = 1)`},
		{sqlerr.Invalid, `CREATE RELEASE r ON admissions USING PROJECTION WITH (epsilon = 1, transform = identity)`},
		{sqlerr.Invalid, `CREATE RELEASE r ON admissions (sex, age) USING SMW WITH (epsilon = 1)`},
		{sqlerr.Invalid, `CREATE RELEASE r ON admissions (sex, zip) USING SMW WITH (epsilon = 1, free_columns = 1)`},
		{sqlerr.IO, `CREATE RELEASE r ON admissions (sex, age) USING SMW WITH (epsilon = 1, workload = 'missing.sql')`},
		{sqlerr.Invalid, `CREATE RELEASE r ON admissions (sex, age) USING SMW WITH (epsilon = 1, free_columns = 1, max_support = 3)`},
		{sqlerr.Budget, mechanism(`epsilon = 3`)},
		{sqlerr.Invalid, mechanism(`epsilon = 1, max_updates = 0`)},
		{sqlerr.Invalid, mechanism(`epsilon = 1, max_updates = 5, alpha = 0.1`)},
		{sqlerr.Invalid, mechanism(`epsilon = 1, delta = 1e-7`)},
		{sqlerr.Invalid, mechanism(`epsilon = 1, beta = 1`)},
		{sqlerr.Invalid, mechanism(`epsilon = 1, update = guess`)},
		{sqlerr.Exists, `CREATE MECHANISM cells ON admissions USING SMW WITH (epsilon = 1)`},
		{sqlerr.Unknown, `DROP RELEASE nowhere`},
		{sqlerr.Unknown, `DROP MECHANISM nowhere`},
		{sqlerr.Unknown, `DROP PRIVATE TABLE nowhere`},
		{sqlerr.Unknown, `DROP PUBLIC TABLE nowhere`},
		{sqlerr.Invalid, `DROP PRIVATE TABLE admissions`}, // a release uses it
		{sqlerr.Unknown, `EXPORT RELEASE nowhere TO 'x.db'`},
		{sqlerr.Unknown, `DESCRIBE nowhere`},
		{sqlerr.Unknown, `SET colour = red`},
		{sqlerr.Invalid, `SET confidence = 1`},
		{sqlerr.Invalid, `SET accuracy = -5`},
		{sqlerr.Invalid, `SET clamp = perhaps`},
	}
	for _, tt := range tests {
		e := refused(t, s, tt.code, tt.text)
		if e.Hint == "" && e.Position == 0 {
			t.Errorf("%s\n%v: neither a hint nor a position", tt.text, e)
		}
	}
	if after := ledger(t, s); after != before {
		t.Errorf("refused statements changed the ledger from\n%s\nto\n%s", before, after)
	}
}

// TestBudgetFollowsTheRows declares a table again, and another over a view of the same
// rows. Both continue one ledger.
func TestBudgetFollowsTheRows(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE a ON admissions (sex) USING PROJECTION WITH (epsilon = 1.5)`)
	must(t, s, `DROP RELEASE a`)
	must(t, s, `DROP PRIVATE TABLE admissions`)
	fill(t, s, `CREATE VIEW elderly AS SELECT * FROM raw_admissions WHERE age > 60`)
	must(t, s, `CREATE PRIVATE TABLE again (sex TEXT IN ('F', 'M')) FROM raw_admissions WITH (epsilon = 4, delta = 1e-6)`)
	must(t, s, `CREATE PRIVATE TABLE seen (sex TEXT IN ('F', 'M')) FROM elderly WITH (epsilon = 4, delta = 1e-6)`)
	for _, table := range []string{"again", "seen"} {
		e := refused(t, s, sqlerr.Budget, `CREATE RELEASE b ON `+table+` USING PROJECTION WITH (epsilon = 1)`)
		if !strings.Contains(e.Message, "0.5") {
			t.Errorf("%v does not say what is left", e)
		}
	}
	must(t, s, `CREATE RELEASE b ON seen USING PROJECTION WITH (epsilon = 0.5)`) // exactly the rest of the budget
	refused(t, s, sqlerr.Budget, `CREATE RELEASE c ON again USING PROJECTION WITH (epsilon = 0.000000000000001)`)
}

// TestViewOverAPublicTable joins private rows with a public table. The budget is that of
// the private rows alone.
func TestViewOverAPublicTable(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	fill(t, s, `CREATE VIEW labelled AS SELECT r.sex, c.label FROM raw_admissions r JOIN icd10 c ON c.code = r.diagnosis`,
		`CREATE VIEW codes AS SELECT code FROM icd10`)
	must(t, s, `CREATE PRIVATE TABLE l (sex TEXT IN ('F', 'M'), label TEXT) FROM labelled WITH (epsilon = 4, delta = 1e-6)`)
	refused(t, s, sqlerr.Invalid, `CREATE PRIVATE TABLE c (code TEXT) FROM codes WITH (epsilon = 4, delta = 1e-6)`)
	refused(t, s, sqlerr.Invalid, `CREATE PUBLIC TABLE labelled`)
}

// TestChangedSchemaIsRefused redefines a view under its declaration. It now reads other
// rows, and no budget was charged for these.
func TestChangedSchemaIsRefused(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	fill(t, s, `CREATE VIEW v AS SELECT * FROM raw_admissions`, `CREATE TABLE staff (sex TEXT)`)
	must(t, s, `CREATE PRIVATE TABLE t (sex TEXT IN ('F', 'M')) FROM v WITH (epsilon = 4, delta = 1e-6)`)
	fill(t, s, `DROP VIEW v`, `CREATE VIEW v AS SELECT * FROM staff`)
	before := ledger(t, s)
	refused(t, s, sqlerr.Invalid, `CREATE RELEASE r ON t USING PROJECTION WITH (epsilon = 1)`)
	must(t, s, `SET accuracy = 30`)
	refused(t, s, sqlerr.Invalid, `SELECT COUNT(*) FROM t`)
	if after := ledger(t, s); after != before {
		t.Errorf("the ledger changed to\n%s", after)
	}
}

func TestIfNotExists(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	for range 2 {
		must(t, s, `CREATE PUBLIC TABLE IF NOT EXISTS icd10`)
		must(t, s, `CREATE PRIVATE TABLE IF NOT EXISTS admissions (sex TEXT) FROM raw_admissions WITH (epsilon = 4, delta = 1e-6)`)
		must(t, s, `CREATE RELEASE IF NOT EXISTS r ON admissions (sex) USING PROJECTION WITH (epsilon = 0.5)`)
		must(t, s, `CREATE MECHANISM IF NOT EXISTS m ON admissions (sex) USING SMW WITH (epsilon = 0.5)`)
	}
	if n := strings.Count(ledger(t, s), "create release"); n != 1 {
		t.Errorf("two runs created %d releases", n)
	}
	must(t, s, `DROP RELEASE IF EXISTS r`)
	must(t, s, `DROP RELEASE IF EXISTS r`)
}

func TestAnalystMayOnlyAsk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "clinic.db")
	must(t, clinicAt(t, path), `CREATE RELEASE r ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.5)`)
	s := open(t, path, engine.Options{Role: engine.Analyst}).NewSession()
	must(t, s, `SELECT COUNT(*) FROM admissions WHERE age = 3`)
	must(t, s, `SHOW BUDGET`)
	must(t, s, `EXPLAIN SELECT COUNT(*) FROM admissions WHERE age = 3`)
	for _, text := range []string{`CREATE PUBLIC TABLE icd10`, `CREATE PRIVATE TABLE t (a TEXT) FROM x WITH (epsilon = 1)`,
		`CREATE RELEASE x ON admissions USING PROJECTION WITH (epsilon = 0.1)`, `CREATE MECHANISM x ON admissions USING SMW WITH (epsilon = 0.1)`,
		`DROP RELEASE r`, `DROP MECHANISM nowhere`, `EXPORT RELEASE r TO 'x.db'`} {
		refused(t, s, sqlerr.Forbidden, text)
	}
	if _, err := s.Import(context.Background(), engine.Import{Path: "x.csv", Table: "x"}); sqlerr.CodeOf(err) != sqlerr.Forbidden {
		t.Errorf("import: %v, want forbidden", err)
	}
	must(t, s, `SELECT COUNT(*) FROM icd10`) // public
	refused(t, s, sqlerr.Unsupported, `SELECT COUNT(*) FROM raw_admissions`)
	for _, text := range []string{`SELECT COUNT(*) FROM sqlite_schema`, `SELECT COUNT(*) FROM dpsql_ledger`} {
		refused(t, s, sqlerr.Unknown, text)
	}
}
