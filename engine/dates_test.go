package engine_test

import (
	"flag"
	"fmt"
	"math/rand"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpsql/engine"
	"dpsql/internal/pgtest"
	"dpsql/internal/seeds"
	"dpsql/query"
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
	rows, conditions := 300, 4
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

var momentsRun = flag.Int("moments", 5, "comparisons of dates that TestMomentsCompareAsInPostgres draws; 3000 with -long")

// moments draws comparisons of dates, moments and texts. Each is one text for dpsql and
// PostgreSQL.
type moments struct{ *rand.Rand }

// literal returns a literal beside a value. Beside a day an untyped one has no time of day: there
// PostgreSQL would cut it off.
func (m *moments) literal(day bool) string {
	at := time.Date(2023, 1, 19+m.Intn(22), 0, 0, 0, 0, time.UTC)
	d := at.Format(time.DateOnly)
	if m.Intn(2) == 0 {
		at = time.Date(2023, 1, 29+m.Intn(5), m.Intn(24), 0, 0, 0, time.UTC)
	}
	clock := at.Format([]string{time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04:05Z"}[m.Intn(4)])
	typed := []string{"'" + d + "'", "DATE '" + d + "'", "'" + d + "'::date", "'" + d + " 00:00:00'", "'" + d + "'::timestamp",
		"'" + clock + "'::timestamp", "TIMESTAMP '" + at.Format(time.DateTime) + "'", "CAST('" + d + "' AS timestamp)"}
	if !day {
		typed = append(typed, "'"+clock+"'", "'"+clock+"'")
	}
	return typed[m.Intn(len(typed))]
}

// value returns an expression, and whether it is a day to PostgreSQL, where DATE_TRUNC is none.
func (m *moments) value(depth int) (text string, day bool) {
	if depth > 0 && m.Intn(3) == 0 {
		x, xDay := m.value(depth - 1)
		y, yDay := m.value(depth - 1)
		switch m.Intn(5) {
		case 0:
			return "CASE WHEN n < 2 THEN " + x + " ELSE " + y + " END", xDay && yDay
		case 1:
			return "COALESCE(" + x + ", " + y + ")", xDay && yDay
		case 2:
			return "CASE WHEN n = 1 THEN " + x + " WHEN n = 2 THEN '2023-01-31'::timestamp END", false
		case 3:
			return "NULLIF(" + x + ", " + m.literal(xDay) + ")", xDay
		}
		x, xDay = m.value(0) // GREATEST of NULL is NULL to SQLite
		return []string{"GREATEST(", "LEAST("}[m.Intn(2)] + x + ", " + m.literal(xDay) + ")", xDay
	}
	column := []string{"day", "seen"}[m.Intn(2)]
	switch m.Intn(6) {
	case 0:
		return "date_trunc('" + []string{"year", "quarter", "month", "week", "day", "hour"}[m.Intn(6)] + "', " + column + ")", false
	case 1:
		return column + "::date", true
	case 2:
		return "(day + INTERVAL '" + []string{"1 day", "5 hours", "-12 days"}[m.Intn(3)] + "')", false
	}
	return column, column == "day"
}

// condition returns a comparison. A parameter in it is compared with all that stands before it.
func (m *moments) condition() (text string, args []query.Value) {
	x, day := m.value(2)
	switch m.Intn(10) {
	case 7:
		return []string{"day", "seen"}[m.Intn(2)] + []string{" IN", " NOT IN"}[m.Intn(2)] + " (SELECT " + []string{"day", "moment"}[m.Intn(2)] + " FROM marks)", nil
	case 0:
		return x + " BETWEEN " + m.literal(day) + " AND " + m.literal(day), nil
	case 1:
		return x + []string{" IN (", " NOT IN ("}[m.Intn(2)] + m.literal(day) + ", " + m.literal(day) + ", " + m.literal(day) + ")", nil
	case 2:
		return "CASE " + x + " WHEN " + m.literal(day) + " THEN 1 WHEN " + m.literal(day) + " THEN 2 ELSE 3 END < 3", nil
	case 3:
		return m.literal(day) + m.operator() + x, nil
	case 4, 5:
		y, _ := m.value(1)
		return x + m.operator() + y, nil
	case 6:
		at := time.Date(2023, 1, 28+m.Intn(7), m.Intn(2)*m.Intn(24), 0, 0, 0, time.UTC).Format(time.DateTime)
		return x + m.operator() + "$1", []query.Value{query.Text(at)}
	}
	return x + m.operator() + m.literal(day), nil
}

func (m *moments) operator() string {
	return []string{" = ", " <> ", " < ", " <= ", " > ", " >= "}[m.Intn(6)]
}

// TestMomentsCompareAsInPostgres asks how many rows random comparisons hold for, inside aggregates
// and around them: a date is the moment at which its day begins. There is no noise here.
func TestMomentsCompareAsInPostgres(t *testing.T) {
	t.Parallel()
	c := pgtest.SharedDatabase(t)
	seed := int64(seeds.Of(t))
	m := &moments{Rand: rand.New(rand.NewSource(seed))}
	var rows []string
	for range 400 {
		day, seen := time.Date(2023, 1, 20+m.Intn(20), 0, 0, 0, 0, time.UTC), time.Date(2023, 1, 30, m.Intn(72), 0, 0, 0, time.UTC)
		rows = append(rows, fmt.Sprintf("('%s', '%s', %d)", day.Format(time.DateOnly), seen.Format(time.DateTime), m.Intn(4)))
	}
	const marks = `INSERT INTO marks VALUES ('2023-01-30', '2023-01-30 00:00:00'), ('2023-01-31', '2023-01-31T00:00:00Z'), ('2023-02-01', '2023-02-01 07:00')`
	db := open(t, filepath.Join(t.TempDir(), "moments.db"), engine.Options{})
	quieten(db)
	s := db.NewSession()
	fill(t, s, `CREATE TABLE raw_times (day TEXT, seen TEXT, n INTEGER)`, `INSERT INTO raw_times VALUES `+strings.Join(rows, ", "), `CREATE TABLE marks (day TEXT, moment TEXT)`, marks)
	must(t, s, `CREATE PUBLIC TABLE marks`)
	c.MustExec(t, `CREATE TABLE marks (day date, moment timestamp); `+marks)
	c.MustExec(t, `CREATE TABLE times (day date, seen timestamp, n int); INSERT INTO times VALUES `+strings.Join(rows, ", "))
	must(t, s, `CREATE PRIVATE TABLE times (day DATE BETWEEN '2023-01-20' AND '2023-02-08', seen TIMESTAMP BETWEEN '2023-01-30' AND '2023-02-01 23:00' STEP '1 hour',
		n INTEGER BETWEEN 0 AND 3) FROM raw_times WITH (epsilon = 1000, delta = 1e-6, interactive = 0.5)`)
	must(t, s, `CREATE RELEASE cells ON times USING PROJECTION WITH (epsilon = 200)`)
	must(t, s, `SET accuracy = 100`)
	conditions := make([]string, *momentsRun)
	if *long {
		conditions = make([]string, 3000)
	}
	args := make([][]query.Value, len(conditions))
	var asked strings.Builder
	asked.WriteString("SET timezone = 'UTC';\n")
	for i := range conditions {
		conditions[i], args[i] = m.condition()
		text := conditions[i]
		if len(args[i]) > 0 {
			text = strings.ReplaceAll(text, "$1", args[i][0].String()+"::timestamp")
		}
		fmt.Fprintf(&asked, "SELECT COUNT(*) FROM times WHERE %s;\n", text)
	}
	lines := strings.Split(strings.TrimSpace(c.MustExec(t, asked.String())), "\n")
	want := lines[len(lines)-len(conditions):]
	for i, cond := range conditions {
		forms := []string{
			`SELECT COUNT(*) FROM times WHERE ` + cond,
			`SELECT SUM(CASE WHEN ` + cond + ` THEN 1 ELSE 0 END) FROM times`,
			`SELECT COALESCE(SUM(c), 0) FROM (SELECT day, seen, n, COUNT(*) AS c FROM times GROUP BY 1, 2, 3) AS q WHERE ` + cond,
			`SELECT COALESCE(SUM(c), 0) FROM (SELECT CASE WHEN ` + cond + ` THEN 1 ELSE 0 END AS k, COUNT(*) AS c FROM times GROUP BY 1) AS q WHERE k = '1'`,
		}
		if strings.Contains(cond, "SELECT") {
			forms = forms[:3] // the select list has no sub-select
		}
		text := forms[m.Intn(len(forms))]
		r, err := s.Exec(t.Context(), text, args[i])
		if err != nil {
			t.Errorf("%s %v\n%v", text, args[i], err)
		} else if got := fmt.Sprint(r.Rows[0][0]); got != want[i] {
			t.Errorf("%s %v\ngot %s, want %s", text, args[i], got, want[i])
		}
	}
}
