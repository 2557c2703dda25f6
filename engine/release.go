package engine

import (
	"context"
	"fmt"
	"math"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/sqlfront"
)

// createRelease builds a release: plan from public data, buy N̂ where the plan
// needs it, charge, read the cells, draw, store.
func (s *Session) createRelease(ctx context.Context, st *sqlfront.CreateRelease) (*Result, error) {
	v, err := s.db.view(ctx)
	if err != nil {
		return nil, err
	}
	if done, err := v.NameFree(st.Name, st.IfNotExists, v.Release(st.Name.Text) != nil); done || err != nil {
		return &Result{}, err
	}
	t, columns, err := v.Target(st.Table, st.Columns)
	if err != nil {
		return nil, err
	}
	if st.Using == sqlfront.SMW {
		return s.createSMWRelease(ctx, st, v, t, columns)
	}
	p, err := planProjection(st, v, t, columns)
	if err != nil {
		return nil, err
	}
	if p.complete != nil { // it depends on the number of rows, which is bought first
		n, left, err := s.db.desk.RowCount(ctx, &s.bill, s.db.rows, t, catalog.KindReleases, p.cost)
		if err != nil {
			return nil, err
		}
		if p, err = p.complete(n, left); err != nil {
			return nil, err
		}
	}
	warnings := append(p.warnings, warnDelta(t, v.Accounts[t.Account])...)
	return &Result{Warnings: warnings}, s.db.buildProjection(ctx, &s.bill, st.Name.Text, p, s.progress)
}

// warnDelta warns when δ is no longer small beside one row in N̂.
func warnDelta(t *view.Table, a view.Account) []string {
	delta := (a.Caps.ReleaseDelta + a.Caps.InteractiveDelta).Float()
	if t.NHat == nil || delta*float64(t.NHat.Value) <= 0.1 {
		return nil
	}
	return []string{fmt.Sprintf("delta = %s is large for about %.0f rows: keep it well below 1/%.0f", view.Short(delta),
		float64(t.NHat.Value), math.Ceil(float64(t.NHat.Value)))}
}
