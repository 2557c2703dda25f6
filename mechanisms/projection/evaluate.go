package projection

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"dpsql/query"
	"dpsql/sqlerr"
)

// batch is how many elements of a support are looked up at a time: enough that
// their coordinates are fetched side by side, few enough for the fastest cache.
const batch = 512

// patience is how many elements are looked up between two looks at the context.
const patience = 1 << 16

// evaluation is one pass over the support of a query: the answer, and what the
// margin needs to know.
type evaluation struct {
	r     *Release
	ctx   context.Context
	sum   wide
	near  int64    // a cell of so large a light estimate may have lost an excess
	close int64    // the least light estimate of which a look is worth
	lost  float64  // Σ weight of such cells
	lift  float64  // Σ weight·lift of all cells, which is added to the sum
	raise float64  // that of the cells which may have lost an excess
	light tally    // of the coordinates added
	heavy tally    // of the published cells added
	table meetings // Sparse: the coordinates, and which elements share one
	left  int      // elements until the context is looked at again
	over  bool     // the context is

	stride uint64 // that was walked last; 0 at first
	powers powers // of what it moves points by
	weight int64  // of the elements that are added
	mixed  tally  // the elements that wait, in order, but for those of this weight
	values [batch]int64
}

// evaluations keeps evaluations for use by later queries: most of one is memory.
var evaluations = sync.Pool{New: func() any { return new(evaluation) }}

// tally counts coordinates by weight.
type tally []weightCount

type weightCount struct {
	weight int64
	times  uint64
}

// add counts coordinates of a weight above 0. Few weights follow each other.
func (t *tally) add(weight int64, times uint64) {
	for i := len(*t) - 1; i >= max(0, len(*t)-8); i-- {
		if (*t)[i].weight == weight {
			(*t)[i].times += times
			return
		}
	}
	*t = append(*t, weightCount{weight, times})
}

// merged sorts the coordinates by weight, and counts those of one weight
// together: a sum over many keys has each weight many times, far apart.
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
func (r *Release) begin(ctx context.Context, m uint64, near int64) *evaluation {
	e := evaluations.Get().(*evaluation)
	e.r, e.ctx, e.sum, e.near, e.close, e.left, e.over = r, ctx, wide{}, near, min(near, r.lift.from), patience, false
	e.lost, e.lift, e.raise, e.stride = 0, 0, 0, 0
	e.light, e.heavy, e.mixed = e.light[:0], e.heavy[:0], e.mixed[:0]
	e.table.forget()
	if r.p.Transform == Sparse {
		e.table.expect(m, r.p.Rows, r.salt)
	}
	return e
}

// end gives the evaluation back.
func (e *evaluation) end() {
	const most = 1 << 18 // elements that met; more are not worth keeping
	if cap(e.table.found) > most {
		e.table.found, e.table.spare = nil, nil
	}
	e.r, e.ctx = nil, nil
	evaluations.Put(e)
}

// all looks up the support of the query.
func (e *evaluation) all(q query.Query) error {
	if e.r.p.Transform == Identity {
		e.runs(q)
	} else {
		e.boxes(q)
	}
	e.lookUp()
	if e.over {
		return ended(e.ctx)
	}
	return nil
}

// spend notes that n elements were looked up, and from time to time whether the
// context is over.
func (e *evaluation) spend(n int) {
	if e.left -= n; e.left <= 0 {
		e.left = patience
		e.over = e.over || ended(e.ctx) != nil
	}
}

func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return sqlerr.New(sqlerr.Cancelled, "the query was interrupted")
}

// runs adds the support of a query to an identity release.
func (e *evaluation) runs(q query.Query) {
	for run, weight := range q.Runs() {
		for first, end := run.Start, run.Start+run.Len; first < end && !e.over; {
			n := min(end-first, patience)
			e.sum.addProduct(weight, e.r.sketch.span(first, n))
			first += n
			e.spend(int(n))
		}
		if e.light.add(weight, run.Len); e.over {
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

// room returns where to put places of elements of a weight: for at least one,
// and for at most n.
func (e *evaluation) room(n uint64, weight int64) []place {
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

// turn notes the weight of the elements added last, before another one comes.
func (e *evaluation) turn() {
	n := len(e.table.places) - e.table.looked
	for _, w := range e.mixed {
		n -= int(w.times)
	}
	if n > 0 {
		e.mixed = append(e.mixed, weightCount{e.weight, uint64(n)})
	}
}

// lookUp looks up the places that wait.
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
		if len(e.mixed) == 1 && most < e.close {
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
		if v < e.close {
			continue
		}
		g := float64(weight) * e.r.lift.of(v)
		e.lift += g
		if v >= e.near {
			e.lost += float64(weight)
			e.raise += g
		}
	}
	e.sum.addProduct(weight, sum)
}

// nowhere is an estimate that no cell reaches.
const nowhere = math.MaxInt64
