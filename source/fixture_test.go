package source_test

import (
	"context"
	"database/sql"
	"testing"

	"dpsql/query"
	"dpsql/source"

	_ "modernc.org/sqlite"
)

// memory returns an empty database on one connection, so that a function that
// ran two statements at once would hang.
func memory(t testing.TB, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		run(t, db, s)
	}
	return db
}

func run(t testing.TB, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func list(t testing.TB, ty query.Type, values ...query.Value) query.Domain {
	t.Helper()
	d, err := query.NewList(ty, values)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func between(t testing.TB, lo, hi int64) query.Domain {
	t.Helper()
	d, err := query.NewRange(lo, hi, false)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func universe(t testing.TB, columns []query.Column) *query.Universe {
	t.Helper()
	u, err := query.NewUniverse(columns)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// where returns the conjunction of the sets, one a column.
func where(t testing.TB, u *query.Universe, sets ...query.Set) query.Query {
	t.Helper()
	q := query.All(u)
	for i, s := range sets {
		var err error
		if q, err = q.And(query.Where(u, i, s)); err != nil {
			t.Fatal(err)
		}
	}
	return q
}

// countAll counts the rows that count.
func countAll(ctx context.Context, q source.Querier, t source.Table) (int64, error) {
	u, err := query.NewUniverse(t.Columns)
	if err != nil {
		return 0, err
	}
	return source.SQLite(q).Count(ctx, anyone{}, t, query.All(u))
}

// anyone admits every reading.
type anyone struct{}

func (anyone) Admits(source.Table) error { return nil }
