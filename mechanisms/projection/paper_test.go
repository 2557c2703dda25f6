package projection

import (
	"math"
	"math/big"
	"testing"

	"dpsql/query"
	"dpsql/sqlerr"
)

func TestPaperRows(t *testing.T) {
	got := PaperRows(1e4, 64, 1e6, 0.05)
	t.Logf("T = %.3g", got)
	if got < 1.85e20 || got > 1.95e20 {
		t.Errorf("T = %v, want 1.9e20", got)
	}
	// The three terms one by one, where each is the largest or simple.
	factor := 16384 * math.Log(4*10/0.5)
	if got, want := PaperRows(1, 4, 10, 0.5), factor*(4+0.25+2); math.Abs(got/want-1) > 1e-12 {
		t.Errorf("T = %v, want %v", got, want)
	}
	// It is 2√m times ς^-2 of the proof, ς = 2√m/(m+n²).
	const n, m = 300.0, 25.0
	sigma := 2 * math.Sqrt(m) / (m + n*n)
	want := 16384 * math.Log(4*1e3/0.05) / (sigma * sigma) * 2 * math.Sqrt(m)
	if got := PaperRows(n, m, 1e3, 0.05); math.Abs(got/want-1) > 1e-12 {
		t.Errorf("T = %v, the proof's times 2√m is %v", got, want)
	}
}

func TestPaperIndependence(t *testing.T) {
	for _, c := range []struct {
		k, rows, beta float64
		want          int
	}{
		{1e6, 1.9e20, 0.05, 126}, // 2·ln(1.9e27) = 125.6
		{1e6, 1e6, 0.05, 60},     // 2·ln(1e13) = 59.9
		{1, 1, 0.5, 4},
		{math.NaN(), 1, 1, 4},
		{math.Inf(1), 1, 1, MaxIndependence},
	} {
		if got := PaperIndependence(c.k, c.rows, c.beta); got != c.want {
			t.Errorf("r(%v, %v, %v) = %d, want %d", c.k, c.rows, c.beta, got, c.want)
		}
	}
}

func TestPaperLaplaceScale(t *testing.T) {
	million := big.NewRat(1, 1_000_000)
	for _, c := range []struct {
		rows    uint64
		epsilon *big.Rat
		delta   *big.Rat
	}{
		{1, big.NewRat(1, 1), million},
		{1024, big.NewRat(1, 1), million},
		{1 << 30, big.NewRat(1, 7), big.NewRat(1, 1_000_000_000_000_000_000)},
		{5, big.NewRat(5, 1), big.NewRat(1, 2)},
	} {
		s, err := PaperLaplaceScale(c.rows, c.epsilon, c.delta)
		if err != nil {
			t.Error(err)
			continue
		}
		e, _ := c.epsilon.Float64()
		d, _ := c.delta.Float64()
		want := math.Sqrt(8*float64(c.rows)*math.Log(1/d)) / e
		got, _ := s.Float64()
		if got < want || got > want*(1+1e-6)+1e-6 {
			t.Errorf("scale %v, want at least %v", got, want)
		}
		// What it costs in zCDP is ε²/(16 ln(1/δ)), whatever T.
		rho, claim := float64(c.rows)/(2*got*got), e*e/(16*math.Log(1/d))
		if rho > claim || rho < claim*(1-1e-5) {
			t.Errorf("ρ = %v, want %v", rho, claim)
		}
		if total := rho + 2*math.Sqrt(rho*math.Log(1/d)); total > e {
			t.Errorf("ρ-zCDP gives ε = %v, above %v", total, e)
		}
	}
	for _, c := range []struct {
		rows           uint64
		epsilon, delta *big.Rat
	}{
		{0, big.NewRat(1, 1), million},
		{1, new(big.Rat), million},
		{1, big.NewRat(-1, 1), million},
		{1, big.NewRat(1, 1), new(big.Rat)},
		{1, big.NewRat(1, 1), big.NewRat(1, 1)},
		{1, big.NewRat(1, 1), big.NewRat(-1, 2)},
		{1, big.NewRat(6, 1), big.NewRat(1, 2)}, // 8·ln 2 = 5.545
	} {
		if s, err := PaperLaplaceScale(c.rows, c.epsilon, c.delta); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("%d rows, ε = %v, δ = %v: %v, %v", c.rows, c.epsilon, c.delta, s, err)
		}
	}
}

