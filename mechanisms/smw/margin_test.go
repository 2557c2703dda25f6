package smw

import (
	"math"
	"math/big"
	"sort"
	"testing"

	"dpsql/noise"
	"dpsql/noise/law"
)

// noisy returns parameters with noise of the given scales.
func noisy(tau, nu *big.Rat, b, k int64) Params {
	two := new(big.Rat).SetInt64(2)
	return Params{
		Updates: b, Queries: k, Sensitivity: 1, MaxWeight: 1, Threshold: 1,
		Eps1: new(big.Rat).Inv(tau), Eps2: two.Quo(two, nu),
	}
}

// exactBound returns the smallest x with 2·P(max ν + max τ > x) ≤ γ, summed
// term by term.
func exactBound(tau, nu law.Law, b, k int64, gamma float64) int64 {
	reach := int64(60*deviation(tau)) + 20
	chance := map[int64]float64{}
	for u := -reach; u < reach; u++ {
		chance[u] = maximumAbove(tau, float64(b), u) - maximumAbove(tau, float64(b), u+1)
	}
	return int64(sort.Search(int(4*reach), func(x int) bool {
		sum := maximumAbove(tau, float64(b), reach)
		for u, p := range chance {
			sum += p * maximumAbove(nu, float64(2*k), int64(x)-u+1)
		}
		return 2*sum <= gamma
	}))
}

func TestSimultaneousBoundIsSoundAndTight(t *testing.T) {
	for _, c := range []struct {
		tau, nu *big.Rat
		b, k    int64
		gamma   float64
	}{
		{big.NewRat(1, 3), big.NewRat(1, 2), 1, 1, 0.5},
		{big.NewRat(3, 1), big.NewRat(4, 1), 1, 1, 0.05},
		{big.NewRat(3, 1), big.NewRat(4, 1), 7, 100, 0.01},
		{big.NewRat(40, 1), big.NewRat(50, 1), 50, 10000, 0.05},
		{big.NewRat(200, 1), big.NewRat(252, 1), 3, 20, 0.001},
	} {
		p := noisy(c.tau, c.nu, c.b, c.k)
		tau, nu, err := p.laws()
		if err != nil {
			t.Fatal(err)
		}
		got, exact := p.SimultaneousBound(c.gamma), exactBound(tau, nu, c.b, c.k, c.gamma)
		slack := deviation(tau)/64 + deviation(nu)/512 + 1
		if got < exact || float64(got) > float64(exact)+slack {
			t.Errorf("%v: %d, exactly %d", c, got, exact)
		}
	}
}

// TestSimultaneousBoundHoldsInSimulation draws whole mechanisms and counts how
// often a |ν−τ| passes x_γ. With 20 000 mechanisms and γ = 0.1 the count is
// below 2000 + 250 except with probability exp(−250²/2/(1800+84)) < 7e-8 by
// Bernstein, with variance at most 1800. As the bound is above the exact one by a
// fiftieth of the noise's scale at most, it passes γ/2 of the time at least, and
// half of that is seen except with probability exp(−1000/8) by Chernoff.
func TestSimultaneousBoundHoldsInSimulation(t *testing.T) {
	const trials, gamma = 20000, 0.1
	p := noisy(big.NewRat(7, 2), big.NewRat(22, 5), 3, 6)
	tau, nu, err := p.laws()
	if err != nil {
		t.Fatal(err)
	}
	src, x, past := newSource(newRand(t)), p.SimultaneousBound(gamma), 0
	for range trials {
		low, high := spread(t, tau, 3, src)
		first, last := spread(t, nu, 12, src)
		if max(last-low, high-first) > x { // every ν against every τ
			past++
		}
	}
	t.Logf("x = %d: %d of %d mechanisms pass it", x, past, trials)
	if past > trials*gamma+250 {
		t.Error("more than γ of them")
	}
	if past < trials*gamma/4 {
		t.Error("the bound is far from tight")
	}
}

func spread(t *testing.T, l law.Law, n int, src *noise.Source) (low, high int64) {
	low, high = math.MaxInt64, math.MinInt64
	for range n {
		v := must(noise.Draw(l, src))(t)
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

func TestBoundsAreMonotone(t *testing.T) {
	tau, nu := big.NewRat(1000, 1), big.NewRat(1260, 1)
	check := func(what string, smaller, larger int64) {
		if smaller > larger {
			t.Errorf("%s: %d then %d", what, smaller, larger)
		}
	}
	b, k, gamma := int64(1), int64(1), 0.9
	last := noisy(tau, nu, b, k)
	for range sized(15, 25) {
		p := noisy(tau, nu, b, k)
		check("runs", last.SimultaneousBound(gamma), p.SimultaneousBound(gamma))
		check("single", last.UnfiredMargin(1-gamma), p.UnfiredMargin(1-gamma))
		check("gamma", p.SimultaneousBound(gamma), p.SimultaneousBound(gamma/2))
		check("confidence", p.FiredMargin(1-gamma), p.FiredMargin(1-gamma/2))
		last, b, k, gamma = p, 2*b+1, 4*k, gamma/2
	}
}

// TestUnfiredMarginIsItsDefinition checks T + a + b against the tails.
func TestUnfiredMarginIsItsDefinition(t *testing.T) {
	p := noisy(big.NewRat(30, 1), big.NewRat(40, 1), 20, 1000)
	p.Threshold = 500
	tau, nu, err := p.laws()
	if err != nil {
		t.Fatal(err)
	}
	a, b := int64(0), int64(0)
	for 20*tau.Tail(a+1) > 0.025 {
		a++
	}
	for nu.Tail(b+1) > 0.025 {
		b++
	}
	if got := p.UnfiredMargin(0.95); got != 500+a+b {
		t.Errorf("%d, want %d", got, 500+a+b)
	}
	if p.UnfiredMargin(1) != math.MaxInt64 || p.FiredMargin(1) != math.MaxInt64 {
		t.Error("certainty has a finite margin")
	}
	if (Params{}).UnfiredMargin(0.9) != math.MaxInt64 {
		t.Error("empty parameters have a finite margin")
	}
}

func BenchmarkSimultaneousBound(b *testing.B) {
	b.ReportAllocs()
	p := noisy(big.NewRat(1e6, 1), big.NewRat(1.26e6, 1), 200, 1e8)
	for b.Loop() {
		p.SimultaneousBound(0.05)
	}
}
