package sqlfront_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"dpsql/calendar"
	"dpsql/query"
	"dpsql/sqlerr"
)

const visitsOfDays = `CREATE PRIVATE TABLE v (d DATE BETWEEN '2020-01-01' AND '2029-12-31' OR NULL, e DATE BETWEEN '2024-02-01' AND '2024-03-31' STORED AS unix,
	n INTEGER BETWEEN 0 AND 9, s TEXT IN ('2024-01-01', 'x'), z TEXT) FROM raw`

// days returns the canonical text of the days of column d in closed ranges.
func days(column string, ranges ...string) string {
	var parts []string
	for i := 0; i < len(ranges); i += 2 {
		lo, _ := calendar.Parse(ranges[i])
		hi, _ := calendar.Parse(ranges[i+1])
		part := fmt.Sprint(lo)
		if lo < hi {
			part = fmt.Sprintf("%d..%d", lo, hi)
		}
		parts = append(parts, part)
	}
	return column + "{" + strings.Join(parts, ", ") + ": 1}"
}

// TestDates holds the meaning of conditions on DATEs, as ranges of days.
func TestDates(t *testing.T) {
	t.Parallel()
	v := declare(t, visitsOfDays)
	for _, c := range []struct {
		want   string
		wheres []string
	}{
		{days("d", "2024-01-01", "2029-12-31"), []string{"d >= '2024-01-01'", "'2024-01-01' <= d", "d > '2023-12-31'", "NOT d < '2024-01-01'",
			"d BETWEEN '2024-01-01' AND '9999-12-31'", "substr(d, 1, 4) >= '2024'", "d IS NOT NULL AND d NOT BETWEEN '0001-01-01' AND '2023-12-31'",
			"CASE WHEN d >= '2024-01-01' THEN 1 END = 1"}},
		{days("d", "2024-02-29", "2024-02-29"), []string{"d = '2024-02-29'", "d IN ('2024-02-29')", "d > '2024-02-28' AND d < '2024-03-01'", "d LIKE '2024-02-29'",
			"coalesce(d, '') = '2024-02-29'", "d IS '2024-02-29'", "d IN ('2024-02-29', '2031-01-01')", "d = CAST('2024-02-29' AS TEXT)"}},
		{days("d", "2020-01-01", "2024-02-28", "2024-03-01", "2029-12-31"), []string{"d <> '2024-02-29'", "d NOT IN ('2024-02-29')"}},
		{days("d", "2020-01-01", "2020-01-31", "2022-01-01", "2022-01-31"), []string{"d LIKE '202_-01-%' AND substr(d, 4, 1) IN ('0', '2')"}},
		{days("e", "2024-02-29", "2024-03-31"), []string{"e > '2024-02-28'"}},
		{"0", []string{"d = '2031-01-01'", "d > '2029-12-31'", "d = NULL", "d <> NULL", "e IS NULL"}},
		{"d{NULL: 1}", []string{"d IS NULL"}},
		{days("d", "2024-01-01", "2024-01-01"), []string{"d = '2024-01-01' AND s IN ('2024-01-01', 'x')"}},
	} {
		for _, where := range c.wheres {
			b, err := compile(v, "SELECT COUNT(*) FROM v WHERE "+where)
			if err != nil {
				t.Errorf("%s: %v", where, err)
			} else if got := counted(b).String(); got != c.want {
				t.Errorf("%s: got %s, want %s", where, got, c.want)
			}
		}
	}
	for _, same := range [][2]string{{"d = e", "e = d"}, {"d < e", "e > d"}, {"d = s", "d = '2024-01-01' AND s = '2024-01-01'"}, {"d IS NOT e", "NOT d IS e"}} {
		a, err := compile(v, "SELECT COUNT(*) FROM v WHERE "+same[0])
		if err != nil {
			t.Fatal(err)
		}
		b, err := compile(v, "SELECT COUNT(*) FROM v WHERE "+same[1])
		if err != nil || !counted(a).Equal(counted(b)) {
			t.Errorf("%q differ: %v", same, err)
		}
	}
}

// TestDatesAreRefused holds what is not a date, wherever it is compared with one.
func TestDatesAreRefused(t *testing.T) {
	t.Parallel()
	v := declare(t, visitsOfDays)
	for _, c := range []struct{ where, message, hint string }{
		{"d = '2024-02-30'", "d is DATE and is compared with '2024-02-30', which is not a date", "write it as '2024-12-31'"},
		{"d > 'now'", "which is not a date", "write it as"},
		{"d > '2024'", "which is not a date", "four digits"},
		{"d <= '2024-01-01 00:00'", "which is not a date", "four digits"},
		{"d BETWEEN '2024-1-1' AND '2024-12-31'", "'2024-1-1', which is not a date", "four digits"},
		{"d IN ('2024-01-01', 'soon')", "'soon', which is not a date", "four digits"},
		{"d = 20240101", "compared with the number 20240101", "single quotes"},
		{"d > 2024.5", "compared with the number 2024.5", "single quotes"},
		{"CASE WHEN d > '2024-02-30' THEN 1 END = 1", "which is not a date", "four digits"},
		{"CASE WHEN d > 5 THEN 1 END = 1", "a DATE is compared with a number", "single quotes"},
		{"d = lower('X')", "which is not a date", "four digits"},
		{"d = n", "a DATE is compared with a number", "single quotes"},
		{"d = z", "a comparison", ""},
		{"d", "a text as a condition", ""},
		{"d = ?", "compared with parameter 1, which is not a date", "four digits"},
	} {
		_, err := bindWith(v, "SELECT COUNT(*) FROM v WHERE "+c.where, query.Text("2024-02-30"))
		var e *sqlerr.Error
		if !errors.As(err, &e) || !strings.Contains(e.Message, c.message) || !strings.Contains(e.Hint, c.hint) || e.Position == 0 {
			t.Errorf("%s: %v", c.where, err)
		}
	}
	for _, text := range []string{"SELECT SUM(d) FROM v", "SELECT AVG(d) FROM v", "SELECT SUM(d * 2) FROM v"} {
		if _, err := compile(v, text); sqlerr.CodeOf(err) != sqlerr.Unsupported {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestDatesAsKeys holds that groups are named as people write dates.
func TestDatesAsKeys(t *testing.T) {
	t.Parallel()
	v := declare(t, visitsOfDays)
	for text, want := range map[string]string{
		"SELECT d, COUNT(*) FROM v WHERE d BETWEEN '2024-02-28' AND '2024-03-01' GROUP BY d":                              "['2024-02-28'] ['2024-02-29'] ['2024-03-01']",
		"SELECT COUNT(*) FROM v WHERE d < '2020-01-03' OR d IS NULL GROUP BY d":                                           "[NULL] ['2020-01-01'] ['2020-01-02']",
		"SELECT substr(d, 1, 7) AS month, COUNT(*) FROM v WHERE d >= '2029-11-01' GROUP BY month":                         "['2029-11'] ['2029-12']",
		"SELECT CASE WHEN d >= '2024-01-01' THEN 'late' ELSE 'early' END, COUNT(*) FROM v WHERE d IS NOT NULL GROUP BY 1": "['early'] ['late']",
	} {
		b, err := compile(v, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, g := range b.Groups {
			got = append(got, fmt.Sprint(g))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: groups %v", text, got)
		}
	}
}
