package kind

import (
	"math/big"

	"dpsql/accounting"
	"dpsql/engine/internal/pay"
	"dpsql/mechanisms/direct"
	"dpsql/mechanisms/projection"
	"dpsql/noise/law"
	"dpsql/sqlerr"
)

// This file has the laws of what is built: the noise that an amount pays for. The proof that it is
// enough stands where it is drawn, in the measure.go of the mechanism.

// DiscoveryFor returns the noise and the threshold of a list of keys: discrete Laplace noise of scale L/ε,
// and a threshold for δ (see projection.Discovery).
func DiscoveryFor(cost accounting.Amount, sensitivity int64) (projection.Discovery, error) {
	l, err := law.NewLaplace(pay.LaplaceScale(cost.Epsilon, sensitivity))
	if err != nil {
		return projection.Discovery{}, err
	}
	return projection.NewDiscovery(l, sensitivity, cost.Delta.Float()), nil
}

// laplace returns noise of scale L over a part of ε, and the scale.
func (p *projectionPlan) laplace(part *big.Rat) (law.Law, float64, error) {
	scale := pay.LaplaceScale(p.Cost.Epsilon, p.Table.Sensitivity())
	scale.Quo(scale, part)
	law, err := law.NewLaplace(scale)
	f, _ := scale.Float64()
	return law, f, err
}

// whole hashes all cells.
func (p *projectionPlan) whole(wishes) (projection.Option, error) {
	law, scale, err := p.laplace(big.NewRat(1, 1))
	return projection.Option{Params: projection.Params{Transform: projection.Sparse, Law: law}, Scale: scale}, err
}

// clipped splits counts at a clip. It spends all of ε on both parts in parallel.
func (p *projectionPlan) clipped(w wishes) (projection.Option, error) {
	o, err := p.whole(w)
	if err != nil {
		return o, err
	}
	o.Params.Heavy = projection.Heavy{Form: projection.Clipped, Clip: w.clip, Threshold: p.threshold(o.Params.Law)}
	return o, nil
}

// namedHeavy spends a tenth of ε, and all of δ, on the names of heavy cells, and the
// rest of ε on their counts and on the sketch of the others.
func (p *projectionPlan) namedHeavy(wishes) (o projection.Option, err error) {
	o.Params.Transform = projection.Sparse
	if o.Params.Law, o.Scale, err = p.laplace(big.NewRat(9, 10)); err != nil {
		return o, err
	}
	var law law.Law
	if law, o.NameScale, err = p.laplace(big.NewRat(1, 10)); err != nil {
		return o, err
	}
	o.Params.Heavy = projection.Heavy{Form: projection.Named, Threshold: p.threshold(law), NameLaw: law}
	return o, nil
}

func (p *projectionPlan) threshold(law law.Law) int64 {
	return projection.Threshold(law, p.Table.Sensitivity(), p.Cost.Delta.Float())
}

// denseLaw returns the noise of one integer coordinate of √T·A·D. One unit changes each
// coordinate by at most L, so the ℓ2 sensitivity is L√T. The paper's Laplace noise is that
// of Algorithm 2. It is private by the composition theorem that the paper cites (Dwork,
// Rothblum and Vadhan 2010). The Gaussian noise is calibrated to (ε, δ).
func denseLaw(name string, rows uint64, cost accounting.Amount, sensitivity int64) (law.Law, error) {
	l := big.NewRat(sensitivity, 1)
	if name == "laplace" {
		scale, err := projection.PaperLaplaceScale(rows, cost.Epsilon.Rat(), cost.Delta.Rat())
		if err != nil {
			return nil, err
		}
		return law.NewLaplace(scale.Mul(scale, l))
	}
	squared, ok := squaredSensitivity(sensitivity, int64(rows))
	if !ok {
		return nil, sqlerr.New(sqlerr.Unsupported, "the dense transform cannot have %d rows for units of %d rows", rows, sensitivity).
			WithHint("use transform = sparse, or a smaller max_rows")
	}
	sigma2, err := accounting.DiscreteSigmaSquared(cost.Epsilon, cost.Delta,
		accounting.Vector{Dimensions: int64(rows), SquaredSensitivity: squared})
	if err != nil {
		return nil, err
	}
	return law.NewGaussian(sigma2)
}

// squaredSensitivity returns L²·n, the squared ℓ2 sensitivity of n parts of a vector each of
// which a unit changes by at most L. It is false if that does not fit 63 bits.
func squaredSensitivity(sensitivity, parts int64) (int64, bool) {
	squared := new(big.Int).Mul(big.NewInt(sensitivity), big.NewInt(sensitivity))
	squared.Mul(squared, big.NewInt(parts))
	return squared.Int64(), squared.IsInt64()
}

// calibrate chooses the noise. A unit of at most L rows changes the counts of one marginal
// by at most L in ℓ2, the worst case being all its rows in one cell. It changes the vector
// of all K marginals by at most √K·L.
func (p *marginalsPlan) calibrate() error {
	squared, ok := squaredSensitivity(p.Table.Sensitivity(), int64(len(p.params.Sets)))
	if !ok {
		return sqlerr.New(sqlerr.Unsupported, "marginals cannot be measured for units of %d rows", p.Table.Sensitivity()).
			WithHint("use a smaller max_rows")
	}
	sigma2, err := accounting.DiscreteSigmaSquared(p.Cost.Epsilon, p.Cost.Delta,
		accounting.Vector{Dimensions: int64(p.params.Cells(p.universe)), SquaredSensitivity: squared})
	if err != nil {
		return err
	}
	p.params.Sigma2, _ = sigma2.Float64()
	p.params.Law, err = law.NewGaussian(sigma2)
	return err
}

// sigmaSquared returns the variance of the noise in the prior's counts: K·L²/(2ρ) for K
// tables, and 0 if ρ is 0.
func (p SMWPlan) sigmaSquared(sensitivity int64) *big.Rat {
	if p.PriorRho == 0 {
		return new(big.Rat)
	}
	s := direct.SigmaSquared(int64(p.PriorRho), sensitivity)
	return s.Mul(s, big.NewRat(int64(len(p.tables)), 1))
}
