package projection

import (
	"math"
	"math/big"
	"testing"

	"dpsql/noise/law"
)

// naiveQuantile convolves the law of Σ factor·X term by term.
func naiveQuantile(factors []int64, law map[int64]float64, confidence float64) int64 {
	sum := map[int64]float64{0: 1}
	for _, f := range factors {
		next := make(map[int64]float64)
		for s, p := range sum {
			for x, q := range law {
				next[s+f*x] += p * q
			}
		}
		sum = next
	}
	inside := sum[0]
	w := int64(0)
	for ; inside < confidence; w++ {
		inside += sum[w+1] + sum[-w-1]
	}
	return w
}

// releaseOf returns a release whose errors have the law.
func releaseOf(law map[int64]float64) *Release {
	c := coordinate{tail: func(k int64) (p float64) {
		for x, q := range law {
			if max(x, -x) >= k {
				p += q
			}
		}
		return p
	}}
	for x, q := range law {
		c.variance += q * float64(x) * float64(x)
	}
	return &Release{laws: [2]*coordinate{&c, &c}, widths: newWidths()}
}

// factorsOf gives the factors to both laws in turn.
func factorsOf(values []int64) (fs []factor) {
	for i, v := range values {
		fs = append(fs, factor{i % 2, v, 1})
	}
	return fs
}

func TestQuantileAgainstNaiveConvolution(t *testing.T) {
	die := map[int64]float64{-3: 0.125, -1: 0.25, 0: 0.25, 1: 0.25, 3: 0.125}
	jump := map[int64]float64{-1000: 0.001, -1: 0.2, 0: 0.598, 1: 0.2, 1000: 0.001}
	for _, law := range []map[int64]float64{die, jump} {
		for _, factors := range [][]int64{{1}, {1, 1}, {2, 1}, {1, 1, 1, 1, 1, 1, 1}, {5, 3, 3, 1}, {32, 32}, {7}} {
			for _, confidence := range []float64{0.3, 0.9, 0.95, 0.99} {
				r := releaseOf(law)
				unit := unitOf(factorsOf(factors))
				p := profileOf(factorsOf(factors), unit, confidence)
				got := unit * int64(r.gridQuantile(p))
				low := naiveQuantile(factors, law, confidence)
				// plan gives away at most an eighth of the remaining error
				// probability. Steps above 1 round up.
				high := naiveQuantile(factors, law, confidence+(1-confidence)/8)
				step := r.plan(p).step
				if got < low || got > high+2*unit*step*min(step-1, 1) {
					t.Errorf("Σ %v·X at %v: %d in steps of %d, want %d … %d", factors, confidence, got, step, low, high)
				}
			}
		}
	}
}

