package noise

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// checkTail holds Tail(k) to its promise against the true tail.
func checkTail(t *testing.T, l Law, k int64, want *big.Float) {
	t.Helper()
	got := l.Tail(k)
	excess := float(got)
	excess.Sub(excess, want).Quo(excess, want)
	rel, _ := excess.Float64()
	limit := 1e-12
	switch {
	case want.Cmp(float(0x1p-1021)) < 0:
		limit = math.Inf(1)
	case want.Cmp(float(1e-240)) < 0:
		limit = 2e-12
	}
	if rel < 0 || rel > limit || got <= 0 {
		t.Errorf("%s: Tail(%d) = %g exceeds the true %g by %g of it", l, k, got, want, rel)
	}
}

// TestTailAgainstSums compares Tail with sums of up to 20 000 exact weights.
func TestTailAgainstSums(t *testing.T) {
	for _, c := range []struct {
		text     string
		n, terms int
	}{
		{"dlap(1/100)", 20, 40},
		{"dlap(3/10)", 260, 500},
		{"dlap(1)", 800, 1800},
		{"dlap(1000/37)", 3000, 20000},
		{"dgauss(1/100)", 5, 15},
		{"dgauss(1/4)", 20, 40},
		{"dgauss(1)", 42, 60},
		{"dgauss(39999/10000)", 80, 100},
		{"dgauss(4)", 80, 100},
		{"dgauss(10007/100)", 400, 500},
		{"dgauss(65535)", 10000, 11500},
		{"dgauss(65537)", 10000, 11500},
		{"dgauss(250001/2)", 13500, 16000},
	} {
		l := mustParse(t, c.text)
		tails := naiveTails(l, c.n, c.terms)
		for k := 0; k <= c.n; k += 1 + k/8 {
			checkTail(t, l, int64(k), tails[k])
			if k > 0 {
				reflected := float(1)
				checkTail(t, l, int64(1-k), reflected.Sub(reflected, tails[k]))
			}
		}
		checkTail(t, l, int64(c.n), tails[c.n])
	}
}

// TestTailAgainstEnclosures compares Tail with the enclosures of P(|X| <= k),
// for laws too wide to sum.
func TestTailAgainstEnclosures(t *testing.T) {
	const seed = 8
	t.Logf("PCG seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, c := range []struct {
		text string
		far  float64 // in standard deviations
		bits uint    // enough to leave 100 of the smallest tail
	}{
		{"dlap(12345677/1000)", 480, 1200}, {"dlap(1000000000000000)", 480, 1200},
		{"dgauss(300)", 10, 256}, {"dgauss(123457/2)", 20, 512}, {"dgauss(1000000000000)", 37, 1200},
		{"dgauss(3333333333333333333333333/7)", 37, 1200}, {"dgauss(1000000000000000000000000000000)", 37, 1200},
	} {
		l := mustParse(t, c.text)
		spread := math.Sqrt(l.Variance())
		for range 10 {
			k := 1 + int64(r.Float64()*c.far*spread)
			p := l.within(k-1, c.bits)
			tail := float(0).SetInt(new(big.Int).Add(p.lo, p.hi))
			tail.SetMantExp(tail, -int(p.bits)-1)
			tail.Sub(float(1), tail).Quo(tail, float(2))
			checkTail(t, l, k, tail)
		}
	}
}

func TestTailEdges(t *testing.T) {
	for _, text := range []string{
		"dlap(1/100)", "dlap(1/" + "1000000000000000000000000000000)", "dlap(1000000000000000)", "dgauss(1/100000)",
		"dgauss(9)", "dgauss(1000000000000000000000000000000)",
	} {
		l := mustParse(t, text)
		if got := l.Tail(math.MinInt64); got != 1 {
			t.Errorf("%s: Tail(MinInt64) = %g", text, got)
		}
		if got := l.Tail(math.MinInt64 + 1); got != 1 {
			t.Errorf("%s: Tail(MinInt64+1) = %g", text, got)
		}
		if got := l.Tail(math.MaxInt64); !(got > 0 && got < 1e-300) {
			t.Errorf("%s: Tail(MaxInt64) = %g, want tiny but not 0", text, got)
		}
		for k := int64(-3); k < 3; k++ {
			if l.Tail(k) < l.Tail(k+1) || l.Tail(k) > 1 {
				t.Errorf("%s: Tail(%d) = %g, Tail(%d) = %g", text, k, l.Tail(k), k+1, l.Tail(k+1))
			}
		}
	}
}

// TestVarianceAgainstSums compares Variance with the sum of 2k² P(k).
func TestVarianceAgainstSums(t *testing.T) {
	for _, text := range []string{
		"dlap(1/100)", "dlap(3/10)", "dlap(5/2)", "dlap(12)", "dgauss(1/100)", "dgauss(1/4)", "dgauss(1)",
		"dgauss(399/100)", "dgauss(4)", "dgauss(401/100)", "dgauss(100)",
	} {
		l := mustParse(t, text)
		weights := naiveWeights(l, 100+int(40*math.Sqrt(l.Variance())))
		sum, total := float(0), float(-1)
		for k, w := range weights {
			total.Add(total, w).Add(total, w)
			sum.Add(sum, float(0).Mul(w, float(2*float64(k)*float64(k))))
		}
		want, _ := sum.Quo(sum, total).Float64()
		if got := l.Variance(); math.Abs(got-want) > 1e-13*want {
			t.Errorf("%s: Variance = %.17g, want %.17g", text, got, want)
		}
	}
	l := mustParse(t, "dlap(1000000000000000)")
	if got := l.Variance(); math.Abs(got-2e30) > 1e17 { // 2 scale² - 1/6 + ...
		t.Errorf("%s: Variance = %g, want 2e30", l, got)
	}
}
