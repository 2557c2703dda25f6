// Package lawtest has naive twins of the laws of noise: sums of exact weights, in more
// digits than any test needs. Tests alone import it.
package lawtest

import (
	"fmt"
	"math/big"
	"strings"
)

// floatBits is the precision of the sums below.
const floatBits = 1400

// Float returns x in the precision of the sums.
func Float(x float64) *big.Float { return new(big.Float).SetPrec(floatBits).SetFloat64(x) }

// ExpNeg returns exp(-x) as 1/exp(x/2^s)^(2^s) by the plain series.
func ExpNeg(x *big.Rat) *big.Float {
	y := Float(0).SetRat(x)
	s := 0
	for ; y.Cmp(Float(0.5)) > 0; s++ {
		y.Quo(y, Float(2))
	}
	sum, term := Float(1), Float(1)
	for n := 1; n < 400; n++ {
		term.Mul(term, y).Quo(term, Float(float64(n)))
		sum.Add(sum, term)
	}
	for ; s > 0; s-- {
		sum.Mul(sum, sum)
	}
	return sum.Quo(Float(1), sum)
}

// Tails returns P(X >= k) for k = 0 ... n by adding up the weights from the
// far end; terms is where the sum starts and must be well beyond n.
func Tails(l fmt.Stringer, n, terms int) []*big.Float {
	weights := Weights(l, terms)
	tails := make([]*big.Float, n+1)
	sum := Float(0)
	for k := terms; k >= 0; k-- {
		sum.Add(sum, weights[k])
		if k <= n {
			tails[k] = Float(0).Set(sum)
		}
	}
	total := Float(0).Add(sum, sum)
	total.Sub(total, weights[0])
	for _, tail := range tails {
		tail.Quo(tail, total)
	}
	return tails
}

// Weights returns numbers in proportion to P(X = k) for k = 0 ... terms, by the text of the law.
func Weights(l fmt.Stringer, terms int) []*big.Float {
	name, parameter, _ := strings.Cut(strings.TrimSuffix(l.String(), ")"), "(")
	rate := Rat(parameter)
	square := Float(1)
	ratio := ExpNeg(new(big.Rat).Inv(rate))
	if name == "dgauss" {
		ratio = ExpNeg(new(big.Rat).Inv(new(big.Rat).Mul(big.NewRat(2, 1), rate)))
		square.Mul(ratio, ratio)
	}
	weights := make([]*big.Float, terms+1)
	weights[0] = Float(1)
	for k := 1; k <= terms; k++ {
		weights[k] = Float(0).Mul(weights[k-1], ratio)
		ratio = Float(0).Mul(ratio, square)
	}
	return weights
}

// Rat returns the rational that a text is.
func Rat(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("not a rational: " + text)
	}
	return r
}
