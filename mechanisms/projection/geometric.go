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

// lifted returns the mean and the mean square of ν and its lift where the light
// part is the clip and so much, which is not positive: in steps of an eighth of
// the scale, but at least of 1.
func (g geometric) lifted(l lift, light float64) (mean, square float64) {
	scale := -1 / math.Log(g.a)
	step := max(1, math.Floor(scale/8))
	total := 0.0
	for x := -math.Ceil(20*scale/step) * step; x <= 20*scale+step; x += step {
		p := math.Pow(g.a, math.Abs(x))
		y := l.of(l.clip + int64(math.Round(light+x)))
		total += p
		mean += p * y
		square += p * (x + y) * (x + y)
	}
	return mean / total, square / total
}
