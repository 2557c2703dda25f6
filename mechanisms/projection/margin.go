package projection

import (
	"cmp"
	"math"
	"slices"

	"dpsql/query"
	"dpsql/sqlerr"
)

// exactTerms is the number of coordinates up to which a margin always comes from
// the law of their sum, rather than from its normal approximation.
const exactTerms = 64

// normalKurtosis is the excess kurtosis up to which a longer sum is taken for
// normal; that of 64 draws of discrete Laplace noise is about 3/64.
const normalKurtosis = 0.05

// Margin returns the half-width w, in counts, of an interval around Estimate(q)
// that holds the true count Σ weight·D with about the given confidence, over
// the draws of matrix and noise, for a query chosen without looking at the
// matrix. It is computed from the release alone and costs no privacy.
//
//   - Identity: from the exact law of the noise.
//   - Sparse: a bucket with the signed weight sum c and the square sum s of the
//     support errs like c copies of one random coordinate û, but never less than
//     weights that do not cancel would: variance max(c², s)·V, V = mean û².
//     Collisions with other records are in û.
//   - Dense: variance (Σq²·V + (1−2/m)·estimate²)/T, the second term for the
//     part that the query has in the data itself; and 0.5 for the rounding.
//
// Sums of up to 64 coordinates use the law of the sum. So do longer ones while
// rare large collisions keep them far from normal; the others, and Dense, use the
// normal law.
func (r *Release) Margin(q query.Query, confidence float64) (float64, error) {
	if !(confidence > 0 && confidence < 1) {
		return 0, sqlerr.New(sqlerr.Invalid, "a confidence must lie between 0 and 1")
	}
	m, err := r.sparsity(q)
	switch {
	case err != nil:
		return 0, err
	case m == 0:
		return 0, nil
	case !r.fits(m, q.MaxWeight()):
		return 0, tooLarge()
	case r.p.Transform == Dense:
		return r.denseMargin(q, m, confidence)
	case r.p.Transform == Identity && m > exactTerms:
		return normalQuantile(confidence) * math.Sqrt(q.SumSquares()*r.variance()), nil
	}
	terms := r.terms(q, m)
	squares, fourths := spread(terms)
	if m > exactTerms && r.summary.kurtosis*fourths <= normalKurtosis*squares*squares {
		return normalQuantile(confidence) * math.Sqrt(squares*r.variance()), nil
	}
	return r.sumQuantile(coefficients(terms), confidence), nil
}

// variance returns V, the mean square of a coordinate; never less than that of
// the noise alone, and just that where there are no collisions.
func (r *Release) variance() float64 {
	if r.p.Transform == Identity {
		return r.p.Law.Variance()
	}
	return max(r.summary.meanSquare, r.p.Law.Variance())
}

func (r *Release) denseMargin(q query.Query, m uint64, confidence float64) (float64, error) {
	estimate, err := r.Estimate(q)
	if err != nil {
		return 0, err
	}
	aligned := float64(estimate) * float64(estimate) * max(0, 1-2/float64(m))
	variance := (q.SumSquares()*r.variance() + aligned) / float64(r.p.Rows)
	return normalQuantile(confidence)*math.Sqrt(variance) + 0.5, nil
}

// normalQuantile returns z with P(|Z| <= z) = confidence for a standard normal Z.
func normalQuantile(confidence float64) float64 {
	return math.Sqrt2 * math.Erfcinv(1-confidence)
}

// term is an element of a query's support: its row and signed weight.
type term struct {
	row    uint64
	weight int64
}

// terms returns the terms of the query's support, sorted by row.
func (r *Release) terms(q query.Query, m uint64) []term {
	terms := make([]term, 0, min(m, 1<<20))
	for x, weight := range r.Coder().Elements(q) {
		if r.p.Transform == Identity {
			terms = append(terms, term{x.Lo, weight})
			continue
		}
		row, sign := r.matrix.sketch.at(x)
		terms = append(terms, term{row, weight ^ sign - sign})
	}
	slices.SortFunc(terms, func(a, b term) int { return cmp.Compare(a.row, b.row) })
	return terms
}

// eachBucket splits sorted terms by row and hands over each bucket's terms with
// c, the sum of their weights, and s, the sum of the squares.
func eachBucket(terms []term, use func(bucket []term, c int64, s float64)) {
	for len(terms) > 0 {
		var c int64
		var s float64
		n := 0
		for n < len(terms) && terms[n].row == terms[0].row {
			w := terms[n].weight
			c += w
			s += float64(w) * float64(w)
			n++
		}
		use(terms[:n], c, s)
		terms = terms[n:]
	}
}

// spread returns Σ max(c², s) over the buckets of the terms, and the sum of the
// squares of that.
func spread(terms []term) (squares, fourths float64) {
	eachBucket(terms, func(_ []term, c int64, s float64) {
		v := max(float64(c)*float64(c), s)
		squares += v
		fourths += v * v
	})
	return squares, fourths
}

// coefficients returns positive integers such that the answer errs like the sum
// of independent coordinates with these factors: c for a bucket, or the bucket's
// weights one by one where they cancel.
func coefficients(terms []term) []int64 {
	var cs []int64
	eachBucket(terms, func(bucket []term, c int64, s float64) {
		if float64(c)*float64(c) >= s {
			cs = append(cs, max(c, -c))
			return
		}
		for _, t := range bucket {
			cs = append(cs, max(t.weight, -t.weight))
		}
	})
	return cs
}
