package sqlfront_test

import (
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"dpsql/internal/calendar"
	"dpsql/internal/seeds"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
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
	checkMeanings(t, v, []meaning{
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
		{days("d", "2024-01-01", "2024-01-01"), []string{"d = '2024-01-01' AND s IN ('2024-01-01', 'x')", "coalesce(d, '2024-01-01T00:00', s) = '2024-01-01'"}},
		{"n{1: 1}", []string{"CASE WHEN n = 1 THEN '2024-01-01 00:00:00' WHEN n = 2 THEN d ELSE s END = '2024-01-01 00:00:00'", // not all are dates
			"CASE WHEN n NOT IN (1, 2) THEN s WHEN n = 1 THEN '2024-01-01 00:00:00' ELSE d END = '2024-01-01 00:00:00'"}},
		{"1", []string{"min('x', '2024-01-01 00:00', e) > '2024-01-01' AND min('2024-01-01 00:00', e, 'x') > '2024-01-01'"}},
	})
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
	checkMeaningless(t, v, []meaningless{
		{"d = '2024-02-30'", "d is DATE and is compared with '2024-02-30', which is not a date", "write it as '2024-12-31'"},
		{"d > 'now'", "which is not a date", "write it as"},
		{"d > '2024'", "which is not a date", "four digits"},
		{"d <= '2024-01-01 24:00'", "which is not a date", "four digits"},
		{"d BETWEEN '2024-1-1' AND '2024-12-31'", "'2024-1-1', which is not a date", "four digits"},
		{"d IN ('2024-01-01', 'soon')", "'soon', which is not a date", "four digits"},
		{"d = 20240101", "compared with the number 20240101", "single quotes"},
		{"d > 2024.5", "compared with the number 2024.5", "single quotes"},
		{"CASE WHEN d > '2024-02-30' THEN 1 END = 1", "which is not a date", "four digits"},
		{"CASE WHEN d > 5 THEN 1 END = 1", "compared with the number 5", "single quotes"},
		{"d = lower('X')", "which is not a date", "four digits"},
		{"d = n", "a date is compared with a number", "single quotes"},
		{"d = z", "a comparison", ""},
		{"d", "a text as a condition", ""},
		{"d = ?", "compared with parameter 1, which is not a date", "four digits"},
	}, query.Text("2024-02-30"))
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
	checkGroups(t, v, map[string]string{
		"SELECT d, COUNT(*) FROM v WHERE d BETWEEN '2024-02-28' AND '2024-03-01' GROUP BY d":                              "['2024-02-28'] ['2024-02-29'] ['2024-03-01']",
		"SELECT COUNT(*) FROM v WHERE d < '2020-01-03' OR d IS NULL GROUP BY d":                                           "[NULL] ['2020-01-01'] ['2020-01-02']",
		"SELECT substr(d, 1, 7) AS month, COUNT(*) FROM v WHERE d >= '2029-11-01' GROUP BY month":                         "['2029-11'] ['2029-12']",
		"SELECT CASE WHEN d >= '2024-01-01' THEN 'late' ELSE 'early' END, COUNT(*) FROM v WHERE d IS NOT NULL GROUP BY 1": "['early'] ['late']",
	})
}

