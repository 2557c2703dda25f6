package audit

import (
	"testing"

	"dpsql/mechanisms/direct"
	"dpsql/mechanisms/projection"
	"dpsql/noise"
)

// identity is the identity release of the shipped cases with discrete Laplace noise of
// scale 1/epsilon, on a unit of the given number of rows, claiming ε = 2. Its suspect
// is a cell 0 of at most D's 3 rows.
func identity(t *testing.T, name string, epsilon float64, unit int64) (Case, noise.Law) {
	t.Helper()
	law := dlap(t, 1/epsilon)
	c, err := release(name, Claim{Epsilon: 2}, projection.Params{Transform: projection.Identity, Rows: cells, Law: law}, unit)
	if err != nil {
		t.Fatal(err)
	}
	c.Unit = unit
	c.Suspect = func(o Output) bool { return o[0] <= 3 }
	return c, law
}

// TestReleaseWithHalfTheNoise audits Laplace noise at half its scale, which loses 2ε,
// and noise for one row when a unit has two, which loses as much.
func TestReleaseWithHalfTheNoise(t *testing.T) {
	t.Parallel()
	half, law := identity(t, "identity, noise at half scale, true loss 4", 4, 1)
	mustCatch(t, twin{half, 1 - law.Tail(1), 1 - law.Tail(0)})
	two, law := identity(t, "identity, sensitivity 2 as 1, true loss 4", 2, 2)
	mustCatch(t, twin{two, 1 - law.Tail(1), 1 - law.Tail(-1)})
	right, _ := identity(t, "identity", 2, 1)
	mustHold(t, right, keptRuns)
}

// TestCountWithHalfTheNoise audits Gaussian noise at half its σ, which is 4ρ-zCDP and
// no better. The suspect is the tail at which the loss at the claim's δ is largest or
// nearly so, 2.36. The bound by zCDP is 2.75.
func TestCountWithHalfTheNoise(t *testing.T) {
	t.Parallel()
	const from = 22
	law, err := noise.NewGaussian(direct.SigmaSquared(4*int64(someRho), 1))
	if err != nil {
		t.Fatal(err)
	}
	c := Case{
		Name: "direct count, noise at half σ", Unit: 1, Claim: concentrated(someRho, someDelta), Shows: []string{"answer"},
		Run: noisy(law, 19, 1), Suspect: func(o Output) bool { return o[0] >= from },
	}
	mustCatch(t, twin{c, law.Tail(from - 20), law.Tail(from - 19)})
	right, err := directCount(1)
	if err != nil {
		t.Fatal(err)
	}
	right.Unit = 1
	mustHold(t, right, keptRuns)
}
