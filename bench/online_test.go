package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"dpsql/bench/workload"
	"dpsql/engine"
	"dpsql/noise"
)

// TestPlanIsTheProducts checks that the SMW measured here is the one that the product
// makes. For 48,842 rows of Adult, and the same ε, δ and queries, CREATE MECHANISM has
// the same number of runs, the same bound and the same share for the prior. Each buys
// its own number of rows, with noise of σ = 45. Eight runs are chosen from 44,600 to
// 49,700 rows, so the test fails with a probability below 1e-60.
func TestPlanIsTheProducts(t *testing.T) {
	w, err := workload.AdultConjunctions("../testdata/adult/adult.csv")
	if err != nil {
		t.Fatal(err)
	}
	spend, err := newBudget(1)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := planOnline(w.Table, w.MaxSupport(), len(w.Queries), spend, interactiveRequest, noise.NewSource())
	if err != nil {
		t.Fatal(err)
	}
	db, err := engine.Open(filepath.Join(t.TempDir(), "adult.db"), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := db.NewSession()
	exec := func(text string) *engine.Result {
		r, err := s.Exec(context.Background(), text, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if _, err := s.Import(context.Background(), engine.Import{Path: "../testdata/adult/adult.csv", Table: "raw"}); err != nil {
		t.Fatal(err)
	}
	exec(`CREATE PRIVATE TABLE adult (sex INTEGER IN (0, 1), race INTEGER BETWEEN 0 AND 4, "education-num" INTEGER BETWEEN 0 AND 15,
		"marital-status" INTEGER BETWEEN 0 AND 6, relationship INTEGER BETWEEN 0 AND 5, "income>50K" INTEGER IN (0, 1))
		FROM raw WITH (epsilon = 2, delta = 2e-6, interactive = 0.5)`)
	exec(fmt.Sprintf(`CREATE MECHANISM live ON adult USING SMW WITH (epsilon = 1, max_support = %d, queries = %d)`, w.MaxSupport(), len(w.Queries)))
	m := exec(`SHOW MECHANISMS`)
	row := make(map[string]any)
	for i, c := range m.Columns {
		row[c.Name] = m.Rows[0][i]
	}
	t.Logf("bench: B = %d, T = %d; product: %v", ours.Updates, ours.Threshold, row)
	if want := fmt.Sprintf("0 of %d", ours.Updates); row["runs"] != want {
		t.Errorf("runs are %v, want %s", row["runs"], want)
	}
	if within, want := float64(row["within"].(int64)), float64(ours.Threshold+ours.Bound); math.Abs(within/want-1) > 0.01 {
		t.Errorf("answers are within %v, want %v", within, want)
	}
	charged := make(map[string]float64)
	for _, line := range exec(`SHOW LEDGER`).Rows {
		var rho float64
		fmt.Sscan(fmt.Sprint(line[8]), &rho)
		charged[line[4].(string)] += rho
	}
	prior, runs := charged["prior of mechanism"], charged["reserve mechanism"]
	if want := ours.prior.Float(); math.Abs(prior/want-1) > 0.01 || math.Abs(prior/(prior+runs)-0.3) > 0.001 {
		t.Errorf("the prior takes ρ = %v of %v, want %v", prior, prior+runs, want)
	}
}
