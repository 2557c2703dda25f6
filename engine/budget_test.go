package engine_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// TestBudgetOfPeriods shows the budget of a table's months as they begin, end and are retired.
func TestBudgetOfPeriods(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "clinic.db"), engine.Options{})
	now := time.Date(2024, 4, 10, 12, 0, 0, 0, time.UTC)
	db.SetNow(func() time.Time { return now })
	s := db.NewSession()
	fill(t, s, `CREATE TABLE raw_visits (patient INTEGER, sex TEXT, came TEXT)`, `INSERT INTO raw_visits VALUES (1, 'F', '2024-01-05'), (1, 'F', '2024-02-05'), (2, 'M', '2024-02-09')`)
	const budget = ` FROM raw_visits WITH (epsilon = 1, delta = 1e-6, unit = patient, max_rows = 2`
	must(t, s, `CREATE PRIVATE TABLE flat (sex TEXT IN ('F', 'M'))`+budget+`)`)
	must(t, s, `CREATE RELEASE before ON flat USING PROJECTION WITH (epsilon = 0.1)`)
	must(t, s, `CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M'), came DATE BETWEEN '2024-01-01' AND '2024-12-31')`+budget+`, period = 'month of came')`)
	must(t, s, `CREATE RELEASE monthly ON visits USING PROJECTION WITH (epsilon = 0.2) EACH PERIOD`)

	show := func(table string) (lines []string) {
		for _, row := range must(t, s, `SHOW BUDGET FOR `+table+` FULL`).Rows {
			words, _ := row[9].(string)
			if !strings.Contains(words, "so far") {
				words = ""
			}
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%v: %v %v, ε %v of which left %v %s", row[0], row[1], row[2], row[3], row[4], words)))
		}
		return lines
	}
	expect := func(when string, want ...string) {
		t.Helper()
		got := show("visits")
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	expect("at first",
		"2024-01 to 2024-03: 3 ended, ε 0.1 of which left 0.4",
		"2024-04: 1 running, ε 0.1 of which left 0.4",
		"2024-05 to 2024-12: 8 not begun, ε 0.1 of which left 0.4",
		"a unit with rows in 1 period: 1 <nil>, ε 0.1 of which left <nil> (0.1, 0) so far, at most (1, 1e-6)",
		"one with rows in all 4 so far: 4 <nil>, ε 0.1 of which left <nil> (0.1, 0) so far, at most (2.68, 4e-6) by answers about one period each, and (3.78, 4e-6) by answers that span them")
	must(t, s, `REFRESH RELEASE monthly`)
	must(t, s, `REFRESH RELEASE monthly PERIOD '2024-02' AGAIN`)
	must(t, s, `RETIRE PERIOD '2024-01' OF visits`)
	expect("after a refresh",
		"2024-01: 1 retired, ε 0.3 of which left 0.2",
		"2024-02: 1 ended, ε 0.5 of which left 0",
		"2024-03: 1 ended, ε 0.3 of which left 0.2",
		"2024-04: 1 running, ε 0.1 of which left 0.4",
		"2024-05 to 2024-12: 8 not begun, ε 0.1 of which left 0.4",
		"a unit with rows in 1 period: 1 <nil>, ε 0.5 of which left <nil> (0.5, 0) so far, at most (1, 1e-6)",
		"one with rows in all 4 so far: 4 <nil>, ε 0.9 of which left <nil> (0.9, 0) so far, at most (2.68, 4e-6) by answers about one period each, and (3.78, 4e-6) by answers that span them")
	now = time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	if got := show("visits"); !strings.HasPrefix(got[3], "2024-04: 1 ended") || !strings.HasPrefix(got[4], "2024-05: 1 running") {
		t.Errorf("on May 1st: %q", got)
	}
	if got := show("flat"); len(got) != 1 || got[0] != "all: <nil> <nil>, ε 0.5 of which left 0" {
		t.Errorf("without periods: %q", got)
	}
	var periods []string
	for _, row := range must(t, s, `SHOW LEDGER`).Rows {
		periods = append(periods, fmt.Sprint(row[10]))
	}
	if got := strings.Join(periods, " "); got != "all all all 2024-01 2024-02 2024-03 2024-02 2024-01" {
		t.Errorf("the ledger is over %s", got)
	}
	if got := fmt.Sprint(must(t, s, `SHOW BUDGET`).Rows[0]); !strings.Contains(got, "0 % left for releases; in the period with the least; SHOW BUDGET FOR visits lists them") {
		t.Errorf("SHOW BUDGET: %s", got)
	}
	if got := must(t, s, `DESCRIBE visits`).Note; !strings.HasPrefix(got, "each month of came has a budget of (ε, δ) = (1, 1e-6); a unit with rows in k months has (kε, kδ)") {
		t.Errorf("DESCRIBE says %q", got)
	}
	if got := must(t, s, `DESCRIBE flat`).Note; got != "" {
		t.Errorf("DESCRIBE says %q of a table without periods", got)
	}
	if _, err := s.Exec(t.Context(), `SHOW BUDGET FOR absent`, nil); sqlerr.CodeOf(err) != sqlerr.Unknown {
		t.Errorf("of no table: %v", err)
	}
}

