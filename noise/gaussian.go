package noise

import (
	"math"
	"math/big"
	"math/bits"
)

// gaussian is the discrete Gaussian law P(k) ∝ exp(-k²/(2 sigma²)), with
// sigma² = n/d in lowest terms and t = floor(sigma) + 1.
type gaussian struct {
	sigma2   *big.Rat
	proposal *laplace // discrete Laplace of scale t
	step, n  *big.Int // step = d t
	denom    *big.Int // 2 n d t²
	fast     *fastGaussian
	approx   float64 // sigma², for tails
	norm     float64 // the sum of exp(-k²/(2 sigma²)) over all k
}

// fastGaussian is the part of a gaussian that fits uint64.
type fastGaussian struct{ step, n, denom uint64 }

// NewGaussian returns the discrete Gaussian law with P(k) proportional to
// exp(-k²/(2 sigma2)). Adding a draw to a count of the given sensitivity is
// sensitivity²/(2 sigma2)-zCDP (CKS20). sigma2 must be above 0 and
// at most 1e30. Draws are fastest while the numerator and denominator of
// sigma2 are so small that 2 n d t² (see the type) fits 64 bits.
func NewGaussian(sigma2 *big.Rat) (Law, error) {
	limit := big.NewInt(maxSpread)
	if err := checkSpread("the variance of discrete Gaussian noise", sigma2, limit.Mul(limit, limit)); err != nil {
		return nil, err
	}
	return newGaussian(sigma2), nil
}

func newGaussian(sigma2 *big.Rat) *gaussian {
	g := &gaussian{sigma2: new(big.Rat).Set(sigma2)}
	n, d := g.sigma2.Num(), g.sigma2.Denom()
	t := new(big.Int).Quo(n, d)
	t.Add(t.Sqrt(t), big.NewInt(1))
	g.proposal = newLaplace(new(big.Rat).SetInt(t))
	g.n = n
	g.step = new(big.Int).Mul(d, t)
	g.denom = new(big.Int).Mul(n, t)
	g.denom.Lsh(g.denom.Mul(g.denom, g.step), 1)
	if g.denom.IsUint64() {
		g.fast = &fastGaussian{g.step.Uint64(), n.Uint64(), g.denom.Uint64()}
	}
	g.approx, _ = sigma2.Float64()
	g.norm = gaussianNorm(g.approx)
	return g
}

func (g *gaussian) String() string { return "dgauss(" + g.sigma2.RatString() + ")" }

// Draw is CKS20, Algorithm 3: a discrete Laplace proposal y of scale t, kept
// with probability exp(-(|y| - sigma²/t)² / (2 sigma²)). Over the common
// denominator that exponent is (|y| d t - n)² / (2 n d t²).
func (g *gaussian) Draw(s *Source) (int64, error) {
	for {
		y, err := g.proposal.Draw(s)
		if err != nil {
			return 0, err
		}
		keep, err := g.keep(s, y)
		if err != nil {
			return 0, err
		}
		if keep {
			return y, nil
		}
	}
}

func (g *gaussian) keep(s *Source, y int64) (bool, error) {
	magnitude := uint64(max(y, -y))
	if g.fast != nil {
		if square, ok := g.fast.square(magnitude); ok {
			return s.bernoulliExp(square, g.fast.denom)
		}
	}
	square := new(big.Int).SetUint64(magnitude)
	square.Sub(square.Mul(square, g.step), g.n)
	return s.bernoulliExpBig(square.Mul(square, square), g.denom)
}

// square returns (|y| d t - n)², or false when it does not fit.
func (f *fastGaussian) square(magnitude uint64) (uint64, bool) {
	hi, x := bits.Mul64(magnitude, f.step)
	if hi != 0 {
		return 0, false
	}
	if x >= f.n {
		x -= f.n
	} else {
		x = f.n - x
	}
	hi, x = bits.Mul64(x, x)
	return x, hi == 0
}

// Variance sums the series while sigma² is small. From 4 on the variance
// differs from sigma² by less than 1e-30 of it (Poisson summation).
func (g *gaussian) Variance() float64 {
	if g.approx >= 4 {
		return g.approx
	}
	var sum float64
	for k := 1.0; k < 80; k++ {
		sum += 2 * k * k * math.Exp(-k*k/(2*g.approx))
	}
	return sum / g.norm
}
