package driver_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "dpsql/driver"
	"dpsql/engine"
	"dpsql/internal/scratch"
	"dpsql/sqlerr"
)

var clinicFiles scratch.Template

// clinic returns the path of a copy of a database with a private table of 4,000 visits,
// a release of its two columns and a mechanism.
func clinic(t testing.TB) string {
	t.Helper()
	return filepath.Join(clinicFiles.Copy(t, func(dir string) { makeClinic(t, filepath.Join(dir, "clinic.db")) }), "clinic.db")
}

func makeClinic(t testing.TB, path string) {
	t.Helper()
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Exec(`CREATE TABLE raw_visits (sex TEXT, age INTEGER);
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
		INSERT INTO raw_visits SELECT CASE WHEN i % 2 THEN 'F' ELSE 'M' END, i % 80 FROM n`); err != nil {
		t.Fatal(err)
	}
	raw.Close()
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := db.NewSession()
	for _, text := range []string{
		`CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 120)
			FROM raw_visits WITH (epsilon = 4, delta = 1e-6)`,
		`CREATE RELEASE cells ON visits USING PROJECTION WITH (epsilon = 2)`,
		`CREATE MECHANISM ask ON visits USING SMW WITH (epsilon = 1, max_updates = 5, queries = 1000)`,
	} {
		if _, err := s.Exec(context.Background(), text, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t testing.TB, name string) *sql.DB {
	t.Helper()
	db, err := sql.Open("dpsql", name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestQueryRow(t *testing.T) {
	db := open(t, clinic(t)+"?role=analyst")
	var n int64
	var margin float64
	err := db.QueryRow(`SELECT COUNT(*) AS n, MARGIN(n) FROM visits WHERE sex = ? AND age BETWEEN ? AND ?`, "F", 20, 59).Scan(&n, &margin)
	if err != nil {
		t.Fatal(err)
	}
	// 1,000 rows; the noise of 40 cells at ε = 2 has σ = 4.4, so 200 counts are
	// exceeded with a probability far below 1e-6.
	if n < 800 || n > 1200 || margin <= 0 || margin > 100 {
		t.Errorf("got %d ± %g, want about 1000", n, margin)
	}
}

func TestPrepareParses(t *testing.T) {
	db := open(t, clinic(t))
	if _, err := db.Prepare(`SELECT COUNT(*) FROM visits WHERE age = = ?`); sqlerr.CodeOf(err) != sqlerr.Malformed {
		t.Errorf("preparing what is no statement: %v", err)
	}
}

func TestPreparedArgumentsOfEveryType(t *testing.T) {
	db := open(t, clinic(t))
	st, err := db.Prepare(`SELECT COUNT(*) FROM visits WHERE age = ?`)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var first int64
	for i, arg := range []any{int64(30), 30, uint8(30), 30.0, "30", []byte("30")} {
		var n int64
		if err := st.QueryRow(arg).Scan(&n); err != nil {
			t.Fatalf("argument %T: %v", arg, err)
		}
		if i == 0 {
			first = n
		} else if n != first {
			t.Errorf("argument %T gives %d, int64 gave %d: they mean the same value", arg, n, first)
		}
	}
	var n int64
	if err := st.QueryRow(nil).Scan(&n); err != nil || n != 0 {
		t.Errorf("age = NULL counts %d, %v; want 0", n, err)
	}
	if err := st.QueryRow(1.5).Scan(&n); err != nil || n != 0 {
		t.Errorf("age = 1.5 counts %d, %v; want 0", n, err)
	}
	for _, arg := range []any{math.NaN(), time.Now(), struct{}{}} {
		if err := st.QueryRow(arg).Scan(&n); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("argument %T: %v, want invalid", arg, err)
		}
	}
	if err := st.QueryRow().Scan(&n); err == nil {
		t.Error("a missing argument is accepted")
	}
}

func TestColumnTypes(t *testing.T) {
	db := open(t, clinic(t))
	rows, err := db.Query(`SELECT COUNT(*) AS n, MARGIN(n) FROM visits WHERE age = 3`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{types[0].Name(), types[0].DatabaseTypeName(), types[0].ScanType().String(),
		types[1].Name(), types[1].DatabaseTypeName(), types[1].ScanType().String()}
	if s := strings.Join(got, " "); s != "n INT8 int64 margin FLOAT8 float64" {
		t.Errorf("got %s", s)
	}
	if nullable, ok := types[0].Nullable(); nullable || !ok {
		t.Error("a count is said to be nullable")
	}
}

func TestSettingsBelongToTheConnection(t *testing.T) {
	db := open(t, clinic(t)+"?confidence=0.9")
	ctx := context.Background()
	confidence := func(q interface {
		QueryRowContext(context.Context, string, ...any) *sql.Row
	}) (width float64) {
		t.Helper()
		var n int64
		if err := q.QueryRowContext(ctx, `SELECT COUNT(*) AS n, MARGIN(n) FROM visits WHERE age < 40`).Scan(&n, &width); err != nil {
			t.Fatal(err)
		}
		return width
	}
	before := confidence(db)
	one, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.ExecContext(ctx, `SET confidence = 0.999`); err != nil {
		t.Fatal(err)
	}
	if w := confidence(one); w <= before {
		t.Errorf("the margin is %g after SET and was %g", w, before)
	}
	one.Close()
	db.SetMaxOpenConns(1) // the pool hands out the connection that SET was run on
	if w := confidence(db); w != before {
		t.Errorf("the margin is %g after the connection went back to the pool, want %g", w, before)
	}
}

func TestRefusals(t *testing.T) {
	path := clinic(t)
	db := open(t, path+"?role=analyst")
	if _, err := db.Begin(); sqlerr.CodeOf(err) != sqlerr.Unsupported {
		t.Errorf("Begin: %v, want unsupported", err)
	}
	if _, err := db.Exec(`DROP RELEASE cells`); sqlerr.CodeOf(err) != sqlerr.Forbidden {
		t.Errorf("DROP as analyst: %v, want forbidden", err)
	}
	for _, name := range []string{"", "?role=analyst", path + "?role=root", path + "?colour=red", path + "?confidence=2",
		path + "?busy_timeout=soon", path + "?clamp=on&clamp=off"} {
		db, err := sql.Open("dpsql", name)
		if err == nil {
			err = db.Ping()
			db.Close()
		}
		if sqlerr.CodeOf(err) != sqlerr.Invalid && sqlerr.CodeOf(err) != sqlerr.Unknown {
			t.Errorf("%q: %v, want invalid or unknown", name, err)
		}
	}
}

func TestCancelledContext(t *testing.T) {
	db := open(t, clinic(t))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var n int64
	err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM visits`).Scan(&n)
	if !errors.Is(err, context.Canceled) && sqlerr.CodeOf(err) != sqlerr.Cancelled {
		t.Errorf("got %v, want a cancellation", err)
	}
}

// TestConcurrentQueries asks one mechanism from many goroutines: equal queries
// get equal answers.
func TestConcurrentQueries(t *testing.T) {
	db := open(t, clinic(t)+"?mechanism=ask")
	var mu sync.Mutex
	answers := make(map[int]int64)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 20 {
				age := (i*7 + g) % 20
				var n int64
				if err := db.QueryRow(`SELECT COUNT(*) FROM visits WHERE age = ?`, age).Scan(&n); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if old, ok := answers[age]; ok && old != n {
					t.Errorf("age = %d is answered %d and %d", age, old, n)
				}
				answers[age] = n
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
}

// TestGroupedRows reads a statement of several columns and rows.
func TestGroupedRows(t *testing.T) {
	db := open(t, clinic(t))
	rows, err := db.Query(`SELECT sex, COUNT(*) AS n, AVG(age) AS mean, MARGIN(mean) FROM visits WHERE age < ? GROUP BY sex ORDER BY sex`, 80)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	holdTypes(t, rows, "sex TEXT true", "n INT8 false", "mean FLOAT8 true", "margin FLOAT8 true")
	var seen []string
	for rows.Next() {
		var sex string
		var n int64
		var mean, margin sql.NullFloat64
		if err := rows.Scan(&sex, &n, &mean, &margin); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, sex)
		// 2,000 rows each, ages evenly from 0 to 79: the noise of 80 cells at
		// ε = 2 moves the count by 200 and the mean by 5 with a probability
		// far below 1e-6.
		if n < 1800 || n > 2200 || !mean.Valid || math.Abs(mean.Float64-39.5) > 5 || !margin.Valid || margin.Float64 <= 0 {
			t.Errorf("%s: %d rows, mean %v ± %v", sex, n, mean, margin)
		}
	}
	if err := rows.Err(); err != nil || fmt.Sprint(seen) != "[F M]" {
		t.Errorf("the groups are %v, %v", seen, err)
	}
}

// holdTypes compares the names and types of columns, and whether they are nullable.
func holdTypes(t *testing.T, rows *sql.Rows, want ...string) {
	t.Helper()
	types, err := rows.ColumnTypes()
	if err != nil || len(types) != len(want) {
		t.Fatalf("%d columns, %v; want %d", len(types), err, len(want))
	}
	for i, c := range types {
		nullable, _ := c.Nullable()
		if got := fmt.Sprint(c.Name(), " ", c.DatabaseTypeName(), " ", nullable); got != want[i] {
			t.Errorf("column %d is %s, want %s", i+1, got, want[i])
		}
	}
}
