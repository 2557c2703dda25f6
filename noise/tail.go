package noise

import "math"

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
