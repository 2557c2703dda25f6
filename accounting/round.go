package accounting

import (
	"math"
	"math/big"
)

// floorUnits returns ⌊value · units⌋ for a value >= 0, at most [Unpayable].
func floorUnits(value *big.Rat, units int64) int64 {
	n := new(big.Int).Mul(value.Num(), big.NewInt(units))
	return saturate(n.Quo(n, value.Denom()))
}

// ceilUnits returns ⌈value · units⌉ for a value >= 0, at most [Unpayable].
func ceilUnits(value *big.Rat, units int64) int64 {
	n := new(big.Int).Mul(value.Num(), big.NewInt(units))
	return saturate(ceilQuo(n, value.Denom()))
}

// ceilQuo returns ⌈a/b⌉ for a >= 0, b > 0.
func ceilQuo(a, b *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(a, b, new(big.Int))
	if r.Sign() != 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func saturate(n *big.Int) int64 {
	if n.IsInt64() {
		return n.Int64()
	}
	return Unpayable
}

// significantBits is how many bits the numerators of noise parameters keep:
// enough to lose less than 2^-31 of the noise, few enough that exact samplers
// work in machine words. The denominator is a power of two.
const significantBits = 32

// roundUp returns the smallest number >= x > 0 that is an integer of at most
// significantBits bits times a power of two.
func roundUp(x *big.Rat) *big.Rat {
	exponent := x.Num().BitLen() - x.Denom().BitLen()
	if x.Cmp(powerOfTwo(exponent)) < 0 {
		exponent--
	}
	unit := powerOfTwo(exponent - (significantBits - 1)) // x/unit is in [2^31, 2^32)
	count := new(big.Rat).Quo(x, unit)
	return unit.Mul(unit, new(big.Rat).SetInt(ceilQuo(count.Num(), count.Denom())))
}

func powerOfTwo(exponent int) *big.Rat {
	power := new(big.Int).Lsh(big.NewInt(1), uint(max(exponent, -exponent)))
	if exponent < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), power)
	}
	return new(big.Rat).SetInt(power)
}

// bisect returns neighbouring positive x1 <= x2 in [lo, hi], close to the
// float's resolution, such that holds was true at x1 (or x1 = lo) and false at
// x2 (or x2 = hi). It halves in the logarithm, since the orders and standard
// deviations sought span forty powers of ten.
func bisect(lo, hi float64, holds func(float64) bool) (x1, x2 float64) {
	const steps = 80
	for range steps {
		mid := math.Sqrt(lo) * math.Sqrt(hi)
		if mid <= lo || mid >= hi {
			break
		}
		if holds(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, hi
}
