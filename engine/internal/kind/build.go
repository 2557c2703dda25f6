package kind

import (
	"context"
	"encoding"
	"iter"
	"math"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/projection"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// This file has all that is drawn for releases, for the priors of mechanisms and for lists of keys, and reads
// the rows for them. Each charges, durably; reads, by the receipt; and then draws.

// Site is where a release is built: what pays for it, reads, draws and stores.
type Site struct {
	Desk     *pay.Desk
	Rows     *rows.Reader
	Coins    func() *coin.Source // for what no row is behind: keys, matrices, simulations
	Bill     *pay.Bill
	Progress func(done, all int64) // may be nil
	// Put stores a release with what it says about itself. One that has an ID takes its own place. The same
	// transaction does what else is given, before.
	Put func(ctx context.Context, r *catalog.Release, about any, payload []byte, before ...func(*catalog.Tx) error) error
}

// reading reads rows with a receipt.
type reading = func(sn *rows.Snapshot, paid *pay.Receipt) error

// read charges for what is named, and then reads rows with the receipt. The noise that it returns is what
// was paid for.
func (s *Site) read(ctx context.Context, t *view.Table, action, name string, cost accounting.Amount,
	read reading) (*noise.Source, error) {
	paid, err := s.admitted(ctx, t, read, func(sn *rows.Snapshot) (*pay.Receipt, error) {
		return s.Desk.Build(ctx, s.Bill, sn, catalog.KindReleases, action, name, cost)
	})
	if err != nil {
		return nil, err
	}
	return paid.Noise()
}

// admitted gets a receipt, and then reads rows with it.
func (s *Site) admitted(ctx context.Context, t *view.Table, read reading,
	by func(*rows.Snapshot) (*pay.Receipt, error)) (paid *pay.Receipt, err error) {
	err = s.Rows.OnSnapshot(ctx, t, func(sn *rows.Snapshot) (err error) {
		if paid, err = by(sn); err != nil {
			return err
		}
		return s.Desk.Read(ctx, s.Bill, paid, func() error { return read(sn, paid) })
	})
	return paid, err
}

// Build implements Plan.
func (p *projectionPlan) Build(ctx context.Context, s *Site, name string) (warnings []string, err error) {
	if p, err = p.counted(ctx, s); err != nil {
		return nil, err
	}
	steps := &steps{report: s.Progress, fits: p.wishes.fitted}
	var builder *projection.Builder
	var cells *source.Histogram
	var left iter.Seq2[query.Element, int64]
	src, err := s.read(ctx, p.Table, createRelease, name, p.Cost, func(sn *rows.Snapshot, paid *pay.Receipt) (err error) {
		steps.read(0, 1)
		if builder, err = projection.NewBuilder(p.universe, p.params, s.Coins()); err != nil {
			return err
		}
		if cells, err = sn.Cells(ctx, paid, p.Columns, builder.Coder(), math.MaxInt, p.params.HasTexts(p.universe), steps.read); err == nil {
			steps.done(1)
			left, err = builder.Multiply(ctx, cells.All())
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	builder.WithTexts(cells.Texts)
	release, err := builder.Build(left, src)
	if err != nil {
		return nil, err
	}
	fits := p.worthFitting(release)
	if !fits {
		steps.done(2)
	}
	r, about := p.Release(name, projections{}.Name()), p.about(release)
	about.Unfitted = fits
	if err := s.put(ctx, r, about, release); err != nil || !fits {
		return p.warnings, err
	}
	s.Bill.Store()
	return p.warnings, p.fit(ctx, s, r, release, steps)
}

// Build implements Plan. A release of marginals is one (ε, δ)-differentially private step: one vector of
// discrete Gaussian noise.
func (p *marginalsPlan) Build(ctx context.Context, s *Site, name string) (warnings []string, err error) {
	steps := &steps{report: s.Progress, fits: p.whole}
	var measured *marginals.Measurement
	src, err := s.read(ctx, p.Table, createRelease, name, p.Cost, func(sn *rows.Snapshot, paid *pay.Receipt) error {
		steps.read(0, 1)
		cells, err := sn.Cells(ctx, paid, p.Columns, query.NewWideCoder(p.universe), math.MaxInt, false, steps.read)
		if err == nil {
			steps.done(1)
			measured, err = marginals.Measure(ctx, p.universe, p.params, cells.All())
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	release, err := measured.Perturb(src)
	if err != nil {
		return nil, err
	}
	r, about, stored := p.Release(name, marginalTables{}.Name()), p.about(release), encoding.BinaryMarshaler(release)
	if !p.whole {
		if stored, err = marginals.NewOnDemand(release, s.Coins()); err != nil {
			return nil, err
		}
		steps.done(2)
	}
	if err := s.put(ctx, r, about, stored); err != nil || !p.whole {
		return p.warnings, err
	}
	s.Bill.Store()
	more, err := p.fit(ctx, s, r, release, steps)
	return append(p.warnings, more...), err
}

// Build implements Plan. From one charge it buys the prior and runs the passes.
func (p *hypothesisPlan) Build(ctx context.Context, s *Site, name string) (warnings []string, err error) {
	n, left, err := s.Desk.RowCount(ctx, s.Bill, s.Rows, p.Table, catalog.KindReleases, p.Cost)
	if err != nil {
		return nil, err
	}
	plan, err := planSMW(p.request, n, accounting.RhoFor(left.Epsilon, left.Delta))
	if err != nil {
		return nil, err
	}
	done := *p
	done.Cost, done.MaxSupport = left, plan.MaxSupport
	return done.draw(ctx, s, done.Release(name, hypotheses{}.Name()), plan,
		released.HypothesisPayload{Params: plan.MechanismParams, Class: p.class, Built: p.built})
}

// draw pays, unless r is paid for, and reads the cells once.
func (p *hypothesisPlan) draw(ctx context.Context, s *Site, r *catalog.Release, plan SMWPlan, published released.HypothesisPayload) (warnings []string, err error) {
	var cells *source.Histogram
	steps := &steps{report: s.Progress, fits: true}
	read := func(sn *rows.Snapshot, paid *pay.Receipt) (err error) {
		steps.read(0, 1)
		var key [16]byte // names records of a universe without codes; used only here
		if err := s.Secret(key[:]); err != nil {
			return err
		}
		coder := query.NewCoder(p.Table.Over(r.Columns), key)
		if cells, err = sn.Cells(ctx, paid, r.Columns, coder, math.MaxInt, false, steps.read); err != nil || plan.PriorRho == 0 {
			return err
		}
		return sn.CountPairs(ctx, paid, r.Columns, plan.tables)
	}
	paid, err := s.admitted(ctx, p.Table, read, func(sn *rows.Snapshot) (*pay.Receipt, error) {
		if r.ID != 0 {
			return s.Desk.GoOn(ctx, sn, r)
		}
		return s.Desk.Build(ctx, s.Bill, sn, catalog.KindReleases, createRelease, r.Name, p.Cost)
	})
	if err != nil {
		return nil, err
	}
	if r.ID == 0 {
		if published.Prior, err = s.learnPrior(p.Table, r.Columns, plan, paid); err != nil {
			return nil, err
		}
	}
	return s.passes(ctx, p.Table, r, published, cells, paid, steps)
}

// passes runs the passes. Whenever a run begins, the prior and what was learned are stored first.
func (s *Site) passes(ctx context.Context, t *view.Table, r *catalog.Release, published released.HypothesisPayload,
	cells *source.Histogram, paid *pay.Receipt, steps *steps) (warnings []string, err error) {
	steps.done(1)
	fresh, p := r.ID == 0, published.Params.Params
	h, err := published.Learn(t.Over(r.Columns))
	if err != nil {
		return nil, err
	}
	scaled, err := scaledClass(published.Class, p)
	if err != nil {
		return nil, err
	}
	before, quiet := len(published.Steps), 0.0
	queries, _ := published.Class.Size()
	count := func(q query.Query) (int64, error) {
		// Which queries fired, and after how many, is what the runs published.
		quiet++
		steps.fit(3 * (float64(len(published.Steps)) + min(1, quiet/queries)) / float64(p.Updates+1))
		n, ok := cells.Count(q)
		if !ok { // the class has no query of such a support
			return 0, sqlerr.New(sqlerr.Internal, "a query of the class cannot be enumerated")
		}
		return n, ctx.Err()
	}
	learned := func(result smw.Result) {
		for _, s := range result.Steps[len(published.Steps)-before:] {
			published.Steps = append(published.Steps, released.Step{Query: s.Query.String(), Noisy: s.Noisy})
		}
		published.Runs, published.Complete, quiet = result.Runs, result.Complete, 0
	}
	src, err := paid.Noise()
	if err != nil {
		return nil, err
	}
	result, err := smw.Passes(h, published.Runs, scaled, count, func(result smw.Result) error {
		learned(result)
		err := putHypothesis(ctx, s, t, r, published, true)
		if err == nil && fresh {
			s.Bill.Store()
			fresh = false
		}
		return err
	}, src)
	if err != nil {
		return nil, err
	}
	if learned(result); !result.Complete {
		warnings = []string{"the runs ended before a whole pass agreed: the release has no error bars; give it more max_updates or epsilon"}
	}
	return warnings, putHypothesis(ctx, s, t, r, published, false)
}

// BuyPrior buys the prior that a mechanism starts from. The charge has its own line in the ledger, which is
// on disk before a row is read. It stays if the mechanism fails later: a prior is never given back.
// So the whole budget is checked first, and a mechanism that cannot be created has not paid for one.
func (s *Site) BuyPrior(ctx context.Context, sn *rows.Snapshot, name string, columns []int, p SMWPlan, whole accounting.Amount) ([]byte, error) {
	t, cost := sn.Table(), accounting.Amount{Rho: p.PriorRho}
	if err := s.Desk.Affords(ctx, s.Bill, t, s.Bill.Statement, catalog.KindInteractive, name, cost, whole); err != nil {
		return nil, err
	}
	paid, err := s.Desk.Build(ctx, s.Bill, sn, catalog.KindInteractive, "prior of mechanism", name, cost)
	if err != nil {
		return nil, err
	}
	if err := s.Desk.Read(ctx, s.Bill, paid, func() error { return sn.CountPairs(ctx, paid, columns, p.tables) }); err != nil {
		return nil, err
	}
	return s.learnPrior(t, columns, p, paid)
}

// learnPrior learns the prior from noisy counts of pairs of columns, which are charged and counted. K tables
// of counts with discrete Gaussian noise of variance K·L²/(2ρ) are ρ-zCDP, see smw.Measure.
func (s *Site) learnPrior(t *view.Table, columns []int, p SMWPlan, paid *pay.Receipt) ([]byte, error) {
	if p.PriorRho == 0 {
		return nil, nil
	}
	src, err := paid.Noise()
	if err != nil {
		return nil, err
	}
	measured, err := smw.Measure(p.tables, p.sigmaSquared(t.Sensitivity()), src)
	if err != nil {
		return nil, err
	}
	prior, err := smw.LearnClasses(t.Over(columns), measured, p.NHat, s.Coins())
	if err != nil {
		return nil, err
	}
	return prior.Encode(), nil
}

// Discover charges for a list of the keys of a column, reads the rows and draws.
func (s *Site) Discover(ctx context.Context, t *view.Table, column int, action, name string, cost accounting.Amount, d projection.Discovery) ([]string, error) {
	var units *source.Keys
	src, err := s.read(ctx, t, action, name, cost, func(sn *rows.Snapshot, paid *pay.Receipt) (err error) {
		units, err = sn.Keys(ctx, paid, column)
		return err
	})
	if err != nil {
		return nil, err
	}
	return d.Found(units.All(), src)
}
