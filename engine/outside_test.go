package engine_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpsql/engine"
	"dpsql/engine/internal/rows"
	"dpsql/noise"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// sameScript uses every statement that reads rows.
var sameScript = []string{
	`CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.2)`,
	`CREATE RELEASE zips ON admissions (zip, sex) USING PROJECTION WITH (epsilon = 0.2, rows = 512, heavy = none)`,
	`CREATE RELEASE cube ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 0.3, free_columns = 1, max_updates = 2)`,
	`CREATE MECHANISM live ON admissions (sex, age) USING SMW WITH (epsilon = 1, max_support = 9, queries = 100)`,
	`SHOW TABLES`, `SHOW BUDGET`,
	`SELECT COUNT(*), MARGIN(COUNT(*)) FROM admissions WHERE sex = 'F' AND age < 30`,
	`SET mechanism = live`, `SELECT COUNT(*) FROM admissions WHERE age = 7`, `SELECT COUNT(*) FROM admissions WHERE age = 107`,
	`SET mechanism = direct`, `SET accuracy = 200`,
	`SELECT COUNT(*) FROM admissions WHERE (age + 1) % 2 = 1`,
	`SELECT COUNT(*) FROM admissions JOIN icd10 ON code = diagnosis WHERE label = 'pressure'`,
	`SELECT diagnosis, COUNT(*), AVG(age) FROM admissions GROUP BY diagnosis`,
	`SELECT COUNT(*) FROM admissions WHERE zip IN ('15210', '15211') AND sex = 'M'`,
	`CREATE PUBLIC TABLE listed AS SELECT DISTINCT zip FROM admissions WITH (epsilon = 0.2, delta = 1e-9)`, `SELECT * FROM listed`,
	`SELECT zip, COUNT(*), AVG(age) FROM admissions WHERE sex = 'F' GROUP BY zip`, `SELECT zip, sex, COUNT(*) FROM admissions WHERE zip <> '15211' GROUP BY 1, 2`,
	`SET mechanism = zips`, `SET accuracy = 2000`, `SELECT COUNT(*) FROM admissions WHERE zip = '15210'`,
	`SET mechanism = cube`, `SET accuracy = 2000`, `SELECT COUNT(*) FROM admissions WHERE diagnosis = 'E10'`,
	`SHOW RELEASES`, `DROP MECHANISM live`, `SHOW BUDGET`,
}

// sayings runs a script under fixed noise and returns its output, without times and the
// place of the rows.
func sayings(t *testing.T, s *engine.Session, place string) (all []string) {
	t.Helper()
	fixed(s.DB(), 3000)
	for _, text := range sameScript {
		r := must(t, s, text)
		for _, row := range r.Rows {
			for i, v := range row {
				if v == place || strings.HasPrefix(fmt.Sprint(v), "20") && strings.HasSuffix(fmt.Sprint(v), "Z") {
					row[i] = nil
				}
			}
		}
		line := fmt.Sprint(text, r.Columns, r.Rows, r.Warnings)
		if r.Answer != nil {
			line += fmt.Sprint(*r.Answer)
		}
		all = append(all, line)
	}
	return all
}

// TestOutsideIsAsInside runs one script on rows of the file, and on the same rows outside
// it, under the same noise. The outputs must be equal.
func TestOutsideIsAsInside(t *testing.T) {
	t.Parallel()
	want := sayings(t, clinic(t), "raw_admissions")
	f := newFar(t)
	got := sayings(t, outsideClinic(t, f), "warehouse.public.raw_admissions")
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("outside: %s\ninside:  %s", got[i], want[i])
		}
	}
	if want := []string{farDSN + "?statement_timeout=30000"}; !slices.Equal(f.opened, want) {
		t.Errorf("opened %q, want %q", f.opened, want)
	}
}

