package marginals

import (
	"context"

	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Fit fits the release's table to the noisy cells. It is post-processing of them, and can
// be repeated. When ctx ends, it ends soon, with an error of code cancelled, and the
// release is as it was. report, if not nil, is called with the share that is done.
// It is called before the release is shared.
func (r *Release) Fit(ctx context.Context, report func(share float64)) error {
	if err := r.fitTable(ctx, report); err != nil {
		return err
	}
	// Where the noise is as large as the counts, the last stage has up to three times the rows,
	// and simulations that were drawn from so many would err too much. FitCells leaves them:
	// BetterThanCells compares the simulations with the cells, and chose worse with fewer rows.
	rows := 0.0
	for _, mean := range r.staged {
		rows += float64(mean)
	}
	if rows > 0 {
		for i := range r.staged {
			r.staged[i] *= float32(max(1, r.total()) / rows)
		}
	}
	return nil
}

func (r *Release) fitTable(ctx context.Context, report func(share float64)) error {
	if r.shape.cells == 0 {
		return sqlerr.New(sqlerr.Internal, "the universe is too large for a table")
	}
	x, stages, err := r.fit(ctx, report)
	if err != nil {
		return err
	}
	r.stages, r.staged = stages, single(x)
	toTotal(x, max(1, r.total()))
	r.table = single(x)
	return nil
}

func single(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

// fit fits a table to the noisy cells. Its total is still to be set.
func (r *Release) fit(ctx context.Context, report func(share float64)) ([]float64, []Stage, error) {
	stages, err := r.observations(ctx)
	if err != nil {
		return nil, nil, err
	}
	return fit(ctx, r.shape, r.total(), stages, r.p.chooser(len(r.shape.sizes)), report)
}

// FitCells returns the release whose one marginal is over all columns of u, from its noisy
// cells, one for each code: those of an identity release, with independent noise of a law.
// It takes the cells. It is post-processing of them, and draws nothing. ctx and report are
// those of Fit.
//
// Its margins are not those of the noise, unless the law is Gaussian: who has the cells
// has better ones.
func FitCells(ctx context.Context, u *query.Universe, law law.Law, cells []int64, report func(share float64)) (*Release, error) {
	p := Params{Sets: OfDegree(u, len(u.Columns())), Law: law, Sigma2: law.Variance()}
	if err := p.check(u); err != nil {
		return nil, err
	}
	if !CanFitCells(u) {
		return nil, tooManyCells()
	}
	if len(cells) != product(sizesOf(u)) {
		return nil, sqlerr.New(sqlerr.Internal, "the cells are not those of the universe")
	}
	r, err := newRelease(ctx, u, p, [][]int64{cells})
	if err != nil {
		return nil, err
	}
	return r, r.fitTable(ctx, report)
}

// CanFitCells reports whether FitCells takes cells over u. A fit holds the marginals over
// all sets of columns, and there may not be too many: neither of their cells, nor of the
// steps that they take.
func CanFitCells(u *query.Universe) bool {
	sizes := sizesOf(u)
	if _, ok := newShape(sizes, MostTable); !ok || !u.Coded() {
		return false
	}
	all := 1.0
	for _, n := range sizes {
		all *= float64(n + 1)
	}
	return all <= MostCells && work(sizes, OfDegree(u, len(sizes))) <= MostWork
}

// chooser returns how λ is chosen: by risk from marginals of a few columns. The cells over
// all columns hold mostly noise, of which Stein's estimate is too uncertain.
func (p Params) chooser(columns int) chooser {
	if len(p.Sets) > 0 && len(p.Sets[0]) == columns {
		return byMoments
	}
	return byRisk
}
