package projection

import "math"

// vector is a vector of integers of which most are small. add reports false and
// changes nothing when a coordinate would leave ±(2^63 − 1). Reads may be
// concurrent; writes may not.
type vector interface {
	len() uint64
	at(i uint64) int64
	add(i uint64, delta int64) bool
	addAll(first uint64, deltas []int64) bool // to consecutive coordinates
	// tally calls use with the values of the coordinates and how many have
	// each. A value can come several times.
	tally(use func(x int64, times uint64))
	width() int // bytes a coordinate takes when it is small
	// span returns the sum of n coordinates from the first on.
	span(first, n uint64) int64
	// gather sets values to the coordinates at the places, each with its
	// place's sign. It returns their sum and the largest one. There are at most
	// batch places.
	gather(places []signedRow, values []int64) (sum, most int64)
}

// signedRow is the number of a coordinate and a sign. The highest bit is set if
// the sign is −1.
type signedRow uint64

// negative marks a place whose sign is −1.
const negative signedRow = 1 << 63

// row returns the number of the coordinate, which is at most MaxRows.
func (p signedRow) row() uint64 { return uint64(uint32(p)) }

// sign returns 0 for +1 and −1 for −1, so that (v ^ sign) − sign applies the
// sign to v.
func (p signedRow) sign() int64 { return int64(p) >> 63 }

// compact keeps coordinates as words W. The lowest value of W marks a
// coordinate that does not fit; large holds it.
type compact[W int8 | int16 | int32 | int64] struct {
	words  []W
	large  map[uint64]int64
	bytes  int
	escape int64
}

func newCompact[W int8 | int16 | int32 | int64](n uint64, bytes int) *compact[W] {
	return &compact[W]{make([]W, n), make(map[uint64]int64), bytes, lowest(bytes)}
}

// newVector returns n zeros in words of 1, 2, 4 or 8 bytes.
func newVector(n uint64, bytes int) vector {
	switch bytes {
	case 1:
		return newCompact[int8](n, bytes)
	case 2:
		return newCompact[int16](n, bytes)
	case 4:
		return newCompact[int32](n, bytes)
	}
	return newCompact[int64](n, bytes)
}

// lowest returns the lowest value of a word, which marks a large coordinate.
func lowest(bytes int) int64 { return math.MinInt64 >> (64 - 8*bytes) }

// widthFor returns the bytes of a word that holds nearly every draw of noise of
// the given variance. It reads nothing private.
func widthFor(variance float64) int {
	switch deviation := math.Sqrt(variance); {
	case deviation <= 24:
		return 1
	case deviation <= 5e3:
		return 2
	case deviation <= 3e8:
		return 4
	}
	return 8
}

func (c *compact[W]) len() uint64 { return uint64(len(c.words)) }

func (c *compact[W]) width() int { return c.bytes }

func (c *compact[W]) at(i uint64) int64 {
	if v := int64(c.words[i]); v != c.escape {
		return v
	}
	return c.large[i]
}

func (c *compact[W]) span(first, n uint64) (sum int64) {
	escape := W(c.escape)
	for i, w := range c.words[first : first+n] {
		if w == escape {
			sum += c.large[first+uint64(i)]
			continue
		}
		sum += int64(w)
	}
	return sum
}

// gather first fetches the words and then adds them. The fetching loop is so
// short that the processor waits for many words at once. A single loop takes
// twice as long if the sketch is larger than the caches.
func (c *compact[W]) gather(places []signedRow, values []int64) (sum, most int64) {
	var fetched [batch]W
	words, all := fetched[:len(places)], c.words
	for i, p := range places {
		words[i] = all[p.row()]
	}
	escape := W(c.escape)
	values = values[:len(words)]
	most = math.MinInt64
	for i, w := range words {
		v, sign := int64(w), places[i].sign()
		if w == escape {
			v = c.large[places[i].row()]
		}
		v = v ^ sign - sign
		values[i] = v
		sum += v
		most = max(most, v)
	}
	return sum, most
}

// fits reports whether v is kept as a word.
func (c *compact[W]) fits(v int64) bool { return int64(W(v)) == v && v != c.escape }

func (c *compact[W]) add(i uint64, delta int64) bool {
	old := c.at(i)
	v := old + delta
	if (v > old) != (delta > 0) && delta != 0 || v == math.MinInt64 {
		return false
	}
	if !c.fits(v) {
		c.words[i] = W(c.escape)
		c.large[i] = v
		return true
	}
	if !c.fits(old) {
		delete(c.large, i)
	}
	c.words[i] = W(v)
	return true
}

func (c *compact[W]) addAll(first uint64, deltas []int64) bool {
	for i, delta := range deltas {
		at := first + uint64(i)
		if v := int64(c.words[at]) + delta; int64(c.words[at]) != c.escape && c.fits(v) && delta == int64(W(delta)) {
			c.words[at] = W(v)
			continue
		}
		if !c.add(at, delta) {
			return false
		}
	}
	return true
}

func (c *compact[W]) tally(use func(x int64, times uint64)) {
	if c.bytes == 1 {
		var counts [256]uint64
		for _, w := range c.words {
			counts[uint8(w)]++
		}
		for b, n := range counts {
			if v := int64(int8(b)); n > 0 && v != c.escape {
				use(v, n)
			}
		}
		for _, v := range c.large {
			use(v, 1)
		}
		return
	}
	for i := range c.words {
		use(c.at(uint64(i)), 1)
	}
}

// narrowest returns the bytes of a word with which v takes the least memory. It
// looks at noisy coordinates only, which are public.
func narrowest(v vector) int {
	const aside = 48 // bytes of a coordinate in large
	var counts [9]uint64
	v.tally(func(x int64, times uint64) {
		for _, w := range [...]int{1, 2, 4} {
			if !isWord(x, w) {
				counts[w] += times
			}
		}
	})
	best := 8
	for _, w := range [...]int{4, 2, 1} {
		if v.len()*uint64(w)+aside*counts[w] <= v.len()*uint64(best)+aside*counts[best] {
			best = w
		}
	}
	return best
}

// narrowed returns v in the words with which it takes the least memory.
func narrowed(v vector) vector {
	w := narrowest(v)
	if w == v.width() {
		return v
	}
	out := newVector(v.len(), w)
	for i := range v.len() {
		out.add(i, v.at(i))
	}
	return out
}
