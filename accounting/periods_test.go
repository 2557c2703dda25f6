package accounting

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// A chain of tables, each the neighbour of the next, on which one outcome S has the
// probabilities p₀ = e^ε p₁ + δ, …, p_k = 0. Every link is (ε, δ), and the ends are exactly
// (kε, Group): the bound is not below the truth, and not needlessly above it.
func TestGroupIsAttained(t *testing.T) {
	for _, c := range []struct {
		e Epsilon
		d Delta
		k int64
	}{{1e14, 1e11, 2}, {1e15, 1e11, 3}, {5e14, 1e11, 12}, {1e13, 1e11, 120}, {1e15, 1e8, 20}, {1e15, 1, 30}, {1, 1e11, 3650}} {
		e, d := bigExp(bigRat(bigPrecision, c.e.Rat())), bigRat(bigPrecision, c.d.Rat())
		p := bigFloat(bigPrecision, 0)
		for range c.k {
			next := sum(mul(e, p), d)
			if r, _ := next.Float64(); r > 0.5 {
				t.Fatalf("ε = %s, δ = %s, k = %d: the chain ends at p = %v", c.e, c.d, c.k, r)
			}
			// The outcome that is not S: 1−p₁ <= e^ε(1−p₀) + δ.
			one := bigFloat(bigPrecision, 1)
			if lhs, rhs := sum(one, neg(p)), sum(mul(e, sum(one, neg(next))), d); lhs.Cmp(rhs) > 0 {
				t.Fatalf("ε = %s, δ = %s: a link is not private", c.e, c.d)
			}
			p = next
		}
		got := Amount{Epsilon: c.e, Delta: c.d}.Group(c.k)
		if got.Epsilon != c.e*Epsilon(c.k) {
			t.Errorf("Group(%d) of ε = %s has ε = %s", c.k, c.e, got.Epsilon)
		}
		if bigRat(bigPrecision, got.Delta.Rat()).Cmp(p) < 0 {
			t.Errorf("Group(%d) of (%s, %s) has δ = %s, and δ is %.20g", c.k, c.e, c.d, got.Delta, p)
		}
		if most, _ := p.Float64(); got.Delta.Float() > most*(1+1e-11)+1e-18 {
			t.Errorf("Group(%d) of (%s, %s) has δ = %s, far above %v", c.k, c.e, c.d, got.Delta, most)
		}
	}
}

// Discrete Gaussian noise calibrated for a shift of 1, and a shift of k: the exact δ is within
// Group, as an (ε, δ) step and as zCDP.
func TestGroupOfGaussians(t *testing.T) {
	for _, c := range []struct {
		e Epsilon
		d Delta
	}{{1e14, 1e12}, {5e14, 1e11}, {1e15, 1e12}, {1e15, 1e8}} {
		ratio, err := DiscreteSigmaSquared(c.e, c.d, Vector{1, 1})
		if err != nil {
			t.Fatal(err)
		}
		sigma2, _ := ratio.Float64()
		rho := Rho(math.Ceil(rhoUnits / (2 * sigma2)))
		for _, k := range []int64{1, 2, 3, 5, 12} {
			g := Amount{Epsilon: c.e, Delta: c.d, Rho: rho}.Group(k)
			if got := exactDelta(g.Epsilon.Float(), sigma2, []int{int(k)}); got > g.Delta.Float() {
				t.Errorf("(%s, %s), k = %d: δ is %v, and Group says %s", c.e, c.d, k, got, g.Delta)
			}
			epsilon := EpsilonOf(g.Rho, c.d)
			if got := exactDelta(epsilon, sigma2, []int{int(k)}); got > c.d.Float() {
				t.Errorf("ρ = %s, k = %d: δ at ε = %v is %v, above %s", g.Rho, k, epsilon, got, c.d)
			}
			// k·ρ would not do: the same noise has more than δ at the ε of k steps, once k is large.
			if wrong := EpsilonOf(rho*Rho(k), c.d); k >= 5 && exactDelta(wrong, sigma2, []int{int(k)}) <= c.d.Float() {
				t.Errorf("ρ = %s, k = %d: the test would not notice kρ in place of k²ρ", rho, k)
			}
		}
	}
}

// One reading of each of k periods, with noise of its own: the exact δ of all of them together
// is within Times.
func TestTimesOfGaussians(t *testing.T) {
	for _, c := range []struct {
		e Epsilon
		d Delta
	}{{1e14, 1e12}, {5e14, 1e11}, {1e15, 1e12}} {
		ratio, err := DiscreteSigmaSquared(c.e, c.d, Vector{1, 1})
		if err != nil {
			t.Fatal(err)
		}
		sigma2, _ := ratio.Float64()
		rho := Rho(math.Ceil(rhoUnits / (2 * sigma2)))
		for _, k := range []int{1, 2, 5, 12} {
			all := Amount{Epsilon: c.e, Delta: c.d, Rho: rho}.Times(int64(k))
			if got := exactDelta(all.Epsilon.Float(), sigma2, ones(k)); got > all.Delta.Float() {
				t.Errorf("(%s, %s), %d periods: δ is %v, and Times says %s", c.e, c.d, k, got, all.Delta)
			}
			epsilon := EpsilonOf(all.Rho, c.d)
			if got := exactDelta(epsilon, sigma2, ones(k)); got > c.d.Float() {
				t.Errorf("ρ = %s, %d periods: δ at ε = %v is %v, above %s", all.Rho, k, epsilon, got, c.d)
			}
		}
	}
}

