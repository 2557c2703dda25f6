package engine_test

import (
	"context"
	"fmt"
	"math/big"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// ofPatients makes a table of 300 patients with a visit on each of four days, of whom two
// visits count, and a table of the same visits without a unit.
func ofPatients(t *testing.T) *engine.Session {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "patients.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (patient INTEGER, day INTEGER, ward TEXT)`,
		`INSERT INTO raw SELECT (i - 1) / 4, i % 4, iif((i - 1) / 4 < 100, 'A', 'B') FROM `+numbers(1200), `INSERT INTO raw SELECT NULL, 1, 'A' FROM `+numbers(50),
		`CREATE TABLE others AS SELECT *, patient AS code, ward AS note FROM raw`)
	must(t, s, `CREATE PRIVATE TABLE visits (day INTEGER BETWEEN 0 AND 9, ward TEXT IN ('A', 'B', 'C')) FROM raw WITH (epsilon = 400, delta = 1e-6, unit = patient, max_rows = 2)`)
	must(t, s, `CREATE PRIVATE TABLE plain (day INTEGER BETWEEN 0 AND 9, patient INTEGER BETWEEN 0 AND 999, code INTEGER BETWEEN 0 AND 10000, note TEXT) FROM others WITH (epsilon = 400, delta = 1e-6)`)
	return s
}

// TestUnitsDrawWhatTheyCharge checks that numbers of units have the noise that their charge
// pays for: σ² = min(L, groups)/(2ρ). One charge pays for all groups of a statement.
func TestUnitsDrawWhatTheyCharge(t *testing.T) {
	t.Parallel()
	s := ofPatients(t)
	w := watching(t, s.DB(), 3700)
	must(t, s, `SET accuracy = 20`)
	for _, c := range []struct {
		text   string
		groups int
		want   []int64 // nil: it depends on the rows kept
	}{
		{`SELECT COUNT(DISTINCT patient), ward FROM visits GROUP BY ward HAVING COUNT(DISTINCT patient) > -500 ORDER BY ward`, 3, []int64{100, 200, 0}},
		{`SELECT COUNT(DISTINCT patient), day FROM visits GROUP BY day ORDER BY day`, 10, nil},
		{`SELECT COUNT(DISTINCT patient) FROM visits`, 1, []int64{300}},
		{`SELECT COUNT(DISTINCT v.PATIENT) AS n FROM visits AS v WHERE ward <> 'A'`, 1, []int64{200}},
		{`SELECT COUNT(DISTINCT patient) FILTER (WHERE ward < 'C' AND ward <> 'A' OR ward = 'A') FROM visits`, 1, []int64{300}},
	} {
		r, lines := w.run(t, s, c.text)
		if len(lines) != 1 || len(w.seeds) != c.groups || w.lines[0] != len(entries(t, s.DB())) {
			t.Fatalf("%s: %d lines, and draws after %v of %d", c.text, len(lines), w.lines, len(entries(t, s.DB())))
		}
		variance := new(big.Rat).Quo(big.NewRat(int64(min(2, c.groups)), 2), lines[0].Amount.Rho.Rat())
		draw := lawDraw(t, "dgauss("+variance.RatString()+")")
		for i, want := range c.want {
			if got := r.Rows[i][0].(int64) - draw(w.seeds[i]); got != want {
				t.Errorf("%s: row %d was counted as %d, want %d", c.text, i, got, want)
			}
		}
		again := must(t, s, c.text)
		if len(entries(t, s.DB())) != w.lines[0] || fmt.Sprint(again.Rows) != fmt.Sprint(r.Rows) || again.Answer.Cost.Rho != 0 {
			t.Errorf("%s: %v for ρ = %g, and %v before", c.text, again.Rows, again.Answer.Cost.Rho, r.Rows)
		}
	}
}

