package declare

import (
	"context"
	"encoding/json"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/smw"
	"dpsql/sqlfront/syntax"
)

// CreateMechanism reserves the budget of an interactive mechanism and stores its
// parameters. It converts the ε, at the interactive account's δ, into a ρ and reserves all
// of it. If the table has no N̂ yet, N̂ is bought from this ρ first.
func (s *Statement) CreateMechanism(ctx context.Context, st *syntax.CreateMechanism) (warnings []string, err error) {
	v, land, err := s.take(ctx, st.Name)
	if err != nil {
		return nil, err
	}
	defer land()
	if done, err := v.NameFree(st.Name, st.IfNotExists, v.Mechanism(st.Name.Text) != nil); err != nil {
		return nil, err
	} else if done {
		return ofMechanism(v, st).warning(st.Name.Text), nil
	}
	asked, err := s.PlanMechanism(st, v)
	if err != nil {
		return nil, err
	}
	t, columns, a := asked.Table, asked.Columns, v.Accounts[asked.Table.Account]
	table, measured, err := asked.FittedTable(ctx, s) // before anything is charged
	if err != nil {
		return nil, err
	}
	n, left, err := s.Desk.RowCount(ctx, s.Bill, s.Rows, t, catalog.KindInteractive, asked.Cost)
	if err != nil {
		return nil, err
	}
	p, err := asked.Complete(n, left.Rho)
	if err != nil {
		return nil, err
	}
	var state []byte
	if asked.Guarded != nil {
		p.Guards = asked.Guarded.Name
		if state, err = smw.EncodeFitted(t.Over(columns), table, measured, n.Value); err != nil {
			return nil, err
		}
	}
	m := &catalog.Mechanism{Name: st.Name.Text, TableID: t.ID, Span: t.Part, Columns: columns, Epsilon: asked.Epsilon,
		Rho: p.Runs, RunRho: p.Runs / accounting.Rho(p.Updates), Updates: p.Updates}
	if m.Params, err = json.Marshal(p.MechanismParams); err != nil {
		return nil, err
	}
	warnings = warnDelta(t, a)
	if err := a.Limits.Check(catalog.Buyer{Principal: catalog.Curator}, m.RunRho); err != nil {
		warnings = append(warnings, "no SELECT can begin one of its runs: each takes ρ = "+m.RunRho.String()+" of the reserve, which is above max_charge")
	}
	return warnings, s.Rows.OnSnapshot(ctx, t, func(sn *rows.Snapshot) (err error) {
		if p.PriorRho > 0 {
			if state, err = s.site().BuyPrior(ctx, sn, m.Name, columns, p, left); err != nil {
				return err
			}
			ctx = context.WithoutCancel(ctx) // the prior is drawn, so keep it even if cancelled
		}
		return s.Desk.Reserve(ctx, sn, m.Name, m.Rho, func(tx *catalog.Tx) error { return tx.AddMechanism(m, state) })
	})
}

// PlanMechanism plans a mechanism from public data alone. It returns the plan with the error of an account
// that is too small.
func (s *Statement) PlanMechanism(st *syntax.CreateMechanism, v *view.View) (*kind.MechanismPlan, error) {
	v, options, err := spanned(v, st.Table, st.Options, s.Now())
	if err != nil {
		return nil, err
	}
	t, columns, err := v.Target(st.Table, st.Columns)
	if err != nil {
		return nil, err
	}
	s.Bill.Statement = built(st.Name, t, columns, string(syntax.SMW), st.Options)
	return kind.PlanMechanism(kind.Request{Options: options, View: v, Table: t, Columns: columns, Public: s})
}
