package engine_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpsql/engine"
	"dpsql/internal/pgtest"
	"dpsql/sqlerr"
)

// dsnOf names a variable for this test alone, as parallel tests need, and sets it until
// the end of the test. With t.Setenv the test could not be parallel.
func dsnOf(t *testing.T, who, dsn string) (name string) {
	t.Helper()
	name = t.Name() + "_" + who
	if err := os.Setenv(name, dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Unsetenv(name) })
	return name
}

// warehouseOf declares the source of a test's own server.
func warehouseOf(t *testing.T, c *pgtest.Cluster) string {
	t.Helper()
	return strings.Replace(createWarehouse, "WAREHOUSE_DSN", dsnOf(t, "WAREHOUSE", c.DSN()), 1)
}

// onServer makes a database on a PostgreSQL server with the rows of clinic, and returns a
// session that declared them. It skips the test if there is no server. The server is shared.
func onServer(t *testing.T) (s *engine.Session, c *pgtest.Cluster) {
	t.Helper()
	c = pgtest.SharedDatabase(t)
	return onCluster(t, c), c
}

// onCluster is onServer on a given server.
func onCluster(t *testing.T, c *pgtest.Cluster) (s *engine.Session) {
	t.Helper()
	c.MustExec(t, `CREATE TABLE raw_admissions (sex text, age integer, diagnosis text, zip text, patient integer);
		INSERT INTO raw_admissions SELECT CASE WHEN i % 2 = 1 THEN 'F' ELSE 'M' END, i % 100,
			CASE i % 3 WHEN 0 THEN 'E10' WHEN 1 THEN 'E11' ELSE 'I10' END, 15210 + i / 800, i / 3 FROM generate_series(0, 3999) AS i`)
	s = open(t, filepath.Join(t.TempDir(), "clinic.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE icd10 (code TEXT, label TEXT)`,
		`INSERT INTO icd10 VALUES ('E10', 'type 1'), ('E11', 'type 2'), ('I10', 'pressure')`)
	for _, text := range []string{`CREATE PUBLIC TABLE icd10`, warehouseOf(t, c), from("warehouse.public.raw_admissions")} {
		must(t, s, text)
	}
	return s
}

// TestPostgresIsAsTheFile runs one script on rows of the file, and on the same rows in
// PostgreSQL, under the same noise. The outputs must be equal.
func TestPostgresIsAsTheFile(t *testing.T) {
	t.Parallel()
	s, _ := onServer(t)
	got := sayings(t, s, "warehouse.public.raw_admissions")
	want := sayings(t, clinic(t), "raw_admissions")
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("PostgreSQL: %s\nthe file:   %s", got[i], want[i])
		}
	}
}