// TestUnitsAndRowsAreApart asks for rows and for units of the same records: two answers, one
// charge that is the sum of both, and neither serves for the other. Two sessions that ask at
// once pay once.
func TestUnitsAndRowsAreApart(t *testing.T) {
	t.Parallel()
	s := ofPatients(t)
	quieten(s.DB())
	must(t, s, `SET accuracy = 20`)
	r := must(t, s, `SELECT COUNT(*), COUNT(DISTINCT patient), COUNT(*) - COUNT(DISTINCT patient) AS more, MARGIN(more) > 20 FROM visits WHERE ward = 'A'`)
	if got, want := fmt.Sprint(r.Rows), "[[200 100 100 1]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	one, both := must(t, s, `SELECT COUNT(DISTINCT patient) FROM visits WHERE ward = 'B'`).Answer.Cost.Rho, r.Answer.Cost.Rho
	if rows := must(t, s, `SELECT COUNT(*) FROM visits WHERE ward = 'B'`).Answer.Cost.Rho; rows < 3.9*one || rows > 4.1*one || both < 4.9*one {
		t.Errorf("rows cost %g, units %g, both together %g", rows, one, both)
	}
	must(t, s, `CREATE RELEASE r ON visits (day, ward) USING PROJECTION WITH (epsilon = 1)`)
	must(t, s, `CREATE MECHANISM m ON visits (day) USING SMW WITH (epsilon = 2, max_updates = 2, queries = 50, beta = 0.5)`)
	must(t, s, `SET accuracy = default`)
	if r := must(t, s, `SELECT COUNT(DISTINCT patient) FROM visits WHERE ward = 'A'`); r.Rows[0][0] != int64(100) || r.Answer.Via != "direct" {
		t.Errorf("%v by %s", r.Rows, r.Answer.Via)
	}
	_, err := s.Exec(context.Background(), `SELECT COUNT(DISTINCT patient) FROM visits WHERE day = 2`, nil)
	if e, ok := err.(*sqlerr.Error); !ok || e.Code != sqlerr.Uncovered || !strings.Contains(e.Message, "units are counted on the rows (r, m)") || !strings.Contains(e.Hint, "SET accuracy = 50") {
		t.Errorf("%v", err)
	}
	before := len(entries(t, s.DB()))
	answers := make(chan string)
	for range 6 {
		go func() {
			s := s.DB().NewSession()
			s.Set("accuracy", "20")
			r, err := s.Exec(context.Background(), `SELECT COUNT(DISTINCT patient) FROM visits WHERE day = 3`, nil)
			answers <- fmt.Sprint(err, r != nil && fmt.Sprint(r.Rows) != "")
		}()
	}
	for range 6 {
		if a := <-answers; a != "<nil> true" {
			t.Error(a)
		}
	}
	if n := len(entries(t, s.DB())) - before; n != 1 {
		t.Errorf("six sessions paid %d times", n)
	}
}

// TestUnitsCrash copies the file while a statement draws, after its charge and before its
// answer, as if the machine stopped there. The copy has the charge and no answer, and the
// same statement pays there again.
func TestUnitsCrash(t *testing.T) {
	t.Parallel()
	s := ofPatients(t)
	must(t, s, `SET accuracy = 20`)
	const text = `SELECT COUNT(DISTINCT patient), COUNT(*) FROM visits WHERE day < 3`
	crashed := copiedAtDraw(t, s)
	before := len(entries(t, s.DB()))
	must(t, s, text)
	again := open(t, crashed, engine.Options{}).NewSession()
	if n := len(entries(t, again.DB())); n != before+1 {
		t.Fatalf("%d lines after the crash, %d before the statement", n, before)
	}
	must(t, again, `SET accuracy = 20`)
	if r := must(t, again, text); r.Answer.Cost.Rho == 0 || len(entries(t, again.DB())) != before+2 {
		t.Errorf("the statement cost %g after the crash", r.Answer.Cost.Rho)
	}
	if r := must(t, again, text); r.Answer.Cost.Rho != 0 {
		t.Errorf("the stored answer cost %g", r.Answer.Cost.Rho)
	}
}

// TestValuesDrawWhatTheyCharge checks that numbers of values have the noise that their charge
// pays for: σ² = L²/(2ρ), for any number of groups, and that NULL is no value.
func TestValuesDrawWhatTheyCharge(t *testing.T) {
	t.Parallel()
	s := ofPatients(t)
	w := watching(t, s.DB(), 3900)
	must(t, s, `SET accuracy = 20`)
	for _, c := range []struct {
		text   string
		groups int
		unit   int64
		want   []int64
	}{
		{`SELECT COUNT(DISTINCT ward) FROM visits`, 1, 2, []int64{2}},
		{`SELECT COUNT(DISTINCT day), ward FROM visits GROUP BY ward ORDER BY ward`, 3, 2, []int64{4, 4, 0}},
		{`SELECT COUNT(DISTINCT patient) AS n FROM plain WHERE patient < 250 OR patient > 290`, 1, 1, []int64{259}},
		{`SELECT COUNT(DISTINCT day) FILTER (WHERE day % 2 = 0) FROM plain`, 1, 1, []int64{2}},
	} {
		r, lines := w.run(t, s, c.text)
		if len(lines) != 1 || len(w.seeds) != c.groups || w.lines[0] != len(entries(t, s.DB())) {
			t.Fatalf("%s: %d lines, and draws after %v of %d", c.text, len(lines), w.lines, len(entries(t, s.DB())))
		}
		draw := lawDraw(t, gaussianFor(t, lines[0].Amount.Rho, c.unit))
		for i, want := range c.want {
			if got := r.Rows[i][0].(int64) - draw(w.seeds[i]); got != want {
				t.Errorf("%s: row %d was counted as %d, want %d", c.text, i, got, want)
			}
		}
		if again := must(t, s, c.text); fmt.Sprint(again.Rows) != fmt.Sprint(r.Rows) || again.Answer.Cost.Rho != 0 {
			t.Errorf("%s: %v for ρ = %g, and %v before", c.text, again.Rows, again.Answer.Cost.Rho, r.Rows)
		}
	}
	if r := must(t, s, `SELECT COUNT(DISTINCT day) FROM visits WHERE ward = 'A' AND ward = 'B'`); r.Rows[0][0] != int64(0) || r.Answer.Via != "constant" {
		t.Errorf("of no row: %v by %s", r.Rows, r.Answer.Via)
	}
}

