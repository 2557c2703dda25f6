package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"dpsql/engine"
	"dpsql/engine/internal/answer"
	"dpsql/sqlfront/syntax"
)

// million makes a database whose universe has 2^20 cells, with a release of
// 2^20 rows over it and a mechanism, and returns a session.
func million(b *testing.B, transform string) *engine.Session {
	b.Helper()
	db, err := engine.Open(filepath.Join(b.TempDir(), "million.db"), engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	s := db.NewSession()
	fill(b, s, `CREATE TABLE raw (a INTEGER, b INTEGER, c INTEGER)`,
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
			INSERT INTO raw SELECT (i * i) % 32, (i * 7) % 32, i % 1024 FROM n`)
	for _, text := range []string{
		`CREATE PRIVATE TABLE t (a INTEGER BETWEEN 0 AND 31, b INTEGER BETWEEN 0 AND 31, c INTEGER BETWEEN 0 AND 1023)
			FROM raw WITH (epsilon = 8, delta = 1e-6)`,
		fmt.Sprintf(`CREATE RELEASE r ON t USING PROJECTION WITH (epsilon = 1, transform = %s, rows = 1048576)`, transform),
		`CREATE MECHANISM m ON t USING SMW WITH (epsilon = 1, max_updates = 10)`,
	} {
		if _, err := s.Exec(context.Background(), text, nil); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// BenchmarkReleaseQuery answers a query of m = 1,000 elements, from columns
// that are not fixed, SQL text to row.
func BenchmarkReleaseQuery(b *testing.B) {
	for _, transform := range []string{"identity", "sparse"} {
		b.Run(transform, func(b *testing.B) {
			s := million(b, transform)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				text := fmt.Sprintf(`SELECT COUNT(*) FROM t WHERE a = %d AND b = %d AND c < 1000`, i%32, i/32%32)
				if _, err := s.Exec(context.Background(), text, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStages times the parts of a release answer.
func BenchmarkStages(b *testing.B) {
	s := million(b, "sparse")
	ctx := context.Background()
	const text = `SELECT COUNT(*) FROM t WHERE a = 3 AND b = 5 AND c < 1000`
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			if _, err := syntax.Parse(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("view", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.DB().View(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	st, _ := syntax.Parse(text)
	v, err := s.DB().View(ctx)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("bind", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Bind(ctx, v, st.(*syntax.Select), nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	bound, err := s.Bind(ctx, v, st.(*syntax.Select), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("plan", func(b *testing.B) {
		for b.Loop() {
			if err := bound.Plan(ctx, answer.Planning{Buyer: s.Asker().Buyer()}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkUnfired asks a mechanism fresh queries that it agrees with.
func BenchmarkUnfired(b *testing.B) {
	s := million(b, "sparse")
	if err := s.Set("mechanism", "m"); err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		i++
		text := fmt.Sprintf(`SELECT COUNT(*) FROM t WHERE a = %d AND b = %d AND c < %d`, i%32, i/32%32, 1000-i/1024%1000)
		if _, err := s.Exec(context.Background(), text, nil); err != nil {
			b.Fatal(err)
		}
	}
}
