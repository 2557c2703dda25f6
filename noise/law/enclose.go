package law

import (
	"iter"
	"math/big"
)

// Enclosed is a law whose distribution function can be enclosed arbitrarily
// narrowly. Everything here that claims to be exact rests on it. All but the
// last few of the requested bits are correct.
type Enclosed interface {
	Law
	// within encloses P(|X| <= k), k >= 0, with the given bits.
	within(k int64, bits uint) Interval
	// Cumulative encloses P(|X| <= k) for k = 0, 1, ..., without end, with
	// guardBits more than the given bits.
	Cumulative(bits uint) iter.Seq2[int, Interval]
}

// decayBits is the magnitude below which a weight ends the sum in total, in
// units of the last of guardBits further bits. Outward rounding keeps the upper
// end of a falling sequence from reaching 0.
const decayBits = 40

// weights yields enclosures of exp(-k²/(2 sigma²)) for k = 0, 1, ..., each with
// the factor exp(-(2k+1)/(2 sigma²)) that leads to the next one.
func (g *Gaussian) weights(bits uint) iter.Seq2[Interval, Interval] {
	return func(yield func(weight, ratio Interval) bool) {
		half := new(big.Rat).Mul(g.sigma2, big.NewRat(2, 1))
		ratio := expNeg(half.Inv(half), bits)
		square := ratio.mul(ratio)
		for weight := intervalInt(1, bits); yield(weight, ratio); {
			weight, ratio = weight.mul(ratio), ratio.mul(square)
		}
	}
}

// total encloses the sum of exp(-k²/(2 sigma²)) over all integers, and returns the weights
// that it added up. The ratios of successive weights fall, so the sum after a weight w
// reached by the ratio r is below w/(1-r).
func (g *Gaussian) total(bits uint) (sum Interval, added []Interval) {
	one := intervalInt(1, bits)
	sum = intervalInt(0, bits)
	for weight, ratio := range g.weights(bits) {
		if weight.hi.BitLen() <= decayBits {
			rest := weight.div(one.sub(ratio))
			rest.lo.SetInt64(0)
			return sum.add(rest).double().sub(one), added
		}
		sum, added = sum.add(weight), append(added, weight)
	}
	return sum, added
}

// Cumulative adds up the weights and divides by their total. Weights that do not count in
// the total are between 0 and the last that does.
func (g *Gaussian) Cumulative(bits uint) iter.Seq2[int, Interval] {
	return func(yield func(int, Interval) bool) {
		bits := bits + guardBits
		total, weights := g.total(bits)
		share := intervalInt(1, bits).div(total)
		sum := intervalInt(-1, bits)
		tail := Interval{new(big.Int), weights[len(weights)-1].hi, bits}
		for k := 0; ; k++ {
			weight := tail
			if k < len(weights) {
				weight = weights[k]
			}
			sum = sum.add(weight.double())
			if !yield(k, sum.mul(share)) {
				return
			}
		}
	}
}

// within adds up the weights while sigma is small. From sigma = 16 on it uses
// the Euler-Maclaurin formula, which can be made as narrow as needed. Far out
// P(|X| > k) <= 2 exp(-k²/(2 sigma²)) is below the last bit.
func (g *Gaussian) within(k int64, bits uint) Interval {
	at := new(big.Rat).SetInt64(k)
	x := new(big.Rat).Mul(at, at)
	x.Quo(x, new(big.Rat).Mul(g.sigma2, big.NewRat(2, 1)))
	switch {
	case x.Cmp(new(big.Rat).SetInt64(int64(bits))) >= 0:
		return nearOne(bits)
	case g.sigma2.Cmp(big.NewRat(256, 1)) >= 0:
		return g.withinIntegral(at, x, bits)
	}
	for i, p := range g.Cumulative(bits) {
		if int64(i) == k {
			return p.round(bits)
		}
	}
	return nearOne(bits)
}

