package marginals

import (
	"math"
	"math/big"
	"testing"

	"dpsql/query"
)

// TestPredictAgainstNaive compares predictions with the normal equations, with what a
// release says of itself, and their means with the closed forms, on random sets of
// marginals.
func TestPredictAgainstNaive(t *testing.T) {
	random := seeded(t)
	for range 40 {
		sizes, sets, table := randomCase(random)
		u := universe(t, sizes...)
		p := params(t, sets, big.NewRat(25, 1))
		r := build(t, u, p, table)
		mean, sums := 0.0, 0.0
		for _, set := range sets {
			l := r.shape.layout(set)
			for cell := range l.size {
				q, weights := query.All(u), make([]float64, r.shape.cells)
				for i, ordinal := range ordinalsAt(sizes, set, cell) {
					d := u.Columns()[set[i]].Domain
					var err error
					if q, err = q.And(query.Where(u, set[i], d.SetOf(query.Int(int64(ordinal))))); err != nil {
						t.Fatal(err)
					}
				}
				for i := range weights {
					if int(l.outer[i/r.shape.inner]+l.inner[i%r.shape.inner]) == cell {
						weights[i] = 1
						sums += 2
					}
				}
				_, squares := leastSquares(sizes, sets, r.noisy, weights)
				got, ok, err := p.Predict(u, q, 0.9)
				if err != nil || !ok || math.Abs(got.Deviation*got.Deviation-25*squares) > 1e-9*(1+25*squares) {
					t.Errorf("%v of %v, cell %d of %v: %+v, %v, %v, want √%v", sets, sizes, cell, set, got, ok, err, 25*squares)
				}
				if margin, _, err := r.Predict(q, 0.9); err != nil || math.Abs(margin-got.Margin) > 1e-9*(1+margin) {
					t.Errorf("predicted ± %v before and ± %v after measuring, %v", got.Margin, margin, err)
				}
				mean += 25 * squares
			}
		}
		n := float64(p.Cells(u))
		if got := p.MeanVariance(u); math.Abs(got-mean/n) > 1e-9*(1+mean/n) {
			t.Errorf("%v of %v: a mean variance of %v, want %v", sets, sizes, got, mean/n)
		}
		if got := p.MeanOfSums(u, 2); math.Abs(got-sums/n) > 1e-9*(1+sums/n) {
			t.Errorf("%v of %v: a mean variance of sums of %v, want %v", sets, sizes, got, sums/n)
		}
	}
}

// TestPredictUncovered asks for columns that no marginal has together, whose marginal would
// not fit into any memory.
func TestPredictUncovered(t *testing.T) {
	u := universe(t, 2000, 2000, 2000, 2000, 2000, 2000)
	p := params(t, OfDegree(u, 1), big.NewRat(25, 1))
	var each []query.ColumnSet
	for c := range u.Columns() {
		each = append(each, query.ColumnSet{Column: c, Set: u.Columns()[c].Domain.SetOf(query.Int(1))})
	}
	if _, ok, err := p.Predict(u, query.Conjunction(u, each), 0.95); ok || err != nil {
		t.Errorf("predicted %v, %v", ok, err)
	}
	if got, ok, err := p.Predict(u, query.Conjunction(u, each[:1]), 0.95); !ok || err != nil || !(got.Deviation > 4 && got.Deviation < 5) {
		t.Errorf("one column: %+v, %v, %v", got, ok, err)
	}
}

// TestMeanVarianceIsMeasured builds least-squares tables from the noise alone, over Adult's 6
// columns, and compares the squared errors of all 3-way counts with their prediction.
//
// The squared errors of a release add up to σ²·χ² with d = 2,251 degrees of freedom, for
// Gaussian noise. Over 3 releases the ratio has a standard deviation of √(2/6753) = 0.017, and is
// further than 7 of these from 1 with a probability below 1e-9 (Laurent and Massart 2000,
// Lemma 1).
func TestMeanVarianceIsMeasured(t *testing.T) {
	u := universe(t, 2, 5, 16, 7, 6, 2)
	p := calibrated(t, u, 3, "1", "1e-6")
	ratio, each := 0.0, float64(p.Cells(u))*p.MeanVariance(u)
	const releases = 3
	for range releases {
		cells := make([][]int64, len(p.Sets))
		for i, set := range p.Sets {
			cells[i] = make([]int64, product(within(sizesOf(u), set)))
		}
		if err := perturb(t.Context(), cells, drawing(p.Law)); err != nil {
			t.Fatal(err)
		}
		r, err := newRelease(t.Context(), u, p, cells)
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range p.Sets {
			for _, e := range r.consistent(set) {
				ratio += e * e / each / releases
			}
		}
	}
	t.Logf("d = %v, predicted RMS %.2f, squares over predicted %.4f", p.dimensions(u), math.Sqrt(p.MeanVariance(u)), ratio)
	if math.Abs(ratio-1) > 7*math.Sqrt(2/(releases*p.dimensions(u))) {
		t.Errorf("measured squares are %.4f of the predicted", ratio)
	}
}
