package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/internal/released"
	"dpsql/sqlerr"
)

const buildSMW = `CREATE RELEASE r ON ward USING SMW WITH (epsilon = 200, free_columns = 0, max_updates = 6, %s)`

// parityWard opens a ward in which every two columns are independent, and all three are not: a prior
// that was learned from pairs is off by 25 in 80 of the 600 cells, by which a test fires.
func parityWard(t *testing.T) *engine.Session {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ward.db")
	fillWard(t, path, wardTable("ward"))
	s := open(t, path, engine.Options{}).NewSession()
	fill(t, s, `UPDATE raw_ward SET sex = CASE rowid / 20 % 2 WHEN 0 THEN 'F' ELSE 'M' END`,
		`UPDATE raw_ward SET diagnosis = CASE (sex = 'F') + (age < 50) WHEN 1 THEN 'E10' ELSE 'E11' END`)
	return s
}

// learnedBy returns what is stored of the release r.
func learnedBy(t *testing.T, s *engine.Session) (p released.HypothesisPayload) {
	t.Helper()
	err := s.DB().Store().Read(context.Background(), func(tx *catalog.Tx) error {
		r, err := tx.Release("r")
		if err != nil || r == nil {
			return err
		}
		payload, err := tx.ReleasePayload(r)
		if err != nil {
			return err
		}
		return p.Open(payload)
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// lastRelease returns the number of the release that was stored last, which is another when a run has begun.
func lastRelease(t *testing.T, s *engine.Session) (id int64) {
	t.Helper()
	err := s.DB().Store().Read(context.Background(), func(tx *catalog.Tx) error {
		return tx.SQL().QueryRowContext(context.Background(), `SELECT COUNT(*) FROM dpsql_objects WHERE kind = 'release'`).Scan(&id)
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// copyDatabase copies what a process that is killed now leaves of a database.
func copyDatabase(t *testing.T, from, to string) {
	t.Helper()
	for _, end := range []string{"", "-wal", "-mark"} {
		content, err := os.ReadFile(from + end)
		if err == nil {
			err = os.WriteFile(to+end, content, 0o600)
		}
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

// kills runs a statement, and copies the database at the first comparison of each run.
func kills(t *testing.T, s *engine.Session, text string) (copies []string) {
	t.Helper()
	last := lastRelease(t, s)
	dir := t.TempDir()
	s.SetProgress(func(done, all int64) {
		if id := lastRelease(t, s); id != last {
			last = id
			copies = append(copies, filepath.Join(dir, fmt.Sprint(len(copies), ".db")))
			copyDatabase(t, s.DB().Store().Path(), copies[len(copies)-1])
		}
	})
	defer s.SetProgress(nil)
	must(t, s, text)
	return copies
}

// goesOn checks that a build went on from what was stored, and that at most its runs have begun.
func goesOn(t *testing.T, before, after released.HypothesisPayload) {
	t.Helper()
	n := len(before.Steps)
	if string(after.Prior) != string(before.Prior) || len(after.Steps) < n || n > 0 && !reflect.DeepEqual(after.Steps[:n], before.Steps) {
		t.Errorf("what was drawn is another:\n%+v, then\n%+v", before.Steps, after.Steps)
	}
	if after.Runs < min(before.Runs+1, 6) || after.Runs > 6 || int64(len(after.Steps)) > after.Runs-1 && after.Complete {
		t.Errorf("%d runs after %d, %d steps", after.Runs, before.Runs, len(after.Steps))
	}
}

// TestKilledBuildGoesOn kills a build by SMW when it has drawn its prior, and after each firing, and
// runs the same statement on what is left of the database. It costs nothing, draws nothing again that
// was stored, and finishes the release, also when it is killed again. Nothing is shown before.
func TestKilledBuildGoesOn(t *testing.T) {
	t.Parallel()
	for _, with := range []string{"prior = classes, remeasure = on", "prior = uniform"} {
		s := parityWard(t)
		text := fmt.Sprintf(buildSMW, with)
		whole := kills(t, s, text)
		if len(whole) < 4 {
			t.Fatalf("%s: %d runs have begun, too few to test", with, len(whole))
		}
		for i, killed := range whole {
			s := open(t, killed, engine.Options{}).NewSession()
			before := learnedBy(t, s)
			if len(before.Steps) != i || before.Runs != int64(i)+1 || (before.Prior != nil) != strings.HasPrefix(with, "prior = classes") {
				t.Fatalf("%s: %d steps, %d runs after %d firings", with, len(before.Steps), before.Runs, i)
			}
			if text := fmt.Sprint(must(t, s, `SHOW RELEASES`).Rows); !strings.Contains(text, "not finished yet") {
				t.Errorf("%s: %s", with, text)
			}
			refused(t, s, sqlerr.Uncovered, `SELECT /*+ mechanism(r) */ COUNT(*) FROM ward WHERE age = 5 AND sex = 'F' AND diagnosis = 'E10'`)
			refused(t, s, sqlerr.Invalid, `EXPORT RELEASE r TO '`+killed+`.export'`)
			refused(t, s, sqlerr.Invalid, strings.Replace(text, "max_updates = 6", "max_updates = 7", 1))
			charges := lines(t, s)
			again := kills(t, s, text)
			after := learnedBy(t, s)
			goesOn(t, before, after)
			if cost, _ := charged(t, s, charges); cost != (accounting.Amount{}) {
				t.Errorf("%s: it cost %v", with, cost)
			}
			must(t, s, `SELECT /*+ mechanism(r) */ COUNT(*) FROM ward WHERE age = 5 AND sex = 'F' AND diagnosis = 'E10'`)
			if len(again) > 0 { // killed at its first run
				s := open(t, again[0], engine.Options{}).NewSession()
				next := learnedBy(t, s)
				if goesOn(t, before, next); next.Runs != before.Runs+1 || len(next.Steps) != len(before.Steps) {
					t.Errorf("%s: run %d begins after run %d", with, next.Runs, before.Runs)
				}
				before = next
				must(t, s, text)
				after := learnedBy(t, s)
				goesOn(t, before, after)
			}
		}
	}
}

// TestOldCopyGoesOnWithNoBuild puts a copy of an unfinished release in place of the finished one. The
// mark beside the file refuses it: its runs would be made again.
func TestOldCopyGoesOnWithNoBuild(t *testing.T) {
	t.Parallel()
	s := parityWard(t)
	path := s.DB().Store().Path()
	text := fmt.Sprintf(buildSMW, "prior = uniform")
	copies := kills(t, s, text)
	s.DB().Close()
	if err := os.Remove(copies[0] + "-mark"); err != nil {
		t.Fatal(err)
	}
	copyDatabase(t, copies[0], path)
	refused(t, open(t, path, engine.Options{}).NewSession(), sqlerr.Corrupt, text)
}

// TestInterruptedBuildSays cancels a build in a run, and drops another meanwhile.
func TestInterruptedBuildSays(t *testing.T) {
	t.Parallel()
	s := parityWard(t)
	path := s.DB().Store().Path()
	text := fmt.Sprintf(buildSMW, "prior = uniform")
	during := func(do func(cancel func())) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		first := lastRelease(t, s)
		s.SetProgress(func(done, all int64) {
			if id := lastRelease(t, s); id == first+3 { // it has fired twice
				first = 0
				do(cancel)
			}
		})
		defer s.SetProgress(nil)
		_, err := s.Exec(ctx, text, nil)
		return err
	}
	e, _ := during(func(cancel func()) { cancel() }).(*sqlerr.Error)
	if e == nil || e.Code != sqlerr.Cancelled || !strings.Contains(e.Message, "which are kept") || e.Hint != "the same statement goes on, and costs nothing" {
		t.Fatalf("%v", e)
	}
	must(t, s, text)
	must(t, s, `DROP RELEASE r`)
	err := during(func(func()) { must(t, open(t, path, engine.Options{}).NewSession(), `DROP RELEASE r`) })
	if sqlerr.CodeOf(err) != sqlerr.Unknown {
		t.Errorf("it was dropped meanwhile: %v", err)
	}
}

// TestBuildShowsRuns checks that the progress of a build by SMW never falls, and moves while its runs
// are made.
func TestBuildShowsRuns(t *testing.T) {
	t.Parallel()
	for _, updates := range []string{"6", "100"} { // the runs end, or a pass agrees
		s := parityWard(t)
		last, moves := int64(-1), 0
		s.SetProgress(func(done, all int64) {
			if share := 100 * done / max(1, all); all > 300 && share != last {
				if moves++; share < last || share > 100 {
					t.Errorf("%s runs: %d %% after %d %%", updates, share, last)
				}
				last = share
			}
		})
		must(t, s, strings.Replace(fmt.Sprintf(buildSMW, "prior = uniform"), "6", updates, 1))
		if moves < 6 {
			t.Errorf("%s runs: it moved %d times", updates, moves)
		}
	}
}
