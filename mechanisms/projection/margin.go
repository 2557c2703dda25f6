package projection

import (
	"cmp"
	"math"
	"slices"

	"dpsql/query"
)

// margin returns the half-width w, in counts, of an interval around the answer
// that holds the true count Σ weight·D with about the given confidence, over
// the draws of matrix and noise, for a query chosen without looking at the
// matrix. It is computed from the release alone and costs no privacy. It is the
// smallest such integer for an error that is a sum of independent coordinates, but
// for the cases below:
//
//   - Identity: each with the law of the noise.
//   - Sparse: each with the law of a random coordinate û of the sketch,
//     symmetrised; collisions with other records are in û.
//   - A published cell: with the law of the noise. (One of excess e below the
//     threshold t is published when ν ≥ t − e; then only the upper half of the
//     noise can be too large. It is unpublished otherwise, when only a light
//     estimate too far below the clip, the lower half, escapes the next rule:
//     together no more than both halves.)
//   - An unpublished cell whose light estimate is not clearly below the clip may
//     have lost an excess: between nothing and t − 1 + x, x the quantile of the
//     noise. The answer has the lift instead. The margin grows by the distance from
//     the lift to the farther of the two.
//   - Elements that meet in a bucket: see crowded.
func (e *evaluation) margin(m uint64, confidence float64) float64 {
	r := e.r
	factors, crowd := e.factors(m)
	w := r.sumQuantile(factors, confidence) + crowd
	if lost := e.lost + e.escaped(confidence); lost > 0 || e.lift > 0 {
		high := lost * float64(r.p.Heavy.Threshold-1+r.laws[1].quantile(confidence))
		w += math.Ceil(max(high-e.raise, e.lift))
	}
	return w
}

// escaped returns the weight of one cell that may be about the clip though its
// light estimate is not. Such a cell is allowed for where collisions as large as
// half the clip are not rare enough for the confidence.
func (e *evaluation) escaped(confidence float64) (most float64) {
	h := e.r.p.Heavy
	if h.Form != Clipped || e.r.laws[0].quantile(confidence) <= h.Clip/2 {
		return 0
	}
	for _, t := range e.light {
		most = max(most, float64(t.weight))
	}
	return most
}

// clipMargin returns the light estimate from which on an unpublished cell may have
// lost an excess: the clip less the margin of one cell. The margin is taken at a
// confidence of 0.95 or more: at less, too many of many cells would escape. (Of each
// fortieth that does, t − 1 is lost at most, and the others have x too much.) It is
// half the clip at most; see escaped.
func (r *Release) clipMargin(confidence float64) int64 {
	if r.p.Heavy.Form != Clipped {
		return neverReached
	}
	c := r.p.Heavy.Clip
	return c - min(r.laws[0].quantile(max(confidence, 0.95)), c/2)
}

// factors returns the coordinates that add up to the error, and what crowded
// buckets add to it.
func (e *evaluation) factors(m uint64) (factors []factor, crowd float64) {
	e.light, e.heavy = e.light.merged(), e.heavy.merged()
	for _, t := range e.light {
		factors = append(factors, factor{0, t.weight, t.times})
	}
	lights := len(factors)
	for _, t := range e.heavy {
		factors = append(factors, factor{1, t.weight, t.times})
	}
	if e.table.search(); len(e.table.found) == 0 {
		return factors, 0
	}
	return e.crowded(factors, lights, m)
}

// crowded replaces the factors of elements that share a bucket b: with the
// signed weight sum c and the square sum s they err like c copies of û, but never
// less than weights that do not cancel would, that is like the weights one by
// one.
//
// That is right for a query chosen without looking at the matrix: its elements
// meet rarely, and in buckets without records. Somebody who looks can choose
// elements that meet where a record is; its count D is then taken c times instead
// of once, or not at all. The bucket shows it: û is about ±D. So max(|c|, √s)·|û|,
// which bounds that error, is added for as many meetings as exceed those of chance,
// the worst first. (There is no such bound against a list made with knowledge of
// several records that meet: their counts cancel in the sketch.)
//
// The first of the factors are those of the light part, by ascending weight.
func (e *evaluation) crowded(factors []factor, lights int, m uint64) ([]factor, float64) {
	var alone tally
	buckets := 0
	e.table.eachBucket(func(bucket []term, c int64, s float64) {
		for _, t := range bucket {
			drop(factors[:lights], max(t.weight, -t.weight))
		}
		buckets++
		if float64(c)*float64(c) >= s {
			alone.add(max(c, -c), 1)
			return
		}
		for _, t := range bucket {
			alone.add(max(t.weight, -t.weight), 1)
		}
	})
	for _, t := range alone.merged() {
		factors = append(factors, factor{0, t.weight, t.times})
	}
	factors = slices.DeleteFunc(factors, func(f factor) bool { return f.times == 0 })
	if most := forgiven(m, e.r.p.Rows); buckets > most {
		return factors, e.shifts(most)
	}
	return factors, 0
}

// shifts returns the sum of the buckets' shifts, without the smallest ones that are
// forgiven.
func (e *evaluation) shifts(forgiven int) (sum float64) {
	var shifts []float64
	e.table.eachBucket(func(bucket []term, c int64, s float64) {
		s = max(s, float64(c)*float64(c))
		shifts = append(shifts, math.Sqrt(s)*math.Abs(float64(e.r.sketch.at(bucket[0].row))))
	})
	slices.Sort(shifts)
	for _, s := range slices.Backward(shifts[forgiven:]) {
		sum += s
	}
	return sum
}

// drop removes one coordinate of a weight from factors of ascending weights.
func drop(factors []factor, weight int64) {
	i, ok := slices.BinarySearchFunc(factors, weight, func(f factor, w int64) int { return cmp.Compare(f.value, w) })
	if ok && factors[i].times > 0 {
		factors[i].times--
	}
}

// Predict returns the margin that an answer to q can be expected to have. It uses
// sizes alone, in constant time, and does not look at the support: published and
// crowded cells are not known to it. It is the margin itself for an identity release
// and a query without weights.
func (r *Release) Predict(q query.Query, confidence float64) (float64, error) {
	m, err := r.accepts(q, confidence)
	if err != nil || m == 0 {
		return 0, err
	}
	if r.p.Transform == Dense {
		return r.denseMargin(q, m, 0, confidence), nil
	}
	weight := max(1, math.Round(math.Sqrt(q.SumSquares()/float64(m))))
	return r.sumQuantile([]factor{{0, int64(weight), m}}, confidence), nil
}
