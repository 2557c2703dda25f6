package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/sqlerr"
)

// priceOfCount buys a count of rows of 2026-10 and returns what it took from that period.
func priceOfCount(t testing.TB, s *engine.Session) accounting.Rho {
	t.Helper()
	must(t, s, `SELECT COUNT(*) FROM visits WHERE visited = '2026-10-10'`)
	price := spentIn(t, s, "2026-10").Rho
	if price == 0 {
		t.Fatal("a count is free")
	}
	return price
}

// takes compares what periods have spent of ρ.
func takes(t testing.TB, s *engine.Session, want map[string]accounting.Rho) {
	t.Helper()
	for name, rho := range want {
		if got := spentIn(t, s, name).Rho; got != rho {
			t.Errorf("%s has spent %v, want %v", name, got, rho)
		}
	}
}

// TestLimitsCountOnePeriod: max_charge and the quota of a user count the most that a statement
// takes from any one period.
func TestLimitsCountOnePeriod(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	must(t, s, `SET accuracy = 100`)
	price := priceOfCount(t, s)
	must(t, s, fmt.Sprintf(`ALTER PRIVATE TABLE visits SET (max_charge = %v)`, price))
	user := admits(t, s, fmt.Sprintf(`GRANT SELECT ON visits TO %%s WITH (rho = %v)`, 2*price))[0]
	must(t, user, `SET accuracy = 100`)
	const counts = `SELECT COUNT(CASE WHEN visited < '2026-01-%[1]s' THEN 1 END), COUNT(CASE WHEN visited BETWEEN '2026-%[2]s-02' AND '2026-%[2]s-%[1]s' THEN 1 END) FROM visits`
	if e := refused(t, user, sqlerr.Budget, fmt.Sprintf(counts, "20", "01")); !strings.Contains(e.Message, "max_charge") {
		t.Errorf("refused by %q", e.Message)
	}
	takes(t, s, map[string]accounting.Rho{"2026-01": 0, "2026-02": 0})
	must(t, user, fmt.Sprintf(counts, "21", "02"))
	takes(t, s, map[string]accounting.Rho{"2026-01": price, "2026-02": price, "2026-03": 0})
	if left, spent := quotaOf(t, s, "user0"); left != price || spent != price {
		t.Errorf("the quota has %v left and %v spent, want %v", left, spent, price)
	}
	must(t, s, `ALTER PRIVATE TABLE visits SET (max_charge = none)`)
	if e := refused(t, user, sqlerr.Budget, fmt.Sprintf(counts, "20", "01")); !strings.Contains(e.Message, "quota") {
		t.Errorf("refused by %q", e.Message)
	}
	must(t, user, fmt.Sprintf(counts, "22", "03"))
	refused(t, user, sqlerr.Budget, `SELECT COUNT(*) FROM visits WHERE visited = '2026-07-07'`)
	takes(t, s, map[string]accounting.Rho{"2026-01": 2 * price, "2026-02": price, "2026-03": price, "2026-07": 0})
}

// TestHintsCountEveryPeriod: what a hint says is left is that of the period with least, wherever its aggregate stands.
func TestHintsCountEveryPeriod(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	must(t, s, `SELECT COUNT(*) FROM visits WHERE visited = '2026-10-10' WITH ACCURACY 20`)
	const january, october = `COUNT(CASE WHEN visited < '2026-01-20' THEN 1 END)`, `COUNT(CASE WHEN visited BETWEEN '2026-10-02' AND '2026-10-20' THEN 1 END)`
	first := refused(t, s, sqlerr.Uncovered, `SELECT `+october+`, `+january+` FROM visits`)
	if last := refused(t, s, sqlerr.Uncovered, `SELECT `+january+`, `+october+` FROM visits`); last.Hint != first.Hint || !strings.Contains(first.Hint, "left pays for") {
		t.Errorf("the hints are %q and %q", first.Hint, last.Hint)
	}
}