// TestNothingConnectsUntilRowsAreNeeded removes the secret and makes every snapshot fail.
// Everything that needs no rows must still work.
func TestNothingConnectsUntilRowsAreNeeded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clinic.db")
	f := newFar(t)
	s := outsideClinicAt(t, f, path)
	fixed(s.DB(), 3000)
	for _, text := range sameScript[:len(sameScript)-2] {
		must(t, s, text)
	}
	if err := s.DB().Close(); err != nil {
		t.Fatal(err)
	}
	if f.closed != 1 {
		t.Errorf("%d pools were closed, want 1", f.closed)
	}
	t.Setenv("WAREHOUSE_DSN", "")
	f.opened = nil
	again := open(t, path, engine.Options{}).NewSession()
	f.dial(again.DB())
	for _, text := range []string{`SHOW TABLES`, `SHOW SOURCES`, `SHOW BUDGET`, `SHOW LEDGER`, `SHOW RELEASES`, `SHOW MECHANISMS`, `DESCRIBE admissions`,
		`SELECT COUNT(*), MARGIN(COUNT(*)) FROM admissions WHERE sex = 'F' AND age < 30`,
		`EXPLAIN SELECT COUNT(*) FROM admissions WHERE age = 99`,
		`SET mechanism = zips`, `SELECT COUNT(*) FROM admissions WHERE zip = '15213'`,
		`SET mechanism = cube`, `SET accuracy = 2000`, `SELECT COUNT(*) FROM admissions WHERE diagnosis = 'E11'`,
		`SET mechanism = direct`, `SET accuracy = 200`, `SELECT COUNT(*) FROM admissions WHERE (age + 1) % 2 = 1`,
		`EXPLAIN SELECT diagnosis, COUNT(*) FROM admissions GROUP BY diagnosis`,
		`SET mechanism = live`, `SET accuracy = 2000`, `SELECT COUNT(*) FROM admissions WHERE age = 7`,
		`EXPORT RELEASE cells TO '` + filepath.Join(t.TempDir(), "out.db") + `'`, `DROP MECHANISM live`, `DROP RELEASE cube`,
	} {
		must(t, again, text)
	}
	if len(f.opened) != 0 {
		t.Errorf("%d pools were opened", len(f.opened))
	}
	refused(t, again, sqlerr.Invalid, `CREATE RELEASE more ON admissions (sex) USING PROJECTION WITH (epsilon = 0.1)`)
}

// TestUnsetVariable checks that a source without its secret cannot be read. The error
// names the variable and the source, and nothing is charged.
func TestUnsetVariable(t *testing.T) {
	f := newFar(t)
	s := outsideClinic(t, f)
	other := open(t, s.DB().Store().Path(), engine.Options{}).NewSession()
	f.dial(other.DB())
	t.Setenv("WAREHOUSE_DSN", "")
	before := ledger(t, other)
	must(t, other, `SET accuracy = 200`)
	for _, text := range []string{
		`SELECT COUNT(*) FROM admissions WHERE age = 3`,
		`SELECT sex, COUNT(*) FROM admissions GROUP BY sex`,
		`CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.2)`,
		`CREATE RELEASE cube ON admissions (sex) USING SMW WITH (epsilon = 0.3, free_columns = 1, max_updates = 2)`,
		`CREATE MECHANISM live ON admissions (sex, age) USING SMW WITH (epsilon = 1, max_support = 9)`,
		strings.Replace(from("warehouse.raw_admissions"), "admissions", "again", 1),
	} {
		e := refused(t, other, sqlerr.Invalid, text)
		if !strings.Contains(e.Message, "WAREHOUSE_DSN") || !strings.Contains(e.Message, "warehouse") || !strings.Contains(e.Hint, "set") {
			t.Errorf("%s: %v (%s)", text, e, e.Hint)
		}
	}
	if after := ledger(t, other); after != before {
		t.Errorf("charged:\n%s", after)
	}
}

