package marginals

import (
	"math"

	"dpsql/query"
)

// Prediction is the law of an unbiased answer's error, in counts.
type Prediction struct {
	Deviation float64 // its standard deviation
	Margin    float64 // the half-width of the theorem at Release.margin
}

// Predict returns how far the unbiased answer to q of a release over u with these
// parameters would be off. Nothing has to be measured: it follows from the sizes of
// domains and the noise. It is false where no marginal of p has all columns of q.
//
// What the fitted answer errs by depends on the table, and is mostly less.
func (p Params) Predict(u *query.Universe, q query.Query, confidence float64) (Prediction, bool, error) {
	sizes := sizesOf(u)
	if p.precision(sizes, q.Columns()) == 0 { // else the weights fit into memory, as the marginal does
		return Prediction{}, false, nil
	}
	columns, weights, err := weigh(sizes, q, confidence)
	if err != nil {
		return Prediction{}, false, err
	}
	variance := p.variance(sizes, columns, weights)
	return Prediction{math.Sqrt(variance), gaussianMargin(p.Sigma2, variance/p.Sigma2, p.Cells(u), confidence)}, true, nil
}

// variance returns Σ_A σ_A²·‖R_A q‖², with the weights q spread evenly over the cells of the
// whole table: the variance of least squares, since interactions are orthogonal.
func (p Params) variance(sizes, columns []int, weights []float64) (variance float64) {
	eachInteraction(sizes, columns, weights, func(a []int, share float64, q []float64) {
		squares := 0.0
		for _, w := range q {
			squares += w * w
		}
		variance += share * share * squares / p.precision(sizes, a)
	})
	return variance
}

// precision returns 1/σ_A² = Σ |A|/(σ²|S|) over the measured S ⊇ A; see component.
func (p Params) precision(sizes, a []int) (sum float64) {
	for _, s := range p.Sets {
		if contains(s, a) {
			sum += float64(product(within(sizes, a))) / (p.Sigma2 * float64(product(within(sizes, s))))
		}
	}
	return sum
}

// eachInteraction calls f with the subsets A of some columns. Weights over the cells of the
// columns' marginal C have the pure interaction q with A, of the sums over C's other columns,
// and |A|/|C| is the share.
func eachInteraction(sizes, columns []int, weights []float64, f func(a []int, share float64, q []float64)) {
	own := within(sizes, columns)
	subsets(columns, func(a []int) {
		q := marginalOf(weights, own, places(a, columns))
		interaction(q, within(sizes, a))
		f(a, float64(len(q))/float64(len(weights)), q)
	})
}

// MeanVariance returns the variance of the unbiased counts of all cells of the measured
// marginals, in their mean. Least squares projects the noisy cells onto what a table can
// be, so the squared errors add up to σ² times the dimensions of that space: Π_{a∈A}(n_a − 1)
// for the pure interaction of each A in a measured marginal.
func (p Params) MeanVariance(u *query.Universe) float64 {
	return p.Sigma2 * p.dimensions(u) / float64(p.Cells(u))
}

func (p Params) dimensions(u *query.Universe) (sum float64) {
	sizes, seen := sizesOf(u), make(map[string]bool)
	for _, s := range p.Sets {
		subsets(s, func(a []int) {
			if !seen[key(a)] {
				seen[key(a)] = true
				own := within(sizes, a)
				sum += float64(product(own)) * freedom(own)
			}
		})
	}
	return sum
}

// MeanOfSums returns what MeanVariance would be if the same cells were added up from all
// cells of u, each with independent noise of a variance. A cell of S is the sum of |X|/|S|
// of them, so the mean is variance·|X|·K/Σ|S| over the K marginals.
func (p Params) MeanOfSums(u *query.Universe, variance float64) float64 {
	all := 1.0
	for _, n := range sizesOf(u) {
		all *= float64(n)
	}
	return variance * all * float64(len(p.Sets)) / float64(p.Cells(u))
}