// TestTwoTablesOfOnePeriod: two tables over the same rows pay from the same periods, and a
// statement about both takes from each what it reads there.
func TestTwoTablesOfOnePeriod(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	must(t, s, `CREATE PRIVATE TABLE calls (sex TEXT IN ('F', 'M'), visited DATE BETWEEN '2026-01-01' AND '2026-12-31')
		FROM raw_visits WITH (epsilon = 4, delta = 1e-6, period = 'month of visited')`)
	must(t, s, `SET accuracy = 100`)
	price := priceOfCount(t, s)
	must(t, s, fmt.Sprintf(`ALTER PRIVATE TABLE visits SET (max_charge = %v)`, price))
	const both = `SELECT (SELECT COUNT(*) FROM visits WHERE visited = '2026-01-%[1]s'), (SELECT COUNT(*) FROM calls WHERE visited = '2026-%[2]s-%[1]s')`
	if e := refused(t, s, sqlerr.Budget, fmt.Sprintf(both, "03", "01")); !strings.Contains(e.Message, "max_charge") {
		t.Errorf("refused by %q", e.Message)
	}
	takes(t, s, map[string]accounting.Rho{"2026-01": 0})
	if got := must(t, s, fmt.Sprintf(both, "04", "02")); got.Answer.Cost.Rho == 0 {
		t.Error("the statement cost nothing")
	}
	takes(t, s, map[string]accounting.Rho{"2026-01": price, "2026-02": price, "2026-03": 0})
	must(t, s, `ALTER PRIVATE TABLE visits SET (max_charge = none)`)
	must(t, s, fmt.Sprintf(both, "05", "01"))
	takes(t, s, map[string]accounting.Rho{"2026-01": 3 * price, "2026-02": price})
	must(t, s, `RETIRE PERIOD '2026-01' OF calls`)
	refused(t, s, sqlerr.Invalid, fmt.Sprintf(both, "06", "02"))
	takes(t, s, map[string]accounting.Rho{"2026-01": 3 * price, "2026-02": price})
}

// TestAnswersAfterACrash: a direct answer that was charged and not stored costs its periods again,
// and no other.
func TestAnswersAfterACrash(t *testing.T) {
	t.Parallel()
	s, c := growing(t, "")
	must(t, s, `SET accuracy = 100`)
	price := priceOfCount(t, s)
	crashed := copiedAtDraw(t, s)
	const ask = `SELECT COUNT(*) FROM visits WHERE visited BETWEEN '2026-02-10' AND '2026-03-10'`
	must(t, s, ask)
	again := open(t, crashed, engine.Options{}).NewSession()
	again.DB().SetNow(func() time.Time { return c.now })
	must(t, again, `SET accuracy = 100`)
	takes(t, again, map[string]accounting.Rho{"2026-01": 0, "2026-02": price, "2026-03": price, "2026-04": 0})
	for range 2 { // the second time it is stored
		must(t, again, ask)
		takes(t, again, map[string]accounting.Rho{"2026-01": 0, "2026-02": 2 * price, "2026-03": 2 * price, "2026-04": 0})
	}
}

// TestMechanismsReturnToTheirPeriods: what a mechanism has not used goes back to the periods that
// were charged, retired ones too. The number of rows is bought once for each span.
func TestMechanismsReturnToTheirPeriods(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	quieten(s.DB())
	const create = `CREATE MECHANISM m ON visits (sex) USING SMW WITH (epsilon = 0.5, max_updates = 4, queries = 100, prior = uniform, period = '2026-02 to %s')`
	must(t, s, fmt.Sprintf(create, "2026-03"))
	reserved := spentIn(t, s, "2026-02").Rho
	takes(t, s, map[string]accounting.Rho{"2026-01": 0, "2026-03": reserved, "2026-04": 0})
	must(t, s, `RETIRE PERIOD '2026-03' OF visits`)
	must(t, s, `DROP MECHANISM m`)
	counted := spentIn(t, s, "2026-02").Rho // N̂ stays paid for
	if counted == 0 || counted >= reserved/4 {
		t.Errorf("%v of %v is spent after the drop", counted, reserved)
	}
	takes(t, s, map[string]accounting.Rho{"2026-01": 0, "2026-03": counted, "2026-04": 0})
	const rounding = 4 // less than a unit of each run
	for i := range 2 {
		must(t, s, fmt.Sprintf(create, "2026-02"))
		must(t, s, `DROP MECHANISM m`) // N̂ of February alone was bought by the first
		if got := spentIn(t, s, "2026-02").Rho; got < 2*counted-rounding || got > 2*counted+rounding*accounting.Rho(i+1) {
			t.Errorf("after %d drops February has spent %v, want about %v", i+2, got, 2*counted)
		}
	}
	takes(t, s, map[string]accounting.Rho{"2026-03": counted})
}

