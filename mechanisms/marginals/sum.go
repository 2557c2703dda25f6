package marginals

import (
	"context"
	"math"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Sum adds the answers of several releases, of rows that no other of them has, to one query on
// each. Where there is an unbiased estimate of each, it is their sum: fits are biased, and biases
// add up. Their noise is independent, so the interval is that of the sum, of which the theorem at
// margin holds as well. Otherwise the sum of the fits has none, and is not Verified.
func Sum(ctx context.Context, releases []*Release, queries []query.Query, confidence float64) (Answer, error) {
	sum := combination{least: math.Inf(1)}
	unbiased, fitted, verified := 0.0, int64(0), true
	for i, r := range releases {
		if verified = verified && r.measured(queries[i]); !verified {
			break
		}
		columns, weights, err := r.weigh(queries[i], confidence)
		if err != nil {
			return Answer{}, err
		}
		if err := contextError(ctx); err != nil {
			return Answer{}, err
		}
		estimate, variance, _ := r.unbiased(columns, weights)
		unbiased += estimate
		sum.variance += variance
		sum.squares += variance / r.p.Sigma2
		sum.least = min(sum.least, r.p.Sigma2)
		sum.n += r.cells
	}
	if !verified {
		for i, r := range releases {
			a, err := r.Answer(ctx, queries[i], confidence)
			if err != nil {
				return Answer{}, err
			}
			fitted += a.Value
		}
		return Answer{Value: fitted}, nil
	}
	if !(math.Abs(unbiased) < 1<<62) {
		return Answer{}, sqlerr.New(sqlerr.Unsupported, "the answer of these releases to the query may not fit 64 bits")
	}
	a := Answer{Value: int64(math.Round(unbiased)), Verified: true}
	value := float64(a.Value)
	a.Low, a.High = whole(unbiased, sum.margin(confidence))
	a.Margin = max(a.High-value, value-a.Low)
	a.Low, a.High = value-a.Margin, value+a.Margin
	return a, nil
}
