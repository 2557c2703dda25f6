package accounting

import (
	"math"
	"math/big"
	"testing"
)

// Functions at 256 bits and more, written for being obviously right. They
// share nothing with the code under test.

const bigPrecision = 256

func bigFloat(prec uint, x float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(x) }

func bigRat(prec uint, x *big.Rat) *big.Float { return new(big.Float).SetPrec(prec).SetRat(x) }

func sum(terms ...*big.Float) *big.Float {
	total := new(big.Float).SetPrec(terms[0].Prec())
	for _, t := range terms {
		total.Add(total, t)
	}
	return total
}

func neg(x *big.Float) *big.Float    { return new(big.Float).Neg(x) }
func mul(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(x.Prec()).Mul(x, y) }
func quo(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(x.Prec()).Quo(x, y) }

// bigExp is Taylor's series at x/2^k, squared k times.
func bigExp(x *big.Float) *big.Float {
	prec := x.Prec() + 96
	k := max(0, x.MantExp(nil)+16)
	y := new(big.Float).SetPrec(prec).SetMantExp(new(big.Float).SetPrec(prec).Set(x), -k)
	term, total := bigFloat(prec, 1), bigFloat(prec, 1)
	for n := 1; term.Sign() != 0 && term.MantExp(nil) > -int(prec); n++ {
		term = quo(mul(term, y), bigFloat(prec, float64(n)))
		total = sum(total, term)
	}
	for range k {
		total = mul(total, total)
	}
	return total.SetPrec(x.Prec())
}

// bigLn is Halley's iteration on exp.
func bigLn(x *big.Float) *big.Float {
	prec := x.Prec() + 64
	target := new(big.Float).SetPrec(prec).Set(x)
	start, _ := x.Float64()
	y := bigFloat(prec, math.Log(start))
	for range 5 {
		e := bigExp(y)
		step := quo(sum(target, neg(e)), sum(target, e))
		y = sum(y, step, step)
	}
	return y.SetPrec(x.Prec())
}

// bigPi is Machin's formula.
func bigPi(prec uint) *big.Float {
	arctanInverse := func(n float64) *big.Float {
		power := quo(bigFloat(prec+32, 1), bigFloat(prec+32, n))
		square, total := bigFloat(prec+32, n*n), new(big.Float).SetPrec(prec+32)
		for k := 1; power.MantExp(nil) > -int(prec)-32; k += 2 {
			term := quo(power, bigFloat(prec+32, float64(k)))
			if k%4 == 3 {
				term = neg(term)
			}
			total, power = sum(total, term), quo(power, square)
		}
		return total
	}
	pi := sum(mul(bigFloat(prec+32, 16), arctanInverse(5)), neg(mul(bigFloat(prec+32, 4), arctanInverse(239))))
	return pi.SetPrec(prec)
}

// bigPhi is the normal distribution function Φ(x) = 1/2 + φ(x)(x + x³/3 +
// x⁵/15 + …), at a precision that survives the cancellation for x < 0.
func bigPhi(x *big.Float) *big.Float {
	rough, _ := x.Float64()
	prec := uint(bigPrecision + 100 + rough*rough) // Φ(−x) is some 0.72·x² bits below 1/2
	y := new(big.Float).SetPrec(prec).Set(x)
	square := mul(y, y)
	term, total := new(big.Float).Copy(y), new(big.Float).Copy(y)
	for n := 3; term.Sign() != 0 && term.MantExp(nil) > -int(prec); n += 2 {
		term = quo(mul(term, square), bigFloat(prec, float64(n)))
		total = sum(total, term)
	}
	density := bigExp(quo(neg(square), bigFloat(prec, 2)))
	root := new(big.Float).SetPrec(prec).Sqrt(mul(bigFloat(prec, 2), bigPi(prec)))
	return sum(bigFloat(prec, 0.5), quo(mul(density, total), root))
}

// bigGaussianDelta is [BW18], Theorem 8, at ℓ2 sensitivity 1.
func bigGaussianDelta(epsilon, sigma *big.Float) *big.Float {
	half := quo(bigFloat(bigPrecision, 0.5), sigma)
	lift := mul(epsilon, sigma)
	first := bigPhi(sum(half, neg(lift)))
	second := mul(bigExp(new(big.Float).SetPrec(first.Prec()).Set(epsilon)), bigPhi(neg(sum(half, lift))))
	return sum(first, neg(second))
}

// bigEpsilonAt is ρλ + ln((λ−1)/λ) − (ln δ + ln λ)/(λ−1) at λ = 1+u. It bounds
// ε(ρ; δ) at every u.
func bigEpsilonAt(rho, delta *big.Rat, u float64) *big.Float {
	r, d, w := bigRat(bigPrecision, rho), bigRat(bigPrecision, delta), bigFloat(bigPrecision, u)
	order := sum(w, bigFloat(bigPrecision, 1))
	return sum(mul(r, order), bigLn(quo(w, order)), neg(quo(sum(bigLn(d), bigLn(order)), w)))
}

// TestBigFunctions holds the reference functions to published digits, so that
// the tests that lean on them stand on something.
func TestBigFunctions(t *testing.T) {
	cases := []struct {
		name string
		got  *big.Float
		want string
	}{
		{"pi", bigPi(bigPrecision), "3.14159265358979323846264338327950288419716939937510582097494459230781640629"},
		{"e", bigExp(bigFloat(bigPrecision, 1)), "2.71828182845904523536028747135266249775724709369995957496696762772407663035"},
		{"ln 2", bigLn(bigFloat(bigPrecision, 2)), "0.69314718055994530941723212145817656807550013436025525412068000949339362196"},
		{"ln 10", bigLn(bigFloat(bigPrecision, 10)), "2.30258509299404568401799145468436420760110148862877297603332790096757260967"},
		{"Phi(-1)", bigPhi(bigFloat(bigPrecision, -1)), "0.158655253931457051414767454367962077522087"},
		{"Phi(-10)", bigPhi(bigFloat(bigPrecision, -10)), "7.61985302416052606597337e-24"},
	}
	for _, c := range cases {
		want, _, err := big.ParseFloat(c.want, 10, 300, big.ToNearestEven)
		if err != nil {
			t.Fatal(err)
		}
		gap := new(big.Float).Quo(new(big.Float).Sub(c.got, want), want)
		limit := big.NewFloat(1)
		for range significantDigits(c.want) - 2 {
			limit.Quo(limit, big.NewFloat(10))
		}
		if gap.Abs(gap).Cmp(limit) > 0 {
			t.Errorf("%s = %.75g, off by %.3g of it", c.name, c.got, gap)
		}
	}
}

func significantDigits(s string) (n int) {
	for _, c := range s {
		switch {
		case c == 'e':
			return n
		case c >= '1' && c <= '9' || c == '0' && n > 0:
			n++
		}
	}
	return n
}
