package accounting

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpsql/sqlerr"
)

// continuousSigma is the σ of ℓ2 sensitivity 1 of the continuous Gaussian
// mechanism: the one that DiscreteSigmaSquared adds a lattice to, or, where its
// bound on δ drowns in the pad, that of zCDP.
func continuousSigma(e Epsilon, d Delta) float64 {
	high := concentratedSigma(e, d)
	if sigma, ok := analyticSigma(e.Float(), d.Float(), high); ok {
		return sigma
	}
	return high
}

// checkAnalyticSigma holds σ to [BW18], Theorem 8, at 256 bits: it is private,
// and, where float arithmetic can tell, a σ less by one part in 10^6 is not.
func checkAnalyticSigma(t interface {
	Helper()
	Errorf(string, ...any)
}, e Epsilon, d Delta) {
	t.Helper()
	sigma, epsilon, delta := bigFloat(bigPrecision, continuousSigma(e, d)), bigRat(bigPrecision, e.Rat()), bigRat(bigPrecision, d.Rat())
	if got := bigGaussianDelta(epsilon, sigma); got.Cmp(delta) > 0 {
		t.Errorf("σ(%s, %s) = %.12g has δ = %.20g", e, d, sigma, got)
	}
	if e < 1e11 || d < 1e3 || d > 9e17 {
		return // the pad, or for d near 1 that of 1-d, is felt here; σ may be that of zCDP
	}
	less := mul(sigma, bigFloat(bigPrecision, 1-1e-6))
	if got := bigGaussianDelta(epsilon, less); got.Cmp(delta) <= 0 {
		t.Errorf("σ(%s, %s) = %.12g, but %.12g is private too", e, d, sigma, less)
	}
}

func TestAnalyticSigmaAtHighPrecision(t *testing.T) {
	for _, e := range someEpsilons {
		for _, d := range someDeltas {
			checkAnalyticSigma(t, e, d)
		}
	}
	rapid.Check(t, func(t *rapid.T) { checkAnalyticSigma(t, drawEpsilon(t, "epsilon"), drawDelta(t, "delta")) })
}

// The padded float bound is never below the δ of 256 bits, and close to it
// unless the two terms nearly cancel.
func TestGaussianDeltaAtHighPrecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEpsilon(t, "epsilon")
		sigma := math.Exp2(rapid.Float64Range(-6, 20).Draw(t, "log sigma"))
		if c := 1/(2*sigma) + e.Float()*sigma; c > 30 {
			return // δ is 0 or 1 to all purposes, and the reference slow
		}
		got := gaussianDelta(e.Float(), sigma)
		exact := bigGaussianDelta(bigRat(bigPrecision, e.Rat()), bigFloat(bigPrecision, sigma))
		if bigFloat(bigPrecision, got).Cmp(exact) < 0 {
			t.Fatalf("δ(%s) at σ = %v is %v, below %.20g", e, sigma, got, exact)
		}
		if want, _ := exact.Float64(); want > 1e-9 && got > want*(1+1e-4) {
			t.Fatalf("δ(%s) at σ = %v is %v, far above %v", e, sigma, got, want)
		}
	})
}

// Beyond the range of erfc the second term stays a lower bound, and a close one.
func TestShiftedTail(t *testing.T) {
	for _, epsilon := range []float64{0, 1, 180, 199, 200, 201, 500, 1000} {
		for _, sigma := range []float64{0.015, 0.02, 0.022, 0.0249, 0.025, 0.03, 0.05} {
			half, lift := 1/(2*sigma), epsilon*sigma
			got := shiftedTail(epsilon, lift-half, lift+half)
			phi := bigPhi(neg(sum(bigFloat(bigPrecision, lift), bigFloat(bigPrecision, half))))
			exact := mul(bigExp(bigFloat(phi.Prec(), epsilon)), phi)
			want, _ := exact.Float64()
			if want > 1e-300 && (got > want*(1+1e-12) || got < want*(1-1e-7)) {
				t.Errorf("e^ε Φ(−b) at ε = %v, σ = %v: %v, want %v", epsilon, sigma, got, want)
			}
		}
	}
}

func TestGaussianRefusals(t *testing.T) {
	for _, c := range []struct {
		e Epsilon
		d Delta
	}{{0, 1e12}, {-1, 1e12}, {1e15, 0}, {1e15, -1}, {1e15, deltaUnits}, {1e15, math.MaxInt64}} {
		if _, err := DiscreteSigmaSquared(c.e, c.d, Vector{1, 1}); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("DiscreteSigmaSquared(%d, %d): %v", c.e, c.d, err)
		}
	}
	for _, v := range []Vector{{}, {0, 1}, {1, 0}, {-1, 1}, {1, -1}} {
		if _, err := DiscreteSigmaSquared(1e15, 1e12, v); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("DiscreteSigmaSquared(%+v): %v", v, err)
		}
	}
}

// σ falls as ε or δ grows.
func TestAnalyticSigmaMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e1, e2 := drawEpsilon(t, "e1"), drawEpsilon(t, "e2")
		d1, d2 := drawDelta(t, "d1"), drawDelta(t, "d2")
		if min(e1, e2) < 1e11 || min(d1, d2) < 1e3 {
			return // pads and zCDP make steps here
		}
		strict, loose := continuousSigma(min(e1, e2), min(d1, d2)), continuousSigma(max(e1, e2), max(d1, d2))
		if loose > strict*(1+1e-9) {
			t.Fatalf("σ rises from %v to %v", strict, loose)
		}
	})
}

func TestRoundUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		num, den := rapid.Uint64Min(1).Draw(t, "num"), rapid.Uint64Min(1).Draw(t, "den")
		x := new(big.Rat).SetFrac(new(big.Int).SetUint64(num), new(big.Int).SetUint64(den))
		up := roundUp(x)
		if up.Cmp(x) < 0 || up.Cmp(new(big.Rat).Mul(x, big.NewRat(1<<31+1, 1<<31))) > 0 {
			t.Fatalf("roundUp(%v) = %v", x, up)
		}
		if up.Cmp(roundUp(up)) != 0 {
			t.Fatalf("roundUp(%v) is not itself", up)
		}
		trailing := up.Num().TrailingZeroBits()
		if bits := up.Num().BitLen() - int(trailing); bits > significantBits || up.Denom().TrailingZeroBits()+1 != uint(up.Denom().BitLen()) {
			t.Fatalf("roundUp(%v) = %v has %d bits", x, up, bits)
		}
	})
}

func BenchmarkDiscreteSigmaSquared(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DiscreteSigmaSquared(1e15, 1e12, Vector{1024, 1024}); err != nil {
			b.Fatal(err)
		}
	}
}
