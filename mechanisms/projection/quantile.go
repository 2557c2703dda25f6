package projection

import "sync"

// maxFactor bounds the factors of a sum whose law is computed; larger ones are
// rounded up to one of 32 multiples of a unit.
const maxFactor = 32

// profile names the law of a sum Σ factor·X with independent X, and a quantile.
type profile struct {
	times      [maxFactor + 1]uint32 // how often each factor occurs
	confidence float64
}

// factors returns the factors that occur, ascending.
func (p *profile) factors() (fs []int) {
	for f, n := range p.times {
		if n > 0 {
			fs = append(fs, f)
		}
	}
	return fs
}

// widths remembers the quantiles of sums found so far: they depend on the
// release and on how many coordinates a query adds, not on which.
type widths struct {
	mu    sync.Mutex
	found map[profile]float64
}

// maxWidths bounds the memory of widths.
const maxWidths = 1024

func newWidths() *widths { return &widths{found: make(map[profile]float64)} }

// of returns the quantile of a profile, found by find if it is not known yet.
func (w *widths) of(p profile, find func() float64) float64 {
	w.mu.Lock()
	width, known := w.found[p]
	w.mu.Unlock()
	if known {
		return width
	}
	width = find()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.found) == maxWidths {
		clear(w.found)
	}
	w.found[p] = width
	return width
}

// sumQuantile returns w with P(|Σ factor·û| <= w) >= confidence, for independent
// random coordinates û: the exact noise where there are no collisions, else the
// symmetrised empirical law of the sketch, or the noise's if that is wider.
func (r *Release) sumQuantile(factors []int64, confidence float64) float64 {
	unit, p := profileOf(factors, confidence)
	return float64(unit) * r.widths.of(p, func() float64 {
		w := sumQuantile(p, r.noiseTail)
		if r.p.Transform == Sparse {
			w = max(w, sumQuantile(p, r.summary.tail))
		}
		return w
	})
}

// noiseTail returns P(|ν| >= k) for k >= 0.
func (r *Release) noiseTail(k int64) float64 {
	if k <= 0 {
		return 1
	}
	return min(1, 2*r.p.Law.Tail(k))
}

// profileOf expresses the factors, which are positive, in a unit: exactly by
// their greatest common divisor, or rounded up where that leaves factors above
// maxFactor. For the symmetric unimodal laws of noise a larger factor only
// spreads the sum.
func profileOf(factors []int64, confidence float64) (unit int64, p profile) {
	var largest int64
	for _, f := range factors {
		largest = max(largest, f)
		for a := f; a != 0; {
			unit, a = a, unit%a
		}
	}
	unit *= (largest/unit + maxFactor - 1) / maxFactor
	p.confidence = confidence
	for _, f := range factors {
		p.times[(f+unit-1)/unit]++
	}
	return unit, p
}
