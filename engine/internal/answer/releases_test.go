package answer

import (
	"math/big"
	"testing"

	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/projection"
	"dpsql/noise"
	"dpsql/query"
)

// TestTheBetterEstimateAnswers asks an identity release that chooses between its cells and
// their fitted table, and looks which answered: that of the lesser predicted error. Both
// answers have one interval.
//
// The comparisons do not depend on the noise. That both kinds of answers occur does: one
// release gives both in all of 2,000 trials, so by the rule of three it gives one kind with
// a probability of at most 0.002, and three releases do with one below 1e-8.
func TestTheBetterEstimateAnswers(t *testing.T) {
	var columns []query.Column
	for _, name := range []string{"a", "b", "c"} {
		d, err := query.NewRange(0, 12, false)
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, query.Column{Name: name, Domain: d})
	}
	u, err := query.NewUniverse(columns)
	if err != nil {
		t.Fatal(err)
	}
	law, err := noise.NewLaplace(big.NewRat(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	fitted, raw := 0, 0
	for trial := 0; trial < 3 && (fitted == 0 || raw == 0); trial++ {
		b, err := projection.NewBuilder(u, projection.Params{Transform: projection.Identity, Rows: 13 * 13 * 13, Law: law}, noise.NewSource())
		if err != nil {
			t.Fatal(err)
		}
		release, err := b.Build(func(yield func(query.Element, int64) bool) {
			for x := range uint64(13 * 13 * 13) {
				if n := int64(1000 / ((1 + x/169) * (1 + x/13%13) * (1 + x%13))); n > 0 && !yield(query.Element{Lo: x}, n) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		cells, _ := release.Cells()
		fit, err := marginals.FitCells(t.Context(), u, law, cells, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := fit.Simulate(t.Context(), noise.NewSource, nil); err != nil {
			t.Fatal(err)
		}
		sketch := Sketch{Release: release}
		chooses, always := fittedCells{sketch, fit, true}, fittedCells{sketch, fit, false}
		asked := []query.Query{query.All(u)}
		for v := range int64(13) {
			asked = append(asked, query.Where(u, 0, columns[0].Domain.SetOf(query.Int(v))))
			asked = append(asked, query.Conjunction(u, []query.ColumnSet{{Column: 0, Set: columns[0].Domain.SetOf(query.Int(v))},
				{Column: 1, Set: columns[1].Domain.SetOf(query.Int(12 - v))}, {Column: 2, Set: columns[2].Domain.SetOf(query.Int(3))}}))
		}
		for _, q := range asked {
			var e [3]Estimate
			for i, r := range []Loaded{sketch, always, chooses} {
				if e[i], err = r.Evaluate(t.Context(), q, 0.95); err != nil {
					t.Fatal(err)
				}
			}
			predicted, err := fit.SimulatedError(q)
			if err != nil {
				t.Fatal(err)
			}
			want := e[0]
			if predicted*predicted < law.Variance()*q.SumSquares() {
				want, fitted = e[1], fitted+1
			} else {
				raw++
			}
			if e[2].Value != want.Value || e[2].Error != want.Error {
				t.Errorf("%v: %d, %+v, want %d, %+v", q, e[2].Value, e[2].Error, want.Value, want.Error)
			}
			if at := float64(e[2].Value) + e[2].Error.Low; at != float64(e[0].Value)+e[0].Error.Low {
				t.Errorf("%v: an interval from %v, that of the cells is from %v", q, at, float64(e[0].Value)+e[0].Error.Low)
			}
		}
	}
	t.Logf("fitted %d, cells %d", fitted, raw)
	if fitted == 0 || raw == 0 {
		t.Errorf("the fit answered %d queries, the cells %d", fitted, raw)
	}
}
