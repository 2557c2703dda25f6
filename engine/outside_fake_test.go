package engine_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dpsql/engine"
	"dpsql/engine/internal/rows"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// farDSN is how the fake is reached; its password must never be seen.
const farDSN = "postgres://reader:hunter2@far/flights"

// far stands for a database server: an SQLite file whose tables are in the
// schema public. What it counts is so what the file's own reader counts of the
// same rows.
type far struct {
	db *sql.DB

	mu        sync.Mutex
	identity  string // of the database, part of the names of its tables
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

// unqualified returns the table under the name by which the fake has it.
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
	t.Setenv("WAREHOUSE_DSN", farDSN)
	s := open(t, path, engine.Options{}).NewSession()
	f.dial(s.DB())
	fill(t, s, `CREATE TABLE icd10 (code TEXT, label TEXT)`,
		`INSERT INTO icd10 VALUES ('E10', 'type 1'), ('E11', 'type 2'), ('I10', 'pressure')`)
	for _, text := range []string{`CREATE PUBLIC TABLE icd10`, createWarehouse, from("warehouse.public.raw_admissions")} {
		must(t, s, text)
	}
	return s
}

// outsideOf declares a table outside of a database that has others, and a source
// that is dropped.
func outsideOf(t testing.TB, db *engine.DB) {
	t.Helper()
	newFar(t).dial(db)
	for _, text := range []string{createWarehouse, `CREATE SOURCE gone USING POSTGRES WITH (dsn_env = 'GONE_DSN')`, `DROP SOURCE gone`,
		`CREATE PRIVATE TABLE afar (age INTEGER BETWEEN 0 AND 120) FROM warehouse.raw_admissions WITH (epsilon = 1, delta = 1e-6)`} {
		must(t, db.NewSession(), text)
	}
}

// from is the declaration of admissions over a place.
func from(place string) string { return strings.Replace(admissionsOver, "SOURCE", place, 1) }

// anyone admits every reading.
type anyone struct{}

func (anyone) Admits(source.Table) error { return nil }
