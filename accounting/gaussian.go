package accounting

import (
	"math"
	"math/big"

	"dpsql/sqlerr"
)

// Vector describes an integer-valued vector of answers. Each coordinate gets
// independent discrete Gaussian noise of one parameter.
type Vector struct {
	Dimensions         int64 // T, the number of coordinates
	SquaredSensitivity int64 // Δ², the squared ℓ2 sensitivity, in counts²
}

// DiscreteSigmaSquared returns a parameter σ², in counts², of discrete Gaussian
// noise N_Z(0, σ²). With it on every coordinate, the release of v is (e,
// d)-differentially private. It is the smaller of two sound calibrations,
// rounded up to 32 significant bits. A ±1 sketch of T rows, kept in integers,
// is Vector{T, T·L²} for units of at most L rows.
//
// The first calibration is zCDP, Δ²/(2ρ) at the ρ of [RhoFor].
//
// The second is [BW18] with a slack for the lattice, s² = Δ²σ₁² + t². Let
// M(D) = K(q(D) + y) with continuous y ~ N(0, Δ²σ₁² I) and K the randomised
// rounding that takes v to an integer z with probability proportional to
// exp(−(z−v)²/(2t²)), coordinate by coordinate. M is post-processing of the
// continuous Gaussian mechanism, hence (ε₁, δ₁)-DP at σ₁ = σ(ε₁, δ₁), and K
// commutes with integer shifts. By Poisson summation the normaliser
// Σ_z exp(−(z−v)²/(2t²)) lies within √(2π)t(1±β), β = 2Σ_{k≥1} exp(−2π²t²k²),
// for every v, so that the noise of M has probabilities proportional to
// exp(−z²/(2s²)) up to factors in [1/(1+β), 1/(1−β)] (as in [P10], whose
// sampler is built on this convolution). Let P be the discrete Gaussian.
// Normalising gives P(E) <= (1+β)/C · M(E) and M(E) <= C/(1−β) · P(E) per
// coordinate, with one C in [1−β, 1+β]; hence
// P is (ε₁ + κ, e^κ δ₁)-DP with κ = T·ln((1+β)/(1−β)). t² is chosen so that
// κ <= 2^-30·min(ε, 1), which takes a t² between 1 and 6 and costs nothing to
// speak of where s² is large. No other property of the vector is used:
// coordinates may shift by different amounts.
//
// An e or d that is not positive, a d not below 1, or an empty vector is an
// error with code invalid.
func DiscreteSigmaSquared(e Epsilon, d Delta, v Vector) (*big.Rat, error) {
	if err := needsDelta(e, d); err != nil {
		return nil, err
	}
	if v.Dimensions <= 0 || v.SquaredSensitivity <= 0 {
		return nil, sqlerr.New(sqlerr.Invalid, "gaussian noise needs a vector with coordinates that a row can change").
			WithHint("give the release at least one row")
	}
	high := concentratedSigma(e, d)
	if high == 0 {
		return nil, tooStrict()
	}
	squared := new(big.Rat).SetInt64(v.SquaredSensitivity)
	best := new(big.Rat).SetFloat64(high)
	best.Mul(best, best).Mul(best, squared)
	if s2 := latticeSigmaSquared(e, d, v.Dimensions, squared, high); s2 != nil && s2.Cmp(best) < 0 {
		best = s2
	}
	return roundUp(best), nil
}

// latticeSigmaSquared returns s² = Δ²σ₁² + t² of [DiscreteSigmaSquared], and
// nil if it finds no σ₁ up to about high.
func latticeSigmaSquared(e Epsilon, d Delta, dimensions int64, squared *big.Rat, high float64) *big.Rat {
	kappa, t2 := latticeSlack(e.Float(), dimensions)
	sigma, ok := analyticSigma(e.Float()-kappa, d.Float()*(1-2*latticePart), high*(1+0x1p-20))
	if !ok {
		return nil
	}
	s2 := new(big.Rat).SetFloat64(sigma)
	s2.Mul(s2, s2).Mul(s2, squared)
	return s2.Add(s2, new(big.Rat).SetFloat64(t2))
}

// latticePart is the part of ε spent on the lattice. Twice that part of δ
// covers e^κ with κ <= latticePart.
const latticePart = 0x1p-30

// latticeSlack returns κ = latticePart · min(ε, 1) and a t² for which κ holds.
// With q = exp(−2π²t²), β <= 2q/(1−q³) and T·ln((1+β)/(1−β)) is below
// 4T·q·(1+1e-9). q = κ/(5T) leaves a fifth for the rounding of t².
func latticeSlack(epsilon float64, dimensions int64) (kappa, t2 float64) {
	kappa = min(epsilon, 1) * latticePart
	return kappa, math.Log(5*float64(dimensions)/kappa) / (2 * math.Pi * math.Pi)
}

// concentratedSigma returns an upper bound on the σ of ℓ2 sensitivity 1 at
// which 1/(2σ²)-zCDP gives (e, d). It returns 0 if ρ is lost to rounding.
func concentratedSigma(e Epsilon, d Delta) float64 {
	rho := rhoBelow(e.Float(), d)
	if rho <= 0 {
		return 0
	}
	return 1 / math.Sqrt(2*rho) * (1 + 0x1p-50)
}

