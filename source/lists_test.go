package source_test

import (
	"context"
	"fmt"
	"testing"

	"dpsql/query"
	"dpsql/source"
)

// TestCountLists covers the forms in which lists reach SQLite: bound, as JSON,
// bound beside JSON, intervals, intervals written out, and too many to push.
func TestCountLists(t *testing.T) {
	ctx := context.Background()
	db := memory(t, "CREATE TABLE raw (i INTEGER, t TEXT COLLATE NOCASE)", "CREATE INDEX it ON raw (t)", "CREATE INDEX ii ON raw (i)",
		"WITH RECURSIVE n (x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x < 3000) INSERT INTO raw SELECT x, 'w' || x FROM n",
		"INSERT INTO raw VALUES (5, 'W5'), (6, 'z'||char(0)||'1'), (7, CAST(x'ff' AS TEXT)), (8, NULL), (9, ''), (9.5, 'w9'), (9, x'7739'), ('x', 'w9'), (NULL, 'w9')")
	texts := []query.Value{query.Null(), query.Text("z\x001"), query.Text("\xff"), query.Text("<&>\u2028\"\\"), query.Text("")}
	for i := range 2000 {
		texts = append(texts, query.Text(fmt.Sprintf("w%d", i)))
	}
	listed := list(t, query.TypeText, texts...)
	numbers := between(t, 0, 1<<40)
	for _, text := range []query.Domain{listed, query.Unbounded()} {
		table := source.Table{Source: "raw", Columns: []query.Column{{Name: "i", Domain: numbers}, {Name: "T", Domain: text}}}
		u := universe(t, table.Columns)
		for _, s := range []query.Set{text.All(), text.None(), text.NotNull(), text.SetOf(texts...), text.SetOf(texts[:3]...), text.SetOf(texts[1:3]...),
			text.SetOf(texts...).Complement(), text.SetOf(texts[:2]...).Complement(), text.SetOf(texts[1:40]...).Complement(), text.SetOf(texts[5:]...)} {
			for _, n := range []query.Set{numbers.All(), every(numbers, 3, 900), blocks(numbers, 10), blocks(numbers, 100), scattered(numbers)} {
				q := where(t, u, n, s)
				got, err := source.SQLite(db).Count(ctx, anyone{}, table, q)
				if err != nil {
					t.Fatal(err)
				}
				if want := naive(t, db, table, q); got != want {
					t.Errorf("%.100s: counted %d, naive %d", q, got, want)
				}
			}
		}
	}
}

// every returns n multiples of step.
func every(d query.Domain, step, n int64) query.Set {
	var values []query.Value
	for i := range n {
		values = append(values, query.Int(i*step))
	}
	return d.SetOf(values...)
}

// blocks returns n intervals of three values.
func blocks(d query.Domain, n int64) query.Set {
	return every(d, 4, n).Complement().Intersect(below(d, 4*n))
}

// scattered returns twenty intervals too large to be written out.
func scattered(d query.Domain) query.Set { return every(d, 20_000, 20).Complement() }

func below(d query.Domain, n int64) query.Set {
	s, _ := d.Less(query.Int(n), false)
	return s
}

func TestScatteredSetsAreNotPushed(t *testing.T) {
	d := between(t, 0, 1<<40)
	for set, want := range map[*query.Set]bool{ptr(blocks(d, 10)): true, ptr(blocks(d, 100)): true, ptr(every(d, 3, 900)): true, ptr(scattered(d)): false} {
		if got := source.Pushed(*set); got != want {
			t.Errorf("%d ranges: pushed %v, want %v", len(set.Ranges()), got, want)
		}
	}
}

func ptr[T any](v T) *T { return &v }
