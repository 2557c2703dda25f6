package marginals

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"dpsql/query"
)

// component is what the measured marginals say of one pure interaction, that of some
// columns A: the inverse-variance mean y_A of the measured marginals summed to A, and its
// interaction z_A = R_A y_A, where R_A removes the means along every column.
//
// The interactions of different columns are orthogonal, so that least squares falls
// apart into them (Xiao et al. 2023, section 4): a table is the sum of its interactions
// x_A, and a measured marginal S ⊇ A says M_A x_A with noise of variance σ²|S|/|A| a cell,
// restricted to the interaction. Hence the variance σ_A² = 1/Σ_S |A|/(σ²|S|).
type component struct {
	columns     []int
	mean        []float64 // y_A
	interaction []float64 // z_A
	variance    float64   // σ_A²
}

// key names ascending columns.
func key(columns []int) string {
	var b []byte
	for _, c := range columns {
		b = binary.AppendUvarint(b, uint64(c))
	}
	return string(b)
}

// newRelease returns the release of the noisy cells, without a fitted table. Its only error
// is that ctx ended.
func newRelease(ctx context.Context, u *query.Universe, p Params, noisy [][]int64) (*Release, error) {
	r := &Release{u: u, p: p, noisy: noisy, cells: p.Cells(u)}
	sizes := sizesOf(u)
	var ok bool
	if r.shape, ok = newShape(sizes, MostTable); !ok {
		r.shape = shape{sizes: sizes}
	}
	var measured []observed
	for i, set := range p.Sets {
		m := observed{columns: set, cells: make([]float64, len(noisy[i])), variance: p.Sigma2}
		for c, n := range noisy[i] {
			m.cells[c] = float64(n)
		}
		measured = append(measured, m)
	}
	var err error
	r.parts, err = components(ctx, sizes, measured)
	return r, err
}

// components returns what measured marginals say, by columns. Its only error is that ctx
// ended.
func components(ctx context.Context, sizes []int, measured []observed) (map[string]component, error) {
	parts := make(map[string]component)
	for _, m := range measured {
		if err := contextError(ctx); err != nil {
			return nil, err
		}
		own := within(sizes, m.columns)
		subsets(m.columns, func(columns []int) {
			part, known := parts[key(columns)]
			sums := marginalOf(m.cells, own, places(columns, m.columns))
			if !known {
				part = component{columns: columns, mean: make([]float64, len(sums))}
			}
			// Until all are added, mean and variance hold Σ weight·y and Σ weight.
			weight := float64(len(sums)) / (m.variance * float64(len(m.cells)))
			for c, y := range sums {
				part.mean[c] += weight * y
			}
			part.variance += weight
			parts[key(columns)] = part
		})
	}
	for k, part := range parts {
		for c := range part.mean {
			part.mean[c] /= part.variance
		}
		part.variance = 1 / part.variance
		part.interaction = slices.Clone(part.mean)
		interaction(part.interaction, within(sizes, part.columns))
		parts[k] = part
	}
	return parts, nil
}

// total returns the estimate of the number of rows.
func (r *Release) total() float64 { return r.parts[""].mean[0] }

// observations returns what a fit is made from, in stages: the marginals over 1, 2, …
// columns that the measured ones imply. Its only error is that ctx ended.
func (r *Release) observations(ctx context.Context) ([][]observed, error) {
	var stages [][]observed
	for _, k := range r.ordered() {
		part := r.parts[k]
		order := len(part.columns)
		if order == 0 {
			continue
		}
		if err := contextError(ctx); err != nil {
			return nil, err
		}
		for len(stages) < order {
			stages = append(stages, nil)
		}
		stages[order-1] = append(stages[order-1], observed{part.columns, r.consistent(part.columns), part.variance})
	}
	return stages, nil
}

// ordered returns the keys of the components in order, so that a fit is deterministic.
func (r *Release) ordered() []string {
	var keys []string
	for k := range r.parts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return slices.Compare(r.parts[a].columns, r.parts[b].columns) })
	return keys
}

// unbiased returns the least-squares estimate of Σ weight·count for weights over the
// cells of the marginal of some columns, and the variance of its noise, both in
// counts. It is false where no measured marginal has all the columns.
func (r *Release) unbiased(columns []int, weights []float64) (estimate, variance float64, ok bool) {
	if _, ok := r.parts[key(columns)]; !ok {
		return 0, 0, false
	}
	eachInteraction(r.shape.sizes, columns, weights, func(a []int, share float64, q []float64) {
		part := r.parts[key(a)]
		dot, squares := 0.0, 0.0
		for c, w := range q {
			dot += w * part.interaction[c]
			squares += w * w
		}
		estimate += share * dot
		variance += share * share * part.variance * squares
	})
	return estimate, variance, true
}

