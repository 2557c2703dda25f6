package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpsql/query"
	"dpsql/source"
)

const benchRows = "1000000"

// loaded makes a table of a million rows in 100,000 units and some 40,000 cells.
func loaded(b *testing.B) (*Pool, *pgx.Conn, source.Table) {
	pool, dsn := opened(b)
	conn := dialled(b, dsn)
	execute(b, conn, `CREATE TABLE visits AS SELECT (i * 79::bigint) % 100000 AS patient, (i * 31) % 120 AS age, 'E' || (i * 17) % 97 AS diagnosis, ((i * 13) % 7)::smallint AS ward
		FROM generate_series(1, `+benchRows+`) AS i`, "CREATE INDEX ON visits (diagnosis, age)", "VACUUM ANALYZE visits")
	var codes []query.Value
	for i := range 97 {
		codes = append(codes, query.Text("E"+string(rune('0'+i/10))+string(rune('0'+i%10))))
		if i < 10 {
			codes[i] = query.Text("E" + string(rune('0'+i)))
		}
	}
	age, err := query.NewRange(0, 119, false)
	must(b, err)
	diagnosis, err := query.NewList(query.TypeText, codes)
	must(b, err)
	ward, err := query.NewRange(0, 6, false)
	must(b, err)
	return pool, conn, source.Table{Source: "public.visits", Columns: []query.Column{{Name: "age", Domain: age}, {Name: "diagnosis", Domain: diagnosis}, {Name: "ward", Domain: ward}}}
}

// bare runs a statement and reads its rows.
func bare(b *testing.B, conn *pgx.Conn, text string) {
	b.Helper()
	result := conn.PgConn().ExecParams(context.Background(), text, nil, nil, nil, []int16{1})
	for result.NextRow() {
	}
	if _, err := result.Close(); err != nil {
		b.Fatal(err)
	}
}

// within runs a read on a snapshot of its own, the schema checked first.
func within(b *testing.B, pool *Pool, t source.Table, f func(source.Reader) error) {
	b.Helper()
	err := pool.Snapshot(context.Background(), func(r source.Reader) error {
		if _, err := r.Check(context.Background(), t); err != nil {
			return err
		}
		return f(r)
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkSteps splits a count of 1,000 of 100,000 rows into its parts: the bare
// statement, a bare round trip, and the reader's steps before and after the statement.
// It reports the least time of each.
func BenchmarkSteps(b *testing.B) {
	ctx := context.Background()
	pool, dsn := opened(b)
	conn := dialled(b, dsn)
	execute(b, conn, "CREATE TABLE visits AS SELECT i % 2 AS sex, i % 100 AS age FROM generate_series(1, 100000) AS i", "VACUUM ANALYZE visits")
	age, err := query.NewRange(0, 200, false)
	must(b, err)
	table := source.Table{Source: "public.visits", Columns: []query.Column{{Name: "age", Domain: age}}}
	const count = "SELECT count(*) FROM public.visits WHERE age = 3"
	least := make(map[string]time.Duration)
	step := func(name string, f func() error) {
		begun := time.Now()
		err := f()
		took := time.Since(begun)
		must(b, err)
		if known, ok := least[name]; !ok || took < known {
			least[name] = took
		}
	}
	for b.Loop() {
		step("bare", func() error { bare(b, conn, count); return nil })
		step("round-trip", func() error { return conn.PgConn().Exec(ctx, "").Close() })
		must(b, pool.Snapshot(ctx, func(from source.Reader) (err error) {
			r := from.(*reader)
			var rel *relation
			if r.conn, err = pool.pool.Acquire(ctx); err != nil {
				return err
			}
			step("resolve", func() (err error) { rel, err = r.resolve(ctx, table.Source); return err })
			step("begin", func() error { return r.lock(ctx, rel) })
			step("attributes", func() (err error) { rel.attributes, err = r.attributes(ctx, rel); return err })
			step("schema", func() error { _, err := r.schema(ctx, rel, table); return err })
			step("readable", func() error { return r.readable(ctx, rel, table) })
			step("rollback", func() error { r.reset(); return nil })
			return nil
		}))
	}
	for name, took := range least {
		b.ReportMetric(float64(took.Microseconds()), name+"-µs")
	}
}

// BenchmarkCells compares the cells of a table with the bare GROUP BY.
func BenchmarkCells(b *testing.B) {
	pool, conn, t := loaded(b)
	u, err := query.NewUniverse(t.Columns)
	must(b, err)
	coder := query.NewCoder(u, [16]byte{})
	cells := func(t source.Table) func(*testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				within(b, pool, t, func(r source.Reader) error {
					_, err := r.Cells(context.Background(), anyone{}, t, []int{0, 1, 2}, coder, 1<<20)
					return err
				})
			}
		}
	}
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			bare(b, conn, "SELECT age, diagnosis, ward, count(*) FROM visits GROUP BY age, diagnosis, ward")
		}
	})
	b.Run("cells", cells(t))
	execute(b, conn, "CREATE TABLE parted (LIKE visits) PARTITION BY HASH (patient)", "CREATE TABLE parted0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
		"CREATE TABLE parted1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1)", "INSERT INTO parted SELECT * FROM visits", "VACUUM ANALYZE parted")
	b.Run("two partitions, bare", func(b *testing.B) {
		for b.Loop() {
			bare(b, conn, "SELECT age, diagnosis, ward, count(*) FROM parted GROUP BY age, diagnosis, ward")
		}
	})
	parted := t
	parted.Source = "public.parted"
	b.Run("two partitions, cells", cells(parted))
	t.Unit, t.Key, t.MaxRows = "patient", []byte("key"), 20
	b.Run("units, all kept", cells(t))
	t.MaxRows = 3
	b.Run("units, 3 of 10 kept", cells(t))
}