// TestSecretStaysOut searches for the secret in everything that a source leaves behind.
func TestSecretStaysOut(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	s := outsideClinic(t, f)
	said := fmt.Sprint(must(t, s, `SHOW SOURCES`).Rows, must(t, s, `DESCRIBE admissions`).Rows, ledger(t, s))
	must(t, s, `CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.2)`)
	exported := filepath.Join(t.TempDir(), "out.db")
	must(t, s, `EXPORT RELEASE cells TO '`+exported+`'`)
	f.fail = func(string, int) error { return fmt.Errorf("connecting to %s failed", farDSN) }
	must(t, s, `SET mechanism = direct`)
	must(t, s, `SET accuracy = 200`)
	said += refused(t, s, sqlerr.Internal, `SELECT COUNT(*) FROM admissions WHERE age = 3`).Error()
	if err := s.DB().Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(said, "hunter22") || strings.Contains(said, "@far") {
		t.Errorf("said: %s", said)
	}
	for _, path := range []string{s.DB().Store().Path(), exported} {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"hunter22", "@far", "reader:"} {
			if bytes.Contains(content, []byte(part)) {
				t.Errorf("%s holds %s", filepath.Base(path), part)
			}
		}
		if has := bytes.Contains(content, []byte("WAREHOUSE_DSN")); has != (path != exported) {
			t.Errorf("%s holds the name of the variable: %v", filepath.Base(path), has)
		}
	}
}

// TestOneSnapshot checks that the check before a charge and the reading after it use one
// snapshot, which is checked once.
func TestOneSnapshot(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	s := outsideClinic(t, f)
	must(t, s, `CREATE RELEASE zips ON admissions (zip) USING PROJECTION WITH (epsilon = 0.2, rows = 512)`) // buys the number of rows
	must(t, s, `SET accuracy = 200`)
	for _, text := range []string{`SELECT sex, COUNT(*) FROM admissions GROUP BY sex`,
		`CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.2, transform = identity)`,
		`CREATE RELEASE cube ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 0.3, free_columns = 1, max_updates = 2)`} {
		snapshots, checks := f.snapshots, f.checks
		must(t, s, text)
		if f.snapshots != snapshots+1 || f.checks != checks+1 {
			t.Errorf("%s: %d snapshots and %d checks", text, f.snapshots-snapshots, f.checks-checks)
		}
	}
}

// TestLostConnection loses the connection after the charge. The statement fails, the
// charge stays and waits for it, and nothing is drawn or stored. The second attempt goes on with it.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	lost := sqlerr.New(sqlerr.IO, "the connection to the database failed while reading public.raw_admissions")
	for text, action := range map[string]string{
		`SELECT COUNT(*) FROM admissions WHERE age = 3`:                                                             "direct answer",
		`SELECT sex, COUNT(*) FROM admissions GROUP BY sex`:                                                         "3 direct answers",
		`CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.2, transform = identity)`: "create release",
	} {
		f := newFar(t)
		s := outsideClinic(t, f)
		must(t, s, `SET accuracy = 200`)
		before := ledger(t, s)
		f.fail = func(what string, n int) error {
			if what == "read" {
				return lost
			}
			return nil
		}
		draws := 0
		s.DB().SetRandom(func() *noise.Source { draws++; return noise.NewSource() })
		refused(t, s, sqlerr.IO, text)
		after := ledger(t, s)
		if n := strings.Count(after, "\n") - strings.Count(before, "\n"); n != 2 || !strings.Contains(after[len(before):], action) {
			t.Errorf("%s: %d lines more in the ledger:\n%s", text, n, after)
		}
		if draws > 0 && action != "create release" { // the release's builder draws names of records first
			t.Errorf("%s: %d sources of noise were used", text, draws)
		}
		if r := must(t, s, `SHOW RELEASES`); len(r.Rows) != 0 {
			t.Errorf("%s: left %v", text, r.Rows)
		}
		f.fail = nil
		must(t, s, text)
		if now := ledger(t, s); strings.Count(now, "\n")-strings.Count(after, "\n") != 1 || !strings.Contains(now[len(after):], "serves") {
			t.Errorf("%s: the second attempt has in the ledger\n%s", text, now[len(after):])
		}
	}
}

