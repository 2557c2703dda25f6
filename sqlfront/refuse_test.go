package sqlfront_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// mark stands before the character of a test's statement that the error must
// point at.
const mark = "‸"

// marked returns the statement without its mark, and the mark's position.
func marked(text string) (string, int) {
	before, after, found := strings.Cut(text, mark)
	if !found {
		return text, 0
	}
	return before + after, utf8.RuneCountInString(before) + 1
}

// failure returns the error of parsing and, for a SELECT, binding a statement.
func failure(t *testing.T, text string) *sqlerr.Error {
	t.Helper()
	s, err := syntax.Parse(text)
	if sel, ok := s.(*syntax.Select); ok && err == nil {
		_, err = sqlfront.Bind(sel, newPeople(t), make([]query.Value, sel.Parameters))
	}
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: got %v (%T), want a *sqlerr.Error", text, err, err)
		return &sqlerr.Error{}
	}
	return e
}

type refusal struct {
	text    string // with a mark
	code    sqlerr.Code
	message string // part of it
	hint    string // part of it
}

func checkRefusals(t *testing.T, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		text, position := marked(c.text)
		e := failure(t, text)
		if e.Code != c.code || !strings.Contains(e.Message, c.message) || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%s:\n got %s: %s (hint: %s)\nwant %s: %s (hint: %s)", text, e.Code, e.Message, e.Hint, c.code, c.message, c.hint)
		}
		if e.Position != position {
			t.Errorf("%s: %q at position %d, want %d", text, e.Message, e.Position, position)
		}
	}
}

func TestMalformed(t *testing.T) {
	m, u := sqlerr.Malformed, sqlerr.Unsupported
	checkRefusals(t, []refusal{
		{"‸", m, "empty", ""},
		{"‸;", m, "empty", ""},
		{"‸SELEC COUNT(*) FROM people", m, "no statement starts with SELEC", "did you mean SELECT?"},
		{"‸foo", m, "no statement starts with foo", "the statements are SELECT"},
		{"‸\"SELECT\" 1", m, "no statement starts with", ""},
		{"‸(SELECT COUNT(*) FROM people)", m, "no statement starts with (", ""},
		{"SELECT COUNT(* ‸FROM people", m, "unexpected FROM", ""},
		{"SELECT COUNT(*) FROM people WHER ‸age = 1", m, "unexpected age", "did you mean WHERE"},
		{"SELECT COUNT(*) FROM people WHERE Wildlife ‸Size = 'Large'", m, "unexpected Size", `a name of several words is quoted: "Wildlife Size"`},
		{"SELECT AVG(Body ‸Mass) FROM people", m, "unexpected Mass", `"Body Mass"`},
		{"SELECT COUNT(*) FROM people GROUP BY Day ‸of week", m, "unexpected of", `"Day of week"`},
		{"SELECT COUNT(*) FROM people WHERE sex ‸SIMILAR TO 'F%'", u, "SIMILAR TO", "write LIKE"},
		{"SELECT COUNT(*) FROM people WHERE sex ‸NOT SIMILAR TO 'F%'", u, "SIMILAR TO", "write LIKE"},
		{"SELECT COUNT(*) FROM people WHERE (age, age) ‸OVERLAPS (3, 4)", u, "OVERLAPS", "a < d AND c < b"},
		{"SELECT COUNT(*) FROM people WHERE age IN (‸ARRAY[3, 4])", u, "an array", "= ANY (ARRAY[3, 4])"},
		{"SELECT COUNT(*) FROM people WHERE AGE(age) > ‸INTERVAL '1 year'", u, "an interval", "x < DATE"},
		{"SELECT COUNT(*) FROM people WHERE age <‸@ '[1,3]'", m, "unexpected character @", "x >= lowest"},
		{"SELECT ‸BOOL_OR(age > 3) FROM people", u, "the function bool_or()", "FILTER (WHERE"},
		{"SELECT ‸WEEKDAY(age), COUNT(*) FROM people GROUP BY 1", u, "the function weekday()", "EXTRACT(DOW FROM x)"},
		{"SELECT COUNT(*) FROM people WHERE sex ‸|| zip = 'F1'", u, "the operator ||", "GROUP BY x, y"},
		{"SELECT COUNT(*) FROM people WHER‸E", m, "the statement ends too early", ""},
		{"SELECT COUNT(*) FROM people WHERE‸;", m, "the statement ends too early", ""},
		{"SELECT COUNT(*) FROM people WHERE age ‸5", m, "unexpected 5", ""},
		{"SELECT COUNT(*) FROM people WHERE age IN (‸)", m, "the list of IN is empty", "at least one value"},
		{"SELECT COUNT(*) FROM people WHERE age = ‸'abc", m, "unterminated string", "''"},
		{"SELECT COUNT(*) FROM people WHERE ‸\"age = 1", m, "unterminated quoted name", ""},
		{"SELECT COUNT(*) FROM people WHERE ‸[age = 1", m, "unterminated quoted name", ""},
		{"SELECT COUNT(*) FROM people ‸/* age = 1", m, "unterminated comment", ""},
		{"SELECT COUNT(*) FROM people WHERE sex = '日本語' AND age < ‸= 5", m, "unexpected =", ""},
		{"SELECT COUNT(*) FROM people WHERE sex = ‸“F”", m, "unexpected character “", "quote texts with '"},
		{"SELECT COUNT(*) FROM people WHERE‸\u00A0age = 1", m, "unexpected character U+00A0", ""},
		{"SELECT COUNT(*) FROM people WHERE age = 4‸\x000", m, "NUL", ""},
		{"SELECT COUNT(*) FROM people WHERE sex = 'é‸\xff'", m, "UTF-8", ""},
		{"SELECT COUNT(*) FROM people WHERE age = ‸4x", m, "unexpected 4x", ""},
		{"SELECT COUNT(*) FROM people WHERE age = ‸1e", m, "unexpected 1e", ""},
		{"SELECT COUNT(*) FROM people WHERE age ‸! = 1", m, "unexpected character !", ""},
		{"SELECT COUNT(*) FROM people WHERE age = 1 ‸&& married = 1", m, "&& is not an operator", "write AND"},
		{"SELECT COUNT(*) FROM people WHERE ‸index = 1", m, "unexpected keyword INDEX", `"index"`},
		{"SELECT COUNT(*) FROM people\n‸CREATE RELEASE r ON people WITH (epsilon = 1)", m, "unexpected keyword CREATE", "a semicolon ends"},
		{"SELECT COUNT(*) FROM people WHERE (age = 1) ‸ALL", m, "unexpected keyword ALL", ""},
		{"SELECT COUNT(*) FROM people WHERE age IN (‸ALL 1)", m, "unexpected keyword ALL", ""},
		{"SELECT COUNT(*) FROM people WHERE ‸group = 1", m, "unexpected GROUP", ""},
		{"SELECT COUNT(*) FROM people p ‸q", m, "unexpected q", ""},
		{"SELECT ‸COUNT() FROM people", m, "COUNT takes one argument", "COUNT(*)"},
		{"SELECT ‸COUNT(*, age) FROM people", m, "COUNT takes one argument", ""},
		{"SELECT ‸MARGIN(*) FROM people", m, "MARGIN takes an aggregate", ""},
		{"SELECT ‸LOW(*) FROM people", m, "LOW takes an aggregate", "write LOW(COUNT(*))"},
		{"SELECT ‸HIGH(COUNT(*), 2) FROM people", m, "HIGH takes one argument", "write HIGH(COUNT(*))"},
		{"SELECT COUNT(*) FROM people GROUP BY ‸LOW(COUNT(*))", m, "LOW cannot stand in GROUP BY", ""},
		{"SELECT COUNT(*) FROM people WHERE age = ‸:", m, "unexpected character :", ""},
		{"SHO‸W", m, "expected one of TABLES, RELEASES", ""},
		{"DESCRIBE people ‸x", m, "unexpected x after the end", ""},
		{"SHOW LEDGER ‸FOR people", m, "SHOW LEDGER takes no name", "SHOW LEDGER lists all there are"},
		{"SELECT COUNT(*) FROM people WHERE age <=‸> 1", m, "unexpected >", ""},
		{"EXPLAIN ‸people", m, "expected SELECT, found people", ""},
		{"SET accuracy ‸50", m, "expected =, found 50", ""},
		{"SET accuracy = -‸x", m, "expected a number, found x", ""},
		{"SET accuracy = ‸(", m, "expected a number, a word or a string", ""},
		{"EXPORT RELEASE r TO ‸file", m, "expected the path", ""},
		{"DROP ‸COLUMN x", m, "expected RELEASE, MECHANISM, SOURCE, PRIVATE TABLE, PUBLIC TABLE, VIEW or USER", ""},
		{"CREATE ‸FUNCTION f", m, "expected PUBLIC TABLE", ""},
		{"CREATE PRIVATE ‸x", m, "expected TABLE, found x", ""},
		{"DROP PUBLIC ‸x", m, "expected TABLE, found x", ""},
		{"CREATE RELEASE ‸select ON t USING SMW", m, "found the keyword SELECT", `"select"`},
		{"CREATE RELEASE ‸'r' ON t USING SMW", m, "found a string", "names are quoted with"},
		{"CREATE RELEASE ‸\"\" ON t USING SMW", m, "empty name", ""},
		{"CREATE RELEASE r ON t (a ‸b) USING SMW", m, "expected , or ), found b", ""},
		{"CREATE RELEASE r ON t USING ‸5", m, "expected PROJECTION, MARGINALS or SMW", ""},
		{"CREATE PRIVATE TABLE t (a ‸IN (1)) FROM r", m, "expected a type, INTEGER, TEXT, BOOLEAN, DATE, TIMESTAMP, TIME, REAL or NUMERIC", ""},
		{"CREATE PRIVATE TABLE t (a INTEGER IN (1 ‸2)) FROM r", m, "expected , or )", ""},
		{"CREATE PRIVATE TABLE t (a INTEGER BETWEEN 1 ‸2) FROM r", m, "expected AND, found 2", ""},
		{"CREATE PRIVATE TABLE t (a TEXT) ‸WITH (epsilon = 1)", m, "expected FROM, found WITH", ""},
		{"CREATE PRIVATE TABLE t (a TEXT) FROM r WITH (‸)", m, "expected an option", ""},
		{"CREATE PRIVATE TABLE t (‸) FROM r", m, "expected a column", ""},
		{"CREATE PRIVATE TABLE t (a TEXT IN (SELECT x FROM ‸y", m, "expected )", ""},
	})
}

