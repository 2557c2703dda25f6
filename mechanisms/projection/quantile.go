package projection

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"dpsql/noise"
)

// maxFactor bounds the factors of a sum whose law is computed; larger ones are
// rounded up to one of 32 multiples of a unit.
const maxFactor = 32

// factor is a number of independent coordinates of one law and with one factor.
type factor struct {
	law   int   // number of the law
	value int64 // above 0
	times uint64
}

// profile identifies a quantile of a sum Σ factor·X with independent X of two laws.
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

// widths remembers quantiles and the transforms of the laws that they are computed
// from. A first quantile takes milliseconds (BenchmarkMarginSparse64First).
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

// get returns the quantile of a profile, found by find if it is not known yet.
func (w *widths) get(p profile, find func() float64) float64 {
	return remembered(w, w.found, maxWidths, p, find)
}

// remembered returns what a map holds under a key, computed if it is not there yet. A
// map of most entries starts anew.
func remembered[K comparable, V any](w *widths, m map[K]V, most int, key K, compute func() V) V {
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
		w := r.widths.last.get(normalAt{n, confidence}, func() float64 { return n.quantile(confidence) })
		return float64(unit) * w
	}
	p := profileOf(factors, unit, confidence)
	return float64(unit) * r.widths.get(p, func() float64 { return r.gridQuantile(p) })
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

// normalQuantile returns z with P(|Z| <= z) = confidence for a standard normal Z.
func normalQuantile(confidence float64) float64 {
	return math.Sqrt2 * math.Erfcinv(1-confidence)
}

// almostNormal is the excess kurtosis up to which Edgeworth's first correction
// gives the law of a sum within about a hundredth of a tail of 1/1000.
const almostNormal = 0.05

// nearNormal is the law of a sum of many independent integers near a normal one.
type nearNormal struct{ deviation, kurtosis float64 }

// within returns P(|S| <= w), for integers w: Edgeworth's expansion to the
// fourth cumulant, with the correction for the lattice (Euler and Maclaurin).
func (n nearNormal) within(w float64) float64 {
	z := (w + 0.5) / n.deviation
	density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	return math.Erf(z/math.Sqrt2) - density*(z*z*z-3*z)*n.kurtosis/12 + density*z/(12*n.deviation*n.deviation)
}

// quantile returns the smallest integer w >= 0 with P(|S| <= w) >= confidence.
func (n nearNormal) quantile(confidence float64) float64 {
	z := normalQuantile(confidence)
	z += (z*z*z - 3*z) * n.kurtosis / 24
	w := max(0, math.Ceil(z*n.deviation-0.5))
	for n.within(w) < confidence {
		w++
	}
	for w > 0 && n.within(w-1) >= confidence {
		w--
	}
	return w
}

// coordinate is the law of the error of one coordinate, symmetric about 0.
type coordinate struct {
	tail     func(k int64) float64 // P(|X| >= k)
	variance float64
	fourth   float64              // the fourth cumulant
	last     last[float64, int64] // quantile
}

// noiseOf returns the law of noise alone.
func noiseOf(law noise.Law) *coordinate {
	c := &coordinate{variance: law.Variance()}
	c.tail = func(k int64) float64 {
		if k <= 0 {
			return 1
		}
		return min(1, 2*law.Tail(k))
	}
	c.fourth = c.moment4() - 3*c.variance*c.variance
	return c
}

// moment4 returns E X⁴ = Σ_k (k⁴ − (k−1)⁴)·P(|X| >= k), in larger steps for wide
// laws: it serves for a correction only.
func (c *coordinate) moment4() (sum float64) {
	deviation := math.Sqrt(c.variance)
	step := max(1, math.Floor(deviation/50))
	for k := 0.0; ; k += step {
		next := k + step
		term := (next*next*next*next - k*k*k*k) * c.tail(int64((k+next+1)/2))
		sum += term
		if term <= 1e-9*sum || next > 60*deviation+60 {
			return sum
		}
	}
}

// quantile returns the smallest w with P(|X| <= w) >= confidence.
func (c *coordinate) quantile(confidence float64) int64 {
	return c.last.get(confidence, func() int64 { return smallest(c.tail, 1-confidence) })
}

// summary describes a noisy sketch û, for margins.
type summary struct {
	meanSquare float64   // V = mean û²
	kurtosis   float64   // mean û⁴/V² − 3, 0 for a normal law
	largest    int64     // max |û|
	atLeast    []float64 // by bin: the fraction of coordinates with |û| in it or in a later one
}

// exactBins is the number of absolute values that have a bin of their own;
// later bins are wider by at most 2^-11 of their values.
const exactBins = 1 << 12

// binOf returns the number of the bin of v >= 0.
func binOf(v int64) int {
	if v < exactBins {
		return int(v)
	}
	shift := bits.Len64(uint64(v)) - 12
	return shift<<11 + int(v>>shift)
}

// summarise reads the sketch once and returns its summary.
func summarise(v vector) summary {
	counts := make([]uint64, exactBins)
	var s summary
	var squares, fourths float64
	v.tally(func(x int64, times uint64) {
		square := float64(x) * float64(x)
		squares += square * float64(times)
		fourths += square * square * float64(times)
		x = max(x, -x)
		s.largest = max(s.largest, x)
		bin := binOf(x)
		if bin >= len(counts) {
			counts = append(counts, make([]uint64, bin+1-len(counts))...)
		}
		counts[bin] += times
	})
	n := float64(v.len())
	s.meanSquare = squares / n
	if squares > 0 {
		s.kurtosis = n*fourths/(squares*squares) - 3
	}
	s.atLeast = make([]float64, binOf(s.largest)+1)
	var above uint64
	for i := len(s.atLeast) - 1; i >= 0; i-- {
		above += counts[i]
		s.atLeast[i] = float64(above) / n
	}
	return s
}

// tail returns the fraction of coordinates with |û| >= k, for k >= 0, rounded up
// to whole bins.
func (s *summary) tail(k int64) float64 {
	if k > s.largest {
		return 0
	}
	return s.atLeast[binOf(k)]
}

// coordinate returns the law of the error of one coordinate: the law of û,
// symmetrised, or that of the noise where it is wider.
func (s *summary) coordinate(noise *coordinate) *coordinate {
	return &coordinate{
		tail:     func(k int64) float64 { return max(noise.tail(k), s.tail(k)) },
		variance: max(noise.variance, s.meanSquare),
		fourth:   max(noise.fourth, s.kurtosis*s.meanSquare*s.meanSquare),
	}
}

// last remembers the value of a function at its last argument: statements ask for
// one confidence, and often for one number of records. Its zero value is ready for
// concurrent use.
type last[K comparable, V any] struct {
	known atomic.Pointer[outcome[K, V]]
}

type outcome[K comparable, V any] struct {
	key   K
	value V
}

// get returns the function's value at key, by find if it is not the last one.
func (l *last[K, V]) get(key K, find func() V) V {
	if o := l.known.Load(); o != nil && o.key == key {
		return o.value
	}
	v := find()
	l.known.Store(&outcome[K, V]{key, v})
	return v
}