// TestDaysOfKeys holds what computes with grouped days to what its values are as one more key, which divides no
// group: the same groups, with the same queries.
func TestDaysOfKeys(t *testing.T) {
	t.Parallel()
	v := declare(t, visitsOfDays)
	year := declare(t, strings.Replace(visitsOfDays, "'2020-01-01' AND '2029-12-31'", "'2024-01-01' AND '2024-12-31'", 1))
	const from = " FROM v WHERE (d BETWEEN '2024-02-28' AND '2024-03-02' OR d IS NULL) AND e > '2024-03-29' "
	for i, x := range []string{"d + 1", "1 + d", "d - 1", "d - d", "d - e", "e - DATE '2024-02-29'", "(d + 1) - (e - 7)", "d + n", "d + (n - 3) * 2", "d - '2024-01-01'"} {
		if !*long && i%2 == 1 {
			continue
		}
		keys := "d, e"
		if strings.Contains(x, "n") {
			keys += ", n"
		}
		got, err := compile(year, "SELECT "+x+", COUNT(*)"+from+"GROUP BY "+keys)
		if err != nil {
			t.Errorf("%s: %v", x, err)
			continue
		}
		want, err := compile(year, "SELECT COUNT(*)"+from+"GROUP BY "+keys+", "+x)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got.Groups) != fmt.Sprint(want.Groups) || fmt.Sprint(got.Queries) != fmt.Sprint(want.Queries) {
			t.Errorf("%s: groups %v, want %v", x, got.Groups, want.Groups)
		}
		if got.Types[0] == query.SQLText {
			t.Errorf("%s is a text", x)
		}
	}
	checkGroups(t, v, map[string]string{
		"SELECT d + 1, GROUPING(d), COUNT(*) FROM v WHERE d < '2020-01-03' GROUP BY ROLLUP (d)": "['2020-01-01' '2020-01-02' 0] ['2020-01-02' '2020-01-03' 0] [NULL NULL 1]",
		"SELECT COUNT(*) FROM v WHERE d < '2020-01-03' GROUP BY d HAVING d + 1 > '2020-01-02'":  "['2020-01-01' '2020-01-02'] ['2020-01-02' '2020-01-03']",
		"SELECT COUNT(*) FROM v WHERE d < '2020-01-03' GROUP BY d ORDER BY d - '2020-01-05'":    "['2020-01-01' -4] ['2020-01-02' -3]",
	})
	for _, text := range []string{"SELECT d + n, COUNT(*) FROM v GROUP BY d", "SELECT d + 2, COUNT(*) FROM v GROUP BY d + 1", "SELECT d * 2, COUNT(*) FROM v GROUP BY d", "SELECT d + COUNT(*) FROM v GROUP BY d"} {
		if _, err := compile(v, text); err == nil {
			t.Errorf("%s: is not refused", text)
		}
	}
}

