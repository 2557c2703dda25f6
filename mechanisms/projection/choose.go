package projection

import (
	"math"
	"math/big"
	"math/bits"

	"dpsql/noise/law"
	"dpsql/sqlerr"
)

// Plan describes a sparse release by what is public about it, before its size
// and its form of heavy cells are chosen.
type Plan struct {
	Cells   *big.Int // |X|, nil when it is infinite
	Records float64  // N̂, the noisy number of rows
	Support uint64   // max_support: the largest queries to serve
	Memory  uint64   // bytes that the buckets may take
	Rows    uint64   // T, if it is given; else 0
	// Options are the ways to treat heavy cells, without Rows. A Clipped option
	// without Clip leaves the clip to Choose. Their laws are discrete Laplace.
	Options []Option
}

// Option is one way to treat heavy cells: the parameters, and the scales of
// their noise.
type Option struct {
	Params    Params
	Scale     float64 // of the noise of Law
	NameScale float64 // of the noise of NameLaw
}

// fewestRows is the least T that Choose takes. A smaller one would save
// nothing.
const fewestRows = 1 << 16

// worthwhile is the mean squared error, relative to the least, that is accepted
// for a smaller sketch. A sketch of half the size is quicker to build, to load
// and to query; that is worth 2 % of RMS.
const worthwhile = 1.02 * 1.02

// RowsWithin returns how many coordinates with noise of the law fit into memory
// bytes, nearly all of them in words as small as the noise allows.
func RowsWithin(memory uint64, law law.Law) uint64 {
	return min(memory/uint64(widthFor(law.Variance())), MaxRows)
}

// Bytes returns the bytes of the coordinates of a release, nearly all of them in words as
// small as the noise allows.
func (p Params) Bytes() uint64 { return p.Rows * uint64(widthFor(p.Law.Variance())) }

// Choose completes one of the options. It takes the smallest T whose predicted
// RMS error is within 2 % of the best. At that T it takes the best form and the
// largest clip within another 2 %. T is a power of two, or as many as the
// memory holds. Choose reads nothing but the plan, so it costs no privacy.
//
// The prediction is for the model of Zipf's law. It is the mean over queries of
// 1, 16, 256 and 4096 cells (as far as max_support allows) of the squared error
// in units of m·Var DLap(L/ε). The cells of a query are drawn uniformly from
// all, uniformly from the occupied ones, or half of them by rows.
func Choose(p Plan) (Params, error) {
	best, choice := math.Inf(1), Params{}
	var offers []offer
	m := newModel(p.Records, cellsOf(p.Cells))
	w := newWorkload(m, p.Support)
	for _, o := range p.Options {
		sizes := p.sizes(RowsWithin(p.Memory, o.Params.Law))
		if len(sizes) == 0 {
			continue
		}
		for _, clip := range o.clips(m) {
			o.Params.Heavy.Clip = clip
			fixed, perRow := w.error(m, o)
			for _, rows := range sizes {
				o.Params.Rows = rows
				offers = append(offers, offer{o.Params, fixed + perRow/float64(rows)})
				best = min(best, offers[len(offers)-1].error)
			}
		}
	}
	if len(offers) == 0 {
		return choice, sqlerr.New(sqlerr.Invalid, "the memory is too small for the rows").
			WithHint("raise memory, or lower rows")
	}
	return pick(offers, best).params, nil
}

// offer is a completed option with its predicted error.
type offer struct {
	params Params
	error  float64
}

// cautious is the mean squared error, relative to the least, that is accepted
// for a larger clip. The model does not know where counts crowd around a clip,
// and a larger clip does less harm there. It is 2 % of RMS.
const cautious = 1.02 * 1.02

// pick returns an offer of the smallest size that is good enough. Among those
// nearly as good as the best of that size, it takes the one with the largest
// clip.
func pick(offers []offer, best float64) offer {
	var small offer
	for _, o := range offers {
		if o.error <= best*worthwhile && (small.params.Rows == 0 || o.params.Rows < small.params.Rows ||
			o.params.Rows == small.params.Rows && o.error < small.error) {
			small = o
		}
	}
	choice := small
	for _, o := range offers {
		if o.params.Rows == small.params.Rows && o.params.Heavy.Form == small.params.Heavy.Form &&
			o.error <= small.error*cautious && o.params.Heavy.Clip > choice.params.Heavy.Clip {
			choice = o
		}
	}
	return choice
}

func cellsOf(size *big.Int) float64 {
	if size == nil {
		return math.Inf(1)
	}
	f, _ := new(big.Float).SetInt(size).Float64()
	return f
}

// sizes returns the T to choose from.
func (p Plan) sizes(most uint64) (sizes []uint64) {
	if p.Rows != 0 {
		if p.Rows <= most {
			sizes = append(sizes, p.Rows)
		}
		return sizes
	}
	for t := uint64(fewestRows); t <= most; t *= 2 {
		sizes = append(sizes, t)
	}
	if len(sizes) == 0 && most > 0 {
		sizes = append(sizes, 1<<(bits.Len64(most)-1))
	}
	return sizes
}

