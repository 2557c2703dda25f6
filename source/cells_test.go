package source_test

import (
	"context"
	"maps"
	"math"
	"testing"

	"dpsql/query"
	"dpsql/source"

	"pgregory.net/rapid"
)

func TestCellsMatchNaive(t *testing.T) {
	ctx, db := context.Background(), memory(t)
	rapid.Check(t, func(rt *rapid.T) {
		table := scenario(rt, db)
		u := universe(t, table.Columns)
		var columns []int
		for i := range table.Columns {
			if i == len(table.Columns)-1 && len(columns) == 0 || rapid.Bool().Draw(rt, "projected") {
				columns = append(columns, i)
			}
		}
		coder := query.NewCoder(u.Project(columns), [16]byte{1})
		want := make(map[query.Element]int64)
		for _, tuple := range stored(t, db, table) {
			if query.All(u).Weight(tuple) == 1 {
				e, _ := coder.Code(pick(tuple, columns))
				want[e]++
			}
		}
		got, err := source.SQLite(db).Cells(ctx, anyone{}, table, columns, coder, math.MaxInt)
		must(rt, err)
		if !maps.Equal(maps.Collect(got.All()), want) {
			rt.Fatalf("columns %v: cells %v, naive %v", columns, maps.Collect(got.All()), want)
		}
	})
}

func pick(tuple []query.Value, columns []int) []query.Value {
	var out []query.Value
	for _, c := range columns {
		out = append(out, tuple[c])
	}
	return out
}

// TestCellsChecksEveryDomain: a column that is not projected drops rows too,
// by a condition in SQL or, where its domain is too scattered, in Go.
func TestCellsChecksEveryDomain(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a, b)", "INSERT INTO raw VALUES (1, 0), (1, 4), (1, 2), (1, NULL), (2, 0), (3, 0), (NULL, 0)")
	var apart []query.Value
	for i := range int64(40_000) { // pairs of neighbours
		apart = append(apart, query.Int(4*i), query.Int(4*i+1), query.Int(4*i+3))
	}
	for name, domain := range map[string]query.Domain{"list": list(t, query.TypeInteger, query.Int(0), query.Int(4)), "scattered": list(t, query.TypeInteger, apart...)} {
		table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 1, 2)}, {Name: "b", Domain: domain}}}
		coder := query.NewCoder(universe(t, table.Columns[:1]), [16]byte{})
		got, err := source.SQLite(db).Cells(context.Background(), anyone{}, table, []int{0}, coder, math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[query.Element]int64{{Lo: 0}: 2, {Lo: 1}: 1}; !maps.Equal(maps.Collect(got.All()), want) {
			t.Errorf("%s: %v, want %v", name, maps.Collect(got.All()), want)
		}
		if n, err := countAll(context.Background(), db, table); err != nil || n != 3 {
			t.Errorf("%s: %d rows, %v, want 3", name, n, err)
		}
	}
}

// TestCellsOfDates: the driver would turn a text of a DATE column into a time.
func TestCellsOfDates(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (d DATE)", "INSERT INTO raw VALUES ('2024-05-01'), ('2024-05-01'), ('2024-05-02')")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "d", Domain: list(t, query.TypeText, query.Text("2024-05-01"), query.Text("2024-05-02"))}}}
	got, err := source.SQLite(db).Cells(context.Background(), anyone{}, table, []int{0}, query.NewCoder(universe(t, table.Columns), [16]byte{}), math.MaxInt)
	if want := map[query.Element]int64{{Lo: 0}: 2, {Lo: 1}: 1}; err != nil || !maps.Equal(maps.Collect(got.All()), want) {
		t.Errorf("%v, want %v", err, want)
	}
}

func TestCellsRefusesOtherColumns(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a, b)")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 1)}, {Name: "b", Domain: between(t, 0, 1)}}}
	coder := query.NewCoder(universe(t, table.Columns[:1]), [16]byte{})
	for _, columns := range [][]int{{1}, {0, 1}, {2}, {-1}, {}} {
		if _, err := source.SQLite(db).Cells(context.Background(), anyone{}, table, columns, coder, math.MaxInt); err == nil {
			t.Errorf("columns %v were accepted for a coder over a", columns)
		}
	}
}
