package engine_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"dpsql/engine"
	"dpsql/engine/internal/rows"
	"dpsql/sqlerr"
)

func TestSources(t *testing.T) {
	f := newFar(t)
	s := outsideClinic(t, f)
	if r := must(t, s, `CREATE SOURCE IF NOT EXISTS Warehouse USING POSTGRES WITH (dsn_env = OTHER)`); len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "OTHER is not set") {
		t.Errorf("warnings %q", r.Warnings)
	}
	must(t, s, `CREATE SOURCE lake USING POSTGRES WITH (dsn_env = 'WAREHOUSE_DSN')`)
	rows := must(t, s, `SHOW SOURCES`).Rows
	if len(rows) != 2 || fmt.Sprint(rows[0][:5], rows[1][:5]) != "[lake postgres WAREHOUSE_DSN <nil> 0] [warehouse postgres WAREHOUSE_DSN 30 s 1]" {
		t.Errorf("SHOW SOURCES: %v", rows)
	}
	if rows := must(t, s, `SHOW TABLES`).Rows; fmt.Sprint(rows[0]) != "[admissions private 4 infinite single rows <nil> <nil> warehouse.public.raw_admissions <nil>]" {
		t.Errorf("SHOW TABLES: %v", rows)
	}
	if rows := must(t, s, `DESCRIBE admissions`).Rows; fmt.Sprint(rows[0]) != "[sex TEXT IN ('F', 'M', NULL) 3 single rows warehouse.public.raw_admissions <nil>]" {
		t.Errorf("DESCRIBE: %v", rows)
	}
	if e := refused(t, s, sqlerr.Invalid, `DROP SOURCE warehouse`); !strings.Contains(e.Message, "admissions") || !strings.Contains(e.Hint, "DROP PRIVATE TABLE admissions") {
		t.Errorf("%v (%s)", e, e.Hint)
	}
	must(t, s, `DROP PRIVATE TABLE admissions`)
	must(t, s, `DROP SOURCE warehouse`)
	if f.closed != 1 {
		t.Errorf("%d pools were closed, want 1", f.closed)
	}
	refused(t, s, sqlerr.Unknown, `DROP SOURCE warehouse`)
	must(t, s, `DROP SOURCE IF EXISTS warehouse`)
	if v, err := s.Vocabulary(t.Context()); err != nil || fmt.Sprint(v.Sources) != "[lake]" {
		t.Errorf("names %v, %v", v.Sources, err)
	}
}