func TestUnsupported(t *testing.T) {
	u := sqlerr.Unsupported
	checkRefusals(t, []refusal{
		{"‸UPDATE people SET age = 1", u, "UPDATE", "another SQLite client"},
		{"‸insert INTO people VALUES (1)", u, "INSERT", ".import"},
		{"‸DELETE FROM people", u, "DELETE", ""},
		{"‸PRAGMA table_info(people)", u, "PRAGMA", "SHOW SETTINGS"},
		{"‸ATTACH 'x' AS y", u, "ATTACH", ""},
		{"‸VALUES (1)", u, "VALUES", ""},
		{"‸BEGIN", u, "BEGIN", "transaction"},
		{"CREATE ‸TABLE x (a)", u, "CREATE TABLE", ".import"},
		{"CREATE ‸TRIGGER x AS SELECT 1", u, "CREATE TRIGGER", ""},
		{"DROP ‸TABLE x", u, "DROP TABLE", "DROP PRIVATE TABLE"},
		{"SHOW ‸BUDGETS", u, "SHOW BUDGETS", "did you mean SHOW BUDGET?"},
		{"SHOW ‸DATABASES", u, "SHOW DATABASES", "SHOW lists TABLES"},
		{"EXPLAIN ‸QUERY PLAN SELECT COUNT(*) FROM people", u, "EXPLAIN QUERY PLAN", "EXPLAIN SELECT"},
		{"EXPLAIN ‸(FORMAT JSON) SELECT COUNT(*) FROM people", u, "EXPLAIN (…)", "EXPLAIN FULL"},
		{"EXPLAIN ‸DELETE FROM people", u, "EXPLAIN DELETE", ""},
		{"SELECT COUNT(*) FROM people; ‸SELECT 1", u, "more than one statement", "one by one"},
		{"SET accuracy = ‸?", u, "a parameter in this statement", "WHERE"},
		{"CREATE RELEASE r ON t USING SMW WITH (epsilon = ‸?)", u, "a parameter", ""},
		{"CREATE MECHANISM ‸m ON t USING PROJECTION", u, "a mechanism that uses PROJECTION", "CREATE RELEASE"},
		{"CREATE PRIVATE TABLE t (a ‸DOUBLE) FROM r", u, "the column type DOUBLE", "REAL BETWEEN lowest AND highest STEP step"},
		{"CREATE PRIVATE TABLE t (a ‸VARCHAR(10)) FROM r", u, "VARCHAR", "TEXT"},
		{"CREATE PRIVATE TABLE t (a ‸bigint) FROM r", u, "BIGINT", "INTEGER"},
		{"CREATE PRIVATE TABLE t (a TEXT ‸NOT NULL) FROM r", u, "a column constraint", "OR NULL behind the domain"},
		{"CREATE PRIVATE TABLE t (a TEXT IN (SELECT x FROM y ‸WHERE z)) FROM r", u, "in a domain", "view"},
		{"SELECT ‸* FROM people", u, "SELECT *", "SELECT COUNT(*)"},
		{"SELECT COUNT(*), people.‸* FROM people", u, "SELECT *", ""},
		{"SELECT ‸age FROM people WHERE sex = 1", u, "a bare column in the select list", "SELECT COUNT(*)"},
		{"SELECT ‸MODE(age) FROM people", u, "the aggregate MODE in the select list", ""},
		{"SELECT COUNT(DISTINCT ‸zip) FROM people", u, "COUNT(DISTINCT …) of column zip, which has no domain", "declare its values"},
		{"SELECT ‸COUNT(DISTINCT age, sex) FROM people", u, "COUNT(DISTINCT …)", "GROUP BY"},
		{"SELECT ‸SUM(DISTINCT age) FROM people", u, "SUM(DISTINCT …)", "SUM(x), which takes each row"},
		{"SELECT ‸1 FROM people", u, "a bare literal in the select list", ""},
		{"‸SELECT COUNT(*)", u, "SELECT without FROM", ""},
		{"SELECT COUNT(*) FROM people ORDER BY 1 ‸NULLS LAST", u, "NULLS LAST", ""},
		{"SELECT COUNT(*) FROM people a ‸FULL OUTER JOIN people b ON a.age = b.age", u, "a join", ""},
		{"SELECT COUNT(*) FROM people, ‸people b", u, "a join", ""},
		{"SELECT COUNT(*) FROM ‸other.people", u, "a table of another database", "SHOW TABLES"},
		{"SELECT COUNT(*) FROM people ‸UNION SELECT COUNT(*) FROM people", u, "UNION", "statement of its own"},
		{"SELECT COUNT(*) FROM people ‸EXCEPT SELECT COUNT(*) FROM people", u, "EXCEPT", ""},
		{"SELECT COUNT(*) FROM people ‸INTERSECT SELECT COUNT(*) FROM people", u, "INTERSECT", ""},
		{"SELECT COUNT(*) ‸OVER () FROM people", u, "a window function", ""},
		{"SELECT COUNT(*) FROM people GROUP BY ‸ROLLUP ()", sqlerr.Malformed, "ROLLUP takes expressions", ""},
		{"SELECT COUNT(*) FROM people GROUP BY GROUPING ‸SETS ()", sqlerr.Malformed, "SETS takes expressions", ""},
		{"SELECT COUNT(*) FROM people GROUP BY GROUPING SETS ((), (‸NULL))", u, "grouping by a constant", ""},
		{"SELECT COUNT(*) FROM people GROUP BY ROLLUP ((‸), sex)", sqlerr.Malformed, "unexpected )", ""},
		{"SELECT COUNT(*) FROM people GROUP BY ‸CUBE (sex, age, sex, age, sex, age, sex)", u, "64 grouping sets", ""},
		{"SELECT COUNT(*) FROM people GROUP BY sex, CUBE (sex, age, sex), ‸CUBE (sex, age, sex, age)", u, "64 grouping sets", ""},
		{"SELECT GROUPING(‸age) FROM people GROUP BY ROLLUP (sex)", sqlerr.Malformed, "expressions of GROUP BY", "not there"},
		{"SELECT ‸GROUPING() FROM people GROUP BY ROLLUP (sex)", sqlerr.Malformed, "expressions of GROUP BY", ""},
		{"SELECT ‸ROLLUP(sex) FROM people", u, "the function rollup()", ""},
		{"SELECT COUNT(*) FROM people WHERE ‸GROUPING(sex) = 1 GROUP BY ROLLUP (sex)", u, "the function grouping()", ""},
		{"SELECT COUNT(*) ‸FILTER (age = 1) FROM people", sqlerr.Malformed, "FILTER (WHERE …)", "WHERE"},
		{"SELECT COUNT(*) FROM people WHERE age IN (1, 2) ‸FILTER (WHERE age = 1)", sqlerr.Malformed, "FILTER (WHERE …)", "WHERE"},
		{"SELECT ‸ABS(COUNT(*)) FILTER (WHERE age = 1) FROM people", sqlerr.Malformed, "ABS is none", "COUNT(*)"},
		{"SELECT ‸ROUND(3) FILTER (WHERE age = 1) FROM people", sqlerr.Malformed, "ROUND is none", "COUNT(*)"},
		{"SELECT ‸MARGIN(COUNT(*)) FILTER (WHERE age = 1) FROM people", sqlerr.Malformed, "MARGIN is none", "COUNT(*)"},
		{"SELECT COUNT(*) FROM people WHERE ‸ABS(age) FILTER (WHERE age = 1) = 1", u, "the function abs()", ""},
		{"SELECT COUNT(*) FROM people WHERE ‸SUM(age) FILTER (WHERE age = 1) = 1", u, "the aggregate SUM", "not in WHERE"},
		{"SELECT SUM(‸ABS(age) FILTER (WHERE age = 1)) FROM people", u, "the function abs()", ""},
		{"SELECT COUNT(*) FILTER (WHERE ‸COUNT(*) > 1) FROM people", u, "the aggregate COUNT", "not in WHERE"},
		{"SELECT COUNT(*) FILTER (WHERE sex = 'F') ‸FILTER (WHERE age = 1) FROM people", sqlerr.Malformed, "FILTER (WHERE …)", ""},
		{"SELECT COUNT(*) FILTER (WHERE age = 1) ‸OVER () FROM people", u, "a window function", ""},
		{"SELECT ‸COUNT(DISTINCT age + 1) FILTER (WHERE age = 1) FROM people", u, "COUNT(DISTINCT …)", ""},
		{"SELECT COUNT(*), age FILTER ‸(WHERE age = 1) FROM people GROUP BY age", sqlerr.Malformed, "unexpected (", ""},
		{"SELECT COUNT(*) FROM people ‸INDEXED BY i", u, "INDEXED", ""},
		{"SELECT COUNT(*) FROM people WHERE age IN ((‸1, 2))", u, "a row value", ""},
		{"SELECT COUNT(*) FROM people WHERE age = (‸SELECT 40)", u, "a sub-select", ""},
		{"SELECT COUNT(*) FROM people WHERE age IN (‸SELECT age FROM people)", u, "a sub-select", ""},
		{"SELECT COUNT(*) FROM people WHERE ‸EXISTS (SELECT age FROM people)", u, "EXISTS", ""},
		{"SELECT COUNT(*) FROM people WHERE ‸random() > 0", u, "the function random()", "view"},
		{"SELECT COUNT(*) FROM people WHERE ‸COUNT(*) > 0", u, "the aggregate COUNT", ""},
		{"SELECT COUNT(*) FROM people WHERE ‸CAST(age AS BLOB) = '1'", u, "CAST", ""},
		{"SELECT COUNT(*) FROM people WHERE ‸CAST(sex AS INTEGER) = 1", u, "CAST", ""},
		{"SELECT COUNT(*) FROM people WHERE sex NOT ‸REGEXP 'F*'", u, "REGEXP", ""},
		{"SELECT COUNT(*) FROM people WHERE sex = ‸'F' COLLATE NOCASE", u, "COLLATE", ""},
		{"SELECT COUNT(*) FROM people WHERE ‸sex COLLATE NOCASE = 'f'", u, "COLLATE", ""},
		{"SELECT COUNT(*) FROM people WHERE sex ‸|| 'x' = 'Fx'", u, "the operator ||", "view"},
		{"SELECT COUNT(*) FROM people WHERE sex ‸->> 'x' = 'Fx'", u, "->>", ""},
		{"SELECT COUNT(*) FROM people WHERE 1 < age ‸< 5", u, "a comparison of a comparison", "BETWEEN"},
		{"SELECT COUNT(*) FROM people WHERE (1) < (age) ‸< 5", u, "a comparison of a comparison", ""},
		{"SELECT COUNT(*) FROM people WHERE age IN (1) ‸= 1", u, "a comparison of a comparison", ""},
		{"SELECT COUNT(*) FROM people WHERE sex = 'F' AND (age) IN (1) ‸IN (2)", u, "a comparison of a comparison", ""},
		{"SELECT COUNT(*) FROM people WHERE age = 1 ‸= 1", u, "a comparison of a comparison", ""},
		{"SELECT COUNT(*) FROM people WHERE age = ‸x'41'", u, "a blob", ""},
		{"SELECT COUNT(*) FROM people WHERE age = ‸0x41", u, "a hexadecimal number", "decimal"},
		{"SELECT COUNT(*) FROM people WHERE age = ‸1_000", u, "a digit separator", ""},
		{"SELECT COUNT(*) FROM people WHERE age < ‸1e1001", u, "exponent", ""},
		{"SELECT COUNT(*) FROM people WHERE ‸'yes'", u, "a text as a condition", ""},
		{"SELECT COUNT(*) FROM people WHERE zip < ‸'2'", u, "zip, which has no domain", "= or IN"},
		{"SELECT COUNT(*) FROM people WHERE zip BETWEEN ‸'1' AND '2'", u, "zip, which has no domain", ""},
	})
}

