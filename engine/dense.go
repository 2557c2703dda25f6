package engine

import (
	"math/big"
	"strconv"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/mechanisms/projection"
	"dpsql/noise"
	"dpsql/sqlerr"
)

// mostDenseRows bounds T of a dense release, whose build and answers take time
// proportional to T for every cell and every element of a support.
const mostDenseRows = 1 << 20

// planDense plans the paper's Algorithm 2 (SparseProject), with its Laplace
// noise or, by default, Gaussian noise. Without rows it takes the paper's T at
// N̂, and says so where that is absurd.
func planDense(o *options, p projectionPlan) (projectionPlan, error) {
	law := o.word("noise", "gaussian", "laplace")
	queries := o.integer("queries", 1e6, 1, 1e15)
	beta := o.fraction("beta", 0.05)
	rows := uint64(o.integer("rows", 0, 1, mostDenseRows))
	if err := o.done(); err != nil {
		return p, err
	}
	if p.cost.Delta == 0 {
		return p, sqlerr.New(sqlerr.Invalid, "the dense transform needs a delta").
			WithHint("give the table a delta, or use transform = sparse, which needs none")
	}
	if rows != 0 {
		return p.dense(law, rows, queries, beta)
	}
	p.complete = func(n catalog.NHat, left accounting.Amount) (projectionPlan, error) {
		p.complete, p.cost = nil, left
		rows, err := paperRows(n, p.support, queries, beta)
		if err != nil {
			return p, err
		}
		return p.dense(law, rows, queries, beta)
	}
	return p, nil
}

// dense completes the plan of a dense release of T rows.
func (p projectionPlan) dense(law string, rows uint64, queries int64, beta float64) (projectionPlan, error) {
	r := projection.PaperIndependence(float64(queries), float64(rows), beta)
	p.params = projection.Params{Transform: projection.Dense, Rows: rows, Independence: r}
	var err error
	p.params.Law, err = denseLaw(law, rows, p.cost, p.table.Sensitivity())
	return p, err
}

// denseLaw returns the noise of one integer coordinate of √T·A·D, each of
// which one unit changes by at most L: ℓ2 sensitivity L√T. The paper's Laplace
// noise is that of Algorithm 2, private by the composition theorem it cites
// (Dwork, Rothblum and Vadhan 2010); the Gaussian is calibrated to (ε, δ).
func denseLaw(law string, rows uint64, cost accounting.Amount, sensitivity int64) (noise.Law, error) {
	l := big.NewRat(sensitivity, 1)
	if law == "laplace" {
		scale, err := projection.PaperLaplaceScale(rows, cost.Epsilon.Rat(), cost.Delta.Rat())
		if err != nil {
			return nil, err
		}
		return noise.NewLaplace(scale.Mul(scale, l))
	}
	squared := new(big.Int).Mul(big.NewInt(sensitivity), big.NewInt(sensitivity))
	squared.Mul(squared, big.NewInt(int64(rows)))
	if !squared.IsInt64() {
		return nil, sqlerr.New(sqlerr.Unsupported, "the dense transform cannot have %d rows for units of %d rows", rows, sensitivity).
			WithHint("use transform = sparse, or a smaller max_rows")
	}
	sigma2, err := accounting.DiscreteSigmaSquared(cost.Epsilon, cost.Delta,
		accounting.Vector{Dimensions: int64(rows), SquaredSensitivity: squared.Int64()})
	if err != nil {
		return nil, err
	}
	return noise.NewGaussian(sigma2)
}

// paperRows computes Algorithm 2's T at N̂. At n = 10⁴ and m = 64 it is 10²⁰: it is
// refused, with the number, where no computer could hold it.
func paperRows(n catalog.NHat, support uint64, queries int64, beta float64) (uint64, error) {
	t := projection.PaperRows(float64(n.Value), float64(support), float64(queries), beta)
	if t > mostDenseRows {
		return 0, sqlerr.New(sqlerr.Invalid, "the paper's T is %s rows at N̂ = %d, m = %d and k = %d",
			strconv.FormatFloat(t, 'g', 2, 64), n.Value, support, queries).
			WithHint("give rows = …, up to %d: privacy does not depend on it", mostDenseRows)
	}
	return uint64(t), nil
}
