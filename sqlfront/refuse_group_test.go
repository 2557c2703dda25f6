package sqlfront_test

import (
	"fmt"
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/sqlerr"
)

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
		{"SELECT COUNT(*) FROM people a LEFT ‸JOIN people b ON a.age = b.age", u, "join", "public table"},
		{"SELECT COUNT(*) FROM people a ‸JOIN people b", u, "a join without a condition", "ON"},
		{"SELECT ‸MARGIN(married + 1) FROM people GROUP BY married", u, "MARGIN of an expression without an aggregate", ""},
		{"SELECT MARGIN(‸married) FROM people GROUP BY married", sqlerr.Unknown, "no aggregate of the select list is named married", ""},
		{"SELECT ‸MARGIN(1) FROM people", u, "MARGIN of an expression without an aggregate", ""},
		{"SELECT MARGIN(‸age + 1) FROM people", u, "a bare column", ""},
		{"SELECT ‸age, COUNT(*) FROM people", u, "a bare column", "GROUP BY age"},
		{"SELECT sex, ‸age, COUNT(*) FROM people GROUP BY sex", u, "column age, which is not grouped", "aggregate"},
		{"SELECT COUNT(*) FROM people HAVING ‸age > 5", u, "a bare column", ""},
		{"SELECT COUNT(*) FROM people ORDER BY ‸age", u, "a bare column", ""},
		{"SELECT ‸'x' FROM people ORDER BY 1", u, "a bare literal in the select list", ""},
		{"SELECT DISTINCT ‸age FROM people", u, "a bare column", ""},
		{"SELECT COUNT(*) FROM people WHERE ‸VARIANCE(age) > 1", u, "the aggregate VARIANCE", "not in WHERE"},
		{"SELECT ‸VAR(age) FROM people", u, "the aggregate VAR", "VARIANCE"},
		{"SELECT ‸MEDIAN(age) FROM people", u, "the aggregate MEDIAN in the select list", "GROUP BY x counts the rows of each value"},
		{"SELECT ‸max(age) FROM people", u, "the aggregate MAX in the select list", "GROUP BY x counts the rows of each value"},
		{"SELECT ‸CORR(age, income) FROM people", u, "the aggregate CORR in the select list", "SUM(x * y)"},
		{"SELECT ‸string_agg(sex, ',') FROM people", u, "the aggregate STRING_AGG", "GROUP BY x lists the declared values"},
		{"SELECT ‸cuont(*) FROM people", u, "the function cuont() in the select list", "did you mean COUNT?"},
		{"SELECT ‸frobnicate(age) FROM people", u, "the function frobnicate() in the select list", "the aggregates are COUNT, SUM"},
		{"SELECT COUNT(*) FROM people WHERE ‸MEDIAN(age) > 1", u, "the aggregate MEDIAN", "not in WHERE"},
		{"SELECT COUNT(*) ‸FILTER (WHERE age > 7) FROM people", u, "FILTER", "SUM(x > 7)"},
		{"SELECT COUNT(*) FROM people WHERE sex = 'F' ‸adn age > 3", sqlerr.Malformed, "unexpected adn", "did you mean AND?"},
		{"SELECT COUNT(*) FROM people WHERE sex = 'F' ‸nonsense age > 3", sqlerr.Malformed, "unexpected nonsense", ""},
		{"SELECT ‸stdev(age) FROM people", u, "the aggregate STDEV", "STDDEV"},
		{"SELECT VARIANCE(‸sex) FROM people", u, "adding up column sex, which is TEXT,", ""},
		{"SELECT VARIANCE(‸age * 92233720368547758) FROM people", u, "can exceed 64 bits", "narrow"},
		{"SELECT STDDEV_POP(‸age * 1000000000) FROM people", u, "can exceed 64 bits", "narrow"},
		{"SELECT VAR_SAMP(age * ‸1.5) FROM people", u, "a number with a fraction inside an aggregate", ""},
		{"SELECT ‸VARIANCE(DISTINCT age) FROM people", u, "VARIANCE(DISTINCT …)", ""},
		{"SELECT ‸VARIANCE(*) FROM people", sqlerr.Malformed, "VARIANCE takes", ""},
		{"SELECT ‸SUM(DISTINCT age) FROM people", u, "SUM(DISTINCT …)", ""},
		{"SELECT ‸MIN(age) FROM people", u, "the aggregate MIN in the select list", ""},
		{"SELECT SUM(‸sex) FROM people", u, "adding up column sex, which is TEXT,", ""},
		{"SELECT SUM(‸zip) FROM people", u, "adding up column zip", ""},
		{"SELECT AVG(age * ‸1.5) FROM people", u, "a number with a fraction inside an aggregate", "fraction"},
		{"SELECT AVG(age + ‸'1') FROM people", u, "a text inside an aggregate", ""},
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
	for _, text := range []string{
		"SELECT COUNT(*) FROM t GROUP BY a, b",
		"SELECT COUNT(*), SUM(c), SUM(c * c) FROM t WHERE b < 100 GROUP BY a, b",
		"SELECT COUNT(*) FROM t GROUP BY a * 1000 + b",
	} {
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
