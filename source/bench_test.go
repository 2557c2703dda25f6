package source_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"dpsql/query"
	"dpsql/source"
)

const benchRows = 1_000_000

// million returns a table of a million rows and five columns.
func million(b *testing.B) (*sql.DB, source.Table) {
	b.Helper()
	db := memory(b, "CREATE TABLE raw (sex INTEGER, age INTEGER, educ INTEGER, diagnosis TEXT, zip TEXT)")
	tx, err := db.Begin()
	if err != nil {
		b.Fatal(err)
	}
	insert, err := tx.Prepare("INSERT INTO raw VALUES (?, ?, ?, ?, ?)")
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewSource(1))
	for range benchRows {
		_, err := insert.Exec(r.Intn(2), r.Intn(100), r.Intn(16), "d"+strconv.Itoa(r.Intn(500)), strconv.Itoa(10000+r.Intn(90000)))
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	var codes []query.Value
	for i := range 500 {
		codes = append(codes, query.Text("d"+strconv.Itoa(i)))
	}
	return db, source.Table{Source: "raw", Columns: []query.Column{
		{Name: "sex", Domain: between(b, 0, 1)}, {Name: "age", Domain: between(b, 0, 99)}, {Name: "educ", Domain: between(b, 0, 15)},
		{Name: "diagnosis", Domain: list(b, query.TypeText, codes...)}, {Name: "zip", Domain: query.Unbounded()}}}
}

// BenchmarkCount compares a pushed-down conjunction with the statement one
// would write by hand, which checks neither types nor the free column.
func BenchmarkCount(b *testing.B) {
	db, table := million(b)
	u := universe(b, table.Columns)
	c := table.Columns
	thirties, _ := c[1].Domain.Greater(query.Int(30), true)
	thirties = thirties.Intersect(below(c[1].Domain, 35))
	q := where(b, u, c[0].Domain.SetOf(query.Int(1)), thirties, c[2].Domain.All(), c[3].Domain.SetOf(query.Text("d1"), query.Text("d2")))
	different, err := q.Or(query.Where(u, 2, c[2].Domain.SetOf(query.Int(3))))
	if err != nil {
		b.Fatal(err)
	}
	count := func(q query.Query) func(*testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := source.SQLite(db).Count(context.Background(), anyone{}, table, q); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	plain := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var n int64
			if err := db.QueryRow("SELECT COUNT(*) FROM raw WHERE sex = ? AND age BETWEEN ? AND ? AND diagnosis IN (?, ?)", 1, 30, 34, "d1", "d2").Scan(&n); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("plain", plain)
	b.Run("pushed", count(q))
	b.Run("all rows", count(query.All(u)))
	b.Run("streamed", count(different))
	run(b, db, "CREATE INDEX i ON raw (diagnosis, sex, age)")
	b.Run("plain indexed", plain)
	b.Run("pushed indexed", count(q))
}

// BenchmarkCells compares tallying cells with reading the same columns of all
// rows through database/sql without a look at their values.
func BenchmarkCells(b *testing.B) {
	db, table := million(b)
	b.Run("streaming", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			rows, err := db.Query("SELECT sex, age, educ, diagnosis, zip FROM raw")
			if err != nil {
				b.Fatal(err)
			}
			var sex, age, educ int64
			var diagnosis, zip string
			for rows.Next() {
				if err := rows.Scan(&sex, &age, &educ, &diagnosis, &zip); err != nil {
					b.Fatal(err)
				}
			}
			if err := rows.Err(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, columns := range map[string][]int{"5 of 5": {0, 1, 2, 3, 4}, "3 of 5": {0, 1, 2}} {
		coder := query.NewCoder(universe(b, table.Columns).Project(columns), [16]byte{})
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := source.SQLite(db).Cells(context.Background(), anyone{}, table, columns, coder, math.MaxInt); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPart reads the cells of one month of 120 that have 10^5 rows each: from a table of that
// month alone, and from the table of all months in a file, by an index and by none. Rows lie in the file
// as they came, day by day, or in no order.
func BenchmarkPart(b *testing.B) {
	const months, perMonth = 120, 100_000
	cells := func(db *sql.DB, table source.Table) func(b *testing.B) {
		return func(b *testing.B) {
			u := universe(b, table.Columns)
			for b.Loop() {
				h, err := source.SQLite(db).Cells(context.Background(), anyone{}, table, []int{0, 1, 2}, query.NewCoder(u, [16]byte{}), math.MaxInt)
				if err != nil {
					b.Fatal(err)
				}
				n := int64(0)
				for _, m := range h.All() {
					n += m
				}
				if n != perMonth {
					b.Fatalf("%d rows", n)
				}
			}
		}
	}
	fill := func(b *testing.B, name string, rows int, day string) *sql.DB {
		db, err := sql.Open("sqlite", filepath.Join(b.TempDir(), name))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { db.Close() })
		db.SetMaxOpenConns(1)
		run(b, db, "CREATE TABLE raw (d DATE, sex TEXT, age INTEGER)")
		run(b, db, "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO raw SELECT "+day+", CASE i % 2 WHEN 0 THEN 'f' ELSE 'm' END, i * 7 % 100 FROM n", rows-1)
		return db
	}
	whole, named := periodic(b, query.DateForm(query.StoredISO), "2020-01-01", "2029-12-31")
	for i, c := range []query.Column{{Name: "sex", Domain: list(b, query.TypeText, query.Text("f"), query.Text("m"))}, {Name: "age", Domain: between(b, 0, 99)}} {
		whole.Columns = append(whole.Columns[:1+i:1+i], c)
	}
	month := whole
	month.Columns = slices.Concat(named("2026-10").Columns[:1], whole.Columns[1:])
	const inMonth = "date('2020-01-01', (%s) || ' months', (%s) || ' days')"
	inOrder := fmt.Sprintf("i %% %d * 28 / %[1]d", perMonth)
	b.Run("alone", func(b *testing.B) {
		cells(fill(b, "alone", perMonth, fmt.Sprintf(inMonth, "81", inOrder)), month)(b)
	})
	for _, order := range []struct{ name, month, day string }{{"in order", fmt.Sprintf("i / %d", perMonth), inOrder}, {"in no order", fmt.Sprintf("i * 49 %% %d", months), "i % 28"}} {
		b.Run(order.name, func(b *testing.B) {
			db := fill(b, "all", months*perMonth, fmt.Sprintf(inMonth, order.month, order.day))
			b.Run("no index", cells(db, month))
			run(b, db, "CREATE INDEX raw_d ON raw (d)")
			b.Run("index", cells(db, month))
			run(b, db, "CREATE INDEX raw_all ON raw (d, sex, age)")
			b.Run("index of all columns", cells(db, month))
		})
	}
}
