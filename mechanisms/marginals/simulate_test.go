package marginals

import (
	"fmt"
	"math"
	"testing"

	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/query"
)

// TestSimulatedMarginsCover counts how many cells of all marginals over 3 columns lie within
// their simulated margins of 95 %, which are at most as wide as the proven ones, by size of the
// true count, and how wide these are beside the proven ones. Of the proven intervals it counts
// those that hold, too.
//
// Shares vary from release to release with standard deviations of 0.005, 0.010, 0.010, 0.010,
// 0.013 and 0.006 by size and of all, measured over 60 releases of Adult at ε = 1, and 0.005, 0.013,
// 0.010, 0.006, 0.007 and 0.006 over 20 at ε = 0.1; of the earners, over 10, 0.010, 0.004, 0.006, 0.005,
// 0.008 and 0.004; of the households, over 10, 0.020 for the largest; of PUMS, over 30, 0.007 and
// 0.028 for the second and the third. Each limit is 7 standard deviations of the mean below the
// mean measured, or more: a probability below 1e-10 were the law normal, and 1e-6 leaves room
// for its tails. The share of proven intervals has one of 0.005 at most and a mean of 0.949 to
// 0.959. Its limit is 6 deviations of the mean, or more, below: a probability below 1e-8. The one
// release of the short test has limits of its own.
func TestSimulatedMarginsCover(t *testing.T) {
	for _, c := range []struct {
		name     string
		table    func(testing.TB) (*query.Universe, []int64)
		epsilon  string
		releases int
		long     bool
		least    [6]float64 // shares of true counts of 0, 1–9, 10–98, 99–999, 1,000 and more, and of all
	}{
		{"Adult", adult6, "1", 1, false, [6]float64{0.95, 0.885, 0.885, 0.89, 0.865, 0.92}},
		{"Adult, many", adult6, "1", 20, true, [6]float64{0.98, 0.94, 0.94, 0.945, 0.94, 0.955}},
		{"Adult, much noise", adult6, "0.1", 20, true, [6]float64{0.98, 0.93, 0.94, 0.965, 0.97, 0.96}},
		{"earners, much noise", earners, "0.1", 10, true, [6]float64{0.96, 0.97, 0.94, 0.96, 0.95, 0.96}},
		{"households", households, "1", 4, true, [6]float64{0.95, 0.90, 0.91, 0.93, 0.83, 0.93}},
		{"a thousand persons", pums, "1", 10, true, [6]float64{0.99, 0.93, 0.86, 0, 0, 0.98}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long && !*long {
				t.Skip("takes half a minute: -long")
			}
			u, table := c.table(t)
			p := calibrated(t, u, 3, c.epsilon, "1e-6")
			var mean, squares, releases [6]float64
			var widths, held [2]float64 // of simulated and proven margins
			for range c.releases {
				r := build(t, u, p, table)
				if err := r.Simulate(t.Context(), coin.NewSource, nil); err != nil {
					t.Fatal(err)
				}
				one := covered(t, r, table)
				for size, n := range one.all {
					if n > 0 {
						share := one.inside[size] / n
						mean[size], squares[size], releases[size] = mean[size]+share, squares[size]+share*share, releases[size]+1
					}
				}
				for kind, width := range one.widths {
					widths[kind] += width
				}
				share := one.proven / one.all[5]
				held[0], held[1] = held[0]+share/float64(c.releases), held[1]+share*share/float64(c.releases)
			}
			t.Logf("simulated margins have %.2f of the width of proven ones, of which %.4f hold, ± %.4f a release", widths[0]/widths[1], held[0], math.Sqrt(max(0, held[1]-held[0]*held[0])))
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
			if widths[0] > 0.7*widths[1] {
				t.Error("simulated margins are not much narrower than proven ones")
			}
			if least := sized(0.915, 0.94); held[0] < least {
				t.Errorf("%.4f of the cells are within their proven intervals", held[0])
			}
		})
	}
}

// coverage counts the cells of a release, by size of the true count; the last is of all sizes.
type coverage struct {
	inside, all [6]float64 // of these the first are within their simulated margins
	proven      float64    // cells within their proven intervals
	widths      [2]float64 // the sum of the margins, simulated and proven
}

// covered asks a release all cells of all marginals over 3 columns.
func covered(t *testing.T, r *Release, table []int64) (c coverage) {
	for _, set := range r.p.Sets {
		l := r.shape.layout(set)
		truth, fitted, unbiased := make([]float64, l.size), r.expected(set), r.consistent(set)
		sum(&l, floats(table), truth)
		weights := make([]float64, l.size)
		weights[0] = 1
		_, variance, _ := r.unbiased(set, weights)
		width := r.margin(variance, 0.95)
		for i := range weights {
			clear(weights)
			weights[i] = 1
			margin, ok := r.simulatedMargin(set, weights, 0.95)
			if !ok {
				t.Fatal("there is no simulated margin")
			}
			value := math.Round(fitted[i])
			low, high := whole(unbiased[i], width)
			margin = min(math.Floor(margin), max(high-value, value-low))
			c.widths[0], c.widths[1] = c.widths[0]+margin, c.widths[1]+width
			if low <= truth[i] && truth[i] <= high {
				c.proven++
			}
			size := 0
			for _, most := range []float64{0, 9, 98, 999} {
				if truth[i] > most {
					size++
				}
			}
			for _, s := range []int{size, 5} {
				c.all[s]++
				if math.Abs(value-truth[i]) <= margin {
					c.inside[s]++
				}
			}
		}
	}
	return c
}

// earners is a table on which no constant of the margins was chosen.
func earners(t testing.TB) (*query.Universe, []int64) {
	return csvTable(t, "blind/earners.csv.gz", []string{"earnings", "gender", "age", "region", "education"}, []int{10, 2, 9, 4, 12})
}

// households is a table on which the order of total and simulations was chosen.
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
// TestLost has a gamma law in the cells to which the fit did lose something, and in no others, and both are among
// those of Adult.
func TestLost(t *testing.T) {
	u, table := adult6(t)
	r := build(t, u, calibrated(t, u, 3, "1", "1e-6"), table)
	all, err := r.lost(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lambda := make(map[int]float64)
	for _, s := range r.stages {
		lambda[s.Order] = s.Lambda
	}
	noise := make(map[string]float64) // its variance, by columns
	for _, k := range r.ordered() {
		noise[fmt.Sprint(r.parts[k].columns)] = r.parts[k].variance
	}
	cells := make(map[bool]int)
	for _, rough := range all {
		columns := rough.layout.columns
		means := make([]float64, rough.layout.size)
		sum(&rough.layout, r.staged, means)
		n := noise[fmt.Sprint(columns)]
		for c, m := range means {
			v := m / lambda[len(columns)]
			lost := m > 0 && v*n/(v+n) > m
			if cells[lost]++; lost != (rough.shape[c] > 0) {
				t.Errorf("cell %d of %v has shape %v: m = %v, v = %v, noise %v", c, columns, rough.shape[c], m, v, n)
			}
		}
	}
	if cells[true] < 100 || cells[false] < 100 {
		t.Errorf("%d cells lost something, and %d nothing", cells[true], cells[false])
	}
}

func holdMoments(t *testing.T, name string, draw func() float64, variance, ofSquares, slack float64) {
	const n = 40_000
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
