package engine_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/engine"
)

// inventedVisits returns a session with the invented rows of testdata/visits, releases of their columns,
// and no noise.
func inventedVisits(t *testing.T) *engine.Session {
	var rows []string
	for _, r := range recordsOf(t, "../testdata/visits/visits.csv") {
		rows = append(rows, fmt.Sprintf("('%s', '%s', '%s', %s)", r[1], r[2], r[3], r[4]))
	}
	db := open(t, filepath.Join(t.TempDir(), "visits.db"), engine.Options{})
	quieten(db)
	s := db.NewSession()
	fill(t, s, `CREATE TABLE raw_visits (day TEXT, seen TEXT, dept TEXT, minutes INTEGER)`, `INSERT INTO raw_visits VALUES `+strings.Join(rows, ", "),
		`CREATE TABLE months (m TEXT, name TEXT)`, `INSERT INTO months VALUES ('2023-01-01', 'January'), ('2023-02-01 00:00:00', 'February'), ('2023-03-01T00:00', 'March')`)
	must(t, s, `CREATE PUBLIC TABLE months`)
	must(t, s, `CREATE PRIVATE TABLE visits (day DATE BETWEEN '2023-01-01' AND '2023-12-31', seen TIMESTAMP BETWEEN '2023-01-01' AND '2023-01-28 23:00' STEP '1 hour',
		dept TEXT IN ('a', 'b', 'c'), minutes INTEGER BETWEEN 0 AND 119) FROM raw_visits WITH (epsilon = 1000, delta = 1e-6, interactive = 0.5)`)
	for _, columns := range []string{"day, dept", "seen", "minutes, dept"} {
		must(t, s, `CREATE RELEASE "`+columns+`" ON visits (`+columns+`) USING PROJECTION WITH (epsilon = 60)`)
	}
	return s
}

