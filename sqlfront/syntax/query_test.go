package syntax_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"dpsql/internal/scratch"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

func TestMain(m *testing.M) {
	scratch.CollectSeldom()
	os.Exit(m.Run())
}

// queryCase is a query and how it is printed. It feeds the tests of parser and printer, and the
// fuzz target.
type queryCase struct {
	text    string
	printed string // "" if as it is written
	dialect syntax.Dialect
}

const (
	native   = syntax.Native
	postgres = syntax.Postgres
)

var queryCases = []queryCase{
	// Bodies.
	{"SELECT 1", "", native},
	{"select 1 ;", "SELECT 1", native},
	{"SELECT ALL a, b c, t.*, * FROM t", "SELECT a, b AS c, t.*, * FROM t", native},
	{"SELECT DISTINCT a FROM t WHERE a = 1 GROUP BY a HAVING COUNT(*) > 1 ORDER BY a ASC LIMIT 5 OFFSET 2", "SELECT DISTINCT a FROM t WHERE a = 1 GROUP BY a HAVING COUNT(*) > 1 ORDER BY a LIMIT 5 OFFSET 2", native},
	{"SELECT DISTINCT ON (a, b) a FROM t", "", postgres},
	{"SELECT a FROM t LIMIT 2, 5", "SELECT a FROM t LIMIT 5 OFFSET 2", native},
	{"SELECT a FROM t ORDER BY a DESC NULLS LAST OFFSET 2 ROWS FETCH NEXT 5 ROWS ONLY", "SELECT a FROM t ORDER BY a DESC NULLS LAST LIMIT 5 OFFSET 2", native},
	{"SELECT a FROM t FETCH FIRST ROW ONLY", "SELECT a FROM t LIMIT 1", native},
	{"SELECT a FROM t LIMIT ALL", "SELECT a FROM t", native},
	{"SELECT TOP 5 a FROM t", "", native},
	{"SELECT top FROM t", "", native},
	{"SELECT a, COUNT(*) FROM t GROUP BY ALL", "", native},
	{"SELECT a, COUNT(*) FROM t GROUP BY GROUPING SETS ((a, b), a, ())", "", native},
	{"SELECT a FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY b DESC) = 1", "", native},
	{"SELECT a FROM t WITH margin 0.95, accuracy = 5", "SELECT a FROM t WITH margin 0.95, accuracy 5", native},
	{"VALUES (1, 'a'), (2, NULL)", "", native},
	{"SELECT 1 UNION ALL SELECT 2 INTERSECT SELECT 3", "", native},
	{"SELECT 1 UNION DISTINCT (SELECT 2 ORDER BY 1)", "SELECT 1 UNION (SELECT 2 ORDER BY 1)", postgres},
	{"TABLE pg_class", "SELECT * FROM pg_class", postgres},
	{"SELECT FROM t", "", postgres},
	{"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9), m AS NOT MATERIALIZED (SELECT 1) SELECT * FROM n", "", native},
	{"WITH recursive AS (SELECT 1) SELECT * FROM recursive", "", native},

	// Sources.
	{"SELECT 1 FROM main.t AS a, u b, (SELECT 1) c", "SELECT 1 FROM main.t AS a, u AS b, (SELECT 1) AS c", native},
	{"SELECT 1 FROM a JOIN b ON a.x = b.x LEFT OUTER JOIN c USING (x, y) NATURAL JOIN d CROSS JOIN e", "SELECT 1 FROM a JOIN b ON a.x = b.x LEFT JOIN c USING (x, y) NATURAL JOIN d CROSS JOIN e", native},
	{"SELECT 1 FROM a JOIN b JOIN c ON true ON false", "SELECT 1 FROM a JOIN b JOIN c ON TRUE ON FALSE", postgres},
	{"SELECT 1 FROM (a JOIN b ON a.x = b.x) LEFT JOIN c ON TRUE", "", native},
	{"SELECT 1 FROM generate_series(1, 5) AS g (n)", "", native},
	{"SELECT 1 FROM ONLY t *, LATERAL unnest(a) WITH ORDINALITY u(x, i), LATERAL (SELECT 1) v", "SELECT 1 FROM t, LATERAL unnest(a) WITH ORDINALITY AS u (x, i), LATERAL (SELECT 1) AS v", postgres},
	{"SELECT 1 FROM f(1) AS r (a int, b character VARYING(5)[])", "", postgres},
	{"SELECT 1 FROM current_user u", "SELECT 1 FROM current_user AS u", postgres},

	// Names and literals.
	{"SELECT \"a \"\"b\", `c`, [d e], t.select FROM \"t\"", `SELECT "a ""b", "c", "d e", t.select FROM "t"`, native},
	{"SELECT 'it''s', x'41', 1.5e3, .5, NULL, TRUE, DATE '2024-01-01'", "", native},
	{"SELECT a 'b', c AS 'd' FROM t", `SELECT a AS "b", c AS "d" FROM t`, native},
	{"SELECT ?, ?3, :n, ?, @n, $2", "SELECT ?1, ?3, :n, ?5, @n, $2", native},
	{`SELECT E'a\n''\\', N'b', $x$it's$x$, 'c' 'd', regclass 'pg_class'`, "SELECT 'a\n''\\', 'b', 'it''s', 'cd', regclass 'pg_class'", postgres},
	{"SELECT $1, $12 /* a /* b */ c */ -- d\n", "SELECT $1, $12", postgres},
	{"SELECT \"E\" FROM \"É\"", "", native},

	// Operators.
	{"SELECT a OR b AND NOT c = d < e & f + g * h || i COLLATE NOCASE", "", native},
	{"SELECT NOT a IS NOT NULL, a NOT NULL, b ISNULL, c NOTNULL", "SELECT NOT a IS NOT NULL, a IS NOT NULL, b IS NULL, c IS NOT NULL", native},
	{"SELECT a IS b, a IS NOT b, a IS NOT DISTINCT FROM b, a IS TRUE + 1", "", native},
	{"SELECT a BETWEEN 1 AND 2 AND b NOT BETWEEN c + 1 AND d", "", native},
	{"SELECT a IN (1, 2), b NOT IN (SELECT c FROM t), d IN t, e IN ()", "", native},
	{"SELECT a LIKE 'x' ESCAPE '!', b NOT GLOB 'y*', c ILIKE 'z'", "", native},
	{"SELECT a ~ '^x', b ~* 'y'", "", native},
	{"SELECT - - a, -b, ~ c, + d, -(a + b)", "SELECT - - a, - b, ~ c, + d, - (a + b)", native},
	{"SELECT a::int, -b::numeric(8, 2), CAST(c AS DOUBLE PRECISION), d::timestamp with time zone", "SELECT a::int, - b::numeric(8, 2), CAST(c AS DOUBLE PRECISION), d::timestamp WITH TIME ZONE", native},
	{"SELECT a = ANY (ARRAY[1, 2]), b <> ALL (ARRAY[[1], [2]]), c = SOME (SELECT 1)", "SELECT a = ANY (ARRAY[1, 2]), b <> ALL (ARRAY[[1], [2]]), c = ANY (SELECT 1)", postgres},
	{"SELECT a = ANY (ARRAY['x', 'y'])", "", native},
	{"SELECT a OPERATOR(pg_catalog.~) 'x', b !~~* c, d @> e, f AT TIME ZONE 'utc', g SIMILAR TO h", "SELECT a ~ 'x', b !~~* c, d @> e, f AT TIME ZONE 'utc', g SIMILAR TO h", postgres},
	{"SELECT (a).b, (f(x)).*, a[1], (b)[2:3], c[1][2], d[:4]", "", postgres},
	{"SELECT a AND b = c IS NULL", "", postgres},

	// Calls.
	{"SELECT COUNT(*), COUNT(DISTINCT a), SUM(ALL b), f()", "SELECT COUNT(*), COUNT(DISTINCT a), SUM(b), f()", native},
	{"SELECT SUM(a) FILTER (WHERE b > 1) OVER w, RANK() OVER (w ORDER BY c ROWS BETWEEN 1 + 1 PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES) FROM t WINDOW w AS (PARTITION BY d)", "", native},
	{"SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY a), string_agg(b, ',' ORDER BY c DESC)", "", native},
	{"SELECT EXTRACT(YEAR FROM d), POSITION('a' IN b), SUBSTRING(c FROM 1 FOR 2), TRIM(BOTH 'x' FROM e), TRIM(FROM f), LEFT(g, 1)", "", native},
	{"SELECT d + INTERVAL '1 month', e - INTERVAL 2 DAY, interval FROM t", "", native},
	{"SELECT CASE a WHEN 1 THEN 'x' ELSE 'y' END, CASE WHEN b THEN c END", "", native},
	{"SELECT ARRAY(SELECT 1), ROW(1, 2), (1, 2), EXISTS (SELECT 1), current_user", "", postgres},
	{"SELECT (SELECT 1) + 1, ((SELECT 1) + 1), ((SELECT 1) UNION SELECT 2)", "", native},
	{"SELECT filter, over, end, window, offset, year, key FROM t", "", native},
	{"SELECT nothing FROM nothing", "", native},
}