// TestUnreachableSource checks that a server that cannot be reached before the charge
// costs nothing.
func TestUnreachableSource(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	s := outsideClinic(t, f)
	must(t, s, `CREATE MECHANISM live ON admissions (sex, age) USING SMW WITH (epsilon = 1, max_support = 9)`)
	must(t, s, `SET accuracy = 200`)
	before := ledger(t, s)
	f.fail = func(string, int) error { return sqlerr.New(sqlerr.IO, "the connection to the database failed") }
	for _, text := range []string{`SELECT COUNT(*) FROM admissions WHERE age = 3`,
		`CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.2)`,
		`CREATE MECHANISM more ON admissions (sex, age) USING SMW WITH (epsilon = 0.1, max_support = 9)`} {
		refused(t, s, sqlerr.IO, text)
	}
	refusedWith(t, s.DB(), sqlerr.IO, "live", `SELECT COUNT(*) FROM admissions WHERE age = 3`)
	if after := ledger(t, s); after != before {
		t.Errorf("charged:\n%s", after)
	}
}

// TestCancelledOutside checks that cancelling a statement reaches the server, and that the
// charge stays.
func TestCancelledOutside(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	s := outsideClinic(t, f)
	must(t, s, `SET accuracy = 200`)
	before := ledger(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	f.wait = func(reading context.Context) error {
		cancel()
		<-reading.Done()
		return reading.Err()
	}
	_, err := s.Exec(ctx, `SELECT COUNT(*) FROM admissions WHERE age = 3`, nil)
	if sqlerr.CodeOf(err) != sqlerr.Cancelled {
		t.Errorf("%v, want cancelled", err)
	}
	if n := strings.Count(ledger(t, s), "\n") - strings.Count(before, "\n"); n != 2 { // it was charged, and waits
		t.Errorf("%d lines more in the ledger", n)
	}
}

// TestCellsOutsideAreNotKept counts rows that change. Rows of the file would be counted
// from memory until a commit.
func TestCellsOutsideAreNotKept(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	s := outsideClinic(t, f)
	table := bindText(t, s, `SELECT COUNT(*) FROM admissions WHERE sex = 'F'`).Table
	s.DB().Rows().Cache.NoteWork(keyOfCells(table.ID, []int{0}), 1<<60) // loading would pay
	for _, want := range []int64{2000, 2001} {
		r := bindText(t, s, `SELECT COUNT(*) FROM admissions WHERE sex = 'F'`)
		q, _ := r.Query.Project([]int{0})
		if n, err := countNow(s.DB(), r, []int{0}, q); err != nil || n != want {
			t.Errorf("%d rows, %v, want %d", n, err, want)
		}
		f.exec(t, `INSERT INTO raw_admissions VALUES ('F', 1, 'E10', '15210', 9999)`)
	}
	if s.DB().Rows().Cache.Held != 0 {
		t.Errorf("%d cells are held", s.DB().Rows().Cache.Held)
	}
}

// TestRehearsalAsksNoServer rehearses a script that declares a source and uses it, without
// a server or a secret. Nothing is declared.
func TestRehearsalAsksNoServer(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	s := open(t, filepath.Join(t.TempDir(), "clinic.db"), engine.Options{}).NewSession()
	f.dial(s.DB())
	fill(t, s, `CREATE TABLE icd10 (code TEXT)`, `INSERT INTO icd10 VALUES ('E10'), ('E11')`)
	must(t, s, `CREATE PUBLIC TABLE icd10`)
	r := rehearsal(t, s)
	for _, text := range []string{createWarehouse, from("warehouse.raw_admissions"), `DESCRIBE admissions`,
		strings.Replace(from("warehouse.raw_admissions"), "admissions (", "again (", 1),
		`CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 1.5)`,
		`SET accuracy = 200`, `SET mechanism = direct`, `SELECT COUNT(*) FROM again WHERE age = 3`} {
		if _, err := r.Plan(t.Context(), text, nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, code := range map[string]sqlerr.Code{createWarehouse: sqlerr.Exists, `DROP SOURCE warehouse`: sqlerr.Invalid, `DROP SOURCE lake`: sqlerr.Unknown,
		`CREATE SOURCE lake USING POSTGRES`: sqlerr.Invalid, strings.Replace(from("lake.raw_admissions"), "admissions (", "other (", 1): sqlerr.Unknown,
		`CREATE RELEASE more ON again (sex) USING PROJECTION WITH (epsilon = 1)`: sqlerr.Budget} { // one budget for both tables
		if _, err := r.Plan(t.Context(), text, nil); sqlerr.CodeOf(err) != code {
			t.Errorf("%s: %v, want %s", text, err, code)
		}
	}
	for _, text := range []string{`DROP RELEASE cells`, `DROP PRIVATE TABLE admissions`, `DROP PRIVATE TABLE again`, `DROP SOURCE warehouse`} {
		if _, err := r.Plan(t.Context(), text, nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if total := r.Total(); !strings.Contains(fmt.Sprint(total.Warnings), "server is not asked") {
		t.Errorf("%v %q", total.Rows, total.Warnings)
	}
	if rows := must(t, s, `SHOW SOURCES`).Rows; len(rows) != 0 || len(f.opened) != 0 {
		t.Errorf("declared %v, opened %d pools", rows, len(f.opened))
	}
}

// farDSN is the connection string of the fake; its password must never be shown.
const farDSN = "postgres://reader:hunter22@far/flights"

// far stands in for a database server. It is an SQLite file whose tables are in the schema
// public, so it counts as the file's own reader counts the same rows.
type far struct {
	db *sql.DB

	mu        sync.Mutex
	identity  string // of the database; part of the names of its tables
	opened    []string
	closed    int
	snapshots int
	reads     int                             // counts and cells
	fail      func(what string, n int) error  // of the n-th snapshot, check or read
	wait      func(ctx context.Context) error // before a read
	checks    int
}

// newFar makes a server with the rows of clinic, and tells databases to find it.
func newFar(t testing.TB, statements ...string) *far {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "far.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	f := &far{db: db, identity: "postgres 7 flights"}
	f.exec(t, clinicRows...)
	f.exec(t, statements...)
	return f
}

var clinicRows = []string{`CREATE TABLE raw_admissions (sex TEXT, age INTEGER, diagnosis TEXT, zip TEXT, patient INTEGER)`,
	`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3999)
		INSERT INTO raw_admissions SELECT CASE WHEN i % 2 THEN 'F' ELSE 'M' END, i % 100,
		CASE i % 3 WHEN 0 THEN 'E10' WHEN 1 THEN 'E11' ELSE 'I10' END, 15210 + i / 800, i / 3 FROM n`}

func (f *far) exec(t testing.TB, statements ...string) {
	t.Helper()
	for _, text := range statements {
		if _, err := f.db.Exec(text); err != nil {
			t.Fatal(text, err)
		}
	}
}

// dial makes a database use the fake for all its sources.
func (f *far) dial(db *engine.DB) {
	db.Rows().Dial = func(kind, dsn string) (rows.Pool, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.opened = append(f.opened, dsn)
		return f, nil
	}
}

func (f *far) event(what string, counter *int) error {
	f.mu.Lock()
	*counter++
	n, fail := *counter, f.fail
	f.mu.Unlock()
	if fail == nil {
		return nil
	}
	return fail(what, n)
}

func (f *far) Snapshot(ctx context.Context, read func(source.Reader) error) error {
	if err := f.event("snapshot", &f.snapshots); err != nil {
		return err
	}
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		return sqlerr.New(sqlerr.IO, "the fake did not begin")
	}
	defer tx.Rollback()
	return read(farReader{f, source.SQLite(tx)})
}

func (f *far) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
}

type farReader struct {
	far  *far
	rows source.Reader
}

// unqualified returns the table with its name in the fake.
func unqualified(t source.Table) source.Table {
	t.Source = strings.TrimPrefix(t.Source, "public.")
	return t
}

func (r farReader) Check(ctx context.Context, t source.Table) (source.Schema, error) {
	if err := r.far.event("check", &r.far.checks); err != nil {
		return source.Schema{}, err
	}
	s, err := r.rows.Check(ctx, unqualified(t))
	for i := range s.Bases {
		s.Bases[i] = r.far.identity + ": public." + s.Bases[i]
	}
	return s, err
}

func (r farReader) Access(ctx context.Context, t source.Table) (source.Access, error) {
	return r.rows.Access(ctx, unqualified(t))
}

func (r farReader) read(ctx context.Context) error {
	if err := r.far.event("read", &r.far.reads); err != nil {
		return err
	}
	if r.far.wait != nil {
		return r.far.wait(ctx)
	}
	return nil
}

func (r farReader) Count(ctx context.Context, p source.Permit, t source.Table, q query.Query) (int64, error) {
	if err := source.Admit(p, t); err != nil {
		return 0, err
	}
	if err := r.read(ctx); err != nil {
		return 0, err
	}
	return r.rows.Count(ctx, anyone{}, unqualified(t), q)
}

func (r farReader) CountUnits(ctx context.Context, p source.Permit, t source.Table, queries []query.Query) ([]int64, error) {
	if err := source.Admit(p, t); err != nil {
		return nil, err
	}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	return r.rows.CountUnits(ctx, anyone{}, unqualified(t), queries)
}

func (r farReader) Keys(ctx context.Context, p source.Permit, t source.Table, column int) (*source.Keys, error) {
	if err := source.Admit(p, t); err != nil {
		return nil, err
	}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	return r.rows.Keys(ctx, anyone{}, unqualified(t), column)
}

func (r farReader) Cells(ctx context.Context, p source.Permit, t source.Table, columns []int, coder query.Coder, most int) (*source.Histogram, error) {
	if err := source.Admit(p, t); err != nil {
		return nil, err
	}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	return r.rows.Cells(ctx, anyone{}, unqualified(t), columns, coder, most)
}

const (
	createWarehouse = `CREATE SOURCE warehouse USING POSTGRES WITH (dsn_env = 'WAREHOUSE_DSN', timeout = 30)`
	admissionsOver  = `CREATE PRIVATE TABLE admissions (
		sex TEXT IN ('F', 'M', NULL), age INTEGER BETWEEN 0 AND 120, diagnosis TEXT IN (SELECT code FROM icd10), zip TEXT)
		FROM SOURCE WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)`
)

// outsideClinic is clinic with its rows on the fake server.
func outsideClinic(t testing.TB, f *far) *engine.Session {
	t.Helper()
	return outsideClinicAt(t, f, filepath.Join(t.TempDir(), "clinic.db"))
}

func outsideClinicAt(t testing.TB, f *far, path string) *engine.Session {
	t.Helper()
	copyOf(t, path, "the clinic outside", func(s *engine.Session) {
		newFar(t).dial(s.DB())
		fill(t, s, `CREATE TABLE icd10 (code TEXT, label TEXT)`,
			`INSERT INTO icd10 VALUES ('E10', 'type 1'), ('E11', 'type 2'), ('I10', 'pressure')`)
		for _, text := range []string{`CREATE PUBLIC TABLE icd10`, createWarehouse, from("warehouse.public.raw_admissions")} {
			must(t, s, text)
		}
	})
	s := open(t, path, engine.Options{}).NewSession()
	f.dial(s.DB())
	return s
}

// outsideOf declares a table outside, in a database that has others and a dropped source.
func outsideOf(t testing.TB, db *engine.DB) {
	t.Helper()
	newFar(t).dial(db)
	for _, text := range []string{createWarehouse, `CREATE SOURCE gone USING POSTGRES WITH (dsn_env = 'GONE_DSN')`, `DROP SOURCE gone`,
		`CREATE PRIVATE TABLE afar (age INTEGER BETWEEN 0 AND 120) FROM warehouse.raw_admissions WITH (epsilon = 1, delta = 1e-6)`} {
		must(t, db.NewSession(), text)
	}
}

// from returns the declaration of admissions over a place.
func from(place string) string { return strings.Replace(admissionsOver, "SOURCE", place, 1) }

// anyone admits every reading.
type anyone struct{}

func (anyone) Admits(source.Table) error { return nil }
