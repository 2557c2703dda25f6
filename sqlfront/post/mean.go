package post

import "math"

// whole returns the terms of a mean's sum. Where an answer is of a sum less so much for each
// record, the count has a term that puts it back.
func (m Mean) whole(r *row) []Term {
	i := m.less(r)
	if i < 0 {
		return m.Terms
	}
	t := m.Terms[i]
	return append(m.Terms[:len(m.Terms):len(m.Terms)], Term{m.Count, t.Factor * *r.answers[t.Slot].Less})
}

// less returns the index of the term whose answer is of a sum less so much for each record, or -1.
func (m Mean) less(r *row) int {
	if r.cells == nil {
		for i, t := range m.Terms {
			if r.answers[t.Slot].Less != nil {
				return i
			}
		}
	}
	return -1
}

// together encloses a mean by one test of two answers with noise of their own: the sum T of the
// values less a constant, and the count N. Nothing else uses T, so that the test has the error
// probability of its interval. It returns false for other answers.
//
// Let T̂ and N̂ be the noisy numbers and r = T/N the true quotient. Then T̂ − rN̂ is the noise of T less
// r times that of N. The quotients r that a test of it does not exclude have the true one among
// them, with the confidence of the test (Fieller 1954). If N̂ is far above its noise they are an
// interval, and otherwise they have no bounds.
func (b box) together(m Mean) (out bounds, ok bool) {
	i := m.less(b.row)
	if i < 0 || len(m.Terms) > 2 {
		return out, false
	}
	sum, count := b.row.answers[m.Terms[i].Slot], b.row.answers[m.Count]
	if sum.Variance == nil || count.Variance == nil {
		return out, false
	}
	s, t := sum.Variance(), count.Variance()
	if !(s >= 1 && t >= 1) {
		return out, false
	}
	z, n := math.Sqrt2*math.Erfinv(b.each), float64(count.Value)
	slope := n - z*math.Sqrt(t) - 1
	if !(slope > 0) {
		return bounds{}, true
	}
	within := difference(s, t)
	// most returns the largest quotient for a sum, between one that is not excluded and one that
	// the Gaussian of variance s + r²t excludes, but for 1 + |r|.
	most := func(sum float64) float64 {
		lo := sum / n
		return halved(lo, lo+(z*math.Sqrt(s+lo*lo*t)+1+math.Abs(lo))/slope, func(r float64) float64 {
			return math.Sqrt2*math.Erfinv(min(within(r, r*n-sum), math.Nextafter(1, 0))) - z // of r nearly linear
		})
	}
	unit := 1.0
	if m.Unit != nil {
		unit, _ = m.Unit.Float64()
	}
	factor, added := unit*float64(m.Terms[i].Factor), unit*float64(m.Terms[i].Factor)*float64(*sum.Less)
	for j, term := range m.Terms {
		if j != i {
			added += unit * float64(term.Factor)
		}
	}
	x, y := added-factor*most(-float64(sum.Value)), added+factor*most(float64(sum.Value))
	return interval(min(x, y), max(x, y)), true
}

// halved returns the upper end of what 40 halvings of an interval leave, on which f grows from below 0 to
// above it. False position narrows it first (the Illinois algorithm), and decides most of the halvings.
func halved(lo, hi float64, f func(float64) float64) float64 {
	low, high, side := lo, hi, 0
	at, to := f(low), f(high)
	for range 40 {
		r := low - at*(high-low)/(to-at)
		if !(low < r && r < high) || high-low < (hi-lo)/(1<<40) {
			break
		}
		if y := f(r); y < 0 {
			if low, at = r, y; side < 0 {
				to /= 2
			}
			side = -1
		} else {
			if high, to = r, y; side > 0 {
				at /= 2
			}
			side = 1
		}
	}
	for range 40 {
		if r := lo/2 + hi/2; r <= low || r < high && f(r) < 0 {
			lo = r
		} else {
			hi = r
		}
	}
	return hi
}

// mostSummed is the largest σ² for which difference adds up the probabilities of a noise.
const mostSummed = 400

// difference returns the least probability with which |X − rY| ≤ w, for independent discrete
// Gaussian noises X and Y of σ² = s and t, both at least 1. X is within 1 of a Gaussian draw (see
// direct.Cumulative), and so is Y: for large t, rY is within |r| of one.
func difference(s, t float64) func(r, w float64) float64 {
	if t > mostSummed {
		return func(r, w float64) float64 {
			return math.Erf(max(0, w-1-math.Abs(r)) / math.Sqrt(2*(s+r*r*t)))
		}
	}
	last, total := int(math.Ceil(9*math.Sqrt(t))), 0.0
	share := make([]float64, last+1)
	for k := range share {
		share[k] = math.Exp(-float64(k*k) / (2 * t))
		total += share[k] * float64(min(k, 1)+1)
	}
	scale := math.Sqrt(2 * s)
	return func(r, w float64) (p float64) {
		if w = max(0, w-1); w == 0 {
			return 0
		}
		for k, of := range share {
			at := r * float64(k)
			p += of * float64(min(k, 1)+1) * (math.Erf((w+at)/scale) + math.Erf((w-at)/scale)) / 2
		}
		return p / total
	}
}

// mean encloses a mean.
func (b box) mean(m Mean) bounds {
	lo, hi := m.ends()
	q, ok := b.together(m)
	if n := formOf([]Term{{m.Count, 1}}); !ok && b.interval(n).Low > 0 { // else the true mean can be NULL
		q = b.enclose(&ratio{inUnits(m.whole(b.row), m.Unit), n})
	}
	if !q.bounded {
		return bounds{}
	}
	return q.within(lo, hi).off(m.off()).typed(Real)
}
