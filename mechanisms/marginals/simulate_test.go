package marginals

import (
	"math"
	"testing"

	"dpsql/noise"
)

// TestSimulatedMarginsCover counts how many cells of all marginals over up to 3 columns of
// Adult lie within their simulated margins of 95 %, by size of the true count, and how wide
// these are beside the proven ones.
//
// Measured over 100 releases, the share of 3,638 cells of three columns within their
// margins is 0.956 ± 0.006 a release. A mean of 3 below 0.93 is 7 standard deviations
// away, a probability below 1e-10. Small counts err alike.
func TestSimulatedMarginsCover(t *testing.T) {
	u, table := adult6(t)
	p := calibrated(t, u, 3, "1", "1e-6")
	var inside, all [4]float64
	var simulated, proven float64
	for range 3 {
		r := build(t, u, p, table)
		if err := r.Simulate(t.Context(), noise.NewSource, nil); err != nil {
			t.Fatal(err)
		}
		for _, set := range OfDegree(u, 3) {
			l := r.shape.layout(set)
			truth, estimates := make([]float64, l.size), r.expected(set)
			sum(&l, floats(table), truth)
			weights := make([]float64, l.size)
			for c := range weights {
				clear(weights)
				weights[c] = 1
				margin, ok := r.simulatedMargin(set, weights, 0.95)
				if !ok {
					t.Fatal("there is no simulated margin")
				}
				_, variance, _ := r.unbiased(set, weights)
				simulated, proven = simulated+margin, proven+r.margin(variance, 0.95)
				size := min(3, int(math.Log10(truth[c]+1)))
				all[size]++
				if math.Abs(math.Round(estimates[c])-truth[c]) <= math.Floor(margin) {
					inside[size]++
				}
			}
		}
	}
	cells := all[0] + all[1] + all[2] + all[3]
	t.Logf("true counts below 10, 100, 1,000 and more: %.3f %.3f %.3f %.3f covered; mean width %.1f, proven %.1f",
		inside[0]/all[0], inside[1]/all[1], inside[2]/all[2], inside[3]/all[3], simulated/cells, proven/cells)
	if share := (inside[0] + inside[1] + inside[2] + inside[3]) / cells; share < 0.93 {
		t.Errorf("%.3f of the cells are within their margins", share)
	}
	if simulated > 0.6*proven {
		t.Errorf("simulated margins of %.1f are not much narrower than proven ones of %.1f", simulated/cells, proven/cells)
	}
}

// TestStudent holds quantiles of Student's law to a table of Abramowitz and Stegun (26.10).
func TestStudent(t *testing.T) {
	for _, c := range []struct {
		freedom    int
		confidence float64
		want       float64
	}{{2, 0.95, 4.303}, {4, 0.99, 4.604}, {8, 0.95, 2.306}, {8, 0.8, 1.397}, {16, 0.95, 2.120}, {30, 0.999, 3.646}} {
		if got := student(c.freedom, c.confidence); math.Abs(got-c.want) > 0.0006 {
			t.Errorf("student(%d, %v) = %.4f, want %v", c.freedom, c.confidence, got, c.want)
		}
	}
}

// TestPoisson compares the mean and the variance of draws with the law's. Means of 100,000
// draws are within 6 of their standard deviations, but for a probability of 2e-9 each.
func TestPoisson(t *testing.T) {
	d := &draws{src: noise.NewSource()}
	for _, mean := range []float64{0, 0.01, 0.5, 3, 60, 70, 5000} {
		const n = 100_000
		sum, squares := 0.0, 0.0
		for range n {
			x := d.poisson(mean) - mean
			sum, squares = sum+x, squares+x*x
		}
		if math.Abs(sum/n) > 6*math.Sqrt(mean/n) {
			t.Errorf("the mean of draws of mean %v is off by %v", mean, sum/n)
		}
		// The fourth central moment is λ + 3λ², the variance of a square λ + 2λ²; rounding
		// adds 1/12 where the law is normal.
		if spread := math.Sqrt((mean + 2*mean*mean) / n); math.Abs(squares/n-mean) > 6*spread+0.1 {
			t.Errorf("the variance of draws of mean %v is %v", mean, squares/n)
		}
	}
}
