package engine

import (
	"context"
	"encoding/json"
	"math/big"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

const (
	defaultUpdates = 50  // max_updates where neither it nor alpha is given
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
	if done, err := v.nameFree(st.Name, st.IfNotExists, v.mechanism(st.Name.Text) != nil); done || err != nil {
		return &Result{}, err
	}
	t, columns, err := v.target(st.Table, st.Columns)
	if err != nil {
		return nil, err
	}
	o := newOptions(st.Options, "epsilon", "max_updates", "alpha", "max_support", "queries", "beta", "update")
	epsilon := o.epsilon()
	r := readRequest(o, t, t.over(columns))
	if err := o.done(); err != nil {
		return nil, err
	}
	a := v.accounts[t.Account]
	if epsilon > a.Caps.InteractiveEpsilon {
		return nil, tooMuch(epsilon, a)
	}
	rho := accounting.RhoFor(epsilon, a.Caps.InteractiveDelta)
	n, left, err := s.db.rowCount(ctx, t, catalog.KindInteractive, accounting.Amount{Rho: rho})
	if err != nil {
		return nil, err
	}
	p, err := planSMW(r, n, left.Rho)
	if err != nil {
		return nil, err
	}
	m := &catalog.Mechanism{Name: st.Name.Text, TableID: t.ID, Columns: columns, Epsilon: epsilon,
		Rho: left.Rho, RunRho: left.Rho / accounting.Rho(p.Updates), Updates: p.Updates}
	return &Result{Warnings: warnDelta(t, a)}, s.db.reserve(ctx, t, m, p)
}

func tooMuch(e accounting.Epsilon, a account) error {
	if a.Caps.InteractiveEpsilon == 0 {
		return sqlerr.New(sqlerr.Budget, "the table has no interactive account").
			WithHint("declare it with a delta and interactive = 0.5")
	}
	return sqlerr.New(sqlerr.Budget, "epsilon = %v is more than the interactive account's %v", e, a.Caps.InteractiveEpsilon).
		WithHint("SHOW BUDGET tells what is left")
}

// readRequest reads the options that mechanisms and SMW releases share.
func readRequest(o *options, t *table, u *query.Universe) smw.Request {
	r := smw.Request{
		MaxUpdates: o.integer("max_updates", 0, 1, 1e6), Alpha: o.fraction("alpha", 0),
		MaxSupport: uint64(o.integer("max_support", defaultSupport, 1, maxSupport)),
		Queries:    o.integer("queries", defaultQueries, 1, 1e15), Beta: o.fraction("beta", defaultBeta),
		Update:       smw.Update(o.word("update", string(smw.Projection), string(smw.Paper))),
		UniverseSize: u.Size(), Sensitivity: t.sensitivity(), MaxWeight: 1,
	}
	if r.Beta < leastBeta {
		o.fail(sqlerr.New(sqlerr.Invalid, "beta must be at least %g", leastBeta), o.find("beta").Name.Position)
	}
	if o.has("max_updates") && o.has("alpha") {
		o.fail(sqlerr.New(sqlerr.Invalid, "max_updates and alpha exclude each other"), o.find("alpha").Name.Position)
	}
	if r.MaxUpdates == 0 && r.Alpha == 0 {
		r.MaxUpdates = defaultUpdates
	}
	return r
}

// planSMW completes a request with N̂ and a budget of ρ for all runs: B runs,
// each ε-differentially private, are together Bε²/2-zCDP (Bun and Steinke
// 2016, Proposition 1.4 and Lemma 1.7).
func planSMW(r smw.Request, n catalog.NHat, rho accounting.Rho) (smw.Params, error) {
	e, err := rowCountBound(n, r.Beta)
	if err != nil {
		return smw.Params{}, err
	}
	r.NHat, r.NHatBound = n.Value, e
	r.RunEpsilon = func(runs int64) *big.Rat { return accounting.RunEpsilon(rho, runs).Rat() }
	return smw.Plan(r)
}

// reserve charges the mechanism's ρ and stores it, in one transaction: a
// mechanism without its budget, or a budget without its mechanism, cannot be.
func (db *DB) reserve(ctx context.Context, t *table, m *catalog.Mechanism, p smw.Params) error {
	params, err := json.Marshal(p)
	if err != nil {
		return err
	}
	m.Params = params
	key := make([]byte, 16) // names records of a universe without codes
	if err := db.random().Bytes(key); err != nil {
		return errRandom()
	}
	return db.store.Write(ctx, func(tx *catalog.Tx) error {
		if err := unchanged(ctx, tx, t); err != nil {
			return err
		}
		if err := tx.Charge(t.Account, catalog.KindInteractive, "reserve mechanism", m.Name, accounting.Amount{Rho: m.Rho}); err != nil {
			return err
		}
		return tx.AddMechanism(m, key)
	})
}

// fromMechanism is the candidate of an interactive mechanism. Its runs are
// prepaid, so it costs nothing.
func (db *DB) fromMechanism(v *view, r request, m *catalog.Mechanism) (candidate, error) {
	c := candidate{name: m.Name, kind: "smw", columns: columnNames(r.table, m.Columns)}
	known := db.params.get(string(m.Params), func() paramsResult {
		p, err := mechanismParams(m)
		return paramsResult{p, err}
	})
	p, err := known.params, known.err
	if err != nil {
		return c, err
	}
	see := cover(r.query, m.Columns, p.MaxSupport)
	c.support = see.size
	if c.refusal = see.refusal; c.refusal != "" {
		return c, nil
	}
	if err := p.Admits(see.query); err != nil {
		return c.failed(err)
	}
	if r.readOnly {
		return c.failed(errReadOnly())
	}
	c.known = !spent(m, p) && !r.spent[m.ID]
	if c.known {
		c.margin, err = db.margin(catalog.AnswerVerified, m.Params, r.settings.Confidence)
	} else if !r.settings.Unverified {
		c.refusal = "its runs are spent, and SET unverified = off"
	} else {
		c.note = "its runs are spent: unverified"
	}
	c.answer = func(ctx context.Context) (estimate, error) {
		return db.ask(ctx, r, m.ID, see.query, c.known)
	}
	return c, err
}

// paramsResult is what a mechanism's stored parameters say.
type paramsResult struct {
	params smw.Params
	err    error
}

func mechanismParams(m *catalog.Mechanism) (smw.Params, error) {
	var p smw.Params
	if json.Unmarshal(m.Params, &p) != nil || p.Check() != nil {
		return p, sqlerr.New(sqlerr.Corrupt, "the parameters of mechanism %s cannot be read", m.Name)
	}
	return p, nil
}

// spent reports whether the mechanism can verify nothing more: its runs or its
// comparisons are used up.
func spent(m *catalog.Mechanism, p smw.Params) bool {
	return m.Comparisons >= p.Queries || m.Run == nil && m.RunsStarted >= m.Updates
}
