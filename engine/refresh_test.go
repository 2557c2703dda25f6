package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/engine"
	"dpsql/noise"
	"dpsql/sqlerr"
)

// TestRefresh builds parts as time goes by: once for each period that has ended, never for one
// that was dropped or retired, and each charged to its own period.
func TestRefresh(t *testing.T) {
	t.Parallel()
	s, c := growing(t, "")
	must(t, s, `CREATE RELEASE monthly ON visits USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	if got := spentIn(t, s, "2026-01"); got != (accounting.Amount{}) {
		t.Errorf("the declaration charged %v", got)
	}
	c.set(t, "2026-01-31T23:59:59Z")
	noted(t, s, `REFRESH RELEASE monthly`, "monthly: nothing to build; 0 parts")
	c.set(t, "2026-02-01T00:00:00Z")
	noted(t, s, `REFRESH RELEASE monthly`, "monthly: built 2026-01; 1 part")
	c.set(t, "2026-11-23T12:00:00Z")
	noted(t, s, `REFRESH RELEASE monthly`, "monthly: built 2026-02 to 2026-10; 10 parts")
	noted(t, s, `REFRESH RELEASE monthly`, "monthly: nothing to build; 10 parts")
	c.set(t, "2026-03-01T00:00:00Z") // a clock that goes back
	noted(t, s, `REFRESH RELEASE monthly`, "monthly: nothing to build; 10 parts")
	c.set(t, "2026-11-23T12:00:00Z")
	half := epsilonOf(t, "0.5")
	for name, want := range map[string]accounting.Epsilon{"2026-01": half, "2026-10": half, "2026-11": 0, "2027-12": 0} {
		if got := spentIn(t, s, name).Epsilon; got != want {
			t.Errorf("%s has spent %v, want %v", name, got, want)
		}
	}
	must(t, s, `DROP RELEASE monthly PERIOD '2026-04'`)
	noted(t, s, `REFRESH RELEASE monthly`, "monthly: nothing to build; 9 parts")
	noted(t, s, `REFRESH RELEASE monthly PERIOD '2026-04'`, "monthly: built 2026-04; 10 parts")
	noted(t, s, `REFRESH RELEASE monthly PERIOD '2026-05'`, "monthly: nothing to build; 10 parts")
	noted(t, s, `REFRESH RELEASE monthly PERIOD '2026-05' AGAIN`, "monthly: built 2026-05; 10 parts")
	for name, want := range map[string]accounting.Epsilon{"2026-03": half, "2026-04": 2 * half, "2026-05": 2 * half, "2026-06": half} {
		if got := spentIn(t, s, name).Epsilon; got != want {
			t.Errorf("%s has spent %v, want %v", name, got, want)
		}
	}
	refused(t, s, sqlerr.Invalid, `REFRESH RELEASE monthly PERIOD '2026-11'`)
	refused(t, s, sqlerr.Invalid, `REFRESH RELEASE monthly PERIOD '2026-12'`)
	refused(t, s, sqlerr.Invalid, `REFRESH RELEASE monthly PERIOD '2028-01'`)
	refused(t, s, sqlerr.Unknown, `DROP RELEASE monthly PERIOD '2026-11'`)
	refused(t, s, sqlerr.Unknown, `REFRESH RELEASE weekly`)
	refused(t, s, sqlerr.Exists, `CREATE RELEASE monthly ON visits USING PROJECTION WITH (epsilon = 0.5)`)
	noted(t, s, `RETIRE PERIOD '2026-06' OF visits`, "2026-06 of visits is retired: its rows are not read any more")
	refused(t, s, sqlerr.Invalid, `REFRESH RELEASE monthly PERIOD '2026-06' AGAIN`)
	refused(t, s, sqlerr.Invalid, `RETIRE PERIOD '2026-11' OF visits`)
	must(t, s, `DROP RELEASE monthly PERIOD '2026-06'`)
	refused(t, s, sqlerr.Invalid, `REFRESH RELEASE monthly PERIOD '2026-06'`)
	refused(t, s, sqlerr.Invalid, `DROP PRIVATE TABLE visits`)
	must(t, s, `DROP RELEASE monthly`)
	refused(t, s, sqlerr.Unknown, `REFRESH RELEASE monthly`)
	if got := spentIn(t, s, "2026-05").Epsilon; got != 2*half {
		t.Errorf("after DROP 2026-05 has spent %v", got)
	}
}

// TestRefreshEarly: a release with early = on has a part for the running period.
func TestRefreshEarly(t *testing.T) {
	t.Parallel()
	s, c := growing(t, "")
	must(t, s, `CREATE RELEASE soon ON visits (sex) USING MARGINALS WITH (epsilon = 0.1, early = on) EACH PERIOD`)
	c.set(t, "2026-02-10T00:00:00Z")
	noted(t, s, `REFRESH RELEASE soon`, "soon: built 2026-01, 2026-02; 2 parts")
	c.set(t, "2026-03-01T00:00:00Z")
	noted(t, s, `REFRESH RELEASE soon`, "soon: built 2026-03; 3 parts")
	refused(t, s, sqlerr.Invalid, `CREATE RELEASE other ON visits (sex) USING PROJECTION WITH (epsilon = 0.1, early = on)`)
}

// TestRefreshOutOfBudget: periods that cannot pay do not keep the others from their parts, neither
// in this REFRESH nor in the next. The error names them all.
func TestRefreshOutOfBudget(t *testing.T) {
	t.Parallel()
	s, c := growing(t, "")
	must(t, s, `CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 1.5) EACH PERIOD`)
	must(t, s, `CREATE RELEASE may ON visits (sex) USING PROJECTION WITH (epsilon = 1, period = '2026-05')`)
	must(t, s, `CREATE RELEASE july ON visits (sex) USING PROJECTION WITH (epsilon = 0.75, period = '2026-07 to 2026-08')`)
	e := refused(t, s, sqlerr.Budget, `REFRESH RELEASE monthly`)
	if !strings.Contains(e.Message, "has ε = 1 left in 2026-05; nor can 2026-07, 2026-08 pay; built 2026-01 to 2026-04, 2026-06, 2026-09, 2026-10") {
		t.Errorf("the error is %q", e.Message)
	}
	c.set(t, "2026-12-02T00:00:00Z")
	e = refused(t, s, sqlerr.Budget, `REFRESH RELEASE monthly`)
	if !strings.HasSuffix(e.Message, "left in 2026-05; nor can 2026-07, 2026-08 pay; built 2026-11") {
		t.Errorf("the error is %q", e.Message)
	}
	e = refused(t, s, sqlerr.Budget, `REFRESH RELEASE monthly PERIOD '2026-05'`)
	if !strings.HasSuffix(e.Message, "left in 2026-05") {
		t.Errorf("the error is %q", e.Message)
	}
	for name, want := range map[string]string{"2026-04": "1.5", "2026-05": "1", "2026-06": "1.5", "2026-07": "0.75", "2026-11": "1.5"} {
		if got := spentIn(t, s, name).Epsilon; got != epsilonOf(t, want) {
			t.Errorf("%s has spent %v", name, got)
		}
	}
	must(t, s, `RETIRE PERIOD '2026-05' OF visits`)
	e = refused(t, s, sqlerr.Budget, `REFRESH RELEASE monthly`)
	if !strings.HasSuffix(e.Message, "left in 2026-07; nor can 2026-08 pay") {
		t.Errorf("the error is %q", e.Message)
	}
	refused(t, s, sqlerr.Budget, `CREATE RELEASE dear ON visits (sex) USING PROJECTION WITH (epsilon = 3) EACH PERIOD`)
}

// TestRefreshAfterACrash: a part that was charged and not stored is built by the next REFRESH, and
// the ledger has both charges. Every other part is charged once.
func TestRefreshAfterACrash(t *testing.T) {
	t.Parallel()
	s, c := growing(t, "")
	must(t, s, `CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	c.set(t, "2026-04-02T00:00:00Z")
	crashed := copiedAtDraw(t, s)
	must(t, s, `REFRESH RELEASE monthly`)
	again := open(t, crashed, engine.Options{}).NewSession()
	again.DB().SetNow(func() time.Time { return c.now })
	noted(t, again, `REFRESH RELEASE monthly`, "monthly: built 2026-01 to 2026-03; 3 parts")
	half := epsilonOf(t, "0.5")
	for name, want := range map[string]accounting.Epsilon{"2026-01": 2 * half, "2026-02": half, "2026-03": half} {
		if got := spentIn(t, again, name).Epsilon; got != want {
			t.Errorf("%s has spent %v, want %v", name, got, want)
		}
	}
}

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

