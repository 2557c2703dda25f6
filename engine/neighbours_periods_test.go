package engine_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"dpsql/engine"
)

// lived is a statement of a history, at a time of the table's clock.
type lived struct {
	at, text string
	reads    bool // its answer is from March, through charged noise
}

// TestNeighbouringHistoriesLookAlike lives through one history twice. The second table lacks the
// five rows that a patient has in March, from the beginning; two of them count. Both histories have
// the same noise. Whatever does not read March must be the same to the last byte: answers of parts,
// direct answers, mechanisms, plans, refusals, budgets, the ledger, what REFRESH says. What reads
// March, through a part, a release or an answer that was charged to it, may differ in its numbers
// alone, and some of it must.
func TestNeighbouringHistoriesLookAlike(t *testing.T) {
	t.Parallel()
	const m = "2026-03"
	history := []lived{
		{"2026-01-20T00:00:00Z", `CREATE RELEASE monthly ON visits USING PROJECTION WITH (epsilon = 0.4) EACH PERIOD`, false},
		{"", `CREATE RELEASE sexes ON visits (sex) USING MARGINALS WITH (epsilon = 0.2, delta = 1e-8) EACH PERIOD`, false},
		{"", `REFRESH RELEASE monthly`, false},
		{"", `SELECT COUNT(*) FROM visits`, false},
		{"2026-02-01T00:00:00Z", `REFRESH RELEASE monthly`, false},
		{"", `SELECT sex, COUNT(*) FROM visits WHERE visited < '2026-02-01' GROUP BY sex`, false},
		{"", `SET accuracy = 100`, false},
		{"2026-03-15T00:00:00Z", `SELECT COUNT(*) FROM visits WHERE visited < '2026-03-01'`, false},
		{"", `SELECT COUNT(*) FROM visits WHERE visited >= '2026-03-01'`, true},
		{"", `SELECT strftime('%m', visited) AS month, COUNT(*) FROM visits GROUP BY month`, true},
		{"", `SELECT COUNT(DISTINCT patient) FROM visits`, true},
		{"", `SELECT COUNT(DISTINCT patient) FROM visits WHERE visited < '2026-02-20'`, false},
		{"", `SELECT MEDIAN(visited) FROM visits WHERE visited < '2026-03-01'`, false},
		{"", `SELECT COUNT(*) FROM visits WHERE visited > '2026-05-01'`, false},
		{"", `CREATE RELEASE early ON visits (sex) USING PROJECTION WITH (epsilon = 0.1, period = '2026-01 to 2026-02')`, false},
		{"", `CREATE RELEASE so_far ON visits (sex) USING PROJECTION WITH (epsilon = 0.1)`, false},
		{"", `SELECT COUNT(*) FROM visits WHERE sex = 'F'`, true},
		{"", `EXPLAIN SELECT COUNT(*) FROM visits WHERE sex = 'F'`, true},
		{"", `CREATE MECHANISM live ON visits (sex, visited) USING SMW WITH (epsilon = 0.5, max_updates = 2, queries = 100, period = '2026-01 to 2026-02')`, false},
		{"", `SET mechanism = live`, false},
		{"", `SET accuracy = default`, false},
		{"", `SELECT COUNT(*) FROM visits WHERE visited BETWEEN '2026-01-10' AND '2026-02-10'`, false},
		{"", `SELECT COUNT(*) FROM visits WHERE sex = 'M' AND visited < '2026-03-01'`, false},
		{"", `SELECT COUNT(*) FROM visits WHERE sex = 'M'`, false}, // refused
		{"", `SET mechanism = auto`, false},
		{"", `SET accuracy = 100`, false},
		{"", `SHOW LEDGER`, false},
		{"2026-06-10T00:00:00Z", `REFRESH RELEASE monthly`, false},
		{"", `REFRESH RELEASE sexes`, false},
		{"", `SHOW BUDGET`, false},
		{"", `SHOW MECHANISMS`, false},
		{"", `SET accuracy = default`, false},
		{"", `SELECT COUNT(*) FROM visits WHERE visited BETWEEN '2026-04-01' AND '2026-05-31'`, false},
		{"", `SELECT COUNT(*) FROM visits WHERE visited BETWEEN '2026-02-10' AND '2026-05-31'`, true},
		{"", `EXPLAIN SELECT COUNT(*) FROM visits WHERE visited BETWEEN '2026-04-01' AND '2026-05-31'`, false},
		{"", `SELECT strftime('%m', visited) AS month, sex, COUNT(*) FROM visits WHERE visited BETWEEN '2026-04-01' AND '2026-05-31' GROUP BY month, sex`, false},
		{"", `SELECT COUNT(*) FROM visits WHERE visited < '2026-07-01'`, false},
		{"", `REFRESH RELEASE monthly PERIOD '2026-03' AGAIN`, false}, // cannot pay: the second of 0.4
		{"", `REFRESH RELEASE monthly PERIOD '2026-04' AGAIN`, false},
		{"", `SELECT COUNT(*) FROM visits WHERE visited BETWEEN '2026-04-02' AND '2026-05-30'`, false},
		{"", `RETIRE PERIOD '2026-03' OF visits`, false},
		{"", `SET accuracy = 100`, false},
		{"", `SET mechanism = direct`, false},
		{"", `SELECT COUNT(*) FROM visits WHERE visited BETWEEN '2026-03-02' AND '2026-03-30'`, false}, // refused
		{"", `SELECT COUNT(*) FROM visits WHERE visited BETWEEN '2026-04-02' AND '2026-06-30'`, false},
		{"", `DROP RELEASE monthly PERIOD '2026-03'`, false},
		{"", `REFRESH RELEASE monthly PERIOD '2026-03'`, false},
		{"", `REFRESH RELEASE monthly`, false},
		{"", `DROP MECHANISM live`, false},
		{"", `SHOW LEDGER`, false},
		{"", `SHOW BUDGET`, false},
		{"", `DESCRIBE visits`, false},
		{"", `SHOW TABLES`, false},
		{"", `DROP PRIVATE TABLE visits`, false},
	}
	first, second := liveThrough(t, history, ""), liveThrough(t, history, `DELETE FROM raw_visits WHERE patient = 1 AND visited LIKE '`+m+`-%'`)
	differ := 0
	for i, h := range history {
		a, b := first[i], second[i]
		if a != b {
			differ++
		}
		if h.reads {
			a, b = digits.ReplaceAllString(a, "#"), digits.ReplaceAllString(b, "#")
		}
		if a != b {
			t.Errorf("%s %s\n%s\nof the neighbour\n%s", h.at, h.text, a, b)
		}
	}
	if differ < 3 {
		t.Errorf("%d statements tell the tables apart, of 7 that read March", differ)
	}
}

