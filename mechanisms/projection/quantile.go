package projection

import (
	"math"
	"sync"
)

// maxFactor bounds the factors of a sum whose law is computed; larger ones are
// rounded up to one of 32 multiples of a unit.
const maxFactor = 32

// factor says how many independent coordinates of a law are added with a factor.
type factor struct {
	law   int   // number of the law
	value int64 // above 0
	times uint64
}

// profile names the law of a sum Σ factor·X with independent X of two laws, and
// a quantile.
type profile struct {
	times      [2][maxFactor + 1]uint32 // by law: how often each factor occurs
	confidence float64
}

// each calls use with every law and factor that occurs, and how often.
func (p *profile) each(use func(law, factor int, times float64)) {
	for law := range p.times {
		for f, n := range p.times[law] {
			if n > 0 {
				use(law, f, float64(n))
			}
		}
	}
}

// widths remembers what is costly about quantiles and does not depend on which
// coordinates a query adds: those found so far, and the transforms of the laws.
type widths struct {
	last       last[normalAt, float64] // quantiles of sums that are nearly normal
	mu         sync.Mutex
	found      map[profile]float64
	transforms map[circle][]float64
	sines      map[int][]float64
}

// maxWidths bounds the memory of widths.
const maxWidths = 1024

func newWidths() *widths {
	return &widths{found: make(map[profile]float64), transforms: make(map[circle][]float64), sines: make(map[int][]float64)}
}

// of returns the quantile of a profile, found by find if it is not known yet.
func (w *widths) of(p profile, find func() float64) float64 {
	return kept(w, w.found, maxWidths, p, find)
}

// kept returns what a map holds under a key, computed if it is not there yet. A
// map of most entries starts anew.
func kept[K comparable, V any](w *widths, m map[K]V, most int, key K, compute func() V) V {
	w.mu.Lock()
	v, known := m[key]
	w.mu.Unlock()
	if known {
		return v
	}
	v = compute()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(m) == most {
		clear(m)
	}
	m[key] = v
	return v
}

// maxTransforms bounds the transforms kept, of up to 128 KiB each.
const maxTransforms = 64

// sumQuantile returns the smallest w, or one hardly larger, with
// P(|Σ factor·X| <= w) >= confidence, for independent X of the release's laws.
func (r *Release) sumQuantile(factors []factor, confidence float64) float64 {
	if len(factors) == 0 {
		return 0
	}
	if f := factors[0]; len(factors) == 1 && f.times == 1 {
		return float64(f.value) * float64(r.laws[f.law].quantile(confidence))
	}
	unit := unitOf(factors)
	if n, ok := r.normal(factors, float64(unit)); ok {
		w := r.widths.last.of(normalAt{n, confidence}, func() float64 { return n.quantile(confidence) })
		return float64(unit) * w
	}
	p := profileOf(factors, unit, confidence)
	return float64(unit) * r.widths.of(p, func() float64 { return r.gridQuantile(p) })
}

// exactTerms is the number of coordinates up to which the law of a sum is always
// computed.
const exactTerms = 64

// normal returns the law of the sum in units, where it is so near a normal one
// that it need not be computed.
func (r *Release) normal(factors []factor, unit float64) (nearNormal, bool) {
	var terms uint64
	var variance, fourth float64
	for _, f := range factors {
		square := float64(f.value) * float64(f.value) / (unit * unit)
		terms += f.times
		variance += float64(f.times) * square * r.laws[f.law].variance
		fourth += float64(f.times) * square * square * r.laws[f.law].fourth
	}
	n := nearNormal{math.Sqrt(variance), fourth / (variance * variance)}
	return n, terms > exactTerms && variance >= 16 && math.Abs(n.kurtosis) <= almostNormal
}

// normalAt names a quantile of a nearly normal law.
type normalAt struct {
	nearNormal
	confidence float64
}

// unitOf returns the unit in which factors, which are positive, are expressed:
// their greatest common divisor, or where that leaves factors above maxFactor a
// multiple of it.
func unitOf(factors []factor) (unit int64) {
	var largest int64
	for _, f := range factors {
		largest = max(largest, f.value)
		for a := f.value; a != 0; {
			unit, a = a, unit%a
		}
	}
	return unit * ((largest/unit + maxFactor - 1) / maxFactor)
}

// profileOf expresses the factors in the unit, rounded up. For the symmetric
// unimodal laws of noise a larger factor only spreads the sum.
func profileOf(factors []factor, unit int64, confidence float64) (p profile) {
	p.confidence = confidence
	for _, f := range factors {
		p.times[f.law][(f.value+unit-1)/unit] += uint32(f.times)
	}
	return p
}
