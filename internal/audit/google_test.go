package audit

import (
	"math"
	"testing"

	google "github.com/google/differential-privacy/go/v3/noise"

	"dpsql/mechanisms/projection"
)

// TestThresholdAgainstGoogle compares the threshold for the count of a cell that one
// row may have filled with that of another implementation, for the continuous law: 1 −
// ln(2δ)/ε. The discrete law, in which a tie counts, needs up to ln(2/(1+e^−ε))/ε more
// and is rounded up, but needs no more than that. It keeps δ by the exact tail, and the
// next integer below does not.
func TestThresholdAgainstGoogle(t *testing.T) {
	for _, e := range []float64{0.01, 0.1, 0.5, 1, 2, 5} {
		law := dlap(t, 1/e)
		for _, d := range []float64{1e-12, 1e-9, 1e-6, 1e-4, 0.01} {
			ours := float64(projection.Threshold(law, 1, d))
			theirs, err := google.Laplace().Threshold(1, 1, e, 0, d)
			if err != nil {
				t.Fatal(err)
			}
			if more := math.Log(2/(1+math.Exp(-e))) / e; ours < theirs+more-1e-9 || ours >= theirs+more+1 {
				t.Errorf("the threshold at ε = %g, δ = %g is %v, google's %v", e, d, ours, theirs)
			}
			if tail := law.Tail(int64(ours) - 1); tail > d {
				t.Errorf("at ε = %g a cell of one row passes %v with probability %g, above δ = %g", e, ours, tail, d)
			}
			if tail := law.Tail(int64(ours) - 2); tail <= d {
				t.Errorf("at ε = %g, δ = %g the threshold %v could be lower", e, d, ours)
			}
		}
	}
}