// TestSourceRefusals declares what cannot be. A ‸ is where the error points.
func TestSourceRefusals(t *testing.T) {
	f := newFar(t, `CREATE VIEW ages AS SELECT age FROM raw_admissions`)
	s := outsideClinic(t, f)
	table := func(columns, place string) string {
		return `CREATE PRIVATE TABLE t (` + columns + `) FROM ` + place + ` WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)`
	}
	before := ledger(t, s)
	for _, c := range []struct {
		text          string
		code          sqlerr.Code
		message, hint string
	}{
		{`CREATE SOURCE ‸w USING POSTGRES`, sqlerr.Invalid, "dsn_env is missing", "environment variable"},
		{`CREATE SOURCE w USING POSTGRES WITH (dsn_env = ‸5)`, sqlerr.Invalid, "name of an environment variable", "WAREHOUSE_DSN"},
		{`CREATE SOURCE w USING POSTGRES WITH (dsn_env = ‸"host=h")`, sqlerr.Invalid, "does not belong into a statement", "name that"},
		{`CREATE SOURCE w USING POSTGRES WITH (dsn_env = W, ‸dsn = x)`, sqlerr.Invalid, "no option dsn", "dsn_env, timeout"},
		{`CREATE SOURCE w USING POSTGRES WITH (dsn_env = W, timeout = ‸0)`, sqlerr.Invalid, "timeout must be a whole number", ""},
		{`CREATE SOURCE ‸main USING POSTGRES WITH (dsn_env = W)`, sqlerr.Invalid, "SQLite", ""},
		{`CREATE SOURCE ‸WAREHOUSE USING POSTGRES WITH (dsn_env = W)`, sqlerr.Invalid, "the source warehouse exists", ""},
		{table(`age INTEGER BETWEEN 0 AND 9`, `‸nowhere.public.raw_admissions`), sqlerr.Unknown, "no source nowhere", "SHOW SOURCES"},
		{table(`age INTEGER BETWEEN 0 AND 9`, `warehouse.‸absent`), sqlerr.Unknown, "absent", ""},
		{strings.Replace(table(`years INTEGER BETWEEN 0 AND 9`, `warehouse.raw_admissions`), " t ", " ‸t ", 1), sqlerr.Unknown, "years", "its columns are"},
		{table(`age INTEGER IN (SELECT a FROM ‸secrets)`, `warehouse.raw_admissions`), sqlerr.Forbidden, "not declared public", ""},
		{strings.Replace(table(`age INTEGER BETWEEN 0 AND 9`, `warehouse.ages`), "epsilon = 4", "epsilon = 5", 1), sqlerr.Invalid, "already have the budget", "continue it"},
		{strings.Replace(table(`age INTEGER BETWEEN 0 AND 9`, `warehouse.raw_admissions`), "epsilon", "unit = patient, max_rows = 2, epsilon", 1), sqlerr.Invalid, "protects single rows", "same unit"},
		{strings.Replace(admissionsOver, "SOURCE", "warehouse.raw_admissions", 1), sqlerr.Invalid, "admissions exists", ""},
	} {
		head, tail, marked := strings.Cut(c.text, "‸")
		e := refused(t, s, c.code, head+tail)
		if !strings.Contains(e.Message, c.message) || !strings.Contains(e.Hint, c.hint) || marked && e.Position != utf8.RuneCountInString(head)+1 {
			t.Errorf("%s\n%v at %d (%s)", c.text, e, e.Position, e.Hint)
		}
	}
	if after := ledger(t, s); after != before {
		t.Errorf("the ledger has\n%s", after)
	}
	snapshots := f.snapshots
	must(t, s, strings.Replace(from("warehouse.raw_admissions"), "TABLE", "TABLE IF NOT EXISTS", 1))
	if f.snapshots != snapshots {
		t.Error("a table that exists was looked at")
	}
	analyst := open(t, s.DB().Store().Path(), engine.Options{Role: engine.Analyst}).NewSession()
	for _, text := range []string{`CREATE SOURCE w USING POSTGRES WITH (dsn_env = W)`, `DROP SOURCE warehouse`} {
		refused(t, analyst, sqlerr.Forbidden, text)
	}
}

// TestOneBudgetAcrossSources: the budget belongs to the rows, by whichever name
// they are reached; and the database that the secret names must stay the same.
func TestOneBudgetAcrossSources(t *testing.T) {
	f := newFar(t, `CREATE VIEW women AS SELECT * FROM raw_admissions WHERE sex = 'F'`)
	s := outsideClinic(t, f)
	t.Setenv("LAKE_DSN", farDSN)
	must(t, s, `CREATE SOURCE lake USING POSTGRES WITH (dsn_env = LAKE_DSN)`)
	r := must(t, s, strings.Replace(from("lake.women"), "admissions", "women", 1))
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "another dpsql file") {
		t.Errorf("warnings %q", r.Warnings)
	}
	must(t, s, `CREATE RELEASE cells ON women (age) USING PROJECTION WITH (epsilon = 1.5)`)
	if e := refused(t, s, sqlerr.Budget, `CREATE RELEASE more ON admissions (age) USING PROJECTION WITH (epsilon = 1)`); !strings.Contains(e.Message, "0.5") {
		t.Error(e)
	}
	if n := strings.Count(ledger(t, s), "budget declared"); n != 1 {
		t.Errorf("%d budgets", n)
	}
	before := ledger(t, s)
	f.identity = "postgres 8 flights"
	if e := refused(t, s, sqlerr.Invalid, `CREATE RELEASE more ON admissions (age) USING PROJECTION WITH (epsilon = 0.1)`); !strings.Contains(e.Hint, "WAREHOUSE_DSN") {
		t.Errorf("%v (%s)", e, e.Hint)
	}
	if after := ledger(t, s); after != before {
		t.Errorf("charged:\n%s", after)
	}
	must(t, s, strings.Replace(from("lake.raw_admissions"), "admissions", "elsewhere", 1))
	if n := strings.Count(ledger(t, s), "budget declared"); n != 2 {
		t.Errorf("%d budgets, want one more for another database", n)
	}
}

