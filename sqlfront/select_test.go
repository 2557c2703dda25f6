package sqlfront_test

import (
	"slices"
	"strings"
	"testing"

	"dpsql/query"
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
	return sqlfront.Bind(s.(*syntax.Select), newPeople(t), args)
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