// digits are the numbers of an answer, with what sets columns of them apart.
var digits = regexp.MustCompile(`-?[0-9][0-9.e+-]*`)

// liveThrough runs a history on a table, and returns all that is seen of each statement.
func liveThrough(t *testing.T, history []lived, change string) (seen []string) {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "visits.db"), engine.Options{}).NewSession()
	c := new(clock)
	s.DB().SetNow(func() time.Time { return c.now })
	fixed(s.DB(), 1000)
	fill(t, s, `CREATE TABLE raw_visits (patient INTEGER, sex TEXT, visited TEXT)`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3619)
			INSERT INTO raw_visits SELECT 2 + i % 90, CASE WHEN i % 2 THEN 'F' ELSE 'M' END, date('2026-01-01', (i / 20) || ' days') FROM n`,
		`INSERT INTO raw_visits SELECT 1, 'F', value FROM json_each('["2026-01-05", "2026-02-05", "2026-03-05", "2026-03-06", "2026-03-07", "2026-03-08", "2026-03-08", "2026-04-01"]')`)
	if change != "" {
		fill(t, s, change)
	}
	c.set(t, history[0].at)
	must(t, s, `CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M'), visited DATE BETWEEN '2026-01-01' AND '2027-12-31')
		FROM raw_visits WITH (epsilon = 2, delta = 1e-6, unit = patient, max_rows = 2, period = 'month of visited', time_zone = 'Europe/Berlin')`)
	for _, h := range history {
		if h.at != "" {
			c.set(t, h.at)
		}
		if h.text == `SHOW MECHANISMS` { // which counts what was given back: 100 ms after the last use, or now
			if err := s.DB().Answers().Close(); err != nil {
				t.Error(err)
			}
		}
		seen = append(seen, seenOf(s.Exec(t.Context(), h.text, nil)))
	}
	return seen
}

// stamped are the times and hashes of a ledger, which are those of the machine.
var stamped = regexp.MustCompile(`20[0-9]{2}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}Z)?|\b[0-9a-f]{16}\b`)

func seenOf(r *engine.Result, err error) string {
	if err != nil {
		return "error " + err.Error()
	}
	var b strings.Builder
	fmt.Fprintln(&b, r.Columns, r.Note, r.Warnings)
	for i, row := range r.Rows {
		fmt.Fprintln(&b, row...)
		if r.Answer != nil && r.Answer.Margins != nil {
			fmt.Fprintln(&b, r.Answer.Margins[i]...)
		}
	}
	if a := r.Answer; a != nil {
		fmt.Fprintln(&b, a.Via, a.Mechanism, a.Support, a.Cost, a.Verified, a.Confidence)
	}
	return stamped.ReplaceAllString(b.String(), "")
}