// TestQueries: each query is read, printed, and read back as the same tree; and a node lies where
// its text does.
func TestQueries(t *testing.T) {
	for _, c := range queryCases {
		q, err := syntax.ParseQuery(c.text, c.dialect)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		want := c.printed
		if want == "" {
			want = c.text
		}
		if got := q.String(); got != want {
			t.Errorf("%s\nis printed as\n%s\nwant\n%s", c.text, got, want)
		}
		checkReadsBack(t, c.text, c.dialect)
		checkPlaces(t, c.text, q)
	}
}

// checkReadsBack fails if a query that is read is printed as another tree.
func checkReadsBack(t *testing.T, text string, d syntax.Dialect) {
	t.Helper()
	q, err := syntax.ParseQuery(text, d)
	if err != nil {
		return
	}
	again, err := syntax.ParseQuery(q.String(), d)
	if err != nil {
		t.Errorf("%s\nis printed as\n%s\nwhich is not read: %v", text, q, err)
	} else if !reflect.DeepEqual(bared(q), bared(again)) {
		t.Errorf("%s\nis printed as\n%s\nwhich is another tree", text, q)
	}
}

// bared returns a tree without places and parentheses.
func bared(n any) any { return bare(reflect.ValueOf(n)) }

func bare(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if p, ok := v.Interface().(*syntax.Paren); ok {
			return bared(p.X)
		}
		return bare(v.Elem())
	case reflect.Struct:
		out := map[string]any{"": v.Type().Name()}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			place := f.Name == "Operator" || f.Name == "Position" || f.Name == "WithinAt"
			if f.IsExported() && !place && !(v.Type().Name() == "Parameter" && f.Name == "Text") {
				out[f.Name] = bare(v.Field(i))
			}
		}
		return out
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = bare(v.Index(i))
		}
		return out
	}
	return v.Interface()
}

