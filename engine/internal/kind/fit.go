package kind

import (
	"context"
	"encoding"
	"slices"

	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/internal/released"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/projection"
)

// A release whose table is fitted is stored twice: the noisy counts as soon as they are
// drawn, and then these and the table, in place of the first. A fit can take minutes. If
// it is interrupted or the process dies, what was paid for is on disk, and the same
// statement goes on with the fit. It draws nothing anew and costs nothing. A release built
// by SMW is stored whenever a run begins, and goes on with the next run.

// GoOn implements Plan.
func (p *projectionPlan) GoOn(ctx context.Context, s *Site, begun *Begun) (warnings []string, same bool, err error) {
	release, _, err := released.DecodeProjection(p.universe, begun.Payload)
	if err != nil {
		return nil, false, err
	}
	own := release.Params()
	if !p.wishes.fitted || p.complete != nil || p.Cost.Epsilon != begun.Epsilon || p.MaxSupport != begun.MaxSupport ||
		p.params.Transform != own.Transform || p.params.Law.String() != own.Law.String() {
		return nil, false, nil
	}
	return nil, true, p.fit(ctx, s, begun.Release, release, s.fitting())
}

// fit fits a table to the cells of a stored identity release, and simulates the fit. Unless the
// statement gives an estimate, the table is kept only if it is predicted to err less than the cells.
func (p *projectionPlan) fit(ctx context.Context, s *Site, r *catalog.Release, release *projection.Release, steps *steps) error {
	cells, _ := release.Cells()
	fit, err := marginals.FitCells(ctx, p.universe, release.Params().Law, cells, steps.fit)
	if err != nil {
		return err
	}
	if err := fit.Simulate(ctx, s.Coins, steps.simulate); err != nil {
		return err
	}
	steps.done(2)
	payload, err := release.MarshalBinary()
	if err != nil {
		return err
	}
	about := p.about(release)
	if p.wishes.estimate == "" && !fit.BetterThanCells() {
		return s.Put(ctx, r, about, payload)
	}
	if payload, err = released.JoinFit(payload, fit); err != nil {
		return err
	}
	about.Fitted, about.Chooses = true, p.wishes.estimate == "auto"
	return s.Put(ctx, r, about, payload)
}

// GoOn implements Plan.
func (p *marginalsPlan) GoOn(ctx context.Context, s *Site, begun *Begun) (warnings []string, same bool, err error) {
	own := p.begun.Params()
	if p.Cost.Epsilon != begun.Epsilon || p.Cost.Delta != begun.Delta || !slices.EqualFunc(p.params.Sets, own.Sets, slices.Equal) ||
		p.params.Law.String() != own.Law.String() || p.params.Unbiased != own.Unbiased {
		return nil, false, nil
	}
	warnings, err = p.fit(ctx, s, begun.Release, p.begun, s.fitting())
	return warnings, true, err
}

// fit fits and simulates the table of a stored release of marginals.
func (p *marginalsPlan) fit(ctx context.Context, s *Site, r *catalog.Release, release *marginals.Release, steps *steps) (warnings []string, err error) {
	if err := release.Fit(ctx, steps.fit); err != nil {
		return nil, err
	}
	if !p.params.Unbiased {
		if err := release.Simulate(ctx, s.Coins, steps.simulate); err != nil {
			return nil, err
		}
	}
	steps.done(2)
	if !marginals.Converged(release.Stages()) {
		warnings = append(warnings, "the fit ended before it settled: estimates may err more than they need to; their error bars hold")
	}
	return warnings, s.put(ctx, r, p.about(release), release)
}

// Secret draws bytes that nobody is told.
func (s *Site) Secret(b []byte) error {
	if s.Coins().Bytes(b) != nil {
		return pay.ErrRandom()
	}
	return nil
}

// put stores a release in its binary form.
func (s *Site) put(ctx context.Context, r *catalog.Release, about any, release encoding.BinaryMarshaler) error {
	payload, err := release.MarshalBinary()
	if err != nil {
		return err
	}
	return s.Put(ctx, r, about, payload)
}

// fitting reports the progress of a build whose rows are read.
func (s *Site) fitting() *steps {
	steps := &steps{report: s.Progress, fits: true}
	steps.read(1, 1)
	return steps
}

// steps reports the progress of a build. Each part of the rows is a step; the noise
// and storing are the last two. Where a table is fitted, the fit and its simulations come
// between these, and count as much as all parts together, and twice as much. Steps are
// reported in hundredths. The number of parts follows from the table's public definition.
// Of rows and cells it shows how many of N̂ were read, and what the noisy ones show. A curator alone
// is told, see Session.SetProgress.
type steps struct {
	report func(done, all int64) // may be nil
	fits   bool
	parts  int64
}

func (b *steps) read(done, all int) {
	b.parts = int64(all)
	b.at(float64(done))
}

// done reports that all rows were read, and how many of the last two steps have begun.
func (b *steps) done(begun int64) {
	if begun == 2 && b.fits {
		b.simulate(1)
		return
	}
	b.at(float64(b.parts + begun - 1))
}

// fit reports the share of the fit that is done, and simulate that of the simulations.
func (b *steps) fit(share float64) { b.at(float64(b.parts+1) + share*float64(b.parts)) }

func (b *steps) simulate(share float64) {
	b.at(float64(2*b.parts+1) + share*float64(2*b.parts))
}

func (b *steps) at(step float64) {
	if b.report == nil {
		return
	}
	all := b.parts + 2
	if b.fits {
		all += 3 * b.parts
	}
	b.report(int64(100*step), 100*all)
}
