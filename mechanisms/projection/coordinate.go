package projection

import (
	"math"

	"dpsql/noise"
)

// coordinate is the law of the error of one coordinate, symmetric about 0.
type coordinate struct {
	tail     func(k int64) float64 // P(|X| >= k)
	variance float64
	fourth   float64              // the fourth cumulant
	last     last[float64, int64] // quantile
}

// noiseOf returns the law of noise alone.
func noiseOf(law noise.Law) *coordinate {
	c := &coordinate{variance: law.Variance()}
	c.tail = func(k int64) float64 {
		if k <= 0 {
			return 1
		}
		return min(1, 2*law.Tail(k))
	}
	c.fourth = c.moment4() - 3*c.variance*c.variance
	return c
}

// moment4 returns E X⁴ = Σ_k (k⁴ − (k−1)⁴)·P(|X| >= k), in larger steps for wide
// laws: it serves for a correction only.
func (c *coordinate) moment4() (sum float64) {
	deviation := math.Sqrt(c.variance)
	step := max(1, math.Floor(deviation/50))
	for k := 0.0; ; k += step {
		next := k + step
		term := (next*next*next*next - k*k*k*k) * c.tail(int64((k+next+1)/2))
		sum += term
		if term <= 1e-9*sum || next > 60*deviation+60 {
			return sum
		}
	}
}

// quantile returns the smallest w with P(|X| <= w) >= confidence.
func (c *coordinate) quantile(confidence float64) int64 {
	return c.last.of(confidence, func() int64 { return smallest(c.tail, 1-confidence) })
}