// TestSeveralSources answers aggregates over two databases of PostgreSQL and over the file in
// one statement: each account is charged what its aggregate costs alone. If one source refuses,
// none is charged.
func TestSeveralSources(t *testing.T) {
	t.Parallel()
	s, _ := onServer(t)
	c := pgtest.SharedDatabase(t)
	c.MustExec(t, `CREATE TABLE raw_staff AS SELECT CASE WHEN i % 3 = 0 THEN 'doctor' ELSE 'nurse' END AS job FROM generate_series(1, 900) AS i`)
	must(t, s, strings.NewReplacer("WAREHOUSE_DSN", dsnOf(t, "OFFICE", c.DSN()), "warehouse", "office").Replace(createWarehouse))
	fill(t, s, `CREATE TABLE raw_beds (ward INTEGER)`, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO raw_beds SELECT i % 2 FROM n`)
	const budget = ` WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)`
	must(t, s, `CREATE PRIVATE TABLE staff (job TEXT IN ('doctor', 'nurse')) FROM office.public.raw_staff`+budget)
	must(t, s, `CREATE PRIVATE TABLE beds (ward INTEGER IN (0, 1)) FROM raw_beds`+budget)
	must(t, s, `SET accuracy = 50`)
	lines := func() int { return strings.Count(ledger(t, s), "\n") }
	before := lines()
	r := must(t, s, `SELECT (SELECT COUNT(*) FROM admissions) AS a, (SELECT COUNT(*) FROM staff WHERE job = 'nurse') AS n, COUNT(*) AS b FROM beds`)
	// Each is within 50 with 95 %: noise of 20 standard deviations is far less likely than 1e-6.
	for i, want := range []float64{4000, 600, 300} {
		if got, ok := r.Rows[0][i].(int64); !ok || math.Abs(float64(got)-want) > 500 || r.Answer.Margins[0][i] == nil {
			t.Errorf("column %d is %v ± %v, want about %v", i, r.Rows[0][i], r.Answer.Margins[0], want)
		}
	}
	if got := lines() - before; got != 3 || r.Answer.Cost.Rho == 0 {
		t.Errorf("%d lines of the ledger for three accounts; %+v\n%s", got, r.Answer.Cost, ledger(t, s))
	}
	c.MustExec(t, `DROP TABLE raw_staff`)
	before = lines()
	if _, err := s.Exec(context.Background(), `SELECT (SELECT COUNT(*) FROM admissions WHERE age > 7) * 1.0 / (SELECT COUNT(*) FROM staff WHERE job = 'doctor')`, nil); err == nil {
		t.Error("a table that is gone is counted")
	}
	if lines() != before {
		t.Errorf("a source that is gone is charged, or the other one:\n%s", ledger(t, s))
	}
}

// TestPostgresStops stops the server. Before a charge nothing is charged, and statements
// that need no rows go on. When the server is back, everything works again.
func TestPostgresStops(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	s := onCluster(t, c)
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
	mustWith(t, s.DB(), "cells", `SELECT COUNT(*) FROM admissions WHERE age = 3`)
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
	t.Parallel()
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

// TestPostgresCrowd asks from more goroutines than the pool has connections. Each question
// is charged once.
func TestPostgresCrowd(t *testing.T) {
	t.Parallel()
	s, _ := onServer(t)
	before := strings.Count(ledger(t, s), "direct answer")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			mine := s.DB().NewSession()
			for _, text := range []string{`SET mechanism = direct`, `SET accuracy = 500`, `SELECT COUNT(*) FROM admissions WHERE zip = '15210'`,
				`SELECT sex, COUNT(*) FROM admissions GROUP BY sex`, `SELECT COUNT(*) FROM admissions WHERE age % 7 = 1`} {
				if _, err := mine.Exec(context.Background(), text, nil); err != nil {
					t.Errorf("%s: %v", text, err)
				}
			}
		})
	}
	all.Wait()
	if n := strings.Count(ledger(t, s), "direct answer") - before; n != 3 {
		t.Errorf("%d charges for three questions", n)
	}
}

// TestPostgresReader reads with only the rights that docs/postgres.md grants.
func TestPostgresReader(t *testing.T) {
	t.Parallel()
	c := pgtest.SharedDatabase(t)
	own := c.MustExec(t, `SELECT current_database()`)
	t.Cleanup(func() { c.MustExec(t, `DROP OWNED BY reader; DROP ROLE reader`) })
	s := onCluster(t, c)
	c.MustExec(t, `CREATE ROLE reader LOGIN PASSWORD 'secret'; GRANT CONNECT ON DATABASE `+own+` TO reader;
		GRANT USAGE ON SCHEMA public TO reader; GRANT SELECT ON public.raw_admissions TO reader; CREATE TABLE other (age integer)`)
	reader := dsnOf(t, "READER", strings.Replace(c.DSN(), "user=postgres", "user=reader password=secret", 1))
	must(t, s, `CREATE SOURCE reader USING POSTGRES WITH (dsn_env = '`+reader+`')`)
	must(t, s, strings.Replace(from("reader.raw_admissions"), "admissions (", "readable (", 1)) // continues the budget
	must(t, s, `SET accuracy = 200`)
	must(t, s, `SELECT COUNT(*) FROM readable WHERE zip = '15210'`)
	must(t, s, `CREATE RELEASE cells ON readable (sex, age) USING PROJECTION WITH (epsilon = 0.2)`)
	refused(t, s, sqlerr.Forbidden, `CREATE PRIVATE TABLE other (age INTEGER BETWEEN 0 AND 9) FROM reader.other WITH (epsilon = 1)`)
	if n := strings.Count(ledger(t, s), "budget declared"); n != 1 {
		t.Errorf("%d budgets, want one for both sources", n)
	}
}

// TestPostgresForeign declares one table of another database three times: by a foreign
// table over it, by one over a view of it, and by one over its partition. Either all have
// one budget, or the catalog there can be read. Then a view is refused and other tables
// have their own budget. The same holds for a server that leads back here.
func TestPostgresForeign(t *testing.T) {
	t.Parallel()
	c := pgtest.SharedDatabase(t)
	own := c.MustExec(t, `SELECT current_database()`)
	s := onCluster(t, c)
	if c.MustExec(t, "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'") == "0" {
		t.Skip("postgres_fdw is missing (apt-get install postgresql-contrib)")
	}
	host := c.MustExec(t, "SHOW unix_socket_directories")
	c.MustExec(t, "CREATE DATABASE far")
	t.Cleanup(func() { c.MustExec(t, "DROP DATABASE far WITH (FORCE)") })
	c.MustExec(t, fmt.Sprintf(`CREATE EXTENSION postgres_fdw; CREATE SCHEMA seen;
		CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%[1]s', port '5432', dbname 'far'); CREATE USER MAPPING FOR postgres SERVER far OPTIONS (user 'postgres');
		CREATE SERVER back FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%[1]s', dbname '%[2]s'); CREATE USER MAPPING FOR postgres SERVER back OPTIONS (user 'postgres');
		CREATE FOREIGN TABLE mirror (sex text) SERVER back OPTIONS (table_name 'raw_admissions');
		CREATE FOREIGN TABLE whole (a integer) SERVER far; CREATE FOREIGN TABLE part (a integer) SERVER far; CREATE FOREIGN TABLE glass (a integer) SERVER far; CREATE FOREIGN TABLE other (a integer) SERVER far`, host, own))
	conn, err := pgx.Connect(context.Background(), strings.Replace(c.DSN(), "dbname="+own, "dbname=far", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, text := range []string{`CREATE TABLE whole (a integer) PARTITION BY LIST (a)`, `CREATE TABLE part PARTITION OF whole DEFAULT`, `CREATE VIEW glass AS SELECT a FROM whole`, `CREATE TABLE other (a integer)`} {
		if _, err := conn.Exec(context.Background(), text); err != nil {
			t.Fatal(err)
		}
	}
	declare := func(name, epsilon string) string {
		return fmt.Sprintf(`CREATE PRIVATE TABLE %s (a INTEGER BETWEEN 0 AND 9) FROM warehouse.%[1]s WITH (epsilon = %s)`, name, epsilon)
	}
	if r := must(t, s, declare("glass", "0.5")); !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "share one budget") }) {
		t.Errorf("warnings %q", r.Warnings)
	}
	budgets := func() int { return strings.Count(ledger(t, s), "budget declared") }
	had := budgets()
	for _, name := range []string{"whole", "part", "other"} {
		if e := refused(t, s, sqlerr.Invalid, declare(name, "0.7")); !strings.Contains(e.Message, "already have the budget") {
			t.Errorf("%s: %v", name, e)
		}
	}
	must(t, s, declare("part", "0.5"))
	must(t, s, `DROP PRIVATE TABLE part`)
	must(t, s, `DROP PRIVATE TABLE glass`)
	c.MustExec(t, "IMPORT FOREIGN SCHEMA pg_catalog LIMIT TO (pg_class, pg_namespace, pg_inherits) FROM SERVER far INTO seen")
	refused(t, s, sqlerr.Unsupported, declare("glass", "0.5"))
	for _, name := range []string{"whole", "part", "other"} { // earlier spending is on the whole database
		refused(t, s, sqlerr.Invalid, declare(name, "0.7"))
	}
	if e := refused(t, s, sqlerr.Invalid, `CREATE PRIVATE TABLE mirror (sex TEXT IN ('F', 'M')) FROM warehouse.mirror WITH (epsilon = 0.7)`); !strings.Contains(e.Message, "already have the budget") {
		t.Error(e)
	}
	if n := budgets(); n != had {
		t.Errorf("%d budgets, were %d", n, had)
	}
	fresh := open(t, filepath.Join(t.TempDir(), "fresh.db"), engine.Options{}).NewSession()
	must(t, fresh, warehouseOf(t, c))
	must(t, fresh, declare("part", "0.5"))
	refused(t, fresh, sqlerr.Invalid, declare("whole", "0.7"))
	must(t, fresh, declare("whole", "0.5"))
	must(t, fresh, declare("other", "0.7"))
	if n := strings.Count(ledger(t, fresh), "budget declared"); n != 2 {
		t.Errorf("%d budgets for two tables", n)
	}
}

// TestPostgresIsCancelled makes statements wait for a lock on the server. One runs into
// the timeout of its source, another is cancelled, and afterwards the server runs neither.
// Neither was charged, because the check before the charge had no answer.
func TestPostgresIsCancelled(t *testing.T) {
	t.Parallel()
	s, c := onServer(t)
	for _, text := range []string{`CREATE SOURCE hasty USING POSTGRES WITH (dsn_env = '` + dsnOf(t, "HASTY", c.DSN()) + `', timeout = 1)`,
		strings.Replace(from("hasty.raw_admissions"), "admissions (", "hasty (", 1), `SET accuracy = 200`} {
		must(t, s, text)
	}
	ctx := context.Background()
	holder, err := pgx.Connect(ctx, c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(ctx)
	if _, err := holder.Exec(ctx, `BEGIN; LOCK TABLE raw_admissions`); err != nil {
		t.Fatal(err)
	}
	before := ledger(t, s)
	refused(t, s, sqlerr.IO, `SELECT COUNT(*) FROM hasty WHERE age = 1`)
	waiting := func() string {
		return c.MustExec(t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`)
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for waiting() == "0" {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	if _, err := s.Exec(ctx, `SELECT COUNT(*) FROM admissions WHERE age = 2`, nil); sqlerr.CodeOf(err) != sqlerr.Cancelled {
		t.Errorf("%v, want cancelled", err)
	}
	if n := waiting(); n != "0" {
		t.Errorf("%s statements still wait", n)
	}
	if after := ledger(t, s); after != before {
		t.Errorf("charged:\n%s", after)
	}
	if _, err := holder.Exec(context.Background(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	must(t, s, `SELECT COUNT(*) FROM admissions WHERE age = 2`)
}

// BenchmarkPostgres counts 10,000 of a million rows in PostgreSQL: by the bare statement,
// by a reader that first checks the table, and by a whole direct answer with its charge.
func BenchmarkPostgres(b *testing.B) {
	ctx := context.Background()
	c := pgtest.Start(b)
	c.MustExec(b, `CREATE TABLE visits (sex text, age integer); CREATE INDEX ON visits (age);
		INSERT INTO visits SELECT CASE WHEN i % 2 = 1 THEN 'F' ELSE 'M' END, i % 100 FROM generate_series(1, 1000000) AS i; ANALYZE visits`)
	b.Setenv("WAREHOUSE_DSN", c.DSN())
	s := open(b, filepath.Join(b.TempDir(), "visits.db"), engine.Options{}).NewSession()
	for _, text := range []string{createWarehouse, `CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 200)
		FROM warehouse.visits WITH (epsilon = 4, delta = 1e-6)`, `SET mechanism = direct`, `SET accuracy = 100000`} {
		must(b, s, text)
	}
	conn, err := pgx.Connect(ctx, c.DSN())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var n int64
			if err := conn.QueryRow(ctx, `SELECT count(*) FROM visits WHERE age = 3 AND sex IN ('F', 'M')`).Scan(&n); err != nil || n != 10_000 {
				b.Fatal(n, err)
			}
		}
	})
	r := bindText(b, s, `SELECT COUNT(*) FROM visits WHERE age = 3`)
	b.Run("count", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if n, err := countNow(s.DB(), r, nil, r.Query); err != nil || n != 10_000 {
				b.Fatal(n, err)
			}
		}
	})
	asked := 0 // each statement is new, so no answer is stored
	b.Run("statement", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			asked++
			ages := "3"
			for bit := range 30 {
				if asked>>bit&1 == 1 { // these have no rows
					ages += fmt.Sprint(", ", 101+bit)
				}
			}
			must(b, s, `SELECT COUNT(*) FROM visits WHERE age IN (`+ages+`)`)
		}
	})
}
