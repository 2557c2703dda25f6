package main

import (
	"fmt"
	"math/big"

	"dpsql/accounting"
	"dpsql/noise"
)

// budget is what one mechanism may spend on a workload.
type budget struct {
	epsilon accounting.Epsilon
	delta   accounting.Delta
}

// newBudget returns ε at δ = 10⁻⁶.
func newBudget(epsilon float64) (budget, error) {
	e, err := accounting.ParseEpsilon(fmt.Sprintf("%.6f", epsilon))
	if err != nil {
		return budget{}, err
	}
	d, err := accounting.ParseDelta("1e-6")
	return budget{e, d}, err
}

// rho returns the ρ that the budget is worth in zCDP.
func (b budget) rho() accounting.Rho { return accounting.RhoFor(b.epsilon, b.delta) }

// epsilonScale returns 1/ε.
func (b budget) epsilonScale() *big.Rat { return new(big.Rat).Inv(b.epsilon.Rat()) }

// laplace returns discrete Laplace noise of scale parts/ε: each of so many
// counts is (ε/parts)-differentially private.
func (b budget) laplace(parts int64) (noise.Law, error) {
	return noise.NewLaplace(new(big.Rat).Mul(big.NewRat(parts, 1), b.epsilonScale()))
}

// gaussian returns discrete Gaussian noise such that so many counts together
// cost ρ.
func (b budget) gaussian(parts int64) (noise.Law, error) {
	sigma2 := new(big.Rat).Quo(big.NewRat(parts, 2), b.rho().Rat())
	return noise.NewGaussian(sigma2)
}

// denseGaussian returns the discrete Gaussian noise of each coordinate of
// √T·A·D, which one row changes by 1 in all T of them.
func denseGaussian(rows uint64, b budget) (noise.Law, error) {
	sigma2, err := accounting.DiscreteSigmaSquared(b.epsilon, b.delta,
		accounting.Vector{Dimensions: int64(rows), SquaredSensitivity: int64(rows)})
	if err != nil {
		return nil, err
	}
	return noise.NewGaussian(sigma2)
}
