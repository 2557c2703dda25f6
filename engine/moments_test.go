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

var momentsRun = flag.Int("moments", 20, "comparisons of dates that TestMomentsCompareAsInPostgres draws; 3000 with -long")

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
