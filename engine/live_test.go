package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/engine/internal/kind"
	"dpsql/internal/seeds"
	"dpsql/noise"
	"dpsql/sqlerr"
)

// lines returns the number of lines of the ledger.
func lines(t testing.TB, s *engine.Session) (n int) {
	t.Helper()
	err := s.DB().Store().Read(context.Background(), func(tx *catalog.Tx) error {
		entries, err := tx.Ledger()
		n = len(entries)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// mechanism returns the stored record of a mechanism.
func mechanism(t testing.TB, s *engine.Session, name string) catalog.Mechanism {
	t.Helper()
	v, err := s.DB().View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return *v.Mechanism(name)
}

// TestMechanismOnAdult asks one mechanism 2,000 queries. At most max_updates runs are paid
// for. Queries that do not fire leave the ledger unchanged. Every answer is within the
// bound T + x, which holds for all of them at once except with probability 1e-7, the
// test's false-failure rate.
func TestMechanismOnAdult(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("takes some seconds: -long")
	}
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 1))
	s := adultData.declare(t, `epsilon = 4, delta = 1e-6, interactive = 1`)
	must(t, s, `CREATE MECHANISM live ON adult USING SMW WITH (epsilon = 4, max_updates = 200, max_support = 2000, queries = 2000, prior = uniform)`)
	p, err := kind.ReadMechanism(new(mechanism(t, s, "live")))
	if err != nil {
		t.Fatal(err)
	}
	bound := float64(p.Threshold + p.SimultaneousBound(1e-7))
	raw := plain(t, s)
	asked, unverified, squares, worst := 0, 0, 0.0, 0.0
	for range 2000 {
		text := adultData.conjunction(random)
		before := lines(t, s)
		r := must(t, s, text)
		asked++
		if grown := lines(t, s) - before; grown > 2 { // a run began and ended
			t.Fatalf("one query wrote %d lines into the ledger", grown)
		}
		if !r.Answer.Verified {
			unverified++
			continue
		}
		off := math.Abs(float64(r.Rows[0][0].(int64) - truth(t, raw, text)))
		worst, squares = max(worst, off), squares+off*off
		if off > bound {
			t.Errorf("%s is off by %.0f, more than %.0f", text, off, bound)
		}
	}
	fired := len(history(t, s, "live"))
	t.Logf("%d queries, %d fired, %d unverified; RMS %.0f, worst %.0f, bound %.0f (T = %d)",
		asked, fired, unverified, math.Sqrt(squares/float64(asked-unverified)), worst, bound, p.Threshold)
	m := mechanism(t, s, "live")
	if m.RunsStarted > m.Updates || int64(fired) > m.RunsStarted || fired == 0 {
		t.Errorf("%d runs of %d were paid for and %d fired", m.RunsStarted, m.Updates, fired)
	}
	if got, want := lines(t, s), 3+int(m.RunsStarted)+fired; got != want { // declaration, N̂, reserve, and one line for each run and each firing
		t.Errorf("the ledger has %d lines, want %d: unfired queries cost nothing", got, want)
	}
	if unverified > 0 && m.RunsStarted < m.Updates {
		t.Errorf("%d answers are unverified after %d of %d runs", unverified, m.RunsStarted, m.Updates)
	}
}

