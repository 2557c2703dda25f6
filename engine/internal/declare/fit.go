package declare

import (
	"context"
	"slices"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/projection"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// A release whose table is fitted is stored twice: the noisy counts as soon as they are
// drawn, and then these and the table, in place of the first. A fit can take minutes. If
// it is interrupted or the process dies, what was paid for is on disk, and the same
// statement goes on with the fit. It draws nothing anew and costs nothing. A release built
// by SMW is stored whenever a run begins, and goes on with the next run.

// resume finishes an unfinished release, if the statement is the one that began it.
func (s *Statement) resume(ctx context.Context, st *syntax.CreateRelease, v *view.View, r *catalog.Release) (warnings []string, err error) {
	if t := v.Private(st.Table.Text); t != nil && t.HasPeriods() { // what had begun then may be less
		if st, v, err = s.spannedRelease(st, v); err != nil {
			return nil, err
		}
		if part, some := t.Within(r.Span); some {
			v = v.With(part)
		}
	}
	t, columns, err := v.Target(st.Table, st.Columns)
	if err != nil {
		return nil, err
	}
	payload, err := s.payload(ctx, r)
	if err != nil {
		return nil, err
	}
	same := r.TableID == t.ID && slices.Equal(r.Columns, columns) && r.Using == string(st.Using)
	if same && st.Using == syntax.Marginals {
		release, err := marginals.Unmarshal(t.Over(columns), payload)
		if err != nil {
			return nil, err
		}
		p, err := s.planMarginals(ctx, st, v, t, columns, func(from []syntax.Name) (keyed, error) {
			k, same := storedKeys(r, release.Universe(), from)
			if !same {
				return k, madeOtherwise(st, r)
			}
			return k, nil
		})
		if err != nil {
			return nil, err
		}
		own := release.Params()
		if p.cost.Epsilon == r.Epsilon && p.cost.Delta == r.Delta && slices.EqualFunc(p.params.Sets, own.Sets, slices.Equal) &&
			p.params.Law.String() == own.Law.String() && p.params.Unbiased == own.Unbiased {
			return s.fitMarginals(ctx, p, r, release, s.fitting())
		}
	} else if same && st.Using == syntax.SMW {
		h, err := released.DecodeHypothesis(t.Over(columns), payload)
		if err != nil {
			return nil, err
		}
		if h.Published.Built == built(st.Name, t, columns, string(st.Using), st.Options) {
			return s.buildHypothesis(ctx, t, r, h.Published, smwPlan{MechanismParams: h.Published.Params})
		}
	} else if same {
		p, err := planProjection(st, v, t, columns, 0)
		if err != nil {
			return nil, err
		}
		release, _, err := released.DecodeProjection(p.universe, payload)
		if err != nil {
			return nil, err
		}
		own := release.Params()
		if p.wishes.fitted && p.complete == nil && p.cost.Epsilon == r.Epsilon && p.support == r.MaxSupport &&
			p.params.Transform == own.Transform && p.params.Law.String() == own.Law.String() {
			return nil, s.fitCells(ctx, p, r, release, s.fitting())
		}
	}
	return nil, madeOtherwise(st, r)
}

func madeOtherwise(st *syntax.CreateRelease, r *catalog.Release) error {
	return sqlerr.New(sqlerr.Invalid, "the release %s is unfinished, and was begun by another statement", r.Name).
		WithHint("the same statement as then goes on with it and costs nothing; DROP RELEASE %s frees the name", r.Name).At(st.Name.Position)
}

// fitting reports the progress of a build whose rows are read.
func (s *Statement) fitting() *buildSteps {
	steps := &buildSteps{report: s.Progress, fits: true}
	steps.read(1, 1)
	return steps
}

// fitMarginals fits and simulates the table of a stored release of marginals.
func (s *Statement) fitMarginals(ctx context.Context, p marginalsPlan, r *catalog.Release, release *marginals.Release, steps *buildSteps) (warnings []string, err error) {
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
	payload, err := release.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return warnings, s.storeRelease(ctx, r, p.about(release), payload)
}

// fitCells fits a table to the cells of a stored identity release, and simulates the fit.
// Unless the statement gives an estimate, the table is kept only if it is predicted to err
// less than the cells.
func (s *Statement) fitCells(ctx context.Context, p projectionPlan, r *catalog.Release, release *projection.Release, steps *buildSteps) error {
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
		return s.storeRelease(ctx, r, about, payload)
	}
	if payload, err = released.JoinFit(payload, fit); err != nil {
		return err
	}
	about.Fitted, about.Chooses = true, p.wishes.estimate == "auto"
	return s.storeRelease(ctx, r, about, payload)
}