// TestFunctionsOfDates holds the meaning of conditions with functions of dates, as ranges.
func TestFunctionsOfDates(t *testing.T) {
	t.Parallel()
	v := declare(t, visitsOfDays)
	checkMeanings(t, v, []meaning{
		{days("d", "2024-01-01", "2024-12-31"), []string{"strftime('%Y', d) = '2024'", "CAST(strftime('%Y', d) AS INTEGER) = 2024", "EXTRACT(YEAR FROM d) = 2024",
			"DATE_PART('year', d) = 2024", "DATE_TRUNC('year', d) = '2024-01-01'", "date(d, 'start of year') = DATE '2024-01-01'", "YEAR(d) IN (2024)",
			"d >= '2024-01-01 00:00:00' AND d < '2025-01-01 00:00'", "d BETWEEN TIMESTAMP '2023-12-31 00:00:01' AND '2024-12-31T23:59:59Z'",
			"datetime(d) >= '2024-01-01' AND datetime(d) < '2025-01-01'", "unixepoch(d) >= 1704067200 AND unixepoch(d) < 1735689600",
			"d - '2024-01-01' BETWEEN 0 AND 365", "'2024-12-31' - d BETWEEN 0 AND 365", "julianday(d) >= 2460310.5 AND julianday(d) - julianday('2025-01-01') < 0",
			"d + 30 BETWEEN '2024-01-31' AND '2025-01-30'", "d - 1 BETWEEN '2023-12-31' AND '2024-12-30'", "TO_CHAR(d, 'YYYY') = '2024'"}},
		{days("d", "2024-02-01", "2024-02-29"), []string{"strftime('%Y-%m', d) = '2024-02'", "DATE_TRUNC('month', d) = '2024-02-01'", "date(d, 'start of month') = '2024-02-01'",
			"date(d, 'start of month', '+1 months', '-1 days') = '2024-02-29'", "strftime('%Y', d) = '2024' AND EXTRACT(MONTH FROM d) = 2",
			"DATE_TRUNC('quarter', d) = '2024-01-01' AND MONTH(d) = 2", "DATE_TRUNC('quarter', d) = DATE_TRUNC('quarter', '2024-03-31') AND MONTH(d) = EXTRACT(MONTH FROM DATE '2024-02-01')", "EXTRACT(QUARTER FROM d) = 1 AND YEAR(d) = 2024 AND DATE_PART('month', d) NOT IN (1, 3)"}},
		{days("d", "2024-02-26", "2024-03-03"), []string{"DATE_TRUNC('week', d) = '2024-02-26'", "strftime('%G-%V', d) = '2024-09'", "date(d, 'weekday 0', '-6 days') = '2024-02-26'"}},
		{days("d", "2024-02-29", "2024-02-29"), []string{"strftime('%m-%d', d) = '02-29' AND d > '2021-01-01' AND d < '2028-01-01'", "d = DATE '2024-02-28' + INTERVAL '1 day'",
			"EXTRACT(DOY FROM d) = 60 AND EXTRACT(YEAR FROM d) = 2024", "d = CURRENT_DATE - 2", "d - CURRENT_DATE = -2", "julianday('now') - julianday(d) BETWEEN 2 AND 2.9",
			"d >= CURRENT_DATE - INTERVAL '2 days' AND d < date('now', '-1 days')", "d > NOW() - INTERVAL '3 days' AND d < CURRENT_TIMESTAMP - INTERVAL '1 day' AND d <> '2024-03-01'"}},
		{days("d", "2024-02-29", "2024-03-01"), []string{"d > NOW() - INTERVAL '3 days' AND d <= NOW() - INTERVAL '24 hours'"}},
		{"1", []string{"d + 4000000 IS NULL", "date(d, '+9000 years') IS NULL", "strftime('%H:%M', d) = '00:00' OR d IS NULL"}},
		{"0", []string{"strftime('%m', d) = '13'", "d = '2024-01-01 12:00'", "strftime('%Y', d) = '24'"}},
	})
	checkMeaningless(t, v, []meaningless{
		{"strftime('%m', d) = 3", "a number is compared with a text", "without quotes"},
		{"strftime('%Q', d) = '1'", "this format of strftime", "%Y"},
		{"strftime(z, d) = '1'", "a format of strftime that is not constant", "single quotes"},
		{"strftime('%Y', z) = '2024'", "strftime() of what is no date", "declared DATE"},
		{"strftime('%Y', n) = '2024'", "strftime() of what is no date", "declared DATE"},
		{"date('soon') = d", "date() of what is no date", "declared DATE"},
		{"date(d, '+1 fortnight') = '2024-01-01'", "the modifier '+1 fortnight'", ""},
		{"date(d, 'start of month') = '2024-02'", "which is not a date", "four digits"},
		{"date(d, 'localtime') = '2024-02-01'", "the modifier 'localtime'", ""},
		{"d * 2 = 4", "this arithmetic with a date", "d - e are days"},
		{"d + e = 4", "this arithmetic with a date", "d - e are days"},
		{"30 - d = 4", "is compared with the number 30", "single quotes"},
		{"d - 'x' = 4", "which is not a date", "four digits"},
		{"d + 1.5 = '2024-01-01'", "this arithmetic with a date", ""},
		{"datetime(d) - 1 = '2024-01-01'", "this arithmetic with a date", "unixepoch"},
	})
	checkGroups(t, v, map[string]string{
		"SELECT strftime('%Y-%m', d) AS m, COUNT(*) FROM v WHERE d >= '2029-11-01' GROUP BY m":                        "['2029-11'] ['2029-12']",
		"SELECT EXTRACT(YEAR FROM d), COUNT(*) FROM v WHERE d >= '2028-05-05' GROUP BY 1":                             "[2028] [2029]",
		"SELECT DATE_TRUNC('month', d) AS m, COUNT(*) FROM v WHERE d >= '2029-11-01' GROUP BY DATE_TRUNC('month', d)": "['2029-11-01'] ['2029-12-01']",
		"SELECT DATE_TRUNC('quarter', d) AS q, COUNT(*) FROM v WHERE d >= '2029-06-01' GROUP BY 1":                    "['2029-04-01'] ['2029-07-01'] ['2029-10-01']",
		"SELECT d - '2029-12-25', COUNT(*) FROM v WHERE d >= '2029-12-29' GROUP BY d - '2029-12-25'":                  "[4] [5] [6]",
		"SELECT EXTRACT(DOW FROM d) AS w, COUNT(*) FROM v WHERE d IS NOT NULL GROUP BY w":                             "[0] [1] [2] [3] [4] [5] [6]",
		"SELECT EXTRACT(QUARTER FROM e), COUNT(*) FROM v GROUP BY 1":                                                  "[1]",
		"SELECT CAST(julianday(e) - julianday('2024-02-01') AS INTEGER) / 30 AS m, COUNT(*) FROM v GROUP BY m":        "[0] [1]",
	})
	if _, err := compile(v, "SELECT AVG(e - '2024-02-01'), SUM('2024-06-01' - e), COUNT(*) FROM v"); err != nil {
		t.Error(err)
	}
}

// clocked is a table whose statements begin on March 2nd, 2024.
type clocked struct{ declared }