// Pure steps: discrete Laplace noise of scale 1/ε has a privacy loss of kε at a shift of k.
func TestGroupOfLaplace(t *testing.T) {
	for _, k := range []int64{1, 2, 7, 120} {
		if got := (Amount{Epsilon: 3e14}).Group(k); got != (Amount{Epsilon: 3e14 * Epsilon(k)}) {
			t.Errorf("Group(%d) = %v", k, got)
		}
	}
}

// The figures of SECURITY.md, of docs/units.md and of the decision about periods: what a unit with
// rows in k periods has at most, with a budget of (1, 1e-7) of which half is interactive.
func TestSpanOfADecade(t *testing.T) {
	caps, err := Divide(1e15, 1e11, big.NewRat(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		k                             int64
		releases, answers, apart, all float64 // ε of the two accounts, one by one; of both; and of both with answers that span
	}{{1, 0.5, 0.5, 1, 1}, {12, 6, 1.69, 7.69, 12.7}, {120, 60, 5.47, 65.5, 192}} {
		interactive := Amount{Delta: caps.InteractiveDelta}.Times(c.k).Delta
		releases := Amount{Epsilon: caps.ReleaseEpsilon, Delta: caps.ReleaseDelta}.Times(c.k)
		apart, all := releases.Plus(Amount{Rho: caps.InteractiveRho}.Times(c.k)), releases.Plus(Amount{Rho: caps.InteractiveRho}.Group(c.k))
		answers, _ := Amount{Rho: apart.Rho}.Together(interactive)
		oneByOne, delta := apart.Together(interactive)
		spanning, _ := all.Together(interactive)
		for i, got := range []float64{releases.Epsilon.Float(), answers, oneByOne, spanning} {
			if want := []float64{c.releases, c.answers, c.apart, c.all}[i]; got > want || got < want*0.99 {
				t.Errorf("%d periods: figure %d is %v, and the documents say %v", c.k, i, got, want)
			}
		}
		if delta != Delta(c.k)*1e11 {
			t.Errorf("%d periods: δ = %s", c.k, delta)
		}
	}
}

func TestGroupEdges(t *testing.T) {
	a := Amount{Epsilon: 1e15, Delta: 1e11, Rho: 1e12}
	for _, c := range []struct {
		name      string
		got, want Amount
	}{
		{"one period is the step", a.Group(1), a},
		{"one period is the step", a.Times(1), a},
		{"no period costs nothing", a.Group(0), Amount{}},
		{"no period costs nothing", a.Times(0), Amount{}},
		{"without ε", Amount{Delta: 1e11}.Group(7), Amount{Delta: 7e11}},
		{"δ is a probability", Amount{Epsilon: 1e15, Delta: 1e11}.Group(120), Amount{Epsilon: 120e15, Delta: 1e18}},
		{"δ is a probability", Amount{Delta: 5e17}.Times(1000), Amount{Delta: 1e18}},
		{"too large", Amount{Epsilon: 1e18, Rho: 1e15}.Group(math.MaxInt64), Amount{Epsilon: Unpayable, Rho: Unpayable}},
		{"too large", Amount{Epsilon: 1e18, Rho: 1e15}.Group(1e6), Amount{Epsilon: Unpayable, Rho: Unpayable}},
		{"no number", Amount{Epsilon: Unpayable, Delta: 1}.Group(2), Amount{Epsilon: Unpayable, Delta: 1e18}},
		{"sum", Amount{Epsilon: Unpayable, Delta: 9e17, Rho: 2}.Plus(Amount{Epsilon: 1, Delta: 9e17, Rho: 3}), Amount{Epsilon: Unpayable, Delta: 1e18, Rho: 5}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if e, _ := (Amount{Epsilon: Unpayable}).Together(1); !math.IsInf(e, 1) {
		t.Errorf("an unpayable ε is %v", e)
	}
}

// Reading periods together never costs less than reading them one by one, and the cost of
// two groups is never more than that of one.
func TestGroupIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Amount{Epsilon: drawEpsilon(t, "epsilon"), Delta: drawDelta(t, "delta"), Rho: Rho(drawEpsilon(t, "rho"))}
		j, k := rapid.Int64Range(1, 500).Draw(t, "j"), rapid.Int64Range(1, 500).Draw(t, "k")
		one, two, both := a.Times(j+k), a.Group(j).Plus(a.Group(k)), a.Group(j+k)
		if one.Delta > both.Delta || one.Rho > both.Rho || two.Epsilon > both.Epsilon || two.Delta > both.Delta+2 || two.Rho > both.Rho {
			t.Fatalf("%v: %d and %d periods cost %v and together %v, one by one %v", a, j, k, two, both, one)
		}
	})
}
