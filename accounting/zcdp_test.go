package accounting

import (
	"flag"
	"math"
	"math/big"
	"os"
	"testing"

	"pgregory.net/rapid"

	"dpsql/internal/scratch"
	_ "dpsql/internal/seeds"
)

// TestMain lets properties be tried 30 times in place of 100, unless -rapid.checks says otherwise.
func TestMain(m *testing.M) {
	flag.Set("rapid.checks", "30")
	scratch.CollectSeldom()
	os.Exit(m.Run())
}

var (
	someEpsilons = []Epsilon{1, 1e3, 1e6, 1e9, 1e12, 1e14, 5e14, 1e15, 3e15, 1e16, 1e17, 1e18}
	someDeltas   = []Delta{1, 1e3, 1e6, 1e9, 1e12, 1e15, 1e17, 5e17, 5e17 + 1, 9e17, 1e18 - 1e6, 1e18 - 1}
)

func drawEpsilon(t *rapid.T, name string) Epsilon {
	exponent := rapid.Float64Range(0, 18).Draw(t, name)
	return Epsilon(max(1, math.Pow(10, exponent)))
}

func drawDelta(t *rapid.T, name string) Delta {
	exponent := rapid.Float64Range(0, 17.99).Draw(t, name)
	return Delta(max(1, math.Pow(10, exponent)))
}

// checkRhoFor compares RhoFor with the conversion at 256 bits. ρ must not
// exceed the sound value, and must not be below the possible one by more than
// one part in 10^10 and a unit.
func checkRhoFor(t interface {
	Helper()
	Errorf(string, ...any)
}, e Epsilon, d Delta) {
	t.Helper()
	rho := RhoFor(e, d)
	if rho < 0 {
		t.Errorf("RhoFor(%s, %s) = %s", e, d, rho)
	}
	epsilon := bigRat(bigPrecision, e.Rat())
	if rho > 0 {
		u := orderForRho(rho.Float(), d)
		if got := bigEpsilonAt(rho.Rat(), d.Rat(), u); got.Cmp(epsilon) > 0 {
			t.Errorf("RhoFor(%s, %s) = %s has ε = %.20g", e, d, rho, got)
		}
	}
	more := new(big.Rat).Mul(rho.Rat(), big.NewRat(10_000_000_001, 10_000_000_000))
	more.Add(more, Rho(1).Rat())
	moreFloat, _ := more.Float64()
	if got := bigEpsilonAt(more, d.Rat(), orderForRho(moreFloat, d)); got.Cmp(epsilon) <= 0 {
		t.Errorf("RhoFor(%s, %s) = %s, but ε(%.18g) = %.20g", e, d, rho, moreFloat, got)
	}
}

// checkEpsilonOf: at least the conversion, which is at most its value at any
// order, and not much more.
func checkEpsilonOf(t interface {
	Helper()
	Errorf(string, ...any)
}, r Rho, d Delta) {
	t.Helper()
	got := EpsilonOf(r, d)
	u := orderForRho(r.Float(), d)
	exact := bigEpsilonAt(r.Rat(), d.Rat(), u)
	if bigFloat(bigPrecision, got).Cmp(exact) < 0 {
		t.Errorf("EpsilonOf(%s, %s) = %v, below %.20g", r, d, got, exact)
	}
	want, _ := exact.Float64()
	if got > max(0, want)*(1+1e-11)+1e-12 {
		t.Errorf("EpsilonOf(%s, %s) = %v, but ε = %v", r, d, got, want)
	}
}

func TestConversionAtHighPrecision(t *testing.T) {
	for _, e := range someEpsilons {
		for _, d := range someDeltas {
			checkRhoFor(t, e, d)
			checkEpsilonOf(t, Rho(e), d)
		}
	}
}

func TestConversionAtHighPrecisionAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDelta(t, "delta")
		checkRhoFor(t, drawEpsilon(t, "epsilon"), d)
		checkEpsilonOf(t, Rho(drawEpsilon(t, "rho")), d)
	})
}

// The order used is the best one: no other gives a smaller ε, by more than the
// pad, nor a larger ρ.
func TestOrderIsBest(t *testing.T) {
	for _, e := range someEpsilons {
		for _, d := range someDeltas {
			best := rhoBelow(e.Float(), d)
			for k := -300; k <= 300; k++ {
				u := topOrder(d) * math.Pow(2, float64(k-300)/4)
				tail, size := tailTerm(logInverse(d), u)
				gain := math.Log1p(1 / u)
				other := (e.Float() + gain - tail - relativePad*(e.Float()+gain+size)) / (1 + u)
				if other > best*(1+1e-10) {
					t.Errorf("e = %s, d = %s: order 1+%v gives ρ = %v, more than %v", e, d, u, other, best)
				}
			}
		}
	}
}

