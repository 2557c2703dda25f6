package engine_test

import (
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"dpsql/engine"
)

var rowsOfMonth = flag.Int("monthly", 1000, "rows of each of the 120 months of BenchmarkCountOverParts; docs/periods.md has 100000")

// decade is a table of ten years with two releases of each month, and an index on the date.
var decade = struct {
	sync.Once
	s *engine.Session
}{}

// BenchmarkCountOverParts counts over 120 monthly parts. The rows decide how long the parts take to
// build, and hardly how long they take to answer: an identity release has as many cells as its
// columns have values, here 2·100 a day.
func BenchmarkCountOverParts(b *testing.B) {
	decade.Do(func() {
		s := open(b, filepath.Join(b.TempDir(), "decade.db"), engine.Options{}).NewSession()
		s.DB().SetNow(func() time.Time { return dayOf(2026, 1, 10) })
		fill(b, s, `CREATE TABLE raw_visits (sex TEXT, age INTEGER, visited TEXT)`, fmt.Sprintf(
			`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
				INSERT INTO raw_visits SELECT CASE WHEN i %% 2 THEN 'F' ELSE 'M' END, i * 7919 %% 100, date('2016-01-01', (i * 3653 / %[1]d) || ' days') FROM n`,
			120**rowsOfMonth), `CREATE INDEX raw_visited ON raw_visits (visited)`)
		must(b, s, `CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 99, visited DATE BETWEEN '2016-01-01' AND '2025-12-31')
			FROM raw_visits WITH (epsilon = 2, delta = 1e-9, period = 'month of visited')`)
		must(b, s, `CREATE RELEASE cells ON visits USING PROJECTION WITH (epsilon = 0.4) EACH PERIOD`)
		must(b, s, `CREATE RELEASE pairs ON visits USING MARGINALS WITH (epsilon = 0.4, degree = 2) EACH PERIOD`)
		must(b, s, `REFRESH RELEASE cells`)
		must(b, s, `REFRESH RELEASE pairs`)
		decade.s = s
	})
	for _, release := range []string{"cells", "pairs"} {
		for name, where := range map[string]string{"all": ``, "sex": ` WHERE sex = 'F'`, "days": ` WHERE sex = 'F' AND visited BETWEEN '2016-01-10' AND '2025-12-20'`} {
			b.Run(release+"/"+name, func(b *testing.B) {
				must(b, decade.s, `SET mechanism = `+release)
				for b.Loop() {
					must(b, decade.s, `SELECT COUNT(*) FROM visits`+where)
				}
			})
		}
		b.Run(release+"/by month", func(b *testing.B) {
			must(b, decade.s, `SET mechanism = `+release)
			for b.Loop() {
				must(b, decade.s, `SELECT strftime('%Y-%m', visited) AS m, COUNT(*) FROM visits GROUP BY m`)
			}
		})
	}
}

// BenchmarkRefresh builds the part of one month of a table of 120 months of 10^5 rows each, which
// came in order, with an index on the date and without one, in turns with a release over a table
// with the rows of that month alone. It reports the least times in ms, and how many times the
// second is the first. It takes a minute to make the tables:
//
//	go test ./engine -run XXX -bench 'Refresh$' -benchtime 30x
func BenchmarkRefresh(b *testing.B) {
	const months, perMonth = 120, 100_000
	database := func(first, rows int, domain, options string) *engine.Session {
		s := open(b, filepath.Join(b.TempDir(), "visits.db"), engine.Options{}).NewSession()
		s.DB().SetNow(func() time.Time { return time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC) })
		fill(b, s, `CREATE TABLE raw (visited DATE, sex TEXT, age INTEGER)`,
			fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
				INSERT INTO raw SELECT date('2020-01-01', (%d + i / %d) || ' months', (i %% %[3]d * 28 / %[3]d) || ' days'), CASE i %% 2 WHEN 0 THEN 'f' ELSE 'm' END, i * 7 %% 100 FROM n`,
				rows-1, first, perMonth))
		must(b, s, `CREATE PRIVATE TABLE visits (visited DATE BETWEEN `+domain+`, sex TEXT IN ('f', 'm'), age INTEGER BETWEEN 0 AND 99) FROM raw WITH (epsilon = 1000, delta = 1e-6`+options+`)`)
		return s
	}
	alone := database(81, perMonth, `'2026-10-01' AND '2026-10-31'`, "")
	all := database(0, months*perMonth, `'2020-01-01' AND '2029-12-31'`, `, period = 'month of visited'`)
	must(b, all, `CREATE RELEASE monthly ON visits (sex, age) USING PROJECTION WITH (epsilon = 0.4) EACH PERIOD`)
	must(b, all, `REFRESH RELEASE monthly PERIOD '2026-10'`)
	must(b, alone, `CREATE RELEASE first ON visits (sex, age) USING PROJECTION WITH (epsilon = 0.4)`)
	took := func(s *engine.Session, text string) float64 {
		start := time.Now()
		must(b, s, text)
		return time.Since(start).Seconds() * 1000
	}
	refresh := func(b *testing.B) {
		of, part := math.Inf(1), math.Inf(1)
		for b.Loop() {
			of = min(of, took(alone, `CREATE RELEASE again ON visits (sex, age) USING PROJECTION WITH (epsilon = 0.4)`))
			part = min(part, took(all, `REFRESH RELEASE monthly PERIOD '2026-10' AGAIN`))
			must(b, alone, `DROP RELEASE again`)
		}
		b.ReportMetric(of, "ms-alone")
		b.ReportMetric(part, "ms-part")
		b.ReportMetric(part/of, "times")
	}
	b.Run("whole table", refresh)
	fill(b, all, `CREATE INDEX raw_visited ON raw (visited)`)
	b.Run("index", refresh)
}