// checkPlaces fails if a node does not lie inside the one around it.
func checkPlaces(t *testing.T, text string, q *syntax.Query) {
	t.Helper()
	var visit func(around syntax.Node) func(n syntax.Node) bool
	visit = func(around syntax.Node) func(n syntax.Node) bool {
		return func(n syntax.Node) bool {
			if n == around {
				return true
			}
			if n.Pos() < around.Pos() || n.End() > around.End() || n.Pos() > n.End() || n.Pos() < 1 {
				t.Errorf("%s: a %T lies from %d to %d, inside a %T from %d to %d", text, n, n.Pos(), n.End(), around, around.Pos(), around.End())
			}
			syntax.Walk(n, visit(n))
			return false
		}
	}
	syntax.Walk(q, visit(q))
}

// TestQueryErrors: what cannot be read is refused where it stands.
func TestQueryErrors(t *testing.T) {
	for _, c := range []struct {
		text     string
		dialect  syntax.Dialect
		code     sqlerr.Code
		position int
		said     string
	}{
		{"SELECT", native, sqlerr.Malformed, 7, "the statement ends too early"},
		{"SELECT é FROM", native, sqlerr.Malformed, 14, "the statement ends too early"},
		{"SELECT 1 FROM t WHERE a = = 1", native, sqlerr.Malformed, 27, "unexpected ="},
		{"SELECT (1, 2", native, sqlerr.Malformed, 13, "the statement ends too early"},
		{"SELECT CASE a END", native, sqlerr.Malformed, 15, "unexpected END"},
		{"SELECT 'a", native, sqlerr.Malformed, 8, "unterminated string"},
		{"SELECT 1 2", native, sqlerr.Malformed, 10, "unexpected 2"},
		{"SELECT " + strings.Repeat("(", 400) + "1", native, sqlerr.Unsupported, 307, "nested this deeply"},
		{"SELECT " + strings.Repeat("- ", 400) + "1", native, sqlerr.Unsupported, 606, "nested this deeply"},
		{"SELECT 1 +", postgres, sqlerr.Malformed, 11, "syntax error at end of input"},
		{"SELECT a FROM t WHERE Order", postgres, sqlerr.Malformed, 23, `syntax error at or near "order"`},
		{"SELECT a FROM t FOR UPDATE", postgres, sqlerr.Unsupported, 17, "SELECT … FOR is outside the catalog's dialect"},
		{"SELECT X'41'", postgres, sqlerr.Unsupported, 8, "a constant that begins with X'"},
		{`SELECT E'\x41'`, postgres, sqlerr.Unsupported, 8, `the escape \x`},
		{"SELECT 1 /* /* */", postgres, sqlerr.Malformed, 10, "unterminated comment"},
		{"SELECT {", postgres, sqlerr.Malformed, 8, `syntax error at "{"`},
		{"SELECT f(a => 1)", postgres, sqlerr.Unsupported, 12, "an argument by name"},
		{"SELECT a IN ()", postgres, sqlerr.Malformed, 14, `syntax error at or near ")"`},
		{"SELECT " + strings.Repeat("(", 400) + "1", postgres, sqlerr.Unsupported, 307, "nested more than 300 deep"},
	} {
		_, err := syntax.ParseQuery(c.text, c.dialect)
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.Code != c.code || e.Position != c.position || !strings.Contains(e.Message, c.said) {
			t.Errorf("%.60s: %#v, want %s %q at %d", c.text, e, c.code, c.said, c.position)
		}
	}
}

