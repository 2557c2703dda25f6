package source

import (
	"fmt"
	"iter"
	"math"
	"math/bits"

	"dpsql/query"
)

// Histogram holds the true counts of the occupied cells of a universe, as they
// were on one snapshot. It is immutable. It prints as its type only.
type Histogram struct {
	coder query.Coder
	codes []uint64 // of a coded universe: the occupied cells, ascending
	sums  []int64  // sums[i] is the count of the first i of them
	index []uint32 // index[b] is the number of codes below b<<shift
	shift uint

	prints map[query.Element]int64 // of any other universe
}

// buildIndex makes about one bucket a code.
func (h *Histogram) buildIndex() {
	if len(h.codes) == 0 {
		return
	}
	last := h.codes[len(h.codes)-1]
	h.shift = uint(max(0, bits.Len64(last)-bits.Len(uint(len(h.codes)))))
	h.index = make([]uint32, last>>h.shift+2)
	b := uint64(0)
	for i, c := range h.codes {
		for ; b <= c>>h.shift; b++ {
			h.index[b] = uint32(i)
		}
	}
	h.index[b] = uint32(len(h.codes))
}

// Format prints the type and none of the counts.
func (h Histogram) Format(s fmt.State, _ rune) { fmt.Fprint(s, "histogram") }

// Len returns the number of occupied cells.
func (h *Histogram) Len() int { return len(h.codes) + len(h.prints) }

// All yields the occupied cells with their counts, in ascending order where the
// universe is coded.
func (h *Histogram) All() iter.Seq2[query.Element, int64] {
	return func(yield func(query.Element, int64) bool) {
		for i, c := range h.codes {
			if !yield(query.Element{Lo: c}, h.sums[i+1]-h.sums[i]) {
				return
			}
		}
		for e, n := range h.prints {
			if !yield(e, n) {
				return
			}
		}
	}
}

// maxEnumerated bounds the elements of a support that are looked up one by one where
// cells have no codes. That many take a second or two.
const maxEnumerated = 1 << 24

// Count returns the true count of a query over the coder's universe, at most
// 2^63-1. It looks up the runs of the query's support, or weighs each occupied cell
// if there are fewer of those. It returns false if cells have no codes and the
// support is too large to enumerate.
func (h *Histogram) Count(q query.Query) (int64, bool) {
	if h.prints != nil {
		return h.countPrints(q)
	}
	total, looked := int64(0), 0
	for r, w := range q.Runs() {
		if looked++; looked > len(h.codes)/2+1 {
			return h.scan(q), true
		}
		total = AddWeighted(total, w, h.sums[h.below(r.Start+r.Len)]-h.sums[h.below(r.Start)])
	}
	return total, true
}

// below returns the number of occupied cells with a code below the given one.
func (h *Histogram) below(code uint64) int {
	b := code >> h.shift
	if len(h.codes) == 0 || b >= uint64(len(h.index))-1 {
		return len(h.codes)
	}
	lo, hi := int(h.index[b]), int(h.index[b+1])
	for lo < hi {
		mid := (lo + hi) / 2
		if h.codes[mid] < code {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (h *Histogram) scan(q query.Query) int64 {
	total := int64(0)
	for i, c := range h.codes {
		if w := q.WeightOf(c); w != 0 {
			total = AddWeighted(total, w, h.sums[i+1]-h.sums[i])
		}
	}
	return total
}

func (h *Histogram) countPrints(q query.Query) (int64, bool) {
	if _, ok := q.SizeWithin(maxEnumerated); !ok {
		return 0, false
	}
	total := int64(0)
	for e, w := range h.coder.Elements(q) {
		total = AddWeighted(total, w, h.prints[e])
	}
	return total, true
}

// AddWeighted returns total + w·n, at most 2^63-1; none of them is negative.
func AddWeighted(total, w, n int64) int64 {
	hi, lo := bits.Mul64(uint64(w), uint64(n))
	sum, carry := bits.Add64(lo, uint64(total), 0)
	if hi != 0 || carry != 0 || sum > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(sum)
}
