package accounting

import (
	"math"
	"math/big"
)

// TableSamplerDelta returns what a release adds to its δ when its draws come
// from a table sampler at the given statistical distance η, a fraction, from
// the exact law, and the release is (e, ·)-differentially private with exact
// draws: (1 + e^ε)·draws·η, as a charge, rounded up. (Both neighbours' outputs
// move by at most draws·η, the second under a factor e^ε.) e^ε is raised by
// one part in 2^40, above the error of ε as a float times ε <= 700; beyond that,
// and for a negative or missing input, the charge is [Unpayable].
func TableSamplerDelta(draws int64, distance *big.Rat, e Epsilon) Delta {
	if draws < 0 || distance == nil || distance.Sign() < 0 || e < 0 {
		return Unpayable
	}
	if draws == 0 || distance.Sign() == 0 {
		return 0
	}
	if e > 700*epsilonUnits {
		return Unpayable
	}
	factor := new(big.Rat).SetFloat64(math.Exp(e.Float()) * (1 + 0x1p-40))
	factor.Add(factor, one)
	factor.Mul(factor, new(big.Rat).SetInt64(draws))
	return Delta(ceilUnits(factor.Mul(factor, distance), deltaUnits))
}