func TestUnknown(t *testing.T) {
	u := sqlerr.Unknown
	checkRefusals(t, []refusal{
		{"SELECT COUNT(*) FROM people WHERE ‸height = 1", u, "no column height in table people", "the columns are age, sex, married"},
		{"SELECT COUNT(*) FROM people WHERE ‸maried = 1", u, "no column maried", "did you mean married?"},
		{"SELECT COUNT(*) FROM people WHERE ‸xse = 'F'", u, "no column xse", ""},
		{"SELECT COUNT(*) FROM people WHERE ‸seX1 = 'F'", u, "no column seX1", "did you mean sex?"},
		{"SELECT COUNT(*) FROM people WHERE sex = ‸\"F\"", u, "no column F", "single quotes: 'F'"},
		{"SELECT COUNT(*) FROM people WHERE ‸\"zpi\" = 'x'", u, "no column zpi", "did you mean zip?"},
		{"SELECT COUNT(*) FROM people WHERE sex = ‸\"\"", u, "no column ", "''"},
		{"SELECT COUNT(*) FROM people WHERE sex IN ('F', ‸`M`)", u, "no column M", ""},
		{"SELECT COUNT(*) FROM people WHERE ‸rowid = 1", u, "no column rowid", ""},
		{"SELECT COUNT(‸agee) FROM people", u, "no column agee", "did you mean age?"},
		{"SELECT COUNT(*) FROM people p WHERE ‸people.age = 1", u, "no table or alias people", "qualified by p"},
		{"SELECT COUNT(*) FROM people WHERE ‸q.age = 1", u, "no table or alias q", "qualified by people"},
		{"SELECT COUNT(*) FROM people WHERE people.‸agee = 1", u, "no column agee", ""},
		{"SELECT COUNT(*) AS n, MARGIN(‸m) FROM people", u, "no aggregate of the select list is named m", "MARGIN(n)"},
		{"SELECT COUNT(*) FROM people WHERE ‸year = 1", u, "no column year", ""},
		{"SELECT COUNT(*) FROM people WHERE /* 日本 */ sex = '日本' AND ‸größe = 1", u, "no column größe", ""},
	})
}

