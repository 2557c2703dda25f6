package sqlfront_test

import (
	"fmt"
	"testing"

	"dpsql/query"
)

// TestComputedWhere is TestWhere for conditions that compute: those of one case
// are one diagram, so that one answer serves them all.
func TestComputedWhere(t *testing.T) {
	cases := []struct {
		want   string
		wheres []string
	}{
		{"married{0: order{1: 1}; 1: order{0: 1}}", []string{
			`(married + "order") % 2 = 1`, `married <> "order"`, `(married = 1 AND "order" = 0) OR (married = 0 AND "order" = 1)`,
			`("order" + 3 * married) % 2 = 1`, `married + "order" = 1`, `married - "order" <> 0`, `NOT married = "order"`, `married IS NOT "order"`,
			`(married, "order") IN ((0, 1), (1, 0))`, `(married, "order") IN (VALUES (0, 1), (1, 0))`, `(married, "order") = (1 - "order", 1 - married)`,
			`CASE married WHEN 0 THEN "order" ELSE 1 - "order" END`, `married NOT IN ("order")`, `max(married, "order") > min(married, "order")`,
			`abs(married - "order") = 1`, `married = ~"order" + 2`, `(married, "order") IS NOT ("order", married)`, `NOT (married & 1 = "order")`,
		}},
		{"age{26..120: 1}", []string{
			"age * 2 > 50", "age > 25", "50 < age * 2", "age / 2 >= 13", "age * 1.0 > 25", "-age < -25", "age - 25 > 0", "age + age > 50", "age > 100 / 4",
			"age / 2.0 > 12.5", "age BETWEEN 13 * 2 AND 240 / 2", "(age > 25) = 1", "(age > 25) IS TRUE", "coalesce(age, 0) > 25", "ifnull(age, -1) > 25",
			"iif(age > 25, 'x', 'y') = 'x'", "CASE WHEN age > 25 THEN 1 ELSE 0 END = 1", "age > 25 OR age % 0 = 1", "1 IN (age > 25)", "(age, 0) > (25, 0)",
			"(age, married) > (25, 1)", "(age, 1) >= (26, 1)", "nullif(age, 7) > 25",
		}},
		{"age{NULL: 1}", []string{"age + 1 IS NULL", "-age IS NULL", "age IS NULL", "age IS NOT DISTINCT FROM NULL", "abs(age) ISNULL", "(age > 3) IS NULL", "age IS NULL + 1", "coalesce(age, -1) = -1"}},
		{"age{0..120: 1}", []string{"age = age", "age - age = 0", "age * 0 = 0", "age <= age", "age IN (age)", "age IS DISTINCT FROM NULL", "age | 0 = age", "NULL IS NOT age", "age IS NOT NULL"}},
		{"age{1..120: 1}", []string{"age IS TRUE", "age IS (TRUE)", "age", "age <> FALSE", "age IS NOT DISTINCT FROM TRUE", "NOT age IS NOT TRUE"}},
		{"age{1: 1}", []string{"age = TRUE", "(age, 1) IS (TRUE, 1)", "age IN (TRUE)", "age IS +TRUE"}},
		{"age{NULL, 0..4, 6..120: 1}", []string{"age IS NOT 5", "age IS DISTINCT FROM 5", "NOT age IS 5", "NOT (age IS NOT DISTINCT FROM 5)"}},
		{"age{5: 1}", []string{"age IS 5", "age IS NOT DISTINCT FROM 5", "5 IS age", "age LIKE 5", "age LIKE '5'", "age GLOB '5'", "length(age) = 1 AND age % 10 = 5"}},
		{"age{10..19: 1}", []string{"age / 10 = 1", "age LIKE '1_'", "age GLOB '1?'", "age LIKE '1%' AND age BETWEEN 2 AND 99", "substr(age, 1, 1) = '1' AND length(age) = 2"}},
		{"sex{'F': 1}", []string{
			"sex LIKE 'F'", "sex LIKE 'f%'", "sex LIKE '_' AND sex NOT LIKE 'm'", "sex GLOB '[A-G]'", "lower(sex) = 'f'", "sex LIKE '\\F' ESCAPE '\\'", "sex IN ('F', 'x')",
			"sex NOT GLOB 'M*'", "substr(sex, 1, 1) = 'F'", "sex = upper('f')", "min(sex, 'G') = 'F'", "(sex, 1) = ('F', 1)", "'F' IN (sex)",
		}},
		{"0", []string{"sex LIKE 'x%'", "sex LIKE NULL", "sex NOT LIKE NULL", "age % 0 = 0", "age / 0 IS NOT NULL", "age + NULL = 1", "sex GLOB 'f'", "sex < sex", "age * 2 = 51", "(1, NULL) = (1, 2)",
			"(zip = '1' AND (coalesce(zip, '') = 'x') IS NULL) IS NULL"}},
		{"1", []string{"1 + 1 = 2", "7 / 2 = 3", "-7 / 2 = -3", "-7 % 3 = -1", "5.5 % 2 = 1", "9223372036854775807 + 1 > 9223372036854775807", "1 + 2 * 3 = 7", "(1 + 2) * 3 = 9",
			"-9223372036854775808 / -1 = 9223372036854775808", "1 << 3 = 8", "'a' LIKE 'A'", "'é' NOT LIKE 'É'", "'a' GLOB '[^b]'", "1 / 0 IS NULL", "(1, 2) < (1, 3)", "1 - -1 = 2", "8 - 4 - 2 = 2"}},
		{"zip{'15213', '15217': 1}", []string{
			"zip IN ('15213', '15217')", "zip IN ('15213', '15217', '00000') AND zip LIKE '152%'", "zip LIKE '152%' AND zip IN ('15217', '15213', '00000')",
			"(zip = '15213' OR zip = '15217') AND length(zip) = 5", "zip IN ('15213', '15217') AND zip > '1'", "NOT (zip NOT IN ('15213', '15217') OR zip NOT LIKE '1%')",
			"CASE zip WHEN '15213' THEN 1 WHEN '15217' THEN 1 ELSE 0 END", "coalesce(zip, '') IN ('15213', '15217')", "(zip, 1) IN (('15213', 1), ('15217', 1))",
		}},
		{"sex{'F': zip{'F': 1}; 'M': zip{'M': 1}}", []string{"sex = zip", "zip = sex", "zip IN (sex)", "CASE WHEN zip = sex THEN 1 END", "zip IN ('F', 'M', 'X') AND upper(zip) = sex"}},
		{"zip{NULL: 0; else: 1}", []string{"zip = zip", "zip IS NOT NULL", "zip IN (zip)", "nullif(zip, 'x') = zip OR zip = 'x'"}},
	}
	for _, c := range cases {
		for _, w := range c.wheres {
			b, err := bind(t, "SELECT COUNT(*) FROM people p WHERE "+w)
			if err != nil {
				t.Errorf("%s: %v", w, err)
			} else if got := counted(b).String(); got != c.want {
				t.Errorf("%s is %s, want %s", w, got, c.want)
			}
		}
	}
}