func (clocked) Now() time.Time { return time.Date(2024, 3, 2, 13, 30, 0, 0, time.UTC) }

// TestDatesAgainstSQLite compares random conditions on dates with the rows that SQLite
// selects from the same dates as texts.
func TestDatesAgainstSQLite(t *testing.T) {
	t.Parallel()
	seed := int64(seeds.Of(t))
	c := chooser(rand.New(rand.NewSource(seed)).Intn)
	first, last := int64(calendar.Day(2023, 12, 20)), int64(calendar.Day(2024, 3, 10))
	v := declare(t, `CREATE PRIVATE TABLE t (d DATE BETWEEN '2023-12-20' AND '2024-03-10' OR NULL, n INTEGER BETWEEN -40 AND 40) FROM raw`)
	s := fuzzTable{u: v.u, definitions: "d TEXT, n INTEGER"}
	for day := first; day <= last; day++ {
		s.rows = append(s.rows, []query.Value{query.Text(calendar.Format(day)), query.Int(int64(c(81) - 40))})
	}
	s.rows = append(s.rows, []query.Value{query.Null(), query.Int(1)})
	s.fill(t)
	defer s.db.Close()
	day := func() string { return "'" + calendar.Format(first+int64(c(int(last-first)+1))) + "'" }
	modifier := func() string {
		return c.of("", ", 'start of month'", ", 'start of year'", ", 'weekday 1'", ", '+1 months'", ", '-2 months'", ", '+1 year'", ", '-25 hours'",
			", '+10 days'", ", 'start of month', '+1 months', '-1 day'", ", '-11 days', 'start of month'", ", '+90 minutes', 'weekday 5'",
			", '+1 months', 'floor'", ", '-1 year', 'FLOOR', '+2 days'", ", '+2 months', 'floor', '-2 months', 'floor'")
	}
	field := func() string { return c.of("Y", "m", "d", "j", "w", "W", "H", "M", "u", "G", "V", "U") }
	operand := func() (x, k string) {
		switch c(8) {
		case 0:
			return "d", day()
		case 1:
			return "date(d" + modifier() + ")", day()
		case 2:
			return "strftime('%" + field() + "', d" + modifier() + ")", fmt.Sprintf("'%02d'", c(60))
		case 3:
			return "CAST(strftime('%" + field() + "', d" + modifier() + ") AS INTEGER)", fmt.Sprint(c(60))
		case 4:
			return "strftime('%Y-%m', d" + modifier() + ")", "strftime('%Y-%m', " + day() + ")"
		case 5:
			return "datetime(d" + modifier() + ")", "datetime(" + day() + ", '" + fmt.Sprint(c(30)) + " hours')"
		case 6:
			return "julianday(d" + modifier() + ") - julianday(" + day() + ")", c.of("n", "0", fmt.Sprint(c(40)-20), "0.5")
		}
		return "unixepoch(d" + modifier() + ") / 86400", "unixepoch(" + day() + ") / 86400 + n"
	}
	for range 300 {
		x, k := operand()
		where := x + " " + c.of("=", "<>", "<", "<=", ">", ">=", "IS", "IS NOT") + " " + k
		if c(3) == 0 {
			y, m := operand()
			where = c.of("", "NOT ") + "(" + where + ") " + c.of("AND ", "OR ", "OR NOT ") + y + " BETWEEN " + m + " AND " + m
		}
		b, err := compile(v, "SELECT COUNT(*) FROM t WHERE "+where)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		in, err := s.selected(where)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		for i, row := range s.rows {
			canonical := []query.Value{query.Null(), row[1]}
			if i < len(s.rows)-1 {
				canonical[0] = query.Int(first + int64(i))
			}
			if got := counted(b).Weight(canonical) == 1; got != in[i] {
				t.Fatalf("%s on %v: got %v, SQLite says %v", where, row, got, in[i])
			}
		}
	}
}

