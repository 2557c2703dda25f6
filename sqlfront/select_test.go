package sqlfront_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// people is a table with finite integers, texts and an unbounded text.
type people struct{ u *query.Universe }

func (people) Name() string                { return "people" }
func (p people) Universe() *query.Universe { return p.u }

func newPeople(t testing.TB) people {
	t.Helper()
	age, err := query.NewRange(0, 120, true)
	if err != nil {
		t.Fatal(err)
	}
	sex, err := query.NewList(query.TypeText, []query.Value{query.Text("F"), query.Text("M"), query.Null()})
	if err != nil {
		t.Fatal(err)
	}
	married, err := query.NewList(query.TypeInteger, []query.Value{query.Int(0), query.Int(1)})
	if err != nil {
		t.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{
		{Name: "age", Domain: age}, {Name: "sex", Domain: sex}, {Name: "married", Domain: married},
		{Name: "order", Domain: married}, {Name: "zip", Domain: query.Unbounded()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return people{u}
}

// bind parses and binds a SELECT.
func bind(t testing.TB, text string, args ...query.Value) (*sqlfront.Bound, error) {
	t.Helper()
	s, err := syntax.Parse(text)
	if err != nil {
		return nil, err
	}
	b, err := sqlfront.Bind(s.(*syntax.Select), newPeople(t), args)
	if err == nil && s.(*syntax.Select).Composed() {
		t.Errorf("%s is bound, and said to be composed", text)
	}
	return b, err
}

func mustBind(t testing.TB, text string, args ...query.Value) *sqlfront.Bound {
	t.Helper()
	b, err := bind(t, text, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b
}

// TestWhere holds the canonical text of conditions, one line a meaning: the
// conditions of one case are written differently and mean the same.
func TestWhere(t *testing.T) {
	cases := []struct {
		want   string
		wheres []string
	}{
		{"age{40: 1}", []string{
			"age = 40", "40 = age", "age == 40", "p.age = 40", `"age" = 40`, "[age] = 40", "`AGE` = 40",
			"age = '40'", "age = ' 4e1 '", "age = 40.0", "age = 40.", "age = .4E+2", "age = 4e1", "age = 0.4e2", "age = +40", "age = - -40", "age = (40)",
			"(age) = 40", "age IN (40, 40)", "age BETWEEN 40 AND 40", "age >= 40 AND age < 41", "age > 39.5 AND age < 40.5",
			"NOT age <> 40", "NOT (age != 40)", "NOT NOT age = 40", "age = 40 AND TRUE", "age = 40 OR FALSE",
			"age = 40 OR NULL", "age = 40 AND 1 = 1",
		}},
		{"age{NULL: 1}", []string{"age IS NULL", "age ISNULL", "NOT age IS NOT NULL", "(age = 1) IS NULL", "(age > 1 AND age > 2) IS NULL"}},
		{"age{0..120: 1}", []string{
			"age IS NOT NULL", "age NOTNULL", "age NOT NULL", "NOT age IS NULL", "age >= 0", "age > -1", "age < 1e30", "age <> 40.5",
			"age > -99999999999999999999999", "age = 1 OR age <> 1", "(age = 1) IS NOT NULL", "age NOT IN (1000)",
			"age BETWEEN -9223372036854775808 AND 9223372036854775807",
		}},
		{"0", []string{
			"age = NULL", "age <> NULL", "NOT age = NULL", "age IN (NULL)", "age NOT IN (1, NULL)", "age = 1000", "age = 40.5",
			"FALSE", "NULL", "NOT NULL", "0", "1 = 2", "age > 1e30", "age BETWEEN 50 AND 40", "age = 9223372036854775808", "1 = '1'",
			"age BETWEEN NULL AND 40", "NULL IS NOT NULL", "1 IN (2, NULL)", "1 NOT IN (2, NULL)", "married IS NULL", "age IN (1) AND age IN (2)",
		}},
		{"1", []string{
			"TRUE", "1", "NOT 0", "1 = 1.0", "'a' = 'a'", "1 < 'a'", "NULL IS NULL", "(age = 1) IS TRUE OR (age = 1) IS NOT TRUE",
			"1 IN (2, 1, NULL)", "1 NOT IN (2)", "married = 0 OR married = 1", "age IS NULL OR age IS NOT NULL", "TRUE = 1", "((age IS NULL) IS NULL) IS FALSE",
		}},
		{"age{0..39, 41..120: 1}", []string{"age <> 40", "NOT age = 40", "age NOT IN (40)", "age NOT BETWEEN 40 AND 40", "(age = 40) IS FALSE"}},
		{"age{NULL, 0..39, 41..120: 1}", []string{"(age = 40) IS NOT TRUE", "age <> 40 OR age IS NULL"}},
		{"age{0..39: 1}", []string{"age NOT BETWEEN 40 AND NULL", "NOT (age BETWEEN 40 AND NULL)", "age < 40", "40 > age"}},
		{"sex{'F': 1}", []string{"sex = 'F'", "sex < 'M'", "sex <= 'F'", "'F' = sex", "sex NOT IN ('M')", "sex BETWEEN 'A' AND 'G'", "sex >= 'F' AND sex <> 'M'"}},
		{"zip{'15213': 1}", []string{"zip = '15213'", "zip = 15213", "zip IN ('15213', '15213')"}},
		{"zip{'a''b': 1}", []string{`zip = 'a''b'`}},
		{`zip{'a\': 1}`, []string{`zip = 'a\'`, `zip IN ('a\', 'a\')`}},
		{`zip{'\n''': 1}`, []string{`zip = '\n'''`}},
		{"married{1: 1}", []string{"married = TRUE", "married <> FALSE", "married > 0", "NOT married = 0"}},
		{"order{1: 1}", []string{`"order" = 1`, "[order] = 1", "`order` = 1", "p.order = 1", `p."order" = 1`}},
		{"age{30..34: sex{'F': zip{'1': 1}}}", []string{
			"sex = 'F' AND age BETWEEN 30 AND 34 AND zip = '1'", "zip = '1' AND (age >= 30 AND (sex = 'F' AND age < 35))",
			"NOT (age < 30 OR age > 34 OR sex <> 'F' OR zip <> '1')", "NOT (NOT (sex = 'F' AND zip = '1') OR NOT (age IN (30, 31, 32, 33, 34)))",
		}},
	}
	for _, c := range cases {
		for _, w := range c.wheres {
			b, err := bind(t, "SELECT COUNT(*) FROM people p WHERE "+w)
			if err != nil {
				t.Errorf("%s: %v", w, err)
			} else if got := b.Queries[0].String(); got != c.want {
				t.Errorf("%s is %s, want %s", w, got, c.want)
			}
		}
	}
}

func TestParameters(t *testing.T) {
	null, one, forty := query.Null(), query.Int(1), query.Int(40)
	cases := []struct {
		where string
		args  []query.Value
		want  string
	}{
		{"age = ?", []query.Value{forty}, "age{40: 1}"},
		{"age = -?", []query.Value{query.Int(-40)}, "age{40: 1}"},
		{"age = ?", []query.Value{query.Text("40")}, "age{40: 1}"},
		{"age = ?", []query.Value{null}, "0"},
		{"age = ?2 AND married = ?1", []query.Value{one, forty}, "age{40: married{1: 1}}"},
		{"age = $2 AND married = $1", []query.Value{one, forty}, "age{40: married{1: 1}}"},
		{"age >= :a AND age <= :a AND married = :b", []query.Value{forty, one}, "age{40: married{1: 1}}"},
		{"age >= ?1 AND age <= ? AND married = ?", []query.Value{forty, forty, one}, "age{40: married{1: 1}}"},
		{"age = :v2 AND married = ?", []query.Value{forty, one}, "age{40: married{1: 1}}"},
		{"age = @a AND married = $b", []query.Value{forty, one}, "age{40: married{1: 1}}"},
		{"zip = ?", []query.Value{query.Text(`it's "\`)}, `zip{'it''s "\': 1}`},
		{"(? IS NULL OR age = ?)", []query.Value{null, forty}, "1"},
		{"(?1 IS NULL OR age = ?1)", []query.Value{forty}, "age{40: 1}"},
		{"zip = '?' AND age = ?", []query.Value{forty}, "age{40: zip{'?': 1}}"},
	}
	for _, c := range cases {
		text := "SELECT COUNT(*) FROM people WHERE " + c.where
		if got := mustBind(t, text, c.args...).Queries[0].String(); got != c.want {
			t.Errorf("%s is %s, want %s", c.where, got, c.want)
		}
		if names, err := syntax.Parameters(text); err != nil || len(names) != len(c.args) {
			t.Errorf("%s has the parameters %q, %v; want %d", c.where, names, err, len(c.args))
		}
	}
}

func TestParameterNames(t *testing.T) {
	cases := []struct {
		where string
		want  []string
	}{
		{"age = 40", nil},
		{"age = ? AND sex = :sex", []string{"", "sex"}},
		{"age = :a OR age = :a + 1 OR sex = @b OR sex = $c", []string{"a", "b", "c"}},
		{"age = $2 OR age = ?1", []string{"", ""}},
		{"zip = ':no' AND age = :yes -- :no", []string{"yes"}},
	}
	for _, c := range cases {
		if got, err := syntax.Parameters("SELECT COUNT(*) FROM people WHERE " + c.where); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s has the parameters %q, %v; want %q", c.where, got, err, c.want)
		}
	}
}

// TestItems holds the headings of select lists, and the queries behind them.
func TestItems(t *testing.T) {
	cases := []struct {
		list     string
		headings string
		want     string
	}{
		{"COUNT(*)", "count", "1"},
		{"count( * ) AS n", "n", "1"},
		{"COUNT(1) n", "n", "1"},
		{"COUNT('x')", "count", "1"},
		{"COUNT(-1.5)", "count", "1"},
		{"COUNT(*) AS end", "end", "1"},
		{"COUNT(*) AS true", "true", "1"},
		{"(COUNT((1)))", "count", "1"},
		{"COUNT(NULL)", "count", "0"},
		{"COUNT(ALL age)", "count", "age{0..120: 1}"},
		{"COUNT(people.married) AS \"My n\"", "My n", "1"},
		{"COUNT(*) AS 'x y'", "x y", "1"},
		{"COUNT(*) 'x'", "x", "1"},
		{"ALL COUNT(*)", "count", "1"},
		{`"count"(*)`, "count", "1"},
		{"COUNT(*) AS n, MARGIN(n) AS m", "n|m", "1"},
		{"MARGIN(COUNT(*)), COUNT(*), COUNT(married)", "margin|count|count", "1"},
		{"margin(N) m, COUNT(age) n", "m|n", "age{0..120: 1}"},
		{"MARGIN(count), COUNT(*)", "margin|count", "1"},
		{"LOW(count), COUNT(*), HIGH(low)", "low|count|high", "1"},
		{"COUNT(*)/1000.0, 'a,b', 1 AS one", "COUNT(*) / 1000.0|'a,b'|one", "1"},
		{"ROUND( AVG(married) , 2 ), -COUNT(*)", "ROUND(AVG(married), 2)|- COUNT(*)", "1|married{1: 1}"},
		{"COUNT(*), COUNT(age)", "count|count", "1|age{0..120: 1}"},
		{"SUM(married), COUNT(*), AVG(married)", "sum|count|avg", "married{1: 1}|1"},
	}
	for _, c := range cases {
		b := mustBind(t, "SELECT "+c.list+" FROM people")
		var headings, queries []string
		for _, column := range b.Output.Columns {
			headings = append(headings, column.Name)
		}
		for _, q := range b.Queries {
			queries = append(queries, q.String())
		}
		if got := strings.Join(headings, "|"); got != c.headings {
			t.Errorf("%s has headings %s, want %s", c.list, got, c.headings)
		}
		if got := strings.Join(queries, "|"); got != c.want {
			t.Errorf("%s asks %s, want %s", c.list, got, c.want)
		}
	}
}

func TestWarnings(t *testing.T) {
	domain := " outside the declared domain BETWEEN 0 AND 120 OR NULL: "
	cases := []struct {
		where string
		want  []string
	}{
		{"age = 40", nil},
		{"age < 1000 AND age > -7.5", nil},
		{"age = 1000", []string{"age = 1000 is" + domain + "it matches nothing"}},
		{"-1 = age OR age = -1", []string{"age = -1 is" + domain + "it matches nothing"}},
		{"age = 40.5", []string{"age = 40.5 is" + domain + "it matches nothing"}},
		{"age IN (1, 1000)", []string{"age = 1000 is" + domain + "it matches nothing"}},
		{"age IN (1, 1000, 1001, 1002)", []string{"age = 1000 and 2 more in a list are" + domain + "they match nothing"}},
		{"age = ?", []string{"age = parameter 1 is" + domain + "it matches nothing"}},
		{"sex = 'X'", []string{"sex = 'X' is outside the declared domain IN ('F', 'M', NULL): it matches nothing"}},
		{"sex = 'm'", []string{"sex = 'm' is outside the declared domain IN ('F', 'M', NULL): it matches nothing; did you mean 'M'?"}},
		{"sex IN ('f', 'M')", []string{"sex = 'f' is outside the declared domain IN ('F', 'M', NULL): it matches nothing; did you mean 'F'?"}},
		{"married IS NULL", []string{"married IS NULL matches nothing: NULL is not in the declared domain IN (0, 1)"}},
		{"married IS NOT NULL", nil},
		{"age IS NULL", nil},
		{"zip = 'nowhere'", nil},
	}
	for _, c := range cases {
		text := "SELECT COUNT(*) FROM people WHERE " + c.where
		names, err := syntax.Parameters(text)
		if err != nil {
			t.Fatal(err)
		}
		args := make([]query.Value, len(names))
		for i := range args {
			args[i] = query.Int(777)
		}
		b := mustBind(t, text, args...)
		if len(b.Warnings) != len(c.want) || len(c.want) > 0 && b.Warnings[0] != c.want[0] {
			t.Errorf("%s warns %q, want %q", c.where, b.Warnings, c.want)
		}
	}
}

// TestSharedStatement binds each example in several goroutines at once: binding
// leaves a parsed statement as it was.
func TestSharedStatement(t *testing.T) {
	var table declared
	for _, e := range examples(t) {
		if e.want == "table" {
			table = declare(t, e.text)
			continue
		}
		s, err := syntax.Parse(e.text)
		if ex, ok := s.(*syntax.Explain); ok {
			s = ex.Select
		}
		sel, ok := s.(*syntax.Select)
		if err != nil || !ok {
			continue
		}
		bind := func() string {
			b, err := sqlfront.Bind(sel, table, nil)
			if err != nil {
				return err.Error()
			}
			return fmt.Sprintf("%+v", *b)
		}
		want := bind()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if got := bind(); got != want {
					t.Errorf("%s\nbound once: %s\nbound again: %s", e.text, want, got)
				}
			})
		}
		all.Wait()
	}
}

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
		"SELECT COUNT(*), SUM(s IN (SELECT code FROM none)) FROM sample WHERE n NOT IN (SELECT code FROM none)",
		"SELECT COUNT(*) FROM sample WHERE z NOT IN (SELECT code FROM none) AND NOT s IN (SELECT code FROM none)",
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
		{"SELECT COUNT(*) FROM sample LEFT JOIN codes ON n = code", sqlerr.Unsupported, "a LEFT JOIN that keeps rows without a match"},
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