func TestInvalid(t *testing.T) {
	i := sqlerr.Invalid
	checkRefusals(t, []refusal{
		{"SELECT COUNT(*) FROM people WHERE age = ‸'forty'", i, "column age is INTEGER and is compared with 'forty', which is not a number", "an integer"},
		{"SELECT COUNT(*) FROM people WHERE age = ‸'4 0'", i, "not a number", ""},
		{"SELECT COUNT(*) FROM people WHERE age = ‸''", i, "not a number", ""},
		{"SELECT COUNT(*) FROM people WHERE age = ‸'+-4'", i, "not a number", ""},
		{"SELECT COUNT(*) FROM people WHERE age = ‸'.'", i, "not a number", ""},
		{"SELECT COUNT(*) FROM people WHERE age = ‸'0x4'", i, "not a number", ""},
		{"SELECT COUNT(*) FROM people WHERE age < ‸'x'", i, "not a number", ""},
		{"SELECT COUNT(*) FROM people WHERE age IN (1, ‸'x')", i, "not a number", ""},
		{"SELECT COUNT(*) FROM people WHERE sex = ‸40.5", i, "column sex is TEXT and is compared with the number 40.5", "single quotes"},
		{"SELECT COUNT(*) FROM people WHERE zip IN ('1', -‸2.5)", i, "the number -2.5", ""},
		{"SELECT COUNT(*) FROM people WHERE zip = ‸99999999999999999999", i, "the number 99999999999999999999", ""},
		{"SELECT COUNT(*) FROM people WHERE age = ‸?0", i, "a parameter's number", ""},
		{"SELECT COUNT(*) FROM people WHERE age = ‸?999999999999999999999", i, "a parameter's number", ""},
		{"CREATE PRIVATE TABLE t (‸a INTEGER) FROM r", i, "has no domain", "BETWEEN"},
		{"CREATE PRIVATE TABLE t (a INTEGER IN ‸()) FROM r", i, "has no values", ""},
		{"CREATE PRIVATE TABLE t (a INTEGER IN (1, 2, ‸1)) FROM r", i, "1 is listed twice", ""},
		{"CREATE PRIVATE TABLE t (a INTEGER IN (1, NULL, ‸NULL)) FROM r", i, "NULL is listed twice", ""},
		{"CREATE PRIVATE TABLE t (a INTEGER IN (1, ‸'1')) FROM r", i, "'1' is not a value of column a, which is INTEGER", "without quotes"},
		{"CREATE PRIVATE TABLE t (a TEXT IN ('1', ‸-1)) FROM r", i, "-1 is not a value of column a, which is TEXT", "single quotes"},
		{"CREATE PRIVATE TABLE t (a INTEGER IN (‸1.5)) FROM r", i, "1.5 is not an integer", "view"},
		{"CREATE PRIVATE TABLE t (a INTEGER IN (‸-9223372036854775809)) FROM r", i, "64 bits", ""},
		{"CREATE PRIVATE TABLE t (a TEXT BETWEEN ‸'a' AND 'b') FROM r", i, "TEXT and cannot have a BETWEEN domain", "IN"},
		{"CREATE PRIVATE TABLE t (a INTEGER BETWEEN ‸NULL AND 5) FROM r", i, "not integers", "OR NULL"},
		{"CREATE PRIVATE TABLE t (a INTEGER BETWEEN 1 AND ‸'5') FROM r", i, "not integers", ""},
		{"CREATE PRIVATE TABLE t (a INTEGER BETWEEN ‸5 AND 1) FROM r", i, "the domain of column a: the range 5 … 1 is empty", "smaller bound first"},
		{"CREATE PRIVATE TABLE t (a INTEGER BETWEEN ‸-9223372036854775808 AND 9223372036854775807) FROM r", i, "more than 2^61", ""},
		{"CREATE PRIVATE TABLE t (a TEXT, b TEXT, ‸A TEXT) FROM r", i, "column A is declared twice", ""},
		{"CREATE PRIVATE TABLE t (a TEXT) FROM r WITH (epsilon = 1, ‸Epsilon = 2)", i, "option epsilon is given twice", ""},
		{"CREATE RELEASE r ON t (a, ‸A) USING SMW", i, "A is listed twice", ""},
		{"CREATE RELEASE r ON t USING ‸MAGIC", i, "no algorithm MAGIC", "PROJECTION, MARGINALS and SMW"},
		{"CREATE RELEASE ‸" + strings.Repeat("n", 300) + " ON t USING SMW", i, "at most 256 bytes", ""},
	})
}