// asks finds the statements that are queries.
var asks = regexp.MustCompile(`(?is)^\s*(--[^\n]*\n\s*|/\*.*?\*/\s*)*(\(*\s*SELECT|WITH|VALUES)\b`)

// recordedQueries returns the queries of testdata/statements that have a tree or an answer.
func recordedQueries(t testing.TB) (list []string) {
	for _, world := range []string{"visits", "clinic", "admissions"} {
		data, err := os.ReadFile(filepath.Join("../../testdata/statements", world+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		for record := range strings.SplitSeq(string(data), "\n================\n") {
			text, gives, _ := strings.Cut(record, "\n--> ")
			read := strings.HasPrefix(gives, "tree: ") || strings.HasPrefix(gives, "core: ") || !strings.Contains("\n--> "+gives, "\n--> error ")
			if read && asks.MatchString(text) {
				list = append(list, text)
			}
		}
	}
	return list
}

// clientQueries returns what recorded clients asked a server.
func clientQueries(t testing.TB) (list []string) {
	const folder = "../../server/pgcatalog/testdata/"
	data, err := os.ReadFile(folder + "corpus.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpus map[string][]struct{ SQL string }
	if err := json.Unmarshal(data, &corpus); err != nil {
		t.Fatal(err)
	}
	data, err = os.ReadFile(folder + "shapes.sql")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(string(data), ";\n")
	for _, statements := range corpus {
		for _, s := range statements {
			all = append(all, s.SQL)
		}
	}
	oid := regexp.MustCompile(`\{\{[a-z ]+\}\}`)
	for _, text := range all {
		if several := strings.Contains(strings.TrimRight(text, "; \n"), ";"); asks.MatchString(text) && !several {
			list = append(list, oid.ReplaceAllString(text, "1"))
		}
	}
	return list
}

// TestCorpusReadsBack: every query of the corpus is read, printed, and read back as it was.
func TestCorpusReadsBack(t *testing.T) {
	for d, list := range map[syntax.Dialect][]string{native: recordedQueries(t), postgres: clientQueries(t)} {
		if len(list) < 450 {
			t.Errorf("%d queries", len(list))
		}
		for _, text := range list {
			q, err := syntax.ParseQuery(text, d)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			checkReadsBack(t, text, d)
			checkPlaces(t, text, q)
		}
	}
}

// FuzzQuery: no text makes the parser fail, and what is read is printed as the same tree.
func FuzzQuery(f *testing.F) {
	for _, c := range queryCases {
		f.Add(c.text, c.dialect == postgres)
	}
	f.Fuzz(func(t *testing.T, text string, catalog bool) {
		d := native
		if catalog {
			d = postgres
		}
		_, err := syntax.ParseQuery(text, d)
		if e := (*sqlerr.Error)(nil); err != nil && !errors.As(err, &e) {
			t.Errorf("%q: %v", text, err)
		}
		checkReadsBack(t, text, d)
	})
}

func BenchmarkParseQuery(b *testing.B) {
	list := recordedQueries(b)
	b.ResetTimer()
	for i := range b.N {
		if _, err := syntax.ParseQuery(list[i%len(list)], native); err != nil {
			b.Fatal(err)
		}
	}
}