// wide is a table of columns c0 … c11 with 1000 values each, and two of 2^60.
func wide(t testing.TB) declared {
	columns := make([]query.Column, 14)
	for i := range columns {
		lo, hi := int64(0), int64(999)
		if i >= 12 {
			lo, hi = -1<<59, 1<<59
		}
		d, err := query.NewRange(lo, hi, true)
		if err != nil {
			t.Fatal(err)
		}
		columns[i] = query.Column{Name: fmt.Sprintf("c%d", i), Domain: d}
	}
	u, err := query.NewUniverse(columns)
	if err != nil {
		t.Fatal(err)
	}
	return declared{"wide", u}
}

// TestWideDomains holds conditions on domains that nobody could enumerate to
// the number of records in their support.
func TestWideDomains(t *testing.T) {
	table := wide(t)
	thousand := uint64(1000)
	cases := []struct {
		where string
		size  uint64 // over the columns it depends on
	}{
		{"c12 * 2 > 100", 1<<59 - 50},
		{"c12 / 1000000 = 7", 1_000_000},
		{"abs(c12) < 10", 19},
		{"c12 * 0.5 BETWEEN 10 AND 20", 21},
		{"c12 + 1 IN (5, 6, NULL)", 2},
		{"c0 < c1", thousand * 999 / 2},
		{"c0 = c1", thousand},
		{"c12 = c0", thousand},
		{"c0 * 1000 = c12", thousand},
		{"c12 - c0 BETWEEN 1 AND 3", 3 * thousand},
		{"(c3 + c2 + c1 + c0) % 2 = 1", thousand * thousand * thousand * thousand / 2},
		{"(c0 + c1 + c2 + c3) % 100 = 0", thousand * thousand * thousand * 10},
	}
	for _, c := range cases {
		b, err := compile(table, "SELECT COUNT(*) FROM wide WHERE "+c.where)
		if err != nil {
			t.Errorf("%s: %v", c.where, err)
			continue
		}
		q, ok := counted(b).Project(counted(b).Columns())
		if got, within := q.SizeWithin(1 << 62); !ok || !within || got != c.size {
			t.Errorf("%s has support %d, want %d", c.where, got, c.size)
		}
	}
}
