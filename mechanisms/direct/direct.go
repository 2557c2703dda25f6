// Package direct answers one count with discrete Gaussian noise, at the lowest
// cost that an accuracy allows. Any count will do, sparse or not.
//
// It promises: an integer count that one unit changes by at most Δ, answered
// with the noise of a Plan, is ρ-zCDP for ρ = Δ²/(2σ²) (Canonne, Kamath and
// Steinke 2020, "The Discrete Gaussian for Differential Privacy"),
// and the answer is within the plan's half-width of the count at the
// confidence that was asked for. What it does not: it neither charges nor
// counts; the caller has paid for the plan before it calls Answer.
package direct

import (
	"math"
	"math/big"
	"sort"

	"dpsql/noise"
)

// Unit is the step in which ρ is chosen: 10⁻¹⁵, the unit of the ledger.
const Unit = 1e15

// maxRho is the largest ρ considered, 4.5, in units: the noise is then 0 nearly
// always.
const maxRho = int64(1) << 52

// Request is an answer's accuracy and sensitivity.
type Request struct {
	Accuracy    float64 // half-width in counts, above 0
	Confidence  float64 // that the true count lies within it, in (0, 1)
	Sensitivity int64   // Δ, the most that one unit changes the count by, at least 1
}

// Plan is a direct answer before it is paid for.
type Plan struct {
	Rho   int64     // its cost in Units of ρ
	Law   noise.Law // its noise: discrete Gaussian with σ² = Δ²/(2ρ), exactly
	Width int64     // the half-width it reaches, in counts
}

// PlanFor returns the cheapest plan for a request; false when no noise is that
// small.
func PlanFor(r Request) (Plan, bool) {
	wanted := int64(math.Min(r.Accuracy, 1<<52))
	try := func(units int64) (noise.Law, bool) {
		law, err := noise.NewGaussian(SigmaSquared(units, r.Sensitivity))
		return law, err == nil && noise.Within(law, wanted, r.Confidence)
	}
	units := 1 + int64(sort.Search(int(maxRho), func(i int) bool {
		_, ok := try(int64(i) + 1)
		return ok
	}))
	law, ok := try(units)
	if !ok {
		return Plan{}, false
	}
	return Plan{units, law, noise.HalfWidth(law, r.Confidence)}, true
}

// SigmaSquared returns σ² = Δ²/(2ρ), in counts², for ρ in Units.
func SigmaSquared(units, sensitivity int64) *big.Rat {
	squared := new(big.Rat).SetInt64(sensitivity)
	squared.Mul(squared, squared)
	return squared.Quo(squared, big.NewRat(2*units, Unit))
}

// Answer returns the true count with noise. An error means that the random
// source failed; nothing was drawn then that may be shown.
func (p Plan) Answer(count int64, src *noise.Source) (int64, error) {
	draw, err := p.Law.Draw(src)
	return count + draw, err
}
