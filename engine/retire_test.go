package engine_test

import (
	"path/filepath"
	"strings"
	"testing"

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

// TestNameOfAPart: a release that has the name of a part is found before the part is charged.
func TestNameOfAPart(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	must(t, s, `CREATE RELEASE "monthly[2026-01]" ON visits (sex) USING PROJECTION WITH (epsilon = 0.25, period = '2026-01')`)
	must(t, s, `CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	for range 2 {
		refused(t, s, sqlerr.Invalid, `REFRESH RELEASE monthly`)
	}
	if got := spentIn(t, s, "2026-01").Epsilon; got != epsilonOf(t, "0.25") {
		t.Errorf("2026-01 has spent %v", got)
	}
}
