package projection

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"dpsql/noise/law"
	"dpsql/query"
)

// margin returns the half-width w, in counts, of an interval around the answer.
// The interval holds the true count Σ weight·D with about the given confidence,
// over the draws of matrix and noise, for a query chosen without looking at the
// matrix. The margin is computed from the release alone and costs no privacy.
// It is the smallest such integer for a sum of independent coordinates of these
// laws, and is widened in the last two cases:
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
	return r.sumQuantile(factors, confidence) + crowd + e.missed(confidence)
}

// missed returns the addition for excesses that unpublished cells may have lost.
func (e *evaluation) missed(confidence float64) float64 {
	lost := e.lost + e.escaped(confidence)
	if lost == 0 && e.lift <= 0 {
		return 0
	}
	high := lost * float64(e.r.p.Heavy.Threshold-1+e.r.laws[1].quantile(confidence))
	return math.Ceil(max(high-e.raise, e.lift))
}

// escaped returns the largest weight of a cell that may be near the clip
// although its light estimate is not. One such cell is allowed for if
// collisions as large as half the clip are not rare enough for the confidence.
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

// clipMargin returns the light estimate from which on an unpublished cell may
// have lost an excess: the clip minus the margin of one cell, but at least half
// the clip; see escaped. The margin is taken at a confidence of 0.95 or more.
// At less, too many cells would escape. (Of every fortieth cell that does, at
// most t − 1 is lost, and the others have x too much.)
func (r *Release) clipMargin(confidence float64) int64 {
	if r.p.Heavy.Form != Clipped {
		return neverReached
	}
	c := r.p.Heavy.Clip
	return c - min(r.laws[0].quantile(max(confidence, 0.95)), c/2)
}

// factors returns the coordinates that add up to the error, and the addition
// for crowded buckets.
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

