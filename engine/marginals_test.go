package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/internal/released"
	"dpsql/mechanisms/marginals"
	"dpsql/query"
	"dpsql/sqlerr"
)

// TestMarginals builds a release of marginals, asks it, exports it and asks the copy.
//
// The noise has σ = 29 a cell. A proven margin at a confidence of 1 − 1e-9 misses with
// less than that probability, and 8 are compared.
func TestMarginals(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE low ON admissions (sex, age, diagnosis) USING MARGINALS WITH (epsilon = 1, delta = 1e-7, degree = 2)`)
	if n := strings.Count(ledger(t, s), "create release"); n != 1 {
		t.Errorf("the ledger has %d lines of the release", n)
	}
	must(t, s, `SET confidence = 0.999999999`)
	asked := []struct {
		text string
		true int64
	}{
		{`SELECT COUNT(*) FROM admissions WHERE sex = 'F'`, 2000},
		{`SELECT COUNT(*) FROM admissions WHERE age < 50`, 2000},
		{`SELECT COUNT(*) FROM admissions WHERE age < 50 AND sex = 'M'`, 1000},
		{`SELECT COUNT(*) FROM admissions WHERE diagnosis = 'E10' AND sex = 'F'`, 667},
	}
	var answers []string
	for _, c := range asked {
		r := must(t, s, c.text)
		margin, ok := r.Answer.Margins[0][0].(float64)
		if off := math.Abs(float64(r.Rows[0][0].(int64) - c.true)); !ok || off > margin || r.Answer.Simulated {
			t.Errorf("%s: %v ± %v, want %d", c.text, r.Rows, r.Answer.Margins, c.true)
		}
		answers = append(answers, fmt.Sprint(r.Rows, r.Answer.Margins))
	}
	path := filepath.Join(t.TempDir(), "public.db")
	must(t, s, `EXPORT RELEASE low TO '`+path+`'`)
	public := open(t, path, engine.Options{}).NewSession()
	must(t, public, `SET confidence = 0.999999999`)
	for i, c := range asked {
		r := must(t, public, c.text)
		if got := fmt.Sprint(r.Rows, r.Answer.Margins); got != answers[i] {
			t.Errorf("%s: %s in the exported file, %s before", c.text, got, answers[i])
		}
	}
}

// TestMarginsOfKinds compares the two kinds of margins of one answer, and asks for columns
// that are not together in any marginal.
func TestMarginsOfKinds(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE low ON admissions (sex, age, diagnosis) USING MARGINALS WITH (epsilon = 1, delta = 1e-7, degree = 2)`)
	const pair, triple = `SELECT COUNT(*) FROM admissions WHERE age = 20 AND sex = 'M'`, `SELECT COUNT(*) FROM admissions WHERE age = 20 AND sex = 'M' AND diagnosis = 'E10'`
	proven := must(t, s, pair)
	must(t, s, `SET margins = simulated`)
	simulated := must(t, s, pair)
	if fmt.Sprint(proven.Rows) != fmt.Sprint(simulated.Rows) {
		t.Errorf("the margins change the answer from %v to %v", proven.Rows, simulated.Rows)
	}
	if proven.Answer.Simulated || !simulated.Answer.Simulated {
		t.Errorf("the answers say simulated %v and %v", proven.Answer.Simulated, simulated.Answer.Simulated)
	}
	if r := must(t, s, triple); r.Answer.Verified || r.Answer.Margins[0][0] != nil || r.Answer.Simulated {
		t.Errorf("three columns: %v ± %v, verified %v", r.Rows, r.Answer.Margins, r.Answer.Verified)
	}
	must(t, s, `SET unverified = off`)
	if _, err := s.Exec(t.Context(), triple, nil); sqlerr.CodeOf(err) != sqlerr.Uncovered {
		t.Errorf("three columns, with unverified = off: %v", err)
	}
	// SET accuracy uses proven margins, whatever the simulated one is.
	must(t, s, `SET accuracy = 10`)
	if r := must(t, s, pair); r.Answer.Mechanism != "direct" {
		t.Errorf("answered by %s ± %v", r.Answer.Via, r.Answer.Margins)
	}
}

