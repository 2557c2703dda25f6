package projection

import (
	"cmp"
	"context"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"sync"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Answer is a release's answer to a query.
type Answer struct {
	Value  int64   // the estimate, in counts
	Margin float64 // half-width, in counts, of an interval around it
}

// Answer returns the release's answer to q and its margin, in one pass. The
// answer estimates the sum of weight times count over the support. Value is
// ⟨Aq, u + ν⟩, where published cells count with their published values, plus
// the expected excess of cells near a clip (see lift). It is exact, or rounded
// to the nearest integer where the matrix is Dense. Without a clip it is
// unbiased over matrix and noise. It can be negative. See margin for Margin.
//
// The query is over the release's universe. A query of infinite support is
// refused as uncovered. The time is proportional to m (to m·T·r/64 where
// Dense), so the caller bounds m. When ctx is done, the error has code
// cancelled.
func (r *Release) Answer(ctx context.Context, q query.Query, confidence float64) (Answer, error) {
	m, err := r.accepts(q, confidence)
	if err != nil || m == 0 {
		return Answer{}, err
	}
	if r.p.Transform == Dense {
		return r.denseAnswer(ctx, q, m, confidence)
	}
	e := r.begin(ctx, m, r.clipMargin(confidence))
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

// accepts returns m, or an error if the release cannot answer q.
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
// 62 bits, and the sums of products that make an answer within 126.
func (r *Release) fits(m uint64, weight int64) bool {
	support, value := bits.Len64(m), bits.Len64(uint64(r.largest))
	weights := support + bits.Len64(uint64(weight))
	return support+value <= 62 && weights <= 62 && weights+value+bits.Len64(r.p.Rows) <= 126
}

func tooLarge() error {
	return sqlerr.New(sqlerr.Unsupported, "the answer of this release to the query may not fit 64 bits")
}

// batch is how many elements of a support are looked up at a time. Their
// coordinates are fetched together and fit into the fastest cache.
const batch = 512

// checkInterval is how many elements are looked up between two checks of ctx.
const checkInterval = 1 << 16

// evaluation is one pass over the support of a query. It computes the answer
// and the data that the margin depends on.
type evaluation struct {
	r          *Release
	ctx        context.Context
	sum        wide
	clipMargin int64    // above this light estimate a cell may have lost an excess
	minLight   int64    // below this light estimate a cell changes neither margin nor lift
	lost       float64  // Σ weight of the cells that may have lost an excess
	lift       float64  // Σ weight·lift of all cells, which is added to the sum
	raise      float64  // Σ weight·lift of the cells that may have lost an excess
	light      tally    // the coordinates added, by weight
	heavy      tally    // the published cells added, by weight
	table      meetings // Sparse: the coordinates, and which elements share one
	untilCheck int      // elements until the next check of ctx
	cancelled  bool     // ctx was done at the last check

	lastStride uint64 // the distance of the last progression; 0 before the first
	powers     powers // of the distance of its points
	weight     int64  // of the elements added last
	mixed      tally  // the waiting elements in order, except those of weight
	values     [batch]int64
}

// evaluations reuses scratch space between queries; each is about 40 KB.
var evaluations = sync.Pool{New: func() any { return new(evaluation) }}

// tally counts coordinates by weight.
type tally []weightCount

type weightCount struct {
	weight int64
	times  uint64
}

// add counts coordinates of a weight above 0. It searches only the last few
// entries, since a query changes between few weights at a time.
func (t *tally) add(weight int64, times uint64) {
	for i := len(*t) - 1; i >= max(0, len(*t)-8); i-- {
		if (*t)[i].weight == weight {
			(*t)[i].times += times
			return
		}
	}
	*t = append(*t, weightCount{weight, times})
}

// merged sorts the entries by weight and merges equal weights. A sum over many
// keys has each weight many times, far apart.
func (t tally) merged() tally {
	if len(t) < 2 {
		return t
	}
	slices.SortFunc(t, func(a, b weightCount) int { return cmp.Compare(a.weight, b.weight) })
	out := t[:1]
	for _, c := range t[1:] {
		if last := &out[len(out)-1]; last.weight == c.weight {
			last.times += c.times
		} else {
			out = append(out, c)
		}
	}
	return out
}

// begin prepares an evaluation of m elements.
func (r *Release) begin(ctx context.Context, m uint64, clipMargin int64) *evaluation {
	e := evaluations.Get().(*evaluation)
	e.r, e.ctx, e.sum, e.clipMargin, e.minLight, e.untilCheck, e.cancelled = r, ctx, wide{}, clipMargin, min(clipMargin, r.lift.from), checkInterval, false
	e.lost, e.lift, e.raise, e.lastStride = 0, 0, 0, 0
	e.light, e.heavy, e.mixed = e.light[:0], e.heavy[:0], e.mixed[:0]
	e.table.forget()
	if r.p.Transform == Sparse {
		e.table.expect(m, r.p.Rows, r.salt)
	}
	return e
}

// end gives e back to the pool.
func (e *evaluation) end() {
	const most = 1 << 18 // larger slices of meetings are not worth keeping
	if cap(e.table.found) > most {
		e.table.found, e.table.spare = nil, nil
	}
	e.r, e.ctx = nil, nil
	evaluations.Put(e)
}

// all adds the support of the query.
func (e *evaluation) all(q query.Query) error {
	if e.r.p.Transform == Identity {
		e.runs(q)
	} else {
		e.boxes(q)
	}
	e.lookUp()
	if e.cancelled {
		return contextError(e.ctx)
	}
	return nil
}

// spend counts n elements as looked up and checks ctx from time to time.
func (e *evaluation) spend(n int) {
	if e.untilCheck -= n; e.untilCheck <= 0 {
		e.untilCheck = checkInterval
		e.cancelled = e.cancelled || contextError(e.ctx) != nil
	}
}

func contextError(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return sqlerr.New(sqlerr.Cancelled, "the query was interrupted")
}

// runs adds the support of a query to an identity release.
func (e *evaluation) runs(q query.Query) {
	for run, weight := range q.Runs() {
		for first, end := run.Start, run.Start+run.Len; first < end && !e.cancelled; {
			n := min(end-first, checkInterval)
			e.sum.addProduct(weight, e.r.sketch.span(first, n))
			first += n
			e.spend(int(n))
		}
		if e.light.add(weight, run.Len); e.cancelled {
			return
		}
	}
}

// published adds a published cell.
func (e *evaluation) published(c published, weight int64) {
	e.sum.addProduct(weight, c.noisy+e.r.p.Heavy.Clip)
	e.heavy.add(weight, 1)
	e.spend(1)
}

// room returns space for the rows of at least 1 and at most n elements of one
// weight.
func (e *evaluation) room(n uint64, weight int64) []signedRow {
	t := &e.table
	if len(t.places)-t.looked == batch || len(t.places) == maxTable {
		e.lookUp()
	}
	if len(t.places) == maxTable {
		t.search()
		t.restart()
		t.slots(64*maxTable, t.rows, t.factor)
	}
	if weight != e.weight {
		e.turn()
		e.weight = weight
	}
	held := len(t.places)
	n = min(n, uint64(batch-(held-t.looked)), uint64(maxTable-held))
	t.places = slices.Grow(t.places, int(n))[:held+int(n)]
	return t.places[held:]
}

// turn records the weight of the elements added last, before the weight
// changes.
func (e *evaluation) turn() {
	n := len(e.table.places) - e.table.looked
	for _, w := range e.mixed {
		n -= int(w.times)
	}
	if n > 0 {
		e.mixed = append(e.mixed, weightCount{e.weight, uint64(n)})
	}
}

// lookUp adds the coordinates of the waiting rows.
func (e *evaluation) lookUp() {
	t := &e.table
	places := t.places[t.looked:]
	if len(places) == 0 {
		return
	}
	e.turn()
	values := e.values[:len(places)]
	sum, most := e.r.sketch.gather(places, values)
	for _, w := range e.mixed {
		e.light.add(w.weight, w.times)
		t.weigh(w.weight, w.times)
		if len(e.mixed) == 1 && most < e.minLight {
			e.sum.addProduct(w.weight, sum)
			break
		}
		e.add(values[:w.times], w.weight)
		values = values[w.times:]
	}
	e.mixed = e.mixed[:0]
	t.look()
	e.spend(len(places))
}

// add adds light estimates of one weight.
func (e *evaluation) add(values []int64, weight int64) {
	var sum int64
	for _, v := range values {
		sum += v
		if v < e.minLight {
			continue
		}
		g := float64(weight) * e.r.lift.at(v)
		e.lift += g
		if v >= e.clipMargin {
			e.lost += float64(weight)
			e.raise += g
		}
	}
	e.sum.addProduct(weight, sum)
}

// neverReached is above every light estimate.
const neverReached = math.MaxInt64

// boxes adds the support of a query, box by box.
func (e *evaluation) boxes(q query.Query) {
	for b, weight := range e.r.coder.Boxes(q) {
		if e.box(b, weight); e.cancelled {
			return
		}
	}
}

// box adds the elements of a box, along its longest step.
func (e *evaluation) box(b query.Box, weight int64) {
	if len(b.Steps) == 0 {
		e.single(b.Start, weight)
		return
	}
	heavy := e.r.heavy
	if len(heavy) > 0 {
		heavy = heavy.between(b.Start, b.Last())
	}
	along, longest := 0, query.Step{}
	for i, s := range b.Steps {
		if s.Count >= longest.Count {
			along, longest = i, s
		}
	}
	if longest.Stride != e.lastStride {
		e.lastStride, e.powers = longest.Stride, e.r.matrix.sketch.powers(longest.Stride)
	}
	start := b.Start
	var digits [64]uint64 // as many steps of two or more codes there can be
	for {
		e.line(start, longest.Count, weight, heavy)
		i := len(b.Steps) - 1
		for ; i >= 0; i-- {
			if i == along {
				continue
			}
			s := b.Steps[i]
			if digits[i]++; digits[i] < s.Count {
				start.Lo += s.Stride
				break
			}
			digits[i] = 0
			start.Lo -= s.Stride * (s.Count - 1)
		}
		if i < 0 || e.cancelled {
			return
		}
	}
}

// single adds one element.
func (e *evaluation) single(x query.Element, weight int64) {
	if c := e.r.heavy.between(x, x); len(c) > 0 {
		e.published(c[0], weight)
		return
	}
	e.room(1, weight)[0] = e.r.matrix.sketch.at(x)
}

// line adds count elements from start on, lastStride apart. heavy are the
// published cells of the whole box.
func (e *evaluation) line(start query.Element, count uint64, weight int64, heavy heavyCells) {
	if len(heavy) == 0 {
		e.walk(start, count, weight)
		return
	}
	last := query.Element{Hi: start.Hi, Lo: start.Lo + e.lastStride*(count-1)}
	heavy = heavy.between(start, last)
	done := uint64(0) // elements added
	pass := func(c published, i uint64) {
		e.walk(query.Element{Hi: start.Hi, Lo: start.Lo + done*e.lastStride}, i-done, weight)
		e.published(c, weight)
		done = i + 1
	}
	if uint64(len(heavy)) <= 4*count {
		for _, c := range heavy {
			if off := c.x.Lo - start.Lo; off%e.lastStride == 0 {
				pass(c, off/e.lastStride)
			}
		}
	} else {
		for i := range count {
			x := query.Element{Hi: start.Hi, Lo: start.Lo + i*e.lastStride}
			if heavy = heavy.from(x); len(heavy) > 0 && heavy[0].x == x {
				pass(heavy[0], i)
			}
		}
	}
	e.walk(query.Element{Hi: start.Hi, Lo: start.Lo + done*e.lastStride}, count-done, weight)
}

// walk adds count unpublished elements from start on, lastStride apart.
func (e *evaluation) walk(start query.Element, count uint64, weight int64) {
	if count == 0 {
		return
	}
	point := e.r.matrix.sketch.point(start)
	for count > 0 && !e.cancelled {
		dst := e.room(count, weight)
		point = e.r.matrix.sketch.places(dst, point, &e.powers)
		count -= uint64(len(dst))
	}
}

// between returns the cells with first <= name <= last.
func (h heavyCells) between(first, last query.Element) heavyCells {
	h = h.from(first)
	end, found := slices.BinarySearchFunc(h, published{x: last}, byName)
	if found {
		end++
	}
	return h[:end]
}

// from returns the cells with name >= start.
func (h heavyCells) from(start query.Element) heavyCells {
	i, _ := slices.BinarySearchFunc(h, published{x: start}, byName)
	return h[i:]
}

// wide is a 128-bit signed accumulator for public sums. The caller keeps sums
// below 2^127.
type wide struct {
	hi int64
	lo uint64
}

// addProduct adds a·b.
func (w *wide) addProduct(a, b int64) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	// Two's complement: a negative factor was read as 2^64 more than it is.
	hi -= uint64(a>>63&b) + uint64(b>>63&a)
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	w.hi += int64(hi) + int64(carry)
}

// plus adds another accumulator.
func (w *wide) plus(v wide) {
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, v.lo, 0)
	w.hi += v.hi + int64(carry)
}

// big returns the exact value.
func (w wide) big() *big.Int {
	b := big.NewInt(w.hi)
	return b.Add(b.Lsh(b, 64), new(big.Int).SetUint64(w.lo))
}

// int64 returns the value, and whether it fits.
func (w wide) int64() (v int64, ok bool) {
	v = int64(w.lo)
	return v, w.hi == v>>63
}
