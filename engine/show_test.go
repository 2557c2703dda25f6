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
	for _, want := range []string{"[stays, visits releases ε 2 1.12 56 % left for releases]", "direct answers about stays or about", "direct answers about visits, within ±50 (95 %)",
		"sparse, heavy clip ε 0.05, δ 1e-8", "identity ε 0.333]", "1 marginals, fitted", "budget declared raw_visits <nil>]"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
}

// TestExplainForPeople compares the brief form of EXPLAIN with the whole, and asks for a sum
// that no noise can be as small for as is asked.
func TestExplainForPeople(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "pay.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (a INTEGER, b INTEGER, pay INTEGER, sum INTEGER)`)
	must(t, s, `CREATE PRIVATE TABLE t (a INTEGER BETWEEN 0 AND 99999, b INTEGER BETWEEN 0 AND 99999, pay INTEGER BETWEEN 0 AND 9, sum INTEGER BETWEEN 0 AND 9999)
		FROM raw WITH (epsilon = 2, delta = 1e-6)`)
	const ask = ` SELECT COUNT(*) FROM t WHERE a < 77777`
	r, full := must(t, s, `EXPLAIN`+ask), must(t, s, `EXPLAIN FULL`+ask)
	if full.Brief != nil || fmt.Sprint(r.Rows) != fmt.Sprint(full.Rows) {
		t.Errorf("FULL has %v and %v, not %v", full.Rows, full.Brief, r.Rows)
	}
	for want, in := range map[string]any{"[direct direct all 777770000000000 50 ρ 0.000753058854039 not": r.Rows, "[direct direct 7.8·10¹⁴ 50 ρ 0.00075 not": r.Brief.Rows} {
		if got := fmt.Sprint(in); !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	for _, ask := range []string{`SELECT SUM(sum) FROM t`, `SELECT SUM(sum), COUNT(*) FROM t`} {
		if got := must(t, s, `EXPLAIN `+ask).Rows[0]; got[0] != "direct" || got[4] != nil && got[4] != "50" || got[5] != nil {
			t.Errorf("%s: %v, want no cost", ask, got)
		}
	}
	if got := must(t, s, `EXPLAIN FULL SELECT 1`).Rows; got[0][0] != "sqlite" {
		t.Errorf("without a private table: %v", got)
	}
}
