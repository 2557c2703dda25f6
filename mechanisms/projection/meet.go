package projection

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// maxTable is the largest number of elements that are searched for meetings at
// a time. A longer support is searched in parts.
const maxTable = 1 << 20

// meetings finds elements of a support that share a coordinate of the sketch.
//
// Each coordinate takes a slot, a bit, of a table with at least 64 slots an
// element, or one slot a coordinate if that is less. A slot is rarely taken
// twice, so usually nothing else has to be done. Otherwise a second pass
// searches the elements of the slots that were taken twice. A multiplier of the
// process chooses the slots: the matrix is public, so without it a query could
// be made to fill one slot.
//
// The slots save half of the time of an answer, 14 us instead of 33 at m =
// 1,000 and 27 ms instead of 81 at m = 2^20, over sorting all elements (go test
// -bench 'BenchmarkAnswer/m=(1000|1048576)_in').
type meetings struct {
	rows, factor uint64      // of the sketch, and the process's multiplier
	taken        []uint64    // slots, a bit each
	salt         uint64      // a slot is a coordinate times the salt,
	shift        uint        // shifted by this: its high bits
	places       []signedRow // of the elements, in order
	looked       int         // the number of places that have their slots
	weights      []weightCount
	twice        []uint64 // coordinates whose slots were taken
	found        []term   // all elements of coordinates with more than one
	spare        []term
}

// term is an element of a query's support: its coordinate and signed weight.
type term struct {
	row    uint64
	weight int64
}

// mostSlots bounds the slots, so that they stay in the processor's cache.
const mostSlots = 1 << 23

// expect makes room for m elements of a sketch of the given rows.
func (t *meetings) expect(m, rows, salt uint64) {
	m = min(m, maxTable)
	t.rows, t.factor = rows, salt
	t.places = slices.Grow(t.places[:0], int(m))
	t.slots(64*m, rows, salt)
}

// restart drops the elements held and keeps those found.
func (t *meetings) restart() {
	t.places, t.looked, t.weights, t.twice = t.places[:0], 0, t.weights[:0], t.twice[:0]
}

// forget drops the elements held and those found.
func (t *meetings) forget() {
	t.restart()
	t.found = t.found[:0]
}

// weigh records the weight of the n rows added last.
func (t *meetings) weigh(weight int64, n uint64) {
	if last := len(t.weights) - 1; last >= 0 && t.weights[last].weight == weight {
		t.weights[last].times += n
		return
	}
	t.weights = append(t.weights, weightCount{weight, n})
}

// look takes slots for the rows added last.
func (t *meetings) look() {
	for places := t.places[t.looked:]; ; {
		n := t.take(places)
		if n == len(places) {
			break
		}
		t.twice = append(t.twice, places[n].row())
		places = places[n+1:]
	}
	t.looked = len(t.places)
}

// take takes the slots of places up to the first that is already taken, and
// returns its index, or len(places). A loop that does nothing else keeps
// everything in registers.
func (t *meetings) take(places []signedRow) int {
	taken, salt, shift := t.taken, t.salt, t.shift&63
	last := uint64(len(taken) - 1) // a power of 2 less 1
	for i, p := range places {
		slot := p.row() * salt >> shift
		word := &taken[slot>>6&last]
		old := *word
		if old>>(slot&63)&1 != 0 {
			return i
		}
		*word = old | 1<<(slot&63)
	}
	return len(places)
}

// find returns the index of the first of places whose slot is taken, or len(places).
func (t *meetings) find(places []signedRow) int {
	taken, salt, shift := t.taken, t.salt, t.shift&63
	last := uint64(len(taken) - 1)
	for i, p := range places {
		slot := p.row() * salt >> shift
		if taken[slot>>6&last]>>(slot&63)&1 != 0 {
			return i
		}
	}
	return len(places)
}

// slots empties the table and sets its size: at least the given number of
// slots, but no more than fit into the cache. If there are as many slots as
// rows, a slot is a row.
func (t *meetings) slots(some, rows, salt uint64) {
	n := max(6, min(bits.Len64(some-1), bits.Len64(mostSlots-1)))
	if rows <= 1<<n {
		n = max(6, bits.Len64(rows-1))
		salt = 1 << (64 - n)
	}
	t.salt, t.shift = salt, uint(64-n)
	t.taken = slices.Grow(t.taken[:0], 1<<n/64)[:1<<n/64]
	clear(t.taken)
}

