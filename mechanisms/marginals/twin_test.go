package marginals

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsql/noise/law"
	"dpsql/query"
)

// leastSquares is the naive twin of unbiased, as a textbook has it: the least squares
// estimate of qᵀx from y = Mx + noise is wᵀMᵀy for any w with MᵀM w = q, and its variance
// that of the noise times wᵀq.
func leastSquares(sizes []int, sets [][]int, noisy [][]int64, q []float64) (estimate, squares float64) {
	s, _ := newShape(sizes, 1<<20)
	n := s.cells
	a := make([][]float64, n)  // MᵀM, then q
	sums := make([]float64, n) // Mᵀy
	for i := range a {
		a[i] = make([]float64, n+1)
		a[i][n] = q[i]
	}
	for k, set := range sets {
		l := s.layout(set)
		cell := func(i int) int32 { return l.outer[i/s.inner] + l.inner[i%s.inner] }
		for i := range n {
			sums[i] += float64(noisy[k][cell(i)])
			for j := range n {
				if cell(i) == cell(j) {
					a[i][j]++
				}
			}
		}
	}
	for i, w := range solve(a) {
		estimate += w * sums[i]
		squares += w * q[i]
	}
	return estimate, squares
}

// solve returns a solution of equations that have one: each row holds the coefficients and
// then the right-hand side. It eliminates by Gauss and Jordan's method, and sets to 0 what
// the equations leave free.
func solve(a [][]float64) []float64 {
	n := len(a)
	pivots, rank := make([]int, n), 0
	for c := range n {
		best := rank
		for i := rank; i < n; i++ {
			if math.Abs(a[i][c]) > math.Abs(a[best][c]) {
				best = i
			}
		}
		if rank == n || math.Abs(a[best][c]) < 1e-9 {
			pivots[c] = -1
			continue
		}
		a[rank], a[best] = a[best], a[rank]
		for i := range n {
			if f := a[i][c] / a[rank][c]; i != rank && f != 0 {
				for j := c; j <= n; j++ {
					a[i][j] -= f * a[rank][j]
				}
			}
		}
		pivots[c], rank = rank, rank+1
	}
	x := make([]float64, n)
	for c, r := range pivots {
		if r >= 0 {
			x[c] = a[r][n] / a[r][c]
		}
	}
	return x
}

// randomCase draws a small universe, sets of columns and a table.
func randomCase(random *rand.Rand) (sizes []int, sets [][]int, table []int64) {
	for range 2 + random.IntN(3) {
		sizes = append(sizes, 1+random.IntN(4))
	}
	for range 1 + random.IntN(4) {
		var set []int
		for c := range sizes {
			if random.IntN(2) == 0 {
				set = append(set, c)
			}
		}
		sets = append(sets, set)
	}
	table = make([]int64, product(sizes))
	for i := range table {
		if random.IntN(3) > 0 {
			table[i] = random.Int64N(100)
		}
	}
	return sizes, maximal(sets), table
}