// TestRefreshTwiceAtOnce has three databases over one file, as processes have, refresh a release at the
// same time. Each part is built and charged once. Who finds another at it waits, and then has nothing
// left to do.
func TestRefreshTwiceAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "visits.db")
	s, c := growingAt(t, path, "")
	must(t, s, `CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	var sessions []*engine.Session
	for range 3 {
		other := open(t, path, engine.Options{BusyTimeout: 10 * time.Minute}).NewSession() // however busy the machine is
		other.DB().SetNow(func() time.Time { return c.now })
		sessions = append(sessions, other)
	}
	notes := make([]string, len(sessions))
	var all sync.WaitGroup
	for i, session := range sessions {
		all.Go(func() {
			r, err := session.Exec(t.Context(), `REFRESH RELEASE monthly`, nil)
			if err != nil {
				t.Error(err)
				return
			}
			notes[i] = r.Note
		})
	}
	all.Wait()
	slices.Sort(notes)
	want := []string{"monthly: built 2026-01 to 2026-10; 10 parts", "monthly: nothing to build; 10 parts", "monthly: nothing to build; 10 parts"}
	if !slices.Equal(notes, want) {
		t.Errorf("they say %q", notes)
	}
	for _, session := range sessions {
		noted(t, session, `REFRESH RELEASE monthly`, "monthly: nothing to build; 10 parts")
	}
	half := epsilonOf(t, "0.5")
	for name, want := range map[string]accounting.Epsilon{"2026-01": half, "2026-05": half, "2026-10": half, "2026-11": 0} {
		if got := spentIn(t, s, name).Epsilon; got != want {
			t.Errorf("%s has spent %v, want %v", name, got, want)
		}
	}
}

// TestRefreshBesideAnother: while one REFRESH draws, AGAIN and a session that does not wait for others are
// told so, at no cost, and one that waits can be cancelled.
func TestRefreshBesideAnother(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "visits.db")
	s, c := growingAt(t, path, "")
	must(t, s, `CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	must(t, s, `REFRESH RELEASE monthly PERIOD '2026-01'`)
	beside := func(options engine.Options) *engine.Session {
		other := open(t, path, options).NewSession()
		other.DB().SetNow(func() time.Time { return c.now })
		return other
	}
	waits, hasty := beside(engine.Options{}), beside(engine.Options{BusyTimeout: -1})
	drawn := 0
	s.DB().SetRandom(func() *noise.Source {
		if drawn++; drawn == 1 {
			refused(t, waits, sqlerr.Busy, `REFRESH RELEASE monthly PERIOD '2026-01' AGAIN`)
			refused(t, hasty, sqlerr.Busy, `REFRESH RELEASE monthly`)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if _, err := waits.Exec(ctx, `REFRESH RELEASE monthly`, nil); sqlerr.CodeOf(err) != sqlerr.Cancelled {
				t.Error(err)
			}
		}
		return noise.NewSource()
	})
	noted(t, s, `REFRESH RELEASE monthly`, "monthly: built 2026-02 to 2026-10; 10 parts")
	if got := spentIn(t, s, "2026-01").Epsilon; got != epsilonOf(t, "0.5") || drawn == 0 {
		t.Errorf("2026-01 has spent %v", got)
	}
	noted(t, waits, `REFRESH RELEASE monthly PERIOD '2026-01' AGAIN`, "monthly: built 2026-01; 10 parts")
}

