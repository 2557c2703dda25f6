// Package law has the laws of noise as mathematics: variances, tails, quantiles, and
// enclosures of their distribution functions. It draws nothing, and all of it is public.
// Package noise draws from these laws.
package law

import (
	"iter"
	"math"
	"math/big"
	"strings"

	"dpsql/sqlerr"
)

// Law is a probability law on the integers, symmetric about 0. It draws nothing: a
// noise.Sampler does. Laws are immutable and safe for concurrent use.
type Law interface {
	// Variance returns the law's variance.
	Variance() float64
	// Tail returns P(X >= k), rounded up. It is never below the true value. It
	// exceeds the true value by at most 1e-12 of it if that is at least 1e-240,
	// and by at most 2e-12 of it down to the smallest normal number. Below that
	// Tail is only an upper bound, and never 0.
	Tail(k int64) float64
	// String returns the law in the form that Parse reads. "dlap(5/2)" is
	// the discrete Laplace law of scale 5/2. "dgauss(17/3)" is the discrete
	// Gaussian law with variance parameter sigma^2 = 17/3.
	String() string
}

// maxSpread is the largest accepted scale or sigma. At this spread a draw lies
// outside int64 with probability below exp(-9000).
const maxSpread = 1_000_000_000_000_000

// Parse returns the law whose String is text.
func Parse(text string) (Law, error) {
	name, rest, ok := strings.Cut(text, "(")
	inner, closed := strings.CutSuffix(rest, ")")
	parameter, valid := parseFraction(inner)
	if !ok || !closed || !valid {
		return nil, malformedLaw(text)
	}
	var l Law
	var err error
	switch name {
	case "dlap":
		l, err = NewLaplace(parameter)
	case "dgauss":
		l, err = NewGaussian(parameter)
	default:
		return nil, malformedLaw(text)
	}
	if err != nil {
		return nil, err
	}
	if l.String() != text {
		return nil, malformedLaw(text)
	}
	return l, nil
}

func malformedLaw(text string) error {
	const limit = 80
	if len(text) > limit {
		text = text[:limit] + "..."
	}
	return sqlerr.New(sqlerr.Invalid, "not a noise law: %q", text).
		WithHint("write dlap(SCALE) or dgauss(VARIANCE) with a reduced fraction, as in dlap(5/2)")
}