// TestAccuracyOfFits asks releases with a fit for the accuracy that their unbiased answers
// have, and a count less.
//
// The two answers differ by 10 counts and more, and by less than a count in fewer than one
// of 5 queries. That they do in all 12 has a probability below 5e-9.
func TestAccuracyOfFits(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	for _, text := range []string{
		`CREATE RELEASE low ON admissions (sex, age, diagnosis) USING MARGINALS WITH (epsilon = 1, delta = 1e-7, degree = 2)`,
		`CREATE RELEASE cells ON admissions (sex, age, diagnosis) USING PROJECTION WITH (epsilon = 0.4, estimate = fitted)`,
	} {
		must(t, s, text)
	}
	wider := 0
	for _, name := range []string{"low", "cells"} {
		must(t, s, `SET mechanism = `+name)
		for age := range 6 {
			ask := fmt.Sprintf(`SELECT COUNT(*) FROM admissions WHERE age = %d AND sex = 'M'`, 20+age)
			must(t, s, `SET accuracy = 10000`)
			fit := must(t, s, ask)
			most := fit.Answer.Margins[0][0].(float64)
			least := most
			for least > 0 { // the least accuracy that the release has
				must(t, s, fmt.Sprintf(`SET accuracy = %v`, least-1))
				r, err := s.Exec(t.Context(), ask, nil)
				if sqlerr.CodeOf(err) == sqlerr.Uncovered {
					break
				}
				if err != nil || r.Answer.Margins[0][0].(float64) > least-1 || r.Answer.Via != name {
					t.Fatalf("%s within ±%v: %v, %v", name, least-1, r, err)
				}
				least = r.Answer.Margins[0][0].(float64)
			}
			if least < most {
				wider++
			}
			must(t, s, `SET accuracy = off`)
			if r := must(t, s, ask); fmt.Sprint(r.Rows, r.Answer.Margins) != fmt.Sprint(fit.Rows, fit.Answer.Margins) {
				t.Errorf("%s: %v ± %v without an accuracy, %v ± %v with a large one", name, r.Rows, r.Answer.Margins, fit.Rows, fit.Answer.Margins)
			}
		}
	}
	if wider == 0 {
		t.Error("no unbiased answer had a lesser margin than the fitted one")
	}
}

