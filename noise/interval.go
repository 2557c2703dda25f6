package noise

import "math/big"

// interval is a real number known to lie in [lo, hi] / 2^bits. Every operation
// rounds outwards, so a chain of them proves its result; operands must have
// the same number of bits. Intervals are values: no operation changes one.
type interval struct {
	lo, hi *big.Int
	bits   uint
}

// guardBits is how many bits below the requested ones enclosures are computed
// with, so that rounding over 2^16 terms does not reach the requested ones.
const guardBits = 128

func intervalInt(v int64, bits uint) interval {
	x := big.NewInt(v)
	x.Lsh(x, bits)
	return interval{x, x, bits}
}

// intervalRat encloses r.
func intervalRat(r *big.Rat, bits uint) interval {
	num := new(big.Int).Lsh(r.Num(), bits)
	return interval{floorQuo(num, r.Denom()), ceilQuo(num, r.Denom()), bits}
}

func (a interval) add(b interval) interval {
	return interval{new(big.Int).Add(a.lo, b.lo), new(big.Int).Add(a.hi, b.hi), a.bits}
}

func (a interval) sub(b interval) interval {
	return interval{new(big.Int).Sub(a.lo, b.hi), new(big.Int).Sub(a.hi, b.lo), a.bits}
}

func (a interval) double() interval { return a.add(a) }

// widen returns a with both ends moved outwards by b's upper end, b >= 0.
func (a interval) widen(b interval) interval {
	return interval{new(big.Int).Sub(a.lo, b.hi), new(big.Int).Add(a.hi, b.hi), a.bits}
}

// mul returns a times b.
func (a interval) mul(b interval) interval {
	if a.lo.Sign() >= 0 && b.lo.Sign() >= 0 {
		return shifted(new(big.Int).Mul(a.lo, b.lo), new(big.Int).Mul(a.hi, b.hi), a.bits)
	}
	lo := new(big.Int).Mul(a.lo, b.lo)
	hi := new(big.Int).Set(lo)
	for _, p := range [][2]*big.Int{{a.lo, b.hi}, {a.hi, b.lo}, {a.hi, b.hi}} {
		product := new(big.Int).Mul(p[0], p[1])
		if product.Cmp(lo) < 0 {
			lo.Set(product)
		}
		if product.Cmp(hi) > 0 {
			hi.Set(product)
		}
	}
	return shifted(lo, hi, a.bits)
}

// shifted divides exact products of numbers of the given bits by 2^bits; it
// uses up its arguments.
func shifted(lo, hi *big.Int, bits uint) interval {
	hi.Neg(hi)
	hi.Rsh(hi, bits)
	return interval{lo.Rsh(lo, bits), hi.Neg(hi), bits}
}

// div returns a/b for a >= 0 and b > 0.
func (a interval) div(b interval) interval {
	lo := new(big.Int).Lsh(a.lo, a.bits)
	hi := new(big.Int).Lsh(a.hi, a.bits)
	return interval{floorQuo(lo, b.hi), ceilQuo(hi, b.lo), a.bits}
}

// divInt returns a/n for n > 0.
func (a interval) divInt(n int64) interval {
	d := big.NewInt(n)
	return interval{floorQuo(a.lo, d), ceilQuo(a.hi, d), a.bits}
}

// round returns a with fewer bits.
func (a interval) round(bits uint) interval {
	r := shifted(new(big.Int).Set(a.lo), new(big.Int).Set(a.hi), a.bits-bits)
	r.bits = bits
	return r
}

// sqrt returns the square root of a >= 0.
func (a interval) sqrt() interval {
	lo := new(big.Int).Lsh(a.lo, a.bits)
	hi := new(big.Int).Lsh(a.hi, a.bits)
	hi.Sqrt(hi)
	return interval{lo.Sqrt(lo), hi.Add(hi, big.NewInt(1)), a.bits}
}

// compare returns -1 or 1 when all of a lies below or above r, and 0 when r
// lies within a.
func (a interval) compare(r *big.Rat) int {
	num := new(big.Int).Lsh(r.Num(), a.bits)
	switch {
	case new(big.Int).Mul(a.hi, r.Denom()).Cmp(num) < 0:
		return -1
	case new(big.Int).Mul(a.lo, r.Denom()).Cmp(num) > 0:
		return 1
	}
	return 0
}

// floorQuo returns floor(a/b), b > 0; big.Int.Div is Euclidean, which is floor
// for a positive divisor.
func floorQuo(a, b *big.Int) *big.Int { return new(big.Int).Div(a, b) }

func ceilQuo(a, b *big.Int) *big.Int {
	q := new(big.Int).Neg(a)
	return q.Neg(q.Div(q, b))
}
