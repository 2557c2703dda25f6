package sqlfront_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	_ "modernc.org/sqlite"
	"pgregory.net/rapid"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

func addExamples(f *testing.F) {
	for _, e := range examples(f) {
		f.Add(e.text)
	}
	for _, text := range []string{
		"SELECT COUNT(*) n, MARGIN(n) FROM people p WHERE p.age IN (1, ?, -2.5e3) OR NOT \"sex\" >= 'a''b' AND zip NOT BETWEEN :a AND $2",
		"SELECT sex, AVG(age), MARGIN(avg) m, ROUND(SUM(CASE WHEN age > ? THEN 1 END) * 1.0 / COUNT(*), 2) FROM people GROUP BY 1, age % 2 HAVING m < 5 ORDER BY 2 DESC LIMIT 3 OFFSET 1",
		"SELECT COUNT(*) FROM people WHERE zip IN (SELECT code FROM codes) AND age NOT IN (SELECT DISTINCT [a b] FROM main.codes c)",
		"CREATE PUBLIC TABLE risk (k TEXT, w REAL BETWEEN -1e-3 AND 2.50 STEP 5e-4 OR NULL)",
		"WITH x(a, b) AS (SELECT age, sex FROM (SELECT * FROM people WHERE married = 1)) SELECT DISTINCT CASE a WHEN 1 THEN 'x' END, COUNT(b) FROM x GROUP BY a, b",
		"SELECT COUNT(age) FROM [people] WHERE (age IS NULL) IS NOT TRUE AND 1 = 1.5 -- x\n/* y */;",
		"SELECT COUNT(*) FROM people WHERE age NOTNULL AND `sex` ISNULL OR age NOT NULL", ".help\n'",
		"CREATE PRIVATE TABLE t (a INT BETWEEN -1 AND 2 OR NULL, b TEXT IN (SELECT c FROM d) OR NULL) FROM r WITH (a = 'b', c = -1e-6)",
		"CREATE SOURCE w USING POSTGRES WITH (dsn_env = 'W', timeout = 30)", `CREATE PRIVATE TABLE t (a TEXT) FROM w."S".t`, "DROP SOURCE IF EXISTS w",
		"ALTER PRIVATE TABLE t SET (max_charge = 1e-3, buy = off)",
	} {
		f.Add(text)
	}
}

// describes compares a SELECT that is bound without its arguments with one that is bound to some.
func describes(t *testing.T, text string, sel *syntax.Select, table sqlfront.Table, bound *sqlfront.Bound) {
	d, err := sqlfront.Describe(sel, table)
	if err != nil {
		t.Fatalf("%q is bound, and cannot be described: %v", text, err)
	}
	if !slices.Equal(d.Types, bound.Types) || slices.Contains(d.Types, "") || len(d.Parameters) != sel.Parameters {
		t.Fatalf("%q has the types %v, and was said to have %v, with parameters %v", text, bound.Types, d.Types, d.Parameters)
	}
	for i, c := range d.Output.Columns {
		if c.Name != bound.Output.Columns[i].Name {
			t.Fatalf("%q: column %d is %s, and was said to be %s", text, i, bound.Output.Columns[i].Name, c.Name)
		}
	}
}

// FuzzParse checks that no text makes the front end panic, that the types of columns and
// parameters follow from the text, that every error is
// a *sqlerr.Error other than Internal whose position lies in the text, and
// that parsing says what it said before.
func FuzzParse(f *testing.F) {
	addExamples(f)
	table := newPeople(f)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := syntax.Parse(text)
		if sel, ok := s.(*syntax.Select); ok {
			args := make([]query.Value, min(sel.Parameters, 1000))
			for i := range args {
				args[i] = query.Text("7")
			}
			var bound *sqlfront.Bound
			if bound, err = sqlfront.Bind(sel, table, args); err == nil && sel.Composed() {
				t.Fatalf("%q is bound, and said to be composed", text)
			} else if err == nil {
				describes(t, text, sel, table, bound)
			}
		}
		if err == nil {
			return
		}
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.Code == sqlerr.Internal || e.Message == "" {
			t.Fatalf("%q: %v", text, err)
		}
		if limit := max(utf8.RuneCountInString(text), 1); e.Position < 0 || e.Position > limit {
			t.Fatalf("%q: %v at position %d of %d", text, err, e.Position, limit)
		}
		if e.Position == 0 && e.Code == sqlerr.Malformed {
			t.Fatalf("%q: %v has no position", text, err)
		}
	})
}

