package direct_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpsql/mechanisms/direct"
	"dpsql/noise"
	"dpsql/noise/law"
)

// TestCumulativeOfExactCounts measures counts and reads them back: without noise nothing is
// lost. A row at a place changes what is measured by no more than one at the first place.
func TestCumulativeOfExactCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, places := range []int64{1, 2, 3, 10, 85, 1000, direct.MaxPlaces} {
		c := direct.Cumulative{Places: places}
		counts := make([]int64, places)
		all := int64(0)
		for i := range counts {
			counts[i] = random.Int64N(1000)
			all += counts[i]
		}
		measured := c.Measured(counts)
		below := int64(0)
		for p := range places {
			if below += counts[p]; p > 20 && p%97 != 0 && p != places-1 {
				continue
			}
			if b, a := c.Split(measured, p); math.Abs(b-float64(below)) > 1e-6 || math.Abs(a-float64(all-below)) > 1e-6 {
				t.Fatalf("%d places: %g and %g rows up to %d and behind it, want %d and %d", places, b, a, p, below, all-below)
			}
		}
		norm := func(place int64) (sum int64) {
			one := make([]int64, places)
			one[place] = 1
			for _, n := range c.Measured(one) {
				sum += n * n
			}
			return sum
		}
		for _, p := range []int64{places / 3, places / 2, places - 1} {
			if norm(p) > norm(0) {
				t.Errorf("%d places: a row at %d counts %d, and at 0 %d", places, p, norm(p), norm(0))
			}
		}
		if p, ok := direct.PlanForCumulative([]direct.Cumulative{c}, []float64{0.01}, 1000, 1); ok {
			law, _ := law.NewGaussian(direct.SigmaSquared(p.Rho, 1))
			if ratio := p.Law.Variance() / law.Variance() / float64(norm(0)); math.Abs(ratio-1) > 1e-9 {
				t.Errorf("%d places: the plan pays for %g of the shift", places, ratio)
			}
		} else {
			t.Errorf("%d places: no plan is within ±1000", places)
		}
	}
}

// TestCumulativeBounds draws noise and counts how often a Bound of 5 % a side is exceeded. The
// misses of 2,000 draws are at most binomial with 5 %: more than 166 has a probability below
// 2e-10 (Chernoff), for each of 12 cells. Fewer than 32 would be as rare even for 4 %: the
// bound is as tight as it says, since its Gaussian part is exact and Σ|w| below 1.
func TestCumulativeBounds(t *testing.T) {
	const draws = 2000
	c := direct.Cumulative{Places: 60}
	p, ok := direct.PlanForCumulative([]direct.Cumulative{c}, []float64{0.05}, 100, 3)
	if !ok || p.Width > 100 || p.Width < 99 {
		t.Fatalf("%+v, %v", p, ok)
	}
	counts := make([]int64, c.Places)
	counts[20], counts[40] = 50, 70
	measured := c.Measured(counts)
	src := noise.NewSource()
	type cell struct {
		place int64
		q     float64
	}
	cells := []cell{{0, 0.5}, {30, 0}, {30, 0.5}, {30, 1}, {50, 0.9}, {59, 0}}
	widths := make(map[cell]float64)
	for _, at := range cells {
		width, ok := c.Bound(p.Law, at.place, at.q, 0.05)
		if most, _ := c.Most(p.Law, 0.05); !ok || width > most {
			t.Fatalf("%+v: a bound of %g, and at most %g", at, width, most)
		}
		widths[at] = width
	}
	most, _ := c.Most(p.Law, 0.05)
	largest := 0.0
	for place := range c.Places {
		for _, q := range []float64{0, 0.5, 1} {
			width, _ := c.Bound(p.Law, place, q, 0.05)
			largest = max(largest, width)
		}
	}
	if largest > most || largest < most-0.1 {
		t.Errorf("the largest bound is %g, and at most %g", largest, most)
	}
	high, low := make(map[cell]int), make(map[cell]int)
	for range draws {
		noisy := make([]int64, len(measured))
		for i, n := range measured {
			var err error
			if noisy[i], err = p.Answer(n, src); err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range cells {
			below, above := c.Split(noisy, at.place)
			a, b := c.Split(measured, at.place)
			miss := (1-at.q)*(below-a) - at.q*(above-b)
			if miss > widths[at] {
				high[at]++
			} else if miss < -widths[at] {
				low[at]++
			}
		}
	}
	for _, side := range []map[cell]int{high, low} {
		for at, n := range side {
			if n > 166 || n < 32 {
				t.Errorf("%+v: the bound is exceeded in %d of %d draws, want about %d", at, n, draws, draws/20)
			}
		}
		if len(side) != 6 {
			t.Errorf("%d of 6 bounds are ever exceeded", len(side))
		}
	}
}

// TestCumulativeWithoutPlan asks for accuracies that no noise reaches.
func TestCumulativeWithoutPlan(t *testing.T) {
	for _, accuracy := range []float64{0, 1e-9, math.Inf(-1), math.NaN()} {
		if p, ok := direct.PlanForCumulative([]direct.Cumulative{{Places: 85}}, []float64{0.01}, accuracy, 1); ok {
			t.Errorf("±%g has the plan %+v", accuracy, p)
		}
	}
}
