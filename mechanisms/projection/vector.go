package projection

import "math"

// vector is a vector of integers most of which are small. add reports false,
// and changes nothing, when a coordinate would leave ±(2^63 − 1). Reads may be
// concurrent, writes may not.
type vector interface {
	len() uint64
	at(i uint64) int64
	add(i uint64, delta int64) bool
	width() int // bytes a coordinate takes when it is small
}

// compact keeps coordinates as words W; the lowest value of W marks those that
// do not fit and are kept aside.
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