// TestTimestamps holds the meaning of conditions on TIMESTAMPs, as ranges of steps.
func TestTimestamps(t *testing.T) {
	t.Parallel()
	v := declare(t, `CREATE PRIVATE TABLE v (at TIMESTAMP BETWEEN '2024-01-01' AND '2024-12-31 23:00' STEP '1 hour' OR NULL STORED AS unix,
		d DATE BETWEEN '2024-02-28' AND '2024-03-02', q TIMESTAMP BETWEEN '2024-02-29' AND '2024-02-29 23:45' STEP '15 minutes',
		s TIMESTAMP BETWEEN '2024-02-29' AND '2024-02-29 00:00:59' STEP '1 second') FROM raw`)
	if c := v.u.Columns(); c[0].DomainText() != "BETWEEN '2024-01-01 00:00:00' AND '2024-12-31 23:00:00' STEP '1 hour' OR NULL STORED AS unix" || c[0].TypeName() != "TIMESTAMP" || c[0].Domain.Size() != 366*24+1 {
		t.Errorf("declared as %s of %d values", c[0].DomainText(), c[0].Domain.Size())
	}
	steps := func(column string, step int64, first, last string) string {
		lo, _ := calendar.ParseMoment(first)
		hi, _ := calendar.ParseMoment(last)
		return fmt.Sprintf("%s{%d..%d: 1}", column, lo/step, hi/step)
	}
	checkMeanings(t, v, []meaning{
		{steps("at", 3600, "2024-02-29 00:00", "2024-02-29 23:00"), []string{"at >= '2024-02-29' AND at < '2024-03-01'", "date(at) = '2024-02-29'", "DATE_TRUNC('day', at) = '2024-02-29'",
			"at BETWEEN '2024-02-29T00:00Z' AND '2024-02-29 23:00:00'", "strftime('%Y-%m-%d', at) = '2024-02-29'", "at > TIMESTAMP '2024-02-28 23:00:00' AND CAST(at AS date) < '2024-03-01'",
			"at >= CURRENT_DATE - INTERVAL '2 days' AND date(at) < date('now', '-1 day')", "EXTRACT(DOY FROM at) = 60"}},
		{steps("at", 3600, "2024-02-29 08:00", "2024-02-29 11:00"), []string{"date(at) = '2024-02-29' AND EXTRACT(HOUR FROM at) BETWEEN 8 AND 11",
			"date(at) = '2024-02-29' AND strftime('%H:%M', at) IN ('08:00', '09:00', '10:00', '11:00')", "unixepoch(at) BETWEEN 1709193600 AND 1709207999",
			"datetime(at, '+4 hours') >= '2024-02-29 12:00' AND datetime(at, '+30 minutes') < '2024-02-29 12:00'"}},
		{steps("q", 900, "2024-02-29 10:30", "2024-02-29 11:15"), []string{"q >= '2024-02-29 10:30' AND q <= '2024-02-29 11:15'", "time(q) BETWEEN '10:30:00' AND '11:15:00'"}},
		{steps("d", 86_400, "2024-02-29", "2024-03-02"), []string{"d > '2024-02-28 12:00'", "datetime(d) >= '2024-02-29'", "d >= datetime('2024-02-29', '-1 hour')"}},
		{steps("q", 900, "2024-02-29 10:30", "2024-02-29 11:15"), []string{"q >= '2024-02-29T10:30:00.000Z' AND q <= '2024-02-29 11:15:00+00'", "q BETWEEN '2024-02-29 16:00:00.000000+05:30' AND '2024-02-29 06:15-05'",
			"CASE WHEN q >= '2024-02-29 12:30+02' AND q <= '2024-02-29 11:15:00.000' THEN 1 ELSE 0 END = 1", "datetime(q) > '2024-02-29 10:15:00.5' AND datetime(q) < '2024-02-29 11:15:00.25Z'"}},
		{steps("d", 86_400, "2024-02-29", "2024-03-01"), []string{"d BETWEEN '2024-02-28 00:00:00.001' AND '2024-03-01T23:59:59.999Z'", "date(d) > '2024-02-28 23:59:59.9' AND date(d) < '2024-03-01 00:00:00.1'",
			"d IN ('2024-02-29T00:00:00.000Z', '2024-03-01 01:00:00+01', '2024-03-02 00:00:00.5')"}},
		{steps("s", 1, "2024-02-29 00:00:10", "2024-02-29 00:00:20"), []string{"s > '2024-02-29 00:00:09.5' AND s < '2024-02-29 00:00:20.000001'", "s BETWEEN '2024-02-29 00:00:09.001' AND '2024-02-29 00:00:20.999Z'",
			"s <> '2024-02-29 00:00:12.5' AND datetime(s) >= '2024-02-29 00:00:09.9' AND datetime(s) <= '2024-02-29 00:00:20.9'"}},
		{"0", []string{"at < '2024-01-01'", "at = NULL", "strftime('%M', at) = '30'"}},
	})
	checkMeaningless(t, v, []meaningless{
		{"at < '2024-02-29 05:30'", "which lies inside a step", "'2024-02-29 05:00:00', or of the next, '2024-02-29 06:00:00'"},
		{"at BETWEEN '2024-01-01' AND '2024-01-31 23:59:59'", "which lies inside a step", "'2024-02-01 00:00:00'"},
		{"CASE WHEN at < '2024-02-29 05:30' THEN 1 END = 1", "which lies inside a step", "'2024-02-29 06:00:00'"},
		{"at IN ('2024-02-29 05:30')", "which lies inside a step", "'2024-02-29 06:00:00'"},
		{"at = 'now'", "which is not a timestamp", "23:59:00"},
		{"at = '2024-02-29 05:00+25:00'", "which is not a timestamp", "23:59:00"},
		{"at >= '2024-02-29 05:00:00.5'", "which lies inside a step", "'2024-02-29 06:00:00'"},
		{"at = '2024-02-29 05:00+05:30'", "which lies inside a step", "'2024-02-29 00:00:00'"},
		{"at >= datetime('2024-02-29', '+30 minutes')", "compared with a computed date, which lies inside a step", "'2024-02-29 01:00:00'"},
		{"at > 5", "compared with the number 5", "single quotes"},
		{"at + 1 > '2024-01-01'", "this arithmetic with a date", "date(x)"},
		{"datetime(at) = 'x'", "which is not a timestamp", "23:59:00"},
	})
	same := [][2]string{{"at >= d", "at >= datetime(d)"}, {"d = date(at)", "DATE_TRUNC('day', at) = d"}, {"q < at", "at > q"}, {"at = d", "date(at) = d AND EXTRACT(HOUR FROM at) = 0"}}
	for _, pair := range same {
		a, err := compile(v, "SELECT COUNT(*) FROM v WHERE "+pair[0])
		if err != nil {
			t.Fatal(err)
		}
		b, err := compile(v, "SELECT COUNT(*) FROM v WHERE "+pair[1])
		if err != nil || !counted(a).Equal(counted(b)) {
			t.Errorf("%q differ: %v", pair, err)
		}
	}
	b, err := compile(v, "SELECT DATE_TRUNC('hour', q), q, COUNT(*) FROM v WHERE q < '2024-02-29 00:30' GROUP BY 1, 2")
	if got := fmt.Sprint(b.Groups); err != nil || got != "[['2024-02-29 00:00:00' '2024-02-29 00:00:00'] ['2024-02-29 00:00:00' '2024-02-29 00:15:00']]" {
		t.Errorf("groups %s: %v", got, err)
	}
}

