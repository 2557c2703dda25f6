package law

import (
	"math"
	"math/big"
	"testing"

	google "github.com/google/differential-privacy/go/v3/noise"
)

// TestHalfWidthAgainstGoogle compares half-widths with another implementation's
// confidence intervals, which are those of the continuous laws, rounded: they
// differ by one at most.
func TestHalfWidthAgainstGoogle(t *testing.T) {
	for _, epsilon := range []float64{2, 1, 0.25, 0.01, 1e-4} {
		for _, rows := range []int64{1, 4} {
			for _, alpha := range []float64{0.5, 0.1, 0.05, 0.001, 1e-9} {
				scale := new(big.Rat).SetFloat64(epsilon)
				l, err := NewLaplace(scale.Quo(new(big.Rat).SetInt64(rows), scale))
				if err != nil {
					t.Fatal(err)
				}
				theirs, err := google.Laplace().ComputeConfidenceIntervalInt64(0, 1, rows, epsilon, 0, alpha)
				if err != nil {
					t.Fatal(err)
				}
				sameWidth(t, l, alpha, theirs)

				const delta = 1e-6
				sigma := google.SigmaForGaussian(1, float64(rows), epsilon, delta)
				square := new(big.Rat).SetFloat64(sigma * sigma)
				if l, err = NewGaussian(square); err != nil {
					t.Fatal(err)
				}
				theirs, err = google.Gaussian().ComputeConfidenceIntervalInt64(0, 1, rows, epsilon, delta, alpha)
				if err != nil {
					t.Fatal(err)
				}
				sameWidth(t, l, alpha, theirs)
			}
		}
	}
}

func sameWidth(t *testing.T, l Law, alpha float64, theirs google.ConfidenceInterval) {
	t.Helper()
	ours := float64(HalfWidth(l, 1-alpha))
	if math.Abs(ours-theirs.UpperBound) > 1 || theirs.LowerBound != -theirs.UpperBound {
		t.Errorf("%s at %g: half-width %v, google has %+v", l, alpha, ours, theirs)
	}
}