// TestDatesAndMomentsOfVisits asks what reports ask: a date is the moment at which its day begins,
// and a text beside a number is the number that it reads as. The answers are those of PostgreSQL,
// which TestMomentsCompareAsInPostgres asks at random. Without -long every third is asked.
func TestDatesAndMomentsOfVisits(t *testing.T) {
	t.Parallel()
	s := inventedVisits(t)
	const hourly = `(SELECT date_trunc('hour', seen) AS h, COUNT(*) AS n FROM visits GROUP BY 1) AS q`
	const monthly, months = `(SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY 1) AS q`, `generate_series('2023-01-01'::timestamp, '2023-04-01'::timestamp, '1 month') AS g(m)`
	type asked struct{ text, want string }
	for _, c := range some(t, 3, []asked{
		{`SELECT COUNT(*) FROM visits WHERE day >= '2023-03-02'::timestamp`, `[[696]]`},
		{`SELECT COUNT(*) FROM visits WHERE day = '2023-03-02'::timestamp`, `[[12]]`},
		{`SELECT COUNT(*) FROM visits WHERE date_trunc('month', day) = '2023-03-01'::timestamp`, `[[72]]`},
		{`SELECT COUNT(*) FROM visits WHERE date_trunc('month', day) = TIMESTAMP '2023-03-01 00:00:00'`, `[[72]]`},
		{`SELECT COUNT(*) FROM visits WHERE date_trunc('month', day) >= '2023-03-01'::timestamp`, `[[696]]`},
		{`SELECT COUNT(*) FROM visits WHERE date_trunc('month', day) BETWEEN '2023-03-01'::timestamp AND '2023-05-01'::timestamp`, `[[228]]`},
		{`SELECT COUNT(*) FROM visits WHERE date_trunc('day', seen) = '2023-01-05'::timestamp`, `[[36]]`},
		{`SELECT COUNT(*) FROM visits WHERE date_trunc('day', seen) >= '2023-01-05 00:00:00'`, `[[714]]`},
		{`SELECT COUNT(*) FROM visits WHERE seen::date >= '2023-01-05'::timestamp`, `[[714]]`},
		{`SELECT COUNT(*) FROM visits WHERE date_trunc('hour', seen) = '2023-01-05 02:00'`, `[[9]]`},
		{`SELECT COUNT(*) FROM visits WHERE date_trunc('hour', seen) >= '2023-01-05T10:00:00Z'`, `[[696]]`},
		{`SELECT COUNT(*) FROM visits WHERE seen >= '2023-01-05 10:00:00+00'`, `[[696]]`},
		{`SELECT COUNT(*) FROM visits WHERE seen >= '2023-01-05 12:00:00+02'`, `[[696]]`},
		{`SELECT COUNT(*) FROM visits WHERE seen >= '2023-01-05T10:00:00.000Z'`, `[[696]]`},
		{`SELECT COUNT(*) FROM visits WHERE seen >= '2023-01-05 10:00:00.000000'::timestamptz`, `[[696]]`},
		{`SELECT COUNT(*) FROM visits WHERE day BETWEEN '2023-03-01T00:00:00Z' AND '2023-03-31T23:59:59.999Z'`, `[[72]]`},
		{`SELECT COUNT(*) FROM visits WHERE date_trunc('hour', seen) > '2023-01-05 09:59:59.999'`, `[[696]]`},
		{`SELECT SUM(CASE WHEN seen >= '2023-01-05T10:00:00.000Z' THEN 1 ELSE 0 END) FROM visits`, `[[696]]`},
		{`SELECT SUM(n) FROM ` + hourly + ` WHERE h >= '2023-01-05T10:00:00.000Z'`, `[[696]]`},
		{`SELECT SUM(n) FROM ` + hourly + ` WHERE h >= '2023-01-05 12:00:00+02'`, `[[696]]`},
		{`SELECT SUM(n) FROM ` + hourly + ` WHERE h > '2023-01-05 09:59:59.999'`, `[[696]]`},
		{`SELECT SUM(n) FROM ` + hourly + ` WHERE h = '2023-01-05 02:00:00.5'`, `[[<nil>]]`},
		{`SELECT COUNT(*) FROM visits WHERE seen >= timestamp with time zone '2023-01-05 10:00:00.000Z'`, `[[696]]`},
		{`SELECT COUNT(*) FROM visits WHERE seen AT TIME ZONE 'UTC' >= TO_TIMESTAMP('2023-01-05 10:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')`, `[[696]]`},
		{`SELECT COUNT(*) FROM visits WHERE day >= TO_DATE('2023-03-02', 'YYYY-MM-DD')`, `[[696]]`},
		{`SELECT COUNT(*) FROM visits WHERE seen >= '2023-01-04 09:30:00+00'::timestamptz + '1 day 00:30'::interval`, `[[696]]`},
		{`SELECT COUNT(*) FROM visits WHERE INTERVAL '1 day' + day = TIMESTAMP '2023-03-03'`, `[[12]]`},
		{`SELECT COUNT(*) FROM visits WHERE day >= DATE '2023-03-09' - 7 AND day > -4 + '2023-03-01'::date AND seen < DATE '2023-12-31' + (1)`, `[[696]]`},
		{`SELECT SUM(n) FROM ` + monthly + ` WHERE m >= DATE '2023-03-08' - 7 AND m > TO_DATE('2023-02-01', 'YYYY-MM-DD') + 27`, `[[696]]`},
		{`SELECT DATE '2023-03-01' - DATE '2023-03-05'`, `[[-4]]`},
		{`SELECT COUNT(*) FROM visits WHERE EXTRACT(EPOCH FROM seen) >= 1672912800 AND date_trunc('second', seen) >= '2023-01-05'`, `[[696]]`},
		{`SELECT date_trunc('day', seen AT TIME ZONE 'UTC') AS d, COUNT(*) FROM visits GROUP BY date_trunc('day', seen AT TIME ZONE 'UTC') ORDER BY 1 LIMIT 2`, `[[2023-01-01 36] [2023-01-02 27]]`},
		{`SELECT SUM(n) FROM ` + hourly + ` WHERE h AT TIME ZONE 'UTC' >= TIMESTAMPTZ '2023-01-05 12:00:00+02' AND EXTRACT(EPOCH FROM h) > 0`, `[[696]]`},
		{`SELECT SUM(n) FROM ` + hourly + ` WHERE h - INTERVAL '1 hour' >= TO_TIMESTAMP('05.01.2023 09', 'DD.MM.YYYY HH24')`, `[[696]]`},
		{`SELECT m FROM generate_series('2023-01-01 00:00:00+00'::timestamptz, TIMESTAMPTZ '2023-01-01T01:00:00.000Z', '1 hour'::interval) AS g(m)`, `[[2023-01-01 00:00:00] [2023-01-01 01:00:00]]`},
		{`SELECT SUM(n) FROM ` + monthly + ` WHERE m >= '2023-03-01'::timestamp`, `[[696]]`},
		{`SELECT SUM(n) FROM ` + monthly + ` WHERE '2023-03-01T00:00:00Z' = m`, `[[72]]`},
		{`SELECT SUM(n) FROM ` + monthly + ` WHERE m IN ('2023-03-01'::timestamp, '2023-01-01')`, `[[156]]`},
		{`SELECT SUM(n) FROM ` + monthly + ` WHERE date(m, '+1 month') BETWEEN '2023-04-01 00:00' AND '2023-05-01 00:00'`, `[[144]]`},
		{`SELECT SUM(CASE m WHEN '2023-03-01'::timestamp THEN n ELSE 0 END) FROM ` + monthly, `[[72]]`},
		{`SELECT n FROM ` + monthly + ` WHERE m = (SELECT MIN(m) FROM ` + monthly + ` WHERE COALESCE(m, '2023-01-01') > '2023-02-01T00:00')`, `[[72]]`},
		{`SELECT name, n FROM months JOIN ` + monthly + ` ON months.m = q.m ORDER BY q.m`, `[[January 84] [February 60] [March 72]]`},
		{`SELECT COUNT(DISTINCT m) FROM (SELECT date_trunc('day', seen) AS m, COUNT(*) AS n FROM visits GROUP BY 1 UNION ALL SELECT date_trunc('hour', seen), COUNT(*) FROM visits GROUP BY 1) AS q`, `[[672]]`},
		{`SELECT day, COUNT(*) FROM visits GROUP BY day HAVING day = '2023-03-02'::timestamp OR day IN ('2023-03-03T00:00')`, `[[2023-03-02 12] [2023-03-03 0]]`},
		{`SELECT g.m, n FROM ` + months + ` LEFT JOIN ` + monthly + ` ON g.m = q.m ORDER BY 1 LIMIT 2`, `[[2023-01-01 00:00:00 84] [2023-02-01 00:00:00 60]]`},
		{`SELECT name, g.m FROM ` + months + ` JOIN months ON months.m = g.m`, `[[January 2023-01-01 00:00:00] [February 2023-02-01 00:00:00] [March 2023-03-01 00:00:00]]`},
		{`SELECT m FROM generate_series('2023-01-31', '2023-02-01', '12 hours') AS g(m)`, `[[2023-01-31 00:00:00] [2023-01-31 12:00:00] [2023-02-01 00:00:00]]`},
		{`SELECT m FROM generate_series('2023-01-31', '2023-02-01', '1 day') AS g(m)`, `[[2023-01-31] [2023-02-01]]`},

		{`SELECT COUNT(*) FROM visits WHERE EXTRACT(MONTH FROM day) = '3'`, `[[72]]`},
		{`SELECT COUNT(*) FROM visits WHERE EXTRACT(MONTH FROM day) IN ('1', '2')`, `[[144]]`},
		{`SELECT COUNT(*) FROM visits WHERE EXTRACT(MONTH FROM day) BETWEEN '3' AND '4'`, `[[144]]`},
		{`SELECT COUNT(*) FROM visits WHERE CASE EXTRACT(DOW FROM day) WHEN '0' THEN 1 ELSE 0 END + EXTRACT(MONTH FROM day) >= '12'`, `[[77]]`},
		{`SELECT COUNT(*) FROM visits WHERE EXTRACT(HOUR FROM seen) < '24'`, `[[840]]`},
		{`SELECT COUNT(*) FROM visits WHERE CAST(strftime('%m', day) AS INTEGER) = '3'`, `[[72]]`},
		{`SELECT COUNT(*) FROM visits WHERE minutes / 10 = '3'`, `[[70]]`},
		{`SELECT COUNT(*) FROM visits WHERE LENGTH(dept) = '1'`, `[[840]]`},
		{`SELECT COUNT(*) FROM (SELECT dept, COUNT(*) AS n FROM visits GROUP BY 1) AS q WHERE n >= '280' AND '2' < n / 100 + 1`, `[[3]]`},
	}) {
		if r, err := s.Exec(t.Context(), c.text, nil); err != nil {
			t.Errorf("%s\n%v", c.text, err)
		} else if got := fmt.Sprint(r.Rows); got != c.want {
			t.Errorf("%s\ngot %s, want %s", c.text, got, c.want)
		}
	}
}
