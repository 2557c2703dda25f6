package pgcatalog

import (
	"context"
	"fmt"
	"runtime"
	"testing"
)

// wide is a picture of n tables with 12 columns each.
func wide(n int) Picture {
	p := Picture{Database: "clinic", User: "ana", Version: "PostgreSQL 15.0 (dpsql)"}
	for i := range n {
		t := Table{Name: fmt.Sprintf("table_%d", i), Comment: "rows of something"}
		for j := range 12 {
			t.Columns = append(t.Columns, Column{Name: fmt.Sprintf("column_%d", j), Type: columnTypes[j%len(columnTypes)], Comment: "between 0 and 99"})
		}
		p.Tables = append(p.Tables, t)
	}
	return p
}

// BenchmarkNew reports the time and the memory of a Catalog of 20 tables, beside what all
// share.
func BenchmarkNew(b *testing.B) {
	sharedCatalog()
	p := wide(20)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	all := make([]*Catalog, 0, b.N)
	for b.Loop() {
		c, err := New(p)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, c)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(all)), "B/catalog")
	runtime.KeepAlive(all)
}

// BenchmarkColumns asks what psql's \d asks.
func BenchmarkColumns(b *testing.B) {
	c, err := New(wide(20))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		rows, err := c.Query(context.Background(), Session{}, `SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
			(SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef)
			FROM pg_catalog.pg_attribute a WHERE a.attrelid = 'table_3'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, nil)
		if err != nil || len(rows.Values) != 12 {
			b.Fatal(rows, err)
		}
	}
}

// BenchmarkAsks asks about statements that are the engine's.
func BenchmarkAsks(b *testing.B) {
	for b.Loop() {
		if Asks(read("SELECT COUNT(*) FROM visits WHERE sex = 'F' AND smoker = TRUE")) || Asks(read("SELECT age_group, COUNT(*) FROM visits GROUP BY age_group")) {
			b.Fatal("asks")
		}
	}
}

// BenchmarkFirst asks what a process is asked first, and what it is asked by another user than before.
func BenchmarkFirst(b *testing.B) {
	var catalogs [2]*Catalog
	for i := range catalogs {
		c, err := New(wide(20 + i))
		if err != nil {
			b.Fatal(err)
		}
		catalogs[i] = c
	}
	ask := func(c *Catalog) {
		if _, err := c.Query(context.Background(), Session{}, "SELECT relname FROM pg_class WHERE oid = 'table_3'::regclass", nil); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("process", func(b *testing.B) {
		for b.Loop() {
			for len(idle) > 0 {
				(<-idle).close()
			}
			ask(catalogs[0])
		}
	})
	b.Run("user", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			ask(catalogs[i%2])
		}
	})
}