// TestIntervalsOfAFit asks a fitted release for intervals. The proven one is that of the
// unbiased answer, which SET accuracy gets where the fitted one is too far from its ends; a
// simulated one has the answer as its middle; and what no marginal has is unknown.
func TestIntervalsOfAFit(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE low ON admissions (sex, age, diagnosis) USING MARGINALS WITH (epsilon = 1, delta = 1e-7, degree = 2)`)
	const what = `SELECT COUNT(*) AS n, LOW(n), HIGH(n), MARGIN(n) FROM admissions WHERE `
	const pair, triple = `age = 20 AND sex = 'M'`, `age = 20 AND sex = 'M' AND diagnosis = 'E10'`
	asked := func(where string) (n, low, high, margin float64, a *engine.Answer) {
		r := must(t, s, what+where)
		row := r.Rows[0]
		if i, ok := r.Answer.Intervals[0][0].(engine.Interval); !ok || i.Low != row[1] || i.High != row[2] || r.Answer.Margins[0][0] != row[3] {
			t.Errorf("the row %v has the interval %v and the margin %v", row, r.Answer.Intervals, r.Answer.Margins)
		}
		return asFloat(row[0]), row[1].(float64), row[2].(float64), row[3].(float64), r.Answer
	}
	n, low, high, margin, a := asked(pair)
	if margin != max(high-n, n-low) || low != math.Ceil(low) || high != math.Floor(high) || low > high || a.Simulated {
		t.Errorf("proven: %v from %v to %v ± %v", n, low, high, margin)
	}
	// Around the unbiased answer the interval is even, which adds 1 at most.
	must(t, s, fmt.Sprintf(`SET accuracy = %v`, math.Ceil((high-low)/2)+1))
	m, least, most, half, by := asked(pair)
	if by.Via != "low" || by.Cost.Rho != 0 {
		t.Errorf("within ± %v: bought from %s", math.Ceil((high-low)/2)+1, by.Via)
	}
	if m != n && (m-least != half || most-m != half || low < min(least, n) || low > min(least+1, n) || high < max(most-1, n) || high > max(most, n)) {
		t.Errorf("unbiased: %v from %v to %v ± %v; fitted: %v from %v to %v", m, least, most, half, n, low, high)
	}
	must(t, s, `SET accuracy = default`)
	note := fmt.Sprint(must(t, s, `EXPLAIN SELECT COUNT(*) FROM admissions WHERE `+pair).Rows)
	must(t, s, `SET margins = simulated`)
	m, least, most, half, by = asked(pair)
	if m != n || !by.Simulated || m-least != half || most-m != half {
		t.Errorf("simulated: %v from %v to %v ± %v", m, least, most, half)
	}
	if both := fmt.Sprintf("proven ± %v, simulated ± %v", margin, half); !strings.Contains(note, both) {
		t.Errorf("EXPLAIN says %s, want %s", note, both)
	}
	for _, kind := range []string{"proven", "simulated"} {
		must(t, s, `SET margins = `+kind)
		r := must(t, s, what+triple)
		if row := r.Rows[0]; row[1] != nil || row[2] != nil || row[3] != nil || r.Answer.Intervals[0][0] != engine.Unknown("unverified") || r.Answer.Verified {
			t.Errorf("%s margins of three columns: %v", kind, row)
		}
		if text := fmt.Sprint(must(t, s, `EXPLAIN SELECT COUNT(*) FROM admissions WHERE `+triple).Rows); strings.Contains(text, "simulated ±") {
			t.Errorf("EXPLAIN of three columns: %s", text)
		}
	}
	for _, groups := range []string{`SELECT COUNT(*), SUM(age) FROM admissions`, `SELECT sex, COUNT(*) FROM admissions GROUP BY sex`, `SELECT diagnosis, COUNT(*) FROM admissions GROUP BY diagnosis`} {
		must(t, s, `SET margins = proven`)
		proven := must(t, s, groups).Answer.Margins
		must(t, s, `SET margins = simulated`)
		for i, row := range must(t, s, groups).Answer.Margins {
			for c, simulated := range row {
				if m, ok := simulated.(float64); ok && m > proven[i][c].(float64) {
					t.Errorf("%s: the simulated margin %v is wider than the proven one, %v", groups, m, proven[i][c])
				}
			}
		}
	}
	text := fmt.Sprint(must(t, s, `EXPLAIN SELECT sex, COUNT(*) FROM admissions GROUP BY sex`).Rows)
	if !strings.Contains(text, "; proven ± ") || !strings.Contains(text, ", simulated ± ") {
		t.Errorf("EXPLAIN of groups: %s", text)
	}
}

// TestFittedMarginsAreKnownBefore compares the margin in EXPLAIN with that of the answer. It
// is the same, though a query of 15,000 cells is too large to be evaluated while planning
// where it takes time, and the margin of a fitted answer depends on the answer.
func TestFittedMarginsAreKnownBefore(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE PRIVATE TABLE aged (sex TEXT IN ('F', 'M', NULL), age INTEGER BETWEEN 0 AND 4999, diagnosis TEXT IN (SELECT code FROM icd10))
		FROM raw_admissions WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)`)
	must(t, s, `CREATE RELEASE low ON aged USING MARGINALS WITH (epsilon = 0.1, delta = 1e-8, degree = 2)`)
	const ask = `SELECT COUNT(*) FROM aged WHERE sex = 'M'`
	if explained, answered := must(t, s, `EXPLAIN `+ask).Rows[0][4], must(t, s, ask).Answer.Margins[0][0]; explained != answered {
		t.Errorf("EXPLAIN has ± %v, the answer ± %v", explained, answered)
	}
}

