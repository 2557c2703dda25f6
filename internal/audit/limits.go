package audit

import "math"

// lower returns Clopper and Pearson's lower confidence limit for a probability, given x
// successes in n trials: the p with P(Bin(n, p) ≥ x) = alpha. It exceeds the true
// probability with probability at most alpha. It is rounded down, by less than 2e-6 of
// itself.
func lower(x, n int64, alpha float64) float64 {
	if x <= 0 {
		return 0
	}
	low, _ := cross(0, float64(x)/float64(n), func(p float64) bool { return atLeast(x, n, p) > alpha*slack })
	return low
}

// upper returns the upper limit: the p with P(Bin(n, p) ≤ x) = alpha, rounded up in the
// same way. It is below the true probability with probability at most alpha.
func upper(x, n int64, alpha float64) float64 {
	if x >= n {
		return 1
	}
	_, high := cross(float64(x)/float64(n), 1, func(p float64) bool { return atMost(x, n, p) <= alpha*slack })
	return high
}

// slack covers the error of the tails, which is below 1e-6 of them for the numbers of
// trials that an audit makes.
const slack = 1 - 1e-6

// cross encloses the point in a < b at which f changes from false to true, up to a
// relative error.
func cross(a, b float64, f func(float64) bool) (float64, float64) {
	for b-a > 1e-9*b {
		if mid := a + (b-a)/2; f(mid) {
			b = mid
		} else {
			a = mid
		}
	}
	return a, b
}

// atLeast returns P(Bin(n, p) ≥ x) for 0 < x ≤ n and p below x/n.
func atLeast(x, n int64, p float64) float64 {
	if p <= 0 {
		return 0
	}
	return math.Exp(logBeta(float64(x), float64(n-x)+1, p, 1-p, math.Log(p), math.Log1p(-p)))
}

// atMost returns P(Bin(n, p) ≤ x) for 0 ≤ x < n and p above x/n.
func atMost(x, n int64, p float64) float64 {
	if p >= 1 {
		return 0
	}
	return math.Exp(logBeta(float64(n-x), float64(x)+1, 1-p, p, math.Log1p(-p), math.Log(p)))
}

// logBeta returns ln I_p(a, b), the regularised incomplete beta function, for p not far
// above its mean a/(a+b). It also takes q = 1 − p and the logarithms of both. It is the
// continued fraction of Didonato and Morris, "Algorithm 708" (ACM TOMS 18, 1992),
// evaluated by the modified Lentz method.
func logBeta(a, b, p, q, logP, logQ float64) float64 {
	front := a*logP + b*logQ + gamma(a+b) - gamma(a) - gamma(b)
	lambda := a*q - b*p // (a+b)(mean − p)
	// The fraction is 1/(β₁ + α₂/(β₂ + …)); f becomes its denominator.
	f := a / (a + 1) * (lambda + 1) // β₁
	c, d := f, 0.0
	for n := 1.0; n < 1e6; n++ {
		an, bn := alpha(a, b, p, n), beta(a, b, p, lambda, n)
		d = 1 / (bn + an*d)
		c = bn + an/c
		step := c * d
		f *= step
		if math.Abs(step-1) < 1e-14 {
			break
		}
	}
	return front - math.Log(f)
}

// alpha is α_{n+1}.
func alpha(a, b, p, n float64) float64 {
	m := a + 2*n - 1
	return (a + n - 1) * (a + b + n - 1) * n * (b - n) * p * p / (m * m)
}

// beta is β_{n+1}.
func beta(a, b, p, lambda, n float64) float64 {
	m := a + 2*n
	return n + n*(b-n)*p/(m-1) + (a+n)/(m+1)*(lambda+1+n*(2-p))
}

func gamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}
