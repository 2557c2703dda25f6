package marginals

import (
	"context"
	"iter"

	"dpsql/noise"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Measurement is what is private of a release: the exact marginals, until Perturb adds
// the noise.
type Measurement struct {
	u     *query.Universe
	p     Params
	cells [][]int64
}

// Measure sums cells, each record's code by a wide coder with its count, to the marginals
// of p, until ctx ends. The result is as private as the cells; Perturb makes it public. Parameters that
// no release over u can have are refused. A sum of counts above 63 bits is an internal error.
func Measure(ctx context.Context, u *query.Universe, p Params, cells iter.Seq2[query.Element, int64]) (*Measurement, error) {
	if err := p.check(u); err != nil {
		return nil, err
	}
	m := &Measurement{u: u, p: p}
	sizes := sizesOf(u)
	for _, set := range p.Sets {
		m.cells = append(m.cells, make([]int64, product(within(sizes, set))))
	}
	digits := make([]int, len(sizes))
	for x, count := range cells {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !u.Digits(x, digits) || count < 0 {
			return nil, sqlerr.New(sqlerr.Internal, "a cell lies outside the universe")
		}
		for i, set := range p.Sets {
			cell := 0
			for _, c := range set {
				cell = cell*sizes[c] + digits[c]
			}
			if m.cells[i][cell] += count; m.cells[i][cell] < 0 {
				return nil, tooLarge()
			}
		}
	}
	return m, nil
}

// Perturb adds an independent draw of the law to every cell. It can be called once, and
// is not cancelled: what it returns is all that was paid for. Fit goes on from there.
//
// Privacy. The K marginals are one vector of integers. A row is in one cell of each, so a unit
// of at most L rows changes each marginal by at most L in ℓ2, when all its rows are in one
// cell, and all of them by at most √K·L. Independent discrete Gaussian noise of σ² on every
// cell is K·L²/(2σ²)-zCDP (Canonne, Kamath and Steinke 2020). The caller chooses
// σ² for its (ε, δ) by accounting.DiscreteSigmaSquared, and has paid. How many cells there are
// does not matter, and which marginals are measured follows from public sizes.
func (m *Measurement) Perturb(src *noise.Source) (*Release, error) {
	if m.cells == nil {
		return nil, sqlerr.New(sqlerr.Internal, "the release is built already")
	}
	noisy := m.cells
	m.cells = nil
	fill := noise.InBulk(m.p.Law)
	if err := perturb(context.Background(), noisy, func(draws []int64) error { return fill(draws, src) }); err != nil {
		return nil, err
	}
	return newRelease(context.Background(), m.u, m.p, noisy)
}

// perturb adds a draw to every cell. fill makes the draws.
func perturb(ctx context.Context, marginals [][]int64, fill func(draws []int64) error) error {
	for _, cells := range marginals {
		if err := contextError(ctx); err != nil {
			return err
		}
		draws := make([]int64, len(cells))
		if fill(draws) != nil {
			return noRandomness()
		}
		for c, d := range draws {
			sum := cells[c] + d
			if (sum > cells[c]) != (d > 0) && d != 0 {
				return tooLarge()
			}
			cells[c] = sum
		}
	}
	return nil
}

func noRandomness() error {
	return sqlerr.New(sqlerr.IO, "the operating system gave no random numbers")
}

func tooLarge() error {
	return sqlerr.New(sqlerr.Internal, "the counts of a release do not fit 64 bits")
}