func history(t testing.TB, s *engine.Session, name string) (rows []catalog.HistoryRow) {
	t.Helper()
	m := mechanism(t, s, name)
	err := s.DB().Store().Read(context.Background(), func(tx *catalog.Tx) error {
		var err error
		rows, err = tx.History(m.ID, 1)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// asking makes a clinic with a mechanism of four runs. At queries = 100 and beta = 0.5 its
// threshold is about 110 counts and its noise has scale 16. The uniform hypothesis gives
// heavy 200 of its 800 rows, so heavy fires with probability above 1 − 1e-12. At queries =
// 1e9 and beta = 1e-3 light fires with probability below 1e-11.
func asking(t *testing.T, with string) (*engine.Session, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clinic.db")
	s := clinicAt(t, path)
	must(t, s, `CREATE MECHANISM live ON admissions (age, zip) USING SMW
		WITH (epsilon = 2, max_updates = 4, max_support = 500, `+with+`)`)
	must(t, s, `SET mechanism = live`)
	return s, path
}

const eager, calm = `queries = 100, beta = 0.5`, `queries = 1e9, beta = 1e-3`

const (
	heavy = `SELECT COUNT(*) FROM admissions WHERE age < 100 AND zip = '15211'` // 800 rows
	light = `SELECT COUNT(*) FROM admissions WHERE age = 3 AND zip = '99999'`   // none
)

// TestRunsGoOnAfterRestart closes a database and opens it again. The open run goes on,
// stored answers stay, and nothing is charged.
func TestRunsGoOnAfterRestart(t *testing.T) {
	t.Parallel()
	s, path := asking(t, eager)
	first := count(t, s, light)
	fired := count(t, s, heavy)
	before, record := ledger(t, s), mechanism(t, s, "live")
	s.DB().Close()
	again := open(t, path, engine.Options{}).NewSession()
	must(t, again, `SET mechanism = live`)
	if a, b := count(t, again, light), count(t, again, heavy); a != first || b != fired {
		t.Errorf("after a restart %d and %d became %d and %d", first, fired, a, b)
	}
	count(t, again, `SELECT COUNT(*) FROM admissions WHERE age = 4 AND zip = '99999'`) // begins a run or continues one
	after := mechanism(t, again, "live")
	if record.Run != nil && (after.RunsStarted != record.RunsStarted || ledger(t, again) != before) {
		t.Errorf("the open run %d did not go on: now %d were started", record.RunsStarted, after.RunsStarted)
	}
	if after.Comparisons != record.Comparisons && after.Comparisons < 2 {
		t.Errorf("the comparisons fell to %d", after.Comparisons)
	}
}

// TestCrashEndsTheRun leaves a mechanism leased, as a killed process would. The next
// process ends its run, erases τ, keeps the charge, and starts another run.
func TestCrashEndsTheRun(t *testing.T) {
	t.Parallel()
	s, path := asking(t, calm)
	var before catalog.Mechanism
	for n, held := 0, false; !held && n < 100; n++ { // an idle lease is given back, on a busy machine before the crash
		count(t, s, fmt.Sprintf(`SELECT COUNT(*) FROM admissions WHERE age = %d AND zip = '99999'`, 6+n%94))
		before = mechanism(t, s, "live")
		held = crash(t, s)
	}
	if before.Run == nil || !before.Leased {
		t.Fatalf("after a comparison the run is %v and leased %v", before.Run, before.Leased)
	}
	other := open(t, path, engine.Options{}).NewSession()
	must(t, other, `SET mechanism = live`)
	count(t, other, `SELECT COUNT(*) FROM admissions WHERE age = 5 AND zip = '99999'`)
	after := mechanism(t, other, "live")
	if after.RunsStarted != before.RunsStarted+1 || after.RunsEnded != before.Run.Number {
		t.Errorf("run %d went on after a crash: %+v", before.Run.Number, after)
	}
	if after.Run != nil && after.Run.Tau == before.Run.Tau && after.Run.Number == before.Run.Number {
		t.Error("τ of a crashed run is used again")
	}
	if !strings.Contains(ledger(t, other), "run 1 of 4 ended") {
		t.Errorf("the ledger does not tell of the crash:\n%s", ledger(t, other))
	}
}

// crash leaves a database as a process does that is killed between two statements. The
// system takes its lease back, and nothing more is stored. It reports whether there was a lease: one
// that is idle on a busy machine was given back.
func crash(t *testing.T, s *engine.Session) (held bool) {
	t.Helper()
	if err := s.DB().Answers().Live.Enter(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer func() { <-s.DB().Answers().Live.Turn }()
	lease := s.DB().Answers().Live.Lease
	if lease != nil {
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	}
	s.DB().Answers().Live.Lease = nil
	return lease != nil
}

// TestCrashesForgetNoComparison asks a mechanism of k = 100 new queries, and crashes after
// every 7 of them. At most k comparisons are ever made, and a crash costs at most k/100 =
// 1 that was not made. Sometimes it closes the database instead, which costs none. The
// outcome does not depend on the draws.
func TestCrashesForgetNoComparison(t *testing.T) {
	t.Parallel()
	const k, block = 100, 1
	s, path := asking(t, calm)
	must(t, s, `DROP MECHANISM live`)
	must(t, s, `CREATE MECHANISM live ON admissions (age, zip) USING SMW
		WITH (epsilon = 1, max_updates = 60, max_support = 500, queries = 100, beta = 1e-10)`)
	var made, lost int64
	for asked, spent := 0, false; !spent; {
		for range 7 {
			r := must(t, s, fmt.Sprintf(`SELECT COUNT(*) FROM admissions WHERE age = %d AND zip = '9999%d'`, asked%100, asked/100))
			asked++
			if spent = !r.Answer.Verified; !spent {
				made++
			}
		}
		if asked%3 == 0 {
			s.DB().Close()
		} else {
			crash(t, s)
			lost += block
		}
		s = open(t, path, engine.Options{}).NewSession()
		must(t, s, `SET mechanism = live`)
		m := mechanism(t, s, "live")
		if made > k || m.Comparisons+block < made {
			t.Fatalf("%d comparisons were made of %d, and the catalog knows of %d", made, k, m.Comparisons)
		}
		if asked%3 == 0 && m.Comparisons < made {
			t.Fatalf("a database that was closed in good order knows of %d comparisons of %d", m.Comparisons, made)
		}
	}
	if made+lost < k {
		t.Errorf("%d comparisons were made of %d, and crashes may have cost %d", made, k, lost)
	}
	t.Logf("%d comparisons were made, and crashes may have cost %d", made, lost)
}

// TestEndOfARunIsMarked puts back copies of the file in which a run is open that has ended since, with the file's
// mark beside them. Each would compare with the run's τ again, so each is refused: a whole copy, one that a kill
// and a lost write-ahead log leave, and one from before the mechanism was dropped.
func TestEndOfARunIsMarked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, end string
		open      bool // the process that ended the run is killed
	}{
		{"whole copy", heavy, false},
		{"lost log", heavy, true},
		{"dropped", `DROP MECHANISM live`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "clinic.db")
			s := clinicAt(t, path)
			quieten(s.DB())
			must(t, s, `CREATE MECHANISM live ON admissions (age, zip) USING SMW
				WITH (epsilon = 2, max_updates = 1, max_support = 500, queries = 100, beta = 0.5)`)
			must(t, s, `SET mechanism = live`)
			count(t, s, light)
			s.DB().Close()
			copied, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s = open(t, path, engine.Options{}).NewSession()
			quieten(s.DB())
			must(t, s, `SET mechanism = live`)
			before := mechanism(t, s, "live")
			must(t, s, c.end)
			if before.Run == nil || before.Leased {
				t.Fatalf("the run of the copy is %v, leased %v", before.Run, before.Leased)
			}
			mark, err := os.ReadFile(path + "-mark")
			if err != nil {
				t.Fatal(err)
			}
			if !c.open {
				s.DB().Close()
			}
			again := filepath.Join(t.TempDir(), "clinic.db")
			if err := errors.Join(os.WriteFile(again, copied, 0o600), os.WriteFile(again+"-mark", mark, 0o600)); err != nil {
				t.Fatal(err)
			}
			r := open(t, again, engine.Options{}).NewSession()
			must(t, r, `SET mechanism = live`)
			refused(t, r, sqlerr.Corrupt, heavy)
		})
	}
}