// The quantile of one coordinate is the law's own half-width, and factors are
// units.
func TestQuantileOfOneTerm(t *testing.T) {
	gaussian, err := law.NewGaussian(big.NewRat(1_000_000_000_000, 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []law.Law{laplace(t, 1, 2), laplace(t, 1, 1), laplace(t, 25, 1), laplace(t, 1_000_000, 1), gaussian} {
		r := Release{laws: [2]*coordinate{noiseOf(l), noiseOf(l)}, widths: newWidths()}
		for _, confidence := range []float64{0.5, 0.9, 0.95, 0.999} {
			want := float64(law.HalfWidth(l, confidence))
			got := r.sumQuantile([]factor{{0, 1, 1}}, confidence)
			if got != want {
				t.Errorf("%v at %v: %v, half-width %v", l, confidence, got, want)
			}
			if seven := r.sumQuantile([]factor{{0, 70, 1}}, confidence); seven != 70*want {
				t.Errorf("70 times %v at %v: %v", l, confidence, seven)
			}
		}
	}
}

// Jumps so large and frequent that a fine grid cannot hold them widen the
// margin; they must not be lost.
func TestQuantileOfHeavyJumps(t *testing.T) {
	law := map[int64]float64{-1 << 40: 0.01, 0: 0.98, 1 << 40: 0.01}
	p := profileOf([]factor{{0, 1, 64}}, 1, 0.95)
	// 64 terms hold 1.3 jumps on average; the 95 % quantile of |sum| is 2 jumps.
	if got := releaseOf(law).gridQuantile(p); got < 2<<40 || got > 2.5*(1<<40) {
		t.Errorf("%v jumps", got/(1<<40))
	}
}

// A law without small values has no centre.
func TestQuantileOfLargeValuesOnly(t *testing.T) {
	law := map[int64]float64{-1_000_000: 0.5, 1_000_000: 0.5}
	p := profileOf([]factor{{0, 1, 1}}, 1, 0.95)
	if got := releaseOf(law).gridQuantile(p); !(got >= 1_000_000 && got <= 1_020_000) {
		t.Errorf("quantile %v of ±10^6", got)
	}
}

func TestEvenTransformAgainstSum(t *testing.T) {
	_, random := seeded(t)
	for n := 2; n <= 256; n *= 2 {
		a := make([]float64, n)
		for j := range n/2 + 1 {
			a[j] = random.NormFloat64()
			a[(n-j)%n] = a[j]
		}
		got := append([]float64(nil), a...)
		evenTransform(got)
		for k := range n {
			var want float64
			for j, v := range a {
				want += v * math.Cos(2*math.Pi*float64(j*k)/float64(n))
			}
			if math.Abs(got[k]-want) > 1e-12*float64(n) {
				t.Fatalf("n = %d, k = %d: %v, want %v", n, k, got[k], want)
			}
		}
	}
}

// TestNearNormal holds the correction of a nearly normal law to the law itself: the sum of 128 discrete
// Laplace draws, convolved. It is within a hundredth of each tail down to 1/1000.
func TestNearNormal(t *testing.T) {
	c := noiseOf(laplace(t, 2, 1))
	const widest = 1 << 10
	law := make([]float64, 2*widest+1) // of X + widest
	for k := range int64(widest) {
		law[widest+k] = (c.tail(k) - c.tail(k+1)) / 2
		law[widest-k] = law[widest+k]
	}
	law[widest] *= 2
	for range 7 {
		sum := make([]float64, len(law))
		for i, p := range law {
			for j := max(0, widest-i); p > 1e-18 && j < min(len(law), len(law)+widest-i); j++ {
				sum[i+j-widest] += p * law[j]
			}
		}
		law = sum
	}
	n := nearNormal{math.Sqrt(128 * c.variance), c.fourth / (128 * c.variance * c.variance)}
	if n.kurtosis > almostNormal {
		t.Fatalf("the excess kurtosis is %v", n.kurtosis)
	}
	within := law[widest]
	for w := 1; 1-within > 1e-3; w++ {
		within += 2 * law[widest+w]
		if tail := 1 - within; math.Abs(n.within(float64(w))-within) > tail/100 {
			t.Errorf("P(|S| > %d) = %.6g, and is taken for %.6g", w, tail, 1-n.within(float64(w)))
		}
	}
}

// TestSummary holds the summary of a sketch to sums over its coordinates one by one.
func TestSummary(t *testing.T) {
	for _, bytes := range []int{1, 2} {
		checkSummary(t, newVector(5000, bytes))
	}
}

// TestLowest has the word that marks a large coordinate in stored sketches: the lowest of its width.
func TestLowest(t *testing.T) {
	for bytes, want := range map[int]int64{1: math.MinInt8, 2: math.MinInt16, 4: math.MinInt32, 8: math.MinInt64} {
		if got := lowest(bytes); got != want {
			t.Errorf("%d bytes: %d, want %d", bytes, got, want)
		}
	}
}

func checkSummary(t *testing.T, v vector) {
	t.Helper()
	_, random := seeded(t)
	var values []float64
	for i := range v.len() {
		x := random.Int64N(9) - 4 // each many times
		if i%50 == 0 {
			x = random.Int64N(60_000) - 30_000
		}
		v.add(i, x)
		values = append(values, float64(x))
	}
	s := summarise(v)
	squares, fourths, largest := 0.0, 0.0, 0.0
	for _, x := range values {
		squares, fourths, largest = squares+x*x, fourths+x*x*x*x, max(largest, math.Abs(x))
	}
	n := float64(len(values))
	near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-9*want }
	if !near(s.meanSquare, squares/n) || !near(s.kurtosis+3, n*fourths/(squares*squares)) || float64(s.largest) != largest {
		t.Errorf("mean square %v, kurtosis %v, largest %d; want %v, %v, %v", s.meanSquare, s.kurtosis, s.largest, squares/n, n*fourths/(squares*squares)-3, largest)
	}
	for k := int64(0); float64(k) <= largest+1; k = k + 1 + k/7 {
		beyond := 0.0
		for _, x := range values {
			if math.Abs(x) >= float64(k) {
				beyond++
			}
		}
		if got := s.tail(k); got < beyond/n || k < exactBins && !near(got, beyond/n) {
			t.Errorf("P(|û| >= %d) is %v, want %v", k, got, beyond/n)
		}
	}
}