// nearOne returns the enclosure of a probability that is 1 up to the last bit.
func nearOne(bits uint) Interval {
	one := intervalInt(1, bits)
	return Interval{new(big.Int).Sub(one.lo, big.NewInt(1)), one.hi, bits}
}

// withinIntegral encloses P(|X| <= k) for sigma² >= 256 by the Euler-Maclaurin
// formula for f(t) = exp(-t²/(2 sigma²)),
//
//	Σ_{|j|<=k} f(j) = ∫_{-k}^{k} f + f(k) + Σ_{i=1}^{m} 2 B₂ᵢ/(2i)! f^(2i-1)(k) + R,
//
// divided by Σ_j f(j) = sigma √(2π) (1 + θ), 0 < θ < 3 exp(-2 π² sigma²)
// (Poisson summation). x = k²/(2 sigma²) must be below bits.
func (g *Gaussian) withinIntegral(k, x *big.Rat, bits uint) Interval {
	// The series below grows as exp(x), and so does its error.
	growth := 2 * uint(floorQuo(x.Num(), x.Denom()).Uint64())
	work := bits + guardBits + growth
	f := expNeg(x, work)
	integral := intervalRat(k, work).mul(f).mul(erfSeries(x, work)).double()
	corrections, remainder := g.corrections(k, bits, work)
	sum := integral.add(f).add(f.mul(corrections)).widen(remainder)

	variance := intervalRat(g.sigma2, work)
	total := variance.mul(pi(work)).double().sqrt()
	theta := expNeg(new(big.Rat).Mul(g.sigma2, big.NewRat(19, 1)), work).mul(intervalInt(3, work))
	theta.lo.SetInt64(0)
	return clampToUnit(sum.div(total.add(total.mul(theta)))).round(bits)
}

// clampToUnit narrows an enclosure of a probability to [0, 1].
func clampToUnit(a Interval) Interval {
	if one := intervalInt(1, a.bits); a.hi.Cmp(one.hi) > 0 {
		a.hi = one.hi
	}
	if a.lo.Sign() < 0 {
		a.lo = new(big.Int)
	}
	return a
}

// erfSeries encloses M = Σ_{n>=0} (2x)ⁿ/(2n+1)!!, for which ∫_0^k f = k e^-x M
// with x = k²/(2 sigma²). All terms are positive. Once a term is below half the
// one before, the sum of the terms after it is below it.
func erfSeries(x *big.Rat, bits uint) Interval {
	y := intervalRat(x, bits).double()
	term := intervalInt(1, bits)
	sum := term
	half := new(big.Int).Lsh(y.hi, 1)
	for n := int64(1); ; n++ {
		term = term.mul(y).divInt(2*n + 1)
		sum = sum.add(term)
		limit := new(big.Int).Lsh(big.NewInt(2*n+3), bits)
		if term.hi.BitLen() <= 8 && half.Cmp(limit) <= 0 {
			return sum.add(Interval{new(big.Int), term.hi, bits})
		}
	}
}

// corrections encloses Σ_{i=1}^{m} 2 B₂ᵢ/(2i)! f^(2i-1)(k)/f(k) and bounds |R|,
// with the smallest m that brings R below 2^-bits.
//
// The n-th derivative of f is (-1)ⁿ hₙ f, where h₀ = 1, h₁ = k/sigma² and
// hₙ₊₁ = (k hₙ - n hₙ₋₁)/sigma².
func (g *Gaussian) corrections(k *big.Rat, bits, work uint) (Interval, Interval) {
	m, remainder := g.remainder(bits, work)
	inverse := new(big.Rat).Inv(g.sigma2)
	slope := intervalRat(new(big.Rat).Mul(k, inverse), work)
	curve := intervalRat(inverse, work)
	before, h := intervalInt(1, work), slope
	bernoulli := bernoulliNumbers(2 * m)
	factorial := big.NewInt(1)
	sum := intervalInt(0, work)
	for n := 1; n < 2*m; n++ { // h is hₙ, before is hₙ₋₁
		factorial.Mul(factorial, big.NewInt(int64(n)+1))
		if n&1 == 1 {
			c := new(big.Rat).SetFrac(big.NewInt(-2), factorial)
			sum = sum.add(h.mul(intervalRat(c.Mul(c, bernoulli[n+1]), work)))
		}
		step := curve.mul(before).mul(intervalInt(int64(n), work))
		before, h = h, slope.mul(h).sub(step)
	}
	return sum, remainder
}