// TestAdviceForPeriods: ADVISE says the margins that the releases which it proposes have in the
// periods that have begun, and refuses those of retired ones.
func TestAdviceForPeriods(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	const bySex, early = `SELECT sex, COUNT(*) FROM visits GROUP BY sex`, `SELECT COUNT(*) FROM visits WHERE visited < '2026-03-01'`
	advise := `ADVISE '` + workloadOf(t, bySex, early) + `' WITH (epsilon = 1)`
	creates, margins := advised(t, must(t, s, advise))
	for _, create := range creates {
		must(t, s, create)
	}
	for i, text := range []string{bySex, early} {
		if got := released.Counts(must(t, s, text).Answer.Margins[0][len(must(t, s, text).Columns)-1].(float64)); margins[i] != got {
			t.Errorf("%s: margin %v, and %v was said", text, got, margins[i])
		}
	}
	must(t, s, `RETIRE PERIOD '2026-01' OF visits`)
	said := adviceOf(t, must(t, s, advise))[0].proposals
	for _, p := range said {
		if p.name != "direct" && !strings.Contains(p.note, "2026-01 of raw_visits is retired") {
			t.Errorf("%s: %q, though January is retired", p.name, p.note)
		}
	}
	if len(said) < 2 {
		t.Errorf("the advice is %v", said)
	}
}

// TestGuardsOfOtherPeriods: a mechanism starts from a release of its own periods, or is refused
// before anything is charged.
func TestGuardsOfOtherPeriods(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	quieten(s.DB())
	must(t, s, `CREATE RELEASE monthly ON visits (sex, visited) USING MARGINALS WITH (epsilon = 0.25) EACH PERIOD`)
	must(t, s, `REFRESH RELEASE monthly PERIOD '2026-02'`)
	must(t, s, `CREATE RELEASE early ON visits (sex, visited) USING MARGINALS WITH (epsilon = 0.25, period = '2026-01 to 2026-02')`)
	const create = `CREATE MECHANISM m ON visits (%s) USING SMW WITH (epsilon = 0.5, max_updates = 4, queries = 100, prior = %s, period = '%s')`
	before := spentIn(t, s, "2026-03")
	for _, columns := range []string{"sex", "sex, visited"} {
		for _, span := range []string{"2026-01", "2026-03", "2026-01 to 2026-03"} {
			e := refused(t, s, sqlerr.Invalid, fmt.Sprintf(create, columns, "early", span))
			if !strings.Contains(e.Message, "release early has the rows of 2026-01 to 2026-02") {
				t.Errorf("%s of %s: %s", columns, span, e.Message)
			}
		}
		must(t, s, fmt.Sprintf(create, columns, "early", "2026-01 to 2026-02"))
		must(t, s, `SET mechanism = m`)
		if got := count(t, s, `SELECT COUNT(*) FROM visits WHERE sex = 'F' AND visited < '2026-03-01'`); columns != "sex" && got != 2*59 {
			t.Errorf("%d rows, want %d", got, 2*59)
		}
		must(t, s, `DROP MECHANISM m`)
		must(t, s, `SET mechanism = auto`)
	}
	if got := spentIn(t, s, "2026-03"); got != before {
		t.Errorf("2026-03 has spent %v, and %v before", got, before)
	}
}

