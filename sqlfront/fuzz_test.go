package sqlfront_test

import (
	"errors"
	"testing"
	"unicode/utf8"

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

// FuzzParse checks that no text makes the front end panic, that every error is
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
			_, err = sqlfront.Bind(sel, table, args)
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