// TestMarginalsAreRefused tries statements that cannot be built. They charge nothing.
func TestMarginalsAreRefused(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	var answers []string
	for i := range 21 {
		answers = append(answers, fmt.Sprintf("a%d INTEGER BETWEEN 0 AND 1", i))
	}
	fill(t, s, `CREATE TABLE raw_answers (`+strings.ReplaceAll(strings.Join(answers, ", "), " INTEGER BETWEEN 0 AND 1", " INTEGER")+`)`)
	must(t, s, `CREATE PRIVATE TABLE wide (`+strings.Join(answers, ", ")+`) FROM raw_answers WITH (epsilon = 1, delta = 1e-7)`)
	before := ledger(t, s)
	for _, c := range []struct {
		code sqlerr.Code
		text string
	}{
		{sqlerr.Unsupported, `CREATE RELEASE r ON admissions USING MARGINALS WITH (epsilon = 1)`}, // zip has no domain
		{sqlerr.Invalid, `CREATE RELEASE r ON admissions (sex) USING MARGINALS`},
		{sqlerr.Invalid, `CREATE RELEASE r ON admissions (sex) USING MARGINALS WITH (epsilon = 1, delta = 0)`},
		{sqlerr.Invalid, `CREATE RELEASE r ON admissions (sex) USING MARGINALS WITH (epsilon = 1, degree = 9)`},
		{sqlerr.Invalid, `CREATE RELEASE r ON admissions (sex) USING MARGINALS WITH (epsilon = 1, degree = 2, workload = 'w.sql')`},
		{sqlerr.IO, `CREATE RELEASE r ON admissions (sex) USING MARGINALS WITH (epsilon = 1, workload = 'nowhere.sql')`},
		{sqlerr.Invalid, `CREATE RELEASE r ON admissions (sex) USING MARGINALS WITH (epsilon = 1, transform = identity)`},
		{sqlerr.Budget, `CREATE RELEASE r ON admissions (sex) USING MARGINALS WITH (epsilon = 3)`},
		{sqlerr.Unsupported, `CREATE MECHANISM r ON admissions (sex) USING MARGINALS WITH (epsilon = 1)`},
		{sqlerr.Unsupported, `CREATE RELEASE r ON wide USING MARGINALS WITH (epsilon = 1, degree = 5)`},
		{sqlerr.Unsupported, `CREATE RELEASE r ON wide USING PROJECTION WITH (epsilon = 1, estimate = fitted)`},
		{sqlerr.Invalid, `CREATE RELEASE marginals ON admissions (sex) USING MARGINALS WITH (epsilon = 1)`},
	} {
		if _, err := s.Exec(t.Context(), c.text, nil); sqlerr.CodeOf(err) != c.code {
			t.Errorf("%s\n%v, want %s", c.text, err, c.code)
		}
	}
	if after := ledger(t, s); after != before {
		t.Errorf("the ledger was\n%s\nand is\n%s", before, after)
	}
}

