package sqlfront_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
	"pgregory.net/rapid"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// grid is a small finite table with every tuple of its universe as a row.
type grid struct {
	u      *query.Universe
	tuples [][]query.Value
	db     *sql.DB
}

func (grid) Name() string                { return "grid" }
func (g grid) Universe() *query.Universe { return g.u }

func newGrid(t testing.TB) grid {
	t.Helper()
	n, err := query.NewRange(-2, 3, true)
	if err != nil {
		t.Fatal(err)
	}
	m, err := query.NewList(query.TypeInteger, []query.Value{query.Int(0), query.Int(10), query.Int(1 << 60), query.Null()})
	if err != nil {
		t.Fatal(err)
	}
	texts := []query.Value{query.Null()}
	for _, s := range []string{"", "a", "B", "b", "10", "-1", "1.5", `\`, "it's", "é"} {
		texts = append(texts, query.Text(s))
	}
	s, err := query.NewList(query.TypeText, texts)
	if err != nil {
		t.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{{Name: "n", Domain: n}, {Name: "m", Domain: m}, {Name: "s", Domain: s}})
	if err != nil {
		t.Fatal(err)
	}
	g := grid{u: u}
	g.fill(t)
	return g
}

// fill makes the SQLite table; the rowid of a tuple is its index plus 1.
func (g *grid) fill(t testing.TB) {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	g.db = db
	rows := []string{}
	c := g.u.Columns()
	for i := range c[0].Domain.Size() {
		for j := range c[1].Domain.Size() {
			for k := range c[2].Domain.Size() {
				tuple := []query.Value{c[0].Domain.Value(i), c[1].Domain.Value(j), c[2].Domain.Value(k)}
				g.tuples = append(g.tuples, tuple)
				rows = append(rows, fmt.Sprintf("(%v, %v, %v)", tuple[0], tuple[1], tuple[2]))
			}
		}
	}
	if _, err := db.Exec("CREATE TABLE grid (n INTEGER, m INTEGER, s TEXT); INSERT INTO grid VALUES " + strings.Join(rows, ", ")); err != nil {
		t.Fatal(err)
	}
}

// selected returns the rows that SQLite selects.
func (g grid) selected(t *rapid.T, where string) []bool {
	rows, err := g.db.Query("SELECT rowid FROM grid WHERE " + where)
	if err != nil {
		t.Fatalf("sqlite refuses %s: %v", where, err)
	}
	defer rows.Close()
	in := make([]bool, len(g.tuples))
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		in[id-1] = true
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return in
}

var (
	numbers = []string{"0", "1", "-1", "2", "3", "10", "- 2", "+1", "1.0", "2.5", "-1.5", "1e1", "'1'", "' 10 '", "'2.5'", "'1e0'", "1000",
		"1152921504606846976", "1152921504606846976.0", "1152921504606846977", "-99999999999999999999", "9223372036854775807", "TRUE", "false", "NULL", "(3)"}
	textLiterals = []string{"''", "'a'", "'B'", "'b'", "'10'", "10", "-1", "'1.5'", `'\'`, "'it''s'", "'é'", "'zzz'", "NULL"}
	columnNames  = map[string][]string{"n": {"n", "N", `"n"`, "[n]", "`n`", "grid.n", "(n)"}, "m": {"m", "grid.\"m\""}, "s": {"s", "\"s\"", "grid . s"}}
	signs        = []string{"=", "==", "<>", "!=", "<", "<=", ">", ">="}
)

// atom draws a condition on one column or on constants.
func atom(t *rapid.T) string {
	column := rapid.SampledFrom([]string{"n", "n", "m", "s", "s", ""}).Draw(t, "column")
	pool := numbers
	if column == "s" {
		pool = textLiterals
	}
	literal := func() string { return rapid.SampledFrom(pool).Draw(t, "literal") }
	x := literal()
	if column != "" {
		x = rapid.SampledFrom(columnNames[column]).Draw(t, "name")
	}
	not := rapid.SampledFrom([]string{"", "NOT "}).Draw(t, "not")
	switch rapid.IntRange(0, 6).Draw(t, "form") {
	case 0, 1:
		return x + " " + rapid.SampledFrom(signs).Draw(t, "sign") + " " + literal()
	case 2:
		return literal() + " " + rapid.SampledFrom(signs).Draw(t, "sign") + " " + x
	case 3:
		list := rapid.SliceOfN(rapid.SampledFrom(pool), 1, 4).Draw(t, "list")
		return x + " " + not + "IN (" + strings.Join(list, ", ") + ")"
	case 4:
		return x + " " + not + "BETWEEN " + literal() + " AND " + literal()
	case 5:
		return x + rapid.SampledFrom([]string{" IS NULL", " IS NOT NULL", " ISNULL", " NOTNULL", " NOT NULL"}).Draw(t, "is")
	}
	return rapid.SampledFrom([]string{"TRUE", "FALSE", "NULL", "1", "0", "2.5", "1 = 1", "'a' < 'b'", "1 < 'a'", "1 = '1'"}).Draw(t, "constant")
}

// condition draws a condition, with and without parentheses, so that the
// operators' precedence is tested too.
func condition(t *rapid.T, depth int) string {
	if depth == 0 {
		return atom(t)
	}
	part := func() string {
		c := condition(t, rapid.IntRange(0, depth-1).Draw(t, "depth"))
		if rapid.Bool().Draw(t, "parentheses") {
			return "(" + c + ")"
		}
		return c
	}
	switch rapid.IntRange(0, 8).Draw(t, "operator") {
	case 0, 1, 2:
		return part() + " AND " + part()
	case 3, 4, 5:
		return part() + " OR " + part()
	case 6, 7:
		return "NOT " + part()
	}
	return part() + " " + rapid.SampledFrom([]string{"IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE"}).Draw(t, "is")
}

// TestAgainstSQLite compares the query with the rows SQLite itself selects.
// A condition outside the dialect is passed over (a bare literal text, a
// comparison of a comparison); nearly all are inside it, which is checked.
func TestAgainstSQLite(t *testing.T) {
	g := newGrid(t)
	drawn, compared := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			text := condition(t, rapid.IntRange(0, 5).Draw(t, "depth"))
			drawn++
			s, err := syntax.Parse("SELECT COUNT(*) FROM grid WHERE " + text)
			var b *sqlfront.Bound
			if err == nil {
				b, err = sqlfront.Bind(s.(*syntax.Select), g, nil)
			}
			if sqlerr.CodeOf(err) == sqlerr.Unsupported {
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			compared++
			for i, in := range g.selected(t, text) {
				if got := b.Queries[0].Weight(g.tuples[i]) == 1; got != in {
					t.Fatalf("%s on %v: got %v, SQLite says %v; compiled to %v", text, g.tuples[i], got, in, b.Queries[0])
				}
			}
		}
	})
	t.Logf("compared %d of %d conditions", compared, drawn)
	if compared*10 < drawn*8 {
		t.Errorf("only %d of %d conditions were compared", compared, drawn)
	}
}