// remainder returns the smallest m for which the Euler-Maclaurin remainder R
// after m corrections is below 2^-bits, with a bound of |R|. By the general
// bound |R| <= 2 ζ(2m)/(2π)^2m ∫|f^(2m)|, and by Cramér's bound on Hermite
// functions |f^(2m)(t)| <= 1.09 √((2m)!) sigma^-2m exp(-t²/(4 sigma²)); together
// R² <= 256 sigma² (2m)!/(39 sigma²)^2m, as (2π)² > 39.
func (g *Gaussian) remainder(bits, work uint) (int, Interval) {
	square := new(big.Rat).Mul(g.sigma2, big.NewRat(256, 1))
	unit := new(big.Rat).Mul(g.sigma2, big.NewRat(39, 1))
	unit.Inv(unit.Mul(unit, unit))
	for m := int64(1); ; m++ {
		square.Mul(square, unit)
		square.Mul(square, big.NewRat((2*m-1)*2*m, 1))
		if bound := intervalRat(square, 2*work).sqrt().round(work); bound.hi.BitLen() <= int(work-bits) {
			return int(m), bound
		}
	}
}

// Interval is a real number known to lie in [lo, hi] / 2^bits. Every operation
// rounds outwards, so a chain of them proves its result. Operands must have the
// same number of bits. Operations do not change their operands.
type Interval struct {
	lo, hi *big.Int
	bits   uint
}

// Ends returns the ends of a in units of 2^-bits. They must not be changed.
func (a Interval) Ends() (lo, hi *big.Int, bits uint) { return a.lo, a.hi, a.bits }

// guardBits is the number of extra bits with which enclosures are computed, so
// that rounding over 2^16 terms does not reach the requested bits.
const guardBits = 128

func intervalInt(v int64, bits uint) Interval {
	x := big.NewInt(v)
	x.Lsh(x, bits)
	return Interval{x, x, bits}
}

// intervalRat encloses r.
func intervalRat(r *big.Rat, bits uint) Interval {
	num := new(big.Int).Lsh(r.Num(), bits)
	return Interval{floorQuo(num, r.Denom()), ceilQuo(num, r.Denom()), bits}
}

func (a Interval) add(b Interval) Interval {
	return Interval{new(big.Int).Add(a.lo, b.lo), new(big.Int).Add(a.hi, b.hi), a.bits}
}

func (a Interval) sub(b Interval) Interval {
	return Interval{new(big.Int).Sub(a.lo, b.hi), new(big.Int).Sub(a.hi, b.lo), a.bits}
}

func (a Interval) double() Interval { return a.add(a) }

// widen returns a with both ends moved outwards by b's upper end, b >= 0.
func (a Interval) widen(b Interval) Interval {
	return Interval{new(big.Int).Sub(a.lo, b.hi), new(big.Int).Add(a.hi, b.hi), a.bits}
}