// withinDomains returns the bare count with the same meaning: it counts the rows whose
// declared columns all lie in their domains.
func withinDomains(t source.Table) string {
	var codes []string
	for v := range t.Columns[1].Domain.All().Each() {
		codes = append(codes, v.String())
	}
	return "SELECT count(*) FROM visits WHERE ward = 3 AND age BETWEEN 0 AND 119 AND diagnosis IN (" + strings.Join(codes, ", ") + ")"
}

// BenchmarkCount compares counts with the bare ones.
func BenchmarkCount(b *testing.B) {
	pool, conn, t := loaded(b)
	u, err := query.NewUniverse(t.Columns)
	must(b, err)
	few, err := query.Where(u, 1, t.Columns[1].Domain.SetOf(query.Text("E17"))).And(query.Where(u, 0, t.Columns[0].Domain.SetOf(query.Int(31))))
	must(b, err)
	many := query.Where(u, 2, t.Columns[2].Domain.SetOf(query.Int(3)))
	for name, c := range map[string]struct {
		q    query.Query
		text string
	}{"indexed": {few, "SELECT count(*) FROM visits WHERE diagnosis = 'E17' AND age = 31"}, "scanned": {many, "SELECT count(*) FROM visits WHERE ward = 3"}, "scanned within domains": {many, withinDomains(t)}} {
		b.Run(name+"/bare", func(b *testing.B) {
			for b.Loop() {
				bare(b, conn, c.text)
			}
		})
		b.Run(name+"/count", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				within(b, pool, t, func(r source.Reader) error {
					_, err := r.Count(context.Background(), anyone{}, t, c.q)
					return err
				})
			}
		})
		kept := t
		kept.Unit, kept.Key, kept.MaxRows = "patient", []byte("key"), 3
		b.Run(name+"/units, 3 of 10 kept", func(b *testing.B) {
			for b.Loop() {
				within(b, pool, kept, func(r source.Reader) error {
					_, err := r.Count(context.Background(), anyone{}, kept, c.q)
					return err
				})
			}
		})
	}
}
