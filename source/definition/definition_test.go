package definition_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"dpsql/source/definition"
)

// shape writes a condition with parentheses, other operators as commas.
func shape(x *definition.Expr) string {
	var args []string
	for _, a := range x.Args {
		args = append(args, shape(a))
	}
	switch x.Kind {
	case definition.Ref:
		return strings.TrimPrefix(x.Table+"."+x.Name, ".")
	case definition.Literal:
		return "#"
	case definition.And:
		return "(" + strings.Join(args, " AND ") + ")"
	case definition.Equal:
		return "(" + strings.Join(args, " = ") + ")"
	case definition.Query:
		return "(SELECT)"
	}
	return x.Name + "(" + strings.Join(args, ", ") + ")"
}

// TestConditions reads conditions as SQLite binds them: what is an AND of
// equalities decides which rows a join can have.
func TestConditions(t *testing.T) {
	for text, want := range map[string]string{
		"a = b":                        "(a = b)",
		"a == t.b AND c = 1":           "((a = t.b) AND (c = #))",
		"a = b AND c = d OR e":         "OR(((a = b) AND (c = d)), e)",
		"a OR b = c AND d":             "OR(a, ((b = c) AND d))",
		"NOT a = b":                    "NOT((a = b))",
		"NOT a AND b = c":              "(NOT(a) AND (b = c))",
		"a = b = c":                    "((a = b) = c)",
		"a = b IS c":                   "IS((a = b), c)",
		"a = b < c":                    "(a = <(b, c))",
		"a = b || c":                   "(a = ||(b, c))",
		"a = b COLLATE nocase":         "(a = NOCASE(b))",
		"-a COLLATE nocase = b":        "(NOCASE(-(a)) = b)",
		"a BETWEEN b AND c AND d = e":  "(BETWEEN(a, b, c) AND (d = e))",
		"a NOT IN (1, 2) AND b = c":    "(NOT IN(a, #, #) AND (b = c))",
		"a IN (SELECT 1) = b":          "(IN(a, (SELECT)) = b)",
		"(a = b)":                      "(a = b)",
		"(a, b) = (c, d)":              "((a, b) = (c, d))",
		"a = b NOT NULL":               "NOTNULL((a = b))",
		"a IS NOT DISTINCT FROM b":     "IS NOT DISTINCT(a, b)",
		"CASE a WHEN b THEN c = d END": "CASE OF(a, b, (c = d))",
		"a = 'b'' AND c = d'":          "(a = #)",
		"a = x'00' AND b = 1.5e-3":     "((a = #) AND (b = #))",
		"a/*\x00*/=--\n b":             "(a = b)",
		"[a b] = `c``d` AND \"e\" = f": "((a b = c`d) AND (e = f))",
		"a\u00a0= b":                   "(a\u00a0 = b)", // SQLite's names have any byte from 0x80 up
		"CAST(a AS VARCHAR(10)) = b":   "(VARCHAR(a) = b)",
		"count(*) FILTER (WHERE a) = max(DISTINCT b)": "(count() = max(b))",
	} {
		v, err := definition.ParseView("CREATE VIEW v AS SELECT 1 FROM t WHERE " + text)
		if err != nil {
			t.Errorf("%s is not understood", text)
		} else if got := shape(v.Select.Cores[0].Where); got != want {
			t.Errorf("%s is read as %s, want %s", text, got, want)
		}
	}
}

// join writes what is joined.
func join(f *definition.From) string {
	if f.Left == nil {
		return f.Table + map[bool]string{true: " " + f.Alias}[f.Alias != f.Table]
	}
	operator := map[bool]string{false: "+", true: "LEFT"}[f.Outer]
	return fmt.Sprintf("(%s %s %s)", join(f.Left), operator, join(f.Right))
}

func TestJoins(t *testing.T) {
	for text, want := range map[string]string{
		"a, b LEFT JOIN c ON 1 JOIN d":      "(((a + b) LEFT c) + d)",
		"a LEFT OUTER JOIN (b, c) ON 1":     "(a LEFT (b + c))",
		"main.a x NATURAL LEFT JOIN b AS y": "(a x LEFT b y)",
		"a INNER JOIN b USING (c, d)":       "(a + b)",
		"(a JOIN b) CROSS JOIN ((c))":       "((a + b) + c)",
	} {
		v, err := definition.ParseView("CREATE VIEW v (x) AS WITH w AS MATERIALIZED (SELECT 1) SELECT 1 FROM " + text + " GROUP BY 1 HAVING 2 ORDER BY 3 DESC NULLS LAST LIMIT 1, 2")
		if err != nil {
			t.Errorf("%s is not understood", text)
		} else if got := join(v.Select.Cores[0].From); got != want || !v.Select.Limited {
			t.Errorf("%s is read as %s, want %s", text, got, want)
		}
	}
}

// TestNotUnderstood has texts that SQLite reads, or reads otherwise.
func TestNotUnderstood(t *testing.T) {
	for _, text := range []string{
		"SELECT 1 FROM a RIGHT JOIN b", "SELECT 1 FROM a FULL JOIN b", "SELECT 1 FROM a LEFT NATURAL JOIN b", "SELECT 1 FROM a INDEXED BY i", "SELECT 1 FROM a NOT INDEXED",
		"SELECT 1 FROM f(1)", "SELECT 1 FROM temp.a", "SELECT 1 FROM a JOIN b USING", "SELECT 1 FROM (a JOIN b) AS c", "VALUES (1)", "SELECT 1 FROM (VALUES (1))",
		"SELECT a IN t FROM b", "SELECT a IN f(1) FROM b", "SELECT RAISE(IGNORE)", "SELECT CURRENT_DATE", "SELECT count(a ORDER BY b) FROM c", "SELECT sum(a) OVER w FROM b WINDOW w AS ()",
		"SELECT a MATCH b FROM c", "SELECT a REGEXP b FROM c", "SELECT 1 LIMIT (SELECT 1)", "SELECT left FROM a", "SELECT a AS 'b' FROM c", "SELECT ?", "SELECT 0x1F", "SELECT 1_000",
		"SELECT 1 SELECT 2", "SELECT (1", "SELECT 'a", "SELECT \"a", "SELECT [a", "SELECT 1 FROM", "", "SELECT " + strings.Repeat("(", 1e5) + "1", "SELECT " + strings.Repeat("- ", 1e5) + "1",
	} {
		if _, err := definition.ParseView("CREATE VIEW v AS " + text); err == nil {
			t.Errorf("%s is understood", text)
		}
	}
}

func TestCollations(t *testing.T) {
	got, ok := definition.Collations(`CREATE TABLE "t(" (a, b TEXT COLLATE nocase DEFAULT 'x, y COLLATE rtrim', [c d] DECIMAL(1, 2) CHECK (a COLLATE nocase = 'x'),
		e AS (a COLLATE nocase), f COLLATE rtrim COLLATE "binary", PRIMARY KEY (a COLLATE nocase, b)) STRICT`, strings.ToLower)
	want := map[string]string{"b": "NOCASE", "f": "BINARY"}
	if !ok || !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, text := range []string{"CREATE TABLE t", "CREATE TABLE t (a COLLATE", "CREATE TABLE t (a 'x)"} {
		if _, ok := definition.Collations(text, strings.ToLower); ok {
			t.Errorf("%s is understood", text)
		}
	}
}
