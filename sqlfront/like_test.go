package sqlfront

import (
	"database/sql"
	"strings"
	"testing"
)

// words over an alphabet, of up to n characters.
func wordsOver(alphabet string, n int) []string {
	all := []string{""}
	for start := 0; n > 0; n-- {
		end := len(all)
		for _, w := range all[start:end] {
			for _, r := range alphabet {
				all = append(all, w+string(r))
			}
		}
		start = end
	}
	return all
}

// TestPatternsAgainstSQLite matches all short patterns with all short texts.
func TestPatternsAgainstSQLite(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	cases := []struct {
		name, operator string
		texts, pattern []string
		read           func(string) pattern
	}{
		{"LIKE", "x LIKE p", wordsOver("aBé%", 3), wordsOver("abÉ%_", 4), func(s string) pattern { return likePattern(s, -1) }},
		{"ESCAPE", `x LIKE p ESCAPE '\'`, wordsOver(`a%\`, 3), wordsOver(`a%_\`, 4), func(s string) pattern { return likePattern(s, '\\') }},
		{"ESCAPE %", "x LIKE p ESCAPE '%'", wordsOver("a%_", 3), wordsOver("a%_", 4), func(s string) pattern { return likePattern(s, '%') }},
		{"ESCAPE _", "x LIKE p ESCAPE '_'", wordsOver("a%_", 3), wordsOver("a%_", 4), func(s string) pattern { return likePattern(s, '_') }},
		{"ESCAPE a", "x LIKE p ESCAPE 'a'", wordsOver("aA%", 3), wordsOver("aA%_", 4), func(s string) pattern { return likePattern(s, 'a') }},
		{"GLOB", "x GLOB p", wordsOver("aAé", 3), wordsOver("aA*?", 4), globPattern},
		{"GLOB sets", "x GLOB p", wordsOver("abd]-^[", 1), wordsOver("ad[]-^", 5), globPattern},
	}
	for _, c := range cases {
		list := "('" + strings.Join(c.texts, "'), ('") + "')"
		ask, err := db.Prepare("WITH v(x) AS (VALUES " + list + "), q(p) AS (VALUES (?)) " +
			"SELECT group_concat(" + c.operator + ", '') FROM v, q")
		if err != nil {
			t.Fatal(err)
		}
		defer ask.Close()
		for _, p := range c.pattern {
			var want string
			if err := ask.QueryRow(p).Scan(&want); err != nil {
				t.Fatal(err)
			}
			got := ""
			compiled := c.read(p)
			for _, x := range c.texts {
				got += compiled.matches(textOf(x)).String()
			}
			if got != want {
				t.Fatalf("%s: pattern %q gives %s, SQLite %s", c.name, p, got, want)
			}
		}
	}
}

// String shows a scalar in failures of tests.
func (x scalar) String() string {
	switch s, ok := x.text(); {
	case ok:
		return s
	case x.value.IsReal():
		return "real"
	}
	return "NULL"
}

// TestLongPatterns takes no exponential time.
func TestLongPatterns(t *testing.T) {
	p := likePattern(strings.Repeat("%a", 1000)+"b", -1)
	if got := p.matches(textOf(strings.Repeat("a", 5000))); got != integerOf(0) {
		t.Errorf("got %v", got)
	}
}
