package sqlfront_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

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
		t.Fatalf("sqlite cannot run %s: %v", where, err)
	}
	return in
}
