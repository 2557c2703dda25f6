package engine_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"dpsql/engine"
)

// TestListsForPeople holds the brief forms of lists to 100 characters a line, frame and all,
// and FULL to everything.
func TestListsForPeople(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "clinic.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw_visits (sex TEXT, age INTEGER, ward TEXT)`, `INSERT INTO raw_visits VALUES ('F', 7, 'x'), ('M', 70, 'y')`)
	const budget = ` FROM raw_visits WITH (epsilon = 4, delta = 1e-6, interactive = 0.5, unit = rowid_, max_rows = `
	fill(t, s, `ALTER TABLE raw_visits ADD COLUMN rowid_ INTEGER`, `UPDATE raw_visits SET rowid_ = rowid`)
	must(t, s, `CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 99, ward TEXT)`+budget+`1)`)
	must(t, s, `CREATE PRIVATE TABLE stays (age INTEGER BETWEEN 0 AND 99)`+budget+`3)`)
	must(t, s, `CREATE RELEASE cells ON visits (sex, age) USING PROJECTION WITH (epsilon = 0.3333333333)`)
	must(t, s, `CREATE RELEASE wards ON visits USING PROJECTION WITH (epsilon = 0.05, delta = 1e-8, heavy = clip, clip = 400, rows = 4096)`)
	must(t, s, `CREATE RELEASE pairs ON visits (sex, age) USING MARGINALS WITH (epsilon = 0.5, delta = 1e-8, degree = 2)`)
	must(t, s, `CREATE MECHANISM live ON visits (sex, age) USING SMW WITH (epsilon = 1, max_updates = 4)`)
	for _, list := range []string{"RELEASES", "MECHANISMS", "BUDGET", "LEDGER"} {
		r, full := must(t, s, "SHOW "+list), must(t, s, "SHOW "+list+" FULL")
		if r.Brief == nil || full.Brief != nil || fmt.Sprint(r.Columns, r.Rows) != fmt.Sprint(full.Columns, full.Rows) || len(r.Brief.Rows) != len(r.Rows) {
			t.Errorf("SHOW %s has %v in brief; with FULL it has %v and %v", list, r.Brief, full.Brief, full.Rows)
			continue
		}
		width := 1
		for i, c := range r.Brief.Columns {
			most := utf8.RuneCountInString(c.Name)
			for _, row := range r.Brief.Rows {
				if row[i] != nil && (list != "BUDGET" || c.Name != "in words") { // which wraps
					most = max(most, utf8.RuneCountInString(fmt.Sprint(row[i])))
				}
			}
			width += most + 3
		}
		if width > 100 {
			t.Errorf("SHOW %s takes %d columns: %v", list, width, r.Brief.Rows)
		}
	}
	said := fmt.Sprint(must(t, s, "SHOW BUDGET").Brief.Rows, must(t, s, "SHOW RELEASES").Brief.Rows, must(t, s, "SHOW LEDGER").Brief.Rows)
	for _, want := range []string{"[stays, visits releases ε 2 1.12 56 % left for releases]", "more direct answers about stays or about", "more direct answers about visits, within ±50 (95 %)",
		"sparse, heavy clip ε 0.05, δ 1e-8", "identity ε 0.333]", "1 marginals, fitted", "budget declared raw_visits <nil>]"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
}