// crowded replaces the factors of elements that share a bucket. Let c be the
// sum of their signed weights and s the sum of their squares. They err like c
// copies of û, but never less than the weights one by one would, as if they did
// not cancel.
//
// That is right for a query chosen without looking at the matrix: its elements
// rarely meet, and if so in buckets without records. Somebody who looks can
// choose elements that meet where a record is. Its count D is then taken c
// times instead of once, or not at all. The bucket shows it: û is about ±D. So
// crowded adds max(|c|, √s)·|û|, which bounds that error, for as many meetings
// as exceed those of chance, the worst first. (There is no such bound against a
// list made with knowledge of several records that meet: their counts cancel in
// the sketch.)
//
// The first of the factors are those of the light part, by ascending weight.
func (e *evaluation) crowded(factors []factor, lights int, m uint64) ([]factor, float64) {
	var alone tally
	buckets := 0
	e.table.eachBucket(func(bucket []term, c int64, s float64) {
		for _, t := range bucket {
			dropFactor(factors[:lights], max(t.weight, -t.weight))
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
	if most := toleratedMeetings(m, e.r.p.Rows); buckets > most {
		return factors, e.shifts(most)
	}
	return factors, 0
}

// shifts returns the sum of the buckets' shifts without the smallest ones, as
// many as are forgiven.
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

// dropFactor removes one coordinate of a weight from factors of ascending weights.
func dropFactor(factors []factor, weight int64) {
	i, ok := slices.BinarySearchFunc(factors, weight, func(f factor, w int64) int { return cmp.Compare(f.value, w) })
	if ok && factors[i].times > 0 {
		factors[i].times--
	}
}

// Predict returns the margin to expect of an answer to q. It takes constant
// time: it uses sizes alone and does not look at the support, so it ignores
// published and crowded cells. For an identity release and a query without
// weights it is the margin itself.
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

// Predict returns the margin of an answer to q from a release over u with these parameters,
// before it is built. It is false where that depends on the rows: for a sketch, and for
// weights other than 1.
func (p Params) Predict(u *query.Universe, q query.Query, confidence float64) (margin float64, known bool, err error) {
	if p.Transform != Identity || q.MaxWeight() > 1 {
		return 0, false, nil
	}
	margin, err = p.NoiseMargin(u, q, confidence)
	return margin, err == nil, err
}

// NoiseMargin returns the margin that the noise alone gives an answer to q: one coordinate for
// each record of the support, and the root mean square of the weights for each weight. An
// answer of a sketch is off by other records, too. The transform must not be dense.
func (p Params) NoiseMargin(u *query.Universe, q query.Query, confidence float64) (float64, error) {
	p.Transform = Identity
	law := noiseOf(p.Law)
	r := Release{u: u, p: p, laws: [2]*coordinate{law, law}, widths: newWidths()}
	return r.Predict(q, confidence)
}

// maxFactor bounds the factors of a sum whose law is computed. Larger factors
// are rounded up to one of 32 multiples of a unit.
const maxFactor = 32

// factor is a number of independent coordinates of one law, and the factor they
// share.
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

// widths caches quantiles and the transforms of the laws from which they are
// computed. A first quantile takes milliseconds (BenchmarkMarginSparse64First).
type widths struct {
	normal     lastCall[normalAt, float64] // quantiles of sums that are nearly normal
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

// get returns the quantile of a profile. It calls find if the quantile is not
// cached.
func (w *widths) get(p profile, find func() float64) float64 {
	return remembered(w, w.found, maxWidths, p, find)
}

// remembered returns the map's value at a key, and computes it if it is
// missing. A map of most entries is emptied first.
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

// sumQuantile returns the smallest w, or one slightly larger, with P(|Σ
// factor·X| <= w) >= confidence, for independent X of the release's laws.
func (r *Release) sumQuantile(factors []factor, confidence float64) float64 {
	if len(factors) == 0 {
		return 0
	}
	if f := factors[0]; len(factors) == 1 && f.times == 1 {
		return float64(f.value) * float64(r.laws[f.law].quantile(confidence))
	}
	unit := unitOf(factors)
	if n, ok := r.normal(factors, float64(unit)); ok {
		w := r.widths.normal.get(normalAt{n, confidence}, func() float64 { return n.quantile(confidence) })
		return float64(unit) * w
	}
	p := profileOf(factors, unit, confidence)
	return float64(unit) * r.widths.get(p, func() float64 { return r.gridQuantile(p) })
}

// exactTerms is the number of coordinates up to which the law of a sum is always
// computed.
const exactTerms = 64

// normal returns the law of the sum in units, if it is so near a normal law
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

// normalAt is the key of a quantile of a nearly normal law.
type normalAt struct {
	nearNormal
	confidence float64
}

// unitOf returns the unit in which the positive factors are expressed: their
// greatest common divisor, or a multiple of it if factors in that unit would
// exceed maxFactor.
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

// almostNormal is the largest excess kurtosis at which Edgeworth's first
// correction gives the law of a sum to within about a hundredth of a tail of
// 1/1000.
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
	tail      func(k int64) float64 // P(|X| >= k)
	variance  float64
	fourth    float64                  // the fourth cumulant
	quantiles lastCall[float64, int64] // quantile
}

// noiseOf returns the law of noise alone.
func noiseOf(law law.Law) *coordinate {
	c := &coordinate{variance: law.Variance()}
	c.tail = func(k int64) float64 {
		if k <= 0 {
			return 1
		}
		return 2 * law.Tail(k)
	}
	c.fourth = c.moment4() - 3*c.variance*c.variance
	return c
}

// moment4 returns E X⁴ = Σ_k (k⁴ − (k−1)⁴)·P(|X| >= k). It sums wide laws in
// larger steps, since the result serves only for a correction.
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
	return c.quantiles.get(confidence, func() int64 { return smallest(c.tail, 1-confidence) })
}

// summary describes a noisy sketch û, for margins.
type summary struct {
	meanSquare float64   // V = mean û²
	kurtosis   float64   // mean û⁴/V² − 3, 0 for a normal law
	largest    int64     // max |û|
	atLeast    []float64 // by bin: the fraction of coordinates with |û| in this bin or a later one
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

// lastCall caches the value of a function at its last argument. Statements ask
// for one confidence, and often for one number of records. The zero lastCall is
// ready for concurrent use.
type lastCall[K comparable, V any] struct {
	known atomic.Pointer[outcome[K, V]]
}

type outcome[K comparable, V any] struct {
	key   K
	value V
}

// get returns the function's value at key. It calls find unless key is the last
// argument.
func (l *lastCall[K, V]) get(key K, find func() V) V {
	if o := l.known.Load(); o != nil && o.key == key {
		return o.value
	}
	v := find()
	l.known.Store(&outcome[K, V]{key, v})
	return v
}
