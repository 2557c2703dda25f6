package accounting

import (
	"math"

	"dpsql/sqlerr"
)

// concentratedSigma returns an upper bound on the σ of ℓ2 sensitivity 1 at
// which 1/(2σ²)-zCDP gives (e, d), 0 if ρ is lost to rounding.
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

// shiftedTail returns e^ε Φ(−b), where a is such that e^ε φ(b) = φ(a). Far out,
// where Φ(−b) leaves the range of floats, it is φ(a) times a lower bound on
// Mills' ratio, a convergent of its continued fraction, short by less than
// 1e-8 of it.
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
