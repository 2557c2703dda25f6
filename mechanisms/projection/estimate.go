package projection

import (
	"context"
	"math"
	"math/big"
	"math/bits"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Answer is what a release says to a query.
type Answer struct {
	Value  int64   // the estimate, in counts
	Margin float64 // half-width, in counts, of an interval around it
}

// Answer returns the release's answer to q, the sum of weight times count over
// the support, and its margin, in one pass. Value is ⟨Aq, u + ν⟩ with the
// published cells in place of theirs, rounded to the nearest integer where the
// matrix is Dense and exact otherwise, and what cells about a clip are expected
// to have above it (see lift). Without a clip it is unbiased over matrix and
// noise. It can be negative. Margin is explained at margin.
//
// The query is over the release's universe; one of infinite support is
// uncovered. It takes time m (m·T·r/64 where Dense), so the caller bounds m; an
// end of the context is an error with code cancelled.
func (r *Release) Answer(ctx context.Context, q query.Query, confidence float64) (Answer, error) {
	m, err := r.accepts(q, confidence)
	if err != nil || m == 0 {
		return Answer{}, err
	}
	if r.p.Transform == Dense {
		return r.denseAnswer(ctx, q, m, confidence)
	}
	e := r.begin(ctx, m, r.near(confidence))
	defer e.end()
	if err := e.all(q); err != nil {
		return Answer{}, err
	}
	lift := int64(math.Round(e.lift))
	e.sum.plus(wide{lift >> 63, uint64(lift)})
	value, ok := e.sum.int64()
	if !ok {
		return Answer{}, tooLarge()
	}
	return Answer{value, e.margin(m, confidence)}, nil
}

// accepts returns m, or why the release cannot answer q.
func (r *Release) accepts(q query.Query, confidence float64) (uint64, error) {
	if !(confidence > 0 && confidence < 1) {
		return 0, sqlerr.New(sqlerr.Invalid, "a confidence must lie between 0 and 1")
	}
	m, err := r.sparsity(q)
	if err == nil && !r.fits(m, q.MaxWeight()) {
		err = tooLarge()
	}
	return m, err
}

// fits reports whether sums of m coordinates and sums of m weights stay within
// 62 bits, and the sums of products that answer a query within 126.
func (r *Release) fits(m uint64, weight int64) bool {
	support, value := bits.Len64(m), bits.Len64(uint64(r.largest))
	weights := support + bits.Len64(uint64(weight))
	return support+value <= 62 && weights <= 62 && weights+value+bits.Len64(r.p.Rows) <= 126
}

func tooLarge() error {
	return sqlerr.New(sqlerr.Unsupported, "the answer of this release to the query may not fit 64 bits")
}

// denseAnswer returns (1/T)·⟨√T·A·q, √T·(u + ν)⟩ rounded to the nearest integer,
// with its margin.
func (r *Release) denseAnswer(ctx context.Context, q query.Query, m uint64, confidence float64) (Answer, error) {
	parts := make([]wide, workersFor(r.p.Rows))
	buffer := make([]weighted, 0, denseBatch)
	for x, weight := range r.Coder().Elements(q) {
		if buffer = append(buffer, weighted{x, weight}); len(buffer) == denseBatch {
			if err := ended(ctx); err != nil {
				return Answer{}, err
			}
			r.addInner(buffer, parts)
			buffer = buffer[:0]
		}
	}
	r.addInner(buffer, parts)
	var sum wide
	for _, p := range parts {
		sum.plus(p)
	}
	value := divideRounded(sum.big(), r.p.Rows)
	if !value.IsInt64() {
		return Answer{}, tooLarge()
	}
	return Answer{value.Int64(), r.denseMargin(q, m, float64(value.Int64()), confidence)}, nil
}

// addInner adds ⟨√T·A·v, √T·(u + ν)⟩ to the workers' parts.
func (r *Release) addInner(v []weighted, parts []wide) {
	r.matrix.signs.eachBlock(v, r.p.Rows, len(parts), func(worker int, block uint32, sums *[blockRows]int64) {
		first := uint64(block) * blockRows
		part := parts[worker]
		for j := range min(blockRows, r.p.Rows-first) {
			part.addProduct(sums[j], r.sketch.at(first+j))
		}
		parts[worker] = part
	})
}

// divideRounded returns a/n rounded to the nearest integer, halves up.
func divideRounded(a *big.Int, n uint64) *big.Int {
	twice := new(big.Int).SetUint64(n)
	twice.Lsh(twice, 1)
	half := new(big.Int).SetUint64(n)
	a = half.Add(half, new(big.Int).Lsh(a, 1))
	return a.Div(a, twice) // Euclidean: rounds down for a positive divisor
}
