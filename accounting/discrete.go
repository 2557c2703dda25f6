package accounting

import (
	"math"
	"math/big"

	"dpsql/sqlerr"
)

// Vector describes an integer-valued vector of answers to which independent
// discrete Gaussian noise of one parameter is added, coordinate by coordinate.
type Vector struct {
	Dimensions         int64 // T, the number of coordinates
	SquaredSensitivity int64 // Δ², the squared ℓ2 sensitivity, in counts²
}

// DiscreteSigmaSquared returns a parameter σ², in counts², of discrete Gaussian
// noise N_Z(0, σ²) on every coordinate of v that makes its release
// (e, d)-differentially private: the smaller of two sound calibrations,
// rounded up to 32 significant bits. A ±1 sketch of T rows, kept in integers,
// is Vector{T, T·L²} for units of at most L rows.
//
// The first is zCDP, Δ²/(2ρ) at the ρ of [RhoFor].
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
// sampler is built on this convolution). Normalising, P(E) <= (1+β)/C · M(E) and M(E) <= C/(1−β) · P(E)
// per coordinate, with one C in [1−β, 1+β], for P the discrete Gaussian; hence
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

// latticeSigmaSquared returns s² = Δ²σ₁² + t² of [DiscreteSigmaSquared], nil
// if it finds no σ₁ up to about high.
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

// latticePart is the part of ε spent on the lattice; twice that of δ covers
// e^κ with κ <= latticePart.
const latticePart = 0x1p-30

// latticeSlack returns κ = latticePart · min(ε, 1) and a t² that keeps to it.
// With q = exp(−2π²t²), β <= 2q/(1−q³) and T·ln((1+β)/(1−β)) is below
// 4T·q·(1+1e-9): q = κ/(5T) leaves a fifth for the rounding of t².
func latticeSlack(epsilon float64, dimensions int64) (kappa, t2 float64) {
	kappa = min(epsilon, 1) * latticePart
	return kappa, math.Log(5*float64(dimensions)/kappa) / (2 * math.Pi * math.Pi)
}