// margin returns a half-width, in counts, of an interval around the unbiased estimate
// that holds the true count with at least the given confidence, from the estimate's
// variance. It is a theorem, but for the rounding of floating point numbers.
//
// The error is E = Σ cᵢXᵢ over the N measured cells, with independent discrete Gaussian
// Xᵢ of parameter σ², and its variance is at most σ²C, C = Σ cᵢ². There are two bounds on its
// tail, and the smaller half-width counts.
//
// First, let θ(g) = Σ_z exp(−(z−g)²/(2σ²)). Then E[e^{sXᵢ}] = e^{s²σ²/2}·θ(sσ²)/θ(0), and θ,
// whose Fourier coefficients are positive, is largest at 0. So Xᵢ is σ²-subgaussian, and
// P(|E| > w) <= 2·exp(−w²/(2σ²C)).
//
// Second, E is nearly normal. Let t² < σ², and let X' be a continuous Gaussian G of
// variance σ²−t², rounded at random to an integer z with probability proportional to
// exp(−(z−G)²/(2t²)). By the argument at accounting.DiscreteSigmaSquared the vector X has at
// most e^κ times the probabilities of X', with κ = N·ln((1+β)/(1−β)) and
// β = 2Σ_{k≥1} exp(−2π²t²k²). Given G, the rounding X'−G is t²-subgaussian about its
// mean up to a factor: E[e^{s(X'−G)}] = e^{s²t²/2}·θ(G+st²)/θ(G), where θ is now that of
// t², and so at most e^{s²t²/2}·(1+β)/(1−β). The product over i is at most e^κ·e^{s²t²C/2}. So with
// g normal of variance a = (σ²−t²)C, b = t²C, and Chernoff's bound given G,
//
//	P(E > w) <= e^κ·E[min(1, e^κ·exp(−((w−g)₊)²/(2b)))]
//	         <= e^2κ·( Φ(−w/√a) + √(b/(a+b))·exp(−w²/(2(a+b)))·Φ(w·√(b/(a(a+b)))) ),
//
// the second by completing the square. t² is chosen so that κ <= 1/1000.
func (r *Release) margin(variance, confidence float64) float64 {
	return gaussianMargin(r.p.Sigma2, variance/r.p.Sigma2, r.cells, confidence)
}

// gaussianMargin is margin for Σ cᵢXᵢ with Xᵢ of the parameter sigma2, Σ cᵢ² = squares and
// n coordinates.
func gaussianMargin(sigma2, squares float64, n int, confidence float64) float64 {
	return combination{sigma2 * squares, squares, sigma2, n}.margin(confidence)
}

// combination is Σ cᵢXᵢ with independent Xᵢ whose parameters σᵢ² may differ. The theorem at
// Release.margin holds as it is: each cᵢXᵢ is σᵢ²cᵢ²-subgaussian, and if t² < σᵢ² for all i, then
// a = Σ (σᵢ²−t²)cᵢ², b = t²·Σ cᵢ², and N counts all coordinates.
type combination struct {
	variance float64 // Σ σᵢ²cᵢ²
	squares  float64 // Σ cᵢ²
	least    float64 // of the σᵢ²
	n        int
}

func (e combination) margin(confidence float64) float64 {
	if e.squares <= 0 {
		return 0
	}
	miss := 1 - confidence
	subgaussian := math.Sqrt(2 * math.Log(2/miss) * e.variance)
	const kappa = 1e-3
	t2 := math.Log(5*float64(e.n)/kappa) / (2 * math.Pi * math.Pi)
	if t2 >= e.least {
		return subgaussian
	}
	a, b := e.variance-t2*e.squares, t2*e.squares
	tail := func(w float64) float64 { // of both sides
		far := math.Erfc(w/math.Sqrt(2*a)) / 2
		near := math.Sqrt(b/(a+b)) * math.Exp(-w*w/(2*(a+b))) * math.Erfc(-w*math.Sqrt(b/(a*(a+b)))/math.Sqrt2) / 2
		return 2 * math.Exp(2*kappa) * (far + near)
	}
	low, high := 0.0, subgaussian
	if tail(high) > miss {
		return subgaussian
	}
	for range 60 {
		if mid := (low + high) / 2; tail(mid) > miss {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// consistent returns the least-squares estimate of the marginal over columns of a
// measured one. Estimates of different columns agree where they overlap.
func (r *Release) consistent(columns []int) []float64 {
	own := within(r.shape.sizes, columns)
	out := make([]float64, product(own))
	s, _ := newShape(own, len(out))
	subsets(columns, func(a []int) {
		part := r.parts[key(a)]
		l := s.layout(places(a, columns))
		share := float64(l.size) / float64(len(out))
		for row, base := range l.outer {
			for i, in := range l.inner {
				out[row*len(l.inner)+i] += share * part.interaction[base+in]
			}
		}
	})
	return out
}
