package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"dpsql/accounting"
	"dpsql/engine"
	"dpsql/sqlerr"
)

// runsOf makes a mechanism whose start is far off from the rows, which all have
// one diagnosis, and returns what one run takes.
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

// To begin a run of a mechanism counts as buying, although its ρ was reserved; to
// ask while one is open does not, and what was answered serves again.
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
		for _, who := range []*engine.Session{s, analyst} { // so that the other process finds what this one stored
			if err := who.DB().Answers().Close(); err != nil {
				t.Fatal(err)
			}
		}
		if lines := interactiveLines(t, s, "run "); len(lines) != want {
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
	// This ends the run at its first group, and has to stop there.
	const grouped = `SELECT diagnosis, COUNT(*) FROM admissions GROUP BY diagnosis`
	e = refused(t, analyst, sqlerr.Forbidden, grouped)
	if !strings.Contains(e.Message, "the next run of live has to be paid for") {
		t.Errorf("%v", e)
	}
	runs(2)
	must(t, analyst, where+`diagnosis = 'E10'`) // it was answered
	must(t, s, grouped)
	runs(3)
	must(t, analyst, grouped)
	runs(3)
}

// A statement's runs and what it buys directly are added up.
func TestMaxChargeCountsRuns(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	quieten(s.DB())
	run := runsOf(t, s)
	must(t, s, fmt.Sprintf(`ALTER PRIVATE TABLE admissions SET (max_charge = %v)`, run-1))
	refused(t, s, sqlerr.Budget, `SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND diagnosis = 'E10'`)
	for _, c := range []struct{ most, want int }{{1, 1}, {2, 3}, {1, 4}} { // of all cells some fire: the statement ends where its runs do
		must(t, s, fmt.Sprintf(`ALTER PRIVATE TABLE admissions SET (max_charge = %v)`, run*accounting.Rho(c.most)))
		_, err := s.Exec(t.Context(), `SELECT sex, diagnosis, COUNT(*) FROM admissions GROUP BY sex, diagnosis`, nil)
		if got := len(interactiveLines(t, s, "run ")); got != c.want || err != nil && sqlerr.CodeOf(err) != sqlerr.Budget {
			t.Errorf("with %d runs a statement %d were begun in all, want %d: %v", c.most, got, c.want, err)
		}
	}
}
