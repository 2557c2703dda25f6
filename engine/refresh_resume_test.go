package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/engine"
	"dpsql/noise"
	"dpsql/sqlerr"
)

// unfittedPart interrupts REFRESH while it fits the part of a period: the part is paid for and
// drawn, and has no table.
func unfittedPart(t *testing.T, s *engine.Session, release, period string) {
	t.Helper()
	unfitted(t, s, fmt.Sprintf(`REFRESH RELEASE %s PERIOD '%s'`, release, period))
}

// unfitted interrupts a statement while it fits, and returns what it says.
func unfitted(t *testing.T, s *engine.Session, text string) *sqlerr.Error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.SetProgress(func(done, all int64) {
		if done > 200 { // 100 are the rows, 100 the noise
			cancel()
		}
	})
	defer s.SetProgress(nil)
	_, err := s.Exec(ctx, text, nil)
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.Code != sqlerr.Cancelled {
		t.Fatal(err)
	}
	if r := fmt.Sprint(must(t, s, `SHOW RELEASES`).Rows); !strings.Contains(r, "not fitted yet") {
		t.Fatalf("no part is unfitted: %s", r)
	}
	return e
}

// TestUnfittedPart: what a query, an export and an interrupted REFRESH say about a part without its
// table is a statement that finishes it, free of charge, with periods of time and of values.
func TestUnfittedPart(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]struct{ table, period, where, both string }{
		"months": {`CREATE PRIVATE TABLE t (d DATE BETWEEN '2026-01-01' AND '2026-12-31', n INTEGER BETWEEN 0 AND 9, g TEXT IN ('x', 'y')) FROM raw
			WITH (epsilon = 4, delta = 1e-6, period = 'month of d')`, "2026-02", `d BETWEEN '2026-02-01' AND '2026-02-28'`, `d < '2026-03-01'`},
		"values": {`CREATE PRIVATE TABLE t (n INTEGER BETWEEN 0 AND 9, g TEXT IN ('x', 'y')) FROM raw
			WITH (epsilon = 4, delta = 1e-6, period = 'n')`, "2", `n = 2`, `n IN (1, 2)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, filepath.Join(t.TempDir(), "t.db"), engine.Options{}).NewSession()
			s.DB().SetNow(func() time.Time { return dayOf(2026, 3, 1) })
			fill(t, s, `CREATE TABLE raw (d TEXT, n INTEGER, g TEXT)`,
				`WITH RECURSIVE i (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 999)
					INSERT INTO raw SELECT date('2026-01-01', (i % 59) || ' days'), i % 10, CASE i % 3 WHEN 0 THEN 'x' ELSE 'y' END FROM i`)
			must(t, s, step.table)
			must(t, s, `CREATE RELEASE each ON t USING MARGINALS WITH (epsilon = 0.5) EACH PERIOD`)
			first := map[string]string{"months": "2026-01", "values": "1"}[name]
			must(t, s, `REFRESH RELEASE each PERIOD '`+first+`'`)
			unfittedPart(t, s, "each", step.period)
			before := ledger(t, s)
			goesOn := `REFRESH RELEASE each PERIOD '` + step.period + `'`
			for _, where := range []string{step.where, step.both} {
				if e := refused(t, s, sqlerr.Uncovered, `SELECT COUNT(*) FROM t WHERE `+where); !strings.Contains(e.Message, "its build was interrupted: "+goesOn+" goes on with it") {
					t.Errorf("%s: %s", where, e.Message)
				}
			}
			e := refused(t, s, sqlerr.Invalid, `EXPORT RELEASE "each[`+step.period+`]" TO '`+filepath.Join(t.TempDir(), "x.db")+`'`)
			if !strings.HasPrefix(e.Hint, goesOn) {
				t.Errorf("%v, hint %s", e, e.Hint)
			}
			noted(t, s, goesOn, "each: built "+step.period+"; 2 parts")
			noted(t, s, goesOn, "each: nothing to build; 2 parts")
			must(t, s, `SELECT COUNT(*) FROM t WHERE `+step.where)
			must(t, s, `SELECT COUNT(*) FROM t WHERE `+step.both)
			if after := ledger(t, s); after != before {
				t.Errorf("the ledger was\n%sand is\n%s", before, after)
			}
		})
	}
}

// TestRefreshSkipsWhatAnotherTakes: while REFRESH draws for January, another session drops the part
// of February, which waits for its fit, and retires March. Neither is built or charged without
// being named.
func TestRefreshSkipsWhatAnotherTakes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "visits.db")
	s, c := growingAt(t, path, "")
	must(t, s, `CREATE RELEASE monthly ON visits (sex) USING MARGINALS WITH (epsilon = 0.5) EACH PERIOD`)
	c.set(t, "2026-05-02T00:00:00Z")
	unfittedPart(t, s, "monthly", "2026-02")
	other := open(t, path, engine.Options{}).NewSession()
	other.DB().SetNow(func() time.Time { return c.now })
	taken := false
	s.DB().SetRandom(func() *noise.Source {
		if !taken {
			taken = true
			must(t, other, `DROP RELEASE monthly PERIOD '2026-02'`)
			must(t, other, `RETIRE PERIOD '2026-03' OF visits`)
		}
		return noise.NewSource()
	})
	noted(t, s, `REFRESH RELEASE monthly`, "monthly: built 2026-01, 2026-04; 2 parts")
	half := epsilonOf(t, "0.5")
	for name, want := range map[string]accounting.Epsilon{"2026-01": half, "2026-02": half, "2026-03": 0, "2026-04": half} {
		if got := spentIn(t, s, name).Epsilon; got != want {
			t.Errorf("%s has spent %v, want %v", name, got, want)
		}
	}
	noted(t, s, `REFRESH RELEASE monthly`, "monthly: nothing to build; 2 parts")
	noted(t, s, `REFRESH RELEASE monthly PERIOD '2026-02'`, "monthly: built 2026-02; 3 parts")
}

// TestRefreshResumes: a plain REFRESH finishes the part that waits for its fit, at no cost, and
// builds the others.
func TestRefreshResumes(t *testing.T) {
	t.Parallel()
	s, c := growing(t, "")
	must(t, s, `CREATE RELEASE monthly ON visits USING MARGINALS WITH (epsilon = 0.5) EACH PERIOD`)
	c.set(t, "2026-04-02T00:00:00Z")
	unfittedPart(t, s, "monthly", "2026-02")
	noted(t, s, `REFRESH RELEASE monthly`, "monthly: built 2026-01 to 2026-03; 3 parts")
	half := epsilonOf(t, "0.5")
	for _, name := range []string{"2026-01", "2026-02", "2026-03"} {
		if got := spentIn(t, s, name).Epsilon; got != half {
			t.Errorf("%s has spent %v, want %v", name, got, half)
		}
	}
	must(t, s, `SELECT COUNT(*) FROM visits WHERE visited < '2026-04-01'`)
}

// TestInterruptedAgain: AGAIN that is interrupted while it fits says which statement goes on with the
// fit at no cost; it is not AGAIN, which would pay once more.
func TestInterruptedAgain(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	must(t, s, `CREATE RELEASE monthly ON visits USING MARGINALS WITH (epsilon = 0.5) EACH PERIOD`)
	must(t, s, `REFRESH RELEASE monthly PERIOD '2026-02'`)
	e := unfitted(t, s, `REFRESH RELEASE monthly PERIOD '2026-02' AGAIN`)
	const finish = `REFRESH RELEASE monthly PERIOD '2026-02'`
	if e.Hint != finish+" goes on, and costs nothing" {
		t.Errorf("the hint is %q", e.Hint)
	}
	noted(t, s, finish, "monthly: built 2026-02; 1 part")
	if got := spentIn(t, s, "2026-02").Epsilon; got != 2*epsilonOf(t, "0.5") {
		t.Errorf("2026-02 has spent %v", got)
	}
}

// TestCrashOfAPartAgain: a crash between the charge of REFRESH … AGAIN and its store leaves the old
// part, which answers as before. Both charges are in the ledger, and the next AGAIN is a third.
func TestCrashOfAPartAgain(t *testing.T) {
	t.Parallel()
	s, c := growing(t, "")
	must(t, s, `CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	must(t, s, `REFRESH RELEASE monthly PERIOD '2026-02'`)
	const ask = `SELECT COUNT(*) FROM visits WHERE sex = 'F' AND visited BETWEEN '2026-02-01' AND '2026-02-28'`
	old := count(t, s, ask)
	crashed := copiedAtDraw(t, s)
	must(t, s, `REFRESH RELEASE monthly PERIOD '2026-02' AGAIN`)
	again := open(t, crashed, engine.Options{}).NewSession()
	again.DB().SetNow(func() time.Time { return c.now })
	if got := count(t, again, ask); got != old {
		t.Errorf("after the crash it answers %d, before %d", got, old)
	}
	half := epsilonOf(t, "0.5")
	if got := spentIn(t, again, "2026-02").Epsilon; got != 2*half {
		t.Errorf("2026-02 has spent %v", got)
	}
	noted(t, again, `REFRESH RELEASE monthly PERIOD '2026-02'`, "monthly: nothing to build; 1 part")
	noted(t, again, `REFRESH RELEASE monthly PERIOD '2026-02' AGAIN`, "monthly: built 2026-02; 1 part")
	if got := spentIn(t, again, "2026-02").Epsilon; got != 3*half {
		t.Errorf("2026-02 has spent %v", got)
	}
	if got := spentIn(t, again, "2026-03").Epsilon; got != 0 {
		t.Errorf("2026-03 has spent %v", got)
	}
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
