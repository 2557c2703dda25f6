package projection

import "math"

// geometric is the discrete Laplace law P(k) = (1−a)/(1+a)·a^|k|, for
// predictions.
type geometric struct{ a float64 }

// geometricOf returns the law of a scale.
func geometricOf(scale float64) geometric { return geometric{math.Exp(-1 / scale)} }

func (g geometric) variance() float64 { return 2 * g.a / ((1 - g.a) * (1 - g.a)) }

// above returns P(ν ≥ k), E[ν; ν ≥ k] and E[ν²; ν ≥ k].
func (g geometric) above(k float64) (p, first, second float64) {
	if k <= 0 { // by symmetry
		p, first, second = g.above(1 - k)
		return 1 - p, first, g.variance() - second
	}
	p = math.Pow(g.a, k) / (1 + g.a)
	q := g.a / (1 - g.a)
	return p, p * (k + q), p * (k*k + 2*k*q + q*(1+g.a)/(1-g.a))
}
