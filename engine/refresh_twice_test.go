package engine_test

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/engine"
	"dpsql/noise"
	"dpsql/sqlerr"
)

// TestRefreshTwiceAtOnce has three databases over one file, as processes have, refresh a release at the
// same time. Each part is built and charged once. Who finds another at it waits, and then has nothing
// left to do.
func TestRefreshTwiceAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "visits.db")
	s, c := growingAt(t, path, "")
	must(t, s, `CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
	sessions := []*engine.Session{s}
	for range 2 {
		other := open(t, path, engine.Options{}).NewSession()
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
