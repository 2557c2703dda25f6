package source_test

import (
	"context"
	"math"
	"testing"

	"dpsql/query"
	"dpsql/source"
)

// BenchmarkUnits reads a million rows of about 250 000 units, in no order, of
// which four each are kept: a count of few rows, one of half of them, all rows
// and all cells; at last few rows again with indexes.
func BenchmarkUnits(b *testing.B) {
	db, table := million(b)
	run(b, db, "ALTER TABLE raw ADD COLUMN person INTEGER")
	run(b, db, "UPDATE raw SET person = (rowid * 2654435761 % 4294967296 >> 7) % 250000")
	table.Unit, table.MaxRows, table.Key = "person", 4, make([]byte, 32)
	u, c := universe(b, table.Columns), table.Columns
	few := where(b, u, c[0].Domain.SetOf(query.Int(1)), c[1].Domain.SetOf(query.Int(30)), c[2].Domain.All(), c[3].Domain.SetOf(query.Text("d1"), query.Text("d2")))
	half := query.Where(u, 0, c[0].Domain.SetOf(query.Int(1)))
	coder := query.NewCoder(u, [16]byte{})
	measure := func(name string, read func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	count := func(q query.Query) func() error {
		return func() error {
			_, err := source.SQLite(db).Count(context.Background(), anyone{}, table, q)
			return err
		}
	}
	measure("few rows", count(few))
	measure("half the rows", count(half))
	measure("all rows", count(query.All(u)))
	measure("cells", func() error {
		_, err := source.SQLite(db).Cells(context.Background(), anyone{}, table, []int{0, 1, 2, 3, 4}, coder, math.MaxInt)
		return err
	})
	run(b, db, "CREATE INDEX i ON raw (diagnosis, sex, age)")
	run(b, db, "CREATE INDEX p ON raw (person)")
	measure("few rows indexed", count(few))
}
