package projection

import (
	"math"
	"testing"
)

func TestEvenTransformAgainstSum(t *testing.T) {
	_, random := seeded(t)
	for n := 2; n <= 256; n *= 2 {
		a := make([]float64, n)
		for j := range n/2 + 1 {
			a[j] = random.NormFloat64()
			a[(n-j)%n] = a[j]
		}
		got := append([]float64(nil), a...)
		evenTransform(got)
		for k := range n {
			var want float64
			for j, v := range a {
				want += v * math.Cos(2*math.Pi*float64(j*k)/float64(n))
			}
			if math.Abs(got[k]-want) > 1e-12*float64(n) {
				t.Fatalf("n = %d, k = %d: %v, want %v", n, k, got[k], want)
			}
		}
	}
}
