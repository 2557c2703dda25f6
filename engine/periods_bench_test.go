package engine_test

import (
	"flag"
	"fmt"
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
