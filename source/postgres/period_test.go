package postgres

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"dpsql/internal/period"
	"dpsql/internal/seeds"
	"dpsql/query"
	"dpsql/source"
)

// parted returns a table whose periods are months of the column d, and the same table with the
// rows of some periods alone.
func parted(t testing.TB, name string, form query.Form, months string) (whole, part source.Table) {
	t.Helper()
	d, err := form.NewRange("2020-01-01", "2029-12-31", false)
	must(t, err)
	x, err := query.NewRange(0, 3, false)
	must(t, err)
	p := period.Partition{Column: "d", By: period.Month, Form: form}
	whole = source.Table{Source: name, Columns: []query.Column{{Name: "d", Domain: d, Form: form}, {Name: "x", Domain: x}}, Period: &source.Period{Partition: p, Declared: d}}
	r, err := p.Range(months)
	must(t, err)
	part = whole
	part.Columns = slices.Clone(whole.Columns)
	part.Columns[0].Domain, _ = p.Restrict(d, r)
	return whole, part
}

// TestPartsAreRead compares what is counted in the rows of some periods when the server is told to
// look for these with what is counted when it reads the whole table, for columns of each type.
func TestPartsAreRead(t *testing.T) {
	t.Parallel()
	seed := seeds.Of(t)
	r := rand.New(rand.NewPCG(seed, 1))
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	iso, unix, julian := query.DateForm(query.StoredISO), query.DateForm(query.StoredUnix), query.DateForm(query.StoredJulian)
	hours := func(s query.Stored) query.Form {
		f, err := query.TimestampForm(s, 3600)
		must(t, err)
		return f
	}
	total := int64(0)
	for i, c := range []struct {
		typ   string
		forms []query.Form
		value string // of a moment ?
	}{
		{"date", []query.Form{iso, hours(query.StoredISO)}, "(to_timestamp(?) AT TIME ZONE 'UTC')::date"},
		{"timestamp", []query.Form{hours(query.StoredISO)}, "to_timestamp(?) AT TIME ZONE 'UTC'"},
		{"timestamptz", []query.Form{hours(query.StoredISO)}, "to_timestamp(?)"},
		{"text", []query.Form{iso, hours(query.StoredISO)}, "to_char(to_timestamp(?) AT TIME ZONE 'UTC', $layout)"},
		{`varchar COLLATE "C"`, []query.Form{iso, hours(query.StoredISO)}, "to_char(to_timestamp(?) AT TIME ZONE 'UTC', $layout)"},
		{"int8", []query.Form{unix, hours(query.StoredUnix)}, "?"}, {"int4", []query.Form{unix}, "?"}, {"float8", []query.Form{unix, hours(query.StoredUnix)}, "?"}, {"float4", []query.Form{unix}, "?"},
		{"float8", []query.Form{julian, hours(query.StoredJulian)}, "(? / 86400.0 + 2440587.5)"}, {"int4", []query.Form{julian}, "(? / 86400.0 + 2440587.5)"}, {"float4", []query.Form{julian}, "(? / 86400.0 + 2440587.5)"},
	} {
		for j, form := range c.forms {
			name := fmt.Sprintf("raw%d_%d", i, j)
			months := []string{"2024-02", "2020-01", "2029-12", "2023-12 to 2024-03"}[r.IntN(4)]
			whole, part := parted(t, "public."+name, form, months)
			first, last := part.Columns[0].Domain.Bounds()
			var values []string
			for range 80 {
				moment := float64([]int64{first * form.Step(), (last + 1) * form.Step()}[r.IntN(2)]) + []float64{-86_400, -1, -1e-6, -0.25, 0, 0, 0.25, 1, 3600, 86_399, 86_399.999999, -0.0004, -0.0006}[r.IntN(13)]
				layout := []string{"'YYYY-MM-DD'", "'YYYY-MM-DD'", "'YYYY-MM-DD HH24:MI:SS'", `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`, "'YYYY-MM-DD HH24:MI'", "'YYYY-MM-DD '", `'YYYY-MM-DD"~"'`}[r.IntN(7)]
				values = append(values, fmt.Sprintf("(%s, %d, %d)", strings.NewReplacer("?", fmt.Sprintf("(%f)", moment), "$layout", layout).Replace(c.value), r.IntN(5), r.IntN(4)))
			}
			values = append(values, "(NULL, 1, 1)")
			if strings.HasPrefix(c.typ, "float") {
				values = append(values, "('NaN', 1, 1)", "('infinity', 1, 1)", "('-infinity', 1, 1)")
			} else if c.typ == "date" || strings.HasPrefix(c.typ, "timestamp") {
				values = append(values, "('infinity', 1, 1)", "('-infinity', 1, 1)")
			}
			execute(t, conn, "CREATE TABLE "+name+" (d "+c.typ+", x int, person int)", "INSERT INTO "+name+" VALUES "+strings.Join(values, ", "), "CREATE INDEX ON "+name+" (d)")
			for _, table := range []source.Table{part, whole} {
				if r.IntN(2) == 0 {
					table.Unit, table.MaxRows, table.Key = "person", 1+r.Int64N(3), []byte{1}
				}
				total += samePart(t, pool, table, part.Columns[0].Domain)
			}
		}
	}
	if total == 0 {
		t.Error("no row counted")
	}
}

