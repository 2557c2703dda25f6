package accounting

import (
	"testing"

	google "github.com/google/differential-privacy/go/v3/noise"
)

// TestSigmaAgainstGoogle compares the analytic calibration with another
// implementation of [BW18], whose σ is above the smallest by a thousandth at
// most.
func TestSigmaAgainstGoogle(t *testing.T) {
	for _, e := range []Epsilon{1e13, 1e14, 1e15, 3e15, 10e15} {
		for _, d := range []Delta{1e9, 1e12, 1e15, 1e17} {
			ours := continuousSigma(e, d)
			theirs := google.SigmaForGaussian(1, 1, e.Float(), d.Float())
			if ours > theirs*(1+1e-6) || theirs > ours*(1+1.001e-3) {
				t.Errorf("σ at ε = %s, δ = %s is %.9g, google's %.9g", e, d, ours, theirs)
			}
			// A count of a unit of three rows, and four counts of which a row
			// changes each by one. The lattice costs a variance of 6 at most.
			for _, v := range []struct{ rows, counts int64 }{{3, 1}, {1, 4}} {
				square, err := DiscreteSigmaSquared(e, d, Vector{Dimensions: v.counts, SquaredSensitivity: v.counts * v.rows * v.rows})
				if err != nil {
					t.Fatal(err)
				}
				ours, _ := square.Float64()
				theirs := google.SigmaForGaussian(v.counts, float64(v.rows), e.Float(), d.Float())
				if ours < theirs*theirs*(1-2.002e-3) || ours > theirs*theirs*(1+1e-6)+6 {
					t.Errorf("σ² at ε = %s, δ = %s for %+v is %.9g, google's %.9g", e, d, v, ours, theirs*theirs)
				}
			}
		}
	}
}