// inner returns ⟨Ax, Ay⟩ for a fresh matrix.
func inner(t *testing.T, x, y []weighted, rows uint64, f signs) float64 {
	t.Helper()
	parts := make([]wide, workersFor(rows))
	left := make([]int64, blocksOf(rows)*blockRows)
	f.eachBlock(x, rows, len(parts), func(_ int, block uint32, sums *[blockRows]int64) {
		copy(left[uint64(block)*blockRows:], sums[:])
	})
	f.eachBlock(y, rows, len(parts), func(w int, block uint32, sums *[blockRows]int64) {
		first := uint64(block) * blockRows
		for j := range min(blockRows, rows-first) {
			parts[w].addProduct(left[first+j], sums[j])
		}
	})
	var sum wide
	for _, p := range parts {
		sum.plus(p)
	}
	v, _ := new(big.Rat).SetFrac(sum.big(), new(big.Int).SetUint64(rows)).Float64()
	return v
}

// jlVectors are x and y with ‖x‖² = 80, ‖y‖² = 45 and ⟨x, y⟩ = 36.
func jlVectors() (x, y []weighted) {
	for i, w := range []int64{4, 4, 4, 4, 4} {
		x = append(x, weighted{query.Element{Lo: uint64(i)}, w})
	}
	for i, w := range []int64{3, 3, 3, 3, 3} {
		y = append(y, weighted{query.Element{Lo: uint64(2 + i)}, w})
	}
	return x, y
}

// Corollary JL: with T >= 4·64²·ς^-2·ln(1/τ) rows and r >= 2·ln(1/τ), the inner
// product is off by ς/2·(‖x‖² + ‖y‖²) with probability at most 2τ. At
// ς = 0.49 and τ = 0.1 that needs 157 123 rows. If the corollary holds, more than
// 19 failures in 30 trials happen with probability below 1e-6 (binomial, 0.2).
func TestInnerProductsKeepTheCorollary(t *testing.T) {
	src, _ := seeded(t)
	const varsigma, tau, trials = 0.49, 0.1, 30
	rows := uint64(math.Ceil(4 * 64 * 64 / (varsigma * varsigma) * math.Log(1/tau)))
	r := PaperIndependence(1/tau, 2, 1) // 2·ln(1/τ) made even: 6
	failures := jlFailures(t, rows, varsigma, trials, func() signs {
		f, err := drawSigns(r, src)
		if err != nil {
			t.Fatal(err)
		}
		return f
	})
	t.Logf("T = %d, r = %d: %d failures of %d; the corollary allows %.0f %%", rows, r, failures, trials, 200*tau)
	if failures > 19 || r != 6 {
		t.Errorf("%d failures of %d, r = %d", failures, trials, r)
	}

	// The bound is far from tight: report much smaller T.
	for _, rows := range []uint64{16, 32, 64, 128, 256} {
		n := jlFailures(t, rows, varsigma, 1000, func() signs {
			f, err := drawSigns(r, src)
			if err != nil {
				t.Fatal(err)
			}
			return f
		})
		t.Logf("T = %d: %d failures of 1000", rows, n)
	}
}

func jlFailures(t *testing.T, rows uint64, varsigma float64, trials int, draw func() signs) (failures int) {
	t.Helper()
	x, y := jlVectors()
	for range trials {
		if math.Abs(inner(t, x, y, rows, draw())-36) >= varsigma/2*(80+45) {
			failures++
		}
	}
	return failures
}

// ⟨Ax, Ay⟩ is unbiased with variance Σ_{i<j} (x_i·y_j + x_j·y_i)²/T, already for
// 4-wise independent signs.
func TestInnerProductsAreUnbiased(t *testing.T) {
	src, _ := seeded(t)
	x, y := jlVectors()
	dense := func(v []weighted) (out [7]float64) {
		for _, c := range v {
			out[c.x.Lo] = float64(c.weight)
		}
		return out
	}
	a, b := dense(x), dense(y)
	var variance float64
	for i := range a {
		for j := range i {
			c := a[i]*b[j] + a[j]*b[i]
			variance += c * c
		}
	}
	const rows = 80
	var s sample
	for range 5000 {
		f, err := drawSigns(4, src)
		if err != nil {
			t.Fatal(err)
		}
		s.add(inner(t, x, y, rows, f))
	}
	s.expect(t, 36, variance/rows)
}