// publicDays is a table of days and moments beside public texts.
type publicDays struct {
	declared
	rows [][]any
}

func (p publicDays) Public(string) (*sqlfront.PublicRows, error) {
	return &sqlfront.PublicRows{Columns: []string{"id", "day", "moment"}, Rows: p.rows}, nil
}

// TestDatesOfPublicTables holds that a list or a key of a public table names a day or a step by any
// text of the moment at which it begins, as = does.
func TestDatesOfPublicTables(t *testing.T) {
	t.Parallel()
	v := declare(t, `CREATE PRIVATE TABLE v (d DATE BETWEEN '2024-01-01' AND '2024-01-09' OR NULL, m TIMESTAMP BETWEEN '2024-01-01' AND '2024-01-09 23:00' STEP '1 hour',
		w TIMESTAMP BETWEEN '2024-01-01' AND '2024-01-09' STEP '1 day', n INTEGER BETWEEN 1 AND 3) FROM raw`)
	rows := [][]any{{int64(1), "2024-01-02", "2024-01-02 00:00:00"}, {int64(2), "2024-01-04", "2024-01-04T00:00Z"}, {int64(3), "2024-01-06", "2024-01-06 12:00"}, {int64(5), "soon", "no"}}
	p := publicDays{v, rows}
	const shortly = "('2024-01-02', '2024-01-04')"
	for _, c := range [][2]string{
		{"FROM v WHERE d IN (SELECT day FROM p)", "FROM v WHERE d IN ('2024-01-02', '2024-01-04', '2024-01-06')"},
		{"FROM v WHERE d IN (SELECT moment FROM p)", "FROM v WHERE d IN " + shortly},
		{"FROM v WHERE m IN (SELECT day FROM p)", "FROM v WHERE m IN ('2024-01-02', '2024-01-04', '2024-01-06')"},
		{"FROM v WHERE m IN (SELECT moment FROM p)", "FROM v WHERE m IN ('2024-01-02', '2024-01-04', '2024-01-06 12:00')"},
		{"FROM v WHERE w IN (SELECT moment FROM p)", "FROM v WHERE w IN " + shortly},
		{"FROM v WHERE d NOT IN (SELECT moment FROM p)", "FROM v WHERE d NOT IN " + shortly},
		{"FROM v WHERE m NOT IN (SELECT day FROM p)", "FROM v WHERE m NOT IN ('2024-01-02', '2024-01-04', '2024-01-06')"},
		{"FROM v WHERE CASE WHEN m IN (SELECT day FROM p) THEN 2 ELSE 1 END = 2", "FROM v WHERE m IN ('2024-01-02', '2024-01-04', '2024-01-06')"},
		{"FROM v JOIN p ON d = day", "FROM v WHERE d IN ('2024-01-02', '2024-01-04', '2024-01-06')"},
		{"FROM v JOIN p ON d = moment", "FROM v WHERE d IN " + shortly},
		{"FROM p JOIN v ON m = day", "FROM v WHERE m IN ('2024-01-02', '2024-01-04', '2024-01-06')"},
		{"FROM v JOIN p ON w = moment AND day > '2024-01-03'", "FROM v WHERE w = '2024-01-04'"},
		{"FROM v JOIN p ON n = id WHERE m = day", "FROM v WHERE m = '2024-01-02' AND n = 1 OR m = '2024-01-04' AND n = 2 OR m = '2024-01-06' AND n = 3"},
		{"FROM v JOIN p ON n = id WHERE d = moment", "FROM v WHERE d = '2024-01-02' AND n = 1 OR d = '2024-01-04' AND n = 2"},
		{"FROM v JOIN p ON d = moment WHERE m = moment", "FROM v WHERE d IN " + shortly + " AND m = d"},
	} {
		got, err := compile(p, "SELECT COUNT(*) "+c[0])
		if err != nil {
			t.Errorf("%s: %v", c[0], err)
			continue
		}
		want, err := compile(p, "SELECT COUNT(*) "+c[1])
		if err != nil {
			t.Fatal(err)
		}
		if !counted(got).Equal(counted(want)) {
			t.Errorf("%s: got %v, want %v", c[0], counted(got), counted(want))
		}
	}
	p.rows = append(rows, []any{int64(6), "2024-01-02 00:00", "x"})
	for _, text := range []string{"FROM v JOIN p ON d = day", "FROM v JOIN p ON m = day"} {
		if _, err := compile(p, "SELECT COUNT(*) "+text); err == nil || !strings.Contains(err.Error(), "a value occurs twice") {
			t.Errorf("%s, of two texts of a moment: %v", text, err)
		}
	}
}

