package law

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"dpsql/noise/law/lawtest"
	"dpsql/sqlerr"
)

func TestParseLawRoundTrip(t *testing.T) {
	for _, text := range []string{
		"dlap(5/2)", "dlap(1)", "dlap(1/100)", "dlap(1000000000000000)", "dgauss(17/3)", "dgauss(4)",
		"dgauss(1000000000000000000000000000000)", "dgauss(1/" + strings.Repeat("9", 100) + ")",
	} {
		l, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if l.String() != text {
			t.Errorf("%s came back as %s", text, l)
		}
	}
}

func TestStringReduces(t *testing.T) {
	for text, r := range map[string]*big.Rat{"dlap(5/2)": lawtest.Rat("2.5"), "dlap(3)": lawtest.Rat("6/2")} {
		l, err := NewLaplace(r)
		if err != nil || l.String() != text {
			t.Errorf("NewLaplace(%s) = %v, %v; want %s", r, l, err, text)
		}
	}
}

func TestParseLawRefuses(t *testing.T) {
	for _, text := range []string{
		"", "dlap", "dlap(", "dlap()", "dlap(5/2", "dlap5/2)", "dlap(5/2))", "dlap(5/2) ", " dlap(5/2)", "DLAP(5/2)",
		"dlap(10/4)", "dlap(05/2)", "dlap(5/1)", "dlap(2.5)", "dlap(1e3)", "dlap(1e999999999)", "dlap(+1)", "dlap(-1)",
		"dlap(0)", "dlap(1/0)", "dlap(0/0)", "dlap(/)", "dlap(1/)", "dlap(/2)", "dlap(1/2/3)", "dlap(1_0)", "dlap(NaN)",
		"dlap(1000000000000001)", "dgauss(1000000000000000000000000000001)", "dgauss(0)", "lap(1)", "dlap(5/2)dlap(5/2)",
		"dlap(" + strings.Repeat("7", 1000) + ")",
	} {
		l, err := Parse(text)
		if sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("Parse(%.40q) = %v, %v; want code invalid", text, l, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, r := range []*big.Rat{nil, new(big.Rat), lawtest.Rat("-1"), lawtest.Rat("-1/1000"), lawtest.Rat("1e31")} {
		if _, err := NewLaplace(r); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("NewLaplace(%v): error %v, want code invalid", r, err)
		}
		if _, err := NewGaussian(r); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("NewGaussian(%v): error %v, want code invalid", r, err)
		}
	}
}

// TestLawsKeepTheirParameter changes the rational a law was made from.
func TestLawsKeepTheirParameter(t *testing.T) {
	r := lawtest.Rat("5/2")
	a, errA := NewLaplace(r)
	b, errB := NewGaussian(r)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	r.SetInt64(7)
	if a.String() != "dlap(5/2)" || b.String() != "dgauss(5/2)" {
		t.Errorf("the laws became %s and %s", a, b)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"dlap(5/2)", "dgauss(17/3)", "dlap(1/0)", "dgauss(1e9)", "dlap(()"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse(text)
		if err == nil && l.String() != text {
			t.Errorf("%q came back as %q", text, l.String())
		}
	})
}

// naiveHalfWidth counts up to the first w with 2 P(X >= w+1) <= 1 - confidence.
func naiveHalfWidth(tails []*big.Float, confidence float64) int64 {
	miss := lawtest.Float(1)
	miss.Sub(miss, lawtest.Float(confidence)).Quo(miss, lawtest.Float(2))
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
		tails := lawtest.Tails(l, 1000, 3000)
		confidences := []float64{math.SmallestNonzeroFloat64, 1e-9, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999999, 1 - 1e-12, 1 - 0x1p-53}
		for w := 1; w < 30; w++ {
			step := lawtest.Float(1)
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
		for _, w := range []int64{math.MinInt64, -1, 0, math.MaxInt64 - 1} {
			if got, want := Within(l, w, c.confidence), w >= c.want; got != want {
				t.Errorf("Within(%s, %d, %g) is %v", l, w, c.confidence, got)
			}
		}
	}
}

// A uniform law on -2 ... 2 that this package does not know.
type uniform struct{}

func (uniform) Variance() float64    { return 2 }
func (uniform) String() string       { return "uniform" }
func (uniform) Tail(k int64) float64 { return min(1, max(0, float64(3-k)/5)) }

func TestHalfWidthOfAnotherLaw(t *testing.T) {
	for c, want := range map[float64]int64{0.1: 0, 0.3: 1, 0.59: 1, 0.61: 2, 0.9: 2} {
		if got := HalfWidth(uniform{}, c); got != want {
			t.Errorf("HalfWidth(uniform, %g) = %d, want %d", c, got, want)
		}
	}
}

// checkTail holds Tail(k) to its promise against the true tail.
func checkTail(t *testing.T, l Law, k int64, want *big.Float) {
	t.Helper()
	got := l.Tail(k)
	excess := lawtest.Float(got)
	excess.Sub(excess, want).Quo(excess, want)
	rel, _ := excess.Float64()
	limit := 1e-12
	switch {
	case want.Cmp(lawtest.Float(0x1p-1021)) < 0:
		limit = math.Inf(1)
	case want.Cmp(lawtest.Float(1e-240)) < 0:
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
		tails := lawtest.Tails(l, c.n, c.terms)
		for k := 0; k <= c.n; k += 1 + k/8 {
			checkTail(t, l, int64(k), tails[k])
			if k > 0 {
				reflected := lawtest.Float(1)
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
		for range 4 {
			k := 1 + int64(r.Float64()*c.far*spread)
			p := l.within(k-1, c.bits)
			tail := lawtest.Float(0).SetInt(new(big.Int).Add(p.lo, p.hi))
			tail.SetMantExp(tail, -int(p.bits)-1)
			tail.Sub(lawtest.Float(1), tail).Quo(tail, lawtest.Float(2))
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
		weights := lawtest.Weights(l, 100+int(40*math.Sqrt(l.Variance())))
		sum, total := lawtest.Float(0), lawtest.Float(-1)
		for k, w := range weights {
			total.Add(total, w).Add(total, w)
			sum.Add(sum, lawtest.Float(0).Mul(w, lawtest.Float(2*float64(k)*float64(k))))
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

func mustParse(t testing.TB, text string) Enclosed {
	t.Helper()
	l, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l.(Enclosed)
}
