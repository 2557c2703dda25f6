package projection

import (
	"math"
	"testing"
)

// sample collects moments of a statistic.
type sample struct{ values []float64 }

func (s *sample) add(v float64) { s.values = append(s.values, v) }

// moment returns the mean of (v − center)^k.
func (s *sample) moment(center float64, k float64) (m float64) {
	for _, v := range s.values {
		m += math.Pow(v-center, k)
	}
	return m / float64(len(s.values))
}

// expect compares mean and variance with what they should be. Both statistics
// are nearly normal over the thousands of values here and are allowed six standard
// deviations: 2e-9 each by the normal law, so that the ten comparisons of a test
// fail a correct program once in 10^7, were its tails five times heavier.
func (s *sample) expect(t *testing.T, mean, variance float64) {
	t.Helper()
	n := float64(len(s.values))
	got, square := s.moment(0, 1), s.moment(mean, 2)
	t.Logf("%v values: mean %.3f, want %.3f; variance %.2f, want %.2f", n, got, mean, square, variance)
	if slack := 6 * math.Sqrt(variance/n); math.Abs(got-mean) > slack {
		t.Errorf("mean %v, want %v ± %v", got, mean, slack)
	}
	spread := math.Sqrt((s.moment(mean, 4) - variance*variance) / n)
	if math.Abs(square-variance) > 6*spread {
		t.Errorf("variance %v, want %v ± %v", square, variance, 6*spread)
	}
}

// leastHits returns the largest k such that at least k of n independent events of
// the given probability happen except with probability 5e-9, by the exact binomial
// law: a test may compare 200 times.
func leastHits(n int, probability float64) int {
	below := 0.0 // P(hits < k)
	for k := range n + 1 {
		lc, _ := math.Lgamma(float64(n + 1))
		lk, _ := math.Lgamma(float64(k + 1))
		lr, _ := math.Lgamma(float64(n - k + 1))
		below += math.Exp(lc - lk - lr + float64(k)*math.Log(probability) + float64(n-k)*math.Log1p(-probability))
		if below > 5e-9 {
			return k
		}
	}
	return n
}
