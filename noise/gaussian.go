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
	if s.drawer != nil {
		return s.drawer.Drawn(g), nil
	}
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

// sumLimit is the sigma² up to which discrete Gaussian tails are summed term by
// term; above it the Euler-Maclaurin formula is more accurate than is needed.
const sumLimit = 256 * 256

// roundUp returns an upper bound of a number that v approximates with the given
// relative error. The last term covers the loss of digits below 2^-1022.
func roundUp(v, relative float64) float64 {
	return v*(1+relative) + 2*math.SmallestNonzeroFloat64
}

// reflectTail returns P(X >= k) for k <= 0 as 1 - P(X >= 1-k).
func reflectTail(l Law, k int64) float64 {
	if k <= -math.MaxInt64 { // 1-k does not fit, and 1 is as close as can be
		return 1
	}
	return min(1, math.Nextafter(1-l.Tail(1-k)*(1-1e-12), 2))
}

// Tail is a sum of positive terms up to sigma = 256 and the Euler-Maclaurin
// formula with three correction terms above, whose error is then below 1e-13 of
// the result wherever that is at least 1e-307.
func (g *gaussian) Tail(k int64) float64 {
	if k <= 0 {
		return reflectTail(g, k)
	}
	at := float64(k)
	x := at * at / (2 * g.approx)
	tail := g.tailIntegral
	if g.approx <= sumLimit {
		tail = g.tailSum
	}
	return roundUp(tail(at, x), 8e-16*(8+x))
}

// tailSum adds P(j) for j = k, k+1, ... with Kahan's correction, until a term
// no longer counts; the terms fall faster than a geometric series by then.
func (g *gaussian) tailSum(k, _ float64) float64 {
	var sum, lost float64
	twice := 2 * g.approx
	for j := k; ; j++ {
		term := math.Exp(-j * j / twice)
		y := term - lost
		t := sum + y
		lost = (t - sum) - y
		sum = t
		if term <= sum*1e-20 {
			return sum / g.norm
		}
	}
}

// tailIntegral is ∫_k^∞ f + f(k)/2 + f(k) (h₁/12 - h₃/720 + h₅/30240), where
// (-1)ⁿ hₙ f is the n-th derivative of f(t) = exp(-t²/(2 sigma²)).
func (g *gaussian) tailIntegral(k, x float64) float64 {
	h1 := k / g.approx
	h2 := h1*h1 - 1/g.approx
	h3 := h1*h2 - 2*h1/g.approx
	h4 := h1*h3 - 3*h2/g.approx
	h5 := h1*h4 - 4*h3/g.approx
	at := math.Exp(-x) / g.norm
	return math.Erfc(k/math.Sqrt(2*g.approx))/2 + at*(0.5+h1/12-h3/720+h5/30240)
}

// gaussianNorm is the sum of exp(-k²/(2 sigma²)) over all integers. From
// sigma² = 4 on it is the integral over the line within 1e-30.
func gaussianNorm(sigma2 float64) float64 {
	if sigma2 >= 4 {
		return math.Sqrt(2 * math.Pi * sigma2)
	}
	sum := 0.0
	for k := 80.0; k > 0; k-- {
		sum += math.Exp(-k * k / (2 * sigma2))
	}
	return 1 + 2*sum
}
