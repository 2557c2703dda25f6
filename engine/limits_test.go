package engine_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/sqlerr"
)

// asAnalyst returns a session of the analyst role on the curator's file.
func asAnalyst(t *testing.T, s *engine.Session) *engine.Session {
	t.Helper()
	return open(t, s.DB().Store().Path(), engine.Options{Role: engine.Analyst}).NewSession()
}

// rhoLine is a line of the ledger that took ρ, or a run of a mechanism.
type rhoLine struct {
	action string
	rho    accounting.Rho
}

// interactiveLines returns the lines of an action in the interactive account.
func interactiveLines(t *testing.T, s *engine.Session, prefix string) (lines []rhoLine) {
	t.Helper()
	err := s.DB().Store().Read(t.Context(), func(tx *catalog.Tx) error {
		all, err := tx.Ledger()
		for _, e := range all {
			if e.Kind == catalog.KindInteractive && strings.Contains(e.Action, prefix) {
				lines = append(lines, rhoLine{e.Action, e.Amount.Rho})
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// begunRuns returns the lines of runs that began, without those that tell of their ends.
func begunRuns(t *testing.T, s *engine.Session) []rhoLine {
	t.Helper()
	return slices.DeleteFunc(interactiveLines(t, s, "run "), func(l rhoLine) bool { return strings.Contains(l.action, " ended") })
}

func maxCharge(t *testing.T, text string) accounting.Rho {
	t.Helper()
	rho, err := accounting.ParseRho("max_charge", text)
	if err != nil {
		t.Fatal(err)
	}
	return rho
}

// One COUNT of an analyst takes most of the account. With max_charge it takes nothing, for
// any user, and the hint names an accuracy that is affordable.
func TestMaxChargeKeepsAnAccountFromBeingDrained(t *testing.T) {
	t.Parallel()
	const ask = `SELECT COUNT(*) FROM admissions WHERE age < 50`
	s := clinic(t)
	fill(t, s, `CREATE TABLE raw_visits AS SELECT age FROM raw_admissions`)
	must(t, s, `CREATE PRIVATE TABLE visits (age INTEGER BETWEEN 0 AND 99) FROM raw_visits WITH (epsilon = 2, delta = 1e-6)`)
	drain := asAnalyst(t, s)
	must(t, drain, `SET accuracy = 9`)
	must(t, drain, `SELECT COUNT(*) FROM visits WHERE age < 50`)
	v, err := s.DB().View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a := v.Accounts[v.Private("visits").Account]
	if share := a.Spent.Rho.Float() / a.Caps.InteractiveRho.Float(); share < 0.9 {
		t.Fatalf("without a limit the statement takes %.2f of the account", share)
	}
	must(t, s, `ALTER PRIVATE TABLE admissions SET (max_charge = 0.001)`)
	before := ledger(t, s)
	for _, who := range []*engine.Session{asAnalyst(t, s), s} {
		must(t, who, `SET accuracy = 5`)
		e := refused(t, who, sqlerr.Budget, ask)
		var accuracy float64
		if _, err := fmt.Sscanf(e.Hint, "SET accuracy = %g answers it directly", &accuracy); err != nil || accuracy < 30 || accuracy > 60 {
			t.Errorf("%v: the hint is %q", e, e.Hint)
		}
		refused(t, who, sqlerr.Budget, `SELECT COUNT(*), AVG(age) FROM admissions`)
		refused(t, who, sqlerr.Budget, `SELECT sex, COUNT(*) FROM admissions GROUP BY sex`)
		must(t, who, `EXPLAIN `+ask)
		if ledger(t, s) != before {
			t.Fatal("a refused statement is in the ledger")
		}
	}
	analyst := asAnalyst(t, s)
	e := refused(t, analyst, sqlerr.Uncovered, ask)
	var accuracy float64
	if _, err := fmt.Sscanf(e.Hint, "SET accuracy = %g answers it directly", &accuracy); err != nil {
		t.Errorf("%v: the hint is %q", e, e.Hint)
	}
	must(t, analyst, fmt.Sprintf(`SET accuracy = %g`, accuracy))
	must(t, analyst, ask)
	if lines := interactiveLines(t, s, "direct answer"); len(lines) != 2 || lines[1].rho > maxCharge(t, "0.001") { // the first is for the other table
		t.Errorf("the ledger has %v", lines)
	}
	must(t, s, `ALTER PRIVATE TABLE admissions SET (max_charge = none)`)
	must(t, s, ask)
}

// TestMaxChargeCountsWhatWaits: an aggregate that waits for another one's answer and that one are
// one statement. What is left of max_charge for the outer one is what the inner one did not take.
func TestMaxChargeCountsWhatWaits(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	analyst := asAnalyst(t, s)
	must(t, analyst, `SET accuracy = 100`)
	text := `SELECT COUNT(*) FROM admissions WHERE sex = '%s' AND age > (SELECT COUNT(*) / 100 FROM admissions WHERE sex = '%[1]s')`
	both := must(t, analyst, fmt.Sprintf(text, "M")).Answer.Cost.Rho
	must(t, s, fmt.Sprintf(`ALTER PRIVATE TABLE admissions SET (max_charge = %.15f)`, 0.9*both))
	e := refused(t, analyst, sqlerr.Budget, fmt.Sprintf(text, "F"))
	if !strings.Contains(e.Message, "with what it took before it takes") || !strings.Contains(e.Message, "was charged for private answers, which are stored") {
		t.Errorf("the refusal says: %v", e)
	}
	must(t, s, fmt.Sprintf(`ALTER PRIVATE TABLE admissions SET (max_charge = %.15f)`, 1.1*both))
	must(t, analyst, fmt.Sprintf(text, "F"))
}

// TestMaxChargeCountsRowsOfMeans: counting the rows of an average is a part of its statement.
func TestMaxChargeCountsRowsOfMeans(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	analyst := asAnalyst(t, s)
	const mean, other = `SELECT AVG(age) FROM admissions WHERE sex = 'F' WITH ACCURACY 3`, `SELECT AVG(age) FROM admissions WHERE sex = 'M' WITH ACCURACY 3`
	both := must(t, analyst, mean).Answer.Cost.Rho
	lines := interactiveLines(t, s, "direct answer")
	if len(lines) != 2 || (lines[0].rho+lines[1].rho).Float() != both {
		t.Fatalf("the ledger has %v, and the answer cost %v", lines, both)
	}
	must(t, s, fmt.Sprintf(`ALTER PRIVATE TABLE admissions SET (max_charge = %.15f)`, both-lines[1].rho.Float()/2))
	e := refused(t, analyst, sqlerr.Budget, other)
	if !strings.Contains(e.Message, "was charged for private answers, which are stored") {
		t.Errorf("the refusal says: %v", e)
	}
	if lines = interactiveLines(t, s, "direct answer"); len(lines) != 3 {
		t.Errorf("the ledger has %v", lines)
	}
}

// The limit is on everything that a statement takes: all aggregates and groups together.
// No line of the ledger is above it.
func TestMaxChargeCountsTheWholeStatement(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	analyst := asAnalyst(t, s)
	price := func(text string) accounting.Rho {
		t.Helper()
		v, err := s.DB().View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		before := v.Accounts[v.Tables[0].Account].Spent
		must(t, analyst, text)
		if v, err = s.DB().View(t.Context()); err != nil {
			t.Fatal(err)
		}
		return v.Accounts[v.Tables[0].Account].Spent.Rho - before.Rho
	}
	must(t, analyst, `SET accuracy = 100`)
	one := price(`SELECT COUNT(*) FROM admissions WHERE age = 1`)
	for i, c := range []struct {
		text  string
		least accounting.Rho // in prices of one count
	}{
		{`SELECT COUNT(*) FROM admissions WHERE zip = 'z%d'`, 1},
		{`SELECT sex, COUNT(*) FROM admissions WHERE zip = 'z%d' GROUP BY sex`, 1},
		{`SELECT COUNT(*), VARIANCE(age) FROM admissions WHERE zip = 'z%d'`, 3},
		{`SELECT sex, COUNT(*), VARIANCE(age) FROM admissions WHERE zip = 'z%d' GROUP BY sex`, 3},
	} {
		takes := price(fmt.Sprintf(c.text, 20+i))
		if takes < c.least*one {
			t.Errorf("%s takes %v", c.text, takes)
		}
		for _, limit := range []struct {
			rho  accounting.Rho
			code sqlerr.Code
		}{{takes - 1, sqlerr.Budget}, {takes, ""}} {
			must(t, s, fmt.Sprintf(`ALTER PRIVATE TABLE admissions SET (max_charge = %v)`, limit.rho))
			before := len(interactiveLines(t, s, "direct answer"))
			text := fmt.Sprintf(c.text, 40+i)
			if limit.code != "" {
				refused(t, analyst, limit.code, text)
				if after := len(interactiveLines(t, s, "direct answer")); after != before {
					t.Errorf("%s: refused and charged", text)
				}
				continue
			}
			must(t, analyst, text)
			if lines := interactiveLines(t, s, "direct answer"); len(lines) != before+1 || lines[before].rho != limit.rho {
				t.Errorf("%s: %v", text, lines[before:])
			}
		}
		must(t, s, `ALTER PRIVATE TABLE admissions SET (max_charge = none)`)
	}
}

// With buy = off the analyst role gets only free answers, and a curator can buy.
func TestAnalystsMayNotBuy(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	const ask, other = `SELECT COUNT(*) FROM admissions WHERE zip = '15210'`, `SELECT COUNT(*) FROM admissions WHERE zip = '15211'`
	must(t, s, `CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.5)`)
	must(t, s, `ALTER PRIVATE TABLE admissions SET (buy = off)`)
	analyst := asAnalyst(t, s)
	must(t, analyst, `SET accuracy = 50`)
	e := refused(t, analyst, sqlerr.Forbidden, ask)
	if !strings.Contains(e.Hint, "stay free") {
		t.Errorf("the hint is %q", e.Hint)
	}
	refused(t, analyst, sqlerr.Forbidden, `SELECT diagnosis, COUNT(*), AVG(age) FROM admissions GROUP BY diagnosis`)
	must(t, s, `SET accuracy = 50`)
	must(t, s, ask)
	if r := must(t, analyst, ask); r.Answer.Cost != (engine.Cost{}) {
		t.Errorf("a stored answer costs %v", r.Answer.Cost)
	}
	must(t, analyst, `SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND age < 2`)
	must(t, analyst, `SET accuracy = default`)
	if e := refused(t, analyst, sqlerr.Uncovered, other); strings.Contains(e.Hint, "SET accuracy") || !strings.Contains(e.Hint, "may not buy") {
		t.Errorf("the hint is %q", e.Hint)
	}
	if rows := fmt.Sprint(must(t, analyst, `EXPLAIN `+other).Rows); !strings.Contains(rows, "not: the analyst role may not buy") {
		t.Errorf("EXPLAIN says %s", rows)
	}
	must(t, s, `ALTER PRIVATE TABLE admissions SET (buy = on)`)
	must(t, analyst, `SET accuracy = 50`)
	must(t, analyst, other)
}

// Each of several racing statements is limited on its own, and the cap holds for all.
func TestMaxChargeInARace(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `ALTER PRIVATE TABLE admissions SET (max_charge = 0.0008)`)
	var wg sync.WaitGroup
	for i := range 6 {
		db := s.DB()
		if i%2 == 1 {
			db = asAnalyst(t, s).DB()
		}
		wg.Go(func() {
			session := db.NewSession()
			for j, accuracy := range []string{"50", "40", "60", "20"} {
				if err := session.Set("accuracy", accuracy); err != nil {
					t.Error(err)
				}
				_, err := session.Exec(t.Context(), fmt.Sprintf(`SELECT COUNT(*) FROM admissions WHERE age = %d`, 10*i+j), nil)
				if code := sqlerr.CodeOf(err); code != "" && code != sqlerr.Budget && code != sqlerr.Busy {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	lines := interactiveLines(t, s, "direct answer")
	for _, l := range lines {
		if l.rho > maxCharge(t, "0.0008") {
			t.Errorf("%s took %v", l.action, l.rho)
		}
	}
	if len(lines) != 12 { // those at 50 and at 60
		t.Errorf("%d statements paid", len(lines))
	}
}

// Declarations belong to the curator, state their cost, and are not limited. Nor is the
// number of rows that they buy.
func TestLimitsLeaveDeclarationsAlone(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `ALTER PRIVATE TABLE admissions SET (max_charge = 1e-9, buy = off)`)
	r := must(t, s, `CREATE MECHANISM live ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 1, max_updates = 4)`)
	if rows := interactiveLines(t, s, "number of rows"); len(rows) != 1 || rows[0].rho <= maxCharge(t, "1e-9") {
		t.Errorf("the number of rows was bought by %v", rows)
	}
	must(t, s, `CREATE RELEASE cells ON admissions (sex, zip) USING PROJECTION WITH (epsilon = 0.5)`)
	if !strings.Contains(fmt.Sprint(r.Warnings), "no SELECT can begin one of its runs") {
		t.Errorf("warnings %q", r.Warnings)
	}
	must(t, s, `DROP MECHANISM live`)
}

// A file without rows has no limits: a release is exported without them.
func TestExportHasNoLimits(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.5)`)
	must(t, s, `ALTER PRIVATE TABLE admissions SET (max_charge = 0.001, buy = off)`)
	if r := must(t, s, `DESCRIBE admissions`); r.Rows[0][6] != "max_charge = 0.001, buy = off" {
		t.Errorf("DESCRIBE shows %v", r.Rows[0])
	}
	path := filepath.Join(t.TempDir(), "cells.db")
	must(t, s, `EXPORT RELEASE cells TO '`+path+`'`)
	exported := open(t, path, engine.Options{}).NewSession()
	tables := must(t, exported, `SHOW TABLES`)
	if last := len(tables.Columns) - 1; tables.Columns[last].Name != "limits" || tables.Rows[0][last] != nil || must(t, exported, `DESCRIBE admissions`).Rows[0][6] != nil {
		t.Errorf("the exported table shows %v", tables.Rows)
	}
	refused(t, exported, sqlerr.Invalid, `ALTER PRIVATE TABLE admissions SET (buy = off)`)
}

// Limits belong to the account. Another declaration over the same rows has the same
// limits, and cannot change them.
func TestLimitsBelongToTheRows(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	const again = `CREATE PRIVATE TABLE %s (age INTEGER BETWEEN 0 AND 99) FROM raw_admissions WITH (epsilon = 4, delta = 1e-6, interactive = 0.5%s)`
	must(t, s, `ALTER PRIVATE TABLE admissions SET (max_charge = 0.001, buy = off)`)
	must(t, s, fmt.Sprintf(again, "a", ""))
	must(t, s, fmt.Sprintf(again, "b", ", max_charge = 1e-3"))
	must(t, s, fmt.Sprintf(again, "c", ", buy = off"))
	for _, other := range []string{", max_charge = 0.002", ", max_charge = none", ", buy = on", ", max_charge = 0.001, buy = on"} {
		e := refused(t, s, sqlerr.Invalid, fmt.Sprintf(again, "d", other))
		if !strings.Contains(e.Message, "max_charge = 0.001, buy = off") || !strings.Contains(e.Hint, "ALTER PRIVATE TABLE") {
			t.Errorf("%v (%s)", e, e.Hint)
		}
	}
	analyst := asAnalyst(t, s)
	must(t, analyst, `SET accuracy = 100`)
	refused(t, analyst, sqlerr.Forbidden, `SELECT COUNT(*) FROM a WHERE age = 4`)
	must(t, s, `DROP PRIVATE TABLE a`)
	must(t, s, fmt.Sprintf(again, "a", ""))
	refused(t, analyst, sqlerr.Forbidden, `SELECT COUNT(*) FROM a WHERE age = 4`)
	must(t, s, `ALTER PRIVATE TABLE c SET (buy = on)`)
	must(t, analyst, `SELECT COUNT(*) FROM a WHERE age = 4`)
	must(t, analyst, `SET accuracy = 5`)
	refused(t, analyst, sqlerr.Budget, `SELECT COUNT(*) FROM a WHERE age = 5`)
	refused(t, analyst, sqlerr.Forbidden, `ALTER PRIVATE TABLE a SET (max_charge = none)`)
	if got := interactiveLines(t, s, "limits"); len(got) != 2 {
		t.Errorf("the ledger has %v", got)
	}
}

func TestBadLimits(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	before := ledger(t, s)
	for text, code := range map[string]sqlerr.Code{
		`ALTER PRIVATE TABLE admissions SET (max_charge = 0)`:         sqlerr.Invalid,
		`ALTER PRIVATE TABLE admissions SET (max_charge = -1)`:        sqlerr.Invalid,
		`ALTER PRIVATE TABLE admissions SET (max_charge = 1e-16)`:     sqlerr.Invalid,
		`ALTER PRIVATE TABLE admissions SET (max_charge = 1e9)`:       sqlerr.Invalid,
		`ALTER PRIVATE TABLE admissions SET (max_charge = '0.1')`:     sqlerr.Invalid,
		`ALTER PRIVATE TABLE admissions SET (max_charge = lots)`:      sqlerr.Invalid,
		`ALTER PRIVATE TABLE admissions SET (buy = 1)`:                sqlerr.Invalid,
		`ALTER PRIVATE TABLE admissions SET (buy = maybe)`:            sqlerr.Invalid,
		`ALTER PRIVATE TABLE admissions SET (epsilon = 5)`:            sqlerr.Invalid,
		`ALTER PRIVATE TABLE admissions SET (buy = off, epsilon = 5)`: sqlerr.Invalid,
		`ALTER PRIVATE TABLE admissions SET (buy = off, buy = on)`:    sqlerr.Invalid,
		`ALTER PRIVATE TABLE admissions SET ()`:                       sqlerr.Malformed,
		`ALTER PRIVATE TABLE admissions SET`:                          sqlerr.Malformed,
		`ALTER PRIVATE TABLE admissions WITH (buy = off)`:             sqlerr.Malformed,
		`ALTER PRIVATE TABLE SET (buy = off)`:                         sqlerr.Malformed,
		`ALTER PRIVATE TABLE nowhere SET (buy = off)`:                 sqlerr.Unknown,
		`ALTER PRIVATE TABLE icd10 SET (buy = off)`:                   sqlerr.Unsupported,
		`ALTER TABLE admissions ADD COLUMN x`:                         sqlerr.Unsupported,
		`CREATE PRIVATE TABLE b (age INTEGER BETWEEN 0 AND 9) FROM raw_admissions WITH (epsilon = 4, delta = 1e-6, interactive = 0.5, max_charge = no)`: sqlerr.Invalid,
	} {
		refused(t, s, code, text)
	}
	if ledger(t, s) != before {
		t.Error("a refused statement is in the ledger")
	}
}

// A rehearsal plans under the limits as the script would leave them.
func TestRehearsalKnowsTheLimits(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	r := rehearsal(t, s)
	for _, step := range []struct{ text, says string }{
		{`SET accuracy = 20`, ""},
		{`SELECT COUNT(*) FROM admissions WHERE age = 1`, "chosen"},
		{`ALTER PRIVATE TABLE admissions SET (max_charge = 0.001)`, "is changed: max_charge = 0.001"},
		{`SELECT COUNT(*) FROM admissions WHERE age = 2`, "not: it takes ρ = 0.00"},
		{`ALTER PRIVATE TABLE admissions SET (max_charge = none)`, "is changed: no limits"},
		{`SELECT COUNT(*) FROM admissions WHERE age = 3`, "chosen"},
		{`CREATE PRIVATE TABLE b (age INTEGER BETWEEN 0 AND 9) FROM other WITH (epsilon = 4, delta = 1e-6, max_charge = 0.001)`, "is declared"},
		{`SELECT COUNT(*) FROM b WHERE age = 3`, "not: it takes ρ = 0.00"},
	} {
		out, err := r.Plan(t.Context(), step.text, nil)
		if err != nil {
			t.Fatalf("%s\n%v", step.text, err)
		}
		if got := fmt.Sprint(out.Rows); !strings.Contains(got, step.says) {
			t.Errorf("%s\n%s", step.text, got)
		}
	}
	if v, err := s.DB().View(t.Context()); err != nil || v.Limits(v.Tables[0]) != (catalog.Limits{}) {
		t.Error("a rehearsal has set limits")
	}
}

// Refusals because of limits do not depend on the rows.
func TestLimitsAreBlindToRows(t *testing.T) {
	t.Parallel()
	var first [][]any
	for _, change := range []string{``, `DELETE FROM raw_admissions`, `UPDATE raw_admissions SET age = 3, zip = '15210'`} {
		s := clinic(t)
		must(t, s, `ALTER PRIVATE TABLE admissions SET (max_charge = 0.001, buy = off)`)
		if change != "" {
			fill(t, s, change)
		}
		var said [][]any
		for _, who := range []*engine.Session{s, asAnalyst(t, s)} {
			for _, accuracy := range []string{"default", "5", "60"} {
				if err := who.Set("accuracy", accuracy); err != nil {
					t.Fatal(err)
				}
				for _, text := range []string{`SELECT COUNT(*) FROM admissions WHERE zip = '15210'`, `SELECT sex, COUNT(*), AVG(age) FROM admissions GROUP BY sex`} {
					said = append(said, must(t, who, `EXPLAIN `+text).Rows...)
					if accuracy != "60" || who.DB().Role() == engine.Analyst {
						_, err := who.Exec(t.Context(), text, nil)
						said = append(said, []any{fmt.Sprintf("%+v", err)})
					}
				}
			}
		}
		must(t, s, `ALTER PRIVATE TABLE admissions SET (max_charge = none, buy = on)`)
		for _, user := range admits(t, s, `GRANT SELECT ON admissions TO %s WITH (rho = 0.0001)`, `GRANT SELECT ON admissions TO %s`) {
			for _, text := range []string{`SELECT COUNT(*) FROM admissions WHERE zip = '15211'`, `SELECT COUNT(*) FROM admissions WHERE zip = '15211' WITH ACCURACY 60`,
				`SELECT sex, COUNT(*), AVG(age) FROM admissions GROUP BY sex WITH ACCURACY 60`} {
				said = append(said, must(t, user, `EXPLAIN `+text).Rows...)
				_, err := user.Exec(t.Context(), text, nil)
				said = append(said, []any{fmt.Sprintf("%+v", err)})
				if err == nil {
					t.Errorf("%s is not refused", text)
				}
			}
		}
		if first == nil {
			first = said
		} else if !reflect.DeepEqual(first, said) {
			t.Errorf("after %s:\n%v\nbefore:\n%v", change, said, first)
		}
	}
}

// runsOf makes a mechanism whose start is far from the rows, which all have one diagnosis.
// It returns the cost of one run.
func runsOf(t *testing.T, s *engine.Session) accounting.Rho {
	t.Helper()
	fill(t, s, `UPDATE raw_admissions SET diagnosis = 'E10'`)
	must(t, s, `CREATE MECHANISM live ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 1.5, max_updates = 6, queries = 100, prior = uniform)`)
	v, err := s.DB().View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v.Mechanism("live").RunRho
}

// Beginning a run of a mechanism counts as buying, although its ρ was reserved. Asking
// while a run is open does not, and a stored answer stays free.
func TestRunsCountAsBuying(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	quieten(s.DB())
	runsOf(t, s)
	must(t, s, `ALTER PRIVATE TABLE admissions SET (buy = off)`)
	analyst := asAnalyst(t, s)
	quieten(analyst.DB())
	const where = `SELECT COUNT(*) FROM admissions WHERE `
	runs := func(want int) {
		t.Helper()
		for _, who := range []*engine.Session{s, analyst} { // after this the other process finds what this one stored
			if err := who.DB().Answers().Close(); err != nil {
				t.Fatal(err)
			}
		}
		if lines := begunRuns(t, s); len(lines) != want {
			t.Fatalf("%d runs were begun, want %d", len(lines), want)
		}
	}
	e := refused(t, analyst, sqlerr.Forbidden, where+`sex IS NULL`) // no run is open
	if !strings.Contains(e.Message, "the next run of live has to be paid for") {
		t.Errorf("%v", e)
	}
	if rows := fmt.Sprint(must(t, analyst, `EXPLAIN `+where+`sex IS NULL`).Rows); !strings.Contains(rows, "not: the next run of live has to be paid for") {
		t.Errorf("EXPLAIN says %s", rows)
	}
	runs(0)
	must(t, s, where+`sex IS NULL`) // begins a run, and fires
	runs(1)
	must(t, analyst, where+`sex IS NULL`)
	refused(t, analyst, sqlerr.Forbidden, where+`sex = 'F'`)
	runs(1)
	must(t, s, where+`sex = 'F'`) // begins the next, and agrees
	runs(2)
	must(t, analyst, where+`sex = 'M'`) // agrees too
	runs(2)
	// This ends the run at its first group, and must stop there.
	const grouped = `SELECT diagnosis, COUNT(*) FROM admissions GROUP BY diagnosis`
	e = refused(t, analyst, sqlerr.Forbidden, grouped)
	if !strings.Contains(e.Message, "the next run of live has to be paid for") {
		t.Errorf("%v", e)
	}
	runs(2)
	must(t, analyst, where+`diagnosis = 'E10'`) // it has a stored answer
	must(t, s, grouped)
	runs(3)
	must(t, analyst, grouped)
	runs(3)
}

// The limit is on the sum of a statement's runs and direct purchases.
func TestMaxChargeCountsRuns(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	quieten(s.DB())
	run := runsOf(t, s)
	must(t, s, fmt.Sprintf(`ALTER PRIVATE TABLE admissions SET (max_charge = %v)`, run-1))
	refused(t, s, sqlerr.Budget, `SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND diagnosis = 'E10'`)
	for _, c := range []struct{ most, want int }{{1, 1}, {2, 3}, {1, 4}} { // some of the cells fire, and the statement ends when its runs are used up
		must(t, s, fmt.Sprintf(`ALTER PRIVATE TABLE admissions SET (max_charge = %v)`, run*accounting.Rho(c.most)))
		_, err := s.Exec(t.Context(), `SELECT sex, diagnosis, COUNT(*) FROM admissions GROUP BY sex, diagnosis`, nil)
		if got := len(begunRuns(t, s)); got != c.want || err != nil && sqlerr.CodeOf(err) != sqlerr.Budget {
			t.Errorf("with %d runs a statement %d were begun in all, want %d: %v", c.most, got, c.want, err)
		}
	}
}
