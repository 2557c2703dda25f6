package engine_test

import (
	"fmt"
	"math/rand"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpsql/engine"
	"dpsql/internal/pgtest"
	"dpsql/internal/seeds"
)

// TestCurrentDate holds that a statement has one date, that of its beginning, wherever it
// stands in it.
func TestCurrentDate(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "days.db"), engine.Options{})
	quieten(db)
	s := db.NewSession()
	fill(t, s, `CREATE TABLE raw_days AS SELECT '2024-02-28' AS d UNION ALL SELECT '2024-02-29' UNION ALL SELECT '2024-03-01' UNION ALL SELECT '2024-02-30'`)
	must(t, s, `CREATE PRIVATE TABLE days (d DATE BETWEEN '2024-01-01' AND '2024-12-31') FROM raw_days WITH (epsilon = 2)`)
	must(t, s, `CREATE RELEASE r ON days USING PROJECTION WITH (epsilon = 1)`)
	calls := 0
	db.SetNow(func() time.Time {
		calls++
		return time.Date(2024, 2, 28+calls, 23, 59, 59, 0, time.UTC)
	})
	for _, want := range []string{"[[1 1 1]]", "[[2 1 2]]"} { // the 29th, then March 1st
		r := must(t, s, `SELECT COUNT(*) FILTER (WHERE d < CURRENT_DATE) AS before, COUNT(*) FILTER (WHERE d = date('now')) AS today,
			COUNT(*) FILTER (WHERE d <= CURRENT_DATE - INTERVAL '1 day') AS yesterday FROM days`)
		if got := fmt.Sprint(r.Rows); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if calls != 2 {
		t.Errorf("two statements read the clock %d times", calls)
	}
}

