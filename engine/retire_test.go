package engine_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// TestRetireNamesEveryReleaseWithoutPart: the rows of a retired period are not read through any
// table over them, so RETIRE names the releases of all these tables that have no part for it, and
// leaves out those whose table has no such period.
func TestRetireNamesEveryReleaseWithoutPart(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	for name, last := range map[string]string{"other": "2027-12-31", "short": "2026-02-28"} {
		must(t, s, `CREATE PRIVATE TABLE `+name+` (visited DATE BETWEEN '2026-01-01' AND '`+last+`') FROM raw_visits
			WITH (epsilon = 4, delta = 1e-6, period = 'month of visited')`)
	}
	must(t, s, `CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	must(t, s, `CREATE RELEASE days ON other USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	must(t, s, `CREATE RELEASE few ON short USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	const gone = " of visits is retired: its rows are not read any more"
	must(t, s, `REFRESH RELEASE monthly PERIOD '2026-03'`)
	noted(t, s, `RETIRE PERIOD '2026-03' OF visits`, "2026-03"+gone+"; it has no part in days")
	noted(t, s, `RETIRE PERIOD '2026-02' OF visits`, "2026-02"+gone+"; it has no part in days, few, monthly")
	noted(t, s, `RETIRE PERIOD '2026-02' OF other`, "2026-02 of other is retired already")
	for _, name := range []string{"monthly", "days", "few"} {
		must(t, s, `REFRESH RELEASE `+name+` PERIOD '2026-01'`)
	}
	noted(t, s, `RETIRE PERIOD '2026-01' OF visits`, "2026-01"+gone)
}

// TestRetireWhatTablesHave: nothing takes RETIRE back, so it refuses a period in which no table over
// these rows has any, as a typing error gives. What a dropped table was charged for can be retired:
// its rows can be declared again.
func TestRetireWhatTablesHave(t *testing.T) {
	t.Parallel()
	t.Run("months", func(t *testing.T) {
		t.Parallel()
		s, _ := growing(t, "")
		before := ledger(t, s)
		e := refused(t, s, sqlerr.Invalid, `RETIRE PERIOD '2016-01' OF visits`)
		if !strings.Contains(e.Message, "no table over raw_visits has rows of 2016-01") || e.Hint != "they have those of 2026-01 to 2027-12" {
			t.Errorf("%v, hint %s", e, e.Hint)
		}
		e = refused(t, s, sqlerr.Invalid, `RETIRE PERIOD '2042-01' OF visits`)
		if !strings.Contains(e.Message, "no table over raw_visits has rows of 2042-01") {
			t.Error(e)
		}
		must(t, s, `CREATE PRIVATE TABLE older (visited DATE BETWEEN '2024-01-01' AND '2025-12-31') FROM raw_visits
			WITH (epsilon = 4, delta = 1e-6, period = 'month of visited')`)
		if after := ledger(t, s); strings.Contains(after, "retire") {
			t.Errorf("the ledger was\n%sand is\n%s", before, after)
		}
		must(t, s, `RETIRE PERIOD '2024-02' OF visits`)
		must(t, s, `CREATE RELEASE once ON older USING PROJECTION WITH (epsilon = 0.5, period = '2025-12')`)
		must(t, s, `DROP RELEASE once`)
		must(t, s, `DROP PRIVATE TABLE older`)
		must(t, s, `RETIRE PERIOD '2025-12' OF visits`)
		refused(t, s, sqlerr.Invalid, `RETIRE PERIOD '2025-11' OF visits`) // never charged
	})
	t.Run("values", func(t *testing.T) {
		t.Parallel()
		s := open(t, filepath.Join(t.TempDir(), "batches.db"), engine.Options{}).NewSession()
		fill(t, s, `CREATE TABLE raw (batch INTEGER, region TEXT)`, `INSERT INTO raw VALUES (1, 'north'), (4, 'south')`)
		must(t, s, `CREATE PRIVATE TABLE batches (batch INTEGER IN (1, 4, 7)) FROM raw WITH (epsilon = 4, delta = 1e-6, period = 'batch')`)
		e := refused(t, s, sqlerr.Invalid, `RETIRE PERIOD '5' OF batches`)
		if e.Hint != "they have those of 1, 4, 7" {
			t.Errorf("%v, hint %s", e, e.Hint)
		}
		must(t, s, `RETIRE PERIOD '4' OF batches`)
	})
}

// TestRetiredPeriods: nothing reads the rows of a retired period, which may be deleted; what was
// built from them answers on.
func TestRetiredPeriods(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	quieten(s.DB())
	must(t, s, `CREATE RELEASE monthly ON visits USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	must(t, s, `CREATE MECHANISM live ON visits (sex) USING SMW WITH (epsilon = 0.5, max_updates = 2, queries = 100, prior = uniform)`)
	must(t, s, `REFRESH RELEASE monthly`)
	must(t, s, `RETIRE PERIOD '2026-01' OF visits`)
	fill(t, s, `DELETE FROM raw_visits WHERE visited < '2026-02-01'`)
	if got := count(t, s, `SELECT COUNT(*) FROM visits WHERE visited < '2026-03-01'`); got != 4*59 {
		t.Errorf("the parts have %d rows, want %d", got, 4*59)
	}
	must(t, s, `SET accuracy = 100`)
	must(t, s, `SET mechanism = direct`)
	e := refused(t, s, sqlerr.Invalid, `SELECT COUNT(*) FROM visits WHERE visited < '2026-03-01'`)
	if !strings.Contains(e.Message, "2026-01 of raw_visits is retired") {
		t.Errorf("refused by %q", e.Message)
	}
	must(t, s, `SELECT COUNT(*) FROM visits WHERE visited BETWEEN '2026-02-01' AND '2026-02-28'`)
	must(t, s, `SET mechanism = live`)
	refused(t, s, sqlerr.Uncovered, `SELECT COUNT(*) FROM visits WHERE sex = 'F'`)
	must(t, s, `SET accuracy = none`)
	must(t, s, `SET mechanism = auto`)
	must(t, s, `DROP RELEASE monthly`)
	e = refused(t, s, sqlerr.Uncovered, `SELECT COUNT(*) FROM visits WHERE visited < '2026-03-01'`)
	if !strings.Contains(e.Hint, "2026-01 of raw_visits is retired") {
		t.Errorf("the hint is %q", e.Hint)
	}
	before := spentIn(t, s, "2026-01")
	refused(t, s, sqlerr.Invalid, `CREATE RELEASE all_of_it ON visits (sex) USING PROJECTION WITH (epsilon = 0.1)`)
	must(t, s, `CREATE RELEASE rest ON visits (sex) USING PROJECTION WITH (epsilon = 0.1, period = '2026-02 to 2026-11')`)
	if got := spentIn(t, s, "2026-01"); got != before {
		t.Errorf("2026-01 has spent %v, and %v when it was retired", got, before)
	}
	must(t, s, `DROP MECHANISM live`)
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
