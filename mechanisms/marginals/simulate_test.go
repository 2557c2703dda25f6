package marginals

import (
	"fmt"
	"math"
	"testing"

	"dpsql/noise"
	"dpsql/query"
)

// TestSimulatedMarginsCover counts how many cells of all marginals over 3 columns lie within
// their simulated margins of 95 %, by size of the true count, and how wide these are beside
// the proven ones.
//
// Shares vary from release to release with standard deviations of 0.005, 0.009, 0.010, 0.010,
// 0.013 and 0.006 by size and of all, measured over 60 releases of Adult; of the households,
// over 10, 0.020 for the largest; of PUMS, over 30, 0.007 and 0.028 for the second and the
// third. Each limit is 7 standard deviations of the mean below the mean measured, or more: a
// probability below 1e-10 were the law normal, and 1e-6 leaves room for its tails.
func TestSimulatedMarginsCover(t *testing.T) {
	for _, c := range []struct {
		name     string
		table    func(testing.TB) (*query.Universe, []int64)
		releases int
		long     bool
		least    [6]float64 // shares of true counts of 0, 1–9, 10–98, 99–999, 1,000 and more, and of all
	}{
		{"Adult", adult6, 2, false, [6]float64{0.96, 0.91, 0.90, 0.915, 0.89, 0.94}},
		{"Adult, many", adult6, 20, true, [6]float64{0.98, 0.94, 0.94, 0.945, 0.94, 0.955}},
		{"households", households, 4, true, [6]float64{0.95, 0.90, 0.91, 0.93, 0.83, 0.93}},
		{"a thousand persons", pums, 10, true, [6]float64{0.99, 0.93, 0.86, 0, 0, 0.98}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long && !*long {
				t.Skip("takes half a minute: -long")
			}
			u, table := c.table(t)
			p := calibrated(t, u, 3, "1", "1e-6")
			var mean, squares, releases [6]float64
			var simulated, proven float64
			for range c.releases {
				r := build(t, u, p, table)
				if err := r.Simulate(t.Context(), noise.NewSource, nil); err != nil {
					t.Fatal(err)
				}
				inside, all := covered(t, r, table, &simulated, &proven)
				for size, n := range all {
					if n > 0 {
						share := inside[size] / n
						mean[size], squares[size], releases[size] = mean[size]+share, squares[size]+share*share, releases[size]+1
					}
				}
			}
			t.Logf("simulated margins have %.2f of the width of proven ones", simulated/proven)
			for size, n := range releases {
				if n == 0 {
					continue
				}
				mean[size] /= n
				spread := math.Sqrt(max(0, squares[size]/n-mean[size]*mean[size]))
				t.Logf("size %d: %.4f covered, ± %.4f a release", size, mean[size], spread)
				if mean[size] < c.least[size] {
					t.Errorf("size %d: %.4f of the cells are within their margins, less than %v", size, mean[size], c.least[size])
				}
			}
			if simulated > 0.6*proven {
				t.Error("simulated margins are not much narrower than proven ones")
			}
		})
	}
}

// covered returns how many cells of all marginals over 3 columns there are of each size, and how
// many are within their simulated margins; the last is of all sizes. It adds up the margins.
func covered(t *testing.T, r *Release, table []int64, simulated, proven *float64) (inside, all [6]float64) {
	for _, set := range r.p.Sets {
		l := r.shape.layout(set)
		truth, estimates := make([]float64, l.size), r.expected(set)
		sum(&l, floats(table), truth)
		weights := make([]float64, l.size)
		weights[0] = 1
		_, variance, _ := r.unbiased(set, weights)
		width := r.margin(variance, 0.95)
		for c := range weights {
			clear(weights)
			weights[c] = 1
			margin, ok := r.simulatedMargin(set, weights, 0.95)
			if !ok {
				t.Fatal("there is no simulated margin")
			}
			*simulated, *proven = *simulated+margin, *proven+width
			size := 0
			for _, most := range []float64{0, 9, 98, 999} {
				if truth[c] > most {
					size++
				}
			}
			for _, s := range []int{size, 5} {
				all[s]++
				if math.Abs(math.Round(estimates[c])-truth[c]) <= math.Floor(margin) {
					inside[s]++
				}
			}
		}
	}
	return inside, all
}

// households is a table on which no constant of the margins was chosen.
func households(t testing.TB) (*query.Universe, []int64) {
	return csvTable(t, "blind/randhie.csv.gz", []string{"visits", "coinsurance", "deductible", "incentive", "maximum", "limitation", "diseases", "health"},
		[]int{7, 5, 2, 6, 5, 3, 6, 4})
}

func pums(t testing.TB) (*query.Universe, []int64) {
	return csvTable(t, "pums/PUMS.csv", []string{"age", "sex", "educ", "race", "married"}, []int{100, 2, 17, 7, 2})
}

// TestGamma compares draws with the law's moments.
func TestGamma(t *testing.T) {
	d := &draws{src: noise.NewSource()}
	for _, shape := range []float64{leastShape, 17, 1e6} {
		// The fourth central moment is 3k² + 6k, the variance of a square 2k² + 6k.
		holdMoments(t, fmt.Sprintf("shape %v", shape), func() float64 { return d.gamma(shape) - shape }, shape, 2*shape*shape+6*shape, 0)
	}
}

// holdMoments draws from a law of mean 0 and a variance, and compares the means of the draws
// and of their squares, whose variance is given. Means of 100,000 draws are within 6 of their
// standard deviations, but for a probability of 2e-9 each. The mean of squares may be off by
// slack more.
func holdMoments(t *testing.T, name string, draw func() float64, variance, ofSquares, slack float64) {
	const n = 100_000
	sum, squares := 0.0, 0.0
	for range n {
		x := draw()
		sum, squares = sum+x, squares+x*x
	}
	if math.Abs(sum/n) > 6*math.Sqrt(variance/n) {
		t.Errorf("the mean of draws of %s is off by %v", name, sum/n)
	}
	if spread := math.Sqrt(ofSquares / n); math.Abs(squares/n-variance) > 6*spread+slack {
		t.Errorf("the variance of draws of %s is %v", name, squares/n)
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

// TestPoisson compares draws with the law's moments.
func TestPoisson(t *testing.T) {
	d := &draws{src: noise.NewSource()}
	for _, mean := range []float64{0, 0.01, 0.5, 3, 60, 70, 5000} {
		// The fourth central moment is λ + 3λ², the variance of a square λ + 2λ²; rounding
		// adds 1/12 where the law is normal.
		holdMoments(t, fmt.Sprintf("mean %v", mean), func() float64 { return d.poisson(mean) - mean }, mean, mean+2*mean*mean, 0.1)
	}
}