// TestEndedRunsAreErased lets a run fire, and drops a mechanism with an open run, while another process keeps the
// file open. When the mechanisms are idle, the write-ahead log, which has had each τ, is cut.
func TestEndedRunsAreErased(t *testing.T) {
	s, path := asking(t, eager)
	quieten(s.DB())
	other := open(t, path, engine.Options{}).NewSession()
	must(t, other, `SHOW LEDGER`)
	logged := func() bool {
		info, err := os.Stat(path + "-wal")
		return err == nil && info.Size() > 0
	}
	must(t, s, heavy)
	if !logged() {
		t.Fatal("a firing is not in the log")
	}
	for logged() {
		time.Sleep(10 * time.Millisecond)
	}
	must(t, s, light)
	for mechanism(t, s, "live").Leased {
		time.Sleep(10 * time.Millisecond)
	}
	if m := mechanism(t, s, "live"); m.Run == nil || !logged() {
		t.Fatalf("no run is open: %+v", m)
	}
	must(t, s, `DROP MECHANISM live`)
	if logged() {
		t.Error("the log has τ of a mechanism that was dropped")
	}
}

// TestUnwrittenMarkTakesNothing asks while FILE-mark cannot be written. No question begins a run, takes from a
// quota or charges. Once it can be written the first one does, once.
func TestUnwrittenMarkTakesNothing(t *testing.T) {
	t.Parallel()
	s, path := asking(t, calm)
	ana := admits(t, s, `GRANT SELECT ON admissions TO %s WITH (rho = 0.05)`)[0]
	must(t, ana, `SET mechanism = live`)
	mark := path + "-mark"
	if err := errors.Join(os.Rename(mark, mark+"-kept"), os.Mkdir(mark, 0o700)); err != nil {
		t.Fatal(err)
	}
	before := ledger(t, s)
	for range 3 {
		for _, who := range []*engine.Session{s, ana} {
			e := refused(t, who, sqlerr.IO, light)
			if !strings.Contains(e.Error()+e.Hint, "nothing was charged") {
				t.Errorf("%v, %s", e, e.Hint)
			}
		}
	}
	_, spent := quotaOf(t, s, "user0")
	if m := mechanism(t, s, "live"); m.RunsStarted != 0 || spent != 0 || ledger(t, s) != before {
		t.Errorf("%d runs were begun and a quota has spent %v:\n%s", m.RunsStarted, spent, ledger(t, s))
	}
	if err := errors.Join(os.Remove(mark), os.Rename(mark+"-kept", mark)); err != nil {
		t.Fatal(err)
	}
	count(t, s, light)
	if m := mechanism(t, s, "live"); m.RunsStarted != 1 {
		t.Errorf("%d runs were begun", m.RunsStarted)
	}
}

