package kind

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"slices"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// hypotheses are releases built by SMW: the paper's non-interactive mechanism for conjunctions (section
// 3.1), which asks SMW every query of a class, in passes. One is one (ε, δ)-differentially private
// step of the releases account. It consists of B runs that compose by zCDP.
type hypotheses struct{ released.Hypotheses }

// hypothesisPlan is a release built by SMW before N̂ is known.
type hypothesisPlan struct {
	Outline
	request smwRequest
	class   *released.Class
	built   string
	begun   *released.Hypothesis // what the statement goes on with; nil for nothing
}

// Plan reads the options and checks the class against the limits.
func (k hypotheses) Plan(ctx context.Context, r Request) (Plan, error) {
	p := &hypothesisPlan{Outline: r.outline(), built: r.Built}
	p.About = released.HypothesisAbout{}
	if r.Begun != nil {
		return p, p.read(r)
	}
	err := p.plan(ctx, r)
	p.MaxSupport = p.request.MaxSupport
	var names *sqlfront.UndecidedError
	if errors.As(err, &names) {
		p.Open, err = r.Table.Undecided[names.Column], nil
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// read reads what has begun.
func (p *hypothesisPlan) read(r Request) (err error) {
	p.begun, err = released.DecodeHypothesis(r.Table.Over(r.Columns), r.Begun.Payload)
	return err
}

// plan makes the plan.
func (p *hypothesisPlan) plan(ctx context.Context, r Request) (err error) {
	o := NewOptions(r.Options, "epsilon", "delta", "max_updates", "alpha", "max_support", "beta", "update",
		"prior", "remeasure", "workload", "free_columns", "class")
	p.Cost.Epsilon = o.Epsilon()
	var given bool
	if p.Cost.Delta, given = o.Delta(); !given {
		p.Cost.Delta = r.View.Accounts[r.Table.Account].DeltaShare(p.Cost.Epsilon)
	}
	p.request = readRequest(o, r.Table, r.Table.Over(r.Columns), o.Word("prior", priors...))
	if p.class, err = readClass(ctx, o, r); err != nil {
		return err
	}
	if err := sizeClass(p.class, &p.request); err != nil {
		return err
	}
	if accounting.RhoFor(p.Cost.Epsilon, p.Cost.Delta) == 0 {
		return sqlerr.New(sqlerr.Invalid, "a release built by SMW needs a delta").
			WithHint("give the table a delta, or use PROJECTION, which needs none")
	}
	return nil
}

// GoOn implements Plan. A release that is stored unfinished is paid for, has its prior, and goes on with
// its next run.
func (p *hypothesisPlan) GoOn(ctx context.Context, s *Site, begun *Begun) (warnings []string, same bool, err error) {
	published := p.begun.Published
	if published.Built != p.built {
		return nil, false, nil
	}
	warnings, err = p.draw(ctx, s, begun.Release, SMWPlan{MechanismParams: published.Params}, published)
	return warnings, true, err
}

// Given implements Plan.
func (p *hypothesisPlan) Given(catalog.NHat) (Plan, error) { return p, nil }

// Predict implements Forecast.
func (p *hypothesisPlan) Predict(q query.Query, _ float64) (Prediction, error) {
	if refused, yes := p.tooLarge(q); yes {
		return refused, nil
	}
	return Prediction{Note: noteBuilt}, nil
}

func readClass(ctx context.Context, o *Options, r Request) (*released.Class, error) {
	t, columns := r.Table, r.Columns
	file, free := o.File("workload"), int(o.Integer("free_columns", -1, 0, 64))
	monotone := o.Word("class", "all", "monotone") == "monotone"
	if free < 0 {
		o.Refuse("without free_columns", "class")
	}
	if err := o.Done(); err != nil {
		return nil, err
	}
	switch {
	case (file == "") == (free < 0):
		return nil, sqlerr.New(sqlerr.Invalid, "a release built by SMW needs either a workload or free_columns").
			WithHint("workload = 'queries.sql' or free_columns = 2")
	case file != "":
		queries, err := r.Public.Workload(ctx, file, t, func(q query.Query) released.Coverage { return released.Cover(q, columns, maxSupport) })
		if err != nil {
			return nil, err
		}
		return released.Workload(t.Over(columns), queries), nil
	}
	if i := t.FirstUndecided(columns); i >= 0 {
		return nil, &sqlfront.UndecidedError{Column: i, Name: t.Columns[i].Name}
	}
	return released.Conjunctions(t.Over(columns), free, monotone)
}

// sizeClass checks the class against the limits, before anything is paid. It turns the
// request into one for passes over the class.
func sizeClass(c *released.Class, r *smwRequest) error {
	queries, support := c.Size()
	if queries > released.MaxClass {
		smaller := ""
		if !c.Monotone && c.Free >= 0 && c.Binary() {
			smaller = "class = monotone asks for the greater values only; or "
		}
		return sqlerr.New(sqlerr.Invalid, "the class has %.3g queries, more than %d", queries, released.MaxClass).
			WithHint("%sname fewer columns, or give a workload", smaller)
	}
	if support > float64(r.MaxSupport) {
		return sqlerr.New(sqlerr.Invalid, "queries of the class have supports up to %.0f, more than max_support = %d", support, r.MaxSupport).
			WithHint("raise max_support, or lower free_columns")
	}
	r.MaxSupport, r.MaxWeight = uint64(max(1, support)), c.MaxWeight()
	r.Queries, r.Class = 0, int64(queries)
	return nil
}

// scaledClass returns the queries of a class, scaled for comparison. It returns its error
// before any query is compared.
func scaledClass(c *released.Class, p smw.Params) (iter.Seq[query.Query], error) {
	if p.MaxWeight == 1 {
		return c.Queries(), nil
	}
	var all []query.Query
	for q := range c.Queries() {
		s, err := p.Scaled(q)
		if err != nil {
			return nil, err
		}
		all = append(all, s.Query)
	}
	return slices.Values(all), nil
}

// putHypothesis stores what a release has learned. Of one that is unfinished nothing is shown. With
// the finished one goes a line of cost 0. Its mark beside the file refuses an older copy, which would
// draw the runs again.
func putHypothesis(ctx context.Context, s *Site, t *view.Table, r *catalog.Release, h released.HypothesisPayload, unfinished bool) error {
	payload, err := h.Seal()
	if err != nil {
		return err
	}
	about := released.HypothesisAbout{Class: fmt.Sprintf("workload of %d queries", len(h.Class.Workload)), Unfitted: unfinished}
	if h.Class.Free >= 0 {
		about.Class = fmt.Sprintf("conjunctions, free columns: %d at most", h.Class.Free)
	}
	if h.Class.Monotone {
		about.Class = "monotone " + about.Class
	}
	if unfinished {
		return s.Put(ctx, r, about, payload)
	}
	about.Updates, about.Complete = int64(len(h.Steps)), h.Complete
	return s.Put(ctx, r, about, payload, func(tx *catalog.Tx) error {
		return tx.Charge(t.Account, t.Span(), catalog.KindReleases, "finish release", r.Name, accounting.Amount{})
	})
}

const (
	defaultQueries = 1e6 // k
	defaultBeta    = 0.05
	leastBeta      = 1e-12 // for a smaller β, 1 − β is too close to 1 for a float
)

// smwRequest is the part of a request that mechanisms and SMW releases share.
type smwRequest struct {
	smw.Request
	prior  string // auto, classes, release or uniform
	tables []smw.Table
}

// readRequest reads the options that mechanisms and SMW releases share.
func readRequest(o *Options, t *view.Table, u *query.Universe, prior string) smwRequest {
	r := smwRequest{prior: prior}
	r.Request = smw.Request{
		MaxUpdates: o.Integer("max_updates", 0, 1, 1e6), Alpha: o.Fraction("alpha", 0),
		MaxSupport: uint64(o.Integer("max_support", defaultSupport, 1, maxSupport)),
		Queries:    o.Integer("queries", defaultQueries, 1, 1e15), Beta: o.Fraction("beta", defaultBeta),
		Update:       smw.Update(o.Word("update", string(smw.Projection), string(smw.Paper))),
		Remeasure:    o.Word("remeasure", "off", "on") == "on",
		UniverseSize: u.Size(), Sensitivity: t.Sensitivity(), MaxWeight: 1,
	}
	if r.Beta < leastBeta {
		o.Fail(sqlerr.New(sqlerr.Invalid, "beta must be at least %g", leastBeta), o.Find("beta").Name.Position)
	}
	if o.Has("max_updates") && o.Has("alpha") {
		o.Fail(sqlerr.New(sqlerr.Invalid, "max_updates and alpha exclude each other"), o.Find("alpha").Name.Position)
	}
	if r.prior == "auto" || r.prior == released.PriorOfClasses {
		r.tables = smw.PriorTables(u)
	}
	if r.prior == "classes" && len(r.tables) == 0 {
		o.Fail(sqlerr.New(sqlerr.Invalid, "a prior of classes needs two columns or more, and a domain for each").
			WithHint("name the columns that have domains: ON t (a, b), or leave prior out"), o.Find("prior").Name.Position)
	}
	return r
}

// SMWPlan is a mechanism before it is paid for. Its ρ is divided between the prior and all
// runs.
type SMWPlan struct {
	released.MechanismParams
	PriorRho, Runs accounting.Rho
	tables         []smw.Table // the tables that the prior counts
}

// planSMW completes a request with N̂ and a budget of ρ for the prior and all runs. B
// runs, each ε-differentially private, are together Bε²/2-zCDP (Bun and Steinke 2016,
// Proposition 1.4 and Lemma 1.7). Public numbers alone decide whether there is a prior. If
// the statement asks for an accuracy but no prior, a prior is bought only if the accuracy
// is still reached.
func planSMW(r smwRequest, n catalog.NHat, rho accounting.Rho) (SMWPlan, error) {
	e, err := pay.RowCountBound(n, r.Beta/2) // the other half is for the mechanism itself
	if err != nil {
		return SMWPlan{}, err
	}
	r.NHat, r.NHatBound = n.Value, e
	r.RunEpsilon = runEpsilon(rho)
	r.Prior = r.prior == released.PriorOfClasses || r.prior == "auto" && len(r.tables) > 0 && smw.PriorPays(r.Request)
	if r.Prior {
		p := SMWPlan{PriorRho: rho / 10, tables: r.tables}
		tenth, _ := p.sigmaSquared(r.Sensitivity).Float64()
		p.PriorRho *= accounting.Rho(smw.PriorTenths(math.Sqrt(tenth), n.Value))
		p.Runs, p.MechanismParams.Prior = rho-p.PriorRho, released.PriorOfClasses
		r.RunEpsilon = runEpsilon(p.Runs)
		p.Params, err = smw.Plan(r.Request)
		if err == nil && p.PriorRho > 0 || r.prior == released.PriorOfClasses {
			return p, err
		}
		r.Prior, r.RunEpsilon = false, runEpsilon(rho)
	}
	p := SMWPlan{Runs: rho}
	p.MechanismParams.Prior = released.UniformPrior
	if r.Fitted = r.prior == released.PriorOfRelease; r.Fitted {
		p.MechanismParams.Prior = released.PriorOfRelease // which is paid for
	}
	p.Params, err = smw.Plan(r.Request)
	return p, err
}

func runEpsilon(rho accounting.Rho) func(int64) *big.Rat {
	return func(runs int64) *big.Rat { return accounting.RunEpsilon(rho, runs).Rat() }
}
