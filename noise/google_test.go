package noise

import (
	"math/big"
	"testing"

	google "github.com/google/differential-privacy/go/v3/noise"
	"gonum.org/v1/gonum/stat/distuv"

	"dpsql/noise/law"
	"dpsql/noise/law/lawtest"
)

// google/differential-privacy adds Laplace noise to an integer by rounding
// continuous noise to it. For k ≠ 0 that has probability e^(−|k|/s)·sinh(1/2s),
// against e^(−|k|/s)·tanh(1/2s) here: given k ≠ 0 the two laws are one.

// googleDraws returns draws of that noise but 0, for a unit of so many rows. They
// come from the operating system: there is no seed to log.
func googleDraws(t *testing.T, n int, rows int64, epsilon float64) []int64 {
	t.Helper()
	draws := make([]int64, 0, n)
	for len(draws) < n {
		x, err := google.Laplace().AddNoiseInt64(0, 1, rows, epsilon, 0)
		if err != nil {
			t.Fatal(err)
		}
		if x != 0 {
			draws = append(draws, x)
		}
	}
	return draws
}

// twoSamples returns the p-value of the chi-squared test that two samples have the
// same law. The samples have equal size and no zeros. The bins have equal shares
// under l.
func twoSamples(l law.Law, a, b []int64) float64 {
	var statistic, cells float64
	bins := newBins(l, float64(len(a)))
	ofA, ofB := inBins(bins, a), inBins(bins, b)
	for i, x := range ofA {
		if y := ofB[i]; x+y > 0 {
			statistic += (x - y) * (x - y) / (x + y)
			cells++
		}
	}
	return distuv.ChiSquared{K: cells - 1}.Survival(statistic)
}

// TestLaplaceAgainstGoogle compares our draws with those of another
// implementation, whose noise has no seed. Each of the 4 comparisons, of which two are for -long, fails two
// samples of one law with probability 1e-8, as far as the statistic is chi-squared:
// 4e-8 in all, and ten times that if the approximation is off by as much. The test
// also tries noise that it must reject, whose scale is a quarter too small. For that
// noise the statistic is more than six deviations beyond the level, so the test
// misses it with probability 1e-9.
func TestLaplaceAgainstGoogle(t *testing.T) {
	const n = 10_000
	for i, c := range []struct {
		rows    int64
		epsilon float64
	}{{1, 2}, {3, 1}, {5, 0.01}, {1, 0x1p-20}} {
		if i%2 == 1 && !*long {
			continue
		}
		scale := new(big.Rat).SetFloat64(c.epsilon)
		scale.Quo(new(big.Rat).SetInt64(c.rows), scale)
		theirs := googleDraws(t, n, c.rows, c.epsilon)
		ours := nonZero(t, scale, n, 700+uint64(i))
		l := mustLaplace(t, scale)
		p := twoSamples(l, ours, theirs)
		less := twoSamples(l, nonZero(t, new(big.Rat).Mul(scale, lawtest.Rat("3/4")), n, 750+uint64(i)), theirs)
		t.Logf("%d rows at epsilon %v: p = %.3g, with 3/4 of the scale p = %.3g", c.rows, c.epsilon, p, less)
		if p < 1e-8 {
			t.Errorf("%s and google's noise for %d rows at epsilon %v differ: p = %g", l, c.rows, c.epsilon, p)
		}
		if less > 1e-8 {
			t.Errorf("%s: noise at 3/4 of the scale is not told from google's: p = %g", l, less)
		}
	}
}

// nonZero returns draws of discrete Laplace noise but 0.
func nonZero(t *testing.T, scale *big.Rat, n int, seed uint64) []int64 {
	t.Helper()
	l, s := mustLaplace(t, scale), stream(t, seed)
	draws := make([]int64, 0, n)
	for len(draws) < n {
		x, err := Draw(l, s)
		if err != nil {
			t.Fatal(err)
		}
		if x != 0 {
			draws = append(draws, x)
		}
	}
	return draws
}

func mustLaplace(t *testing.T, scale *big.Rat) law.Law {
	t.Helper()
	l, err := law.NewLaplace(scale)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
