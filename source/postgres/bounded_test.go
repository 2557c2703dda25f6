package postgres

import (
	"context"
	"errors"
	"math"
	"testing"

	"dpsql/query"
	"dpsql/source"
)

// TestTooManyCellsKeepTheSnapshot: that there are too many cells is found out by
// stopping a statement. The same reader must then go on, on the same snapshot: a
// later error would tell of the rows.
func TestTooManyCellsKeepTheSnapshot(t *testing.T) {
	t.Parallel()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, `CREATE TABLE wide (a integer, u integer)`, `INSERT INTO wide SELECT i, i / 2 FROM generate_series(1, 40000) AS i`)
	domain, err := query.NewRange(0, 1<<20, false)
	must(t, err)
	columns := []query.Column{{Name: "a", Domain: domain}}
	u, err := query.NewUniverse(columns)
	must(t, err)
	for _, table := range []source.Table{{Source: "public.wide", Columns: columns},
		{Source: "public.wide", Columns: columns, Unit: "u", MaxRows: 2, Key: []byte("k")}} {
		for _, first := range []bool{false, true} { // whether something was answered before
			err := pool.Snapshot(context.Background(), func(r source.Reader) error {
				count := func() int64 {
					n, err := r.Count(context.Background(), anyone{}, table, query.All(u))
					must(t, err)
					return n
				}
				want := int64(40000)
				if first && count() != want {
					t.Error("not all rows are counted")
				}
				for range 3 {
					if _, err := r.Cells(context.Background(), anyone{}, table, []int{0}, query.NewCoder(u, [16]byte{}), 1000); !errors.Is(err, source.ErrTooManyCells) {
						t.Fatalf("40,000 cells of at most 1,000: %v", err)
					}
					if first {
						execute(t, conn, `INSERT INTO wide VALUES (0, -1)`) // is not on the snapshot
					}
					if n := count(); n != want {
						t.Errorf("%d rows after too many cells, want %d", n, want)
					}
				}
				h, err := r.Cells(context.Background(), anyone{}, table, []int{0}, query.NewCoder(u, [16]byte{}), math.MaxInt)
				must(t, err)
				if h.Len() != int(want) {
					t.Errorf("%d cells", h.Len())
				}
				return nil
			})
			must(t, err)
			execute(t, conn, `DELETE FROM wide WHERE a = 0`)
		}
	}
}
