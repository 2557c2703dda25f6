package sqlfront_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// joinable is the sample with public tables beside it.
type joinable struct {
	sample
	publics map[string]*sqlfront.PublicRows
}

func (j joinable) Public(name string) (*sqlfront.PublicRows, error) {
	return j.publics[query.FoldName(name)], nil
}

func newJoinable(t *testing.T) joinable {
	t.Helper()
	j := joinable{newSample(t), map[string]*sqlfront.PublicRows{
		"codes": {Columns: []string{"code", "kind", "Name", "share"}, Rows: [][]any{
			{int64(-2), "low", "a", 0.5}, {int64(0), "low", nil, 1.5}, {int64(1), "high", "B", int64(2)},
			{int64(3), nil, "a", nil}, {int64(99), "high", "c", "x"}, {nil, "none", "n", nil}}},
		"zips": {Columns: []string{"z", "county", "pop"}, Rows: [][]any{{"x", "North", int64(10)}, {"y", "South", int64(20)}, {"w", "South", int64(30)}}},
		"many": {Columns: []string{"code", "kind"}, Rows: [][]any{{int64(1), "a"}, {int64(1), "b"}}},
		"none": {Columns: []string{"code"}},
	}}
	for name, p := range j.publics {
		var rows []string
		for _, r := range p.Rows {
			values := make([]string, len(r))
			for i, v := range r {
				switch v := v.(type) {
				case nil:
					values[i] = "NULL"
				case string:
					values[i] = query.Text(v).String()
				default:
					values[i] = fmt.Sprint(v)
				}
			}
			rows = append(rows, "("+strings.Join(values, ", ")+")")
		}
		text := "CREATE TABLE " + name + " (" + strings.Join(p.Columns, ", ") + ");"
		if rows != nil {
			text += "INSERT INTO " + name + " VALUES " + strings.Join(rows, ", ")
		}
		if _, err := j.db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

// TestJoinsAgainstSQLite compares joined counts and groups with SQLite's own.
func TestJoinsAgainstSQLite(t *testing.T) {
	j := newJoinable(t)
	texts := []string{
		"SELECT COUNT(*) FROM sample JOIN codes ON sample.n = codes.code",
		"SELECT COUNT(*) FROM codes c INNER JOIN sample ON c.code = n",
		"SELECT COUNT(*) FROM sample p JOIN codes c ON p.n = c.code AND c.kind = 'low' WHERE s IS NOT NULL",
		"SELECT COUNT(*), SUM(m) FROM sample JOIN codes ON n = code AND m > 0 WHERE kind = 'high' OR name = 'a'",
		"SELECT COUNT(*) FROM sample JOIN codes ON n = code WHERE kind IS NULL",
		"SELECT kind, COUNT(*) FROM sample JOIN codes ON n = code GROUP BY kind HAVING COUNT(*) > 0 ORDER BY 1",
		"SELECT kind, name, COUNT(*), AVG(m) FROM sample JOIN codes ON n = code WHERE s <> 'a' GROUP BY 1, 2 HAVING COUNT(*) > 0 ORDER BY 1, 2",
		"SELECT county, COUNT(*) FROM sample JOIN zips ON sample.z = zips.z GROUP BY county HAVING COUNT(*) > 0 ORDER BY county DESC",
		"SELECT zips.z, SUM(pop), AVG(pop) FROM sample JOIN zips ON sample.z = zips.z WHERE n > 0 GROUP BY zips.z HAVING COUNT(*) > 0 ORDER BY 1",
		"SELECT county, kind, COUNT(*) FROM sample JOIN zips ON sample.z = zips.z JOIN codes ON n = code GROUP BY 1, 2 HAVING COUNT(*) > 0 ORDER BY 1, 2",
		"SELECT k, COUNT(*) FROM (SELECT kind AS k, s FROM sample JOIN codes ON n = code WHERE m > 0) GROUP BY k HAVING COUNT(*) > 0 ORDER BY k",
		"WITH t AS (SELECT n, s FROM sample WHERE m >= 10) SELECT kind, COUNT(*) FROM t JOIN codes ON t.n = codes.code GROUP BY kind HAVING COUNT(*) > 0 ORDER BY 1",
		"SELECT COUNT(*) FROM sample JOIN codes ON n = code WHERE code + m > 9",
		"SELECT COUNT(*), SUM(m) FROM sample WHERE z IN (SELECT z FROM zips)",
		"SELECT COUNT(*) FROM sample WHERE z NOT IN (SELECT z FROM zips) OR n IN (SELECT code FROM codes)",
		"SELECT COUNT(*) FROM sample WHERE n NOT IN (SELECT code FROM codes)", // a NULL is listed
		"SELECT z, COUNT(*) FROM sample WHERE z IN (SELECT DISTINCT z FROM zips) AND z LIKE 'x%' GROUP BY z",
		"SELECT COUNT(*), SUM(n IN (SELECT code FROM codes)) FROM (SELECT * FROM sample WHERE z IN (SELECT z FROM zips)) WHERE NOT (m IN (SELECT pop FROM zips))",
		"SELECT kind, COUNT(*) FROM sample JOIN codes ON n = code AND code IN (SELECT code FROM many) WHERE n IN (SELECT code FROM codes) GROUP BY kind HAVING COUNT(*) > 0",
		"SELECT CASE WHEN kind = 'low' THEN 'l' ELSE 'h' END, COUNT(*) FROM sample JOIN codes ON n = code GROUP BY 1 HAVING COUNT(*) > 0 ORDER BY 1",
	}
	compared := 0
	for _, text := range texts {
		b, err := compile(j, text)
		if sqlerr.CodeOf(err) == sqlerr.Unsupported && strings.Contains(text, "code + m") {
			continue // arithmetic in WHERE
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		want, err := j.selected(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		compared++
		if got := j.answer(b).Rows; !sameRows(got, want, false) || len(want) == 0 {
			t.Errorf("%s:\n got %v\nwant %v", text, got, want)
		}
		for _, q := range b.Queries {
			if q.Universe() != j.Universe() {
				t.Errorf("%s: the query %v is over another universe", text, q)
			}
		}
	}
	if compared < len(texts)-1 {
		t.Errorf("only %d of %d statements were compared", compared, len(texts))
	}
}

// TestRandomJoins draws conditions on both sides of a join.
func TestRandomJoins(t *testing.T) {
	j := newJoinable(t)
	rapid.Check(t, func(t *rapid.T) {
		part := func() string {
			return drawOf(t, "part", drawRowCondition(t), "kind = 'low'", "kind IN ('high', 'none')", "name <> 'a'", "name IS NULL", "code > 0", "codes.code IN (1, 99)")
		}
		where := part()
		for range rapid.IntRange(0, 2).Draw(t, "more") {
			where = "NOT (" + where + ") " + drawOf(t, "logic", "AND", "OR") + " " + part()
		}
		keys := drawOf(t, "keys", "kind", "name", "s, kind", "code", "kind, name", "m")
		text := "SELECT " + keys + ", COUNT(*), SUM(code) FROM sample JOIN codes ON n = code WHERE " + where +
			" GROUP BY " + keys + " HAVING COUNT(*) > 0"
		b, err := compile(j, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		want, err := j.selected(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := j.answer(b).Rows; !sameRows(got, want, true) {
			t.Fatalf("%s:\n got %v\nwant %v", text, got, want)
		}
	})
}

func TestRefusedJoins(t *testing.T) {
	j := newJoinable(t)
	for _, c := range []struct {
		text    string
		code    sqlerr.Code
		message string
	}{
		{"SELECT COUNT(*) FROM sample JOIN nosuch ON n = code", sqlerr.Unknown, "no public table nosuch"},
		{"SELECT COUNT(*) FROM sample a JOIN sample b ON a.n = b.n", sqlerr.Unsupported, "a join"},
		{"SELECT COUNT(*) FROM sample JOIN many ON n = code", sqlerr.Unsupported, "occurs twice in many"},
		{"SELECT COUNT(*) FROM sample JOIN codes ON n > code", sqlerr.Unsupported, "a join on anything but"},
		{"SELECT COUNT(*) FROM sample JOIN codes ON kind = 'low'", sqlerr.Unsupported, "a join on anything but"},
		{"SELECT COUNT(*) FROM sample JOIN codes ON s = code", sqlerr.Unsupported, "different types"},
		{"SELECT COUNT(*) FROM sample JOIN codes USING (code)", sqlerr.Unsupported, "USING"},
		{"SELECT COUNT(*) FROM sample LEFT JOIN codes ON n = code", sqlerr.Unsupported, "join"},
		{"SELECT COUNT(*) FROM sample JOIN codes ON n = code WHERE share > 1", sqlerr.Unsupported, "share of a public table"},
		{"SELECT COUNT(*) FROM sample JOIN zips ON sample.z = zips.z WHERE z = 'x'", sqlerr.Malformed, "z is ambiguous"},
		{"SELECT COUNT(*) FROM sample JOIN none ON n = code", sqlerr.Unsupported, "a join with an empty table"},
		{"SELECT COUNT(*) FROM sample WHERE z IN (SELECT z FROM nosuch)", sqlerr.Unknown, "there is no public table nosuch"},
		{"SELECT COUNT(*) FROM sample WHERE z IN (SELECT z FROM sample)", sqlerr.Unsupported, "a sub-select"},
		{"SELECT COUNT(*) FROM sample WHERE n NOT IN (1, 'one')", sqlerr.Invalid, "column n is INTEGER"},
		{"SELECT COUNT(*) FROM sample WHERE z IN (SELECT town FROM zips)", sqlerr.Unknown, "no column town in the public table zips"},
		{"SELECT COUNT(*) FROM sample WHERE z IN (SELECT pop FROM zips)", sqlerr.Unsupported, "a list of values of another type"},
		{"SELECT COUNT(*) FROM sample WHERE n IN (SELECT share FROM codes)", sqlerr.Unsupported, "a list of values of another type"},
		{"SELECT COUNT(*) FROM sample WHERE z IN (SELECT z FROM zips WHERE pop > 10)", sqlerr.Unsupported, "a sub-select"},
		{"SELECT COUNT(*) FROM sample WHERE z IN (SELECT zips.z FROM zips JOIN codes ON pop = code)", sqlerr.Unsupported, "a sub-select"},
		{"SELECT COUNT(*) FROM sample WHERE z IN (SELECT z || 'a' FROM zips)", sqlerr.Unsupported, ""},
		{"SELECT COUNT(*) FROM sample WHERE n + 1 IN (SELECT code FROM codes)", sqlerr.Unsupported, "a sub-select"},
		{"SELECT COUNT(*) FROM sample WHERE z IN (SELECT z FROM zips UNION SELECT z FROM zips)", sqlerr.Unsupported, ""},
		{"SELECT COUNT(*) FROM sample WHERE (n, z) IN (SELECT code, kind FROM codes)", sqlerr.Unsupported, ""},
		{"SELECT COUNT(*) FROM sample WHERE z IN (SELECT z FROM zips LIMIT 1)", sqlerr.Unsupported, "a sub-select"},
		{"SELECT COUNT(*) FROM sample WHERE z IN (SELECT z FROM (SELECT z FROM zips))", sqlerr.Unsupported, "a sub-select"},
		{"SELECT COUNT(*) FROM sample WHERE z IN (SELECT * FROM zips)", sqlerr.Unsupported, "a sub-select"},
	} {
		_, err := compile(j, c.text)
		if sqlerr.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v, want %s: %s", c.text, err, c.code, c.message)
		}
	}
}