// TestSameNameInFile: a public table of the file is not taken for a table of the
// same name outside of it, and the other way round.
func TestSameNameInFile(t *testing.T) {
	f := newFar(t, `CREATE TABLE icd10 (age INTEGER)`, `INSERT INTO icd10 VALUES (1)`)
	s := outsideClinic(t, f)
	fill(t, s, `CREATE TABLE "postgres 7 flights: public.icd10" (a)`, `CREATE TABLE raw_admissions (age INTEGER)`)
	must(t, s, `CREATE PUBLIC TABLE raw_admissions`)
	must(t, s, `CREATE PRIVATE TABLE ages (age INTEGER BETWEEN 0 AND 9) FROM warehouse.icd10 WITH (epsilon = 1)`)
	refused(t, s, sqlerr.Invalid, `CREATE PUBLIC TABLE "postgres 7 flights: public.icd10"`)
}

// TestChangedOutside: a table that changed is refused, without a charge.
func TestChangedOutside(t *testing.T) {
	f := newFar(t)
	s := outsideClinic(t, f)
	must(t, s, `SET accuracy = 200`)
	f.exec(t, `CREATE TABLE other (a)`) // is none of its business
	must(t, s, `SELECT COUNT(*) FROM admissions WHERE age = 3`)
	before := ledger(t, s)
	f.exec(t, `ALTER TABLE raw_admissions ADD COLUMN more`)
	for range 2 {
		e := refused(t, s, sqlerr.Invalid, `SELECT COUNT(*) FROM admissions WHERE age = 5`)
		if !strings.Contains(e.Message, "warehouse.public.raw_admissions changed") || !strings.Contains(e.Hint, "declare it again") {
			t.Errorf("%v (%s)", e, e.Hint)
		}
	}
	if after := ledger(t, s); after != before {
		t.Errorf("charged:\n%s", after)
	}
	must(t, s, `DROP PRIVATE TABLE admissions`)
	must(t, s, from("warehouse.raw_admissions"))
	must(t, s, `SELECT COUNT(*) FROM admissions WHERE age = 5`)
}

// TestUnitsOutside keeps the rows of a unit that its reader keeps.
func TestUnitsOutside(t *testing.T) {
	f := newFar(t)
	t.Setenv("WAREHOUSE_DSN", farDSN)
	s := open(t, filepath.Join(t.TempDir(), "clinic.db"), engine.Options{}).NewSession()
	f.dial(s.DB())
	must(t, s, createWarehouse)
	must(t, s, `CREATE PRIVATE TABLE visits (age INTEGER BETWEEN 0 AND 120) FROM warehouse.raw_admissions
		WITH (epsilon = 100, delta = 1e-6, unit = patient, max_rows = 2)`)
	must(t, s, `SET accuracy = 20`)
	// 1,334 patients, of three admissions each but the last, who has one. The noise
	// is within 20 at 95 %, and beyond 100 with probability below 1e-20.
	if n := count(t, s, `SELECT COUNT(*) FROM visits`); n < 2667-100 || n > 2667+100 {
		t.Errorf("%d rows, want about 2667", n)
	}
}

// TestWithTimeout reads connection strings as PostgreSQL's driver does.
func TestWithTimeout(t *testing.T) {
	for _, dsn := range []string{"postgres://u:p@h/d", "postgresql://u:p@h:1,g:2/d?sslmode=disable", "postgres://u:p@h/d?statement_timeout=5&sslmode=disable",
		"postgres://h?", "host=h user=u password='p q' statement_timeout=5", "dbname=d", ""} {
		c, err := pgconn.ParseConfig(rows.WithTimeout(dsn, 30))
		if err != nil || c.RuntimeParams["statement_timeout"] != "30000" {
			t.Fatalf("%s: %v, %v", dsn, c, err)
		}
		plain, err := pgconn.ParseConfig(rows.WithTimeout(dsn, 0))
		if want, _ := pgconn.ParseConfig(dsn); err != nil || plain.Host != want.Host || c.Host != want.Host || c.Password != want.Password || c.Database != want.Database ||
			plain.RuntimeParams["statement_timeout"] != want.RuntimeParams["statement_timeout"] {
			t.Errorf("%s: %v, %v", dsn, plain, err)
		}
	}
}