// FuzzAgainstSQLite takes the text of a condition. What the front end accepts
// must select on plain SQLite the rows that the compiled query holds for: the
// property of TestAgainstSQLite, for texts of any shape.
func FuzzAgainstSQLite(f *testing.F) {
	g := newGrid(f)
	for i := range 100 {
		f.Add(rapid.Custom(func(t *rapid.T) string { return condition(t, 3) }).Example(i))
	}
	for _, text := range []string{
		"n + 1 = m", "s LIKE '1%'", "(n, m) = (1, 10)", "n BETWEEN m AND 3", "s || 'x' > 'b'", "CASE WHEN n THEN s ELSE m END = 1",
		"-n < 0 AND ~m IS NOT NULL", "n % 2 = 0 OR n / 2 > 0", "abs(n) IN (1, m)", "n IS m", "n = '1' /* c */ -- d", "s COLLATE NOCASE = 'A'", "\"n\" = 'n'",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 || !oneCondition(text) {
			return
		}
		where := "(" + text + "\n)"
		st, err := syntax.Parse("SELECT COUNT(*) FROM grid WHERE " + where)
		sel, ok := st.(*syntax.Select)
		if err != nil || !ok || sel.Parameters > 0 {
			return
		}
		b, err := sqlfront.Bind(sel, g, nil)
		if err != nil {
			return
		}
		for i, in := range g.holds(t, where) {
			if got := b.Queries[0].Weight(g.tuples[i]) == 1; got != in {
				t.Fatalf("%s on %v: got %v, SQLite says %v; compiled to %v", text, g.tuples[i], got, in, b.Queries[0])
			}
		}
	})
}

// oneCondition reports whether a text in parentheses can be no more than a
// condition: it closes no parenthesis that it has not opened.
func oneCondition(text string) bool {
	tokens, err := syntax.Lex(text)
	depth := 0
	for _, k := range tokens {
		switch {
		case k.Matches("("):
			depth++
		case k.Matches(")"):
			depth--
		case k.Matches(";"):
			return false
		}
		if depth < 0 {
			return false
		}
	}
	return err == nil && depth == 0
}

// holds returns which rows SQLite selects. A condition that it cannot run, but for
// the depth that it allows, should not have been accepted.
func (g grid) holds(t *testing.T, where string) []bool {
	rows, err := g.db.Query("SELECT rowid FROM grid WHERE " + where)
	if err != nil {
		if strings.Contains(err.Error(), "maximum depth") || strings.Contains(err.Error(), "stack overflow") {
			t.Skip()
		}
		t.Fatalf("sqlite refuses %s: %v", where, err)
	}
	in, err := g.numbered(rows)
	if err != nil {
		t.Fatalf("sqlite cannot run %s: %v", where, err)
	}
	return in
}

// numbered returns which rows of the grid stand in a result, by their numbers.
func (g grid) numbered(rows *sql.Rows) ([]bool, error) {
	defer rows.Close()
	in := make([]bool, len(g.tuples))
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		in[id-1] = true
	}
	return in, rows.Err()
}

// FuzzPredicates holds a condition and a table, both drawn by the bytes, to the
// rows that SQLite selects: whatever is not refused must agree.
func FuzzPredicates(f *testing.F) {
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := checkPredicate(t, func(n int) int {
			drawn := 0
			for range (n + 254) / 255 {
				if len(data) > 0 {
					drawn = drawn<<8 | int(data[0])
					data = data[1:]
				}
			}
			return drawn % n
		}, anyRows(len(data)))
		switch code := sqlerr.CodeOf(err); {
		case err != nil && code != sqlerr.Unsupported && code != sqlerr.Invalid && code != sqlerr.Malformed:
			t.Fatalf("%s: %v", text, err)
		}
	})
}

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
	in, err := g.numbered(rows)
	if err != nil {
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
