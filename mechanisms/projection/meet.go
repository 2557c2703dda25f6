package projection

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// maxTable is the largest number of elements among which meetings are looked
// for at a time; a longer support is taken in parts.
const maxTable = 1 << 20

// meetings finds elements of a support that share a coordinate of the sketch.
// Coordinates are thrown into sixteen slots an element, by a multiplier of its
// own: the matrix is public, and a query could be made to fill one slot. Only
// what falls into a slot that was taken, a thirtieth, is looked at again.
type meetings struct {
	taken, crowded []uint64 // slots, a bit each
	mask, salt     uint64
	places         []place
	weights        []weightCount // of the places, in order
	found          []term        // all elements of coordinates with more than one
}

// term is an element of a query's support: its coordinate and signed weight.
type term struct {
	row    uint64
	weight int64
}

// expect empties the table and makes room for m elements.
func (t *meetings) expect(m, salt uint64) {
	words := 1 << bits.Len64(min(m, maxTable)/4)
	if words > cap(t.taken) {
		t.taken, t.crowded = make([]uint64, words), make([]uint64, words)
	}
	t.taken, t.crowded = t.taken[:words], t.crowded[:words]
	t.mask, t.salt = uint64(64*words-1), salt
	clear(t.taken)
	clear(t.crowded)
}

// forget drops the elements, held and found.
func (t *meetings) forget() {
	t.places, t.weights, t.found = t.places[:0], t.weights[:0], t.found[:0]
}

// slot returns the number of the slot of a coordinate.
func (t *meetings) slot(row uint64) uint64 {
	hi, lo := bits.Mul64(row+1, t.salt)
	return (hi ^ lo>>32) & t.mask
}

// add adds elements of one weight.
func (t *meetings) add(places []place, weight int64) {
	if len(t.places)+len(places) > maxTable {
		t.search()
		t.places, t.weights = t.places[:0], t.weights[:0]
		clear(t.taken)
		clear(t.crowded)
	}
	t.places = append(t.places, places...)
	t.weights = append(t.weights, weightCount{weight, uint64(len(places))})
	for _, p := range places {
		slot := t.slot(p.row())
		bit := uint64(1) << (slot & 63)
		t.crowded[slot>>6] |= t.taken[slot>>6] & bit
		t.taken[slot>>6] |= bit
	}
}

// search finds the elements that share a coordinate among those held.
func (t *meetings) search() {
	first := len(t.found)
	rest := t.places
	for _, w := range t.weights {
		for _, p := range rest[:w.times] {
			if slot := t.slot(p.row()); t.crowded[slot>>6]>>(slot&63)&1 == 1 {
				t.found = append(t.found, term{p.row(), w.weight ^ p.sign() - p.sign()})
			}
		}
		rest = rest[w.times:]
	}
	suspects := t.found[first:]
	slices.SortFunc(suspects, byRow)
	kept := suspects[:0]
	for i, s := range suspects {
		if i > 0 && suspects[i-1].row == s.row || i+1 < len(suspects) && suspects[i+1].row == s.row {
			kept = append(kept, s)
		}
	}
	t.found = t.found[:first+len(kept)]
}

func byRow(a, b term) int { return cmp.Compare(a.row, b.row) }

// eachBucket splits the elements found by coordinate and hands over those of
// each with c, the sum of their weights, and s, the sum of the squares.
func (t *meetings) eachBucket(use func(bucket []term, c int64, s float64)) {
	slices.SortFunc(t.found, byRow)
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

// forgiven returns how many meetings a query of m elements that was chosen
// without looking at the matrix has but rarely exceeded: they are about
// Poisson with mean m²/2T.
func forgiven(m, rows uint64) int {
	mean := float64(m) * float64(m-1) / (2 * float64(rows))
	return int(min(mean+2*math.Sqrt(mean), 1<<40))
}