// clips returns the clips to choose from: powers of √2, from where a cell
// stands out of the noise.
func (o Option) clips(m model) (clips []int64) {
	if o.Params.Heavy.Form != Clipped || o.Params.Heavy.Clip != 0 {
		return []int64{o.Params.Heavy.Clip}
	}
	least := math.Ceil(8 * o.Scale)
	for c := 8.0; c < maxClip; c *= math.Sqrt2 {
		if c >= least {
			clips = append(clips, int64(c))
		}
		if c > least && len(m) > 0 && c > m[0].count {
			break
		}
	}
	if len(clips) == 0 {
		clips = append(clips, maxClip)
	}
	return clips
}

// zipfExponent is the exponent of the model of the rows: the cell of rank i
// holds a share of the rows proportional to i^−zipfExponent. Counts of
// combinations of attributes follow such a law with an exponent near 1 over
// many ranks. Slightly above 1 the sum is finite however many cells there are.
const zipfExponent = 1.05

// model is a database with N̂ rows over |X| cells by Zipf's law. It reads
// nothing from the rows.
type model []rankBin

// rankBin is a range of ranks with about the same count.
type rankBin struct {
	cells float64 // how many there are
	count float64 // the expected count of each
}

// newModel returns the model of the given number of rows over the given number
// of cells, which may be infinite. It merges ranks whose counts differ by less
// than one part in 200, or in 20 below 4 rows.
func newModel(rows, cells float64) model {
	cells = min(cells, 1e30)
	top := rows / zipfSum(cells)
	var m model
	for first := 1.0; first <= cells; {
		count := top * math.Pow(first, -zipfExponent)
		growth := 1.005
		if count < 4 {
			growth = 1.05
		}
		next := min(max(first+1, math.Floor(first*growth)), cells+1)
		if next <= first { // steps of 1 are lost above 2^53
			break
		}
		middle := math.Sqrt(first * (next - 1))
		m = append(m, rankBin{next - first, top * math.Pow(middle, -zipfExponent)})
		first = next
	}
	return m
}

// zipfSum returns Σ i^−zipfExponent for i = 1 … n. It is exact up to 1000 and
// uses the Euler–Maclaurin formula beyond.
func zipfSum(n float64) (sum float64) {
	head := min(n, 1000)
	for i := 1.0; i <= head; i++ {
		sum += math.Pow(i, -zipfExponent)
	}
	power := func(x float64) float64 { return math.Pow(x, 1-zipfExponent) / (1 - zipfExponent) }
	return sum + power(n) - power(head) + (math.Pow(n, -zipfExponent)-math.Pow(head, -zipfExponent))/2
}

// drawn returns, for the cells of each bin, the probability of being among a
// number of distinct cells drawn by rows. It is 1 − e^(−κ·count), with the κ
// that makes the expected number right.
func (m model) drawn(cells float64) []float64 {
	among := func(logKappa float64) (p []float64, sum float64) {
		p = make([]float64, len(m))
		for i, b := range m {
			p[i] = -math.Expm1(-math.Exp(logKappa) * b.count)
			sum += p[i] * b.cells
		}
		return p, sum
	}
	low, high := -60.0, 60.0
	for range 50 {
		if _, sum := among((low + high) / 2); sum < cells {
			low = (low + high) / 2
		} else {
			high = (low + high) / 2
		}
	}
	p, _ := among(low)
	return p
}

// occupied returns, for the cells of each bin, the probability of holding a
// row.
func (m model) occupied() []float64 {
	p := make([]float64, len(m))
	for i, b := range m {
		p[i] = -math.Expm1(-b.count)
	}
	return p
}

// workload is the set of queries for which errors are predicted.
type workload struct {
	occupied []float64   // by bin: the share of its cells among the occupied ones' queries, per cell asked
	sizes    []float64   // m of the queries
	byRows   [][]float64 // for each m, by bin: the probability that a query of m/2 cells drawn by rows has a cell
}

func newWorkload(m model, support uint64) (w workload) {
	w.occupied = m.occupied()
	total := 0.0
	for i, b := range m {
		total += w.occupied[i] * b.cells
	}
	for i := range w.occupied {
		w.occupied[i] /= max(total, 1)
	}
	for size := uint64(1); size <= min(max(support, 1), 4096); size *= 16 {
		w.sizes = append(w.sizes, float64(size))
		w.byRows = append(w.byRows, m.drawn(min(float64(size)/2, total/2)))
	}
	return w
}

// cellError is the error of a cell of some count: its mean, its mean square,
// and the addition of collisions to the mean square for each V/T.
type cellError struct{ mean, square, collide float64 }

