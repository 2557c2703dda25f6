package declare

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/projection"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// CreateRelease builds a release. It plans from public data, buys N̂ if the plan needs it,
// charges, reads the cells, draws, stores, and fits a table if there is to be one.
func (s *Statement) CreateRelease(ctx context.Context, st *syntax.CreateRelease) (warnings []string, err error) {
	v, land, err := s.take(ctx, st.Name)
	if err != nil {
		return nil, err
	}
	defer land()
	if r := v.Release(st.Name.Text); r != nil && r.Unfinished() {
		return s.resume(ctx, st, v, r)
	}
	if done, err := v.NameFree(st.Name, st.IfNotExists, v.Release(st.Name.Text) != nil || v.Template(st.Name.Text) != nil); done || err != nil {
		return nil, err
	}
	if st.EachPeriod {
		return s.createTemplate(ctx, st, v)
	}
	return s.build(ctx, st, v)
}

// build builds a release whose name is free. A part of a template is built over a view that has
// its period alone.
func (s *Statement) build(ctx context.Context, st *syntax.CreateRelease, v *view.View) (warnings []string, err error) {
	if st, v, err = s.spannedRelease(st, v); err != nil {
		return nil, err
	}
	t, columns, err := v.Target(st.Table, st.Columns)
	if err != nil {
		return nil, err
	}
	s.Bill.Statement = built(st.Name, t, columns, string(st.Using), st.Options)
	switch st.Using {
	case syntax.SMW:
		return s.createSMWRelease(ctx, st, v, t, columns)
	case syntax.Marginals:
		p, err := s.planMarginals(ctx, st, v, t, columns, nil)
		if err != nil {
			return nil, err
		}
		warnings, err := s.createMarginals(ctx, st.Name.Text, p)
		return append(warnings, warnDelta(t, v.Accounts[t.Account])...), err
	}
	waits, err := s.Desk.Waiting(ctx, s.Bill, t)
	if err != nil {
		return nil, err
	}
	p, err := planProjection(st, v, t, columns, waits.Amount.Delta)
	if err != nil {
		return nil, err
	}
	if p.complete != nil { // the plan depends on the number of rows, so buy that first
		n, left, err := s.Desk.RowCount(ctx, s.Bill, s.Rows, t, catalog.KindReleases, p.cost)
		if err != nil {
			return nil, err
		}
		if p, err = p.complete(n, left); err != nil {
			return nil, err
		}
	}
	warnings = append(p.warnings, warnDelta(t, v.Accounts[t.Account])...)
	return warnings, s.buildProjection(ctx, s.Bill, st.Name.Text, p, s.Progress)
}

// built identifies what a statement builds, however it is spaced, for charges that wait.
func built(name syntax.Name, t *view.Table, columns []int, using string, options []syntax.Option) string {
	text := fmt.Sprintf("%q %q %v", query.FoldName(name.Text), using, columns)
	for _, o := range options {
		text += fmt.Sprintf(" %q %d %q", o.Name.Text, o.Kind, o.Value)
		for _, n := range o.Names {
			text += fmt.Sprintf(" %q", n.Text)
		}
	}
	return text
}

// take takes a name for what is about to be paid for, and returns the view of then. Others that would
// pay for the same name wait until it is stored, and find it; or they are refused.
func (s *Statement) take(ctx context.Context, name syntax.Name) (v *view.View, land func(), err error) {
	if s.Store.ReadOnly() { // the charge is refused
		v, err = s.view(ctx)
		return v, func() {}, err
	}
	flight, err := s.Store.AcquireFlight(ctx, sha256.Sum256([]byte("name "+query.FoldName(name.Text))), s.Patience, name.Text+" is being built")
	if err != nil {
		return nil, nil, sqlerr.Locate(err, name.Position)
	}
	if v, err = s.view(ctx); err != nil {
		flight.Land()
	}
	return v, flight.Land, err
}

// warnDelta warns if δ is no longer small compared with one row in N̂.
func warnDelta(t *view.Table, a view.Account) []string {
	delta := (a.Caps.ReleaseDelta + a.Caps.InteractiveDelta).Float()
	if t.NHat == nil || delta*float64(t.NHat.Value) <= 0.1 {
		return nil
	}
	return []string{fmt.Sprintf("delta = %s is large for about %.0f rows: keep it well below 1/%.0f", view.Short(delta),
		float64(t.NHat.Value), math.Ceil(float64(t.NHat.Value)))}
}

