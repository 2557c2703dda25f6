package driver_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"testing"

	"dpsql/internal/pgtest"
	"dpsql/sqlerr"
)

// TestRowsInPostgres declares and asks by database/sql a table whose rows are in
// PostgreSQL, from several goroutines. It is skipped where PostgreSQL is missing.
func TestRowsInPostgres(t *testing.T) {
	c := pgtest.Start(t)
	c.MustExec(t, `CREATE TABLE visits (sex text, age integer);
		INSERT INTO visits SELECT CASE WHEN i % 2 = 1 THEN 'F' ELSE 'M' END, i % 80 FROM generate_series(1, 4000) AS i`)
	t.Setenv("WAREHOUSE_DSN", c.DSN())
	path := filepath.Join(t.TempDir(), "clinic.db")
	db := open(t, path+"?create=true")
	for _, text := range []string{`CREATE SOURCE warehouse USING POSTGRES WITH (dsn_env = 'WAREHOUSE_DSN')`,
		`CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 120) FROM warehouse.visits WITH (epsilon = 4, delta = 1e-6)`,
		`CREATE RELEASE cells ON visits USING PROJECTION WITH (epsilon = 2)`} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(text, err)
		}
	}
	near := open(t, clinic(t))
	var wait sync.WaitGroup
	for _, asked := range []*sql.DB{db, near} {
		for i := range 4 {
			wait.Go(func() {
				var n int64
				err := asked.QueryRow(`SELECT COUNT(*) FROM visits WHERE sex = ? AND age BETWEEN ? AND ?`, "F", 20+i, 59+i).Scan(&n)
				// 1,000 rows; see TestQueryRow for the noise.
				if err != nil || n < 800 || n > 1200 {
					t.Errorf("got %d, %v, want about 1000", n, err)
				}
			})
		}
	}
	wait.Wait()
	conn, err := open(t, path+"?role=analyst").Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, text := range []string{`SET mechanism = direct`, `SET accuracy = 100`} {
		if _, err := conn.ExecContext(context.Background(), text); err != nil {
			t.Fatal(err)
		}
	}
	var n int64
	// The noise is within 100 at 95 %, and beyond 600 with probability below 1e-20.
	if err := conn.QueryRowContext(context.Background(), `SELECT COUNT(*) FROM visits WHERE age % 2 = 1`).Scan(&n); err != nil || n < 1400 || n > 2600 {
		t.Errorf("got %d, %v, want about 2000", n, err)
	}
	if _, err := conn.ExecContext(context.Background(), `DROP SOURCE warehouse`); sqlerr.CodeOf(err) != sqlerr.Forbidden {
		t.Errorf("an analyst drops a source: %v", err)
	}
}