// errors returns the error of a cell of each bin.
func (o Option) errors(m model) []cellError {
	out := make([]cellError, len(m))
	noise := geometricOf(o.Scale)
	v := noise.variance()
	l := o.Params.Heavy.liftOf(o.Params.Law)
	shift, square := noise.lifted(l, 0)
	for i, b := range m {
		out[i] = cellError{0, v, 1}
		h := o.Params.Heavy
		switch excess := b.count - float64(h.Clip); {
		case h.Form == Clipped && excess > 0:
			p, first, second := noise.above(float64(h.Threshold) - excess)
			out[i] = cellError{first + (1-p)*(shift-excess), second + (1-p)*(square-2*excess*shift+excess*excess), 1 - p}
		case h.Form == Clipped && excess > float64(l.from-l.clip)-10*o.Scale:
			out[i].mean, out[i].square = noise.lifted(l, excess)
		case h.Form == Named:
			p, _, _ := geometricOf(o.NameScale).above(float64(h.Threshold) - b.count)
			out[i].collide = 1 - p
		}
	}
	return out
}

// collisions returns the squared norm of the hashed counts. The mean square of
// a Poisson count is the square of its mean plus the mean.
func (o Option) collisions(m model, errors []cellError) (norm float64) {
	for i, b := range m {
		light := b.count
		if c := float64(o.Params.Heavy.Clip); o.Params.Heavy.Form == Clipped && light > c {
			light = c
		}
		norm += b.cells * errors[i].collide * (light*light + min(light, b.count))
	}
	return norm
}

// error returns the mean of squared error over noise, in two parts: the part
// that does not depend on T, and the part that is to be divided by T.
func (w workload) error(m model, o Option) (fixed, perRow float64) {
	errors := o.errors(m)
	norm := o.collisions(m, errors)
	v := geometricOf(o.Scale).variance()
	var once cellError // error of an occupied cell drawn uniformly
	for i, b := range m {
		p := w.occupied[i] * b.cells
		once.mean += p * errors[i].mean
		once.square += p * errors[i].square
		once.collide += p * errors[i].collide
	}
	for j, size := range w.sizes {
		var rows cellError // error of all cells drawn by rows together
		rest := size       // cells drawn uniformly
		for i, b := range m {
			p := w.byRows[j][i]
			rest -= b.cells * p
			rows.mean += b.cells * p * errors[i].mean
			rows.square += b.cells * p * (errors[i].square - p*errors[i].mean*errors[i].mean)
			rows.collide += b.cells * p * errors[i].collide
		}
		rest = max(rest, 0)
		fixed += 1                                                         // uniformly from all
		fixed += (once.square + (size-1)*once.mean*once.mean) / v          // from the occupied
		fixed += (rows.square + rows.mean*rows.mean + rest*v) / (size * v) // half by rows
		perRow += norm / v * (1 + once.collide + (rows.collide+rest)/size)
	}
	kinds := 3 * float64(len(w.sizes))
	base := geometricOf(o.base()).variance() / v
	return fixed / kinds / base, perRow / kinds / base
}

// base returns the scale of the noise if all of ε went into it. Errors are
// relative to it.
func (o Option) base() float64 {
	if o.Params.Heavy.Form == Named {
		return 1 / (1/o.Scale + 1/o.NameScale)
	}
	return o.Scale
}

// geometric is the discrete Laplace law P(k) = (1−a)/(1+a)·a^|k|, for
// predictions.
type geometric struct{ a float64 }

// geometricOf returns the law of a scale.
func geometricOf(scale float64) geometric { return geometric{math.Exp(-1 / scale)} }

func (g geometric) variance() float64 { return 2 * g.a / ((1 - g.a) * (1 - g.a)) }

// above returns P(ν ≥ k), E[ν; ν ≥ k] and E[ν²; ν ≥ k].
func (g geometric) above(k float64) (p, first, second float64) {
	if k <= 0 { // by symmetry
		p, first, second = g.above(1 - k)
		return 1 - p, first, g.variance() - second
	}
	p = math.Pow(g.a, k) / (1 + g.a)
	q := g.a / (1 - g.a)
	return p, p * (k + q), p * (k*k + 2*k*q + q*(1+g.a)/(1-g.a))
}

// lifted returns the mean and the mean square of ν plus its lift, for a cell
// whose light part is the clip plus light, which is not positive. It sums in
// steps of an eighth of the scale, but at least of 1.
func (g geometric) lifted(l lift, light float64) (mean, square float64) {
	scale := -1 / math.Log(g.a)
	step := max(1, math.Floor(scale/8))
	total := 0.0
	for x := -math.Ceil(20*scale/step) * step; x <= 20*scale+step; x += step {
		p := math.Pow(g.a, math.Abs(x))
		y := l.at(l.clip + int64(math.Round(light+x)))
		total += p
		mean += p * y
		square += p * (x + y) * (x + y)
	}
	return mean / total, square / total
}