// TestRefreshIsInterrupted cancels a REFRESH while it draws for one of the parts. The parts before
// it stay, and the next REFRESH builds the others. Only the part that was charged and not built is
// charged again.
func TestRefreshIsInterrupted(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	must(t, s, `CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	random := s.DB().Random()
	s.DB().SetRandom(func() *noise.Source {
		if r := must(t, s.DB().NewSession(), `SHOW LEDGER`); len(r.Rows) >= 7 { // the declarations, three parts, and a charge
			cancel()
		}
		return noise.NewSource()
	})
	_, err := s.Exec(ctx, `REFRESH RELEASE monthly`, nil)
	if sqlerr.CodeOf(err) != sqlerr.Cancelled {
		t.Fatal(err)
	}
	s.DB().SetRandom(random)
	t.Log(err)
	half := epsilonOf(t, "0.5")
	months := []string{"2026-01", "2026-02", "2026-03", "2026-04", "2026-05", "2026-06"}
	before := make(map[string]accounting.Epsilon)
	for _, month := range months {
		before[month] = spentIn(t, s, month).Epsilon
	}
	r := must(t, s, `REFRESH RELEASE monthly`)
	twice := 0
	for _, month := range months {
		got := spentIn(t, s, month).Epsilon
		switch got {
		case half:
		case 2 * half:
			twice++
		default:
			t.Errorf("%s has spent %v", month, got)
		}
		if got < before[month] {
			t.Errorf("%s had spent %v and has spent %v", month, before[month], got)
		}
	}
	if before["2026-01"] != half || before["2026-06"] != 0 || twice > 1 {
		t.Errorf("it was interrupted with %v, then %s, and %d parts are charged twice", before, r.Note, twice)
	}
	noted(t, s, `REFRESH RELEASE monthly`, "monthly: nothing to build; 10 parts")
}

// TestWhoMayRefresh refuses the statements of periods to all but the curator, and to a file that is
// opened for reading. Nothing is charged.
func TestWhoMayRefresh(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "visits.db")
	s, _ := growingAt(t, path, "")
	must(t, s, `CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	must(t, s, `REFRESH RELEASE monthly PERIOD '2026-01'`)
	ana := admits(t, s, `GRANT SELECT ON visits TO %s WITH (rho = 0.01)`)[0]
	before := ledger(t, s)
	for code, sessions := range map[sqlerr.Code][]*engine.Session{
		sqlerr.Forbidden: {ana, open(t, path, engine.Options{Role: engine.Analyst}).NewSession()},
		sqlerr.ReadOnly:  {open(t, path, engine.Options{ReadOnly: true}).NewSession()},
	} {
		for _, session := range sessions {
			for _, text := range []string{
				`REFRESH RELEASE monthly`, `REFRESH RELEASE monthly PERIOD '2026-02'`, `REFRESH RELEASE monthly PERIOD '2026-01' AGAIN`,
				`DROP RELEASE monthly PERIOD '2026-01'`, `RETIRE PERIOD '2026-01' OF visits`,
				`CREATE RELEASE other ON visits (sex) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`,
			} {
				refused(t, session, code, text)
			}
		}
	}
	if after := ledger(t, s); after != before {
		t.Errorf("the ledger was\n%sand is\n%s", before, after)
	}
}
