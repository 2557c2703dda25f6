package engine_test

import (
	"math"
	"path/filepath"
	"testing"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// visits makes a table of 200 patients with 10 visits each, of which at most
// four count, and returns a session.
func visits(t *testing.T) *engine.Session {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "visits.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw_visits (patient INTEGER, day INTEGER)`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999)
			INSERT INTO raw_visits SELECT i / 10, i % 10 FROM n`,
		`INSERT INTO raw_visits VALUES (NULL, 3), (7, 99)`) // no unit, and outside the domain
	must(t, s, `CREATE PRIVATE TABLE visits (day INTEGER BETWEEN 0 AND 9) FROM raw_visits
		WITH (epsilon = 100, delta = 1e-6, unit = patient, max_rows = 4)`)
	return s
}

// TestUnitsBoundEveryMechanism counts four visits of each patient, whatever
// answers, with noise for four rows. The counts have 800 of the 2,000 rows;
// every tolerance is above 20 standard deviations of the noise.
func TestUnitsBoundEveryMechanism(t *testing.T) {
	t.Parallel()
	s := visits(t)
	must(t, s, `CREATE RELEASE exact ON visits USING PROJECTION WITH (epsilon = 10, transform = identity)`)
	must(t, s, `CREATE RELEASE hashed ON visits USING PROJECTION WITH (epsilon = 10, transform = sparse, rows = 4096)`)
	must(t, s, `CREATE MECHANISM live ON visits USING SMW WITH (epsilon = 40, max_updates = 4, queries = 100)`)
	for _, name := range []string{"exact", "hashed"} {
		must(t, s, `SET mechanism = `+name)
		if n := count(t, s, `SELECT COUNT(*) FROM visits`); math.Abs(float64(n-800)) > 40 {
			t.Errorf("%s counts %d visits, want about 800", name, n)
		}
	}
	must(t, s, `SET mechanism = live`)
	r := must(t, s, `SELECT COUNT(*) FROM visits WHERE day < 5`)
	if m := r.Answer.Margins[0][0].(float64); m <= 0 || m > 400 {
		t.Errorf("the mechanism's margin is %g", m)
	}
	must(t, s, `SET mechanism = direct`)
	must(t, s, `SET accuracy = 50`)
	direct := must(t, s, `SELECT COUNT(*) FROM visits`)
	if n := direct.Rows[0][0].(int64); math.Abs(float64(n-800)) > 500 {
		t.Errorf("a direct answer counts %d visits, want about 800", n)
	}
	// Four times the sensitivity costs sixteen times the ρ of ±50 on rows.
	if rho := direct.Answer.Cost.Rho; math.Abs(rho/(16*0.000753)-1) > 0.01 {
		t.Errorf("±50 cost ρ = %g, want %g", rho, 16*0.000753)
	}
	if law := must(t, s, `SHOW RELEASES`).Rows[0][3].(string); law == "" {
		t.Error("SHOW RELEASES names no noise")
	}
	for _, row := range must(t, s, `SHOW TABLES`).Rows {
		if row[4] != "up to 4 rows with one value of patient" {
			t.Errorf("SHOW TABLES says the unit is %q", row[4])
		}
	}
}

// TestOneBudgetProtectsOneUnit refuses to spend the budget of patients on a
// table that takes single visits for units, and the other way round.
func TestOneBudgetProtectsOneUnit(t *testing.T) {
	t.Parallel()
	s := visits(t)
	refused(t, s, sqlerr.Invalid, `CREATE PRIVATE TABLE again (day INTEGER BETWEEN 0 AND 9) FROM raw_visits WITH (epsilon = 100, delta = 1e-6)`)
	must(t, s, `DROP PRIVATE TABLE visits`)
	refused(t, s, sqlerr.Invalid, `CREATE PRIVATE TABLE again (day INTEGER BETWEEN 0 AND 9) FROM raw_visits WITH (epsilon = 100, delta = 1e-6)`)
	must(t, s, `CREATE PRIVATE TABLE again (day INTEGER BETWEEN 0 AND 9) FROM raw_visits
		WITH (epsilon = 100, delta = 1e-6, unit = PATIENT, max_rows = 2)`)
}
