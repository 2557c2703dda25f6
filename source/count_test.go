package source_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/source"

	"pgregory.net/rapid"
)

// naive counts as the definition says: SQLite stores each value in a column of
// the declared type, and the query weighs what was stored.
func naive(t testing.TB, db *sql.DB, table source.Table, q query.Query) int64 {
	t.Helper()
	total := int64(0)
	for _, tuple := range stored(t, db, table) {
		total += q.Weight(tuple)
	}
	return total
}

// stored returns the tuples of the rows that stand for values of the types.
func stored(t testing.TB, db *sql.DB, table source.Table) [][]query.Value {
	t.Helper()
	defs, names := make([]string, len(table.Columns)), make([]string, len(table.Columns))
	for i, c := range table.Columns {
		defs[i] = fmt.Sprintf("k%d %s", i, c.Domain.Type())
		names[i] = source.Quoted(c.Name)
	}
	run(t, db, "DROP TABLE IF EXISTS naive")
	run(t, db, "CREATE TABLE naive ("+strings.Join(defs, ", ")+")")
	run(t, db, "INSERT INTO naive SELECT "+strings.Join(names, ", ")+" FROM "+source.Quoted(table.Source))
	found, err := db.Query("SELECT * FROM naive")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	var tuples [][]query.Value
	for found.Next() {
		raw, into := make([]any, len(names)), make([]any, len(names))
		for i := range raw {
			into[i] = &raw[i]
		}
		if err := found.Scan(into...); err != nil {
			t.Fatal(err)
		}
		if tuple, ok := typed(table, raw); ok {
			tuples = append(tuples, tuple)
		}
	}
	return tuples
}

func typed(table source.Table, raw []any) ([]query.Value, bool) {
	tuple := make([]query.Value, len(raw))
	for i, r := range raw {
		isInteger := table.Columns[i].Domain.Type() == query.TypeInteger
		switch v := r.(type) {
		case nil:
		case int64:
			tuple[i] = query.Int(v)
		case string:
			if isInteger {
				return nil, false
			}
			tuple[i] = query.Text(v)
		default:
			return nil, false
		}
	}
	return tuple, true
}

func TestCountMatchesNaive(t *testing.T) {
	ctx, db := context.Background(), memory(t)
	rapid.Check(t, func(rt *rapid.T) {
		table := scenario(rt, db)
		u := universe(t, table.Columns)
		for range 4 {
			q := someQuery(rt, u)
			want := naive(t, db, table, q)
			got, err := source.SQLite(db).Count(ctx, anyone{}, table, q)
			must(rt, err)
			if got != want {
				rt.Fatalf("%s: counted %d, naive %d", q, got, want)
			}
			streamed, err := source.CountStreamed(ctx, db, table, q)
			must(rt, err)
			if streamed != want {
				rt.Fatalf("%s: streamed %d, naive %d", q, streamed, want)
			}
		}
	})
}

func TestRowsMatchesNaive(t *testing.T) {
	ctx, db := context.Background(), memory(t)
	rapid.Check(t, func(rt *rapid.T) {
		table := scenario(rt, db)
		got, err := countAll(ctx, db, table)
		must(rt, err)
		if want := naive(t, db, table, query.All(universe(t, table.Columns))); got != want {
			rt.Fatalf("%d rows, naive %d", got, want)
		}
	})
}

func TestCountSaturates(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a INTEGER)", "INSERT INTO raw VALUES (0), (1), (1)")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 1)}}}
	q, err := query.Weighted(universe(t, table.Columns), 0, []int64{1, math.MaxInt64 - 1})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := source.SQLite(db).Count(context.Background(), anyone{}, table, q); err != nil || got != math.MaxInt64 {
		t.Errorf("got %d, %v, want 2^63-1", got, err)
	}
}

// TestCountManyColumns has more conditions than SQLite's limit on the depth of
// an expression and, with long lists, more arguments than it takes.
func TestCountManyColumns(t *testing.T) {
	const columns = 1500
	var values []query.Value
	for i := range int64(30) {
		values = append(values, query.Int(2*i))
	}
	for name, domain := range map[string]query.Domain{"ranges": between(t, 0, 9), "lists": list(t, query.TypeInteger, values...)} {
		names := make([]string, columns)
		table := source.Table{Source: "raw"}
		for i := range names {
			names[i] = fmt.Sprintf("c%d INTEGER DEFAULT 2", i)
			table.Columns = append(table.Columns, query.Column{Name: fmt.Sprintf("c%d", i), Domain: domain})
		}
		db := memory(t, "CREATE TABLE raw ("+strings.Join(names, ", ")+")", "INSERT INTO raw (c0, c1499) VALUES (2, 2), (0, 2), (2, 77)")
		q := query.Where(universe(t, table.Columns), 0, domain.SetOf(query.Int(2)))
		if got, err := source.SQLite(db).Count(context.Background(), anyone{}, table, q); err != nil || got != 1 {
			t.Errorf("%s: got %d, %v, want 1", name, got, err)
		}
		if got, err := source.CountStreamed(context.Background(), db, table, q); err != nil || got != 1 {
			t.Errorf("%s: streamed %d, %v, want 1", name, got, err)
		}
	}
}

func TestCountRefusesAnotherUniverse(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a, b)")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 1)}}}
	other := universe(t, []query.Column{{Name: "b", Domain: between(t, 0, 1)}})
	if _, err := source.SQLite(db).Count(context.Background(), anyone{}, table, query.All(other)); err == nil {
		t.Error("a query over other columns was counted")
	}
}

// TestUnknownColumnIsNoString: SQLite reads an unknown "name" as a string.
func TestUnknownColumnIsNoString(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a)", "INSERT INTO raw VALUES (1)")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "gone", Domain: query.Unbounded()}}}
	if n, err := countAll(context.Background(), db, table); err == nil {
		t.Errorf("counted %d rows by a column that is not there", n)
	}
}

// TestCountUsesAnIndex: the condition on the stored value must be one that
// SQLite can look up.
func TestCountUsesAnIndex(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a INTEGER, b TEXT COLLATE NOCASE, c TEXT)", "CREATE INDEX ia ON raw (a)",
		"CREATE INDEX ib ON raw (b)", "CREATE INDEX ic ON raw (c)")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 99)},
		{Name: "b", Domain: query.Unbounded()}, {Name: "c", Domain: query.Unbounded()}}}
	for i, set := range []query.Set{table.Columns[0].Domain.SetOf(query.Int(3)), query.Unbounded().SetOf(query.Text("x")), query.Unbounded().SetOf(query.Text("x"))} {
		sets := []query.Set{table.Columns[0].Domain.All(), query.Unbounded().All(), query.Unbounded().All()}
		sets[i] = set
		text, args, ok, err := source.Conjunction(context.Background(), db, table, sets)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		var id, parent, unused int
		var detail string
		err = db.QueryRow("EXPLAIN QUERY PLAN SELECT COUNT(*)"+source.From("raw")+" WHERE "+text, args...).Scan(&id, &parent, &unused, &detail)
		if err != nil || !strings.HasPrefix(detail, "SEARCH r USING") {
			t.Errorf("column %d: plan %q, %v", i, detail, err)
		}
	}
}
