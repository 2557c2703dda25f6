package engine

import (
	"context"
	"math"
	"math/big"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/stored"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/direct"
	"dpsql/mechanisms/smw"
)

// smwPlan is a mechanism before it is paid for: its ρ is divided between the
// prior and all runs.
type smwPlan struct {
	stored.MechanismParams
	prior, runs accounting.Rho
	tables      []smw.Table // what the prior counts
}

// planSMW completes a request with N̂ and a budget of ρ for the prior and all
// runs: B runs, each ε-differentially private, are together Bε²/2-zCDP (Bun and
// Steinke 2016, Proposition 1.4 and Lemma 1.7). Whether there is a prior is
// decided by public numbers alone; where an accuracy is asked for, only one that
// does not stand in its way is bought unasked.
func planSMW(r smwRequest, n catalog.NHat, rho accounting.Rho) (smwPlan, error) {
	e, err := pay.RowCountBound(n, r.Beta/2) // the other half is the mechanism's own
	if err != nil {
		return smwPlan{}, err
	}
	r.NHat, r.NHatBound = n.Value, e
	r.RunEpsilon = runEpsilon(rho)
	r.Prior = r.prior == stored.PriorOfClasses || r.prior == "auto" && len(r.tables) > 0 && smw.PriorPays(r.Request)
	if r.Prior {
		p := smwPlan{prior: rho / 10, tables: r.tables}
		tenth, _ := p.sigmaSquared(r.Sensitivity).Float64()
		p.prior *= accounting.Rho(smw.PriorTenths(math.Sqrt(tenth), n.Value))
		p.runs, p.MechanismParams.Prior = rho-p.prior, stored.PriorOfClasses
		r.RunEpsilon = runEpsilon(p.runs)
		p.Params, err = smw.Plan(r.Request)
		if err == nil && p.prior > 0 || r.prior == stored.PriorOfClasses {
			return p, err
		}
		r.Prior, r.RunEpsilon = false, runEpsilon(rho)
	}
	p := smwPlan{runs: rho}
	p.MechanismParams.Prior = stored.UniformPrior
	p.Params, err = smw.Plan(r.Request)
	return p, err
}

func runEpsilon(rho accounting.Rho) func(int64) *big.Rat {
	return func(runs int64) *big.Rat { return accounting.RunEpsilon(rho, runs).Rat() }
}

// sigmaSquared returns the variance of the noise in the counts of the prior,
// K·L²/(2ρ) for K tables; 0 where ρ is.
func (p smwPlan) sigmaSquared(sensitivity int64) *big.Rat {
	if p.prior == 0 {
		return new(big.Rat)
	}
	s := direct.SigmaSquared(int64(p.prior), sensitivity)
	return s.Mul(s, big.NewRat(int64(len(p.tables)), 1))
}

// buyPrior buys the state that a mechanism starts from, nothing for a uniform
// one. It has a ledger line of its own, which is on disk before a row is read
// and stays whatever comes of the mechanism: a prior is never given back. The
// whole budget must be there, so that a mechanism that cannot be has cost
// nothing yet.
func (db *DB) buyPrior(ctx context.Context, b *pay.Bill, t *view.Table, name string, columns []int, p smwPlan, whole accounting.Amount) ([]byte, error) {
	if p.prior == 0 {
		return nil, nil
	}
	err := db.store.Read(ctx, func(tx *catalog.Tx) error {
		return tx.Affords(t.Account, catalog.KindInteractive, name, whole)
	})
	if err != nil {
		return nil, err
	}
	var state []byte
	err = db.rows.OnSnapshot(ctx, t, func(sn *rows.Snapshot) error {
		paid, err := db.desk.Build(ctx, b, sn, catalog.KindInteractive, "prior of mechanism", name, accounting.Amount{Rho: p.prior})
		if err != nil {
			return err
		}
		if t.Outside == nil {
			ctx = context.WithoutCancel(ctx) // it is paid for; but another server may never answer
		}
		state, err = db.learnPrior(ctx, sn, paid, columns, p)
		return err
	})
	return state, err
}

// learnPrior counts pairs of columns and learns the prior from the noisy counts.
// The caller has charged it. K tables of counts with discrete Gaussian noise of
// variance K·L²/(2ρ) are ρ-zCDP, see smw.Measure.
func (db *DB) learnPrior(ctx context.Context, sn *rows.Snapshot, paid *pay.Receipt, columns []int, p smwPlan) ([]byte, error) {
	if p.prior == 0 {
		return nil, nil
	}
	t := sn.Table()
	if err := sn.CountPairs(ctx, paid, columns, p.tables); err != nil {
		return nil, err
	}
	prior, err := smw.LearnClasses(t.Over(columns), p.tables, p.sigmaSquared(t.Sensitivity()), p.NHat, db.random())
	if err != nil {
		return nil, err
	}
	return prior.Encode(), nil
}