// analyticSigma returns the smallest σ <= high that it finds at which the
// continuous Gaussian mechanism of ℓ2 sensitivity 1 is (epsilon, delta)-DP,
// where epsilon and delta may each be off by one part in 2^51. ok is false
// when the padded bound on δ admits none.
func analyticSigma(epsilon, delta, high float64) (sigma float64, ok bool) {
	tooSmall := func(sigma float64) bool {
		return gaussianDelta(epsilon, sigma) > delta*(1-0x1p-50)
	}
	_, sigma = bisect(high*0x1p-30, high, tooSmall)
	return sigma, !tooSmall(sigma)
}

// gaussianDelta returns an upper bound on the smallest δ at which the
// continuous Gaussian mechanism of standard deviation sigma and ℓ2 sensitivity
// 1 is (epsilon, δ)-differentially private ([BW18], Theorem 8):
//
//	δ = Φ(1/(2σ) − εσ) − e^ε Φ(−1/(2σ) − εσ)
//
// It is Φ(a) − e^ε Φ(−b). With ε off by at most 2^-51 of itself and
// c = 1/(2σ) + |ε|σ, which is at least |a|, |b| and √(2|ε|), the arguments of
// erfc have absolute errors below 2^-53·8c; these move the logarithm of Φ by
// less than 2^-53(8c²+8c), and e^ε, the functions and the products by less than
// 2^-53(2c²+8). The pad is (64 + 16c²)·2^-53 of each term, and 2^-1000
// where the first underflows.
func gaussianDelta(epsilon, sigma float64) float64 {
	half, lift := 1/(2*sigma), epsilon*sigma
	c := half + math.Abs(lift)
	pad := (64 + 16*c*c) * 0x1p-53
	first := math.Erfc((lift-half)/math.Sqrt2) / 2
	second := shiftedTail(epsilon, lift-half, lift+half)
	return first*(1+pad) - second*max(0, 1-pad) + 0x1p-1000
}

// shiftedTail returns e^ε Φ(−b). a must be such that e^ε φ(b) = φ(a). Far out,
// where Φ(−b) leaves the range of floats, it is φ(a) times a lower bound on
// Mills' ratio: a convergent of its continued fraction, low by less than 1e-8
// of it.
func shiftedTail(epsilon, a, b float64) float64 {
	const far = 20
	if b < far {
		return math.Exp(epsilon) * math.Erfc(b/math.Sqrt2) / 2
	}
	density := math.Exp(-a*a/2) / math.Sqrt(2*math.Pi)
	return density * (b*b + 5) * b / (b*b*b*b + 6*b*b + 3)
}

func needsDelta(e Epsilon, d Delta) error {
	if e > 0 && d > 0 && d < deltaUnits {
		return nil
	}
	return sqlerr.New(sqlerr.Invalid, "gaussian noise needs epsilon above 0 and delta above 0 and below 1").
		WithHint("give the statement a delta such as 1e-6, or use a mechanism with laplace noise")
}

func tooStrict() error {
	return sqlerr.New(sqlerr.Invalid, "epsilon and delta are too small for gaussian noise").
		WithHint("give the statement a larger epsilon or delta")
}

// significantBits is the number of bits that the numerators of noise parameters
// keep. It loses less than 2^-31 of the noise, and lets exact samplers work in
// machine words. The denominator is a power of two.
const significantBits = 32

// roundUp returns the smallest number >= x > 0 that is an integer of at most
// significantBits bits times a power of two.
func roundUp(x *big.Rat) *big.Rat {
	exponent := x.Num().BitLen() - x.Denom().BitLen()
	if x.Cmp(powerOfTwo(exponent)) < 0 {
		exponent--
	}
	unit := powerOfTwo(exponent - (significantBits - 1)) // x/unit is in [2^31, 2^32)
	count := new(big.Rat).Quo(x, unit)
	return unit.Mul(unit, new(big.Rat).SetInt(ceilQuo(count.Num(), count.Denom())))
}

// ceilQuo returns ⌈a/b⌉ for a >= 0, b > 0.
func ceilQuo(a, b *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(a, b, new(big.Int))
	if r.Sign() != 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func powerOfTwo(exponent int) *big.Rat {
	power := new(big.Int).Lsh(big.NewInt(1), uint(max(exponent, -exponent)))
	if exponent < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), power)
	}
	return new(big.Rat).SetInt(power)
}

// bisect returns neighbouring positive x1 <= x2 in [lo, hi], close to the
// float's resolution. holds was true at x1 (or x1 = lo) and false at x2 (or x2
// = hi). bisect halves the logarithm, since the orders and standard deviations
// sought span forty powers of ten.
func bisect(lo, hi float64, holds func(float64) bool) (x1, x2 float64) {
	const steps = 80
	for range steps {
		mid := math.Sqrt(lo) * math.Sqrt(hi)
		if mid <= lo || mid >= hi {
			break
		}
		if holds(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, hi
}
