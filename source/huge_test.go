package source_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"modernc.org/sqlite"

	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// TestHugeValues: a text or blob of more than MaxBytes stands for no declared value, as a unit
// and in every kind of column, and no statement fails on it. SQLite's limit is lowered, as if
// each value were a thousand times as long: it can hold the longest here, but not their
// hexadecimal form, and no two of them in one record.
func TestHugeValues(t *testing.T) {
	const limit, id = 1_000_000, 0 // SQLITE_LIMIT_LENGTH
	forms := map[string]query.Column{
		"TEXT":        {Name: "x", Domain: query.Unbounded()},
		"TEXT IN":     {Name: "x", Domain: list(t, query.TypeText, query.Text("a"), query.Text("1"), query.Null())},
		"NOCASE":      {Name: "x", Domain: list(t, query.TypeText, query.Text("a"), query.Text("1")), Form: query.Form{}.NoCase()},
		"OR OTHER":    {Name: "x", Domain: list(t, query.TypeText, query.Text("a"), query.Text("1"), query.Text(query.Other)), Form: query.Form{}.Other()},
		"INTEGER":     {Name: "x", Domain: between(t, 0, 9)},
		"CLAMP":       {Name: "x", Domain: between(t, 0, 9), Form: query.Form{}.Clamped()},
		"DATE":        {Name: "x", Domain: between(t, 0, 99999), Form: query.DateForm(query.StoredISO)},
		"DATE julian": {Name: "x", Domain: between(t, 0, 99999), Form: query.DateForm(query.StoredJulian)},
	}
	values := []string{"'a'", "'1'", "1", "NULL", "'2024-02-29'"}
	edge := []string{fmt.Sprintf("printf('%%0%dd', 1)", source.MaxBytes), fmt.Sprintf("printf('%%.*c', %d, 'a')", source.MaxBytes), fmt.Sprintf("zeroblob(%d)", source.MaxBytes)}
	huge := []string{fmt.Sprintf("printf('%%0%dd', 1)", source.MaxBytes+1), "zeroblob(510000)", "zeroblob(990000)", "printf('%.*c', 510000, 'a')", "printf('%.*c', 990000, '0')", "'2024-02-29' || printf('%.*c', 300000, 'é')"}
	for f, name := range slices.Sorted(maps.Keys(forms)) {
		c := forms[name]
		for a, affinity := range []string{"", "TEXT", "BLOB"} {
			if !*long && (f+a)%4 != 1 { // a quarter of the forms and affinities, and of these a quarter
				continue
			}
			t.Run(name+" "+affinity, func(t *testing.T) {
				db := memory(t, "CREATE TABLE raw (x "+affinity+", unit)", "CREATE TABLE fewer (x "+affinity+", unit)", "CREATE VIEW seen AS SELECT unit, x FROM raw", "CREATE VIEW less AS SELECT unit, x FROM fewer")
				add := func(table, x, unit string) {
					if _, err := db.Exec("INSERT INTO " + table + " VALUES (" + x + ", " + unit + ")"); err != nil {
						t.Fatal(err)
					}
				}
				for _, table := range []string{"raw", "fewer"} {
					for i, x := range append(slices.Clone(values), edge...) {
						add(table, x, fmt.Sprint(i%3))
						add(table, x, edge[i%3])
					}
				}
				for i, x := range huge {
					add("raw", x, fmt.Sprint(i%3))
					add("raw", "'a'", x)
					add("raw", "1", x)
					add("fewer", "'a'", "NULL")
					add("fewer", "1", "NULL")
					if isText := x[0] != 'z'; isText && c.Form.HasOther() { // which such a text is
						add("fewer", "'another'", fmt.Sprint(i%3))
					}
				}
				conn, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := sqlite.Limit(conn, id, limit); err != nil {
					t.Fatal(err)
				}
				for i, unit := range []string{"unit", ""} {
					for j, pair := range [][2]string{{"raw", "fewer"}, {"seen", "less"}} {
						if !*long && (f/2+a)%4 != 2*i+j {
							continue
						}
						table := source.Table{Columns: []query.Column{c}, Unit: unit, MaxRows: 100, Key: []byte{1}}
						if wide, narrow := read(t, source.SQLite(conn), table, pair[0]), read(t, source.SQLite(conn), table, pair[1]); !maps.Equal(wide, narrow) {
							t.Errorf("%s, unit %q: %v with huge values, %v without", pair[0], unit, wide, narrow)
						}
					}
				}
			})
		}
	}
}

// read returns what a reader finds in a table of one column, by all ways to read it.
func read(t *testing.T, r source.Reader, table source.Table, name string) map[string]int64 {
	t.Helper()
	ctx, out := context.Background(), make(map[string]int64)
	table.Source = name
	u := universe(t, table.Columns)
	d := table.Columns[0].Domain
	some := []query.Query{query.All(u), query.Where(u, 0, d.SetOf(query.Text("a"), query.Int(1))), query.Where(u, 0, d.SetOf(query.Text("a"), query.Int(1)).Complement())}
	twice, err := some[1].Plus(some[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range append(some, twice) {
		n, err := r.Count(ctx, anyone{}, table, q)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		out[fmt.Sprint("count ", i)] = n
	}
	cells, err := r.Cells(ctx, anyone{}, table, []int{0}, query.NewCoder(u, [16]byte{}), math.MaxInt)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for e, n := range cells.All() {
		out[fmt.Sprint("cell ", e)] = n
	}
	keys, err := r.Keys(ctx, anyone{}, table, 0)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for k, n := range keys.All() {
		out["key "+k[:min(len(k), 10)]+fmt.Sprint(len(k))] = n
	}
	if table.Unit != "" {
		counts, err := r.CountUnits(ctx, anyone{}, table, some)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, n := range counts {
			out[fmt.Sprint("units ", i)] = n
		}
	}
	return out
}

// TestHugeRowsAreOfRows: what a view makes too large for SQLite is an error that can depend on a
// row, for which the table is refused from then on. A full disk or a lack of memory is none.
func TestHugeRowsAreOfRows(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (x, unit)", "INSERT INTO raw VALUES (zeroblob(600000), 1)", "CREATE VIEW seen AS SELECT x || x AS x, unit FROM raw")
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := sqlite.Limit(conn, 0, 1_000_000); err != nil {
		t.Fatal(err)
	}
	table := source.Table{Source: "seen", Columns: []query.Column{{Name: "x", Domain: query.Unbounded()}}}
	_, err = source.SQLite(conn).Count(t.Context(), anyone{}, table, query.All(universe(t, table.Columns)))
	if !source.OfRow(err) || sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("%v", err)
	}
	table.Source = "gone"
	_, err = source.SQLite(conn).Count(t.Context(), anyone{}, table, query.All(universe(t, table.Columns)))
	if err == nil || source.OfRow(err) {
		t.Errorf("%v", err)
	}
	var unfit source.Unfit
	unfit.Add([]string{"a", "b"})
	if err := unfit.Refuse([]string{"c", "b"}, "seen"); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("%v", err)
	}
	if err := unfit.Refuse([]string{"c"}, "seen"); err != nil {
		t.Error(err)
	}
}