// samePart compares counts and cells of a table with those that are read from all of its rows,
// for all of it and for a part of the first column. It returns how many rows count.
func samePart(t *testing.T, pool *Pool, table source.Table, part query.Domain) int64 {
	t.Helper()
	ctx, all := context.Background(), table
	p := *table.Period
	p.Declared, _ = query.NewRange(0, 0, false) // of which nothing is few
	all.Period = &p
	u, err := query.NewUniverse(table.Columns)
	must(t, err)
	some := query.Where(u, 0, valuesOf(table.Columns[0].Domain, part))
	more, err := some.Plus(query.Where(u, 1, table.Columns[1].Domain.SetOf(query.Int(2))))
	must(t, err)
	more, err = more.And(some)
	must(t, err)
	var counts [2][2]int64
	var cells [2]map[query.Element]int64
	must(t, pool.Snapshot(ctx, func(rows source.Reader) error {
		for i, of := range []source.Table{table, all} {
			for j, q := range []query.Query{some, more} {
				n, err := rows.Count(ctx, anyone{}, of, q)
				must(t, err)
				counts[i][j] = n
			}
			h, err := rows.Cells(ctx, anyone{}, of, []int{0, 1}, query.NewCoder(u, [16]byte{}), math.MaxInt)
			must(t, err)
			cells[i] = maps.Collect(h.All())
		}
		return nil
	}))
	if counts[0] != counts[1] || !maps.Equal(cells[0], cells[1]) {
		t.Fatalf("%s, %s stored as %v, unit %q: counts %v and cells %v; of all rows %v and %v", table.Source, table.Columns[0].TypeName(), table.Columns[0].Form.Stored(), table.Unit,
			counts[0], cells[0], counts[1], cells[1])
	}
	return counts[0][0]
}

// TestPartsAreLookedUp: of a partitioned table the server reads the partitions of the periods
// alone, and of another one the rows that the index finds, whatever is asked.
func TestPartsAreLookedUp(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, "CREATE TABLE months (d date, x int, person int) PARTITION BY RANGE (d)", "CREATE TABLE raw (d date, x int, person int)", "CREATE INDEX raw_d ON raw (d)",
		"CREATE TABLE bare (d date, x int, person int)", "CREATE TABLE texts (d text, x int, person int)",
		"CREATE VIEW few AS SELECT x, d AS d, person FROM months WHERE x < 3", "CREATE VIEW fewer AS SELECT * FROM few WHERE x < 2", "CREATE VIEW none AS SELECT * FROM bare")
	for month := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC); month.Year() < 2030; month = month.AddDate(0, 1, 0) {
		execute(t, conn, fmt.Sprintf("CREATE TABLE months_%s PARTITION OF months FOR VALUES FROM ('%s') TO ('%s')", month.Format("2006_01"), month.Format(time.DateOnly), month.AddDate(0, 1, 0).Format(time.DateOnly)))
	}
	fill := " SELECT '2020-01-01'::date + i % 3650, i % 4, i % 50 FROM generate_series(0, 20000) AS i"
	execute(t, conn, "INSERT INTO months"+fill, "INSERT INTO raw"+fill, "ANALYZE raw, months")
	for name, want := range map[string]source.Access{"public.months": {By: "partitions of months"}, "public.fewer": {By: "partitions of months"}, "public.none": {Hint: `CREATE INDEX ON "public"."bare" ("d")`}, "public.raw": {By: "index raw_d"},
		"public.bare": {Hint: `CREATE INDEX ON "public"."bare" ("d")`}, "public.texts": {Hint: `CREATE INDEX ON "public"."texts" ("d" COLLATE "C")`}} {
		whole, part := parted(t, name, query.DateForm(query.StoredISO), "2024-02")
		must(t, pool.Snapshot(ctx, func(rows source.Reader) error {
			if got, err := rows.Access(ctx, part); err != nil || got != want {
				t.Errorf("%s is reached by %+v (%v), want %+v", name, got, err, want)
			}
			if got, err := rows.Access(ctx, whole); err != nil || got != (source.Access{}) {
				t.Errorf("all of %s is reached by %+v (%v)", name, got, err)
			}
			return nil
		}))
	}
	for name, wanted := range map[string]string{"public.months": "months_2024_02", "public.raw": "raw_d", "public.fewer": "months_2024_02"} {
		_, part := parted(t, name, query.DateForm(query.StoredISO), "2024-02")
		for _, unit := range []string{"", "person"} {
			part.Unit, part.MaxRows, part.Key = unit, 2, []byte{1}
			total := int64(0)
			must(t, pool.Snapshot(ctx, func(rows source.Reader) error {
				r := rows.(*reader)
				return r.read(ctx, part, func(rel *relation) error {
					rel.shares = []*relation{rel, rel} // as if it were large
					all, err := rowsOf(rel, part)
					must(t, err)
					plan := explained(t, r, newPlan(all, []int{0, 1}).statement())
					if strings.Count(plan, wanted) == 0 || strings.Count(plan, "months_") > strings.Count(plan, "months_2024_02") || strings.Contains(plan, "Seq Scan on public.raw") {
						t.Errorf("%s: %s", name, plan)
					}
					u, err := query.NewUniverse(part.Columns)
					must(t, err)
					if total, err = rows.Count(ctx, anyone{}, part, query.All(u)); err != nil {
						return err
					}
					r.answered = false // or one connection would read all
					cells, err := rows.Cells(ctx, anyone{}, part, []int{1}, query.NewCoder(u.Project([]int{1}), [16]byte{}), math.MaxInt)
					must(t, err)
					for _, n := range cells.All() {
						total -= n
					}
					if total != 0 {
						t.Errorf("%s: all partitions are read by several connections", name)
					}
					total, err = rows.Count(ctx, anyone{}, part, query.All(u))
					return err
				})
			}))
			if total == 0 {
				t.Errorf("%s: no row counts", name)
			}
		}
	}
}

