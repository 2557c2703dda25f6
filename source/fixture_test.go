package source_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
	"pgregory.net/rapid"

	"dpsql/query"
	"dpsql/source"
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

// where returns the conjunction of the sets, one per column.
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

// countAll counts the rows that lie in the domains and are kept.
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

// small values collide often, with one another and with the domains.
var small = []any{nil, int64(0), int64(1), int64(2), int64(7), int64(math.MinInt64), int64(math.MaxInt64),
	0.1, 0.1 + 0.2, 0.3, math.Nextafter(0.3, 0), -0.3, -1e-300, 2.5, -2.5, math.Nextafter(-2.5, -9), math.Nextafter(2.5, 0), 999.9999, 5e-324, 2000.0, "0.5", "-2.5",
	0.0, 1.0, 1.5, 2.0, 1e300, math.Inf(1), math.Inf(-1), "-1e300", "1e999", -9.2233720368547758e18, "", "0", "1", " 1", "01", "1.0", "2e0", "a", "A", "b", "a\x00", "a ", "\xff", "é", "1x", "-9223372036854775808",
	[]byte("a"), []byte("1")}

func someDomain(t *rapid.T) query.Domain {
	switch rapid.IntRange(0, 4).Draw(t, "domain") {
	case 0:
		lo := rapid.Int64Range(-2, 2).Draw(t, "lo")
		d, err := query.NewRange(lo, lo+rapid.Int64Range(0, 5).Draw(t, "width"), rapid.Bool().Draw(t, "null"))
		must(t, err)
		return d
	case 1:
		d, err := query.NewList(query.TypeInteger, subset(t, query.Null(), query.Int(0), query.Int(1), query.Int(2), query.Int(7),
			query.Int(math.MinInt64), query.Int(math.MaxInt64)))
		must(t, err)
		return d
	case 2:
		d, err := query.NewList(query.TypeText, subset(t, someTexts...))
		must(t, err)
		return d
	case 3:
		d, err := query.NewRange(math.MinInt64, math.MinInt64+3, false)
		must(t, err)
		return d
	}
	return query.Unbounded()
}

var someTexts = []query.Value{query.Null(), query.Text("0"), query.Text("1"), query.Text("1.0"), query.Text("a"), query.Text("A"),
	query.Text("a\x00"), query.Text("\xff"), query.Text("é"), query.Text(""), query.Text("2.0")}

func subset(t *rapid.T, values ...query.Value) []query.Value {
	picked := rapid.SliceOfNDistinct(rapid.SampledFrom(values), 1, -1, func(v query.Value) query.Value { return v }).Draw(t, "values")
	return picked
}

func must(t rapid.TB, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// someReal draws a REAL or NUMERIC column.
func someReal(t *rapid.T, name string) query.Column {
	texts := rapid.SampledFrom([][3]string{{"0", "2", "0.5"}, {"-1", "2", "0.1"}, {"0", "10000", "1000"}, {"-7.5", "7.5", "2.5"}, {"-2", "7", "1"}, {"-0.3", "0.3", "0.001"}}).Draw(t, "steps")
	var numbers [3]*big.Rat
	for i, text := range texts {
		numbers[i], _ = new(big.Rat).SetString(text)
	}
	steps, err := query.NewSteps(numbers[0], numbers[1], numbers[2], rapid.Bool().Draw(t, "null"))
	must(t, err)
	d, f, err := steps.Column(rapid.Bool().Draw(t, "rounded"), 0, 0)
	must(t, err)
	return query.Column{Name: name, Domain: d, Form: f}
}

// someSet draws any set of a small domain.
func someSet(t *rapid.T, d query.Domain) query.Set {
	if !d.Finite() {
		s := d.SetOf(subset(t, someTexts...)...)
		if rapid.Bool().Draw(t, "except") {
			return s.Complement()
		}
		return s
	}
	var values []query.Value
	for o := range d.Size() {
		if rapid.Bool().Draw(t, "in") {
			values = append(values, d.Value(o))
		}
	}
	return d.SetOf(values...)
}

// scenario is a random table and queries over it.
func scenario(t *rapid.T, db *sql.DB) source.Table {
	for _, s := range []string{"DROP VIEW IF EXISTS v", "DROP VIEW IF EXISTS w", "DROP TABLE IF EXISTS naive", "DROP TABLE IF EXISTS raw"} {
		_, err := db.Exec(s)
		must(t, err)
	}
	table := source.Table{Source: rapid.SampledFrom([]string{"raw", "RAW", "v", "w"}).Draw(t, "source")}
	var defs []string
	for i := range rapid.IntRange(1, 3).Draw(t, "columns") {
		name := []string{"a", "select", `q"t`}[i]
		defs = append(defs, query.Quoted(name)+" "+rapid.SampledFrom(affinities).Draw(t, "affinity"))
		c := query.Column{Name: name, Domain: someDomain(t)}
		if rapid.IntRange(0, 3).Draw(t, "real") == 0 {
			c = someReal(t, name)
		}
		if c.Domain.IsRange() && rapid.Bool().Draw(t, "clamp") {
			c.Form = c.Form.Clamped()
		}
		table.Columns = append(table.Columns, c)
	}
	_, err := db.Exec("CREATE TABLE raw (" + strings.Join(defs, ", ") + ")")
	must(t, err)
	for i, c := range table.Columns {
		if rapid.Bool().Draw(t, "indexed") {
			_, err := db.Exec(fmt.Sprintf("CREATE INDEX i%d ON raw (%s)", i, query.Quoted(c.Name)))
			must(t, err)
		}
	}
	_, err = db.Exec("CREATE VIEW v AS SELECT * FROM raw WHERE 1 UNION ALL SELECT * FROM raw WHERE \"a\" IS NOT 'a'")
	must(t, err)
	_, err = db.Exec(`CREATE VIEW w AS SELECT "a" COLLATE NOCASE AS "a"` + strings.Join([]string{"", `, "select"`, `, "select", "q""t"`}[:len(defs)][len(defs)-1:], "") + " FROM raw")
	must(t, err)
	for range rapid.IntRange(0, 12).Draw(t, "rows") {
		row := make([]any, len(defs))
		for i := range row {
			row[i] = rapid.SampledFrom(small).Draw(t, "value")
		}
		_, err := db.Exec("INSERT INTO raw VALUES ("+strings.Repeat("?,", len(row)-1)+"?)", row...)
		must(t, err)
	}
	return table
}

func someQuery(t *rapid.T, u *query.Universe) query.Query {
	conjunction := func() query.Query {
		q := query.All(u)
		for i, c := range u.Columns() {
			if rapid.Bool().Draw(t, "restrict") {
				var err error
				q, err = q.And(query.Where(u, i, someSet(t, c.Domain)))
				must(t, err)
			}
		}
		return q
	}
	q := conjunction()
	for range rapid.IntRange(0, 2).Draw(t, "terms") {
		combine := rapid.SampledFrom([]func(query.Query, query.Query) (query.Query, error){
			query.Query.Or, query.Query.Plus}).Draw(t, "operator")
		var err error
		q, err = combine(q, conjunction())
		must(t, err)
	}
	return q
}