// TestTimeDeclarations holds what a declaration of a DATE or a TIMESTAMP may be.
func TestTimeDeclarations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ column, message, hint string }{
		{"‸d DATE", "column d is DATE and has no domain", "BETWEEN '2020-01-01'"},
		{"d DATE ‸IN ('2024-01-01')", "a list as the domain of a DATE", "BETWEEN '2020-01-01'"},
		{"d DATE BETWEEN ‸'2024-02-30' AND '2024-12-31'", "'2024-02-30' is not a date", "four digits"},
		{"d DATE BETWEEN '2024-01-01' AND ‸'2024-12-31 12:00'", "'2024-12-31 12:00' is not a date", "four digits"},
		{"d DATE ‸BETWEEN '2025-01-01' AND '2024-12-31'", "is empty", "earlier"},
		{"d DATE BETWEEN ‸2024 AND 2025", "as in BETWEEN '2020-01-01' AND '2029-12-31', found 2024", ""},
		{"d DATE BETWEEN '2024-01-01' AND '2024-12-31' STORED AS ‸text", "expected iso, julian or unix", ""},
		{"d DATE BETWEEN '2024-01-01' AND '2024-12-31' ‸STEP '1 day'", "STEP", ""},
		{"d ‸DATETIME", "the column type DATETIME", "TIMESTAMP BETWEEN"},
		{"‸d TIMESTAMP", "column d is TIMESTAMP and has no domain", "STEP '1 hour'"},
		{"d TIMESTAMP BETWEEN '2024-01-01' AND '2024-12-31'‸) FROM r", "has no STEP", "'15 minutes'"},
		{"d TIMESTAMP BETWEEN '2024-01-01' AND '2024-12-31' STEP ‸'7 hours'", "does not divide a day", "'6 hours'"},
		{"d TIMESTAMP BETWEEN '2024-01-01' AND '2024-12-31' STEP ‸'1 month'", "is not a step", "'6 hours'"},
		{"d TIMESTAMP BETWEEN '2024-01-01' AND '2024-12-31' STEP ‸1", "expected a step", ""},
		{"d TIMESTAMP ‸BETWEEN '2024-01-01 00:30' AND '2024-12-31' STEP '1 hour'", "no beginning of a step", "'2024-01-01 00:00:00'"},
	} {
		text, position := marked("CREATE PRIVATE TABLE t (" + c.column)
		if !strings.Contains(text, "FROM") {
			text += ") FROM r WITH (epsilon = 1)"
		}
		_, err := syntax.Parse(text)
		var e *sqlerr.Error
		if !errors.As(err, &e) || !strings.Contains(e.Message, c.message) || !strings.Contains(e.Hint, c.hint) || e.Position != position {
			t.Errorf("%s: %v (%v)", text, err, e)
		}
	}
}