func TestArguments(t *testing.T) {
	s, err := syntax.Parse("SELECT COUNT(*) FROM people WHERE age = ? AND married = ?")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 3} {
		_, err := sqlfront.Bind(s.(*syntax.Select), newPeople(t), make([]query.Value, n))
		if sqlerr.CodeOf(err) != sqlerr.Invalid || !strings.Contains(err.Error(), "placeholders is 2") {
			t.Errorf("%d arguments: %v", n, err)
		}
	}
	_, err = sqlfront.Bind(s.(*syntax.Select), newPeople(t), []query.Value{query.Text("secret"), query.Null()})
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "parameter 1") {
		t.Errorf("a bad argument: %v, want it named and not shown", err)
	}
}

// TestUnsupportedShapes holds the refusals of select lists, groups and FROM.
func TestUnsupportedShapes(t *testing.T) {
	u := sqlerr.Unsupported
	checkRefusals(t, []refusal{
		{"WIT‸H", sqlerr.Malformed, "expected a name", ""},
		{"WITH ‸RECURSIVE x AS (SELECT age FROM people) SELECT COUNT(*) FROM x", u, "WITH RECURSIVE", ""},
		{"WITH x AS (‸SELECT 1) SELECT COUNT(*) FROM x", u, "SELECT without FROM", ""},
		{"WITH x AS ‸MATERIALIZED (SELECT age FROM people) SELECT COUNT(*) FROM x", u, "MATERIALIZED", ""},
		{"WITH x AS (SELECT age FROM people) ‸DELETE FROM people", u, "DELETE", ""},
		{"SELECT COUNT(*) FROM (SELECT ‸DISTINCT age FROM people)", u, "DISTINCT in a sub-select", "outside it"},
		{"SELECT COUNT(*) FROM (SELECT age FROM people ‸GROUP BY age)", u, "GROUP BY in a sub-select", ""},
		{"SELECT COUNT(*) FROM (SELECT age FROM people ‸HAVING age > 1)", u, "HAVING in a sub-select", ""},
		{"SELECT COUNT(*) FROM (SELECT age FROM people ‸LIMIT 5) t", u, "LIMIT in a sub-select", ""},
		{"SELECT COUNT(*) FROM (SELECT ‸age + 1 AS a FROM people) t", u, "arithmetic in the select list of a sub-select", "compute outside"},
		{"SELECT COUNT(*) FROM (SELECT ‸COUNT(*) FROM people) t", u, "the aggregate COUNT in the select list of a sub-select", ""},
		{"SELECT COUNT(*) FROM (SELECT age FROM people ‸UNION SELECT age FROM people) t", u, "UNION", ""},
		{"SELECT COUNT(*) FROM people a JOIN ‸people b ON a.age = b.age", u, "a join", "view"},
		{"SELECT COUNT(*) FROM people a LEFT JOIN ‸people b ON a.age = b.age", u, "join", "public table"},
		{"SELECT COUNT(*) FROM people a ‸JOIN people b", u, "a join without a condition", "ON"},
		{"SELECT ‸MARGIN(married + 1) FROM people GROUP BY married", u, "MARGIN of an expression without an aggregate", ""},
		{"SELECT MARGIN(‸married) FROM people GROUP BY married", sqlerr.Unknown, "no aggregate of the select list is named married", ""},
		{"SELECT ‸MARGIN(1) FROM people", u, "MARGIN of an expression without an aggregate", ""},
		{"SELECT MARGIN(‸age + 1) FROM people", u, "a bare column", ""},
		{"SELECT ‸HIGH(1) FROM people", u, "HIGH of an expression without an aggregate", "write HIGH(COUNT(*)), or HIGH(n)"},
		{"SELECT ‸age, COUNT(*) FROM people", u, "a bare column", "GROUP BY age"},
		{"SELECT sex, ‸age, COUNT(*) FROM people GROUP BY sex", u, "column age, which is not grouped", "aggregate"},
		{"SELECT COUNT(*) FROM people HAVING ‸age > 5", u, "a bare column", ""},
		{"SELECT COUNT(*) FROM people ORDER BY ‸age", u, "a bare column", ""},
		{"SELECT ‸'x' FROM people ORDER BY 1", u, "a bare literal in the select list", ""},
		{"SELECT DISTINCT ‸age FROM people", u, "a bare column", ""},
		{"SELECT COUNT(*) FROM people WHERE ‸VARIANCE(age) > 1", u, "the aggregate VARIANCE", "not in WHERE"},
		{"SELECT ‸CORR(age) FROM people", sqlerr.Malformed, "CORR takes two arguments", "CORR(y, x)"},
		{"SELECT ‸REGR_COUNT(*, age) FROM people", sqlerr.Malformed, "REGR_COUNT takes two expressions", "REGR_COUNT(y, x)"},
		{"SELECT COVAR_POP(age, ‸sex) FROM people", u, "adding up column sex", "group by it"},
		{"SELECT ‸CORR(DISTINCT age, age) FROM people", u, "CORR(DISTINCT …)", ""},
		{"SELECT COUNT(*) FROM people WHERE ‸CORR(age, age) > 1", u, "the aggregate CORR", "not in WHERE"},
		{"SELECT COUNT(*) FROM people GROUP BY ‸REGR_R2(age, age)", sqlerr.Malformed, "REGR_R2 cannot stand in GROUP BY", ""},
		{"SELECT ‸COVAR_POP(age * 1000000, age * 10000000000) FROM people", u, "can exceed 64 bits", "narrow"},
		{"SELECT ‸MODE(age) FROM people", u, "the aggregate MODE in the select list", "GROUP BY x counts the rows of each value"},
		{"SELECT ‸string_agg(sex, ',') FROM people", u, "the aggregate STRING_AGG", "GROUP BY x lists the declared values"},
		{"SELECT ‸cuont(*) FROM people", u, "the function cuont() in the select list", "did you mean COUNT?"},
		{"SELECT ‸frobnicate(age) FROM people", u, "the function frobnicate() in the select list", "the aggregates are COUNT, SUM"},
		{"SELECT COUNT(*) FROM people WHERE ‸MEDIAN(age) > 1", u, "the aggregate MEDIAN", "not in WHERE"},
		{"SELECT COUNT(*) FROM people WHERE sex = 'F' ‸adn age > 3", sqlerr.Malformed, "unexpected adn", "did you mean AND?"},
		{"SELECT COUNT(*) FROM people WHERE sex = 'F' ‸nonsense age > 3", sqlerr.Malformed, "unexpected nonsense", ""},
		{"SELECT VARIANCE(‸sex) FROM people", u, "adding up column sex, which is TEXT,", ""},
		{"SELECT VARIANCE(‸age * 92233720368547758) FROM people", u, "can exceed 64 bits", "narrow"},
		{"SELECT STDDEV_POP(‸age * 1000000000) FROM people", u, "can exceed 64 bits", "narrow"},
		{"SELECT VAR_SAMP(age / 1.5 / ‸sex) FROM people", u, "inside an aggregate", ""},
		{"SELECT ‸VARIANCE(DISTINCT age) FROM people", u, "VARIANCE(DISTINCT …)", ""},
		{"SELECT ‸VARIANCE(*) FROM people", sqlerr.Malformed, "VARIANCE takes", ""},
		{"SELECT ‸SUM(DISTINCT age) FROM people", u, "SUM(DISTINCT …)", ""},
		{"SELECT SUM(‸sex) FROM people", u, "adding up column sex, which is TEXT,", ""},
		{"SELECT SUM(‸zip) FROM people", u, "adding up column zip", ""},
		{"SELECT AVG(‸1.5 / age) FROM people", u, "dividing by this inside an aggregate", "divide the aggregate"},
		{"SELECT AVG(‸age / 0.0) FROM people", u, "dividing by this inside an aggregate", "divide the aggregate"},
		{"SELECT SUM(‸age % 1.5) FROM people", u, "dividing by this inside an aggregate", "divide the aggregate"},
		{"SELECT SUM(age * ‸1e300) FROM people", u, "inside an aggregate", ""},
		{"SELECT AVG(age + ‸'1') FROM people", u, "a text inside an aggregate", ""},
		{"SELECT COUNT(*) FROM people GROUP BY ‸random(age) * 10", u, "the function random() in a key of GROUP BY", "view"},
		{"SELECT COUNT(*) FROM people GROUP BY 10 * ‸sex", u, "a text in a key of GROUP BY", "view"},
		{"SELECT COUNT(*) FROM people WHERE ‸strftime('%Y', age) = '2024'", u, "strftime() of what is no date", "DATE"},
		{"SELECT COUNT(*) FROM people WHERE ‸EXTRACT(YEAR FROM age) = 2024", u, "the date or the moment of what is no date", "DATE"},
		{"SELECT SUM(‸random()) FROM people", u, "the function random() inside an aggregate", ""},
		{"SELECT SUM(‸SUM(age)) FROM people", u, "the aggregate SUM inside an aggregate", ""},
		{"SELECT SUM(‸age * 9223372036854775807) FROM people", u, "can exceed 64 bits", ""},
		{"SELECT COUNT(*) FROM people GROUP BY ‸zip", u, "GROUP BY zip, which has no declared domain", "WHERE zip IN ('…', '…')"},
		{"SELECT ‸zip, COUNT(*) FROM people WHERE zip <> '1' GROUP BY 1", u, "GROUP BY zip, which has no declared domain", ""},
		{"SELECT COUNT(*) FROM people GROUP BY ‸random()", u, "the function random() in GROUP BY", ""},
		{"SELECT COUNT(*) FROM people GROUP BY ‸2.5", u, "grouping by a constant", ""},
		{"SELECT COUNT(*) FROM people GROUP BY sex HAVING ‸sex LIKE 'F'", u, "LIKE outside WHERE", "WHERE"},
		{"SELECT COUNT(*) FROM people GROUP BY sex HAVING ‸sex > 5", u, "a comparison of a number with a text", ""},
		{"SELECT COUNT(*) FROM people GROUP BY sex HAVING ‸sex", u, "a text as a condition", ""},
		{"SELECT ‸sex + 1, COUNT(*) FROM people GROUP BY sex", u, "a text as an operand", ""},
		{"SELECT ‸COUNT(*) | 1 FROM people", u, "the operator |", ""},
	})
}

