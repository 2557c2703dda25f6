package noise

import (
	"math"
	"math/big"
	"testing"
)

// naiveHalfWidth counts up to the first w with 2 P(X >= w+1) <= 1 - confidence.
func naiveHalfWidth(tails []*big.Float, confidence float64) int64 {
	miss := float(1)
	miss.Sub(miss, float(confidence)).Quo(miss, float(2))
	for w := 0; w+1 < len(tails); w++ {
		if tails[w+1].Cmp(miss) <= 0 {
			return int64(w)
		}
	}
	return -1
}

// TestHalfWidthAgainstSums includes the confidences next to every step of the
// distribution function, which no floating point sum can tell apart.
func TestHalfWidthAgainstSums(t *testing.T) {
	for _, text := range []string{
		"dlap(1/100)", "dlap(3/10)", "dlap(1)", "dlap(5/2)", "dlap(10)", "dgauss(1/100)", "dgauss(1)", "dgauss(17/3)",
		"dgauss(255)", "dgauss(256)", "dgauss(1000)",
	} {
		l := mustParse(t, text)
		tails := naiveTails(l, 1000, 3000)
		confidences := []float64{math.SmallestNonzeroFloat64, 1e-9, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999999, 1 - 1e-12, 1 - 0x1p-53}
		for w := 1; w < 30; w++ {
			step := float(1)
			step.Sub(step, tails[w]).Sub(step, tails[w])
			c, _ := step.Float64()
			confidences = append(confidences, c, math.Nextafter(c, 0), math.Nextafter(c, 1))
		}
		for _, c := range confidences {
			if c <= 0 || c >= 1 {
				continue
			}
			if got, want := HalfWidth(l, c), naiveHalfWidth(tails, c); got != want {
				t.Errorf("HalfWidth(%s, %.17g) = %d, want %d", text, c, got, want)
			}
		}
	}
}

// TestHalfWidthIsMinimal checks the definition by enclosures for laws too wide
// to sum.
func TestHalfWidthIsMinimal(t *testing.T) {
	for _, text := range []string{
		"dlap(12345677/1000)", "dlap(1000000)", "dlap(1000000000000000)", "dlap(999999999999999999/1000001)",
		"dgauss(1000003/7)", "dgauss(1000000000000)", "dgauss(1000000000000000000000000000000)",
	} {
		l := mustParse(t, text)
		for _, c := range []float64{1e-6, 0.5, 0.95, 0.999, 1 - 1e-10, 1 - 0x1p-53} {
			w := HalfWidth(l, c)
			target := new(big.Rat).SetFloat64(c)
			if l.within(w, 300).compare(target) != 1 {
				t.Errorf("HalfWidth(%s, %g) = %d is too narrow", text, c, w)
			}
			if w > 0 && l.within(w-1, 300).compare(target) != -1 {
				t.Errorf("HalfWidth(%s, %g) = %d is not the smallest", text, c, w)
			}
		}
	}
}

func TestHalfWidthEdges(t *testing.T) {
	l := mustParse(t, "dlap(5/2)")
	for _, c := range []struct {
		confidence float64
		want       int64
	}{
		{math.Inf(-1), 0}, {-1, 0}, {0, 0}, {math.Copysign(0, -1), 0},
		{1, math.MaxInt64}, {2, math.MaxInt64}, {math.Inf(1), math.MaxInt64}, {math.NaN(), math.MaxInt64},
	} {
		if got := HalfWidth(l, c.confidence); got != c.want {
			t.Errorf("HalfWidth(%s, %g) = %d, want %d", l, c.confidence, got, c.want)
		}
	}
}

// A uniform law on -2 ... 2 that this package does not know.
type uniform struct{}

func (uniform) Draw(*Source) (int64, error) { return 0, nil }
func (uniform) Variance() float64           { return 2 }
func (uniform) String() string              { return "uniform" }
func (uniform) Tail(k int64) float64        { return min(1, max(0, float64(3-k)/5)) }

func TestHalfWidthOfAnotherLaw(t *testing.T) {
	for c, want := range map[float64]int64{0.1: 0, 0.3: 1, 0.59: 1, 0.61: 2, 0.9: 2} {
		if got := HalfWidth(uniform{}, c); got != want {
			t.Errorf("HalfWidth(uniform, %g) = %d, want %d", c, got, want)
		}
	}
}