// search finds the held elements that share a coordinate. It orders them by
// coordinate, and keeps the order of those of one coordinate.
func (t *meetings) search() {
	if len(t.twice) == 0 {
		return
	}
	first := len(t.found)
	t.suspect()
	suspects := t.found[first:]
	if !anyShared(suspects) {
		t.found = t.found[:first]
		return
	}
	t.spare = sortTerms(suspects, t.spare)
	kept := suspects[:0]
	for i := 0; i < len(suspects); {
		n := 1
		for i+n < len(suspects) && suspects[i+n].row == suspects[i].row {
			n++
		}
		if n > 1 {
			kept = append(kept, suspects[i:i+n]...)
		}
		i += n
	}
	t.found = t.found[:first+len(kept)]
}

// anyShared reports whether two of the terms share a coordinate. For more than
// 32 terms it reports true without looking.
func anyShared(terms []term) bool {
	if len(terms) > 32 {
		return true
	}
	for i, a := range terms {
		for _, b := range terms[:i] {
			if a.row == b.row {
				return true
			}
		}
	}
	return false
}

// suspect adds to the found elements those of slots that were taken twice. It
// adds a few others too, since this second pass has fewer slots.
func (t *meetings) suspect() {
	t.slots(max(1<<12, 64*uint64(len(t.twice))), t.rows, t.factor)
	for _, row := range t.twice {
		slot := row * t.salt >> t.shift
		t.taken[slot>>6] |= 1 << (slot & 63)
	}
	rest := t.places
	for _, w := range t.weights {
		places := rest[:w.times]
		for n := t.find(places); n < len(places); n = t.find(places) {
			p := places[n]
			t.found = append(t.found, term{p.row(), w.weight ^ p.sign() - p.sign()})
			places = places[n+1:]
		}
		rest = rest[w.times:]
	}
}

// eachBucket splits the found elements by coordinate, and passes each bucket to
// use with c, the sum of its weights, and s, the sum of their squares.
func (t *meetings) eachBucket(use func(bucket []term, c int64, s float64)) {
	t.spare = sortTerms(t.found, t.spare)
	for terms := t.found; len(terms) > 0; {
		var c int64
		var s float64
		n := 0
		for n < len(terms) && terms[n].row == terms[0].row {
			w := terms[n].weight
			c += w
			s += float64(w) * float64(w)
			n++
		}
		use(terms[:n], c, s)
		terms = terms[n:]
	}
}

// sortTerms sorts terms by row and keeps the order within a row. It sorts by
// digits of eleven bits with spare as scratch memory, or directly if the terms
// are few. It returns the memory for the next call.
func sortTerms(terms, spare []term) []term {
	byRow := func(a, b term) int { return cmp.Compare(a.row, b.row) }
	if slices.IsSortedFunc(terms, byRow) {
		return spare
	}
	if len(terms) < 512 {
		slices.SortStableFunc(terms, byRow)
		return spare
	}
	spare = slices.Grow(spare[:0], len(terms))[:len(terms)]
	var all uint64
	for _, t := range terms {
		all |= t.row
	}
	from, to := terms, spare
	for shift := 0; all>>shift != 0; shift += 11 {
		var starts [1 << 11]int
		for _, t := range from {
			starts[t.row>>shift&(1<<11-1)]++
		}
		sum := 0
		for i, n := range starts {
			starts[i], sum = sum, sum+n
		}
		for _, t := range from {
			at := &starts[t.row>>shift&(1<<11-1)]
			to[*at] = t
			*at++
		}
		from, to = to, from
	}
	copy(terms, from)
	return spare
}

// toleratedMeetings returns a number of meetings that a query of m elements
// rarely exceeds if it was chosen without looking at the matrix. The number of
// meetings is then about Poisson with mean m²/2T.
func toleratedMeetings(m, rows uint64) int {
	mean := float64(m) * float64(m-1) / (2 * float64(rows))
	return int(min(mean+2*math.Sqrt(mean), 1<<40))
}
