package sqlfront_test

import (
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/sqlerr"
)

// TestMySQLReadings checks that nothing of MySQL's reading of a statement
// reaches its meaning.
func TestMySQLReadings(t *testing.T) {
	cases := []struct{ name, where, want string }{
		{"double quotes are names", `"age" = 40`, "age{40: 1}"},
		{"doubled double quotes", `"age" = 40 AND zip = '"'`, `age{40: zip{'"': 1}}`},
		{"backslash n is two characters", `zip = '\n'`, `zip{'\n': 1}`},
		{"a backslash ends no string early", `zip = '\' OR zip = '\\'`, `zip{'\', '\\': 1}`},
		{"version comments are comments", "age = 40 /*!OR 1 = 1*/", "age{40: 1}"},
		{"an empty version comment", "/*!*/ age = 40", "age{40: 1}"},
		{"hash is no comment in a string", "zip = '#' AND age = 40", "age{40: zip{'#': 1}}"},
		{"dashes without a blank are a comment", "age = 40 --OR 1 = 1", "age{40: 1}"},
		{"two minus signs", "age = - - 40", "age{40: 1}"},
		{"double equals", "age == 40", "age{40: 1}"},
		{"LIKE's percent in a string", "zip = '%'", "zip{'%': 1}"},
		{"placeholders in strings and names", `zip = ':v1' OR zip = 'i3' OR zip = '?'`, "zip{':v1', '?', 'i3': 1}"},
		{"adjacent strings are one with a quote", "zip = 'a''b'", "zip{'a''b': 1}"},
		{"TRUE is 1", "married = true", "married{1: 1}"},
		{"integers beyond 64 bits", "age < " + strings.Repeat("9", 1000), "age{0..120: 1}"},
		{"integers beyond 64 bits, negative", "age > -" + strings.Repeat("9", 1000), "age{0..120: 1}"},
	}
	for _, c := range cases {
		if got := mustBind(t, "SELECT COUNT(*) FROM people WHERE "+c.where).Queries[0].String(); got != c.want {
			t.Errorf("%s: %s is %s, want %s", c.name, c.where, got, c.want)
		}
	}
}

// TestDoubleQuotedNamesAreNoStrings is the worst of MySQL's readings (and of
// SQLite's own): a misspelt quoted name that becomes a string compares as a
// constant and silently gives a wrong answer.
func TestDoubleQuotedNamesAreNoStrings(t *testing.T) {
	for _, where := range []string{`"heigth" = 'x'`, `'x' = "heigth"`, `"sexx" IN ('sexx')`, `sex = "F"`, `"a" IS NOT NULL`, `"" = ''`, `sex IN ("F", "M")`, "`b` = 1", "[c] = 1"} {
		if _, err := bind(t, "SELECT COUNT(*) FROM people WHERE "+where); sqlerr.CodeOf(err) != sqlerr.Unknown {
			t.Errorf("%s: %v, want an unknown column", where, err)
		}
	}
}

// TestKeywordNames checks names that are keywords to one side only.
func TestKeywordNames(t *testing.T) {
	plain := []string{"key", "status", "year", "date", "text", "mod", "div", "rank", "release", "interval"}
	for i, name := range append(plain, "values", "order", "group", "index", "select", "desc", "left") {
		d, err := query.NewRange(0, 9, false)
		if err != nil {
			t.Fatal(err)
		}
		u, err := query.NewUniverse([]query.Column{{Name: name, Domain: d}})
		if err != nil {
			t.Fatal(err)
		}
		spellings := []string{`"` + name + `"`, "`" + name + "`", "[" + name + "]", "t." + name, `t."` + name + `"`}
		if i < len(plain) {
			spellings = append(spellings, name)
		}
		for _, spelling := range spellings {
			b, err := compile(declared{"t", u}, "SELECT COUNT("+spelling+") FROM t WHERE "+spelling+" = 1")
			if err != nil {
				t.Errorf("%s: %v", spelling, err)
			} else if got, want := b.Queries[0].String(), name+"{1: 1}"; got != want {
				t.Errorf("%s: got %s, want %s", spelling, got, want)
			}
		}
	}
}

// TestTrueIsAColumnFirst: an unquoted TRUE is the column of that name where
// there is one, as in SQLite.
func TestTrueIsAColumnFirst(t *testing.T) {
	d, err := query.NewRange(0, 9, false)
	if err != nil {
		t.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{{Name: "true", Domain: d}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := compile(declared{"t", u}, "SELECT COUNT(*) FROM t WHERE TRUE = 5")
	if err != nil || b.Queries[0].String() != "true{5: 1}" {
		t.Errorf("got %v, %v", b, err)
	}
}

// TestQuotesInNames checks names that contain the signs that quote names.
func TestQuotesInNames(t *testing.T) {
	d, err := query.NewRange(0, 9, false)
	if err != nil {
		t.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{{Name: "a`b", Domain: d}, {Name: `c"d`, Domain: d}, {Name: "e f'", Domain: d}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := compile(declared{"t", u}, `SELECT COUNT(*) FROM t WHERE "a`+"`"+`b" = 1 AND "c""d" = 2 AND "e f'" = 3`)
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"`a``b` = 1 AND `c\"d` = 2 AND [e f'] = 3", "[a`b] = 1 AND [c\"d] = 2 AND t.`e f'` = 3"} {
		got, err := compile(declared{"t", u}, "SELECT COUNT(*) FROM t WHERE "+where)
		if err != nil || !got.Queries[0].Equal(want.Queries[0]) {
			t.Errorf("%s: %v, %v; want %v", where, got, err, want.Queries[0])
		}
	}
	if got := want.Queries[0].Columns(); len(got) != 3 {
		t.Errorf("the condition is on columns %v", got)
	}
}
