package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/engine"
	"dpsql/internal/complete"
	"dpsql/sqlerr"
)

// clauses are the words of a SELECT and of declarations that no error lists.
var clauses = strings.Fields(`WITH DISTINCT AS FROM WHERE AND OR NOT IN IS NULL ISNULL NOTNULL TRUE FALSE BETWEEN LIKE ESCAPE GLOB
	CASE WHEN THEN ELSE END GROUP BY HAVING ORDER ASC DESC LIMIT OFFSET JOIN INNER CROSS ON FILTER ROLLUP CUBE GROUPING SETS MARGIN LOW HIGH WITHIN
	PUBLIC PRIVATE TABLE RELEASE MECHANISM SOURCE POSTGRES IF EXISTS INTEGER INT TEXT BOOLEAN REAL STEP DATE TIMESTAMP STORED CLAMP NUMERIC OTHER COLLATE NOCASE USING PROJECTION MARGINALS SMW TO USER PASSWORD`)

// builtins are functions of SQLite. Those that the parser knows must be
// documented.
var builtins = strings.Fields(`abs avg changes char coalesce concat count date datetime format glob group_concat hex ifnull iif instr
	json length like lower ltrim max median min mod nullif octet_length percentile_cont percentile_disc power printf quantile quote random replace round rtrim sign sqrt
	stddev stddev_pop stddev_samp substr substring sum total trim trunc typeof unicode unixepoch upper var_pop var_samp variance`)

// asked are statements whose errors list the words that are allowed.
var asked = []string{
	"NOTHING",
	"SHOW NOTHING",
	"SET nothing = 1",
	"CREATE PRIVATE TABLE t (age INTEGER BETWEEN 0 AND 9) FROM raw_visits WITH (epsilon = 1, nothing = 1)",
	"CREATE PRIVATE TABLE t (age INTEGER BETWEEN 0 AND 9) FROM s.raw_visits WITH (epsilon = 1, placement = nothing)",
	"ALTER PRIVATE TABLE visits SET (nothing = 1)",
	"ALTER PRIVATE TABLE visits SET (buy = nothing)",
	"GRANT SELECT ON visits TO ana WITH (nothing = 1)",
	"CREATE SOURCE s USING POSTGRES WITH (dsn_env = V, nothing = 1)",
	"CREATE RELEASE r ON visits (sex) USING PROJECTION WITH (epsilon = 1, nothing = 1)",
	"CREATE RELEASE r ON visits (sex) USING SMW WITH (epsilon = 1, nothing = 1)",
	"CREATE RELEASE r ON visits (sex) USING MARGINALS WITH (epsilon = 1, nothing = 1)",
	"CREATE RELEASE r ON visits (sex) USING MARGINALS WITH (epsilon = 1, delta = 1e-9, estimate = nothing)",
	"CREATE MECHANISM m ON visits (sex) USING SMW WITH (epsilon = 1, nothing = 1)",
	"CREATE RELEASE r ON visits (sex) USING PROJECTION WITH (epsilon = 1, transform = nothing)",
	"CREATE RELEASE r ON visits (sex) USING PROJECTION WITH (epsilon = 1, heavy = nothing)",
	"CREATE RELEASE r ON visits (sex) USING PROJECTION WITH (epsilon = 1, delta = 1e-9, transform = dense, noise = nothing)",
	"CREATE RELEASE r ON visits (sex) USING SMW WITH (epsilon = 1, free_columns = 1, class = nothing)",
	"CREATE MECHANISM m ON visits (sex) USING SMW WITH (epsilon = 1, prior = nothing)",
	"CREATE MECHANISM m ON visits (sex) USING SMW WITH (epsilon = 1, update = nothing)",
	"CREATE MECHANISM m ON visits (sex) USING SMW WITH (epsilon = 1, remeasure = nothing)",
}

// listed finds the words that such an error lists.
var listed = regexp.MustCompile(`(?:the statements are|SHOW lists|the settings are|the options are|must be one of) ([A-Za-z_, ]+)`)

// TestDocsName checks that docs/sql names every word that the parser knows, and
// that an example uses it. A new word is found by an error that lists it, or must
// be added to a list above.
func TestDocsName(t *testing.T) {
	t.Parallel()
	named, run := documentedWords(t)
	for _, word := range knownWords(t) {
		if !named[strings.ToLower(word)] {
			t.Errorf("no page of docs/sql names %s", word)
		} else if !run[strings.ToLower(word)] {
			t.Errorf("no example uses %s", word)
		}
	}
}

