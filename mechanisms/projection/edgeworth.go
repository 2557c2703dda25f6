package projection

import "math"

// normalQuantile returns z with P(|Z| <= z) = confidence for a standard normal Z.
func normalQuantile(confidence float64) float64 {
	return math.Sqrt2 * math.Erfcinv(1-confidence)
}

// almostNormal is the excess kurtosis up to which Edgeworth's first correction
// gives the law of a sum within about a hundredth of a tail of 1/1000.
const almostNormal = 0.05

// nearNormal is the law of a sum of many independent integers near a normal one.
type nearNormal struct{ deviation, kurtosis float64 }

// within returns P(|S| <= w), for integers w: Edgeworth's expansion to the
// fourth cumulant, with the correction for the lattice (Euler and Maclaurin).
func (n nearNormal) within(w float64) float64 {
	z := (w + 0.5) / n.deviation
	density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	return math.Erf(z/math.Sqrt2) - density*(z*z*z-3*z)*n.kurtosis/12 + density*z/(12*n.deviation*n.deviation)
}

// quantile returns the smallest integer w >= 0 with P(|S| <= w) >= confidence.
func (n nearNormal) quantile(confidence float64) float64 {
	z := normalQuantile(confidence)
	z += (z*z*z - 3*z) * n.kurtosis / 24
	w := max(0, math.Ceil(z*n.deviation-0.5))
	for n.within(w) < confidence {
		w++
	}
	for w > 0 && n.within(w-1) >= confidence {
		w--
	}
	return w
}