func TestMalformedShapes(t *testing.T) {
	m := sqlerr.Malformed
	checkRefusals(t, []refusal{
		{"WITH x AS (SELECT age FROM people) ‸people", m, "expected SELECT", ""},
		{"WITH x AS (‸age) SELECT COUNT(*) FROM x", m, "expected SELECT, found age", ""},
		{"WITH x AS ‸SELECT", m, "expected (", ""},
		{"WITH x (‸a, b) AS (SELECT age FROM people) SELECT COUNT(*) FROM x", m, "", ""},
		{"SELECT COUNT(*) FROM (SELECT age FROM peopl‸e", m, "ends too early", "not closed"},
		{"SELECT COUNT(*) FROM (SELECT age FROM people WHERE ‸) t", m, "ends too early", ""},
		{"SELECT COUNT(*) FROM (SELECT age, sex AS age FROM people) t WHERE ‸age = 1", m, "the name age is ambiguous", ""},
		{"SELECT COUNT(*) FROM people GROUP BY ‸3", m, "GROUP BY 3: the select list has 1 columns", ""},
		{"SELECT COUNT(*) FROM people ORDER BY ‸0", m, "ORDER BY 0", ""},
		{"SELECT COUNT(*) FROM people GROUP BY ‸COUNT(*)", m, "COUNT cannot stand in GROUP BY", ""},
		{"SELECT sex, ‸COUNT(*) n FROM people GROUP BY 2", m, "COUNT cannot stand in GROUP BY", ""},
		{"SELECT ‸SUM() FROM people", m, "SUM takes one argument", ""},
		{"SELECT ‸SUM(*) FROM people", m, "SUM takes", ""},
		{"SELECT ‸ROUND(COUNT(*), 1, 2) FROM people", m, "ROUND does not take", ""},
		{"SELECT COUNT(*) FROM people LIMIT ‸'x'", sqlerr.Invalid, "take an integer", ""},
		{"SELECT COUNT(*) FROM people LIMIT 5 OFFSET ‸1.5", sqlerr.Invalid, "take an integer", ""},
		{"SELECT COUNT(*) FROM people GROUP BY sex HAVING ‸n > 1", sqlerr.Unknown, "no column n", ""},
		{"SELECT COUNT(*) FROM (SELECT age AS a FROM people) t WHERE ‸age = 1", sqlerr.Unknown, "no column age in table t", "a"},
		{"SELECT COUNT(*) FROM (SELECT ‸agee FROM people) t", sqlerr.Unknown, "no column agee", "did you mean age?"},
		{"SELECT COUNT(*) FROM (SELECT age FROM people) WHERE ‸sex = 'F'", sqlerr.Unknown, "no column sex in the sub-select", ""},
	})
}

