package postgres

import (
	"context"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
	"dpsql/source"
)

// TestSameAsSQLite compares the reader with SQLite's reader over the same rows. It has
// columns of every type, values that are equal in some ways and not in others, and any
// query.
func TestSameAsSQLite(t *testing.T) {
	t.Parallel()
	pool, dsn := opened(t)
	conn, db := dialled(t, dsn), memory(t)
	prepare(t, conn)
	rapid.Check(t, func(t *rapid.T) {
		s := newScenario(t, db, conn, false)
		compare(t, pool, s, source.SQLite(db))
	})
}

// TestUnitsSameAsSQLite compares the rows kept of units with those that SQLite's reader
// keeps, whether the server or Go ranks them.
func TestUnitsSameAsSQLite(t *testing.T) {
	t.Parallel()
	pool, dsn := opened(t)
	conn, db := dialled(t, dsn), memory(t)
	prepare(t, conn)
	rapid.Check(t, func(t *rapid.T) {
		s := newScenario(t, db, conn, true)
		compare(t, pool, s, source.SQLite(db))
	})
}

// compare asks both readers for counts and cells.
func compare(t *rapid.T, pool *Pool, s scenario, file source.Reader) {
	ctx := context.Background()
	u, err := query.NewUniverse(s.table.Columns)
	must(t, err)
	must(t, pool.Snapshot(ctx, func(server source.Reader) error {
		for range 4 {
			q := s.query(t, u)
			want, err := file.Count(ctx, anyone{}, s.inFile(), q)
			must(t, err)
			if got, err := server.Count(ctx, anyone{}, s.table, q); err != nil || got != want {
				t.Fatalf("%s: the server counts %d (%v), SQLite %d", q, got, err, want)
			}
		}
		if s.table.Unit != "" {
			queries := []query.Query{query.All(u), s.query(t, u), s.query(t, u), query.None(u)}
			want, err := file.CountUnits(ctx, anyone{}, s.inFile(), queries)
			must(t, err)
			if got, err := server.CountUnits(ctx, anyone{}, s.table, queries); err != nil || !slices.Equal(got, want) {
				t.Fatalf("the server counts %v units (%v), SQLite %v", got, err, want)
			}
		}
		for i := range s.table.Columns {
			want, err := file.Keys(ctx, anyone{}, s.inFile(), i)
			must(t, err)
			if got, err := server.Keys(ctx, anyone{}, s.table, i); err != nil || !maps.Equal(maps.Collect(got.All()), maps.Collect(want.All())) {
				t.Fatalf("the server has the keys %v (%v), SQLite %v", maps.Collect(got.All()), err, maps.Collect(want.All()))
			}
		}
		columns := []int{}
		for i := range s.table.Columns {
			if rapid.Bool().Draw(t, "asked") {
				columns = append(columns, i)
			}
		}
		if len(columns) == 0 {
			columns = append(columns, 0)
		}
		coder := query.NewCoder(u.Project(columns), [16]byte{1})
		inFile, there := s.inFile(), s.table
		inFile.Texts, there.Texts = true, true
		want, err := file.Cells(ctx, anyone{}, inFile, columns, coder, 1000)
		must(t, err)
		got, err := server.Cells(ctx, anyone{}, there, columns, coder, 1000)
		must(t, err)
		for x := range want.All() {
			if got.Texts(x) != want.Texts(x) {
				t.Fatalf("the server has the texts %q of a cell, SQLite %q", got.Texts(x), want.Texts(x))
			}
		}
		if !maps.Equal(maps.Collect(got.All()), maps.Collect(want.All())) {
			t.Fatalf("the server has the cells %v, SQLite %v", maps.Collect(got.All()), maps.Collect(want.All()))
		}
		return nil
	}))
}