// parseFraction reads digits, or digits/digits. big.Rat alone would also read
// exponents, whose value can be far larger than their text.
func parseFraction(text string) (*big.Rat, bool) {
	for _, c := range text {
		if (c < '0' || c > '9') && c != '/' {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

// checkSpread refuses a parameter that is missing, not positive or above limit.
func checkSpread(what string, v *big.Rat, limit *big.Int) error {
	switch {
	case v == nil:
		return sqlerr.New(sqlerr.Invalid, "%s is missing", what)
	case v.Sign() <= 0:
		return sqlerr.New(sqlerr.Invalid, "%s must be above 0", what)
	case v.Cmp(new(big.Rat).SetInt(limit)) > 0:
		return sqlerr.New(sqlerr.Invalid, "%s must be at most %s", what, limit)
	}
	return nil
}

// HalfWidth returns the smallest w >= 0 with P(|X| <= w) >= confidence. A noisy
// count lies within w of the true one with at least that probability. For laws
// of this package the result is exactly that integer: enclosures decide what
// floating point cannot. For other laws it is as good as their Tail. The laws
// are unbounded, so for a confidence of 1 or more, or NaN, the result is
// math.MaxInt64.
func HalfWidth(l Law, confidence float64) int64 {
	if !(confidence < 1) {
		return math.MaxInt64
	}
	below, above := int64(-1), int64(1) // not reached at below
	for !Within(l, above-1, confidence) {
		if above > math.MaxInt64/2 {
			return math.MaxInt64
		}
		below, above = above-1, 2*above
	}
	for above--; above-below > 1; {
		middle := below + (above-below)/2
		if Within(l, middle, confidence) {
			above = middle
		} else {
			below = middle
		}
	}
	return above
}

// Within reports whether P(|X| <= w) >= confidence, that is whether the
// half-width is at most w. It computes one tail, where HalfWidth searches.
func Within(l Law, w int64, confidence float64) bool {
	if !(confidence < 1) || w < 0 {
		return false
	}
	if confidence <= 0 {
		return true
	}
	// Tail's promise leaves 2e-12, and 1 - confidence is rounded once.
	outside, miss := 2*l.Tail(w+1), 1-confidence
	if outside <= miss*(1-1e-15) {
		return true
	}
	exact, ok := l.(Enclosed)
	if !ok {
		return outside <= miss
	}
	if outside*(1-3e-12) > miss {
		return false
	}
	return reachedExactly(exact, w, confidence)
}

// maxEnclosureBits is the precision at which reachedExactly gives up, if P(|X|
// <= w) and the confidence agree to this many bits. No such pair is known. The
// result is then the wider one.
const maxEnclosureBits = 1 << 12

func reachedExactly(l Enclosed, w int64, confidence float64) bool {
	target := new(big.Rat).SetFloat64(confidence)
	for bits := uint(64); bits <= maxEnclosureBits; bits *= 2 {
		if c := l.within(w, bits).compare(target); c != 0 {
			return c > 0
		}
	}
	return false
}

// Gaussian is the discrete Gaussian law P(k) ∝ exp(-k²/(2 sigma²)).
type Gaussian struct {
	sigma2 *big.Rat
	approx float64 // sigma², for tails
	norm   float64 // the sum of exp(-k²/(2 sigma²)) over all k
}

// NewGaussian returns the discrete Gaussian law with P(k) proportional to
// exp(-k²/(2 sigma2)). Adding a draw to a count of the given sensitivity is
// sensitivity²/(2 sigma2)-zCDP (CKS20). sigma2 must be above 0 and
// at most 1e30. Package noise draws fastest while numerator and denominator, n and d, are so
// small that 2 n d t² fits 64 bits, with t = floor(sigma) + 1.
func NewGaussian(sigma2 *big.Rat) (Law, error) {
	limit := big.NewInt(maxSpread)
	if err := checkSpread("the variance of discrete Gaussian noise", sigma2, limit.Mul(limit, limit)); err != nil {
		return nil, err
	}
	return newGaussian(sigma2), nil
}

func newGaussian(sigma2 *big.Rat) *Gaussian {
	g := &Gaussian{sigma2: new(big.Rat).Set(sigma2)}
	g.approx, _ = sigma2.Float64()
	g.norm = gaussianNorm(g.approx)
	return g
}

// Sigma2 returns σ².
func (g *Gaussian) Sigma2() *big.Rat { return new(big.Rat).Set(g.sigma2) }

func (g *Gaussian) String() string { return "dgauss(" + g.sigma2.RatString() + ")" }

// Variance sums the series while sigma² is small. From 4 on the variance
// differs from sigma² by less than 1e-30 of it (Poisson summation).
func (g *Gaussian) Variance() float64 {
	if g.approx >= 4 {
		return g.approx
	}
	var sum float64
	for k := 1.0; k < 80; k++ {
		sum += 2 * k * k * math.Exp(-k*k/(2*g.approx))
	}
	return sum / g.norm
}

// sumLimit is the largest sigma² for which discrete Gaussian tails are summed
// term by term. Above it the Euler-Maclaurin formula is more accurate than
// needed.
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

// Tail sums positive terms up to sigma = 256. Above, it uses the
// Euler-Maclaurin formula with three correction terms, whose error is then
// below 1e-13 of the result wherever that is at least 1e-307.
func (g *Gaussian) Tail(k int64) float64 {
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
func (g *Gaussian) tailSum(k, _ float64) float64 {
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
func (g *Gaussian) tailIntegral(k, x float64) float64 {
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

// Laplace is the discrete Laplace law P(k) = (1-a)/(1+a) a^|k| with
// a = exp(-1/scale).
type Laplace struct {
	scale  *big.Rat
	approx float64 // the scale, for tails
}

// NewLaplace returns the discrete Laplace law with P(k) proportional to
// exp(-|k|/scale). With scale = sensitivity/epsilon, adding a draw to a count
// is epsilon-differentially private. The scale must be above 0 and at most
// 1e15.
func NewLaplace(scale *big.Rat) (Law, error) {
	if err := checkSpread("the scale of discrete Laplace noise", scale, big.NewInt(maxSpread)); err != nil {
		return nil, err
	}
	return newLaplace(scale), nil
}

func newLaplace(scale *big.Rat) *Laplace {
	l := &Laplace{scale: new(big.Rat).Set(scale)}
	l.approx, _ = scale.Float64()
	return l
}

// Scale returns the scale.
func (l *Laplace) Scale() *big.Rat { return new(big.Rat).Set(l.scale) }

func (l *Laplace) String() string { return "dlap(" + l.scale.RatString() + ")" }

func (l *Laplace) Variance() float64 {
	a, rest := math.Exp(-1/l.approx), -math.Expm1(-1/l.approx)
	return 2 * a / (rest * rest)
}

// Tail is the closed form a^k/(1+a) for k >= 1.
func (l *Laplace) Tail(k int64) float64 {
	if k <= 0 {
		return reflectTail(l, k)
	}
	x := float64(k) / l.approx
	return roundUp(math.Exp(-x)/(1+math.Exp(-1/l.approx)), 5e-16*(8+x))
}

// within encloses P(|X| <= k) = 1 - 2 a^(k+1)/(1+a).
func (l *Laplace) within(k int64, bits uint) Interval {
	one := intervalInt(1, bits+guardBits)
	steps := new(big.Rat).SetInt(new(big.Int).Add(big.NewInt(k), big.NewInt(1)))
	power := expNeg(steps.Quo(steps, l.scale), one.bits)
	return one.sub(power.double().div(one.add(l.ratio(one.bits)))).round(bits)
}

// Cumulative encloses P(|X| <= k) for k = 0, 1, ...
func (l *Laplace) Cumulative(bits uint) iter.Seq2[int, Interval] {
	return func(yield func(int, Interval) bool) {
		one := intervalInt(1, bits+guardBits)
		a := l.ratio(one.bits)
		rest := a.double().div(one.add(a))
		for k := 0; yield(k, one.sub(rest)); k++ {
			rest = rest.mul(a)
		}
	}
}

func (l *Laplace) ratio(bits uint) Interval { return expNeg(new(big.Rat).Inv(l.scale), bits) }