// TestFittedIdentity compares an identity release with a fit to its cells. The noise of a
// cell has a scale of 2.5; proven margins hold at 1 − 1e-9.
func TestFittedIdentity(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE cells ON admissions (sex, age, diagnosis) USING PROJECTION WITH (epsilon = 0.4, estimate = fitted)`)
	const ask, truth = `SELECT COUNT(*) FROM admissions WHERE age = 20 AND sex = 'M'`, 40
	must(t, s, `SET confidence = 0.999999999`)
	r := must(t, s, ask)
	if off := math.Abs(float64(r.Rows[0][0].(int64) - truth)); off > r.Answer.Margins[0][0].(float64) || !r.Answer.Verified || r.Answer.Simulated {
		t.Errorf("%v ± %v, want %d", r.Rows, r.Answer.Margins, truth)
	}
	if method := fmt.Sprint(must(t, s, `SHOW RELEASES`).Rows); !strings.Contains(method, "identity, 1089 rows, fitted") {
		t.Errorf("SHOW RELEASES has %s", method)
	}
	path := filepath.Join(t.TempDir(), "public.db")
	must(t, s, `EXPORT RELEASE cells TO '`+path+`'`)
	for _, kind := range []string{"proven", "simulated"} {
		must(t, s, `SET margins = `+kind)
		here := must(t, s, ask)
		public := open(t, path, engine.Options{}).NewSession()
		must(t, public, `SET confidence = 0.999999999`)
		must(t, public, `SET margins = `+kind)
		there := must(t, public, ask)
		if fmt.Sprint(here.Rows, here.Answer.Margins) != fmt.Sprint(there.Rows, there.Answer.Margins) || here.Answer.Simulated != (kind == "simulated") {
			t.Errorf("%s: %v ± %v, and %v ± %v in the exported file", kind, here.Rows, here.Answer.Margins, there.Rows, there.Answer.Margins)
		}
	}
	for _, text := range []string{
		`CREATE RELEASE r ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.1, transform = sparse, estimate = fitted)`,
		`CREATE RELEASE r ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.1, delta = 1e-8, transform = dense, rows = 64, estimate = fitted)`,
		`CREATE RELEASE r ON admissions (sex, zip) USING PROJECTION WITH (epsilon = 0.1, estimate = fitted)`,
	} {
		if _, err := s.Exec(t.Context(), text, nil); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("%s\n%v", text, err)
		}
	}
}

// TestTheTightestAnswers compares the release that answers with those that could: under
// both kinds of margins it has the least.
func TestTheTightestAnswers(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE low ON admissions (sex, age, diagnosis) USING MARGINALS WITH (epsilon = 1, delta = 1e-7, degree = 2)`)
	must(t, s, `CREATE RELEASE cells ON admissions (sex, age, diagnosis) USING PROJECTION WITH (epsilon = 0.3, estimate = unbiased)`)
	for _, kind := range []string{"proven", "simulated"} {
		must(t, s, `SET margins = `+kind)
		for _, where := range []string{`sex = 'F'`, `age = 20`, `age = 20 AND sex = 'M'`, `age < 30 AND sex = 'F'`, `diagnosis = 'E10' AND sex = 'F'`} {
			margins := make(map[string]float64)
			for _, name := range []string{"low", "cells", "auto"} {
				must(t, s, `SET mechanism = `+name)
				margins[name] = must(t, s, `SELECT COUNT(*) FROM admissions WHERE `+where).Answer.Margins[0][0].(float64)
			}
			if margins["auto"] != min(margins["low"], margins["cells"]) {
				t.Errorf("%s, %s: %v", kind, where, margins)
			}
		}
	}
}

