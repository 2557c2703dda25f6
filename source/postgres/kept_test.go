package postgres

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/source"
)

// TestKeptOfLongTexts keeps some rows of units and compares them with those of SQLite's
// reader. A rank that differed in one would keep another row in half of the cases.
func TestKeptOfLongTexts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pool, dsn := opened(t)
	conn, db := dialled(t, dsn), memory(t)
	execute(t, conn, "CREATE TABLE raw (unit text, x text, n numeric)")
	_, err := db.Exec("CREATE TABLE raw (unit, x, n)")
	must(t, err)
	for _, length := range []int{0, 1, 126, 127, 128, 129, 16_383, 16_384, source.MaxBytes - 1, source.MaxBytes, source.MaxBytes + 1, 2_097_152} {
		for row := range 6 {
			unit, x := strings.Repeat("u", length), strings.Repeat("é", length/2)+fmt.Sprint(row%4)
			_, err := conn.Exec(ctx, "INSERT INTO raw VALUES ($1, $2, $3)", unit, x, fmt.Sprint(row%2))
			must(t, err)
			_, err = db.Exec("INSERT INTO raw VALUES (?, ?, ?)", unit, x, row%2)
			must(t, err)
		}
	}
	number, err := query.NewRange(0, 9, true)
	must(t, err)
	table := source.Table{Source: "public.raw", Unit: "unit", Columns: []query.Column{{Name: "x", Domain: query.Unbounded()}, {Name: "n", Domain: number}}}
	u, err := query.NewUniverse(table.Columns)
	must(t, err)
	coder := query.NewCoder(u, [16]byte{1})
	for key := range 6 {
		table.Key, table.MaxRows = []byte(strings.Repeat("k", 30*key+1)), int64(1+key%4)
		file := table
		file.Source = "raw"
		want, err := source.SQLite(db).Cells(ctx, anyone{}, file, []int{0, 1}, coder, 1000)
		must(t, err)
		must(t, pool.Snapshot(ctx, func(r source.Reader) error {
			got, err := r.Cells(ctx, anyone{}, table, []int{0, 1}, coder, 1000)
			must(t, err)
			if !maps.Equal(maps.Collect(got.All()), maps.Collect(want.All())) {
				t.Errorf("a key of %d bytes: %d cells %v are kept, by SQLite %d %v", len(table.Key), got.Len(), maps.Collect(got.All()), want.Len(), maps.Collect(want.All()))
			}
			return nil
		}))
	}
}
