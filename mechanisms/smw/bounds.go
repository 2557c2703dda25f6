package smw

import (
	"math"
	"sort"
)

// maxSize is the largest s. No process can touch so many variables, so a size
// cut off here behaves as the larger one would.
const maxSize = uint64(1) << 62

// SizeFor returns the number of variables of Algorithm 1: the smallest s with
// s/(ln s + 1) ≥ 4m/α², at most 2^62. Alpha is a fraction above 0.
func SizeFor(m uint64, alpha float64) uint64 {
	need := 4 * float64(m) / (alpha * alpha)
	if !(need < float64(maxSize)/(math.Log(float64(maxSize))+1)) {
		return maxSize
	}
	// s/(ln s + 1) grows from 1 at s = 1, and passes need before 64·need.
	hi := int64(math.Min(64*math.Max(need, 1), float64(maxSize)))
	return 1 + uint64(sort.Search(int(hi), func(i int) bool {
		s := float64(i + 1)
		return s/(math.Log(s)+1) >= need
	}))
}

// UpdateBound returns B(α) = 4(ln s + 1)/α², which no database update sequence
// of Algorithm 1 exceeds (Theorem 3.5).
func UpdateBound(s uint64, alpha float64) float64 {
	return 4 * (math.Log(float64(s)) + 1) / (alpha * alpha)
}

// PaperParams are the parameters of the paper's Theorem 3.8.
type PaperParams struct {
	MaxSupport uint64  // m
	Queries    int64   // k
	Beta       float64 // β
	Epsilon    float64 // ε, nats
	Delta      float64 // δ
	Rows       int64   // n, or N̂
}

// PaperAlpha returns the accuracy the paper itself promises, a fraction of the
// rows: the solution of α = 3000·√B(α)·ln(4/δ)·ln(k/β)/(εn) with
// B(α) = 4(ln s + 1)/α² (Theorems 3.3 and 3.5). Above 1 it promises nothing.
func PaperAlpha(r PaperParams) float64 {
	c := 3000 * math.Log(4/r.Delta) * math.Log(float64(r.Queries)/r.Beta) / (r.Epsilon * float64(r.Rows))
	excess := func(alpha float64) float64 {
		return alpha - c*math.Sqrt(UpdateBound(SizeFor(r.MaxSupport, alpha), alpha))
	}
	lo, hi := 1e-9, 1.0
	for excess(hi) < 0 && hi < 1e12 {
		hi *= 2
	}
	for range 200 {
		mid := math.Sqrt(lo * hi)
		if excess(mid) < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
