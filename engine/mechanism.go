package engine

import (
	"context"
	"encoding/json"
	"errors"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/stored"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

const (
	defaultQueries = 1e6 // k
	defaultBeta    = 0.05
	leastBeta      = 1e-12 // below it 1 − β is not far enough from 1 for a float
)

// createMechanism reserves the budget of an interactive mechanism and stores
// its parameters. Its ε, at the interactive account's δ, becomes a ρ, which is
// reserved whole; N̂, where the table has none yet, is bought from it first.
func (s *Session) createMechanism(ctx context.Context, st *sqlfront.CreateMechanism) (*Result, error) {
	v, err := s.db.view(ctx)
	if err != nil {
		return nil, err
	}
	if done, err := v.NameFree(st.Name, st.IfNotExists, v.Mechanism(st.Name.Text) != nil); done || err != nil {
		return &Result{}, err
	}
	asked, err := planMechanism(st, v)
	if err != nil {
		return nil, err
	}
	t, columns, a := asked.table, asked.columns, v.Accounts[asked.table.Account]
	n, left, err := s.db.desk.RowCount(ctx, &s.bill, s.db.rows, t, catalog.KindInteractive, accounting.Amount{Rho: asked.rho})
	if err != nil {
		return nil, err
	}
	p, err := planSMW(asked.request, n, left.Rho)
	if err != nil {
		return nil, err
	}
	state, err := s.db.buyPrior(ctx, &s.bill, t, st.Name.Text, columns, p, left)
	if err != nil {
		return nil, err
	}
	m := &catalog.Mechanism{Name: st.Name.Text, TableID: t.ID, Columns: columns, Epsilon: asked.epsilon,
		Rho: p.runs, RunRho: p.runs / accounting.Rho(p.Updates), Updates: p.Updates}
	if state != nil && t.Outside == nil {
		ctx = context.WithoutCancel(ctx) // the prior is paid for: keep it
	}
	warnings := warnDelta(t, a)
	if err := a.Limits.Check(catalog.Buyer{Principal: catalog.Curator}, m.RunRho); err != nil {
		warnings = append(warnings, "no SELECT can begin one of its runs: each takes ρ = "+m.RunRho.String()+" of the reserve, which is above max_charge")
	}
	return &Result{Warnings: warnings}, s.db.reserve(ctx, t, m, p.MechanismParams, state)
}

// mechanismPlan is a mechanism before N̂ is known.
type mechanismPlan struct {
	table   *view.Table
	columns []int
	epsilon accounting.Epsilon
	rho     accounting.Rho // that it reserves
	request smwRequest
}

// planMechanism reads the statement and works out what it reserves.
func planMechanism(st *sqlfront.CreateMechanism, v *view.View) (p mechanismPlan, err error) {
	if p.table, p.columns, err = v.Target(st.Table, st.Columns); err != nil {
		return p, err
	}
	if p.epsilon, p.request, err = mechanismRequest(st, p.table, p.columns); err != nil {
		return p, err
	}
	a := v.Accounts[p.table.Account]
	if p.epsilon > a.Caps.InteractiveEpsilon {
		return p, tooMuch(p.epsilon, a)
	}
	p.rho = accounting.RhoFor(p.epsilon, a.Caps.InteractiveDelta)
	return p, nil
}

// mechanismRequest reads the options of CREATE MECHANISM.
func mechanismRequest(st *sqlfront.CreateMechanism, t *view.Table, columns []int) (accounting.Epsilon, smwRequest, error) {
	o := newOptions(st.Options, "epsilon", "max_updates", "alpha", "max_support", "queries", "beta", "update", "prior", "remeasure", "max_weight")
	epsilon := o.epsilon()
	r := readRequest(o, t, t.Over(columns))
	r.MaxWeight = o.integer("max_weight", 1, 1, 1e12)
	return epsilon, r, o.done()
}

func tooMuch(e accounting.Epsilon, a view.Account) error {
	if a.Caps.InteractiveEpsilon == 0 {
		return sqlerr.New(sqlerr.Budget, "the table has no interactive account").
			WithHint("declare it with a delta and interactive = 0.5")
	}
	return sqlerr.New(sqlerr.Budget, "epsilon = %v is more than the interactive account's %v", e, a.Caps.InteractiveEpsilon).
		WithHint("SHOW BUDGET tells what is left")
}

// smwRequest is what mechanisms and SMW releases are asked for in common.
type smwRequest struct {
	smw.Request
	prior  string // auto, classes or uniform
	tables []smw.Table
}

// readRequest reads the options that mechanisms and SMW releases share.
func readRequest(o *options, t *view.Table, u *query.Universe) smwRequest {
	r := smwRequest{prior: o.word("prior", "auto", "classes", "uniform")}
	r.Request = smw.Request{
		MaxUpdates: o.integer("max_updates", 0, 1, 1e6), Alpha: o.fraction("alpha", 0),
		MaxSupport: uint64(o.integer("max_support", defaultSupport, 1, maxSupport)),
		Queries:    o.integer("queries", defaultQueries, 1, 1e15), Beta: o.fraction("beta", defaultBeta),
		Update:       smw.Update(o.word("update", string(smw.Projection), string(smw.Paper))),
		Remeasure:    o.word("remeasure", "off", "on") == "on",
		UniverseSize: u.Size(), Sensitivity: t.Sensitivity(), MaxWeight: 1,
	}
	if r.Beta < leastBeta {
		o.fail(sqlerr.New(sqlerr.Invalid, "beta must be at least %g", leastBeta), o.find("beta").Name.Position)
	}
	if o.has("max_updates") && o.has("alpha") {
		o.fail(sqlerr.New(sqlerr.Invalid, "max_updates and alpha exclude each other"), o.find("alpha").Name.Position)
	}
	if r.prior != "uniform" {
		r.tables = smw.PriorTables(u)
	}
	if r.prior == "classes" && len(r.tables) == 0 {
		o.fail(sqlerr.New(sqlerr.Invalid, "a prior of classes needs two columns or more, and a domain for each").
			WithHint("name the columns that have domains: ON t (a, b), or leave prior out"), o.find("prior").Name.Position)
	}
	return r
}

// reserve charges the ρ of the mechanism's runs and stores it with the state it
// starts from.
func (db *DB) reserve(ctx context.Context, t *view.Table, m *catalog.Mechanism, p stored.MechanismParams, state []byte) error {
	params, err := json.Marshal(p)
	if err != nil {
		return err
	}
	m.Params = params
	return db.rows.OnSnapshot(ctx, t, func(sn *rows.Snapshot) error {
		return db.desk.Reserve(ctx, sn, m.Name, m.Rho, func(tx *catalog.Tx) error { return tx.AddMechanism(m, state) })
	})
}

// fromMechanism is the candidate of an interactive mechanism. Its runs are
// prepaid, so it costs nothing.
func (db *DB) fromMechanism(v *view.View, r request, m *catalog.Mechanism) (candidate, error) {
	c := candidate{origin: fromMechanism, name: m.Name, kind: "smw", columns: m.Columns}
	known := db.params.get(string(m.Params), func() paramsResult {
		p, err := stored.ReadMechanism(m)
		return paramsResult{p, err}
	})
	p, err := known.params, known.err
	if err != nil {
		return c, err
	}
	see := view.Cover(r.query, m.Columns, p.MaxSupport)
	c.support = see.Size
	if c.refusal = see.Refusal; c.refusal != "" {
		return c, nil
	}
	if err := p.Admits(see.Query); err != nil {
		return c.failed(err)
	}
	if r.file.isReadOnly() {
		return c.failed(errReadOnly())
	}
	c.known = !stored.SpentRuns(m, p.Params) && !r.changed[foundLater{m.ID, spentMeanwhile}]
	if c.known && (m.Run == nil || r.changed[foundLater{m.ID, runUnpaid}]) {
		c.starts = max(1, m.RunRho)
		if err := v.Limits(r.table).Check(*r.buyer, c.starts); err != nil {
			return c.failed(inAdvance(err, m))
		}
	}
	if c.known {
		asked := smw.Scaled{Factor: p.Factor(see.Query)}
		c.margin, err = db.margin(catalog.AnswerVerified, stored.ScaledLaw(m.Params, asked), r.settings.Confidence)
	} else if !r.settings.Unverified {
		c.refusal = "its runs are spent, and SET unverified = off"
	} else {
		c.note = "its runs are spent: unverified"
	}
	c.answer = func(ctx context.Context) (reply, error) {
		return db.ask(ctx, r, m.ID, see.Query, c.known)
	}
	return c, err
}

// inAdvance says of a limit's refusal that it is the next run it keeps from being
// paid for.
func inAdvance(err error, m *catalog.Mechanism) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Message = "the next run of " + m.Name + " has to be paid for: " + e.Message
	return &c
}

// paramsResult is what a mechanism's stored parameters say.
type paramsResult struct {
	params stored.MechanismParams
	err    error
}
