package engine_test

import (
	"testing"

	"dpsql/engine"
)

// The analyst role is told no times and no steps of progress, whatever it asks:
// how long a statement takes can tell of private rows.
func TestAnalystsSeeNoTimes(t *testing.T) {
	s := clinic(t)
	must(t, s, `CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.5)`)
	must(t, s, `CREATE MECHANISM live ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 1, max_updates = 4)`)
	analyst := asAnalyst(t, s)
	for _, who := range []*engine.Session{s, analyst} {
		steps, times := 0, 0
		who.SetProgress(func(done, all int64) { steps++ })
		all := []string{
			`SHOW TABLES`, `SHOW LEDGER`, `DESCRIBE admissions`, `SET accuracy = 60`,
			`SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND age < 7`,
			`SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND diagnosis = 'E10'`,
			`EXPLAIN SELECT COUNT(*) FROM admissions WHERE zip = '15210'`,
			`SELECT COUNT(*) FROM admissions WHERE zip = '15210'`,
			`SELECT COUNT(*) FROM admissions WHERE zip = '15210'`,
			`SELECT diagnosis, COUNT(*), AVG(age) FROM admissions WHERE zip = '15211' GROUP BY diagnosis`,
			`SELECT COUNT(*) FROM admissions WHERE age = 999`,
		}
		for _, text := range all {
			if must(t, who, text).Elapsed != 0 {
				times++
			}
		}
		if who == analyst && (steps != 0 || times != 0) {
			t.Errorf("the analyst role is told %d times and %d steps", times, steps)
		}
		if who == s && (steps == 0 || times != len(all)) {
			t.Errorf("a curator is told %d times of %d, and %d steps", times, len(all), steps)
		}
	}
}