// TestTooManyGroups bounds groups, and groups times numbers.
func TestTooManyGroups(t *testing.T) {
	d, err := query.NewRange(0, 399, false)
	if err != nil {
		t.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{{Name: "a", Domain: d}, {Name: "b", Domain: d}, {Name: "c", Domain: d}})
	if err != nil {
		t.Fatal(err)
	}
	table := declared{"t", u}
	refused := []string{
		"SELECT COUNT(*) FROM t GROUP BY a, b",
		"SELECT COUNT(*), SUM(c), SUM(c * c) FROM t WHERE b < 100 GROUP BY a, b",
	}
	if *long {
		refused = append(refused, "SELECT COUNT(*) FROM t GROUP BY a * 1000 + b")
	}
	for _, text := range refused {
		if _, err := compile(table, text); sqlerr.CodeOf(err) != sqlerr.Unsupported || !strings.Contains(err.Error(), "100000") {
			t.Errorf("%s: %v", text, err)
		}
	}
	b, err := compile(table, "SELECT COUNT(*) FROM t WHERE b < 250 GROUP BY a, b")
	if err != nil || len(b.Groups) != 100_000 {
		t.Errorf("%v, want 100000 groups", err)
	}
	if got := fmt.Sprint(b.Groups[100001-2]); got != "[399 249]" {
		t.Errorf("the last group is %s", got)
	}
}

