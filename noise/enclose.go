package noise

import (
	"iter"
	"math/big"
)

// enclosed is a law whose distribution function can be enclosed as narrowly as
// asked: the basis of everything here that claims to be exact. All but the last
// few of the bits asked for are correct.
type enclosed interface {
	Law
	// within encloses P(|X| <= k), k >= 0, with the given bits.
	within(k int64, bits uint) interval
	// cumulative encloses P(|X| <= k) for k = 0, 1, ..., without end, with
	// guardBits more than the given bits.
	cumulative(bits uint) iter.Seq2[int, interval]
}

// decayBits is the magnitude, in units of the last of guardBits further bits,
// below which a weight ends the sum in total: outward rounding keeps the upper
// end of a falling sequence from reaching 0.
const decayBits = 40

// weights yields enclosures of exp(-k²/(2 sigma²)) for k = 0, 1, ... with the
// factor exp(-(2k+1)/(2 sigma²)) that leads to the next one.
func (g *gaussian) weights(bits uint) iter.Seq2[interval, interval] {
	return func(yield func(weight, ratio interval) bool) {
		half := new(big.Rat).Mul(g.sigma2, big.NewRat(2, 1))
		ratio := expNeg(half.Inv(half), bits)
		square := ratio.mul(ratio)
		for weight := intervalInt(1, bits); yield(weight, ratio); {
			weight, ratio = weight.mul(ratio), ratio.mul(square)
		}
	}
}

// total encloses the sum of exp(-k²/(2 sigma²)) over all integers. The ratios
// of successive weights fall, so what follows a weight w reached by the ratio r
// is below w/(1-r).
func (g *gaussian) total(bits uint) interval {
	one := intervalInt(1, bits)
	sum := intervalInt(0, bits)
	for weight, ratio := range g.weights(bits) {
		if weight.hi.BitLen() <= decayBits {
			rest := weight.div(one.sub(ratio))
			rest.lo.SetInt64(0)
			return sum.add(rest).double().sub(one)
		}
		sum = sum.add(weight)
	}
	return sum
}

// cumulative adds up the weights and divides by their total.
func (g *gaussian) cumulative(bits uint) iter.Seq2[int, interval] {
	return func(yield func(int, interval) bool) {
		bits := bits + guardBits
		total := g.total(bits)
		sum := intervalInt(-1, bits)
		k := 0
		for weight := range g.weights(bits) {
			sum = sum.add(weight.double())
			if !yield(k, sum.div(total)) {
				return
			}
			k++
		}
	}
}

// within adds up the weights while sigma is small and uses the Euler-Maclaurin
// formula from sigma = 16 on, where it can be made as narrow as needed. Far out
// P(|X| > k) <= 2 exp(-k²/(2 sigma²)) is below the last bit.
func (g *gaussian) within(k int64, bits uint) interval {
	at := new(big.Rat).SetInt64(k)
	x := new(big.Rat).Mul(at, at)
	x.Quo(x, new(big.Rat).Mul(g.sigma2, big.NewRat(2, 1)))
	switch {
	case x.Cmp(new(big.Rat).SetInt64(int64(bits))) >= 0:
		return nearOne(bits)
	case g.sigma2.Cmp(big.NewRat(256, 1)) >= 0:
		return g.withinIntegral(at, x, bits)
	}
	for i, p := range g.cumulative(bits) {
		if int64(i) == k {
			return p.round(bits)
		}
	}
	return nearOne(bits)
}

// nearOne is the enclosure of a probability that is 1 to within the last bit.
func nearOne(bits uint) interval {
	one := intervalInt(1, bits)
	return interval{new(big.Int).Sub(one.lo, big.NewInt(1)), one.hi, bits}
}
