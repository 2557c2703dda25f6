package noise

import "math/big"

// withinIntegral encloses P(|X| <= k) for sigma² >= 256 by the Euler-Maclaurin
// formula for f(t) = exp(-t²/(2 sigma²)),
//
//	Σ_{|j|<=k} f(j) = ∫_{-k}^{k} f + f(k) + Σ_{i=1}^{m} 2 B₂ᵢ/(2i)! f^(2i-1)(k) + R,
//
// divided by Σ_j f(j) = sigma √(2π) (1 + θ), 0 < θ < 3 exp(-2 π² sigma²)
// (Poisson summation). x = k²/(2 sigma²) must be below bits.
func (g *gaussian) withinIntegral(k, x *big.Rat, bits uint) interval {
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
func clampToUnit(a interval) interval {
	if one := intervalInt(1, a.bits); a.hi.Cmp(one.hi) > 0 {
		a.hi = one.hi
	}
	if a.lo.Sign() < 0 {
		a.lo = new(big.Int)
	}
	return a
}

// erfSeries encloses M = Σ_{n>=0} (2x)ⁿ/(2n+1)!!, for which
// ∫_0^k f = k e^-x M with x = k²/(2 sigma²). All terms are positive, and once
// a term is below half the one before, what follows it is below it.
func erfSeries(x *big.Rat, bits uint) interval {
	y := intervalRat(x, bits).double()
	term := intervalInt(1, bits)
	sum := term
	half := new(big.Int).Lsh(y.hi, 1)
	for n := int64(1); ; n++ {
		term = term.mul(y).divInt(2*n + 1)
		sum = sum.add(term)
		limit := new(big.Int).Lsh(big.NewInt(2*n+3), bits)
		if term.hi.BitLen() <= 8 && half.Cmp(limit) <= 0 {
			return sum.add(interval{new(big.Int), term.hi, bits})
		}
	}
}

// corrections encloses Σ_{i=1}^{m} 2 B₂ᵢ/(2i)! f^(2i-1)(k)/f(k) and bounds |R|,
// with the smallest m that brings R below 2^-bits.
//
// The n-th derivative of f is (-1)ⁿ hₙ f, where h₀ = 1, h₁ = k/sigma² and
// hₙ₊₁ = (k hₙ - n hₙ₋₁)/sigma².
func (g *gaussian) corrections(k *big.Rat, bits, work uint) (interval, interval) {
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
func (g *gaussian) remainder(bits, work uint) (int, interval) {
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