// TestUnstoredFiringEndsTheRun makes the commit of a firing fail. No answer is given, and
// no process uses the run again.
func TestUnstoredFiringEndsTheRun(t *testing.T) {
	t.Parallel()
	s, _ := asking(t, eager)
	fill(t, s, `CREATE TRIGGER full BEFORE INSERT ON dpsql_history BEGIN SELECT RAISE(ABORT, 'disk full'); END`)
	if _, err := s.Exec(context.Background(), heavy, nil); err == nil {
		t.Fatal("a firing that could not be stored was answered, or did not fire")
	}
	fill(t, s, `DROP TRIGGER full`)
	before := mechanism(t, s, "live")
	count(t, s, light)
	after := mechanism(t, s, "live")
	if after.RunsStarted != before.RunsStarted+1 {
		t.Errorf("%d runs were started before and %d after: the lost firing's run went on", before.RunsStarted, after.RunsStarted)
	}
}

// TestTwoDatabasesShareAMechanism makes two handles on one file take turns.
func TestTwoDatabasesShareAMechanism(t *testing.T) {
	t.Parallel()
	s, path := asking(t, eager)
	other := open(t, path, engine.Options{}).NewSession()
	must(t, other, `SET mechanism = live`)
	for i := range 6 {
		text := fmt.Sprintf(`SELECT COUNT(*) FROM admissions WHERE age = %d AND zip = '99999'`, i)
		a, b := count(t, s, text), count(t, other, text)
		if a != b {
			t.Errorf("one handle says %d and the other %d", a, b)
		}
	}
	if m := mechanism(t, s, "live"); m.RunsStarted > m.Updates {
		t.Errorf("%d runs of %d were started", m.RunsStarted, m.Updates)
	}
}

