package audit

import (
	"math/big"
	"testing"

	"dpsql/mechanisms/direct"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
)

// TestPriorChargedAsOneTable audits the counts of K = 6 pairs of columns with the noise
// for one of them. Each is ρ-zCDP, and all of them together are 6ρ. The sum of the
// counts that include the unit shows all of it.
func TestPriorChargedAsOneTable(t *testing.T) {
	t.Parallel()
	u, err := binary(priorColumns)
	if err != nil {
		t.Fatal(err)
	}
	sigma2 := direct.SigmaSquared(int64(someRho), 1)
	tables := len(smw.PriorTables(u))
	law, err := noise.NewGaussian(sigma2)
	if err != nil {
		t.Fatal(err)
	}
	const most = 10*6 - 6 // suspect: counts of 10 whose sum is this low
	c := Case{
		Name: "the tables of a prior, charged as one", Unit: 1, Claim: concentrated(someRho, someDelta),
		Shows: []string{"all pairs", "one pair"}, Run: priorRun(u, 1, sigma2),
		Suspect: func(o Output) bool { return o[0] <= most },
	}
	sum := sums(law, tables)
	p, q := 0.0, 0.0
	for k, chance := range sum {
		if k <= most-60 {
			p += chance
		}
		if k <= most-66 {
			q += chance
		}
	}
	mustCatch(t, twin{c, p, q})
	c.Run, c.Name = priorRun(u, 1, sigma2.Mul(sigma2, big.NewRat(int64(tables), 1))), "the same with the noise for all of them"
	mustHold(t, c, keptRuns)
}

// sums returns the law of the sum of n draws.
func sums(l noise.Law, n int) map[int64]float64 {
	law := map[int64]float64{0: 1}
	for range n {
		next := make(map[int64]float64)
		for k, chance := range law {
			for _, v := range values(l) {
				if p := mass(l, v); p > 1e-12 {
					next[k+v] += chance * p
				}
			}
		}
		law = next
	}
	return law
}

// TestRemeasuredByTheComparedDraw audits a run that shows, instead of a fresh count,
// the very draw that was compared. This is Algorithm 3 of Lyu, Su and Li: given that
// the draw is at most 0, τ was too, and each silent comparison costs up to ε₂/2,
// without end. The ε₃ of a fresh count does not pay for that.
func TestRemeasuredByTheComparedDraw(t *testing.T) {
	t.Parallel()
	r := request(1, nearing+leaving, 1, 4*oneEpsilon)
	r.Remeasure = true
	p, err := smw.Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	e1, _ := p.Eps1.Float64()
	e2, _ := p.Eps2.Float64()
	s := svt{rho: dlap(t, 1/e1), nu: dlap(t, 2/e2), cutoff: 1, numeric: true}
	const belows = 8
	in, changed := sequence[int64](belows, -1, 1, 0), sequence[int64](belows, 0, 1, -1)
	pattern := sequence(belows, false, 1, true)
	c := s.audited("counted anew by the compared draw, true loss grows with the silent comparisons", 4, in, changed)
	c.Suspect = func(o Output) bool { return o[0] == 1<<(belows+1)+1 && o[1] <= 0 }
	mustCatch(t, twin{c, s.chance(in, pattern, 0), s.chance(changed, pattern, 0)})
}