// TestMechanismsOfPeriodsGoOn: a mechanism of some periods is read back as it was, after a crash
// too, and asks the rows of its periods alone.
func TestMechanismsOfPeriodsGoOn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "visits.db")
	s, c := growingAt(t, path, "")
	quieten(s.DB())
	must(t, s, `CREATE MECHANISM m ON visits (sex, visited) USING SMW WITH (epsilon = 1, max_updates = 6, queries = 100, prior = uniform, period = '2026-02 to 2026-03')`)
	reserved := spentIn(t, s, "2026-02").Rho
	const ask = `SELECT COUNT(*) FROM visits WHERE sex = 'F' AND visited BETWEEN '2026-02-10' AND '2026-%02d-%02d'`
	must(t, s, `SET mechanism = m`)
	if got := count(t, s, fmt.Sprintf(ask, 2, 28)); got != 2*19 {
		t.Errorf("%d rows, want %d", got, 2*19)
	}
	crashed := filepath.Join(t.TempDir(), "crashed.db")
	for _, suffix := range []string{"", "-wal", "-mark"} {
		if data, err := os.ReadFile(path + suffix); err == nil {
			if err := os.WriteFile(crashed+suffix, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	again := open(t, crashed, engine.Options{}).NewSession()
	again.DB().SetNow(func() time.Time { return c.now })
	quieten(again.DB())
	must(t, again, `SET mechanism = m`)
	for day := 1; day <= 4; day++ {
		if got := count(t, again, fmt.Sprintf(ask, 3, day)); got != int64(2*(19+day)) {
			t.Errorf("%d rows, want %d", got, 2*(19+day))
		}
	}
	refused(t, again, sqlerr.Uncovered, fmt.Sprintf(ask, 4, 1))
	takes(t, again, map[string]accounting.Rho{"2026-01": 0, "2026-02": reserved, "2026-03": reserved, "2026-04": 0})
	must(t, again, `RETIRE PERIOD '2026-02' OF visits`)
	refused(t, again, sqlerr.Uncovered, fmt.Sprintf(ask, 3, 9)) // its run is open
	must(t, again, `DROP MECHANISM m`)
	if got := spentIn(t, again, "2026-03").Rho; got >= reserved || got != spentIn(t, again, "2026-02").Rho {
		t.Errorf("%v of %v is spent after the drop", got, reserved)
	}
}

// TestRehearsalPaysByPeriod: a rehearsal refuses what the run of a script refuses, for the same
// periods.
func TestRehearsalPaysByPeriod(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	must(t, s, `SET accuracy = 100`)
	r, err := s.Rehearse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const mechanism = `CREATE MECHANISM m ON visits (sex) USING SMW WITH (epsilon = 2, max_updates = 4, queries = 100, prior = uniform, period = '2026-02 to 2026-03')`
	for _, step := range []struct {
		text string
		code sqlerr.Code
	}{
		{mechanism, ""},
		{`SELECT COUNT(*) FROM visits WHERE visited = '2026-02-02'`, sqlerr.Budget},
		{`SELECT COUNT(*) FROM visits WHERE visited BETWEEN '2026-03-31' AND '2026-04-01'`, sqlerr.Budget},
		{`SELECT COUNT(*) FROM visits WHERE visited = '2026-04-01'`, ""},
		{`SELECT COUNT(CASE WHEN visited < '2026-02-01' THEN 1 END), COUNT(CASE WHEN visited > '2026-05-01' THEN 1 END) FROM visits`, ""},
		{`DROP MECHANISM m`, ""},
		{`SELECT COUNT(*) FROM visits WHERE visited = '2026-02-02'`, ""},
		{`RETIRE PERIOD '2026-05' OF visits`, ""},
		{`SELECT COUNT(*) FROM visits WHERE visited = '2026-05-02'`, sqlerr.Invalid},
		{`CREATE MECHANISM m ON visits (sex) USING SMW WITH (epsilon = 0.1, max_updates = 4, queries = 100, prior = uniform)`, sqlerr.Invalid},
	} {
		planned := ""
		out, err := r.Plan(t.Context(), step.text, nil)
		if err == nil {
			planned = fmt.Sprint(out.Rows)
		}
		if got := sqlerr.CodeOf(err); err != nil && got != step.code || err == nil && step.code != "" && !strings.Contains(planned, "not: ") {
			t.Errorf("%s: rehearsed as %v %s, want %q", step.text, err, planned, step.code)
		}
		if _, err := s.Exec(t.Context(), step.text, nil); err == nil && step.code != "" || err != nil && sqlerr.CodeOf(err) != step.code {
			t.Errorf("%s: run as %v, want %q", step.text, err, step.code)
		}
	}
}

// TestExplainOfPeriodsToCome: EXPLAIN shows the queries that are counted, of the periods that have
// begun alone.
func TestExplainOfPeriodsToCome(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	must(t, s, `SET accuracy = 100`)
	for _, text := range []string{
		`SELECT COUNT(*) FROM visits WHERE visited > '2026-05-01'`,
		`SELECT COUNT(CASE WHEN visited < '2026-02-01' THEN 1 END), COUNT(CASE WHEN visited > '2026-05-01' THEN 1 END) FROM visits`,
		`SELECT sex, COUNT(*) FROM visits WHERE visited > '2026-05-01' GROUP BY sex`,
	} {
		shown := fmt.Sprint(must(t, s, `EXPLAIN `+text).Rows)
		if !strings.Contains(shown, "'2026-05-02' … '2026-11-30'") || strings.Contains(shown, "2027") {
			t.Errorf("%s: %s", text, shown)
		}
	}
}

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
