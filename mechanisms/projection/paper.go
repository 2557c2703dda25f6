package projection

import (
	"math"
	"math/big"

	"dpsql/sqlerr"
)

// PaperRows returns T of the paper's Algorithm 2 (SparseProject),
//
//	4·64²·ln(4k/β)·(m^{3/2}/2 + n⁴/(2√m) + √m·n²),
//
// for a database of n records and k queries of sparsity m, all answered within
// the theorem's α with probability 1 − β. It is 1.9e20 at n = 1e4, m = 64,
// k = 1e6, β = 0.05. The theorem's proof needs 2√m times less, and privacy does
// not depend on T.
func PaperRows(n, m, k, beta float64) float64 {
	root := math.Sqrt(m)
	return 4 * 64 * 64 * math.Log(4*k/beta) * (m*root/2 + n*n*n*n/(2*root) + root*n*n)
}

// PaperIndependence returns r of the paper's Algorithm 2, 2 ln(kT/2β), rounded
// up to an even number, at least 4 and at most MaxIndependence, for k queries
// against T rows that all succeed with probability 1 − β.
func PaperIndependence(k, rows, beta float64) int {
	r := 2 * math.Ceil(math.Log(k*rows/(2*beta)))
	if !(r > 4) {
		return 4
	}
	return int(min(r, MaxIndependence))
}

// scaleBits is how many binary places a scale of PaperLaplaceScale has.
const scaleBits = 20

// PaperLaplaceScale returns the scale √(8T ln(1/δ))/ε, rounded up, of the
// discrete Laplace noise of Algorithm 2 on each integer coordinate of √T·u,
// where one record changes every one of the T coordinates by 1.
//
// A coordinate is then (ε', 0)-private with ε' = ε/√(8T ln(1/δ)), so all T are
// T·ε'²/2 = ε²/(16 ln(1/δ))-zCDP whatever T is, which implies
// (ε²/(16 ln(1/δ)) + ε/2, δ)-privacy: (ε, δ) whenever ε <= 8 ln(1/δ). The paper
// claims it by its Theorem on composition for ε < 1. Larger ε are refused as
// invalid, as are ε <= 0, T = 0 and δ outside (0, 1).
func PaperLaplaceScale(rows uint64, epsilon, delta *big.Rat) (*big.Rat, error) {
	d, _ := delta.Float64()
	l := -math.Log(d)
	if rows == 0 || epsilon.Sign() <= 0 || !(l > 1e-9) || math.IsInf(l, 0) {
		return nil, sqlerr.New(sqlerr.Invalid, "the dense transform needs rows, an epsilon above 0 and a delta between 0 and 1")
	}
	low, high := new(big.Rat).SetFloat64(l*(1-1e-6)), new(big.Rat).SetFloat64(l*(1+1e-6))
	if epsilon.Cmp(low.Mul(low, big.NewRat(8, 1))) > 0 {
		return nil, sqlerr.New(sqlerr.Invalid, "the noise of the paper is not private at an epsilon above 8 ln(1/delta)").
			WithHint("lower epsilon or delta")
	}
	square := new(big.Rat).SetInt(new(big.Int).Lsh(new(big.Int).SetUint64(rows), 3))
	square.Mul(square, high)
	square.Quo(square, new(big.Rat).Mul(epsilon, epsilon))
	return rootUp(square), nil
}

// rootUp returns √x rounded up to a multiple of 2^-scaleBits.
func rootUp(x *big.Rat) *big.Rat {
	scaled := new(big.Int).Lsh(x.Num(), 2*scaleBits)
	scaled.Quo(scaled, x.Denom())
	root := scaled.Sqrt(scaled)
	root.Add(root, big.NewInt(1)) // above √ of what Quo and Sqrt cut off
	return new(big.Rat).SetFrac(root, new(big.Int).Lsh(big.NewInt(1), scaleBits))
}