// mul returns a times b.
func (a Interval) mul(b Interval) Interval {
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

// shifted divides exact products of numbers of the given bits by 2^bits. It
// overwrites its arguments.
func shifted(lo, hi *big.Int, bits uint) Interval {
	hi.Neg(hi)
	hi.Rsh(hi, bits)
	return Interval{lo.Rsh(lo, bits), hi.Neg(hi), bits}
}

// div returns a/b for a >= 0 and b > 0.
func (a Interval) div(b Interval) Interval {
	lo := new(big.Int).Lsh(a.lo, a.bits)
	hi := new(big.Int).Lsh(a.hi, a.bits)
	return Interval{floorQuo(lo, b.hi), ceilQuo(hi, b.lo), a.bits}
}

// divInt returns a/n for n > 0.
func (a Interval) divInt(n int64) Interval {
	d := big.NewInt(n)
	return Interval{floorQuo(a.lo, d), ceilQuo(a.hi, d), a.bits}
}

// round returns a with fewer bits.
func (a Interval) round(bits uint) Interval {
	r := shifted(new(big.Int).Set(a.lo), new(big.Int).Set(a.hi), a.bits-bits)
	r.bits = bits
	return r
}

// sqrt returns the square root of a >= 0.
func (a Interval) sqrt() Interval {
	lo := new(big.Int).Lsh(a.lo, a.bits)
	hi := new(big.Int).Lsh(a.hi, a.bits)
	hi.Sqrt(hi)
	return Interval{lo.Sqrt(lo), hi.Add(hi, big.NewInt(1)), a.bits}
}

// compare returns -1 or 1 when all of a lies below or above r, and 0 when r
// lies within a.
func (a Interval) compare(r *big.Rat) int {
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

// expNeg encloses exp(-x), x >= 0. It takes the alternating Taylor series at
// x/2^s and squares the result s times.
func expNeg(x *big.Rat, bits uint) Interval {
	whole := floorQuo(x.Num(), x.Denom())
	if whole.Cmp(new(big.Int).SetUint64(uint64(bits))) >= 0 {
		return Interval{new(big.Int), big.NewInt(1), bits} // below e^-bits
	}
	s := uint(whole.BitLen()) + 8
	scale := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), s))
	y := intervalRat(scale.Quo(x, scale), bits+s+16)
	result := alternating(intervalInt(1, y.bits), func(term Interval, n int64) Interval {
		return term.mul(y).divInt(n)
	})
	for ; s > 0; s-- {
		result = result.mul(result)
	}
	return result.round(bits)
}

// alternating encloses first - next(first, 1) + next(·, 2) - .... The terms
// must be positive and fall to 0. The sum of the terms after any term is
// smaller than the next term.
func alternating(first Interval, next func(term Interval, n int64) Interval) Interval {
	sum, term := first, first
	for n := int64(1); ; n++ {
		term = next(term, n)
		if term.hi.BitLen() <= 1 {
			return sum.widen(term)
		}
		if n&1 == 1 {
			sum = sum.sub(term)
		} else {
			sum = sum.add(term)
		}
	}
}

// pi encloses π by Machin's formula, π = 16 arctan(1/5) - 4 arctan(1/239).
func pi(bits uint) Interval {
	a, b := arctanInverse(5, bits+8), arctanInverse(239, bits+8)
	return a.double().double().sub(b).double().double().round(bits)
}

// arctanInverse encloses arctan(1/m) = Σ (-1)ⁿ / ((2n+1) m^(2n+1)).
func arctanInverse(m int64, bits uint) Interval {
	power := intervalInt(1, bits).divInt(m)
	return alternating(power, func(_ Interval, n int64) Interval {
		power = power.divInt(m * m)
		return power.divInt(2*n + 1)
	})
}

// bernoulliNumbers returns B₀, B₁, ..., Bₙ (Akiyama and Tanigawa's algorithm,
// which gives B₁ = +1/2; only even indices are used here).
func bernoulliNumbers(n int) []*big.Rat {
	row := make([]*big.Rat, n+1)
	numbers := make([]*big.Rat, n+1)
	for m := range row {
		row[m] = big.NewRat(1, int64(m)+1)
		for j := m; j > 0; j-- {
			row[j-1].Sub(row[j-1], row[j])
			row[j-1].Mul(row[j-1], big.NewRat(int64(j), 1))
		}
		numbers[m] = new(big.Rat).Set(row[0])
	}
	return numbers
}
