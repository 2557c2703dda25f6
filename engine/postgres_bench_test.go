package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpsql/engine"
	"dpsql/internal/pgtest"
)

// BenchmarkPostgres counts 10,000 of a million rows in PostgreSQL: the bare
// statement, the same through a reader with the check of the table before it, and
// a whole direct answer with its charge.
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
	asked := 0 // each statement is another one, or the answer would be a stored one
	b.Run("statement", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			asked++
			ages := "3"
			for bit := range 30 {
				if asked>>bit&1 == 1 { // of these there are no rows
					ages += fmt.Sprint(", ", 101+bit)
				}
			}
			must(b, s, `SELECT COUNT(*) FROM visits WHERE age IN (`+ages+`)`)
		}
	})
}