// buildProjection pays for a planned release, builds it and stores it.
func (s *Statement) buildProjection(ctx context.Context, b *pay.Bill, name string, p projectionPlan, report func(done, all int64)) error {
	steps := &buildSteps{report: report, fits: p.wishes.fitted}
	var builder *projection.Builder
	var cells *source.Histogram
	var paid *pay.Receipt
	err := s.Rows.OnSnapshot(ctx, p.table, func(sn *rows.Snapshot) (err error) {
		paid, err = s.Desk.Build(ctx, b, sn, catalog.KindReleases, "create release", name, p.cost)
		if err != nil {
			return err
		}
		steps.read(0, 1)
		return s.Desk.Read(ctx, b, paid, func() (err error) {
			if builder, err = projection.NewBuilder(p.universe, p.params, s.Coins()); err != nil {
				return err
			}
			cells, err = sn.Cells(ctx, paid, p.columns, builder.Coder(), math.MaxInt, p.params.HasTexts(p.universe), steps.read)
			return err
		})
	})
	if err != nil {
		return err
	}
	steps.done(1)
	builder.WithTexts(cells.Texts)
	src, err := paid.Noise()
	if err != nil {
		return err
	}
	release, err := builder.Build(cells.All(), src)
	if err != nil {
		return err
	}
	p.wishes.fitted = p.worthFitting(release)
	if !p.wishes.fitted {
		steps.done(2)
	}
	r, err := s.storeProjection(ctx, name, p, release)
	if err != nil || !p.wishes.fitted {
		return err
	}
	b.Store()
	return s.fitCells(ctx, p, r, release, steps)
}

// storeProjection stores a release, without the fit to its cells.
func (s *Statement) storeProjection(ctx context.Context, name string, p projectionPlan, release *projection.Release) (*catalog.Release, error) {
	payload, err := release.MarshalBinary()
	if err != nil {
		return nil, err
	}
	r := &catalog.Release{Name: name, TableID: p.table.ID, Span: p.table.Part, Columns: p.columns, Using: string(syntax.Projection),
		Epsilon: p.cost.Epsilon, Delta: p.cost.Delta, MaxSupport: p.support}
	about := p.about(release)
	about.Unfitted = p.wishes.fitted
	return r, s.storeRelease(ctx, r, about, payload)
}

// about describes a release that is not to be fitted.
func (p projectionPlan) about(release *projection.Release) released.ReleaseAbout {
	h := p.params.Heavy
	about := released.ReleaseAbout{Transform: string(p.params.Transform), Rows: p.params.Rows, Law: p.params.Law.String(), Sampler: "exact",
		Heavy: string(h.Form), Clip: h.Clip, Threshold: h.Threshold, Published: release.Published(), Texts: p.params.HasTexts(p.universe)}
	if p.params.Bulk {
		about.Sampler = "table"
	}
	return about
}

// storeRelease stores a release with what it says about itself. One that has an ID is stored, and
// takes its own place, with another ID. What was drawn for it is paid for, so ctx does not end it. The
// same transaction does what else is given, before.
func (s *Statement) storeRelease(ctx context.Context, r *catalog.Release, about any, payload []byte, before ...func(*catalog.Tx) error) (err error) {
	if r.Params, err = json.Marshal(about); err != nil {
		return err
	}
	old := r.ID
	return s.Store.Write(context.WithoutCancel(ctx), func(tx *catalog.Tx) error {
		for _, do := range before {
			if err := do(tx); err != nil {
				return err
			}
		}
		if old != 0 {
			if current, err := tx.Release(r.Name); err != nil || current == nil || current.ID != old {
				return cmp.Or[error](err, sqlerr.New(sqlerr.Unknown, "release %s was dropped or finished meanwhile", r.Name))
			}
			if err := tx.DropRelease(r.Name); err != nil {
				return err
			}
		}
		if err := s.part.place(tx, r); err != nil {
			return err
		}
		return tx.AddRelease(r, payload)
	})
}

// buildSteps reports the progress of a build. Each part of the rows is a step; the noise
// and storing are the last two. Where a table is fitted, the fit and its simulations come
// between these, and count as much as all parts together, and twice as much. Steps are
// reported in hundredths. The number of parts follows from the table's public definition.
// Of rows and cells it shows how many of N̂ were read, and what the noisy ones show. A curator alone
// is told, see Session.SetProgress.
type buildSteps struct {
	report func(done, all int64) // may be nil
	fits   bool
	parts  int64
}

func (b *buildSteps) read(done, all int) {
	b.parts = int64(all)
	b.at(float64(done))
}

// done reports that all rows were read, and how many of the last two steps have begun.
func (b *buildSteps) done(begun int64) {
	if begun == 2 && b.fits {
		b.simulate(1)
		return
	}
	b.at(float64(b.parts + begun - 1))
}

// fit reports the share of the fit that is done, and simulate that of the simulations.
func (b *buildSteps) fit(share float64) { b.at(float64(b.parts+1) + share*float64(b.parts)) }

func (b *buildSteps) simulate(share float64) {
	b.at(float64(2*b.parts+1) + share*float64(2*b.parts))
}

