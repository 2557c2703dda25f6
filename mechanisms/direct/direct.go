// Package direct answers one count with discrete Gaussian noise, at the lowest
// cost that an accuracy allows. Any count will do, sparse or not.
//
// What it promises: take integer counts that one unit changes by at most Δ in ℓ2 norm.
// Answered with the noise of a Plan it is ρ-zCDP for ρ = Δ²/(2σ²) (Canonne,
// Kamath and Steinke 2020, "The Discrete Gaussian for Differential Privacy").
// The answer is within the plan's half-width of the count, at the requested
// confidence. What it does not: it neither charges nor counts. The caller must
// have paid for the plan before it calls Answer.
package direct

import (
	"math"
	"math/big"
	"sort"

	"dpsql/noise"
	"dpsql/noise/law"
)

// Unit is the number of units in a ρ of 1: like the ledger, plans count ρ in
// 10⁻¹⁵.
const Unit = 1e15

// maxRho is the largest ρ considered, 4.5, in units. Its noise is nearly always
// 0.
const maxRho = int64(1) << 52

// Request is the accuracy and the sensitivity of an answer, or of several answers that
// have one law.
type Request struct {
	Accuracy    float64 // half-width in counts, above 0
	Confidence  float64 // that the true count lies within it, in (0, 1)
	Sensitivity int64   // the most that one unit changes the count by, at least 1
	Answers     int64   // how many of the answers one unit changes by that much, at least 1; Δ is the sensitivity times the root
}

// Plan is the law and the cost of a direct answer.
type Plan struct {
	Rho   int64   // its cost, in units of ρ
	Law   law.Law // its noise: discrete Gaussian with σ² = Δ²/(2ρ), exactly
	Width int64   // its half-width, in counts
}

// PlanFor returns the cheapest plan for a request. It returns false when no
// noise is small enough.
func PlanFor(r Request) (Plan, bool) {
	wanted := int64(math.Min(r.Accuracy, 1<<52))
	try := func(units int64) (law.Law, bool) {
		l, err := law.NewGaussian(r.sigmaSquared(units))
		return l, err == nil && law.Within(l, wanted, r.Confidence)
	}
	units := 1 + int64(sort.Search(int(maxRho), func(i int) bool {
		_, ok := try(int64(i) + 1)
		return ok
	}))
	l, ok := try(units)
	if !ok {
		return Plan{}, false
	}
	return Plan{units, l, law.HalfWidth(l, r.Confidence)}, true
}

// sigmaSquared returns σ² for ρ in Units.
func (r Request) sigmaSquared(units int64) *big.Rat {
	squared := SigmaSquared(units, r.Sensitivity)
	return squared.Mul(squared, new(big.Rat).SetInt64(r.Answers))
}

// SigmaSquared returns σ² = Δ²/(2ρ), in counts², for ρ in Units.
func SigmaSquared(units, sensitivity int64) *big.Rat {
	squared := new(big.Rat).SetInt64(sensitivity)
	squared.Mul(squared, squared)
	return squared.Quo(squared, big.NewRat(2*units, Unit))
}

// Answer returns the true count plus noise. An error means that the random
// source failed; no draw may then be shown.
func (p Plan) Answer(count int64, src *noise.Source) (int64, error) {
	draw, err := noise.Draw(p.Law, src)
	return count + draw, err
}
