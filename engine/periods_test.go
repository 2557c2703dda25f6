package engine_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/internal/period"
	"dpsql/sqlerr"
)

// clock is a clock that a test sets.
type clock struct{ now time.Time }

func (c *clock) set(t testing.TB, text string) {
	t.Helper()
	now, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	c.now = now
}

// growing opens a database with 4 rows of each day of 2026 and 2027, NULLs and nonsense, declared
// by month, and a clock that stands in November 2026.
func growing(t testing.TB, options string) (*engine.Session, *clock) {
	t.Helper()
	return growingAt(t, filepath.Join(t.TempDir(), "visits.db"), options)
}

func growingAt(t testing.TB, path, options string) (*engine.Session, *clock) {
	t.Helper()
	c := new(clock)
	c.set(t, "2026-11-23T12:00:00Z")
	copyOf(t, path, "a table that grows"+options, func(s *engine.Session) { declareGrowing(t, s, c, options) })
	s := open(t, path, engine.Options{}).NewSession()
	s.DB().SetNow(func() time.Time { return c.now })
	return s, c
}

func declareGrowing(t testing.TB, s *engine.Session, c *clock, options string) {
	t.Helper()
	s.DB().SetNow(func() time.Time { return c.now })
	fill(t, s, `CREATE TABLE raw_visits (patient INTEGER, sex TEXT, visited TEXT)`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2919)
			INSERT INTO raw_visits SELECT i % 500, CASE WHEN i % 2 THEN 'F' ELSE 'M' END, date('2026-01-01', (i / 4) || ' days') FROM n`,
		`INSERT INTO raw_visits VALUES (1, 'F', NULL), (1, 'F', 'never'), (1, 'F', '2025-12-31'), (1, 'F', '2028-01-01')`)
	must(t, s, `CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M'), visited DATE BETWEEN '2026-01-01' AND '2027-12-31')
		FROM raw_visits WITH (epsilon = 4, delta = 1e-6, period = 'month of visited'`+options+`)`)
}

// spentIn returns what the only account has spent in a period.
func spentIn(t testing.TB, s *engine.Session, name string) (spent accounting.Amount) {
	t.Helper()
	err := s.DB().Store().Read(t.Context(), func(tx *catalog.Tx) error {
		all, err := tx.Accounts()
		if err != nil {
			return err
		}
		n, err := all[0].Partition.Named(name)
		if err != nil {
			return err
		}
		sum, err := tx.Spent(all[0].ID)
		spent = sum.Most(period.Of(period.Only(n)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return spent
}

// noted runs a statement and compares what it says it did.
func noted(t testing.TB, s *engine.Session, text, want string) {
	t.Helper()
	if got := must(t, s, text).Note; got != want {
		t.Errorf("%s\n%s, want %s", text, got, want)
	}
}

func epsilonOf(t testing.TB, text string) accounting.Epsilon {
	t.Helper()
	e, err := accounting.ParseEpsilon(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestAnswersOverParts compares the answers of releases without noise with counts of the rows:
// whole periods, days, months and years. Without -long two of the four are asked.
func TestAnswersOverParts(t *testing.T) {
	t.Parallel()
	creates := map[string]string{
		"cells":     `CREATE RELEASE r ON visits USING PROJECTION WITH (epsilon = 1) EACH PERIOD`,
		"sparse":    `CREATE RELEASE r ON visits USING PROJECTION WITH (epsilon = 1, transform = sparse, heavy = none, rows = 65536) EACH PERIOD`,
		"marginals": `CREATE RELEASE r ON visits USING MARGINALS WITH (epsilon = 1, estimate = unbiased) EACH PERIOD`,
		"fitted":    `CREATE RELEASE r ON visits USING MARGINALS WITH (epsilon = 1) EACH PERIOD`,
	}
	for _, name := range some(t, 2, slices.Sorted(maps.Keys(creates))) {
		t.Run(name, func(t *testing.T) {
			s, _ := growing(t, "")
			quieten(s.DB())
			must(t, s, creates[name])
			must(t, s, `REFRESH RELEASE r`)
			for _, where := range []string{`visited < '2026-11-01'`, `visited < '2026-11-01' AND sex = 'F'`, `visited BETWEEN '2026-02-10' AND '2026-02-20'`,
				`visited BETWEEN '2026-02-10' AND '2026-05-03' AND sex = 'M'`, `visited IN ('2026-01-31', '2026-02-01', '2026-10-31')`} {
				var want int64
				err := s.DB().Store().Read(t.Context(), func(tx *catalog.Tx) error {
					return tx.SQL().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM raw_visits WHERE visited >= '2026-01-01' AND `+where).Scan(&want)
				})
				if got := count(t, s, `SELECT COUNT(*) FROM visits WHERE `+where); err != nil || got != want {
					t.Errorf("%s: %d, want %d, %v", where, got, want, err)
				}
			}
			months := must(t, s, `SELECT strftime('%Y-%m', visited) AS m, COUNT(*) FROM visits WHERE visited < '2026-11-01' GROUP BY m`)
			if len(months.Rows) != 10 || fmt.Sprint(months.Rows[1]) != "[2026-02 112]" {
				t.Errorf("months %v", months.Rows)
			}
			years := must(t, s, `SELECT strftime('%Y', visited) AS y, COUNT(*) AS n FROM visits WHERE visited < '2026-11-01' GROUP BY y`)
			if fmt.Sprint(years.Rows) != "[[2026 1216]]" || years.Answer.Via != "r" {
				t.Errorf("years %v via %s", years.Rows, years.Answer.Via)
			}
		})
	}
}

