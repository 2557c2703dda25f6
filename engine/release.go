package engine

import (
	"context"
	"fmt"
	"math"

	"dpsql/catalog"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// createRelease builds a release: plan from public data, buy N̂ where the plan
// needs it, charge, read the cells, draw, store.
func (s *Session) createRelease(ctx context.Context, st *sqlfront.CreateRelease) (*Result, error) {
	v, err := s.db.view(ctx)
	if err != nil {
		return nil, err
	}
	if done, err := v.nameFree(st.Name, st.IfNotExists, v.release(st.Name.Text) != nil); done || err != nil {
		return &Result{}, err
	}
	t, columns, err := v.target(st.Table, st.Columns)
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
		n, left, err := s.db.rowCount(ctx, &s.bill, t, catalog.KindReleases, p.cost)
		if err != nil {
			return nil, err
		}
		if p, err = p.complete(n, left); err != nil {
			return nil, err
		}
	}
	warnings := append(p.warnings, warnDelta(t, v.accounts[t.Account])...)
	return &Result{Warnings: warnings}, s.db.buildProjection(ctx, &s.bill, st.Name.Text, p, s.progress)
}

// nameFree reports whether a statement has nothing to do because the thing
// exists, and refuses a name that is taken.
func (v *view) nameFree(name sqlfront.Name, ifNotExists, same bool) (done bool, err error) {
	if same && ifNotExists {
		return true, nil
	}
	if v.release(name.Text) != nil || v.mechanism(name.Text) != nil || v.planned(name.Text) != nil {
		return false, sqlerr.New(sqlerr.Invalid, "the name %s is taken", name.Text).
			WithHint("releases and mechanisms share one list of names").At(name.Position)
	}
	for _, word := range []string{"auto", "smw", "projection", "direct", "constant"} {
		if query.SameName(name.Text, word) {
			return false, sqlerr.New(sqlerr.Invalid, "%s means something else in SET mechanism", name.Text).At(name.Position)
		}
	}
	return false, nil
}

// target resolves ON table (columns). No column list means all columns, nil.
func (v *view) target(name sqlfront.Name, list []sqlfront.Name) (*table, []int, error) {
	t, err := v.table(name.Text, name.Position)
	if err != nil {
		return nil, nil, err
	}
	if t.Source == "" {
		return nil, nil, sqlerr.New(sqlerr.Invalid, "this file holds no rows of %s", t.Name).At(name.Position)
	}
	picked := make([]bool, len(t.Columns))
	for _, c := range list {
		i, ok := t.universe.Index(c.Text)
		if !ok {
			return nil, nil, sqlerr.New(sqlerr.Unknown, "%s has no column %s", t.Name, c.Text).
				WithHint("DESCRIBE %s lists its columns", t.Name).At(c.Position)
		}
		picked[i] = true
	}
	var columns []int
	for i, yes := range picked {
		if yes {
			columns = append(columns, i)
		}
	}
	if len(columns) == len(t.Columns) {
		columns = nil
	}
	return t, columns, nil
}

// warnDelta warns when δ is no longer small beside one row in N̂.
func warnDelta(t *table, a account) []string {
	delta := (a.Caps.ReleaseDelta + a.Caps.InteractiveDelta).Float()
	if t.NHat == nil || delta*float64(t.NHat.Value) <= 0.1 {
		return nil
	}
	return []string{fmt.Sprintf("delta = %s is large for about %.0f rows: keep it well below 1/%.0f", short(delta),
		float64(t.NHat.Value), math.Ceil(float64(t.NHat.Value)))}
}