func TestComputedRefusals(t *testing.T) {
	u, i, m := sqlerr.Unsupported, sqlerr.Invalid, sqlerr.Malformed
	cases := []refusal{
		{"age = 1 AND ‸sex + 1 = 2", u, "arithmetic with a text", "view"},
		{"age + ‸'x' = 3", u, "arithmetic with a text", ""},
		{"‸zip LIKE '152%'", u, "LIKE of column zip, which has no domain", "pin it with = or IN"},
		{"age > 3 AND ‸lower(zip) = 'x'", u, "the function lower() of column zip, which has no domain", "= or IN"},
		{"zip IN ('1', '2') OR ‸zip LIKE '2%'", u, "LIKE of column zip", ""},
		{"zip <> '1' AND ‸zip LIKE '2%'", u, "LIKE of column zip", ""},
		{"‸zip = age", u, "a comparison with a number of column zip", ""},
		{"‸zip < sex", u, "an ordered comparison of column zip", ""},
		{"‸zip = lower(sex)", u, "a comparison with a computed text of column zip", ""},
		{"age = (‸SELECT 40) + 1", u, "a sub-select", "literal"},
		{"age + ‸random() > 0", u, "the function random()", "view"},
		{"sex LIKE 'a' ESCAPE ‸'ab'", i, "not one character", "ESCAPE '\\'"},
		{"sex LIKE 'a' ESCAPE ‸sex", u, "an ESCAPE that is no literal", ""},
		{"age LIKE ‸1.5", u, "this pattern of LIKE", "single quotes"},
		{"‸age & 1 | 2 = 3", u, "a mixture of bit operators", "(a & b) | c"},
		{"‸age | married << 1 = 3", u, "a mixture of bit operators", ""},
		{"(age, sex) = (‸1, 2, 3)", i, "a row of 2 values is compared with a row of 3", ""},
		{"(age, sex) IN (‸1, 2)", i, "a row of 2 values is looked up among single values", "(a, b) IN ((1, 2), (3, 4))"},
		{"(‸age, sex) = 1", u, "a row value", "one by one"},
		{"age IN ((‸1, 2))", u, "a row value", ""},
		{"(‸age, sex) IS NULL", u, "a row value", ""},
		{"‸age + 1 = 'x'", i, "a number is compared with a text", "without quotes"},
		{"+age = ‸'x'", i, "column age is INTEGER and is compared with 'x'", "an integer"},
		{"‸'x' IN (age)", i, "column age is INTEGER and is compared with 'x'", "an integer"},
		{"‸sex AND age = 1", u, "a text as a condition", "compare it with a value"},
		{"CASE WHEN ‸sex THEN 1 END = 1", u, "a text as a condition", ""},
		{"iif(‸sex, 1, 2) = 1", u, "a text as a condition", "compare"},
		{"‸abs(age, 1) = 2", m, "wrong number of arguments to abs()", ""},
		{"‸coalesce(age) = 2", m, "wrong number of arguments to coalesce()", ""},
		{"‸min(age) = 1", u, "the aggregate MIN", ""},
		{"‸main.abs(age) = 1", u, "a qualified function", ""},
		{"‸random(age) = 1", u, "the function random()", ""},
		{"‸age / 2.0 LIKE '1%'", u, "a REAL as a text", "view"},
		{"‸abs(-9223372036854775808) = 1", u, "abs() of the smallest integer", ""},
		{"‸substr(sex, 'x') = 'F'", u, "a text as a number", ""},
		{"age ‸REGEXP 'x'", u, "REGEXP", "IN"},
		{"age IS 5 ‸IS 6", u, "a comparison of a comparison", "parentheses"},
		{"age BETWEEN 1 AND 2 ‸IS 1", u, "a comparison of a comparison", "parentheses"},
		{"age NOT NULL ‸= 1", u, "a comparison of a comparison", ""},
		{"age IN (‸VALUES (sex))", u, "VALUES with names", "without VALUES"},
		{"1 + ‸agee = 2", sqlerr.Unknown, "no column agee", "did you mean age?"},
		{"age <=‸> 1", m, "unexpected >", ""},
		{"age ‸DIV 2 = 1", m, "unexpected DIV", ""}, // MySQL's operators are none
		{"‸!age", m, "unexpected character !", ""},
		{"age ‸^ 2 = 1", m, "unexpected character ^", ""},
	}
	for k := range cases {
		cases[k].text = "SELECT COUNT(*) FROM people WHERE " + cases[k].text
	}
	checkRefusals(t, cases)
}

// TestTooComplex checks that what would take too long is refused.
func TestTooComplex(t *testing.T) {
	table := wide(t)
	cases := []struct{ where, message string }{
		{"c0" + strings.Repeat(" + 1", 60_000) + " > 5", "more than 5000 parts"},
		{"c0 IN (" + strings.Repeat("c1, ", 10_000) + "1)", "more than 5000 parts"},
	}
	if *long {
		cases = append(cases, []struct{ where, message string }{
			{"c0*c1*c2*c3*c4*c5*c6*c7*c8*c9 > 5", "compiling it takes more than"},
			{strings.Repeat("(", 140) + "c0" + strings.Repeat(" * c1)", 140) + " > 5 AND c2 < c3 * c4 * c5 * c6", "compiling it takes more than"},
			{"(c0 <> c1 OR c2 = c3) AND (c1 <> c4 OR c5 = c0) AND (c2 + c5) % 31 < 7 AND (c4 <> c6 OR c3 <> c1)", "compiling it takes more than"},
		}...)
	}
	for _, c := range cases {
		_, err := compile(table, "SELECT COUNT(*) FROM wide WHERE "+c.where)
		if sqlerr.CodeOf(err) != sqlerr.Unsupported || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%.60s: %v", c.where, err)
		}
	}
}

// TestNestedPins pins a column anew in each of many conditions inside each
// other, under which they have to be compiled again.
func TestNestedPins(t *testing.T) {
	where, list := "lower(zip) = 'a'", "'a'"
	for range 70 {
		list += ", 'a" + strings.Repeat("b", strings.Count(list, ",")) + "'"
		where = "(zip IN (" + list + ") AND (" + where + ") IS NULL)"
	}
	_, err := bind(t, prefix+where)
	if err != nil && sqlerr.CodeOf(err) != sqlerr.Unsupported {
		t.Error(err)
	}
	where = "married = 1"
	for i := range 70 {
		where = "(" + []string{"zip = 'a'", "sex = 'F'"}[i%2] + " AND (" + where + ") IS NOT NULL)"
	}
	if got, want := counted(mustBind(t, prefix+where)).String(), "sex{'F': zip{NULL: 0; else: 1}}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestComputedWarnings(t *testing.T) {
	const nothing = " matches nothing in the declared domains"
	for where, want := range map[string]string{
		"age * 2 = 51":                   "a condition on age" + nothing,
		"age + married > 1000":           "a condition on age, married" + nothing,
		"sex LIKE 'x%'":                  "a condition on sex" + nothing,
		"age * 2 = 50":                   "",
		"NOT age * 2 <> 51":              "",
		"1 = 2":                          "",
		"MAX(age, NULL) IS NULL":         "",
		"NOT MAX(age, NULL) IS NOT NULL": "",
		"NOT married + 1 IS NULL":        "",
		"MAX(age, NULL) IS NOT NULL":     "a condition on age" + nothing,
		"NOT MAX(age, NULL) IS NULL":     "a condition on age" + nothing,
		"married + 1 IS NULL":            "a condition on married" + nothing,
		"(age, sex) = (1000, '')":        "age = 1000 is outside the declared domain BETWEEN 0 AND 120 OR NULL: it matches nothing",
	} {
		b := mustBind(t, prefix+where)
		if got := strings.Join(b.Warnings[:min(len(b.Warnings), 1)], ""); got != want {
			t.Errorf("%s warns %q, want %q", where, got, want)
		}
	}
}