// TestMissingParts names the periods that a query needs and the statement that builds them.
func TestMissingParts(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	must(t, s, `CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	for where, want := range map[string]string{
		`visited < '2026-02-01'`: "it has no part for 2026-01: REFRESH RELEASE monthly PERIOD '2026-01' builds it",
		`visited < '2026-11-01'`: "it has no part for 2026-01 to 2026-10: REFRESH RELEASE monthly builds what is due",
		`sex = 'F'`: "it has no part for 2026-01 to 2026-11, which ends at 2026-12-01T00:00:00Z: REFRESH RELEASE monthly builds it then; " +
			"WHERE visited < '2026-11-01' leaves it out",
	} {
		if e := refused(t, s, sqlerr.Uncovered, `SELECT COUNT(*) FROM visits WHERE `+where); !strings.Contains(e.Message, want) {
			t.Errorf("%s: %s", where, e.Message)
		}
	}
	must(t, s, `REFRESH RELEASE monthly`)
	must(t, s, `SELECT COUNT(*) FROM visits WHERE visited < '2026-11-01'`)
	e := refused(t, s, sqlerr.Uncovered, `SELECT COUNT(*) FROM visits WHERE visited < '2026-10-31'`)
	if !strings.Contains(e.Message, "no column visited, in 2026-10") {
		t.Errorf("a part of a month: %s", e.Message)
	}
}

// TestPeriodsToCome: rows of periods that have not begun count nowhere, cost nothing and have no
// groups; they count when their period has begun.
func TestPeriodsToCome(t *testing.T) {
	t.Parallel()
	s, c := growing(t, "")
	quieten(s.DB())
	must(t, s, `SET accuracy = 100`)
	if got := count(t, s, `SELECT COUNT(*) FROM visits`); got != 4*334 {
		t.Errorf("%d rows up to November, want %d", got, 4*334)
	}
	if got := count(t, s, `SELECT COUNT(*) FROM visits WHERE visited >= '2026-12-01'`); got != 0 {
		t.Errorf("%d rows of the future", got)
	}
	if got := must(t, s, `SELECT strftime('%Y-%m', visited) AS m, COUNT(*) FROM visits GROUP BY m`); len(got.Rows) != 11 {
		t.Errorf("groups %v", got.Rows)
	}
	if got := spentIn(t, s, "2026-12"); got != (accounting.Amount{}) {
		t.Errorf("December has spent %v", got)
	}
	november := spentIn(t, s, "2026-11")
	c.set(t, "2026-12-01T00:00:00Z")
	if got := count(t, s, `SELECT COUNT(*) FROM visits`); got != 4*365 {
		t.Errorf("%d rows up to December, want %d", got, 4*365)
	}
	if got := spentIn(t, s, "2026-12"); got == (accounting.Amount{}) || got == november {
		t.Errorf("December has spent %v", got)
	}
}

// TestAnswersChargeTheirPeriods: a direct answer takes from the periods in which its query has a
// weight, and what it takes once it takes from each of them.
func TestAnswersChargeTheirPeriods(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	must(t, s, `SET accuracy = 100`)
	before := must(t, s, `SELECT COUNT(*) FROM visits WHERE visited BETWEEN '2026-02-10' AND '2026-04-01' OR visited = '2026-09-09'`)
	price := spentIn(t, s, "2026-03")
	if price.Rho == 0 || price.Rho.Float() != before.Answer.Cost.Rho {
		t.Fatalf("2026-03 has spent %v, the answer cost %v", price, before.Answer.Cost)
	}
	must(t, s, `SELECT sex, COUNT(*), COUNT(CASE WHEN visited < '2026-02-01' THEN 1 END) FROM visits WHERE visited < '2026-03-01' GROUP BY sex`)
	for name, want := range map[string]accounting.Rho{"2026-01": 2 * price.Rho, "2026-02": 2 * price.Rho, "2026-03": price.Rho, "2026-04": price.Rho,
		"2026-05": 0, "2026-09": price.Rho, "2026-11": 0} {
		if got := spentIn(t, s, name).Rho; got != want {
			t.Errorf("%s has spent %v, want %v", name, got, want)
		}
	}
}

// TestAnswersStopWhereAPeriodCannotPay: a period that is used up refuses what reads it, and no other.
func TestAnswersStopWhereAPeriodCannotPay(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	must(t, s, `SET accuracy = 5`)
	for i := 0; ; i++ {
		_, err := s.Exec(t.Context(), fmt.Sprintf(`SELECT COUNT(*) FROM visits WHERE visited = '2026-05-%02d'`, i+1), nil)
		if sqlerr.CodeOf(err) == sqlerr.Budget {
			if !strings.Contains(err.Error(), "left in 2026-05") {
				t.Errorf("refused by %v", err)
			}
			break
		}
		if err != nil || i > 29 {
			t.Fatal(i, err)
		}
	}
	refused(t, s, sqlerr.Budget, `SELECT COUNT(*) FROM visits WHERE sex = 'F'`)
	must(t, s, `SELECT COUNT(*) FROM visits WHERE visited = '2026-06-01'`)
	must(t, s, `SELECT COUNT(*) FROM visits WHERE visited < '2026-05-01' OR visited > '2026-07-01'`)
}

// TestSpans: a release and a mechanism are about the periods that they were charged to.
func TestSpans(t *testing.T) {
	t.Parallel()
	s, c := growing(t, "")
	quieten(s.DB())
	must(t, s, `CREATE RELEASE first ON visits (sex, visited) USING PROJECTION WITH (epsilon = 0.25, period = '2026-01 to 2026-03')`)
	must(t, s, `CREATE RELEASE so_far ON visits (sex) USING PROJECTION WITH (epsilon = 0.125)`)
	must(t, s, `CREATE MECHANISM live ON visits (sex, visited) USING SMW WITH (epsilon = 1, max_updates = 3, queries = 100, prior = uniform, period = '2026-02')`)
	for name, want := range map[string]string{"2026-01": "0.375", "2026-03": "0.375", "2026-04": "0.125", "2026-11": "0.125", "2026-12": ""} {
		wanted := accounting.Epsilon(0)
		if want != "" {
			wanted = epsilonOf(t, want)
		}
		if got := spentIn(t, s, name).Epsilon; got != wanted {
			t.Errorf("%s has spent %v, want %v", name, got, wanted)
		}
	}
	if spentIn(t, s, "2026-02").Rho == 0 || spentIn(t, s, "2026-01").Rho != 0 {
		t.Error("the mechanism's reserve is not that of its period")
	}
	if got := must(t, s, `SELECT COUNT(*) FROM visits WHERE visited BETWEEN '2026-02-10' AND '2026-03-09'`); got.Rows[0][0] != int64(4*28) || got.Answer.Via != "first" {
		t.Errorf("%v via %s", got.Rows, got.Answer.Via)
	}
	if got := must(t, s, `SELECT COUNT(*) FROM visits WHERE sex = 'F'`); got.Rows[0][0] != int64(2*334) || got.Answer.Via != "so_far" {
		t.Errorf("%v via %s", got.Rows, got.Answer.Via)
	}
	refused(t, s, sqlerr.Uncovered, `SELECT COUNT(*) FROM visits WHERE visited < '2026-05-01'`)
	must(t, s, `SET mechanism = live`)
	if got := must(t, s, `SELECT COUNT(*) FROM visits WHERE visited BETWEEN '2026-02-01' AND '2026-02-28'`); got.Answer.Via != "live" {
		t.Errorf("via %s", got.Answer.Via)
	}
	refused(t, s, sqlerr.Uncovered, `SELECT COUNT(*) FROM visits WHERE sex = 'M'`) // not the answer about February
	refused(t, s, sqlerr.Invalid, `CREATE RELEASE later ON visits (sex) USING PROJECTION WITH (epsilon = 0.1, period = '2026-12')`)
	c.set(t, "2026-12-24T00:00:00Z")
	must(t, s, `SET mechanism = auto`)
	e := refused(t, s, sqlerr.Uncovered, `SELECT COUNT(*) FROM visits WHERE sex = 'F'`)
	if !strings.Contains(e.Message, "it has no rows of 2026-12, only of 2026-01 to 2026-11 (so_far)") {
		t.Errorf("refused by %q", e.Message)
	}
}

// TestPeriodsEndWhereTheyAre: periods end at midnight of the declared time zone, whatever the
// season, and February has a leap day.
func TestPeriodsEndWhereTheyAre(t *testing.T) {
	t.Parallel()
	for _, step := range []struct{ zone, last, first string }{
		{"", "2026-07-31T23:59:59Z", "2026-08-01T00:00:00Z"},
		{", time_zone = 'Europe/Berlin'", "2026-07-31T21:59:59Z", "2026-07-31T22:00:00Z"},
		{", time_zone = 'America/New_York'", "2026-08-01T03:59:59Z", "2026-08-01T04:00:00Z"},
	} {
		s, c := growing(t, step.zone)
		must(t, s, `CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
		for month := 1; month < 7; month++ {
			must(t, s, fmt.Sprintf(`RETIRE PERIOD '2026-%02d' OF visits`, month)) // which are not due
		}
		c.set(t, step.last)
		noted(t, s, `REFRESH RELEASE monthly`, "monthly: nothing to build; 0 parts")
		c.set(t, step.first)
		noted(t, s, `REFRESH RELEASE monthly`, "monthly: built 2026-07; 1 part")
	}
	s := open(t, filepath.Join(t.TempDir(), "leap.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (d TEXT)`, `INSERT INTO raw VALUES ('2024-02-28'), ('2024-02-29'), ('2024-02-30'), ('2024-03-01'), (NULL)`)
	quieten(s.DB())
	must(t, s, `CREATE PRIVATE TABLE days (d DATE BETWEEN '2024-01-01' AND '2024-12-31') FROM raw WITH (epsilon = 4, period = 'month of d')`)
	must(t, s, `CREATE RELEASE m ON days USING PROJECTION WITH (epsilon = 1) EACH PERIOD`)
	must(t, s, `REFRESH RELEASE m`)
	got := must(t, s, `SELECT strftime('%m', d) AS month, COUNT(*) FROM days WHERE d < '2024-04-01' GROUP BY month`)
	if fmt.Sprint(got.Rows) != "[[01 0] [02 2] [03 1]]" {
		t.Errorf("months %v", got.Rows)
	}
}

// TestUnitsKeepRowsOfEachPeriod: max_rows rows are kept of each unit in each period.
func TestUnitsKeepRowsOfEachPeriod(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	quieten(s.DB())
	refused(t, s, sqlerr.Invalid, `CREATE PRIVATE TABLE people (visited DATE BETWEEN '2026-01-01' AND '2027-12-31') FROM raw_visits
		WITH (epsilon = 4, delta = 1e-6, period = 'month of visited', unit = patient, max_rows = 1)`) // rows are protected already
	fill(t, s, `CREATE TABLE raw_people AS SELECT patient % 7 AS patient, visited FROM raw_visits`)
	must(t, s, `CREATE PRIVATE TABLE people (visited DATE BETWEEN '2026-01-01' AND '2027-12-31') FROM raw_people
		WITH (epsilon = 4, delta = 1e-6, period = 'month of visited', unit = patient, max_rows = 3)`)
	must(t, s, `CREATE RELEASE monthly ON people USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	must(t, s, `REFRESH RELEASE monthly`)
	for where, want := range map[string]int64{`visited < '2026-02-01'`: 3 * 7, `visited < '2026-11-01'`: 3 * 7 * 10} {
		must(t, s, `SET mechanism = monthly`)
		if got := count(t, s, `SELECT COUNT(*) FROM people WHERE `+where); got != want {
			t.Errorf("%s: the parts have %d rows, want %d", where, got, want)
		}
		must(t, s, `SET mechanism = direct`)
		must(t, s, `SET accuracy = 1000`) // also for the parts, whichever query comes first
		if got := count(t, s, `SELECT COUNT(*) FROM people WHERE `+where); got != want {
			t.Errorf("%s: the rows have %d, want %d", where, got, want)
		}
	}
	if got := count(t, s, `SELECT COUNT(DISTINCT patient) FROM people`); got != 7 {
		t.Errorf("%d patients", got)
	}
}

// TestExportOfAPart: a part is exported like any release, with the values of its period alone.
func TestExportOfAPart(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	quieten(s.DB())
	must(t, s, `CREATE RELEASE monthly ON visits USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	must(t, s, `REFRESH RELEASE monthly PERIOD '2026-02'`)
	path := filepath.Join(t.TempDir(), "february.db")
	must(t, s, fmt.Sprintf(`EXPORT RELEASE "monthly[2026-02]" TO '%s'`, path))
	out := open(t, path, engine.Options{}).NewSession()
	if got := count(t, out, `SELECT COUNT(*) FROM visits`); got != 4*28 {
		t.Errorf("%d rows, want %d", got, 4*28)
	}
	if got := count(t, out, `SELECT COUNT(*) FROM visits WHERE visited > '2026-02-14'`); got != 4*14 {
		t.Errorf("%d rows, want %d", got, 4*14)
	}
}

// TestLedgerOfPeriods: a charge to several ranges is one line each, in one transaction.
func TestLedgerOfPeriods(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	must(t, s, `SET accuracy = 100`)
	must(t, s, `SELECT COUNT(*) FROM visits WHERE visited IN ('2026-01-05', '2026-03-05', '2026-04-05')`)
	var over []string
	err := s.DB().Store().Read(t.Context(), func(tx *catalog.Tx) error {
		accounts, err := tx.Accounts()
		if err != nil {
			return err
		}
		lines, err := tx.Ledger()
		for _, l := range lines {
			if l.Amount.Rho > 0 {
				over = append(over, accounts[0].Partition.Text(l.Over))
			}
		}
		return err
	})
	if err != nil || !slices.Equal(over, []string{"2026-01", "2026-03 to 2026-04"}) {
		t.Errorf("lines of %q, %v", over, err)
	}
}

// TestAnswersOfTheRunningPeriod: an answer about a period that has not ended says when its rows were
// read, if that was before. Stored answers and parts have the time of the machine, so the periods
// are long past or far away.
func TestAnswersOfTheRunningPeriod(t *testing.T) {
	t.Parallel()
	for year, wanted := range map[int]bool{1999: false, 2999: true} {
		s := open(t, filepath.Join(t.TempDir(), "visits.db"), engine.Options{}).NewSession()
		s.DB().SetNow(func() time.Time { return dayOf(year, 11, 23) })
		fill(t, s, `CREATE TABLE raw (d TEXT)`)
		must(t, s, fmt.Sprintf(`CREATE PRIVATE TABLE days (d DATE BETWEEN '%d-01-01' AND '%[1]d-12-31') FROM raw WITH (epsilon = 8, delta = 1e-6, period = 'quarter of d')`, year))
		must(t, s, `CREATE RELEASE r ON days USING PROJECTION WITH (epsilon = 1, early = on) EACH PERIOD`)
		must(t, s, `CREATE RELEASE flat ON days USING PROJECTION WITH (epsilon = 1)`)
		must(t, s, `REFRESH RELEASE r`)
		for _, via := range []string{"r", "flat"} {
			must(t, s, `SET mechanism = `+via)
			if got := must(t, s, `SELECT COUNT(*) FROM days`).Answer.AsOf; got.IsZero() == wanted {
				t.Errorf("in %d %s answers as of %v", year, via, got)
			}
		}
		must(t, s, `SET mechanism = direct`)
		must(t, s, `SET accuracy = 100`)
		if got := must(t, s, `SELECT COUNT(*) FROM days`).Answer.AsOf; !got.IsZero() {
			t.Errorf("a new answer is as of %v", got)
		}
		if got := must(t, s, `SELECT COUNT(*) FROM days`).Answer.AsOf; got.IsZero() == wanted {
			t.Errorf("in %d a stored answer is as of %v", year, got)
		}
	}
}

// TestRehearsalOfPeriods plans a script that declares, refreshes and asks: it charges the copy what
// the run charges, period by period, and changes nothing.
func TestRehearsalOfPeriods(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	r, err := s.Rehearse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, step := range []struct{ text, note string }{
		{`CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`, "is created; REFRESH RELEASE builds its parts"},
		{`REFRESH RELEASE monthly`, "10 parts are built; each costs its own period"},
		{`REFRESH RELEASE monthly`, "has no part to build"},
		{`REFRESH RELEASE monthly PERIOD '2026-03' AGAIN`, "1 part is built; it costs its own period"},
		{`SELECT COUNT(*) FROM visits WHERE visited < '2026-11-01'`, "its parts are built before: its error is known then"},
		{`RETIRE PERIOD '2026-01' OF visits`, "2026-01 of visits is retired: its rows are not read any more"},
		{`DROP RELEASE monthly PERIOD '2026-02'`, "is dropped; what was spent stays spent"},
	} {
		out, err := r.Plan(t.Context(), step.text, nil)
		if err != nil {
			t.Fatalf("%s: %v", step.text, err)
		}
		if got := fmt.Sprint(out.Rows[0][len(out.Rows[0])-1]); !strings.Contains(got, step.note) {
			t.Errorf("%s: %v", step.text, out.Rows)
		}
	}
	for _, text := range []string{`REFRESH RELEASE monthly PERIOD '2026-01' AGAIN`, `REFRESH RELEASE monthly PERIOD '2026-12'`, `REFRESH RELEASE weekly`} {
		if _, err := r.Plan(t.Context(), text, nil); err == nil {
			t.Errorf("%s is planned", text)
		}
	}
	if got := spentIn(t, s, "2026-03"); got != (accounting.Amount{}) {
		t.Errorf("the rehearsal charged %v", got)
	}
}

// TestOutlookOfAPart: EXPLAIN CREATE RELEASE … EACH PERIOD is about one part, costs nothing and makes
// nothing.
func TestOutlookOfAPart(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	one := must(t, s, `EXPLAIN CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5, early = on) EACH PERIOD`)
	other := must(t, s, `EXPLAIN CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5, period = '2026-10')`)
	if a, b := fmt.Sprint(one.Rows), fmt.Sprint(other.Rows); a != b {
		t.Errorf("%s\nof one month\n%s", a, b)
	}
	refused(t, s, sqlerr.Unknown, `REFRESH RELEASE monthly`)
	refused(t, s, sqlerr.Unsupported, `CREATE RELEASE monthly ON visits (sex) USING MARGINALS WITH (epsilon = 0.5, workload = 'x.sql') EACH PERIOD`)
	must(t, s, `CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	refused(t, s, sqlerr.Invalid, `EXPORT RELEASE monthly TO '`+filepath.Join(t.TempDir(), "x.db")+`'`)
}

// TestMissingDroppedParts: a query over parts that were dropped names the statement that builds one
// anew. Plain REFRESH does not: they are not due.
func TestMissingDroppedParts(t *testing.T) {
	t.Parallel()
	s, c := growing(t, "")
	must(t, s, `CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	must(t, s, `REFRESH RELEASE monthly`)
	must(t, s, `DROP RELEASE monthly PERIOD '2026-04'`)
	must(t, s, `DROP RELEASE monthly PERIOD '2026-05'`)
	c.set(t, "2026-12-24T00:00:00Z") // November is due
	for where, want := range map[string]string{
		`visited < '2026-06-01'`: "it has no part for 2026-04 to 2026-05; 2026-04 to 2026-05 was dropped: REFRESH RELEASE monthly PERIOD '2026-04' builds one part anew",
		`visited < '2026-12-01'`: "it has no part for 2026-04 to 2026-05, 2026-11; 2026-04 to 2026-05 was dropped: REFRESH RELEASE monthly PERIOD '2026-04' builds one part anew",
		`visited < '2026-05-01'`: "it has no part for 2026-04: REFRESH RELEASE monthly PERIOD '2026-04' builds it",
	} {
		if e := refused(t, s, sqlerr.Uncovered, `SELECT COUNT(*) FROM visits WHERE `+where); !strings.Contains(e.Message, want) {
			t.Errorf("%s: %s", where, e.Message)
		}
	}
	must(t, s, `REFRESH RELEASE monthly PERIOD '2026-04'`)
	must(t, s, `REFRESH RELEASE monthly PERIOD '2026-05'`)
	e := refused(t, s, sqlerr.Uncovered, `SELECT COUNT(*) FROM visits WHERE visited < '2026-12-01'`)
	if !strings.Contains(e.Message, "it has no part for 2026-11: REFRESH RELEASE monthly PERIOD '2026-11' builds it") {
		t.Error(e)
	}
}

// TestWordsOfPeriods offers a release of each period by its own name, and not by those of its parts.
func TestWordsOfPeriods(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	must(t, s, `CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.1) EACH PERIOD`)
	must(t, s, `REFRESH RELEASE monthly PERIOD '2026-01'`)
	must(t, s, `CREATE RELEASE alone ON visits (sex) USING PROJECTION WITH (epsilon = 0.1, period = '2026-01 to 2026-03')`)
	if v, err := s.Vocabulary(t.Context()); err != nil || !slices.Equal(v.Releases, []string{"alone", "monthly"}) {
		t.Errorf("the releases are %q, %v", v.Releases, err)
	}
}

// TestNameOfAPart: a release that has the name of a part is found before the part is charged.
func TestNameOfAPart(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	must(t, s, `CREATE RELEASE "monthly[2026-01]" ON visits (sex) USING PROJECTION WITH (epsilon = 0.25, period = '2026-01')`)
	must(t, s, `CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	for range 2 {
		refused(t, s, sqlerr.Exists, `REFRESH RELEASE monthly`)
	}
	if got := spentIn(t, s, "2026-01").Epsilon; got != epsilonOf(t, "0.25") {
		t.Errorf("2026-01 has spent %v", got)
	}
}
