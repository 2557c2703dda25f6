package engine_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/internal/period"
	"dpsql/sqlerr"
)

// TestPeriodNumberZero: the first text, the value 0, and the day, week, month, quarter and year that
// are number 0 are periods as any other. Releases, parts, mechanisms and row counts over one are
// about its rows alone, and no other period pays or is paid back.
func TestPeriodNumberZero(t *testing.T) {
	t.Parallel()
	for _, step := range []struct{ name, column, by, first, second, in, notIn string }{
		{"texts", `p TEXT IN ('a', 'b')`, "p", "a", "b", `p = 'a'`, `p = 'b'`},
		{"values", `p INTEGER IN (0, 1)`, "p", "0", "1", `p = 0`, `p = 1`},
		{"days", `p DATE BETWEEN '1970-01-01' AND '1970-01-02'`, "day of p", "1970-01-01", "1970-01-02", `p = '1970-01-01'`, `p = '1970-01-02'`},
	} {
		t.Run(step.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, filepath.Join(t.TempDir(), "zero.db"), engine.Options{}).NewSession()
			s.DB().SetNow(func() time.Time { return dayOf(1970, 1, 4) })
			quieten(s.DB())
			fill(t, s, `CREATE TABLE raw (p, g TEXT)`,
				`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)
					INSERT INTO raw SELECT CASE WHEN i < 100 THEN '`+step.first+`' ELSE '`+step.second+`' END, CASE i % 2 WHEN 0 THEN 'x' ELSE 'y' END FROM n`)
			if step.name == "values" {
				fill(t, s, `UPDATE raw SET p = CAST(p AS INTEGER)`)
			}
			must(t, s, `CREATE PRIVATE TABLE t (`+step.column+`, g TEXT IN ('x', 'y')) FROM raw WITH (epsilon = 8, delta = 1e-6, period = '`+step.by+`')`)
			must(t, s, `CREATE RELEASE plain ON t (g) USING PROJECTION WITH (epsilon = 0.25, period = '`+step.first+`')`)
			must(t, s, `CREATE RELEASE each ON t (g) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
			noted(t, s, `REFRESH RELEASE each PERIOD '`+step.first+`'`, "each: built "+step.first+"; 1 part")
			noted(t, s, `REFRESH RELEASE each PERIOD '`+step.first+`'`, "each: nothing to build; 1 part")
			must(t, s, `CREATE MECHANISM live ON t (g) USING SMW WITH (epsilon = 1, max_updates = 2, queries = 100, prior = uniform, period = '`+step.first+`')`)
			const asked = `SELECT COUNT(*) FROM t WHERE `
			for _, via := range []string{"plain", "each", "live"} {
				must(t, s, `SET mechanism = `+via)
				if got := count(t, s, asked+step.in); via != "live" && got != 100 {
					t.Errorf("%s has %d rows of the period", via, got)
				}
				for _, where := range []string{step.notIn, `g = 'x'`} {
					refused(t, s, sqlerr.Uncovered, asked+where)
				}
			}
			other := spentIn(t, s, step.second)
			if other != (accounting.Amount{}) {
				t.Errorf("%s has spent %v", step.second, other)
			}
			must(t, s, `DROP MECHANISM live`)
			if got := spentIn(t, s, step.second); got != other {
				t.Errorf("after DROP MECHANISM %s has spent %v", step.second, got)
			}
			if step.name == "days" {
				noted(t, s, `REFRESH RELEASE each`, "each: built 1970-01-02; 2 parts")
			} else {
				noted(t, s, `REFRESH RELEASE each PERIOD '`+step.second+`'`, "each: built "+step.second+"; 2 parts")
			}
			must(t, s, `SET mechanism = auto`)
			if got := count(t, s, `SELECT COUNT(*) FROM t`); got != 300 {
				t.Errorf("both parts have %d rows", got)
			}
			noted(t, s, `REFRESH RELEASE each PERIOD '`+step.first+`' AGAIN`, "each: built "+step.first+"; 2 parts")
			must(t, s, `DROP RELEASE each PERIOD '`+step.first+`'`)
			if e := refused(t, s, sqlerr.Uncovered, `SELECT COUNT(*) FROM t`); !strings.Contains(e.Message, "no part for "+step.first+":") {
				t.Error(e)
			}
		})
	}
}

// TestGrantsAreOfAllPeriods: the line of a grant in the ledger is about no period in particular.
func TestGrantsAreOfAllPeriods(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "visits.db")
	s, _ := growingAt(t, path, "")
	admits(t, s, `GRANT SELECT ON visits TO %s WITH (rho = 0.01)`)
	err := s.DB().Store().Read(t.Context(), func(tx *catalog.Tx) error {
		lines, err := tx.Ledger()
		if last := lines[len(lines)-1]; !strings.HasPrefix(last.Action, "granted") || last.Over != period.All {
			t.Errorf("the last line is %v", last)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