// TestPeriodsAfterCharges declares periods over rows that have a budget without them. What was
// spent counts in every period, and a mechanism of before gives back to all of them.
func TestPeriodsAfterCharges(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "clinic.db"), engine.Options{})
	db.SetNow(func() time.Time { return time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC) })
	s := db.NewSession()
	fill(t, s, `CREATE TABLE raw_visits (patient INTEGER, sex TEXT, visited TEXT)`,
		`INSERT INTO raw_visits VALUES (1, 'F', '2024-01-05'), (1, 'F', '2024-02-05'), (2, 'M', '2024-02-09'), (3, 'F', '2025-06-01')`)
	for _, text := range []string{
		`CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M'), visited DATE BETWEEN '2024-01-01' AND '2025-12-31') FROM raw_visits
			WITH (epsilon = 1, delta = 1e-6, unit = patient, max_rows = 2)`,
		`CREATE RELEASE by_sex ON visits (sex) USING PROJECTION WITH (epsilon = 0.1)`,
		`SET accuracy = 200`, `SELECT COUNT(*) FROM visits WHERE visited < '2024-06-01'`, `SET accuracy = default`,
		`CREATE MECHANISM live ON visits (sex) USING SMW WITH (epsilon = 0.1, max_updates = 2, queries = 100)`,
	} {
		must(t, s, text)
	}
	left := func() (all string) {
		for _, row := range must(t, s, `SHOW BUDGET FOR months FULL`).Rows {
			if row[8] != nil {
				all += fmt.Sprintf("%v: ε %v, ρ %v\n", row[0], row[4], row[8])
			}
		}
		return all
	}
	const over = ` FROM raw_visits WITH (epsilon = 1, delta = 1e-6, unit = patient, max_rows = 2`
	if _, err := s.Exec(t.Context(), `CREATE PRIVATE TABLE months (sex TEXT IN ('F', 'M'), visited DATE BETWEEN '2024-01-01' AND '2025-12-31') FROM raw_visits
		WITH (epsilon = 1, delta = 1e-6, period = 'month of visited')`, nil); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("another unit: %v", err)
	}
	must(t, s, `CREATE PRIVATE TABLE months (sex TEXT IN ('F', 'M'), visited DATE BETWEEN '2024-01-01' AND '2025-12-31')`+over+`, period = 'month of visited')`)
	if got := left(); got != "2024-01 to 2025-12: ε 0.4, ρ 0.0057362888517\n" {
		t.Errorf("at first %s", got)
	}
	must(t, s, `CREATE RELEASE monthly ON months USING PROJECTION WITH (epsilon = 0.4) EACH PERIOD`)
	must(t, s, `REFRESH RELEASE monthly PERIOD '2024-02'`)
	must(t, s, `DROP MECHANISM live`)
	if got, want := left(), "2024-01: ε 0.4, ρ 0.006030728341544\n2024-02: ε 0, ρ 0.006030728341544\n2024-03 to 2025-12: ε 0.4, ρ 0.006030728341544\n"; got != want {
		t.Errorf("at last %s, want %s", got, want)
	}
	if _, err := s.Exec(t.Context(), `CREATE RELEASE more ON visits (sex) USING PROJECTION WITH (epsilon = 0.1)`, nil); sqlerr.CodeOf(err) != sqlerr.Budget {
		t.Errorf("a table without periods spends what February does not have: %v", err)
	}
	if r := must(t, s, `SELECT COUNT(*) FROM visits WHERE visited < '2024-06-01'`); r.Answer == nil || len(r.Rows) != 1 {
		t.Errorf("the stored answer of before is gone: %v", r.Rows)
	}
}

// TestRetiredForEveryTable retires a month and asks through a table without periods, whose answers
// are of all rows: directly, by a mechanism whose run is open, and by a new release.
func TestRetiredForEveryTable(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "clinic.db"), engine.Options{})
	db.SetNow(func() time.Time { return time.Date(2024, 4, 10, 12, 0, 0, 0, time.UTC) })
	s := db.NewSession()
	fill(t, s, `CREATE TABLE raw_visits (sex TEXT, came TEXT)`, `INSERT INTO raw_visits VALUES ('F', '2024-01-05'), ('F', '2024-02-05'), ('M', '2024-02-09')`)
	const budget = ` FROM raw_visits WITH (epsilon = 40, delta = 1e-6`
	must(t, s, `CREATE PRIVATE TABLE flat (sex TEXT IN ('F', 'M'))`+budget+`)`)
	must(t, s, `CREATE RELEASE before ON flat USING PROJECTION WITH (epsilon = 0.1)`)
	must(t, s, `CREATE MECHANISM live ON flat USING SMW WITH (epsilon = 5, max_updates = 3, queries = 100)`)
	must(t, s, `SET mechanism = live`)
	must(t, s, `SELECT COUNT(*) FROM flat WHERE sex = 'F'`)
	must(t, s, `CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M'), came DATE BETWEEN '2024-01-01' AND '2024-12-31')`+budget+`, period = 'month of came')`)
	must(t, s, `RETIRE PERIOD '2024-01' OF visits`)
	lines := ledger(t, s)
	for setting, text := range map[string]string{"live": `SELECT COUNT(*) FROM flat WHERE sex = 'M'`, "direct": `SELECT COUNT(*) FROM flat WHERE sex = 'M'`,
		"auto": `CREATE RELEASE after ON flat USING PROJECTION WITH (epsilon = 0.1)`} {
		must(t, s, `SET mechanism = `+setting)
		must(t, s, `SET accuracy = 20`)
		_, err := s.Exec(t.Context(), text, nil)
		if err == nil || !strings.Contains(err.Error(), "2024-01") || !strings.Contains(err.Error(), "retired") {
			t.Errorf("%s by %s: %v", text, setting, err)
		}
	}
	must(t, s, `SET accuracy = default`)
	must(t, s, `SET mechanism = before`)
	must(t, s, `SELECT COUNT(*) FROM flat`)
	must(t, s, `DROP MECHANISM live`) // and its runs come back
	if now := ledger(t, s); !strings.HasPrefix(now, lines) || strings.Count(now, "\n") != strings.Count(lines, "\n")+1 {
		t.Errorf("the ledger goes on with\n%s", strings.TrimPrefix(now, lines))
	}
}
