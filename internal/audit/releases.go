package audit

import (
	"context"
	"math/big"

	"dpsql/accounting"
	"dpsql/mechanisms/projection"
	"dpsql/noise"
	"dpsql/query"
)

// cells is the number of possible records of the releases audited.
const cells = 4

// identityRelease is the noisy histogram, with discrete Laplace noise.
func identityRelease(unit int64) (Case, error) {
	law, err := laplaceFor(oneEpsilon, unit)
	if err != nil {
		return Case{}, err
	}
	p := projection.Params{Transform: projection.Identity, Rows: cells, Law: law}
	return release("identity release", pure(oneEpsilon), p, unit)
}

// sparseRelease is the count-sketch of four cells in two buckets, with discrete
// Laplace noise.
func sparseRelease(unit int64) (Case, error) {
	law, err := laplaceFor(oneEpsilon, unit)
	if err != nil {
		return Case{}, err
	}
	p := projection.Params{Transform: projection.Sparse, Rows: 2, Law: law}
	return release("sparse release", pure(oneEpsilon), p, unit)
}

// denseRows is T of the dense releases audited.
const denseRows = 8

// denseRelease is the paper's projection with discrete Gaussian noise
// calibrated to (ε, δ).
func denseRelease(unit int64) (Case, error) {
	sigma2, err := accounting.DiscreteSigmaSquared(oneEpsilon, someDelta,
		accounting.Vector{Dimensions: denseRows, SquaredSensitivity: denseRows * unit * unit})
	if err != nil {
		return Case{}, err
	}
	law, err := noise.NewGaussian(sigma2)
	if err != nil {
		return Case{}, err
	}
	p := projection.Params{Transform: projection.Dense, Rows: denseRows, Independence: 4, Law: law}
	return release("dense release", Claim{oneEpsilon.Float(), someDelta.Float()}, p, unit)
}

// paperRelease is the paper's projection with its own discrete Laplace noise (Algorithm
// 2), at an ε large enough to show something. At ε = 1 its claim is some ten times what
// it loses.
func paperRelease(unit int64) (Case, error) {
	const epsilon = 4 * oneEpsilon
	scale, err := projection.PaperLaplaceScale(denseRows, epsilon.Rat(), someDelta.Rat())
	if err != nil {
		return Case{}, err
	}
	law, err := noise.NewLaplace(scale.Mul(scale, big.NewRat(unit, 1)))
	if err != nil {
		return Case{}, err
	}
	p := projection.Params{Transform: projection.Dense, Rows: denseRows, Independence: 4, Law: law}
	return release("dense release, the paper's", Claim{epsilon.Float(), someDelta.Float()}, p, unit)
}

// release is a case that builds a release of a database with 3 records 0 and one record
// 1; D′ has a unit more of records 0. It shows the estimates of both. Those of a Dense
// release are multiplied by T: they are then exactly its sketch's inner products with
// columns of the matrix.
func release(name string, claim Claim, p projection.Params, unit int64) (Case, error) {
	c, err := releaseOf(name, claim, p, func(changed bool) [cells]int64 {
		return [cells]int64{rows(3, unit, changed), 1}
	})
	c.Shows = c.Shows[:2]
	return c, err
}

// releaseOf is a case that builds a release of a database given by its cells. It shows
// the estimates of the first two cells and how many heavy cells the release names.
func releaseOf(name string, claim Claim, p projection.Params, contents func(changed bool) [cells]int64) (Case, error) {
	c := Case{Name: name, Claim: claim, Shows: []string{"cell 0", "cell 1", "published"}}
	u, err := line(cells)
	if err != nil {
		return c, err
	}
	weight := int64(1)
	if p.Transform == projection.Dense {
		weight = int64(p.Rows)
	}
	var asks [2]query.Query
	for i, weights := range [2][cells]int64{{weight}, {0, weight}} {
		if asks[i], err = query.Weighted(u, 0, weights[:]); err != nil {
			return c, err
		}
	}
	c.Run = func(changed bool, src *noise.Source) (Output, error) {
		return build(u, p, asks, contents(changed), src)
	}
	return c, nil
}

// build builds the release of the cells and asks it the queries.
func build(u *query.Universe, p projection.Params, asks [2]query.Query, counts [cells]int64, src *noise.Source) (o Output, err error) {
	b, err := projection.NewBuilder(u, p, src)
	if err != nil {
		return o, err
	}
	r, err := b.Build(func(yield func(query.Element, int64) bool) {
		for x, n := range counts {
			if n > 0 && !yield(query.Element{Lo: uint64(x)}, n) {
				return
			}
		}
	})
	if err != nil {
		return o, err
	}
	for i, q := range asks {
		a, err := r.Answer(context.Background(), q, 0.5)
		if err != nil {
			return o, err
		}
		o[i] = a.Value
	}
	o[2] = int64(r.Published())
	return o, nil
}