// TestShownQueries holds that people see the dates and numbers of a query, and that its
// canonical text is of integers.
func TestShownQueries(t *testing.T) {
	t.Parallel()
	days := declare(t, visitsOfDays)
	numbers := declare(t, `CREATE PRIVATE TABLE v (x REAL BETWEEN -1 AND 5 STEP 0.5 OR NULL, fee NUMERIC(5,2) BETWEEN 0 AND 9.99, k REAL BETWEEN 0 AND 90000 STEP 1000) FROM raw`)
	for _, c := range []struct {
		of               declared
		where            string
		shown, canonical string
	}{
		{days, "d BETWEEN '2024-02-28' AND '2024-03-01' OR d IS NULL AND n = 1", "d{NULL: n{1: 1}; '2024-02-28' … '2024-03-01': 1}", "d{NULL: n{1: 1}; 19781..19783: 1}"},
		{numbers, "x < 1.5 AND fee = 0.99 OR x IS NULL", "x{NULL: 1; -1 … 1: fee{0.99: 1}}", "x{NULL: 1; -2..2: fee{99: 1}}"},
		{numbers, "fee BETWEEN 1 AND 2.5 AND k >= 89000", "fee{1 … 2.5: k{89000: 1}}", "fee{100..250: k{89: 1}}"},
	} {
		b, err := compile(c.of, "SELECT COUNT(*) FROM v WHERE "+c.where)
		if err != nil {
			t.Fatal(err)
		}
		if got := counted(b).Shown(1000); got != c.shown {
			t.Errorf("%s is shown as %s, want %s", c.where, got, c.shown)
		}
		if got := counted(b).String(); got != c.canonical {
			t.Errorf("%s has the canonical text %s, want %s", c.where, got, c.canonical)
		}
	}
}

// meaning is a query, and conditions that select its records.
type meaning struct {
	want   string
	wheres []string
}

func checkMeanings(t *testing.T, v declared, cases []meaning) {
	t.Helper()
	for _, c := range cases {
		for _, where := range c.wheres {
			b, err := compile(clocked{v}, "SELECT COUNT(*) FROM v WHERE "+where)
			if err != nil {
				t.Errorf("%s: %v", where, err)
			} else if got := counted(b).String(); got != c.want {
				t.Errorf("%s: got %s, want %s", where, got, c.want)
			}
		}
	}
}

// meaningless is a condition that is refused, and parts of what the error says.
type meaningless struct{ where, message, hint string }

func checkMeaningless(t *testing.T, v declared, cases []meaningless, args ...query.Value) {
	t.Helper()
	for _, c := range cases {
		_, err := bindWith(clocked{v}, "SELECT COUNT(*) FROM v WHERE "+c.where, args...)
		var e *sqlerr.Error
		if !errors.As(err, &e) || !strings.Contains(e.Message, c.message) || !strings.Contains(e.Hint, c.hint) || e.Position == 0 {
			t.Errorf("%s: %v (%v)", c.where, err, e)
		}
	}
}

// checkGroups holds statements to the names of their groups.
func checkGroups(t *testing.T, v declared, wanted map[string]string) {
	t.Helper()
	for text, want := range wanted {
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
