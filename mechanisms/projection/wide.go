package projection

import (
	"math/big"
	"math/bits"
)

// wide is a 128-bit signed accumulator, for sums that are private no longer.
// The caller bounds what it adds below 2^127.
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
