package accounting

import (
	"math"
	"math/big"
)

// relativePad bounds the error of the sums of half a dozen terms below,
// relative to the sum of the terms' absolute values. 2^-46 is 128 units of
// half-ulp. Input conversion, logarithms, divisions and additions use fewer
// than 16.
const relativePad = 0x1p-46

// RunEpsilon returns the largest ε such that runs steps, each ε-differentially
// private, together cost at most r: √(2ρ/runs) nats, exact, rounded down. (An
// ε-private step costs ε²/2: [BS16], Proposition 1.4.) It returns 0 when r or
// runs is not positive.
func RunEpsilon(r Rho, runs int64) Epsilon {
	if r <= 0 || runs <= 0 {
		return 0
	}
	// (ε in units)² = 2 · (ρ in units) · 10^15 / runs, and ⌊√x⌋ = ⌊√⌊x⌋⌋.
	n := new(big.Int).Mul(big.NewInt(int64(r)), big.NewInt(2*epsilonUnits))
	n.Quo(n, big.NewInt(runs))
	return Epsilon(saturate(n.Sqrt(n)))
}

// EpsilonOf returns an upper bound on the ε at which r-zCDP implies
// (ε, d)-differential privacy:
//
//	ε(ρ; δ) = min over λ > 1 of ρλ + ln((λ−1)/λ) − (ln δ + ln λ)/(λ−1)
//
// ([CKS20], Proposition 12; also [ALCKS20], Equation 20), and 0 where that is
// negative. Every λ gives a valid bound, so only the error in evaluating it
// matters: the result is raised by 2^-46 of the sum of the terms' absolute
// values. Because of that rise EpsilonOf(RhoFor(e, d), d) can exceed e by some
// parts in 10^13: charge ρ and compare ρ. With d = 0 and r > 0 it is +Inf.
func EpsilonOf(r Rho, d Delta) float64 {
	switch {
	case r <= 0 || d >= deltaUnits:
		return 0
	case d <= 0 || r == Unpayable:
		return math.Inf(1)
	}
	rho, logInverse := r.Float(), logInverse(d)
	u := orderForRho(rho, d)
	spread := rho * (1 + u)
	gain := math.Log1p(1 / u) // −ln((λ−1)/λ)
	tail, tailSize := tailTerm(logInverse, u)
	return max(0, spread-gain+tail+relativePad*(spread+gain+tailSize))
}

// RhoFor returns the largest ρ with ε(ρ; d) <= e, for ε(ρ; δ) as in
// [EpsilonOf]. It is a cap: it is lowered by 2^-46 of the sum of its terms'
// absolute values and then rounded down. It is 0 when e or d is not positive,
// since zCDP alone never gives pure differential privacy.
func RhoFor(e Epsilon, d Delta) Rho {
	rho := rhoBelow(e.Float(), d)
	units := math.Floor(rho * rhoUnits * (1 - 0x1p-50))
	return Rho(max(0, min(units, 1<<62)))
}

// rhoBelow returns a lower bound, not rounded to units, on the largest ρ with
// ε(ρ; d) <= epsilon, where epsilon may be off by one part in 2^50. Solving the
// line of any order λ for ρ gives a valid bound.
func rhoBelow(epsilon float64, d Delta) float64 {
	if epsilon <= 0 || d <= 0 {
		return 0
	}
	d = min(d, deltaUnits-1)
	u := orderForEpsilon(epsilon, d)
	gain := math.Log1p(1 / u)
	tail, tailSize := tailTerm(logInverse(d), u)
	value := epsilon + gain - tail - relativePad*(epsilon+gain+tailSize)
	return max(0, value/(1+u)*(1-0x1p-50))
}

// tailTerm returns (ln(1/δ) − ln λ)/(λ−1) at λ = 1+u, and the sum of the
// absolute values of its terms.
func tailTerm(logInverse, u float64) (value, size float64) {
	order := math.Log1p(u)
	return (logInverse - order) / u, (logInverse + order) / u
}

// orderForRho returns λ−1 for the λ that minimises ε(ρ; δ). The derivative in λ
// is ρ − ln(1/(δλ))/(λ−1)². So the minimum is where ρ(λ−1)² + ln λ, which
// increases, reaches ln(1/δ).
func orderForRho(rho float64, d Delta) float64 {
	logInverse, top := logInverse(d), topOrder(d)
	u, _ := bisect(top*0x1p-200, top, func(u float64) bool {
		return rho*u*u+math.Log1p(u) < logInverse
	})
	return u
}

// orderForEpsilon returns λ−1 for the λ that is optimal at the ρ with ε(ρ; δ) =
// epsilon. After substituting ρ = ln(1/(δλ))/(λ−1)², ε(ρ; δ) decreases in λ.
func orderForEpsilon(epsilon float64, d Delta) float64 {
	logInverse, top := logInverse(d), topOrder(d)
	u, _ := bisect(top*0x1p-200, top, func(u float64) bool {
		tail, _ := tailTerm(logInverse, u)
		return tail*(2+1/u)-math.Log1p(1/u) > epsilon
	})
	return u
}

// topOrder returns 1/δ − 1: no larger λ−1 is ever optimal.
func topOrder(d Delta) float64 { return float64(deltaUnits-d) / float64(d) }

// logInverse returns ln(1/δ) for 0 < δ < 1. It is accurate near 1, too.
func logInverse(d Delta) float64 {
	if d > deltaUnits/2 {
		return -math.Log1p(-float64(deltaUnits-d) / deltaUnits)
	}
	return -math.Log(d.Float())
}
