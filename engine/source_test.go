package engine_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"dpsql/engine"
	"dpsql/engine/internal/rows"
	"dpsql/sqlerr"
)

func TestSources(t *testing.T) {
	t.Parallel()
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
	must(t, s, from("warehouse.public.raw_admissions")) // which opens a pool
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

// TestSourceRefusals tries invalid declarations. A ‸ marks the position of the error.
func TestSourceRefusals(t *testing.T) {
	t.Parallel()
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
		{`CREATE SOURCE ‸WAREHOUSE USING POSTGRES WITH (dsn_env = W)`, sqlerr.Exists, "the source warehouse exists", ""},
		{table(`age INTEGER BETWEEN 0 AND 9`, `‸nowhere.public.raw_admissions`), sqlerr.Unknown, "no source nowhere", "SHOW SOURCES"},
		{table(`age INTEGER BETWEEN 0 AND 9`, `warehouse.‸absent`), sqlerr.Unknown, "absent", ""},
		{strings.Replace(table(`years INTEGER BETWEEN 0 AND 9`, `warehouse.raw_admissions`), " t ", " ‸t ", 1), sqlerr.Unknown, "years", "its columns are"},
		{table(`age INTEGER IN (SELECT a FROM ‸secrets)`, `warehouse.raw_admissions`), sqlerr.Forbidden, "not declared public", ""},
		{strings.Replace(table(`age INTEGER BETWEEN 0 AND 9`, `warehouse.ages`), "epsilon = 4", "epsilon = 5", 1), sqlerr.Invalid, "already have the budget", "continue it"},
		{strings.Replace(table(`age INTEGER BETWEEN 0 AND 9`, `warehouse.raw_admissions`), "epsilon", "unit = patient, max_rows = 2, epsilon", 1), sqlerr.Invalid, "protects single rows", "same unit"},
		{strings.Replace(admissionsOver, "SOURCE", "warehouse.raw_admissions", 1), sqlerr.Exists, "admissions exists", ""},
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

// TestOneBudgetAcrossSources checks that a budget belongs to the rows, under any of their
// names, and that the secret must always name the same database.
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

// TestSameNameInFile checks that a public table of the file is not mistaken for a table of
// the same name outside, or the reverse.
func TestSameNameInFile(t *testing.T) {
	t.Parallel()
	f := newFar(t, `CREATE TABLE icd10 (age INTEGER)`, `INSERT INTO icd10 VALUES (1)`)
	s := outsideClinic(t, f)
	fill(t, s, `CREATE TABLE "postgres 7 flights: public.icd10" (a)`, `CREATE TABLE raw_admissions (age INTEGER)`)
	must(t, s, `CREATE PUBLIC TABLE raw_admissions`)
	must(t, s, `CREATE PRIVATE TABLE ages (age INTEGER BETWEEN 0 AND 9) FROM warehouse.icd10 WITH (epsilon = 1)`)
	refused(t, s, sqlerr.Invalid, `CREATE PUBLIC TABLE "postgres 7 flights: public.icd10"`)
}

// TestChangedOutside checks that a changed table is refused without a charge.
func TestChangedOutside(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	s := outsideClinic(t, f)
	must(t, s, `SET accuracy = 200`)
	f.exec(t, `CREATE TABLE other (a)`) // not read by the table
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

// TestUnitsOutside counts the rows that the source's reader keeps of each unit.
func TestUnitsOutside(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	s := open(t, filepath.Join(t.TempDir(), "clinic.db"), engine.Options{}).NewSession()
	f.dial(s.DB())
	must(t, s, createWarehouse)
	must(t, s, `CREATE PRIVATE TABLE visits (age INTEGER BETWEEN 0 AND 120) FROM warehouse.raw_admissions
		WITH (epsilon = 100, delta = 1e-6, unit = patient, max_rows = 2)`)
	must(t, s, `SET accuracy = 20`)
	// There are 1,334 patients with three admissions each, except the last, who has
	// one. The noise is within 20 at 95 %, and beyond 100 with probability below
	// 1e-20.
	if n := count(t, s, `SELECT COUNT(*) FROM visits`); n < 2667-100 || n > 2667+100 {
		t.Errorf("%d rows, want about 2667", n)
	}
}

// TestWithTimeout reads connection strings the way PostgreSQL's driver does.
func TestWithTimeout(t *testing.T) {
	t.Parallel()
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

// TestWrongTypesWarn declares columns whose type in the source can store values outside
// every value of the domain. Rows with such values would silently not be counted.
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
		{"exact", "i TEXT IN ('F', 'M', NULL)", "they match no row"}, {"exact", "r TEXT IN ('low')", "they match no row"}, {"exact", "a TEXT IN ('F', 'M')", ""},
		{"exact", "i TEXT IN ('F', '1')", ""}, {"exact", "i TEXT IN ('F') OR OTHER", ""}, {"exact", "i TEXT", ""}, {"exact", "t TEXT IN ('F')", ""}, {"raw", "i TEXT IN ('F', 'M')", ""},
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

// TestWrongTypesWarnTogether: what is to be said of several columns is said once, and names them.
func TestWrongTypesWarnTogether(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "types.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (a REAL, b REAL, c REAL, "d is" REAL, e DOUBLE)`, `INSERT INTO raw VALUES (1, 1.5, 1, 1, 1), (1.5, 1, 2.5, 2, 1), (2, 2, 2, 2, 2)`)
	for _, c := range []struct {
		columns string
		want    []string
	}{
		{`a NUMERIC(8, 2), b NUMERIC(8, 2), c NUMERIC(8, 2)`, []string{"a, b and c are declared REAL in raw: rows where one of them has more digits than its declaration are not counted; STEP rounds them"}},
		{`a NUMERIC(8, 2), e NUMERIC(8, 2), c INTEGER BETWEEN 0 AND 9, b NUMERIC(8, 1)`, []string{"a and b are declared REAL in raw: rows where one of them has more digits",
			"e is declared DOUBLE in raw: rows where it has more digits", `c is declared REAL in raw: rows where it is not a whole number are not counted; SELECT COUNT(*) FROM "raw" WHERE "c" <> CAST("c" AS INTEGER) tells`}},
		{`a INTEGER BETWEEN 0 AND 9, b INTEGER BETWEEN 0 AND 9`, []string{`a and b are declared REAL in raw: rows where one of them is not a whole number are not counted; ` +
			`SELECT COUNT(*) FROM "raw" WHERE "a" <> CAST("a" AS INTEGER) OR "b" <> CAST("b" AS INTEGER) tells how many there are`}},
	} {
		columns := strings.NewReplacer("NUMERIC(8, 2)", "NUMERIC(8, 2) BETWEEN 0 AND 9", "NUMERIC(8, 1)", "NUMERIC(8, 1) BETWEEN 0 AND 9").Replace(c.columns)
		got := must(t, s, `CREATE PRIVATE TABLE p (`+columns+`) FROM raw WITH (epsilon = 1, delta = 1e-6)`).Warnings
		if len(got) != len(c.want) {
			t.Errorf("%s: warnings %q, want %q", columns, got, c.want)
		}
		for i, w := range c.want[:min(len(got), len(c.want))] {
			if !strings.Contains(got[i], w) {
				t.Errorf("%s: %q, want %q", columns, got[i], w)
			}
			_, check, _ := strings.Cut(got[i], "not counted; ")
			if check, _, ok := strings.Cut(check, " tells"); ok {
				var n int
				if err := plain(t, s).QueryRow(check).Scan(&n); err != nil || n == 0 {
					t.Errorf("%s gives %d, %v", check, n, err)
				}
			}
		}
		must(t, s, `DROP PRIVATE TABLE p`)
	}
}

// mapped makes a database in which a person with the code 'rare' joins 200 rows of a
// public table.
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

// TestViewsThatMultiply declares views that would count one row several times, or change
// the count of others, for the price of one. Without a unit each is refused, nothing is
// charged, and no account is made.
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

// TestUnitOfAJoin declares the same join with a unit, which is allowed. Two of the
// person's 200 rows count, and the rows of all others do not depend on her.
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

// TestASecondBudgetWarns declares a table that could be made from the rows of another, and
// a view, which shares the budget of its rows.
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

// visits makes a table of 200 patients with 10 visits each, of which at most four count,
// and returns a session.
func visits(t *testing.T) *engine.Session {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "visits.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw_visits (patient INTEGER, day INTEGER)`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999)
			INSERT INTO raw_visits SELECT i / 10, i % 10 FROM n`,
		`INSERT INTO raw_visits VALUES (NULL, 3), (7, 99)`) // no unit, and outside the domain
	must(t, s, `CREATE PRIVATE TABLE visits (day INTEGER BETWEEN 0 AND 9) FROM raw_visits
		WITH (epsilon = 100, delta = 1e-6, unit = patient, max_rows = 4)`)
	return s
}

// TestUnitsBoundEveryMechanism counts four visits of each patient, with noise for four
// rows, by every way to answer. The counts have 800 of the 2,000 rows, and every tolerance
// is above 20 standard deviations of the noise.
func TestUnitsBoundEveryMechanism(t *testing.T) {
	t.Parallel()
	s := visits(t)
	must(t, s, `CREATE RELEASE exact ON visits USING PROJECTION WITH (epsilon = 10, transform = identity)`)
	must(t, s, `CREATE RELEASE hashed ON visits USING PROJECTION WITH (epsilon = 10, transform = sparse, rows = 4096)`)
	must(t, s, `CREATE MECHANISM live ON visits USING SMW WITH (epsilon = 40, max_updates = 4, queries = 100)`)
	for _, name := range []string{"exact", "hashed"} {
		must(t, s, `SET mechanism = `+name)
		if n := count(t, s, `SELECT COUNT(*) FROM visits`); math.Abs(float64(n-800)) > 40 {
			t.Errorf("%s counts %d visits, want about 800", name, n)
		}
	}
	must(t, s, `SET mechanism = live`)
	r := must(t, s, `SELECT COUNT(*) FROM visits WHERE day < 5`)
	if m := r.Answer.Margins[0][0].(float64); m <= 0 || m > 400 {
		t.Errorf("the mechanism's margin is %g", m)
	}
	must(t, s, `SET mechanism = direct`)
	must(t, s, `SET accuracy = 50`)
	direct := must(t, s, `SELECT COUNT(*) FROM visits`)
	if n := direct.Rows[0][0].(int64); math.Abs(float64(n-800)) > 500 {
		t.Errorf("a direct answer counts %d visits, want about 800", n)
	}
	// Four times the sensitivity costs sixteen times the ρ of ±50 on rows.
	if rho := direct.Answer.Cost.Rho; math.Abs(rho/(16*0.000753)-1) > 0.01 {
		t.Errorf("±50 cost ρ = %g, want %g", rho, 16*0.000753)
	}
	if law := must(t, s, `SHOW RELEASES`).Rows[0][3].(string); law == "" {
		t.Error("SHOW RELEASES names no noise")
	}
	for _, row := range must(t, s, `SHOW TABLES`).Rows {
		if row[4] != "up to 4 rows with one value of patient" {
			t.Errorf("SHOW TABLES says the unit is %q", row[4])
		}
	}
}

// TestOneBudgetProtectsOneUnit refuses to spend the budget of patients on a table whose
// units are single visits, and the reverse.
func TestOneBudgetProtectsOneUnit(t *testing.T) {
	t.Parallel()
	s := visits(t)
	refused(t, s, sqlerr.Invalid, `CREATE PRIVATE TABLE again (day INTEGER BETWEEN 0 AND 9) FROM raw_visits WITH (epsilon = 100, delta = 1e-6)`)
	must(t, s, `DROP PRIVATE TABLE visits`)
	refused(t, s, sqlerr.Invalid, `CREATE PRIVATE TABLE again (day INTEGER BETWEEN 0 AND 9) FROM raw_visits WITH (epsilon = 100, delta = 1e-6)`)
	must(t, s, `CREATE PRIVATE TABLE again (day INTEGER BETWEEN 0 AND 9) FROM raw_visits
		WITH (epsilon = 100, delta = 1e-6, unit = PATIENT, max_rows = 2)`)
}