// TestInterruptedFit interrupts statements while they fit a table. Before that, the noisy
// counts are on disk, where another process sees them, as the next one does if this one is
// killed. The same statement goes on from these: it charges nothing, and draws no noise for
// them.
func TestInterruptedFit(t *testing.T) {
	t.Parallel()
	for name, create := range map[string]string{
		"marginals": `CREATE RELEASE r ON admissions (sex, age, diagnosis) USING MARGINALS WITH (epsilon = 0.5, delta = 1e-7, degree = 2)`,
		"unbiased":  `CREATE RELEASE r ON admissions (sex, age, diagnosis) USING MARGINALS WITH (epsilon = 0.5, delta = 1e-7, degree = 2, estimate = unbiased)`,
		"identity":  `CREATE RELEASE r ON admissions (sex, age, diagnosis) USING PROJECTION WITH (epsilon = 0.5, estimate = fitted)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "clinic.db")
			s := clinicAt(t, path)
			ctx, cancel := context.WithCancel(t.Context())
			looked := false
			s.SetProgress(func(done, all int64) {
				if done <= 200 || looked { // 100 are the rows, 100 the noise
					return
				}
				looked = true
				other := open(t, path, engine.Options{}).NewSession()
				if method := fmt.Sprint(must(t, other, `SHOW RELEASES`).Rows); !strings.Contains(method, "not fitted yet") {
					t.Errorf("while it is fitted, SHOW RELEASES has %s", method)
				}
				cancel()
			})
			_, err := s.Exec(ctx, create, nil)
			var e *sqlerr.Error
			if !errors.As(err, &e) || e.Code != sqlerr.Cancelled || !strings.Contains(e.Message, "was charged for its noisy counts, which are kept") ||
				!strings.Contains(e.Hint, "costs nothing") || !looked {
				t.Fatalf("interrupted: %v", err)
			}
			spent, noisy := ledger(t, s), unbiasedCount(t, s)
			for text, want := range map[string]sqlerr.Code{
				strings.Replace(create, "0.5", "0.4", 1):                                                                 sqlerr.Invalid,
				strings.Replace(create, "sex, age", "age", 1):                                                            sqlerr.Invalid,
				`EXPORT RELEASE r TO '` + path + `.public'`:                                                              sqlerr.Invalid,
				`CREATE MECHANISM m ON admissions (sex, age) USING SMW WITH (epsilon = 0.5, max_updates = 2, prior = r)`: sqlerr.Invalid,
			} {
				if _, err := s.Exec(t.Context(), text, nil); sqlerr.CodeOf(err) != want {
					t.Errorf("%s\n%v, want %s", text, err, want)
				}
			}
			const ask = `SELECT COUNT(*) FROM admissions WHERE sex = 'F'`
			if _, err := s.Exec(t.Context(), ask, nil); (sqlerr.CodeOf(err) == sqlerr.Uncovered) != (name != "identity") {
				t.Errorf("asked while the fit is missing: %v", err)
			}
			rehearsal, err := s.Rehearse(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer rehearsal.Close()
			if plan, err := rehearsal.Plan(t.Context(), create, nil); err != nil || plan.Rows[0][5] != "0" {
				t.Errorf("a rehearsal plans %v, %v", plan, err)
			}
			s = open(t, path, engine.Options{}).NewSession()
			must(t, s, strings.Replace(create, "RELEASE r", "RELEASE IF NOT EXISTS r", 1))
			if method := fmt.Sprint(must(t, s, `SHOW RELEASES`).Rows); strings.Contains(method, "not fitted yet") {
				t.Errorf("SHOW RELEASES has %s", method)
			}
			if now := ledger(t, s); now != spent {
				t.Errorf("the ledger was\n%s\nand is\n%s", spent, now)
			}
			if again := unbiasedCount(t, s); again != noisy {
				t.Errorf("the noisy count was %d and is %d", noisy, again)
			}
			must(t, s, ask)
			if _, err := s.Exec(t.Context(), create, nil); sqlerr.CodeOf(err) != sqlerr.Exists {
				t.Errorf("made once more: %v", err)
			}
		})
	}
}

// TestEstimateDefault creates identity releases without an estimate. One of 2,250 cells is
// fitted: an interrupt comes while it is. One of 1,089 cells is not, nor one whose cells have
// 80 times the scale of their noise.
func TestEstimateDefault(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	const aged = `(sex TEXT IN ('F', 'M', NULL), age INTEGER BETWEEN 0 AND 249, diagnosis TEXT IN (SELECT code FROM icd10))`
	must(t, s, `CREATE PRIVATE TABLE aged `+aged+` FROM raw_admissions WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)`)
	fill(t, s, `CREATE TABLE raw_crowd AS WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 8999)
		SELECT 'F' AS sex, i % 250 AS age, 'E10' AS diagnosis FROM n`)
	must(t, s, `CREATE PRIVATE TABLE crowd `+aged+` FROM raw_crowd WITH (epsilon = 40, delta = 1e-6, interactive = 0.5)`)
	for _, create := range []string{
		`CREATE RELEASE few ON admissions (sex, age, diagnosis) USING PROJECTION WITH (epsilon = 0.1)`,
		`CREATE RELEASE dense ON crowd USING PROJECTION WITH (epsilon = 20)`,
	} {
		must(t, s, create)
	}
	rehearsal, err := s.Rehearse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rehearsal.Close()
	for name, code := range map[string]sqlerr.Code{"": sqlerr.Invalid, ", estimate = fitted": ""} {
		plan, err := rehearsal.Plan(t.Context(), `CREATE RELEASE r`+fmt.Sprint(len(name))+` ON aged USING PROJECTION WITH (epsilon = 0.1`+name+`)`, nil)
		if err != nil || strings.Contains(fmt.Sprint(plan.Rows), "its noisy cells decide") != (name == "") {
			t.Errorf("a rehearsal plans %v, %v", plan, err)
		}
		_, err = rehearsal.Plan(t.Context(), `CREATE MECHANISM m`+fmt.Sprint(len(name))+` ON aged USING SMW WITH (epsilon = 0.5, max_updates = 2, prior = r`+fmt.Sprint(len(name))+`)`, nil)
		if sqlerr.CodeOf(err) != code {
			t.Errorf("a guard of a release with %q: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.SetProgress(func(done, all int64) {
		if done > 200 { // 100 are the rows, 100 the noise
			cancel()
		}
	})
	const create = `CREATE RELEASE many ON aged USING PROJECTION WITH (epsilon = 0.1)`
	if _, err := s.Exec(ctx, create, nil); sqlerr.CodeOf(err) != sqlerr.Cancelled {
		t.Fatalf("interrupted: %v", err)
	}
	if method := fmt.Sprint(must(t, s, `SHOW RELEASES`).Rows); strings.Count(method, "fitted") != 1 || !strings.Contains(method, "identity, 2250 rows, not fitted yet") {
		t.Errorf("SHOW RELEASES has %s", method)
	}
	s.SetProgress(nil)
	must(t, s, create)
	if method := fmt.Sprint(must(t, s, `SHOW RELEASES`).Rows); strings.Contains(method, "not fitted yet") {
		t.Errorf("SHOW RELEASES has %s", method)
	}
	if r := must(t, s, `SELECT COUNT(*) FROM aged WHERE sex = 'F' AND age = 20`); !r.Answer.Verified {
		t.Errorf("%v ± %v", r.Rows, r.Answer.Margins)
	}
}

// unbiasedCount returns the unbiased count of sex = 'F' in the release r of the clinic.
func unbiasedCount(t *testing.T, s *engine.Session) int64 {
	t.Helper()
	v, err := s.DB().View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rel := v.Release("r")
	u := v.TableByID(rel.TableID).Over(rel.Columns)
	var payload []byte
	err = s.DB().Store().Read(t.Context(), func(tx *catalog.Tx) (err error) {
		payload, err = tx.ReleasePayload(rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	q := query.Conjunction(u, []query.ColumnSet{{Column: 0, Set: u.Columns()[0].Domain.SetOf(query.Text("F"))}})
	if rel.Using == "marginals" {
		r, err := marginals.Unmarshal(u, payload)
		if err != nil {
			t.Fatal(err)
		}
		a, err := r.Unbiased(t.Context(), q, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		return a.Value
	}
	r, _, err := released.DecodeProjection(u, payload)
	if err != nil {
		t.Fatal(err)
	}
	a, err := r.Answer(t.Context(), q, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	return a.Value
}

// TestEstimateAuto creates identity releases with estimate = auto: one of 1,089 cells, which
// is not fitted, and one of 2,250, which is.
func TestEstimateAuto(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE PRIVATE TABLE aged (sex TEXT IN ('F', 'M', NULL), age INTEGER BETWEEN 0 AND 249, diagnosis TEXT IN (SELECT code FROM icd10))
		FROM raw_admissions WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)`)
	for text, want := range map[string]string{
		`CREATE RELEASE few ON admissions (sex, age, diagnosis) USING PROJECTION WITH (epsilon = 0.1, estimate = auto)`: "identity, 1089 rows, dlap",
		`CREATE RELEASE many ON aged USING PROJECTION WITH (epsilon = 0.1, estimate = auto)`:                            "identity, 2250 rows, fitted where better",
	} {
		must(t, s, text)
		if method := fmt.Sprint(must(t, s, `SHOW RELEASES`).Rows); !strings.Contains(method, want) {
			t.Errorf("%s\nSHOW RELEASES has %s", text, method)
		}
	}
	if r := must(t, s, `SELECT COUNT(*) FROM aged WHERE sex = 'F' AND age = 20`); !r.Answer.Verified {
		t.Errorf("%v ± %v", r.Rows, r.Answer.Margins)
	}
}
