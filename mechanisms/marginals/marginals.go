// Package marginals builds, fits and evaluates releases of noisy marginals: the counts
// of a database summed over all but a few columns. Measured once, with one vector of
// discrete Gaussian noise, they answer every query on the columns of one of them; and
// from all of them together one table is fitted that answers every query.
//
// What it promises: which marginals are measured follows from public sizes alone. One
// unit of count changes one cell of each of the K marginals by 1, so the vector has the
// ℓ2 sensitivity √K, and each cell gets an independent exact draw of the given law. All
// else is post-processing of the noisy cells. What it does not: it neither calibrates
// nor charges. The caller chooses the law for its ε and δ, and has paid before it
// calls.
//
// Two estimates come of the same noisy cells.
//
//   - The unbiased one is least squares, in closed form. It exists for queries on the
//     columns of a measured marginal, and its margin is a theorem (see margin).
//   - The fitted one minimises the relative entropy to what lower orders say, subject to
//     the measured cells as far as their noise allows. It answers every query, mostly with
//     half the error; what its error is, no theorem says.
//
// The marginals as a basis of releases are those of Barak et al., "Privacy, Accuracy, and
// Consistency Too: A Holistic Solution to Contingency Table Release" (2007); least squares
// on their interactions is that of Xiao, He, Zhang and Kifer, "An Optimal and Scalable
// Matrix Mechanism for Noisy Marginals under Convex Loss Functions" (2023); fitting a
// table to them is McKenna, Sheldon and Miklau, "Graphical-model Based Estimation and
// Inference for Differential Privacy" (2019), with other objectives.
package marginals

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
)

const (
	// MostTable bounds the cells of a table that is fitted whole and stored.
	MostTable = 4_000_000
	// DefaultCells bounds the cells of a marginal that is measured by default.
	DefaultCells = 20_000
	// MostCells bounds the cells of all marginals together, which are kept in memory.
	MostCells = 1 << 24
	// MostDegree bounds the columns of a marginal.
	MostDegree = 8
	// MostSets bounds the marginals that are measured.
	MostSets = 1 << 14
	// MostWork bounds the steps of one sweep of a fit, as work counts them. A fit and its 8
	// simulations are 9 fits of some 20 to 40 sweeps, and of mostSweeps at most. All 3-way
	// marginals of 8 columns of Adult have 1.7·10⁸ steps and take 15 s on two cores.
	MostWork = 1e9
)

// Params are the public parameters of a release, chosen and paid for by the caller.
type Params struct {
	// Sets has the columns of each measured marginal, ascending; none contains another.
	Sets [][]int
	// Law is the noise of one cell, already scaled by the sensitivity: discrete Gaussian,
	// or of FitCells any.
	Law law.Law
	// Sigma2 is the variance parameter of the law, or of FitCells its variance, in counts².
	Sigma2 float64
	// Unbiased has queries on the columns of one measured marginal answered by the
	// unbiased estimate.
	Unbiased bool
}

// Cells returns the number of cells of all marginals together.
func (p Params) Cells(u *query.Universe) (n int) {
	sizes := sizesOf(u)
	for _, set := range p.Sets {
		n += product(within(sizes, set))
	}
	return n
}

// check refuses parameters that no release over u can have.
func (p Params) check(u *query.Universe) error {
	if p.Law == nil || !(p.Sigma2 > 0) {
		return sqlerr.New(sqlerr.Internal, "a release needs a noise law")
	}
	sizes := sizesOf(u)
	if !u.WideCoded() {
		return sqlerr.New(sqlerr.Unsupported, "a release of marginals is over fewer than 2^128 possible records").
			WithHint("name fewer columns, or columns of fewer values")
	}
	total := 0
	for _, set := range p.Sets {
		for j, c := range set {
			if c < 0 || c >= len(sizes) || j > 0 && c <= set[j-1] {
				return sqlerr.New(sqlerr.Internal, "the columns of a marginal are not those of the release")
			}
		}
		own, ok := newShape(within(sizes, set), MostCells)
		if total += own.cells; !ok || total > MostCells {
			return tooManyCells()
		}
	}
	if len(maximal(slices.Clone(p.Sets))) < len(p.Sets) {
		return sqlerr.New(sqlerr.Internal, "a marginal is part of another")
	}
	if len(p.Sets) == 0 {
		return sqlerr.New(sqlerr.Invalid, "the release has no marginal small enough to measure").
			WithHint("raise max_cells, or lower degree")
	}
	return nil
}

func tooManyCells() error {
	return sqlerr.New(sqlerr.Unsupported, "the marginals have more than %d cells together", MostCells).
		WithHint("lower degree or max_cells, or name fewer columns")
}

// sizesOf returns the number of values of each column, which must have domains.
func sizesOf(u *query.Universe) []int {
	var sizes []int
	for _, c := range u.Columns() {
		sizes = append(sizes, int(min(c.Domain.Size(), 1<<31)))
	}
	return sizes
}

// Release holds the noisy marginals and what follows from them. All of it is public. It
// is immutable and safe for concurrent use.
type Release struct {
	u           *query.Universe
	p           Params
	shape       shape
	noisy       [][]int64            // of each measured marginal, its cells
	cells       int                  // of all of them
	parts       map[string]component // by columns: the interactions, which the unbiased estimate is made of
	table       []float32            // x̂, fitted; nil before Fit, and where that is done on demand
	staged      []float32            // x̂ as the last stage left it, which simulations are drawn from; not stored
	stages      []Stage
	simulated   []simulation
	marginals   sync.Map     // of x̂ and the simulations, once asked for
	remembering atomic.Int64 // cells of these
}