func (b *buildSteps) at(step float64) {
	if b.report == nil {
		return
	}
	all := b.parts + 2
	if b.fits {
		all += 3 * b.parts
	}
	b.report(int64(100*step), 100*all)
}

// Plan is the cost and coverage of a release or mechanism before anything is bought for
// it.
type Plan struct {
	Table      *view.Table
	Columns    []int // nil means all
	Cost       accounting.Amount
	MaxSupport uint64
	Universe   *query.Universe // of a release of marginals, which has every support over it; else nil
	Unclear    string          // what is not known of the columns' domains; "" if nothing
	Fitted     bool            // a table is fitted
	Open       string          // what depends on an unknown; "" if nothing does
	Outlook    string          // the errors that are predicted, of a release of marginals
	Size       string          // what is stored, for people
	Largest    []int           // the columns of the largest marginal of a release of marginals, among its own
	Texts      bool            // its heavy cells have texts, or may have
	Sketch     bool            // other records raise the margins of the noise
	// Noise returns the margin that the noise alone gives an answer of a sketch or identity
	// release. It is nil for other releases.
	Noise func(q query.Query, confidence float64) (float64, error)
	// Predict returns the margin of an answer to a query over the columns; false if it
	// depends on rows. Answers of a fitted table have this margin around the unbiased
	// answer. Predict is nil if no margin is known.
	Predict func(q query.Query, confidence float64) (margin float64, known bool, err error)
}

// PlanRelease plans a release from public data alone. If the number of rows or a domain is
// unknown, the cost is an upper bound.
func (s *Statement) PlanRelease(ctx context.Context, st *syntax.CreateRelease, v *view.View) (Plan, error) {
	st, v = s.onePart(st, v)
	st, v, err := s.spannedRelease(st, v)
	if err != nil {
		return Plan{}, err
	}
	t, columns, err := v.Target(st.Table, st.Columns)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Table: t, Columns: columns}
	if st.Using == syntax.SMW {
		p, err := s.planSMWRelease(ctx, st, v, t, columns)
		var names *sqlfront.UndecidedError
		if errors.As(err, &names) {
			plan.Open, err = t.Undecided[names.Column], nil
		}
		plan.Cost, plan.MaxSupport = p.cost, p.request.MaxSupport
		return plan, err
	}
	if st.Using == syntax.Marginals {
		p, err := s.planMarginals(ctx, st, v, t, columns, nil)
		plan.Cost, plan.Fitted, plan.Open, plan.Unclear = p.cost, true, p.unclear, p.unclear
		if err == nil && p.unclear == "" {
			plan.Universe, plan.MaxSupport = p.universe, allSupport(p.universe)
			plan.Predict, plan.Outlook = p.predict, p.outlook()
			plan.Size, plan.Largest = p.size()
		}
		return plan, err
	}
	p, err := planProjection(st, v, t, columns, 0)
	if err == nil && p.complete != nil && t.NHat != nil && t.Unclear(columns) == "" {
		p, err = p.complete(*t.NHat, p.cost)
	}
	plan.Cost, plan.MaxSupport, plan.Fitted = p.cost, p.support, p.wishes.fitted && p.wishes.estimate != ""
	plan.Texts = p.params.HasTexts(p.universe) || p.complete != nil && p.universe.Size() == nil && p.wishes.transform != "dense" && p.cost.Delta > 0
	if p.complete != nil {
		plan.Open = p.open(t.Unclear(columns))
	} else if err == nil {
		plan.Predict, plan.Size = p.predict, p.size()
	}
	if err == nil && p.wishes.transform != "dense" {
		plan.Sketch = p.params.Transform != projection.Identity
		plan.Noise, err = p.noiseMargin()
	}
	if p.wishes.fitted && !plan.Fitted {
		plan.Open = "its noisy cells decide whether a table is fitted"
	}
	return plan, err
}

// open returns what the cost of an incomplete plan depends on.
func (p projectionPlan) open(unclear string) string {
	text := ""
	switch {
	case p.wishes.transform == "dense":
		text = "its rows follow from the number of rows of the table"
	case p.cost.Delta > 0:
		text = "δ at most: the number of rows decides whether it is needed"
	}
	if text == "" || unclear == "" {
		return text + unclear
	}
	return text + "; " + unclear
}

// PlanMechanism computes a mechanism's reserve from public data alone.
func (s *Statement) PlanMechanism(st *syntax.CreateMechanism, v *view.View) (Plan, accounting.Epsilon, error) {
	p, err := s.planMechanism(st, v)
	return Plan{Table: p.table, Columns: p.columns, Cost: accounting.Amount{Rho: p.rho}, MaxSupport: p.request.MaxSupport}, p.epsilon, err
}
