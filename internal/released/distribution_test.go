package released

import (
	"math"
	"math/big"
	"testing"

	"dpsql/mechanisms/projection"
	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/noise/law"
	"dpsql/query"
)

// TestGapsOfCells draws identity releases and counts how often (1−q)·A − q·B errs beyond the
// margin at 90 % of the sum that stands for it, on each side. The misses of 1,000 draws are at most
// binomial with 5 %: more than 102 has a probability below 2e-10 (Chernoff) for each of
// 6 cells. Fewer than 10 has one below 2e-8 for 4 %, which they reach, as the margin is the
// least whole one.
func TestGapsOfCells(t *testing.T) {
	const draws = 1000
	d, err := query.NewRange(0, 59, false)
	if err != nil {
		t.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{{Name: "x", Domain: d}})
	if err != nil {
		t.Fatal(err)
	}
	law, err := law.NewLaplace(big.NewRat(2, 1))
	if err != nil {
		t.Fatal(err)
	}
	below := query.Where(u, 0, d.SetOf(query.Int(0)))
	for v := range int64(20) {
		if below, err = below.Or(query.Where(u, 0, d.SetOf(query.Int(v)))); err != nil {
			t.Fatal(err)
		}
	}
	above, err := below.Not()
	if err != nil {
		t.Fatal(err)
	}
	fractions := []float64{0.5, 0.9, 0.25}
	var high, low [3]int
	var widths [3]float64
	for range draws {
		b, err := projection.NewBuilder(u, projection.Params{Transform: projection.Identity, Rows: 60, Law: law}, coin.NewSource())
		if err != nil {
			t.Fatal(err)
		}
		release, err := b.Build(func(yield func(query.Element, int64) bool) { yield(query.Element{Lo: 3}, 1000) }, noise.NewSource())
		if err != nil {
			t.Fatal(err)
		}
		cells, _ := release.Cells()
		missed := [2]float64{0: -1000}
		for x, n := range cells {
			missed[min(x/20, 1)] += float64(n)
		}
		for i, q := range fractions {
			if widths[i] == 0 { // the margin depends on the query and the law alone
				sum, whole, ok := gapQuery(below, above, q)
				if !ok {
					t.Fatalf("no query for %g", q)
				}
				e, err := Sketch{Release: release}.Evaluate(t.Context(), sum, 0.9)
				if err != nil {
					t.Fatal(err)
				}
				widths[i] = e.Error.Reach() / float64(whole)
			}
			if miss := (1-q)*missed[0] - q*missed[1]; miss > widths[i]+1e-9 {
				high[i]++
			} else if miss < -widths[i]-1e-9 {
				low[i]++
			}
		}
	}
	for i, q := range fractions {
		if high[i] > 102 || low[i] > 102 || high[i] < 10 || low[i] < 10 {
			t.Errorf("q = %g: %d errors above and %d below the margin in %d draws, want about %d", q, high[i], low[i], draws, draws/20)
		}
	}
	if _, _, ok := gapQuery(below, above, 1/math.Pi); ok {
		t.Error("1/π has whole weights")
	}
}
