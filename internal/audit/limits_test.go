package audit

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// TestLimitsAgainstGonum checks that gonum's incomplete beta function is alpha at the
// limits. It also compares the limits with gonum's own inverse where that is right,
// which it is not far out in the tails.
func TestLimitsAgainstGonum(t *testing.T) {
	for _, n := range []int64{1, 2, 10, 1000, 20_000, 1_000_000, MaxRuns} {
		for _, share := range []float64{0, 1e-6, 1e-3, 0.01, 0.3, 0.5, 0.77, 0.999, 1} {
			x := int64(math.Round(share * float64(n)))
			for _, alpha := range []float64{0.25, 0.01, 1e-5, 1e-9, 1e-14} {
				low, high := lower(x, n, alpha), upper(x, n, alpha)
				a, b := float64(x), float64(n-x)
				if x > 0 && 1-low > 1e-3 { // nearer to 1, rounding leaves too few digits to compare
					near(t, "tail at the lower limit", x, n, mathext.RegIncBeta(a, b+1, low), alpha, 1e-3)
				} else if x == 0 && low != 0 {
					t.Errorf("lower limit %v of nothing", low)
				}
				if x == n && high != 1 {
					t.Errorf("upper limit %v of everything", high)
				}
				if x < n && 1-high > 1e-3 {
					near(t, "tail at the upper limit", x, n, mathext.RegIncBeta(b, a+1, 1-high), alpha, 1e-3)
				}
				if alpha >= 0.01 && x > 0 && x < n {
					near(t, "lower limit", x, n, low, mathext.InvRegIncBeta(a, b+1, alpha), 2e-6)
					near(t, "upper limit", x, n, high, 1-mathext.InvRegIncBeta(b, a+1, alpha), 2e-6)
				}
			}
		}
	}
}

func near(t *testing.T, what string, x, n int64, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within*want) {
		t.Errorf("%s of %d in %d: %v, want %v", what, x, n, got, want)
	}
}

// TestLimitsByTheirDefinition sums the definition term by term: at the lower limit x or
// more successes have probability alpha or less, and just above it more. The upper
// limit is checked likewise.
func TestLimitsByTheirDefinition(t *testing.T) {
	const step = 4e-6
	for _, n := range []int64{1, 5, 40, 500} {
		for x := int64(0); x <= n; x += 1 + n/20 {
			for _, alpha := range []float64{0.2, 1e-3, 1e-8, 1e-12} {
				low, high := lower(x, n, alpha), upper(x, n, alpha)
				if x > 0 && (sum(n, x, n, low) > alpha || sum(n, x, n, low*(1+step)) <= alpha) {
					t.Errorf("%d of %d at %g: lower limit %v", x, n, alpha, low)
				}
				if x < n && (sum(n, 0, x, high) > alpha || sum(n, 0, x, high*(1-step)) <= alpha) {
					t.Errorf("%d of %d at %g: upper limit %v", x, n, alpha, high)
				}
			}
		}
	}
}

// sum returns P(from ≤ Bin(n, p) ≤ to).
func sum(n, from, to int64, p float64) (total float64) {
	b := distuv.Binomial{N: float64(n), P: p}
	for k := from; k <= to; k++ {
		total += b.Prob(float64(k))
	}
	return total
}

func BenchmarkLimits(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		lower(1234, 50_000, 1e-10)
		upper(1234, 50_000, 1e-10)
	}
}
