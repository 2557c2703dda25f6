package sqlfront_test

import (
	"strings"
	"testing"

	"dpsql/sqlerr"
)

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
		{"‸age + 1 = '41'", i, "a number is compared with a text", "without quotes"},
		{"+‸age = '5'", i, "a number is compared with a text", ""},   // the sign takes SQLite's affinity off
		{"'5' IN (‸age)", i, "a number is compared with a text", ""}, // as SQLite takes it off in a list
		{"‸sex AND age = 1", u, "a text as a condition", "compare it with a value"},
		{"CASE WHEN ‸sex THEN 1 END = 1", u, "a text as a condition", ""},
		{"iif(‸sex, 1, 2) = 1", u, "a text as a condition", "compare"},
		{"‸abs(age, 1) = 2", m, "wrong number of arguments to abs()", ""},
		{"‸coalesce(age) = 2", m, "wrong number of arguments to coalesce()", ""},
		{"‸min(age) = 1", u, "the aggregate MIN", ""},
		{"‸main.abs(age) = 1", u, "a qualified function", ""},
		{"‸round(age) = 1", u, "the function round()", ""},
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
		{"c0*c1*c2*c3*c4*c5*c6*c7*c8*c9 > 5", "compiling it takes more than"},
		{"c0" + strings.Repeat(" + 1", 60_000) + " > 5", "more than 5000 parts"},
		{"c0 IN (" + strings.Repeat("c1, ", 10_000) + "1)", "more than 5000 parts"},
	}
	if *long {
		cases = append(cases, []struct{ where, message string }{
			{strings.Repeat("(", 140) + "c0" + strings.Repeat(" * c1)", 140) + " > 5 AND c2 < c3 * c4 * c5 * c6", "compiling it takes more than"},
			{"(c0 <> c1 OR c2 = c3) AND (c1 <> c4 OR c5 = c0) AND (c2 + c5) % 31 < 7 AND (c4 <> c6 OR c3 <> c1)", "branches"},
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
		"age * 2 = 51":            "a condition on age" + nothing,
		"age + married > 1000":    "a condition on age, married" + nothing,
		"sex LIKE 'x%'":           "a condition on sex" + nothing,
		"age * 2 = 50":            "",
		"NOT age * 2 <> 51":       "",
		"1 = 2":                   "",
		"(age, sex) = (1000, '')": "age = 1000 is outside the declared domain BETWEEN 0 AND 120 OR NULL: it matches nothing",
	} {
		b := mustBind(t, prefix+where)
		if got := strings.Join(b.Warnings[:min(len(b.Warnings), 1)], ""); got != want {
			t.Errorf("%s warns %q, want %q", where, got, want)
		}
	}
}