// TestKeptOfPeriodsSameAsSQLite: both readers keep the same rows of a unit in a period, of all
// periods and of some. Without periods they keep others.
func TestKeptOfPeriodsSameAsSQLite(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pool, dsn := opened(t)
	conn, db := dialled(t, dsn), memory(t)
	execute(t, conn, "CREATE TABLE raw (d date, x int, person int)")
	_, err := db.Exec("CREATE TABLE raw (d DATE, x INTEGER, person INTEGER); CREATE INDEX raw_d ON raw (d)")
	must(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		day := time.Date(2024, 1, 1+r.IntN(100), 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		x, person := r.IntN(5), r.IntN(9)
		execute(t, conn, fmt.Sprintf("INSERT INTO raw VALUES ('%s', %d, %d)", day, x, person))
		_, err := db.Exec("INSERT INTO raw VALUES (?, ?, ?)", day, x, person)
		must(t, err)
	}
	whole, part := parted(t, "public.raw", query.DateForm(query.StoredISO), "2024-02")
	for _, table := range []source.Table{whole, part} {
		table.Unit, table.MaxRows, table.Key = "person", 2, []byte("key")
		u, err := query.NewUniverse(table.Columns)
		must(t, err)
		file, without := table, table
		file.Source, without.Period = "raw", nil
		coder, queries := query.NewCoder(u, [16]byte{}), []query.Query{query.Where(u, 1, table.Columns[1].Domain.SetOf(query.Int(1)))}
		want, err := source.SQLite(db).Cells(ctx, anyone{}, file, []int{0, 1}, coder, math.MaxInt)
		must(t, err)
		units, err := source.SQLite(db).CountUnits(ctx, anyone{}, file, queries)
		must(t, err)
		must(t, pool.Snapshot(ctx, func(rows source.Reader) error {
			got, err := rows.Cells(ctx, anyone{}, table, []int{0, 1}, coder, math.MaxInt)
			if err != nil || !maps.Equal(maps.Collect(got.All()), maps.Collect(want.All())) {
				t.Errorf("the server keeps %v (%v), SQLite %v", maps.Collect(got.All()), err, maps.Collect(want.All()))
			}
			if n, err := rows.CountUnits(ctx, anyone{}, table, queries); err != nil || !slices.Equal(n, units) {
				t.Errorf("the server counts %v units (%v), SQLite %v", n, err, units)
			}
			n, err := rows.Count(ctx, anyone{}, table, queries[0])
			must(t, err)
			m, err := source.SQLite(db).Count(ctx, anyone{}, file, queries[0])
			must(t, err)
			if n != m || n == 0 {
				t.Errorf("the server counts %d rows, SQLite %d", n, m)
			}
			all, err := rows.Count(ctx, anyone{}, table, query.All(u))
			must(t, err)
			fewer, err := rows.Count(ctx, anyone{}, without, query.All(u))
			must(t, err)
			if fewer > 18 || table.Columns[0].Domain == whole.Columns[0].Domain && all <= fewer {
				t.Errorf("%d rows are kept with periods, and %d without", all, fewer)
			}
			return nil
		}))
	}
}
