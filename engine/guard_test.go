package engine_test

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// ages returns a count of a sex at the ages with a remainder modulo 2. All 2,000 women have
// odd ages and all men even ones. Neither column alone says so.
func ages(sex string, remainder int) string {
	return fmt.Sprintf(`SELECT COUNT(*) FROM admissions WHERE sex = '%s' AND age %% 2 = %d`, sex, remainder)
}

const blind = `CREATE RELEASE low ON admissions (sex, age, diagnosis) USING MARGINALS WITH (epsilon = 0.5, delta = 1e-7, degree = 1)`

// TestGuard has a mechanism check what a release cannot see. A margin at a confidence of
// 1 − 1e-9 misses with less than that probability, and 4 are compared. The release says
// 1,000 where none or 2,000 are, and the test has T + x = 350 or so: that it does not fire
// is less likely than 1e-9, too.
func TestGuard(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "clinic.db")
	s := clinicAt(t, path)
	must(t, s, blind)
	must(t, s, `SET confidence = 0.999999999`)
	if r := must(t, s, ages("F", 1)); r.Answer.Verified || r.Answer.Via != "low" {
		t.Errorf("without a guard: %v by %s, verified %v", r.Rows, r.Answer.Via, r.Answer.Verified)
	}
	must(t, s, `CREATE MECHANISM live ON admissions (sex, age) USING SMW WITH (epsilon = 1.9, max_updates = 4, queries = 50, prior = low)`)
	if text := ledger(t, s); strings.Contains(text, "prior") || strings.Count(text, "reserve mechanism") != 1 {
		t.Errorf("the guard's start has cost something:\n%s", text)
	}
	if shown := fmt.Sprint(must(t, s, `SHOW MECHANISMS`).Rows); !strings.Contains(shown, "release low") {
		t.Errorf("SHOW MECHANISMS has %s", shown)
	}
	if note := fmt.Sprint(must(t, s, `EXPLAIN `+ages("F", 1)).Rows); !strings.Contains(note, "guards low") || !strings.Contains(note, "no error bar for this query") {
		t.Errorf("EXPLAIN has %s", note)
	}
	holds := func(s *engine.Session, text string, truth int64, via string) {
		t.Helper()
		r := must(t, s, text)
		margin, ok := r.Answer.Margins[0][0].(float64)
		if off := math.Abs(float64(r.Rows[0][0].(int64) - truth)); !ok || off > margin || r.Answer.Via != via {
			t.Errorf("%s: %v ± %v by %s, want %d by %s", text, r.Rows, r.Answer.Margins, r.Answer.Via, truth, via)
		}
		t.Logf("%s: %v ± %v", text, r.Rows, margin)
	}
	holds(s, `SELECT COUNT(*) FROM admissions WHERE sex = 'F'`, 2000, "low") // the release's margin is tighter
	holds(s, ages("F", 1), 2000, "live")
	if m := mechanism(t, s, "live"); m.RunsStarted != 1 || m.Run != nil {
		t.Errorf("%d runs began, and one is open: %v; want that of the answer to be over", m.RunsStarted, m.Run != nil)
	}
	must(t, s, `DROP RELEASE low`)
	if err := s.DB().Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path, engine.Options{}).NewSession()
	must(t, again, `SET confidence = 0.999999999`)
	holds(again, ages("M", 1), 0, "live")
	holds(again, ages("M", 0), 2000, "live")
	if shown := fmt.Sprint(must(t, again, `SHOW MECHANISMS`).Rows); !strings.Contains(shown, "release low") {
		t.Errorf("after the release was dropped, SHOW MECHANISMS has %s", shown)
	}
}

// TestSpentGuard uses up a guard's only run. Then it answers unverified, and before the
// release, since it has learned what is wrong there: of the 4,000 it knows 2,000 to be
// women of odd age, and from the marginals that no man is, where the release divides all in
// four. Noise would have to be off by 150, which margins of 1 − 1e-9 are not.
func TestSpentGuard(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "clinic.db")
	s := clinicAt(t, path)
	must(t, s, blind)
	must(t, s, `CREATE MECHANISM live ON admissions USING SMW WITH (epsilon = 0.5, queries = 50, max_updates = 1, prior = uniform)`)
	must(t, s, `CREATE MECHANISM guard ON admissions (sex, age) USING SMW WITH (epsilon = 1.4, queries = 50, max_updates = 1, prior = LOW)`)
	must(t, s, `SET mechanism = guard`)
	must(t, s, ages("F", 1))
	must(t, s, `SET mechanism = auto`)
	r := must(t, s, ages("M", 1))
	if n := r.Rows[0][0].(int64); r.Answer.Via != "guard" || r.Answer.Verified || n > 850 {
		t.Errorf("%d of no men, by %s, verified %v", n, r.Answer.Via, r.Answer.Verified)
	}
	must(t, s, `SET mechanism = low`)
	if n := count(t, s, ages("M", 1)); n < 850 {
		t.Errorf("the release itself sees that %d men are of odd age", n)
	}
	public := open(t, path, engine.Options{ReadOnly: true}).NewSession()
	if r := must(t, public, ages("M", 1)); r.Answer.Via != "low" || r.Answer.Verified {
		t.Errorf("read-only: %v by %s", r.Rows, r.Answer.Via)
	}
}

