package engine_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/engine/internal/answer"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// open opens a database file until the end of the test. The noise is the product's, from
// crypto/rand, unless a test scripts, fixes or quietens it, so there is no seed to log. A
// test that such noise could fail states how rarely it does.
func open(t testing.TB, path string, o engine.Options) *engine.DB {
	t.Helper()
	db, err := engine.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// declared returns a session of a new database with raw tables, in which statements have run. They run once
// in a process: each caller gets a copy of the file and of what lies beside it, opened for itself. So all
// copies have the same ledger and catalog, and their releases the same noise: who judges noise over many runs
// draws it after the copying. What belongs to a session, as SET, a clock or quiet noise, is not copied.
func declared(t testing.TB, raw []string, statements ...string) *engine.Session {
	t.Helper()
	return declaredAt(t, filepath.Join(t.TempDir(), "declared.db"), raw, statements...)
}

// declaredAt is declared, with the file at a path.
func declaredAt(t testing.TB, path string, raw []string, statements ...string) *engine.Session {
	t.Helper()
	key := strings.Join(raw, ";") + "\x00" + strings.Join(statements, ";")
	copyOf(t, path, key, func(s *engine.Session) {
		fill(t, s, raw...)
		for _, text := range statements {
			must(t, s, text)
		}
	})
	return open(t, path, engine.Options{}).NewSession()
}

// A made is a database that was declared once, closed, and is copied. Its files are by what follows the name.
type made struct {
	sync.Mutex
	files map[string][]byte
}

// allMade are the databases of a process by what they hold.
var allMade sync.Map

// copyOf puts a copy of a database at a path. The first time for a key, declare makes the database. What it
// does must follow from the key: a test whose databases no other test can use takes its own name for it.
func copyOf(t testing.TB, path, key string, declare func(*engine.Session)) {
	t.Helper()
	known, _ := allMade.LoadOrStore(key, &made{})
	m := known.(*made)
	m.Lock()
	defer m.Unlock()
	if m.files == nil {
		m.files = declaredFiles(t, declare)
	}
	for suffix, data := range m.files {
		if err := os.WriteFile(path+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// declaredFiles declares a database, closes it and returns its files.
func declaredFiles(t testing.TB, declare func(*engine.Session)) map[string][]byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.db")
	db := open(t, path, engine.Options{})
	declare(db.NewSession())
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	beside, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	for _, name := range beside {
		if files[strings.TrimPrefix(name, path)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// fill runs statements on raw tables.
func fill(t testing.TB, s *engine.Session, statements ...string) {
	t.Helper()
	err := s.DB().Store().Write(context.Background(), func(tx *catalog.Tx) error {
		for _, text := range statements {
			if _, err := tx.SQL().ExecContext(context.Background(), text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// recordsOf returns the records of a CSV file below its names.
func recordsOf(t testing.TB, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return records[1:]
}

// must runs a statement that has to succeed.
func must(t testing.TB, s *engine.Session, text string, args ...query.Value) *engine.Result {
	t.Helper()
	r, err := s.Exec(context.Background(), text, args)
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return r
}

// count runs a query of one number.
func count(t testing.TB, s *engine.Session, text string, args ...query.Value) int64 {
	t.Helper()
	return must(t, s, text, args...).Rows[0][0].(int64)
}

// refused runs a statement that has to fail with a code, and returns the error.
func refused(t testing.TB, s *engine.Session, code sqlerr.Code, text string) *sqlerr.Error {
	t.Helper()
	_, err := s.Exec(context.Background(), text, nil)
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s\ngot %v, want %s", text, err, code)
		return &sqlerr.Error{}
	}
	return e
}

// clinic makes a database with 4,000 admissions, half of them of each sex, 40
// of each age from 0 to 99, 800 of each of five zips, and returns a session.
func clinic(t testing.TB) *engine.Session {
	t.Helper()
	return clinicAt(t, filepath.Join(t.TempDir(), "clinic.db"))
}

// clinicRaw makes the tables of a clinic with some admissions.
func clinicRaw(admissions int) []string {
	return []string{`CREATE TABLE raw_admissions (sex TEXT, age INTEGER, diagnosis TEXT, zip TEXT)`,
		`CREATE TABLE icd10 (code TEXT UNIQUE, label TEXT)`,
		`INSERT INTO icd10 VALUES ('E10', 'type 1'), ('E11', 'type 2'), ('I10', 'pressure')`,
		fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO raw_admissions SELECT CASE WHEN i %% 2 THEN 'F' ELSE 'M' END, i %% 100,
			CASE i %% 3 WHEN 0 THEN 'E10' WHEN 1 THEN 'E11' ELSE 'I10' END, 15210 + i / %d FROM n`, admissions-1, admissions/5)}
}

// clinicDeclarations declare the tables of a clinic.
var clinicDeclarations = []string{`CREATE PUBLIC TABLE icd10`,
	`CREATE PRIVATE TABLE admissions (
		sex TEXT IN ('F', 'M', NULL), age INTEGER BETWEEN 0 AND 120, diagnosis TEXT IN (SELECT code FROM icd10), zip TEXT)
		FROM raw_admissions WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)`}

func clinicAt(t testing.TB, path string) *engine.Session {
	t.Helper()
	return declaredAt(t, path, clinicRaw(4000), clinicDeclarations...)
}

// ledger returns the ledger as text.
func ledger(t testing.TB, s *engine.Session) string {
	t.Helper()
	var b strings.Builder
	for _, row := range must(t, s, `SHOW LEDGER`).Rows {
		fmt.Fprintln(&b, row...)
	}
	return b.String()
}

// bindOne binds a SELECT of one query.
func bindOne(s *engine.Session, v *view.View, sel *syntax.Select) (answer.Request, error) {
	st, err := s.Bind(context.Background(), v, sel, nil)
	if err != nil {
		return answer.Request{}, err
	}
	return st.Asks[0].Request, nil
}

// counting holds the receipts that tests count under, one for each database and table.
var counting sync.Map

// receipt returns a receipt with which tests may count a table as often as they like. It
// is a run's receipt, but the run belongs to no mechanism and cost nothing.
func receipt(db *engine.DB, t *view.Table, sn *rows.Snapshot) (*pay.Receipt, error) {
	type key struct {
		db    *engine.DB
		table int64
	}
	if known, ok := counting.Load(key{db, t.ID}); ok {
		return known.(*pay.Receipt), nil
	}
	paid, err := db.Desk().StartRun(context.Background(), sn, &catalog.Buyer{Principal: catalog.Curator},
		catalog.Payment{Account: t.Account, Action: "a test counts", Object: t.Name}, func(*catalog.Tx) error { return nil })
	counting.Store(key{db, t.ID}, paid)
	return paid, err
}

// countNow counts a request on its own snapshot. narrow is its query over the columns.
func countNow(db *engine.DB, r answer.Request, columns []int, narrow query.Query) (n int64, err error) {
	ctx := context.Background()
	err = db.Rows().OnSnapshot(ctx, r.Table, func(sn *rows.Snapshot) error {
		paid, err := receipt(db, r.Table, sn)
		if err == nil {
			n, err = sn.Count(ctx, paid, r.Query, columns, narrow)
		}
		return err
	})
	return n, err
}

// quiet draws no noise, so answers are known.
type quiet struct{ *rand.ChaCha8 }

// Drawn decides a draw from any law.
func (quiet) Drawn(law.Law) int64 { return 0 }

// quieten makes a database draw no noise.
func quieten(db *engine.DB) {
	n := uint64(100)
	db.SetRandom(func() *noise.Source {
		n++
		var seed [32]byte
		binary.LittleEndian.PutUint64(seed[:], n)
		return noise.NewSourceFrom(quiet{rand.NewChaCha8(seed)})
	})
	coinsFrom(db, 101) // by which no two records of the golden table share a bucket of a sketch
}

// coinsFrom gives a database coins of known seeds, from one on.
func coinsFrom(db *engine.DB, seed uint64) {
	db.SetCoins(func() *coin.Source { seed++; return coins(seed - 1) })
}

// copiedAtDraw has the file copied when a statement first draws, after its charge and before
// its answer, as if the machine stopped there. It returns the path of the copy.
func copiedAtDraw(t *testing.T, s *engine.Session) string {
	t.Helper()
	path, crashed := s.DB().Store().Path(), filepath.Join(t.TempDir(), "crashed.db")
	copied := false
	s.DB().SetRandom(func() *noise.Source {
		for _, suffix := range []string{"", "-wal", "-mark"} {
			if data, err := os.ReadFile(path + suffix); err == nil && !copied {
				if err := os.WriteFile(crashed+suffix, data, 0o600); err != nil {
					t.Error(err)
				}
			}
		}
		copied = true
		return noise.NewSource()
	})
	return crashed
}

// firstTable returns the private table that was declared first.
func firstTable(s *engine.Session) *view.Table {
	v, err := s.DB().View(context.Background())
	if err != nil {
		panic(err)
	}
	return slices.MinFunc(v.Tables, func(a, b *view.Table) int { return cmp.Compare(a.ID, b.ID) })
}

// keyOfCells returns the key of the cells of a table without periods.
func keyOfCells(table int64, columns []int) rows.CellsKey {
	return rows.KeyOfCells(&view.Table{Table: catalog.Table{ID: table}, Part: period.All}, columns)
}