// TestRemovedLease removes FILE-lease under a process that has it, and another process takes the mechanisms over:
// it ends the run. If that happens between two questions, the next one is answered from the other's run. If it
// happens during a comparison, that one is not answered, whether the file's name is free, another's or its own again.
func TestRemovedLease(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		during bool
		text   string
		back   bool // the file gets its name back
	}{{"between", false, light, false}, {"agrees", true, light, false}, {"fires", true, heavy, false}, {"agrees, back", true, light, true}, {"fires, back", true, heavy, true}} {
		t.Run(c.name, func(t *testing.T) {
			s, path := asking(t, eager)
			quieten(s.DB())
			live := s.DB().Answers().Live
			for held, age := false, 10; !held; age++ { // an idle lease is given back
				count(t, s, fmt.Sprintf(`SELECT COUNT(*) FROM admissions WHERE age = %d AND zip = '99999'`, age))
				if err := live.Enter(t.Context()); err != nil {
					t.Fatal(err)
				}
				if held = live.Lease != nil; !held || c.during {
					<-live.Turn
				}
			}
			takeOver := func() {
				if err := os.Rename(path+"-lease", path+"-gone"); err != nil {
					t.Fatal(err)
				}
				other := open(t, path, engine.Options{}).NewSession()
				quieten(other.DB())
				must(t, other, `SET mechanism = live`)
				count(t, other, `SELECT COUNT(*) FROM admissions WHERE age = 6 AND zip = '99999'`)
				if err := other.DB().Close(); err != nil {
					t.Fatal(err)
				}
				if c.back {
					if err := os.Rename(path+"-gone", path+"-lease"); err != nil {
						t.Fatal(err)
					}
				}
			}
			if c.during {
				taken := false
				s.DB().SetRandom(func() *noise.Source {
					if !taken {
						taken = true
						takeOver()
					}
					return noise.NewSourceFrom(quiet{})
				})
				refused(t, s, sqlerr.Busy, c.text)
			} else {
				takeOver()
				<-live.Turn
			}
			count(t, s, c.text)
			ends := begunRuns(t, s)
			if m := mechanism(t, s, "live"); m.RunsStarted != 2 || len(ends) != 2 {
				t.Errorf("%+v, %v", m, ends)
			}
			if text := ledger(t, s); strings.Count(text, "run 1 of 4 ended: its process did not close it") != 1 {
				t.Errorf("run 1 was not ended by the other process:\n%s", text)
			}
		})
	}
}

// TestLeaseGoesAsARunBegins removes FILE-lease when a run is charged and its τ is not stored. Another process takes the
// mechanisms over, and begins the next run. The first one is not begun any more, which is no fault.
func TestLeaseGoesAsARunBegins(t *testing.T) {
	t.Parallel()
	s, path := asking(t, eager)
	s.DB().SetRandom(func() *noise.Source {
		if os.Remove(path+"-lease") == nil {
			other := open(t, path, engine.Options{}).NewSession()
			quieten(other.DB())
			must(t, other, `SET mechanism = live`)
			count(t, other, light)
		}
		return noise.NewSourceFrom(quiet{})
	})
	must(t, s, `SET mechanism = live`)
	refused(t, s, sqlerr.Busy, heavy)
	if m := mechanism(t, s, "live"); m.RunsStarted != 2 || m.Run == nil || m.Run.Number != 2 {
		t.Errorf("%+v", m)
	}
}

// TestSpentMechanism checks that a spent mechanism answers unverified or refuses, as SET
// unverified says.
func TestSpentMechanism(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE MECHANISM live ON admissions (age, zip) USING SMW
		WITH (epsilon = 1, max_updates = 4, max_support = 500, queries = 2)`)
	must(t, s, `SET mechanism = live`)
	for age := range 2 {
		must(t, s, fmt.Sprintf(`SELECT COUNT(*) FROM admissions WHERE age = %d AND zip = '99999'`, age))
	}
	const text = `SELECT COUNT(*), MARGIN(COUNT(*)) FROM admissions WHERE age = 9 AND zip = '99999'`
	r := must(t, s, text)
	if r.Answer.Verified || r.Rows[0][1] != nil || r.Answer.Margins[0][0] != nil {
		t.Errorf("past its comparisons the mechanism answers %v, verified %v", r.Rows, r.Answer.Verified)
	}
	must(t, s, `SET unverified = off`)
	refused(t, s, sqlerr.Uncovered, text)
}

// TestDroppedMechanismReturnsItsRuns gives back the runs that never started.
func TestDroppedMechanismReturnsItsRuns(t *testing.T) {
	t.Parallel()
	s, _ := asking(t, eager)
	left := func() any { return must(t, s, `SHOW BUDGET`).Rows[2][5] }
	count(t, s, light)
	m := mechanism(t, s, "live")
	before := left()
	must(t, s, `DROP MECHANISM live`)
	count(t, s, light) // a stored answer stays
	refused(t, s, sqlerr.Unknown, heavy)
	if left() == before {
		t.Error("nothing was returned")
	}
	if text := ledger(t, s); !strings.Contains(text, "return unused runs") {
		t.Errorf("the ledger does not tell of the return:\n%s", text)
	}
	v, err := s.DB().View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	spent := v.Accounts[firstTable(s).Account].Spent.Rho
	if want := m.RunRho; spent < want || spent > m.Rho {
		t.Errorf("ρ = %v stays spent, want at least the started run's %v", spent, want)
	}
}
