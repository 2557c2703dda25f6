package projection

import (
	"math/big"
	"math/bits"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Estimate returns the release's answer to q in counts, the sum of weight times
// count over the support: ⟨Aq, u + ν⟩, rounded to the nearest integer where the
// matrix is Dense and exact otherwise. It is unbiased over matrix and noise
// and can be negative. The query is over the release's universe; one of
// infinite support is uncovered. It takes time m (m·T·r/64 where Dense), so
// the caller bounds m.
func (r *Release) Estimate(q query.Query) (int64, error) {
	m, err := r.sparsity(q)
	if err != nil {
		return 0, err
	}
	if !r.fits(m, q.MaxWeight()) {
		return 0, tooLarge()
	}
	var sum *big.Int
	if r.p.Transform == Dense {
		sum = r.projected(q)
	} else {
		sum = r.lookedUp(q).big()
	}
	if !sum.IsInt64() {
		return 0, tooLarge()
	}
	return sum.Int64(), nil
}

// fits reports whether sums of m coordinates and sums of m weights stay within
// 62 bits, and the sums of products that answer a query within 126.
func (r *Release) fits(m uint64, weight int64) bool {
	support, value := bits.Len64(m), bits.Len64(uint64(r.summary.largest))
	weights := support + bits.Len64(uint64(weight))
	return support+value <= 62 && weights <= 62 && weights+value+bits.Len64(r.p.Rows) <= 126
}

func tooLarge() error {
	return sqlerr.New(sqlerr.Unsupported, "the answer of this release to the query may not fit 64 bits")
}

// lookedUp returns Σ weight·sign·û over the support, one coordinate an element.
func (r *Release) lookedUp(q query.Query) (sum wide) {
	if !r.u.Coded() {
		for x, weight := range r.Coder().Elements(q) {
			row, sign := r.matrix.sketch.at(x)
			sum.addProduct(weight, r.sketch.at(row)^sign-sign)
		}
		return sum
	}
	for run, weight := range q.Runs() {
		sum.addProduct(weight, r.runSum(run))
	}
	return sum
}

// runSum returns Σ sign·û over a run of codes. fits has bounded it.
func (r *Release) runSum(run query.Run) (sum int64) {
	if r.p.Transform == Identity {
		for x := run.Start; x < run.Start+run.Len; x++ {
			sum += r.sketch.at(x)
		}
		return sum
	}
	for x := run.Start; x < run.Start+run.Len; x++ {
		row, sign := r.matrix.sketch.atPoint(x)
		sum += r.sketch.at(row) ^ sign - sign
	}
	return sum
}

// projected returns (1/T)·⟨√T·A·q, √T·(u + ν)⟩ rounded to the nearest integer.
func (r *Release) projected(q query.Query) *big.Int {
	parts := make([]wide, workersFor(r.p.Rows))
	buffer := make([]weighted, 0, batch)
	for x, weight := range r.Coder().Elements(q) {
		if buffer = append(buffer, weighted{x, weight}); len(buffer) == batch {
			r.addInner(buffer, parts)
			buffer = buffer[:0]
		}
	}
	r.addInner(buffer, parts)
	var sum wide
	for _, p := range parts {
		sum.plus(p)
	}
	return divideRounded(sum.big(), r.p.Rows)
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