// Universe returns the universe the release is over.
func (r *Release) Universe() *query.Universe { return r.u }

// Params returns the parameters the release was built with.
func (r *Release) Params() Params { return r.p }

// HasTable reports whether the release was fitted. Until then it has the unbiased estimate alone.
func (r *Release) HasTable() bool { return r.table != nil }

// Stages says how the fit of the table went.
func (r *Release) Stages() []Stage { return r.stages }

// tooMuchWork refuses a fit before anything is measured for it.
func tooMuchWork(cells, sets int, steps float64) error {
	takes := fmt.Sprintf("about %.2g steps", steps)
	if math.IsInf(steps, 1) {
		takes = "many more steps"
	}
	return sqlerr.New(sqlerr.Unsupported, "to fit a table of %d possible records to %d marginals takes %s in each of its sweeps, and %.2g are the most",
		cells, sets, takes, float64(MostWork)).WithHint("lower degree or max_cells, name fewer columns, or give a workload that has fewer of them together")
}

func tooManySets() error {
	return sqlerr.New(sqlerr.Unsupported, "there are more than %d marginals to measure", MostSets).
		WithHint("lower degree, name fewer columns, or give a workload")
}

// work returns about how many steps one sweep of a fit to marginals takes, from public sizes
// alone. A step is a multiplication and an addition at a cell of the table; each
// marginal of a stage takes one for each cell. To solve a cell of the marginal is taken for
// 100, and to go from one marginal to the next for 2,000.
// The stages have the marginals over all subsets of the sets' columns. It is infinite where
// they are too many to be counted.
func work(sizes []int, sets [][]int) float64 {
	cells, steps := float64(product(sizes)), 0.0
	seen := make(map[string]bool)
	for _, set := range sets {
		if len(set) > 30 {
			return math.Inf(1)
		}
		for mask := 1; mask < 1<<len(set); mask++ {
			var columns []int
			for i, c := range set {
				if mask>>i&1 != 0 {
					columns = append(columns, c)
				}
			}
			if k := key(columns); !seen[k] {
				seen[k] = true
				steps += cells + 100*float64(product(within(sizes, columns))) + 2000
			}
			if steps > 100*MostWork {
				return math.Inf(1)
			}
		}
	}
	return steps
}

// OfDegree returns all sets of so many of the universe's columns, or the set of all of
// them where there are no more. It ends after MostSets and one more, which Select refuses.
func OfDegree(u *query.Universe, degree int) (sets [][]int) {
	n := len(u.Columns())
	var extend func(set []int)
	extend = func(set []int) {
		if len(sets) > MostSets {
			return
		}
		if len(set) == min(degree, n) {
			sets = append(sets, slices.Clone(set))
			return
		}
		first := 0
		if len(set) > 0 {
			first = set[len(set)-1] + 1
		}
		for c := first; c <= n-min(degree, n)+len(set); c++ {
			extend(append(set, c))
		}
	}
	extend(nil)
	return sets
}

// Select returns the sets of columns to measure for the wanted ones: each whose marginal
// has at most maxCells cells, and in place of a larger one its largest subsets that do;
// of these the ones that no other contains. It looks at nothing but the sizes of
// domains, so it costs no privacy. What would take too long to fit is refused.
func Select(u *query.Universe, wanted [][]int, maxCells int) ([][]int, error) {
	sizes := sizesOf(u)
	var sets [][]int
	seen := make(map[string]bool)
	total := 0
	var add func(set []int)
	add = func(set []int) {
		if seen[key(set)] || total > MostCells || len(seen) > 16*MostSets {
			return
		}
		seen[key(set)] = true
		if s, ok := newShape(within(sizes, set), maxCells); ok {
			sets, total = append(sets, set), total+s.cells
			return
		}
		for i := range set {
			add(slices.Delete(slices.Clone(set), i, i+1))
		}
	}
	wanted = slices.CompactFunc(slices.SortedFunc(slices.Values(wanted), slices.Compare), slices.Equal)
	if len(wanted) > MostSets {
		return nil, tooManySets()
	}
	for _, set := range wanted {
		add(set)
	}
	if total > MostCells {
		return nil, tooManyCells()
	}
	if len(sets) > MostSets || len(seen) > 16*MostSets {
		return nil, tooManySets()
	}
	sets = maximal(sets)
	if s, ok := newShape(sizes, MostTable); ok {
		if steps := work(sizes, sets); steps > MostWork {
			return nil, tooMuchWork(s.cells, len(sets), steps)
		}
	}
	return sets, nil
}

// Larger returns how many of the wanted sets Select takes apart: those whose marginals have
// more than maxCells cells.
func Larger(u *query.Universe, wanted [][]int, maxCells int) (n int) {
	sizes := sizesOf(u)
	for _, set := range wanted {
		if _, ok := newShape(within(sizes, set), maxCells); !ok {
			n++
		}
	}
	return n
}

// maximal returns the sets that no other contains, in order, each once.
func maximal(sets [][]int) [][]int {
	slices.SortFunc(sets, slices.Compare)
	sets = slices.CompactFunc(sets, slices.Equal)
	var out [][]int
	longest := 0
	for _, s := range sets {
		longest = max(longest, len(s))
	}
	for i, s := range sets {
		covered := len(s) < longest && slices.ContainsFunc(sets, func(t []int) bool { return len(t) > len(s) && contains(t, s) })
		if !covered {
			out = append(out, sets[i])
		}
	}
	return out
}

func contextError(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return sqlerr.New(sqlerr.Cancelled, "the fit was interrupted")
}