// TestLeastSquaresAgainstNaive compares the closed form with the normal equations on
// random tables, sets of marginals and weights.
func TestLeastSquaresAgainstNaive(t *testing.T) {
	random := seeded(t)
	for range 60 {
		sizes, sets, table := randomCase(random)
		u := universe(t, sizes...)
		r := build(t, u, params(t, sets, big.NewRat(25, 1)), table)
		set := sets[random.IntN(len(sets))]
		l := r.shape.layout(set)
		weights, q := make([]float64, l.size), make([]float64, r.shape.cells)
		for c := range weights {
			weights[c] = float64(random.IntN(3))
		}
		for i := range q {
			q[i] = weights[l.outer[i/r.shape.inner]+l.inner[i%r.shape.inner]]
		}
		estimate, squares := leastSquares(sizes, sets, r.noisy, q)
		got, variance, ok := r.unbiased(set, weights)
		if !ok || math.Abs(got-estimate) > 1e-9*(1+math.Abs(estimate)) || math.Abs(variance-25*squares) > 1e-9*(1+25*squares) {
			t.Errorf("%v of %v, set %v: %v ± √%v, %v, want %v ± √%v", sets, sizes, set, got, variance, ok, estimate, 25*squares)
		}
		if consistent := r.consistent(set); math.Abs(dot(consistent, weights)-got) > 1e-9*(1+math.Abs(got)) {
			t.Errorf("the marginal over %v says %v, its query %v", set, dot(consistent, weights), got)
		}
	}
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// TestStageIsOptimal checks the conditions of the minimum that a stage finds: at each cell
// of the table λ·ln(z/x) + Σ_A (M_A z − y_A)/σ_A² = 0. What is observed contradicts itself only
// so far that no count vanishes.
func TestStageIsOptimal(t *testing.T) {
	random := seeded(t)
	for range 30 {
		sizes := []int{2 + random.IntN(3), 2 + random.IntN(3), 2 + random.IntN(3)}
		s, _ := newShape(sizes, 1000)
		var marginals []observed
		for _, set := range [][]int{{0, 1}, {1, 2}, {0, 2}} {
			m := observed{columns: set, cells: make([]float64, product(within(sizes, set))), variance: 10 + random.Float64()*20}
			for c := range m.cells {
				m.cells[c] = math.Round(random.Float64() * 100)
			}
			marginals = append(marginals, m)
		}
		st := newStage(s, marginals)
		st.lambda = 0.5 + random.Float64()
		x := make([]float64, s.cells)
		for i := range x {
			x[i] = 1 + 10*random.Float64()
		}
		z := slices.Clone(x)
		went, err := st.solve(t.Context(), z, 0, func(float64) {})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 200 { // a stage ends after 100 sweeps
			if i > 0 && went.Distance < 1e-12 {
				break
			}
			if went, err = st.solve(t.Context(), z, 1e-12, func(float64) {}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range z {
			gradient, scale := st.lambda*math.Log(z[i]/x[i]), 0.0
			for k, l := range st.layouts {
				sums := make([]float64, l.size)
				sum(&l, z, sums)
				c := l.outer[i/s.inner] + l.inner[i%s.inner]
				term := (sums[c] - marginals[k].cells[c]) / marginals[k].variance
				gradient, scale = gradient+term, scale+math.Abs(term)
			}
			if math.Abs(gradient) > 1e-9*(1+scale) {
				t.Errorf("%v: the gradient at cell %d is %v of terms of %v, at a distance of %v", sizes, i, gradient, scale, went.Distance)
				break
			}
		}
	}
}

// TestOmega holds logOmega to its equation.
func TestOmega(t *testing.T) {
	for z := -2000.0; z < 1e7; z += 0.37 + math.Abs(z)/50 {
		v := logOmega(z)
		if got := v + math.Exp(v); !(math.Abs(got-z) <= 1e-12*(1+math.Abs(z))) {
			t.Errorf("ln ω(%v) = %v, but the equation has %v", z, v, got)
		}
	}
}

// TestAnswersShareAnInterval compares the intervals of fitted and of unbiased answers. They
// are the same, but for the rounding of the latter, at any confidence.
//
// False failures: in one of sixty builds no fitted answer differs from the unbiased one, in
// five of five with 1e-9.
func TestAnswersShareAnInterval(t *testing.T) {
	u := universe(t, 3, 4, 5)
	random := seeded(t)
	apart := 0
	for range 5 {
		table := make([]int64, 60)
		for c := range table {
			table[c] = int64(random.ExpFloat64() * 20)
		}
		apart += shareAnInterval(t, build(t, u, calibrated(t, u, 2, "1", "1e-6"), table))
	}
	if apart == 0 {
		t.Error("all fitted answers are the unbiased ones")
	}
}

// shareAnInterval compares the answers of a release, and returns how many differ.
func shareAnInterval(t *testing.T, r *Release) (apart int) {
	t.Helper()
	u := r.Universe()
	of := func(column int, a, b int64) query.ColumnSet {
		return query.ColumnSet{Column: column, Set: u.Columns()[column].Domain.SetOf(query.Int(a), query.Int(b))}
	}
	for _, each := range [][]query.ColumnSet{nil, {of(0, 1, 2)}, {of(1, 2, 3)}, {of(2, 0, 4)}, {of(0, 0, 1), of(2, 4, 2)}, {of(0, 9, 9)}} {
		q := query.Conjunction(u, each)
		for _, confidence := range []float64{1e-9, 0.5, 0.95, 1 - 1e-9} {
			fitted, err1 := r.Answer(t.Context(), q, confidence)
			unbiased, err2 := r.Unbiased(t.Context(), q, confidence)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			if fitted.Value != unbiased.Value {
				apart++
			}
			if off := fitted.Low - unbiased.Low; !fitted.Verified || off < 0 || off > 1 || unbiased.High-fitted.High < 0 || unbiased.High-fitted.High > 1 {
				t.Errorf("%s at %v: fitted %+v, unbiased %+v", q, confidence, fitted, unbiased)
			}
			value := float64(fitted.Value)
			if fitted.Margin != max(fitted.High-value, value-fitted.Low) || fitted.Low > fitted.High || fitted.Low != math.Round(fitted.Low) || fitted.High != math.Round(fitted.High) {
				t.Errorf("%s at %v: %+v", q, confidence, fitted)
			}
			if middle := float64(unbiased.Value); unbiased.High-middle != unbiased.Margin || middle-unbiased.Low != unbiased.Margin {
				t.Errorf("%s at %v: unbiased %+v", q, confidence, unbiased)
			}
		}
	}
	return apart
}

// TestMarginsAreTheorems compares margins of sums of discrete Gaussians with the exact
// law of such a sum, found by convolution.
func TestMarginsAreTheorems(t *testing.T) {
	for _, c := range []struct {
		sigma2 int64
		terms  int
	}{{1, 1}, {1, 5}, {4, 3}, {20, 1}, {20, 8}, {357, 1}, {357, 4}} {
		law, err := law.NewGaussian(big.NewRat(c.sigma2, 1))
		if err != nil {
			t.Fatal(err)
		}
		for _, confidence := range []float64{0.5, 0.9, 0.95, 0.999} {
			w := gaussianMargin(float64(c.sigma2), float64(c.terms), 1e5, confidence)
			if got := sumWithin(law, c.terms, math.Floor(w)); got < confidence {
				t.Errorf("%d coordinates of %v lie within %v with probability %v, want %v", c.terms, law, w, got, confidence)
			}
			deviation := math.Sqrt(float64(c.sigma2) * float64(c.terms))
			if narrowest := math.Sqrt2 * math.Erfinv(confidence) * deviation; c.sigma2 > 300 && confidence >= 0.9 && w > 1.06*narrowest {
				t.Errorf("%d coordinates of %v: %v, where a normal law has %v", c.terms, law, w, narrowest)
			}
		}
	}
}

// sumWithin returns P(|X₁ + … + Xₙ| <= w) for independent draws of a law.
func sumWithin(law law.Law, n int, w float64) float64 {
	reach := int(12 * math.Sqrt(law.Variance()))
	one := make([]float64, 2*reach+1)
	for k := range one {
		one[k] = law.Tail(int64(k-reach)) - law.Tail(int64(k-reach+1))
	}
	all := one
	for range n - 1 {
		next := make([]float64, len(all)+len(one)-1)
		for i, p := range all {
			for j, q := range one {
				next[i+j] += p * q
			}
		}
		all = next
	}
	inside := 0.0
	for i, p := range all {
		if math.Abs(float64(i-n*reach)) <= w {
			inside += p
		}
	}
	return inside
}