// word matches a name, a dot-command or a flag.
var word = regexp.MustCompile(`[.-]?[A-Za-z_]+`)

// mostWords is how much there may be to read in docs.
const mostWords = 70_000

// TestDocsAreShort counts the words of all pages, examples included: whatever has a letter or
// a digit. The frames of tables have none.
func TestDocsAreShort(t *testing.T) {
	t.Parallel()
	words := 0
	for _, name := range pageNames(t) {
		for _, w := range strings.Fields(readText(t, filepath.Join(docsDir, name))) {
			if strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				words++
			}
		}
	}
	t.Logf("%d words", words)
	if words > mostWords {
		t.Errorf("docs has %d words, more than %d: say what is said twice once", words, mostWords)
	}
}

// documentedWords returns the words of docs/sql, and those of the examples of
// all pages, in lower case.
func documentedWords(t *testing.T) (named, run map[string]bool) {
	named, run = make(map[string]bool), make(map[string]bool)
	add := func(set map[string]bool, text string) {
		for _, w := range word.FindAllString(text, -1) {
			w = strings.ToLower(w)
			set[w], set[strings.TrimLeft(w, ".-")] = true, true
		}
	}
	for _, name := range pageNames(t) {
		text, err := os.ReadFile(filepath.Join(docsDir, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "sql") {
			add(named, string(text))
		}
		for _, b := range parseDocument(string(text)).blocks {
			switch b.lang {
			case "sql":
				add(run, strings.Join(b.body, "\n"))
			case "console":
				for _, c := range b.commands() {
					add(run, c.text)
				}
			}
		}
	}
	return named, run
}

// knownWords returns what the command and the parser know.
func knownWords(t *testing.T) []string {
	all := slices.Concat(clauses, complete.Keywords, engine.SettingNames)
	for _, c := range commands() {
		all = append(all, c.name)
	}
	new(options).flagSet().VisitAll(func(f *flag.Flag) { all = append(all, "-"+f.Name) })
	s := clinic(t)
	for _, text := range asked {
		e := refusedBy(s, text)
		if e == nil {
			t.Fatalf("%s is accepted", text)
		}
		found := listed.FindStringSubmatch(e.Message + " " + e.Hint)
		if found == nil {
			t.Errorf("the error of %s lists nothing: %v (%s)", text, e, e.Hint)
			continue
		}
		all = append(all, strings.FieldsFunc(found[1], func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	return append(all, knownFunctions(s)...)
}

// knownFunctions returns the builtins that some SELECT accepts.
func knownFunctions(s *engine.Session) (known []string) {
	for _, name := range builtins {
		for _, text := range []string{"SELECT COUNT(*) FROM visits WHERE NAME(age) > 1", "SELECT COUNT(*) FROM visits WHERE NAME(sex, 1) = 'x'",
			"SELECT COUNT(*) FROM visits WHERE NAME(age > 1, 1, 2) = 1", "SELECT NAME(age) FROM visits", "SELECT NAME(COUNT(*)) FROM visits"} {
			e := refusedBy(s, "EXPLAIN "+strings.Replace(text, "NAME", name, 1))
			if e == nil || e.Code != sqlerr.Unsupported && e.Code != sqlerr.Malformed {
				known = append(known, name)
				break
			}
		}
	}
	return known
}

// clinic returns a session on the database of the examples.
func clinic(t *testing.T) *engine.Session {
	t.Helper()
	db, err := engine.Open(filepath.Join(t.TempDir(), "clinic.db"), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s := db.NewSession()
	c := testConsole(new(bytes.Buffer), new(bytes.Buffer), render.CSV)
	r := &runner{session: s, role: engine.Curator, console: c, args: make(arguments)}
	if err := r.scriptFile(context.Background(), filepath.Join(docsDir, "sql", "example.sql")); err != nil {
		t.Fatal(err)
	}
	return s
}

// refusedBy returns the error of a statement, or nil.
func refusedBy(s *engine.Session, text string) *sqlerr.Error {
	_, err := s.Exec(context.Background(), text, nil)
	var e *sqlerr.Error
	errors.As(err, &e)
	return e
}
