package accounting

import (
	"math"
	"math/big"
	"testing"

	google "github.com/google/differential-privacy/go/v3/noise"
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

// law is a probability function on the integers −r … r, at index k+r.
type law []float64

func (p law) radius() int { return len(p) / 2 }

// reach is how many standard deviations are kept: less than 1e-22 lies beyond.
const reach = 10

// discreteGaussian is N_Z(0, σ²), cut at reach, times a factor: the law of
// factor·X.
func discreteGaussian(sigma2 float64, factor int) law {
	end := int(reach*math.Sqrt(sigma2)) + 2
	p := make(law, 2*end*factor+1)
	total := 0.0
	for k := -end; k <= end; k++ {
		total += math.Exp(-float64(k*k) / (2 * sigma2))
	}
	for k := -end; k <= end; k++ {
		p[(k+end)*factor] = math.Exp(-float64(k*k)/(2*sigma2)) / total
	}
	return p
}

// plus is the law of the sum of independent variables, cut at the given radius.
// Both are symmetric, so half of it is computed and mirrored.
func (p law) plus(q law, radius int) law {
	out := make(law, len(p)+len(q)-1)
	middle := out.radius()
	cut := max(middle-radius, 0)
	for i, a := range p {
		if a < 1e-40 {
			continue
		}
		from := max(cut-i, 0)
		row := out[i+from:]
		for j, b := range q[from:max(from, min(len(q), middle-i+1))] {
			row[j] += a * b
		}
	}
	for k := cut; k < middle; k++ {
		out[len(out)-1-k] = out[k]
	}
	return out[cut : len(out)-cut]
}

// times is the law of the sum of n independent copies.
func (p law) times(n, radius int) law {
	switch {
	case n == 1:
		return p
	case n%2 == 1:
		return p.times(n-1, radius).plus(p, radius)
	}
	half := p.times(n/2, radius)
	return half.plus(half, radius)
}

// exactDelta is the smallest δ at which independent N_Z(0, σ²) noise on a
// vector is (epsilon, δ)-DP for neighbours that differ by shift. The privacy
// loss at noise y is (‖shift‖² − 2⟨shift, y⟩)/(2σ²), so that one sum over the
// law of ⟨shift, y⟩ is the whole hockey-stick divergence; every term is
// positive, so floats lose no more than 1e-12 of it. (In one dimension this is
// [CKS20], Theorem 7; TestGolden holds it to figures of 60 digits.)
func exactDelta(epsilon, sigma2 float64, shift []int) float64 {
	squared := 0
	for _, s := range shift {
		squared += s * s
	}
	radius := int(reach*math.Sqrt(sigma2*float64(squared))) + 2
	product := law{1}
	for i := 0; i < len(shift); {
		next := i + 1
		for next < len(shift) && shift[next] == shift[i] {
			next++
		}
		product = product.plus(discreteGaussian(sigma2, shift[i]).times(next-i, radius), radius)
		i = next
	}
	delta := 0.0
	for i, p := range product {
		loss := (float64(squared) - 2*float64(i-product.radius())) / (2 * sigma2)
		if loss > epsilon {
			delta += p * -math.Expm1(epsilon-loss)
		}
	}
	return delta
}

func ones(n int) []int {
	shift := make([]int, n)
	for i := range shift {
		shift[i] = 1
	}
	return shift
}

// At the calibrated σ² the exact δ of the discrete Gaussian is within d, for
// shifts all alike, uneven and large.
func TestDiscreteSigmaSquaredIsPrivate(t *testing.T) {
	shifts := map[string][]int{
		"1": {1}, "2": {2}, "1,1": {1, 1}, "3,1": {3, 1}, "2,1,1": {2, 1, 1}, "7": {7}, "1x4": ones(4), "1x16": ones(16), "1x32": ones(32),
		"4,3,2,1,1,1": {4, 3, 2, 1, 1, 1},
	}
	budgets := []struct {
		e Epsilon
		d Delta
	}{
		{1e14, 1e12}, {1e15, 1e12}, {1e15, 1e8}, {1e15, 126936740000000000}, {1e15, 78e16}, {2e15, 20923640000000000},
		{5e15, 1e12}, {16e15, 1e13}, {3e14, 3e17}, {1e12, 5e17}, {2e16, 1e9},
	}
	tightest, at := 0.0, ""
	for name, shift := range shifts {
		v := Vector{Dimensions: int64(len(shift))}
		for _, s := range shift {
			v.SquaredSensitivity += int64(s * s)
		}
		for i, b := range budgets {
			if len(shift) == 32 && (b.e < 1e15 || i%3 > 0) {
				continue // of 16 coordinates it is as exact, and a quarter of the work
			}
			ratio, err := DiscreteSigmaSquared(b.e, b.d, v)
			if err != nil {
				t.Fatal(err)
			}
			sigma2, _ := ratio.Float64()
			got := exactDelta(b.e.Float(), sigma2, shift) / b.d.Float()
			if got > 1+1e-12 {
				t.Errorf("shift %s, ε = %s, δ = %s: σ² = %v has %v times the δ", name, b.e, b.d, sigma2, got)
			}
			if got > tightest {
				tightest, at = got, name+" "+b.e.String()+" "+b.d.String()
			}
		}
	}
	t.Logf("largest exact δ is %.6f of the stated one (%s)", tightest, at)
}

// κ = T·ln((1+β)/(1−β)) at the chosen t², at 256 bits, is within what
// DiscreteSigmaSquared takes from ε, and not needlessly far below it.
func TestLatticeSlack(t *testing.T) {
	for _, epsilon := range []float64{1e-15, 1e-6, 0.1, 1, 1000} {
		for _, dimensions := range []int64{1, 2, 64, 1 << 20, math.MaxInt64} {
			kappa, t2 := latticeSlack(epsilon, dimensions)
			pi := bigPi(bigPrecision)
			rate := mul(mul(pi, pi), bigFloat(bigPrecision, -2*t2))
			beta := bigFloat(bigPrecision, 0)
			for k := 1.0; k <= 6; k++ {
				beta = sum(beta, mul(bigFloat(bigPrecision, 2), bigExp(mul(rate, bigFloat(bigPrecision, k*k)))))
			}
			one := bigFloat(bigPrecision, 1)
			exact := mul(bigFloat(bigPrecision, float64(dimensions)), bigLn(quo(sum(one, beta), sum(one, neg(beta)))))
			if used, _ := exact.Float64(); used > kappa || used < kappa/2 || kappa > epsilon*0x1p-30 || kappa > 0x1p-30 {
				t.Errorf("ε = %v, T = %d: t² = %v has κ = %v, allowed %v", epsilon, dimensions, t2, used, kappa)
			}
		}
	}
}

// Where the lattice costs more than zCDP loses, the noise is that of zCDP.
func TestDiscreteSigmaSquaredFallsBack(t *testing.T) {
	for _, c := range []struct {
		e Epsilon
		d Delta
	}{{16e15, 1e13}, {1e18, 1e12}, {1, 1}, {5e15, 1e12}} {
		ratio, err := DiscreteSigmaSquared(c.e, c.d, Vector{1, 1})
		if err != nil {
			t.Fatal(err)
		}
		// Both sides round ρ to a unit, gaussianRho up and RhoFor down.
		if cost, limit := gaussianRho(ratio), RhoFor(c.e, c.d); cost > limit+1 || cost.Float() < limit.Float()*(1-1e-8) {
			t.Errorf("e = %s, d = %s: σ² = %v costs %s, zCDP allows %s", c.e, c.d, ratio, cost, limit)
		}
	}
}

// The slack is needed: at the σ of the continuous mechanism, discrete noise
// breaks the promise in places, and the test above would see it.
func TestContinuousSigmaIsNotEnough(t *testing.T) {
	sigma := continuousSigma(1e15, 126936740000000000)
	if got := exactDelta(1, sigma*sigma, []int{1}); got < 0.14 {
		t.Errorf("exact δ = %v at σ = %v; expected about 0.1414, above 0.1269", got, sigma)
	}
}

// What the calibrations come to for a sketch, as noise per unit of ℓ2
// sensitivity at ε = 1, δ = 1e-6: 4.22 analytically, 4.53 by zCDP.
func TestSketchNoise(t *testing.T) {
	limit := continuousSigma(1e15, 1e12)
	zcdp := 1 / math.Sqrt(2*RhoFor(1e15, 1e12).Float())
	for _, rows := range []int64{1, 64, 1024, 1 << 20, 1 << 40} {
		for _, perUnit := range []int64{1, 4} {
			v := Vector{rows, rows * perUnit * perUnit}
			ratio, err := DiscreteSigmaSquared(1e15, 1e12, v)
			if err != nil {
				t.Fatal(err)
			}
			sigma2, _ := ratio.Float64()
			sigma := math.Sqrt(sigma2 / float64(v.SquaredSensitivity))
			t.Logf("T = %d, L = %d: σ/Δ = %.6f (continuous %.6f, zCDP %.6f)", rows, perUnit, sigma, limit, zcdp)
			if _, t2 := latticeSlack(1, rows); sigma2 < float64(v.SquaredSensitivity)*limit*limit*(1-1e-8)+t2 {
				t.Errorf("T = %d, L = %d: σ² = %v lacks the lattice's %v", rows, perUnit, sigma2, t2)
			}
			if slack := 3 / float64(v.SquaredSensitivity); sigma < limit*(1-1e-9) || sigma*sigma > limit*limit*(1+1e-6)+slack || sigma > zcdp*(1+1e-6) {
				t.Errorf("T = %d, L = %d: σ/Δ = %v, continuous %v, zCDP %v", rows, perUnit, sigma, limit, zcdp)
			}
		}
	}
}

// Extremes give noise or an error, and no smaller noise than zCDP allows for
// what float arithmetic cannot resolve.
func TestDiscreteSigmaSquaredExtremes(t *testing.T) {
	for _, e := range []Epsilon{1, 1e6, 1e15, 1e18, math.MaxInt64} {
		for _, d := range []Delta{1, 1e6, 5e17, deltaUnits - 1} {
			for _, v := range []Vector{{1, 1}, {math.MaxInt64, math.MaxInt64}, {1, math.MaxInt64}} {
				ratio, err := DiscreteSigmaSquared(e, d, v)
				if err != nil {
					t.Errorf("DiscreteSigmaSquared(%s, %s, %+v): %v", e, d, v, err)
				} else if ratio.Sign() <= 0 {
					t.Errorf("DiscreteSigmaSquared(%s, %s, %+v) = %v", e, d, v, ratio)
				}
			}
		}
	}
}

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
			// The first case is one count over units of three rows. The second is
			// four counts, each of which a row changes by one. The lattice adds a
			// variance of 6 at most.
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