func TestKnownConversions(t *testing.T) {
	if got := RhoFor(1e15, 1e12).Float(); math.Abs(got-0.02436) > 5e-6 {
		t.Errorf("ρ(1; 1e-6) = %v, want 0.02436", got)
	}
	// The classical bound ρ + 2√(ρ ln(1/δ)) ([BS16], Proposition 1.3) is looser.
	for _, r := range []Rho{1e12, 1e14, 1e15, 1e16} {
		for _, d := range []Delta{1e6, 1e9, 1e12, 1e15} {
			classical := r.Float() + 2*math.Sqrt(r.Float()*math.Log(1/d.Float()))
			if got := EpsilonOf(r, d); got >= classical || got < classical/2 {
				t.Errorf("EpsilonOf(%s, %s) = %v, classical %v", r, d, got, classical)
			}
		}
	}
}

func TestConversionEdges(t *testing.T) {
	if got := EpsilonOf(0, 0); got != 0 {
		t.Errorf("EpsilonOf(0, 0) = %v", got)
	}
	for _, r := range []Rho{1, 1e15, Unpayable} {
		if got := EpsilonOf(r, 0); !math.IsInf(got, 1) {
			t.Errorf("EpsilonOf(%s, 0) = %v", r, got)
		}
		if got := EpsilonOf(r, deltaUnits); got != 0 {
			t.Errorf("EpsilonOf(%s, 1) = %v", r, got)
		}
	}
	if got := EpsilonOf(Unpayable, 1e12); !math.IsInf(got, 1) {
		t.Errorf("EpsilonOf(Unpayable, 1e-6) = %v", got)
	}
	for _, c := range [][2]int64{{0, 1e12}, {-1, 1e12}, {1e15, 0}, {1e15, -1}, {0, 0}} {
		if got := RhoFor(Epsilon(c[0]), Delta(c[1])); got != 0 {
			t.Errorf("RhoFor(%d, %d) = %s", c[0], c[1], got)
		}
	}
	if got := RhoFor(math.MaxInt64, math.MaxInt64); got <= 0 || got == Unpayable {
		t.Errorf("RhoFor at the top = %s", got)
	}
}

func TestRhoForMonotone(t *testing.T) {
	// Within one part in 10^11, the pads being of that size, and a unit.
	below := func(a, b Rho) bool { return a.Float() <= b.Float()*(1+1e-11)+2e-15 }
	rapid.Check(t, func(t *rapid.T) {
		e1, e2 := drawEpsilon(t, "e1"), drawEpsilon(t, "e2")
		d1, d2 := drawDelta(t, "d1"), drawDelta(t, "d2")
		low, high := RhoFor(min(e1, e2), min(d1, d2)), RhoFor(max(e1, e2), max(d1, d2))
		if !below(low, high) {
			t.Fatalf("RhoFor(%s, %s) = %s > RhoFor(%s, %s) = %s", min(e1, e2), min(d1, d2), low, max(e1, e2), max(d1, d2), high)
		}
		r := Rho(e1)
		if EpsilonOf(r, max(d1, d2)) > EpsilonOf(r, min(d1, d2))*(1+1e-11)+1e-12 {
			t.Fatalf("EpsilonOf(%s, ·) rises from δ = %s to %s", r, min(d1, d2), max(d1, d2))
		}
		if EpsilonOf(min(r, Rho(e2)), d1) > EpsilonOf(max(r, Rho(e2)), d1)*(1+1e-11)+1e-12 {
			t.Fatalf("EpsilonOf(·, %s) falls between %s and %s", d1, r, Rho(e2))
		}
	})
}

func TestRunEpsilon(t *testing.T) {
	if got := RunEpsilon(5e14, 1); got != 1e15 {
		t.Errorf("RunEpsilon(0.5, 1) = %s, want 1", got)
	}
	for _, c := range [][2]int64{{0, 1}, {-1, 1}, {1e15, 0}, {1e15, -1}} {
		if got := RunEpsilon(Rho(c[0]), c[1]); got != 0 {
			t.Errorf("RunEpsilon(%d, %d) = %d", c[0], c[1], got)
		}
	}
	// runs·ε²/2 <= ρ < runs·(ε+unit)²/2, exactly.
	rapid.Check(t, func(t *rapid.T) {
		r := Rho(drawEpsilon(t, "rho"))
		runs := rapid.Int64Range(1, 1e6).Draw(t, "runs")
		cost := func(e Epsilon) *big.Rat {
			x := new(big.Rat).Mul(e.Rat(), e.Rat())
			return x.Mul(x, big.NewRat(runs, 2))
		}
		e := RunEpsilon(r, runs)
		if cost(e).Cmp(r.Rat()) > 0 || cost(e+1).Cmp(r.Rat()) <= 0 {
			t.Fatalf("RunEpsilon(%s, %d) = %s", r, runs, e)
		}
	})
}

func BenchmarkRhoFor(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		RhoFor(1e15, 1e12)
	}
}