// TestGuardAsksBroader asks about women of odd age with two of three diagnoses. The release
// divides the 4,000 in halves each way and says 667, where 1,333 are. That fires, and so
// does the broader question without the diagnosis, at 1,000 for 2,000, in the next run. All
// that the release did not know is then known, and questions about it fire no more: not
// after the file was opened again, either. T is 68, and τ and ν are of scales 9 and 12. Two
// margins of 1 − 1e-9 may miss, and so may those of the release's own counts, ± 120. For
// the rest noise would have to be off by 280, of probability below 1e-9.
func TestGuardAsksBroader(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "clinic.db")
	s := clinicAt(t, path)
	must(t, s, blind)
	must(t, s, `SET confidence = 0.999999999`)
	must(t, s, `CREATE MECHANISM live ON admissions (sex, age, diagnosis) USING SMW WITH (epsilon = 1.99, max_updates = 2, queries = 50, beta = 0.5, prior = low)`)
	holds := func(s *engine.Session, text string, truth int64) {
		t.Helper()
		r := must(t, s, text)
		margin, ok := r.Answer.Margins[0][0].(float64)
		if off := math.Abs(float64(r.Rows[0][0].(int64) - truth)); !ok || off > margin || r.Answer.Via != "live" {
			t.Errorf("%s: %v ± %v by %s, want %d", text, r.Rows, r.Answer.Margins, r.Answer.Via, truth)
		}
		t.Logf("%s: %v ± %v", text, r.Rows, margin)
	}
	holds(s, ages("F", 1)+` AND diagnosis <> 'I10'`, 1334)
	m := mechanism(t, s, "live")
	if m.RunsStarted != 2 || m.Run != nil {
		t.Fatalf("%d runs began, and one is open: %v; want the question's and that of a broader one to be over", m.RunsStarted, m.Run != nil)
	}
	holds(s, ages("F", 1), 2000) // from the stored answer to the broader question
	if err := s.DB().Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path, engine.Options{}).NewSession()
	for text, want := range map[string]int64{
		ages("M", 1): 0, ages("M", 0): 2000, ages("F", 0) + ` AND diagnosis = 'E10'`: 0, ages("M", 0) + ` AND diagnosis = 'E10'`: 667,
	} {
		r := must(t, again, text)
		if n := r.Rows[0][0].(int64); max(n-want, want-n) > 400 {
			t.Errorf("%s: %d after the update, want about %d", text, n, want)
		}
	}
	if m := mechanism(t, again, "live"); m.Comparisons != 2 {
		t.Errorf("%d comparisons are recorded, want those of the question and a broader one", m.Comparisons)
	}
}

// TestGuardIsRefused tries priors that are none. Nothing is charged, in a rehearsal either.
func TestGuardIsRefused(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, blind)
	must(t, s, `CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.2, estimate = unbiased)`)
	must(t, s, `CREATE RELEASE learned ON admissions (sex) USING SMW WITH (epsilon = 0.2, free_columns = 0)`)
	must(t, s, `CREATE PRIVATE TABLE others (sex TEXT IN ('F', 'M')) FROM raw_admissions WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)`)
	before := ledger(t, s)
	planned := rehearsal(t, s)
	for _, c := range []struct {
		code sqlerr.Code
		with string
	}{
		{sqlerr.Invalid, `others USING SMW WITH (epsilon = 1, prior = low)`},
		{sqlerr.Invalid, `admissions (sex, zip) USING SMW WITH (epsilon = 1, prior = low)`},
		{sqlerr.Invalid, `admissions USING SMW WITH (epsilon = 1, prior = low)`},
		{sqlerr.Invalid, `admissions (sex, age) USING SMW WITH (epsilon = 1, prior = cells)`},
		{sqlerr.Invalid, `admissions (sex) USING SMW WITH (epsilon = 1, prior = learned)`},
		{sqlerr.Invalid, `admissions (sex) USING SMW WITH (epsilon = 1, prior = nothing)`},
		{sqlerr.Invalid, `admissions (sex) USING SMW WITH (epsilon = 1, prior = 3)`},
		{sqlerr.Budget, `admissions (sex) USING SMW WITH (epsilon = 3, prior = low)`},
	} {
		text := `CREATE MECHANISM live ON ` + c.with
		refused(t, s, c.code, text)
		if _, err := planned.Plan(t.Context(), text, nil); sqlerr.CodeOf(err) != c.code {
			t.Errorf("rehearsed: %s\n%v, want %s", text, err, c.code)
		}
	}
	refused(t, s, sqlerr.Invalid, `CREATE RELEASE more ON admissions (sex) USING SMW WITH (epsilon = 0.1, free_columns = 0, prior = low)`)
	if after := ledger(t, s); after != before {
		t.Errorf("the ledger was\n%s\nand is\n%s", before, after)
	}
}

// TestGuardIsRehearsed plans guards of releases that the script itself creates.
func TestGuardIsRehearsed(t *testing.T) {
	t.Parallel()
	said, _ := rehearsed(t, clinic(t), []string{
		blind,
		`CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.4, estimate = fitted)`,
		`CREATE MECHANISM one ON admissions (age, diagnosis) USING SMW WITH (epsilon = 0.5, prior = low)`,
		`CREATE MECHANISM two ON admissions (sex, age) USING SMW WITH (epsilon = 0.5, prior = cells)`,
		ages("F", 1),
	})
	if strings.Count(said, "its ρ is reserved") != 2 {
		t.Error(said)
	}
}
