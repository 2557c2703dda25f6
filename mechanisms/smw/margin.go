package smw

import (
	"math"
	"sort"

	"dpsql/noise"
)

// SimultaneousBound returns x_γ, in counts: with probability at least 1 − γ no
// comparison of the first k has |ν − τ| above it, over B runs, nor the noise of
// a count that is taken anew when one fires. Stated before
// the run, for all k answers at once: an answer that did not fire is within
// T + x_γ of its true count, and one that fired within x_γ. It is a sound
// upper bound on that quantile, within about 1/50 of the noise's scale, and
// does not fall when γ falls or k or B grow. It is math.MaxInt64 when there is
// no such bound.
func (p Params) SimultaneousBound(gamma float64) int64 {
	tau, nu, err := p.laws()
	again, aerr := p.FiredLaw()
	if err != nil || aerr != nil || !(gamma > 0) {
		return math.MaxInt64
	}
	// The laws are symmetric: P(some |ν−τ| > x) ≤ 2·P(max ν + max τ > x) over
	// 2k draws of ν and B of τ, whichever ν meets which τ.
	m := newMaxima(tau, float64(p.Updates))
	n := 2 * float64(p.Queries)
	step := max(int64(deviation(nu)/512), 1)
	// The union bound over both laws is above the answer, but for the blocks.
	high := addCapped(oneSided(tau, float64(p.Updates), gamma/4), oneSided(nu, n, gamma/4))
	ok := func(j int64) bool {
		above := 2 * m.sumAbove(nu, n, j*step)
		if again != nil {
			above += 2 * float64(p.Updates) * again.Tail(j*step+1)
		}
		return above <= gamma
	}
	return leastMultiple(ok, step, high/step+1)
}

// UnfiredMargin returns a half-width, in counts, for a single answer that does
// not fire, valid with the given confidence: T + a + b, where the chance that
// any of the B draws of τ exceeds a, and that a ν exceeds b, is at most half
// of 1 − confidence each. It is stated before the comparison: nothing is said
// conditional on not having fired.
func (p Params) UnfiredMargin(confidence float64) int64 {
	tau, nu, err := p.laws()
	half := (1 - confidence) / 2 * (1 - 1e-12)
	if err != nil || !(half > 0) {
		return math.MaxInt64
	}
	a := oneSided(tau, float64(p.Updates), half)
	b := oneSided(nu, 1, half)
	return addCapped(p.Threshold, addCapped(a, b))
}

// FiredMargin returns a half-width, in counts, for an answer that fired, valid
// with the given confidence for all answers of the mechanism at once:
// x_γ at γ = 1 − confidence. A single fired answer has no smaller one, as
// firing selects large noise; but one that was counted anew has, for itself and
// given that it fired, the half-width of that noise.
func (p Params) FiredMargin(confidence float64) int64 {
	if law, err := p.FiredLaw(); err == nil && law != nil {
		return noise.HalfWidth(law, confidence)
	}
	return p.SimultaneousBound((1 - confidence) * (1 - 1e-12))
}

// oneSided returns the smallest a ≥ 0 with draws·P(X > a) ≤ gamma.
func oneSided(l noise.Law, draws, gamma float64) int64 {
	return leastMultiple(func(a int64) bool { return draws*l.Tail(a+1) <= gamma }, 1, 1)
}

// leastMultiple returns step times the smallest j ≥ 0 at which ok holds, which holds
// from there on; math.MaxInt64 when there is none below the limit. It looks
// below hi first.
func leastMultiple(ok func(j int64) bool, step, hi int64) int64 {
	for !ok(hi) {
		if hi > limit/step/2 {
			return math.MaxInt64
		}
		hi *= 2
	}
	return step * int64(sort.Search(int(hi), func(j int) bool { return ok(int64(j)) }))
}

func addCapped(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func deviation(l noise.Law) float64 { return math.Sqrt(l.Variance()) }

// maximumAbove returns P(max of n draws ≥ y).
func maximumAbove(l noise.Law, n float64, y int64) float64 {
	return -math.Expm1(n * math.Log1p(-l.Tail(y)))
}

// maxima is the law of the largest of several draws, moved up to the tops of
// blocks of equal width: P(top) is the chance of a maximum in (top−width, top].
type maxima struct {
	tops   []int64
	chance []float64
	beyond float64 // the chance of a maximum above the last top
}

// negligible is a probability that is simply added to a bound. No γ comes near it.
const negligible = 1e-40

func newMaxima(l noise.Law, n float64) maxima {
	width := max(int64(deviation(l)/64), 1)
	top := -8 * int64(deviation(l)) // lower maxima count as this
	above := maximumAbove(l, n, top+1)
	m := maxima{tops: []int64{top}, chance: []float64{1 - above}}
	for above > negligible {
		top += width
		next := maximumAbove(l, n, top+1)
		if c := above - next; c > 0 {
			m.tops = append(m.tops, top)
			m.chance = append(m.chance, c)
		}
		above = next
	}
	m.beyond = above
	return m
}

// sumAbove bounds P(M + M' > x) from above, M being the largest of n draws of l
// and M' the maximum that m describes.
func (m maxima) sumAbove(l noise.Law, n float64, x int64) float64 {
	sum := m.beyond
	for i, top := range m.tops {
		if m.chance[i] < negligible {
			sum += m.chance[i]
			continue
		}
		sum += m.chance[i] * maximumAbove(l, n, x-top+1)
	}
	return sum * (1 + 1e-9) // the rounding of the terms
}
