package engine

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
)

// crowded makes a database of a million rows, and returns a session. Each of
// the 4,096 pairs (a, b) has about 244 rows, with c spread evenly over 1,200
// values, so that a query of 1,000 elements counts about 200. The index covers it.
func crowded(b *testing.B, statements ...string) *Session {
	b.Helper()
	s := open(b, filepath.Join(b.TempDir(), "crowded.db"), Options{}).NewSession()
	fill(b, s, `CREATE TABLE raw (a INTEGER, b INTEGER, c INTEGER)`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999999)
			INSERT INTO raw SELECT i % 64, i / 64 % 64, (i / 4096 * 5 + i % 4096 * 37) % 1200 FROM n`,
		`CREATE INDEX covering ON raw (a, b, c)`)
	must(b, s, `CREATE PRIVATE TABLE t (a INTEGER BETWEEN 0 AND 63, b INTEGER BETWEEN 0 AND 63, c INTEGER BETWEEN 0 AND 1199)
		FROM raw WITH (epsilon = 8, delta = 1e-6)`)
	for _, text := range statements {
		must(b, s, text)
	}
	return s
}

// thousand is the i-th of 800,000 queries of m = 1,000.
func thousand(table string, i int) string {
	lo := i / 4096 % 200
	return fmt.Sprintf(`SELECT COUNT(*) FROM %s WHERE a = %d AND b = %d AND c BETWEEN %d AND %d`, table, i%64, i/64%64, lo, lo+999)
}

// ask times fresh queries of m = 1,000, SQL text to row.
func ask(b *testing.B, s *Session) {
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		if _, err := s.Exec(context.Background(), thousand("t", i), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// plainSQL times the same predicates as plain SQL on a connection of its own.
func plainSQL(b *testing.B, s *Session) {
	db, err := sql.Open("sqlite", s.db.store.Path())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	b.ReportAllocs()
	i, total := 0, int64(0)
	for b.Loop() {
		i++
		var n int64
		if err := db.QueryRow(thousand("raw", i)).Scan(&n); err != nil {
			b.Fatal(err)
		}
		total += n
	}
	b.ReportMetric(float64(total)/float64(i), "rows/op")
}

// BenchmarkAnswer compares answers of releases of 2^23 buckets with plain SQL.
func BenchmarkAnswer(b *testing.B) {
	s := crowded(b,
		`CREATE RELEASE sketch ON t USING PROJECTION WITH (epsilon = 1, transform = sparse, rows = 8388608)`,
		`CREATE RELEASE cells ON t USING PROJECTION WITH (epsilon = 1, transform = identity)`)
	b.Run("plain", func(b *testing.B) { plainSQL(b, s) })
	for _, name := range []string{"sketch", "cells"} {
		b.Run(name, func(b *testing.B) {
			must(b, s, `SET mechanism = `+name)
			ask(b, s)
		})
	}
}

// BenchmarkMechanism times comparisons that do not fire, with the cells in
// memory and by push-down, and those that do.
func BenchmarkMechanism(b *testing.B) {
	s := crowded(b, `CREATE MECHANISM m ON t USING SMW WITH (epsilon = 1, max_updates = 10, max_support = 491520)`, `SET mechanism = m`)
	b.Run("plain", func(b *testing.B) { plainSQL(b, s) })
	b.Run("unfired", func(b *testing.B) {
		warm(b, s)
		ask(b, s)
	})
}

// warm asks until the cells are in memory.
func warm(b *testing.B, s *Session) {
	b.Helper()
	for i := 500_000; ; i++ {
		must(b, s, thousand("t", i))
		for _, c := range s.db.cellCache.byKey {
			if c.histogram != nil {
				return
			}
		}
	}
}