// TestTimesMeanTheSame asks random conditions about random rows with dates and timestamps,
// in the file and in PostgreSQL. Package time computes the answers once more. Direct answers
// have no noise here. At full size there are 10,000 rows and 1,000 conditions.
func TestTimesMeanTheSame(t *testing.T) {
	t.Parallel()
	c := pgtest.SharedDatabase(t)
	rows, conditions := 300, 12
	if *long {
		rows, conditions = 10_000, 1000
	}
	seed := int64(seeds.Of(t))
	r := rand.New(rand.NewSource(seed))

	first := time.Date(2023, 11, 1, 0, 0, 0, 0, time.UTC)
	type row struct {
		d, at time.Time // zero for no value that counts
		in    bool      // inside the domains
	}
	var all []row
	var file, server []string
	for range rows {
		d, at := first.AddDate(0, 0, r.Intn(400)), first.Add(time.Duration(r.Int63n(400*86_400))*time.Second+time.Duration(r.Intn(4))*250*time.Millisecond)
		x := row{d, at, true}
		text, julian, unix, moment := "'"+d.Format(time.DateOnly)+"'", fmt.Sprintf("%.6f", float64(d.Unix())/86_400+2440587.5+r.Float64()/2), at.Unix(), "'"+at.Format("2006-01-02 15:04:05.000")+"'"
		onServer := text
		switch r.Intn(20) {
		case 0: // no date
			text, x.in, onServer = "'2024-02-30'", false, "'infinity'"
		case 1: // beyond the domain
			text, x.in, onServer = "'2030-01-01'", false, "'2030-01-01'"
		}
		all = append(all, x)
		file = append(file, fmt.Sprintf("(%s, %s, %d, %s)", text, julian, unix, moment))
		server = append(server, fmt.Sprintf("(%s, %s, %d, %s)", onServer, julian, unix, moment))
	}
	db := open(t, filepath.Join(t.TempDir(), "times.db"), engine.Options{})
	quieten(db)
	s := db.NewSession()
	fill(t, s, `CREATE TABLE raw_times (d TEXT, j REAL, u INTEGER, at TEXT)`, `INSERT INTO raw_times VALUES `+strings.Join(file, ", "))
	c.MustExec(t, `CREATE TABLE raw_times (d date, j float8, u bigint, at timestamp); INSERT INTO raw_times VALUES `+strings.Join(server, ", "))
	must(t, s, warehouseOf(t, c))
	const columns = `d DATE BETWEEN '2023-11-01' AND '2024-12-31', j DATE BETWEEN '2023-11-01' AND '2024-12-31' STORED AS julian,
		u TIMESTAMP BETWEEN '2023-11-01' AND '2024-12-31 23:00' STEP '1 hour' STORED AS unix, at TIMESTAMP BETWEEN '2023-11-01' AND '2024-12-31 23:45' STEP '15 minutes'`
	must(t, s, `CREATE PRIVATE TABLE here (`+columns+`) FROM raw_times WITH (epsilon = 1000, delta = 1e-6, interactive = 1)`)
	must(t, s, `CREATE PRIVATE TABLE there (`+columns+`) FROM warehouse.public.raw_times WITH (epsilon = 1000, delta = 1e-6, interactive = 1)`)
	must(t, s, `SET accuracy = 300`)

	type condition struct {
		text  string
		holds func(x row) bool
	}
	draw := func() condition {
		day := first.AddDate(0, 0, r.Intn(400))
		n, m, hour := r.Intn(100), 1+r.Intn(12), r.Intn(24)
		quote := func(at time.Time) string { return "'" + at.Format(time.DateOnly) + "'" }
		column := []string{"d", "j"}[r.Intn(2)]
		moment := []string{"u", "at"}[r.Intn(2)]
		step := map[string]time.Duration{"u": time.Hour, "at": 15 * time.Minute}[moment]
		cut := func(x row) time.Time { return x.at.Truncate(step) }
		return []condition{
			{column + " >= " + quote(day), func(x row) bool { return !x.d.Before(day) }},
			{column + " <> " + quote(day), func(x row) bool { return !x.d.Equal(day) }},
			{moment + " < '" + day.Add(time.Duration(hour)*time.Hour).Format(time.DateTime) + "'", func(x row) bool { return x.at.Before(day.Add(time.Duration(hour) * time.Hour)) }},
			{fmt.Sprintf("EXTRACT(MONTH FROM %s) = %d", column, m), func(x row) bool { return int(x.d.Month()) == m }},
			{fmt.Sprintf("EXTRACT(HOUR FROM %s) >= %d", moment, hour), func(x row) bool { return x.at.Hour() >= hour }},
			{fmt.Sprintf("strftime('%%w', %s) = '%d'", column, n%7), func(x row) bool { return int(x.d.Weekday()) == n%7 }},
			{fmt.Sprintf("DATE_TRUNC('week', %s) <= %s", moment, quote(day)), func(x row) bool {
				monday := cut(x).AddDate(0, 0, -(int(x.at.Weekday())+6)%7)
				return !time.Date(monday.Year(), monday.Month(), monday.Day(), 0, 0, 0, 0, time.UTC).After(day)
			}},
			{fmt.Sprintf("DATE_TRUNC('quarter', %s) = DATE_TRUNC('quarter', %s)", column, quote(day)), func(x row) bool {
				return x.d.Year() == day.Year() && (x.d.Month()-1)/3 == (day.Month()-1)/3
			}},
			{fmt.Sprintf("%s - %s BETWEEN 0 AND %d", column, quote(day), n), func(x row) bool { return !x.d.Before(day) && !x.d.After(day.AddDate(0, 0, n)) }},
			{fmt.Sprintf("date(%s, '+%d months') > %s", column, n%5, quote(day)), func(x row) bool { return x.d.AddDate(0, n%5, 0).After(day) }},
			{fmt.Sprintf("EXTRACT(DOY FROM %s) %% 2 = 0", moment), func(x row) bool { return x.at.YearDay()%2 == 0 }},
			{fmt.Sprintf("strftime('%%j', %s) < '%03d'", column, 4*n), func(x row) bool { return x.d.YearDay() < 4*n }},
			{fmt.Sprintf("strftime('%%G-%%V', %s) = strftime('%%G-%%V', %s)", column, quote(day)), func(x row) bool {
				y, w := x.d.ISOWeek()
				year, week := day.ISOWeek()
				return y == year && w == week
			}},
			{fmt.Sprintf("date(%s, 'weekday %d') <= %s", column, n%7, quote(day)), func(x row) bool {
				return !x.d.AddDate(0, 0, (n%7-int(x.d.Weekday())+7)%7).After(day)
			}},
			{fmt.Sprintf("date(%s, 'start of month', '-1 day') = date(%s, 'start of month', '-1 day')", moment, quote(day)), func(x row) bool {
				return x.at.Year() == day.Year() && x.at.Month() == day.Month()
			}},
			{fmt.Sprintf("date(%s, 'start of year', '+%d days') > %s", column, n, quote(day)), func(x row) bool {
				return time.Date(x.d.Year(), 1, 1+n, 0, 0, 0, 0, time.UTC).After(day)
			}},
			{fmt.Sprintf("datetime(%s, '+%d minutes') < datetime(%s, '-%d hours')", moment, n, quote(day), hour), func(x row) bool {
				return cut(x).Add(time.Duration(n) * time.Minute).Before(day.Add(-time.Duration(hour) * time.Hour))
			}},
			{fmt.Sprintf("time(%s) >= '%02d:30:00'", moment, hour), func(x row) bool { return cut(x).Hour()*60+cut(x).Minute() >= hour*60+30 }},
			{fmt.Sprintf("unixepoch(%s) >= %d", moment, day.Unix()-int64(n)), func(x row) bool { return cut(x).Unix() >= day.Unix()-int64(n) }},
			{fmt.Sprintf("julianday(%s) - julianday(%s) < %d", moment, quote(day), n), func(x row) bool { return cut(x).Before(day.AddDate(0, 0, n)) }},
			{fmt.Sprintf("%s + %d < %s", column, n, quote(day)), func(x row) bool { return x.d.AddDate(0, 0, n).Before(day) }},
			{fmt.Sprintf("strftime('%%Y-%%m', %s) = strftime('%%Y-%%m', %s) OR strftime('%%d', %[1]s) = '%02[3]d'", moment, quote(day), m), func(x row) bool {
				return x.at.Year() == day.Year() && x.at.Month() == day.Month() || x.at.Day() == m
			}},
		}[r.Intn(22)]
	}
	for range conditions {
		a, b := draw(), draw()
		text, holds := "("+a.text+") AND NOT ("+b.text+")", func(x row) bool { return a.holds(x) && !b.holds(x) }
		if r.Intn(2) == 0 {
			text, holds = "("+a.text+") OR ("+b.text+")", func(x row) bool { return a.holds(x) || b.holds(x) }
		}
		want := int64(0)
		for _, x := range all {
			if x.in && holds(x) {
				want++
			}
		}
		for _, table := range []string{"here", "there"} {
			got := must(t, s, "SELECT COUNT(*) FROM "+table+" WHERE "+text)
			if fmt.Sprint(got.Rows) != fmt.Sprintf("[[%d]]", want) {
				t.Errorf("%s: %s counts %v, and package time %d", text, table, got.Rows, want)
			}
		}
	}
	days := make(map[time.Time]bool)
	for _, x := range all {
		if x.in {
			days[x.d] = true
		}
	}
	const orders = `SELECT MEDIAN(d), PERCENTILE_CONT(j, 0.3), QUANTILE(u, 0.7), MEDIAN(at), QUANTILE(d, 1), COUNT(DISTINCT d) FROM `
	here, there := must(t, s, orders+"here"), must(t, s, orders+"there")
	if fmt.Sprint(here.Rows) != fmt.Sprint(there.Rows) || here.Rows[0][5] != int64(len(days)) {
		t.Errorf("%v from the file, %v from the server, and there are %d days", here.Rows, there.Rows, len(days))
	}
}
