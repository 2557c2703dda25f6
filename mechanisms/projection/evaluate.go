package projection

import (
	"context"
	"math"
	"sync"

	"dpsql/query"
	"dpsql/sqlerr"
)

// batch is how many elements of a support are looked up at a time: enough that
// their coordinates are fetched side by side, few enough for the fastest cache.
const batch = 256

// patience is how many elements are looked up between two looks at the context.
const patience = 1 << 16

// evaluation is one pass over the support of a query: the answer, and what the
// margin needs to know.
type evaluation struct {
	r     *Release
	ctx   context.Context
	sum   wide
	near  int64    // a cell of so large a light estimate may have lost an excess
	lost  float64  // Σ weight of such cells
	lift  float64  // Σ weight·lift of all cells, which is added to the sum
	raise float64  // that of the cells which may have lost an excess
	close []int64  // light estimates that are lifted
	light tally    // of the coordinates added
	heavy tally    // of the published cells added
	table meetings // Sparse: which elements share a coordinate
	left  int      // elements until the context is looked at again

	weight int64 // of the elements that wait
	coded  int   // codes that wait to be hashed
	hashed int   // places that wait to be looked up
	codes  [batch]uint64
	places [batch]place
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

// begin prepares an evaluation of m elements.
func (r *Release) begin(ctx context.Context, m uint64, near int64) *evaluation {
	e := evaluations.Get().(*evaluation)
	e.r, e.ctx, e.sum, e.near, e.left = r, ctx, wide{}, near, patience
	e.lost, e.lift, e.raise = 0, 0, 0
	e.coded, e.hashed = 0, 0
	e.light, e.heavy = e.light[:0], e.heavy[:0]
	e.table.forget()
	if r.p.Transform == Sparse {
		e.table.expect(m, r.salt)
	}
	return e
}

// end gives the evaluation back.
func (e *evaluation) end() {
	const most = 1 << 18 // elements; larger tables are not worth keeping
	if cap(e.table.places) > most {
		e.table = meetings{}
	}
	e.r, e.ctx = nil, nil
	evaluations.Put(e)
}

// all looks up the support of the query.
func (e *evaluation) all(q query.Query) error {
	if !e.r.u.Coded() {
		return e.names(q)
	}
	heavy := e.r.heavy
	for run, weight := range q.Runs() {
		if e.r.p.Transform == Identity {
			e.span(run, weight)
		} else {
			heavy = e.run(run, weight, heavy)
		}
		if err := e.interrupted(); err != nil {
			return err
		}
	}
	e.flush()
	return e.interrupted()
}

// interrupted returns an error once the context is over.
func (e *evaluation) interrupted() error {
	if e.left > 0 {
		return nil
	}
	e.left = patience
	return ended(e.ctx)
}

func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return sqlerr.New(sqlerr.Cancelled, "the query was interrupted")
}

// names looks up a support without codes.
func (e *evaluation) names(q query.Query) error {
	r := e.r
	for x, weight := range r.Coder().Elements(q) {
		if c, ok := r.index.find(x); ok {
			e.published(c, weight)
		} else {
			e.weigh(weight)
			e.put(r.matrix.sketch.point(x))
		}
		if err := e.interrupted(); err != nil {
			return err
		}
	}
	e.flush()
	return nil
}

// span adds a run of an identity release.
func (e *evaluation) span(run query.Run, weight int64) {
	for first, end := run.Start, run.Start+run.Len; first < end; {
		n := min(end-first, patience)
		e.sum.addProduct(weight, e.r.sketch.span(first, n))
		first += n
		e.left -= int(n)
		if e.left <= 0 && ended(e.ctx) != nil {
			return // all will see it too
		}
	}
	e.light.add(weight, run.Len)
}

// run adds a run of a sparse release. Of the heavy cells, which are all at or
// beyond the run's start or before it, it returns those beyond its end.
func (e *evaluation) run(run query.Run, weight int64, heavy heavyCells) heavyCells {
	start, end := run.Start, run.Start+run.Len
	if len(heavy) > 0 && heavy[0].x.Lo < start {
		heavy = heavy.from(start)
	}
	for len(heavy) > 0 && heavy[0].x.Lo < end {
		e.piece(start, heavy[0].x.Lo, weight)
		e.published(heavy[0], weight)
		start, heavy = heavy[0].x.Lo+1, heavy[1:]
	}
	e.piece(start, end, weight)
	return heavy
}

// piece adds the light cells of the codes from start to before end: short runs
// gather their codes, to be hashed side by side, long ones are hashed in a walk.
func (e *evaluation) piece(start, end uint64, weight int64) {
	e.weigh(weight)
	if end < start+shortRun {
		for ; start < end; start++ {
			e.put(start)
		}
		return
	}
	for start < end {
		n := int(min(end-start, uint64(batch-e.hashed)))
		e.r.matrix.sketch.places(e.places[e.hashed:e.hashed+n], start, 1)
		start += uint64(n)
		if e.hashed += n; e.hashed == batch {
			e.lookUp()
			if e.left <= 0 && ended(e.ctx) != nil {
				return // all will see it too
			}
		}
	}
}

// weigh makes sure that what waits has the weight.
func (e *evaluation) weigh(weight int64) {
	if weight != e.weight {
		e.flush()
		e.weight = weight
	}
}

// put adds one light cell, by the point that stands for it.
func (e *evaluation) put(point uint64) {
	if e.coded == batch {
		e.hash()
	}
	e.codes[e.coded] = point
	e.coded++
}

// published adds a published cell.
func (e *evaluation) published(c published, weight int64) {
	e.sum.addProduct(weight, c.noisy+e.r.p.Heavy.Clip)
	e.heavy.add(weight, 1)
	e.left--
}

// flush looks up all that waits.
func (e *evaluation) flush() {
	e.hash()
	e.lookUp()
}

// hash looks up the codes that wait.
func (e *evaluation) hash() {
	if e.coded == 0 {
		return
	}
	if e.coded > batch-e.hashed {
		e.lookUp()
	}
	places := e.places[e.hashed : e.hashed+e.coded]
	e.r.matrix.sketch.placesOf(places, e.codes[:e.coded])
	e.hashed += e.coded
	e.coded = 0
	if e.hashed == batch {
		e.lookUp()
	}
}

// lookUp looks up the places that wait.
func (e *evaluation) lookUp() {
	if e.hashed == 0 {
		return
	}
	places := e.places[:e.hashed]
	var sum int64
	sum, e.close = e.r.sketch.gather(places, min(e.near, e.r.lift.from), e.close[:0])
	e.sum.addProduct(e.weight, sum)
	for _, v := range e.close {
		g := float64(e.weight) * e.r.lift.of(v)
		e.lift += g
		if v >= e.near {
			e.lost += float64(e.weight)
			e.raise += g
		}
	}
	e.light.add(e.weight, uint64(e.hashed))
	e.table.add(places, e.weight)
	e.left -= e.hashed
	e.hashed = 0
}

// nowhere is an estimate that no cell reaches.
const nowhere = math.MaxInt64