// TestValuesFromReleases builds releases and counts the values of a column of which half are
// there, of a column with one value, and of an empty group. By the union bound an interval
// holds with a probability of at least 95 %. Then more than 16 of 60 miss with a probability of
// at most exp(−60·D(17/60, 0.05)) = 2.9e-8, and more than 35 of 240, in the long run, with at
// most 4.7e-8 (Chernoff, D is the relative entropy); three columns have three times that.
func TestValuesFromReleases(t *testing.T) {
	t.Parallel()
	releases, most := 60, 16
	if *long {
		releases, most = 240, 35
	}
	s := open(t, filepath.Join(t.TempDir(), "values.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (x INTEGER, g TEXT)`, `INSERT INTO raw SELECT 2 * (i % 10), 'a' FROM `+numbers(40), `INSERT INTO raw SELECT 7, 'b' FROM `+numbers(30))
	must(t, s, `CREATE PRIVATE TABLE t (x INTEGER BETWEEN 0 AND 19 OR NULL, g TEXT IN ('a', 'b', 'c')) FROM raw WITH (epsilon = 1000, delta = 1e-6)`)
	missed, narrow := make([]int, 3), 0
	for i := range releases {
		must(t, s, fmt.Sprintf(`CREATE RELEASE r%d ON t USING PROJECTION WITH (epsilon = 2, transform = identity)`, i))
		must(t, s, fmt.Sprintf(`SET mechanism = r%d`, i))
		r := must(t, s, `SELECT g, COUNT(DISTINCT x) AS n, LOW(n), HIGH(n) FROM t GROUP BY g ORDER BY g`)
		for k, want := range []float64{10, 1, 0} {
			low, high := r.Rows[k][2].(float64), r.Rows[k][3].(float64)
			if n := r.Rows[k][1].(int64); float64(n) != low || n < 0 || n > 20 {
				t.Fatalf("the estimate is %v", r.Rows[k])
			}
			if want < low || want > high {
				missed[k]++
			}
			if high-low < 20 {
				narrow++
			}
		}
		must(t, s, fmt.Sprintf(`DROP RELEASE r%d`, i))
	}
	t.Logf("%v of %d intervals miss, %d of all are narrower than the domain", missed, releases, narrow)
	for k, n := range missed {
		if n > most {
			t.Errorf("group %d: %d of %d intervals miss", k, n, releases)
		}
	}
	if narrow < releases/2 {
		t.Errorf("only %d intervals say anything", narrow)
	}
}

// TestUnitsRefused has what COUNT(DISTINCT …) does not count.
func TestUnitsRefused(t *testing.T) {
	t.Parallel()
	s := ofPatients(t)
	must(t, s, `SET accuracy = 20`)
	before := len(entries(t, s.DB()))
	for text, want := range map[string]string{
		`SELECT COUNT(DISTINCT code) FROM plain`:                "code, which has more than 10000 values",
		`SELECT COUNT(DISTINCT note) FROM plain`:                "note, which has no domain",
		`SELECT COUNT(DISTINCT person) FROM plain`:              "WITH (unit = person, max_rows = …)",
		`SELECT COUNT(DISTINCT person) FROM visits`:             "COUNT(DISTINCT patient) counts the units",
		`SELECT COUNT(DISTINCT patient + 1) FROM visits`:        "unsupported",
		`SELECT COUNT(DISTINCT patient, day) FROM visits`:       "unsupported",
		`SELECT COUNT(DISTINCT v.patient) FROM visits`:          "unknown",
		`SELECT SUM(DISTINCT day) FROM visits`:                  "SUM(x), which takes each row",
		`SELECT COUNT(*) FROM visits WHERE patient = 3`:         "unknown",
		`SELECT patient, COUNT(*) FROM visits GROUP BY patient`: "no answer is about one unit alone; COUNT(DISTINCT patient) counts the units",
		`SELECT COUNT(patient) FROM visits`:                     "unknown",
	} {
		_, err := s.Exec(context.Background(), text, nil)
		e, ok := err.(*sqlerr.Error)
		if !ok || !strings.Contains(e.Error()+" "+e.Hint, want) {
			t.Errorf("%s: %v (%+v), want %s", text, err, e, want)
		}
	}
	if n := len(entries(t, s.DB())) - before; n != 0 {
		t.Errorf("refusals wrote %d lines", n)
	}
}
