package audit

import (
	"context"
	"math/big"

	"dpsql/accounting"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/projection"
	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/noise/law"
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
	law, err := law.NewGaussian(sigma2)
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
	law, err := law.NewLaplace(scale.Mul(scale, big.NewRat(unit, 1)))
	if err != nil {
		return Case{}, err
	}
	p := projection.Params{Transform: projection.Dense, Rows: denseRows, Independence: 4, Law: law}
	return release("dense release, the paper's", Claim{epsilon.Float(), someDelta.Float()}, p, unit)
}

// marginalColumns is the number of marginals of the release audited, of one column each.
const marginalColumns = 3

// marginalsRelease is a release of the marginals of three columns. A unit's rows all have the
// record of zeros, which is in a cell of each marginal.
func marginalsRelease(unit int64) (Case, error) {
	return marginalsAs("marginals", marginalColumns, marginalColumns*unit*unit, unit)
}

// marginalsAs returns the case of so many marginals with the noise for the square of a
// sensitivity. D has 20 rows of the record of zeros, and D′ a unit more. The noisy counts that the
// unit is in tell D from D′ by their sum as well as by all of them. A query of 2K times the weight
// has an unbiased answer that is whole, and the answers sum to 2K times the counts.
func marginalsAs(name string, columns int, squared, unit int64) (Case, error) {
	c := Case{Name: name, Claim: heavyClaim(), Shows: []string{"sum of counts", "one count"}}
	u, err := binary(columns)
	if err != nil {
		return c, err
	}
	sigma2, err := accounting.DiscreteSigmaSquared(oneEpsilon, someDelta, accounting.Vector{Dimensions: int64(2 * columns), SquaredSensitivity: squared})
	if err != nil {
		return c, err
	}
	law, err := law.NewGaussian(sigma2)
	if err != nil {
		return c, err
	}
	p, weight := marginals.Params{Sets: marginals.OfDegree(u, 1), Law: law, Sigma2: law.Variance(), Unbiased: true}, int64(2*columns)
	c.Run = func(changed bool, src *noise.Source) (o Output, err error) {
		m, err := marginals.Measure(context.Background(), u, p, func(yield func(query.Element, int64) bool) { yield(query.Element{}, rows(20, unit, changed)) })
		if err != nil {
			return o, err
		}
		r, err := m.Perturb(src)
		for i := 0; i < columns && err == nil; i++ {
			var q query.Query
			if q, err = query.Weighted(u, i, []int64{weight, 0}); err == nil {
				var a marginals.Answer
				a, err = r.Answer(context.Background(), q, 0.5)
				o[0] += a.Value
				o[1] = a.Value
			}
		}
		o[0] /= weight
		return o, err
	}
	return c, nil
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
	b, err := projection.NewBuilder(u, p, coin.NewSource())
	if err != nil {
		return o, err
	}
	r, err := b.Build(func(yield func(query.Element, int64) bool) {
		for x, n := range counts {
			if n > 0 && !yield(query.Element{Lo: uint64(x)}, n) {
				return
			}
		}
	}, src)
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
