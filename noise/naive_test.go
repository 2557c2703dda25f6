package noise

import "math/big"

// floatBits is the precision of the naive sums below.
const floatBits = 1400

func float(x float64) *big.Float { return new(big.Float).SetPrec(floatBits).SetFloat64(x) }

// naiveExpNeg returns exp(-x) as 1/exp(x/2^s)^(2^s) by the plain series.
func naiveExpNeg(x *big.Rat) *big.Float {
	y := float(0).SetRat(x)
	s := 0
	for ; y.Cmp(float(0.5)) > 0; s++ {
		y.Quo(y, float(2))
	}
	sum, term := float(1), float(1)
	for n := 1; n < 400; n++ {
		term.Mul(term, y).Quo(term, float(float64(n)))
		sum.Add(sum, term)
	}
	for ; s > 0; s-- {
		sum.Mul(sum, sum)
	}
	return sum.Quo(float(1), sum)
}

// naiveTails returns P(X >= k) for k = 0 ... n by adding up the weights from the
// far end; terms is where the sum starts and must be well beyond n.
func naiveTails(l Law, n, terms int) []*big.Float {
	weights := naiveWeights(l, terms)
	tails := make([]*big.Float, n+1)
	sum := float(0)
	for k := terms; k >= 0; k-- {
		sum.Add(sum, weights[k])
		if k <= n {
			tails[k] = float(0).Set(sum)
		}
	}
	total := float(0).Add(sum, sum)
	total.Sub(total, weights[0])
	for _, tail := range tails {
		tail.Quo(tail, total)
	}
	return tails
}

func naiveWeights(l Law, terms int) []*big.Float {
	weights := make([]*big.Float, terms+1)
	weights[0] = float(1)
	ratio, square := float(0), float(1)
	switch l := l.(type) {
	case *laplace:
		ratio = naiveExpNeg(new(big.Rat).Inv(l.scale))
	case *gaussian:
		ratio = naiveExpNeg(new(big.Rat).Inv(new(big.Rat).Mul(big.NewRat(2, 1), l.sigma2)))
		square.Mul(ratio, ratio)
	}
	for k := 1; k <= terms; k++ {
		weights[k] = float(0).Mul(weights[k-1], ratio)
		ratio = float(0).Mul(ratio, square)
	}
	return weights
}
