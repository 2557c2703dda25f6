package declare

import (
	"context"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strings"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/direct"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

const (
	defaultQueries = 1e6 // k
	defaultBeta    = 0.05
	leastBeta      = 1e-12 // for a smaller β, 1 − β is too close to 1 for a float
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
	if done, err := v.NameFree(st.Name, st.IfNotExists, v.Mechanism(st.Name.Text) != nil); done || err != nil {
		return nil, err
	}
	asked, err := s.planMechanism(st, v)
	if err != nil {
		return nil, err
	}
	t, columns, a := asked.table, asked.columns, v.Accounts[asked.table.Account]
	table, measured, err := s.fittedTable(ctx, asked) // before anything is charged
	if err != nil {
		return nil, err
	}
	s.Bill.Statement = built(st.Name, t, columns, string(syntax.SMW), st.Options)
	n, left, err := s.Desk.RowCount(ctx, s.Bill, s.Rows, t, catalog.KindInteractive, accounting.Amount{Rho: asked.rho})
	if err != nil {
		return nil, err
	}
	p, err := planSMW(asked.request, n, left.Rho)
	if err != nil {
		return nil, err
	}
	var state []byte
	if asked.release != nil {
		p.Guards = asked.release.Name
		if state, err = smw.EncodeFitted(t.Over(columns), table, measured, n.Value); err != nil {
			return nil, err
		}
	}
	m := &catalog.Mechanism{Name: st.Name.Text, TableID: t.ID, Span: t.Part, Columns: columns, Epsilon: asked.epsilon,
		Rho: p.runs, RunRho: p.runs / accounting.Rho(p.Updates), Updates: p.Updates}
	if m.Params, err = json.Marshal(p.MechanismParams); err != nil {
		return nil, err
	}
	warnings = warnDelta(t, a)
	if err := a.Limits.Check(catalog.Buyer{Principal: catalog.Curator}, m.RunRho); err != nil {
		warnings = append(warnings, "no SELECT can begin one of its runs: each takes ρ = "+m.RunRho.String()+" of the reserve, which is above max_charge")
	}
	return warnings, s.Rows.OnSnapshot(ctx, t, func(sn *rows.Snapshot) (err error) {
		if p.prior > 0 {
			if state, err = s.buyPrior(ctx, sn, m.Name, columns, p, left); err != nil {
				return err
			}
			ctx = context.WithoutCancel(ctx) // the prior is drawn, so keep it even if cancelled
		}
		return s.Desk.Reserve(ctx, sn, m.Name, m.Rho, func(tx *catalog.Tx) error { return tx.AddMechanism(m, state) })
	})
}

// mechanismPlan is a mechanism before N̂ is known.
type mechanismPlan struct {
	table   *view.Table
	columns []int
	epsilon accounting.Epsilon
	rho     accounting.Rho // the mechanism's reserve
	request smwRequest
	release *catalog.Release // whose table the mechanism starts from, or nil
}

// planMechanism reads the statement and computes the mechanism's reserve.
func (s *Statement) planMechanism(st *syntax.CreateMechanism, v *view.View) (p mechanismPlan, err error) {
	own := *st
	if v, own.Options, err = spanned(v, st.Table, st.Options, s.Now()); err != nil {
		return p, err
	}
	st = &own
	if p.table, p.columns, err = v.Target(st.Table, st.Columns); err != nil {
		return p, err
	}
	if err = p.readOptions(st, v); err != nil {
		return p, err
	}
	a := v.Accounts[p.table.Account]
	if p.epsilon > a.Caps.InteractiveEpsilon {
		return p, tooMuch(p.epsilon, a)
	}
	p.rho = accounting.RhoFor(p.epsilon, a.Caps.InteractiveDelta)
	return p, nil
}

// readOptions reads the options of CREATE MECHANISM.
func (p *mechanismPlan) readOptions(st *syntax.CreateMechanism, v *view.View) error {
	o := kind.NewOptions(st.Options, "epsilon", "max_updates", "alpha", "max_support", "queries", "beta", "update", "prior", "remeasure", "max_weight")
	p.epsilon = o.Epsilon()
	prior := ""
	if option := o.Find("prior"); option != nil && option.Kind != syntax.Number && !slices.Contains(priors, strings.ToLower(option.Value)) {
		prior = released.PriorOfRelease
		var err error
		p.release, err = guarded(option.Value, v, p.table, p.columns)
		o.Fail(err, option.Position)
	} else {
		prior = o.Word("prior", priors...)
	}
	p.request = readRequest(o, p.table, p.table.Over(p.columns), prior)
	p.request.MaxWeight = o.Integer("max_weight", 1, 1, 1e12)
	return o.Done()
}

// priors are the words that say what a mechanism starts from. Any other names a release.
var priors = []string{"auto", released.PriorOfClasses, released.UniformPrior}

// guarded returns the release whose fitted table a mechanism over some columns starts
// from. The release is on the same table, of the same periods, and has these columns; its table is summed over
// the others, or fitted over these columns where it is fitted on demand. It decides from the
// view alone.
func guarded(name string, v *view.View, t *view.Table, columns []int) (*catalog.Release, error) {
	if m := v.Template(name); m != nil {
		return nil, sqlerr.New(sqlerr.Invalid, "%s has a part for each period, and a mechanism starts from one", m.Name).WithHint("%s", hintPart(v, m, "prior = %s"))
	}
	r := v.Release(name)
	switch {
	case r == nil:
		return nil, sqlerr.New(sqlerr.Invalid, "prior must be one of %s; there is no release %s to start from", strings.Join(priors, ", "), name).
			WithHint("SHOW RELEASES lists the releases")
	case r.TableID != t.ID:
		return nil, sqlerr.New(sqlerr.Invalid, "release %s is of the table %s", r.Name, r.Table)
	case r.Span != t.Part:
		of := t.Partition.Text(r.Span)
		return nil, sqlerr.New(sqlerr.Invalid, "release %s has the rows of %s, and the mechanism would have those of %s", r.Name, of, t.Partition.Text(t.Part)).
			WithHint("write period = '%s'", of)
	case !kind.Of(r.Using).Describe(r.Params).Fitted:
		return nil, sqlerr.New(sqlerr.Invalid, "release %s has no fitted table to start from", r.Name).
			WithHint("CREATE RELEASE … USING MARGINALS, or USING PROJECTION with estimate = fitted")
	}
	if _, ok := among(columns, r.Columns, t); !ok {
		return nil, sqlerr.New(sqlerr.Invalid, "release %s lacks a column of the mechanism", r.Name).
			WithHint("CREATE MECHANISM … ON %s (%s)", t.Name, view.ColumnNames(t, r.Columns))
	}
	if size := t.Over(columns).Size(); size == nil || size.Cmp(big.NewInt(marginals.MostTable)) > 0 {
		return nil, sqlerr.New(sqlerr.Unsupported, "a table to start from has at most %d possible records", marginals.MostTable).
			WithHint("name fewer columns")
	}
	return r, nil
}

// among returns the places of some columns among others that contain them. Nil means all
// columns of the table. It returns false if they do not.
func among(columns, others []int, t *view.Table) (places []int, ok bool) {
	if columns == nil {
		columns = view.AllColumns(t)
	}
	if others == nil {
		others = view.AllColumns(t)
	}
	for _, c := range columns {
		i := slices.Index(others, c)
		if i < 0 {
			return nil, false
		}
		places = append(places, i)
	}
	return places, true
}

// fittedTable returns the counts of the guarded release's table over the columns of the
// mechanism, or nil if it guards none, and which marginals were measured. They were paid
// for and published with the release.
func (s *Statement) fittedTable(ctx context.Context, p mechanismPlan) (table []float64, measured [][]int, err error) {
	if p.release == nil {
		return nil, nil, nil
	}
	payload, err := s.payload(ctx, p.release)
	if err != nil {
		return nil, nil, err
	}
	places, _ := among(p.columns, p.release.Columns, p.table)
	r := p.release
	opened, err := kind.Of(r.Using).Open(p.table.Over(r.Columns), r.Name, r.Params, payload)
	if err != nil {
		return nil, nil, err
	}
	if table, measured, err = opened.Table(ctx, places); err == nil && table == nil {
		err = sqlerr.New(sqlerr.Invalid, "release %s has no fitted table", r.Name)
	}
	return table, measured, err
}

func tooMuch(e accounting.Epsilon, a view.Account) error {
	if a.Caps.InteractiveEpsilon == 0 {
		return sqlerr.New(sqlerr.Budget, "the table has no interactive account").
			WithHint("declare it with a delta and interactive = 0.5")
	}
	return sqlerr.New(sqlerr.Budget, "epsilon = %v is more than the interactive account's %v", e, a.Caps.InteractiveEpsilon).
		WithHint("SHOW BUDGET shows what is left")
}

// smwRequest is the part of a request that mechanisms and SMW releases share.
type smwRequest struct {
	smw.Request
	prior  string // auto, classes, release or uniform
	tables []smw.Table
}

// readRequest reads the options that mechanisms and SMW releases share.
func readRequest(o *kind.Options, t *view.Table, u *query.Universe, prior string) smwRequest {
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

// smwPlan is a mechanism before it is paid for. Its ρ is divided between the prior and all
// runs.
type smwPlan struct {
	released.MechanismParams
	prior, runs accounting.Rho
	tables      []smw.Table // the tables that the prior counts
}

// planSMW completes a request with N̂ and a budget of ρ for the prior and all runs. B
// runs, each ε-differentially private, are together Bε²/2-zCDP (Bun and Steinke 2016,
// Proposition 1.4 and Lemma 1.7). Public numbers alone decide whether there is a prior. If
// the statement asks for an accuracy but no prior, a prior is bought only if the accuracy
// is still reached.
func planSMW(r smwRequest, n catalog.NHat, rho accounting.Rho) (smwPlan, error) {
	e, err := pay.RowCountBound(n, r.Beta/2) // the other half is for the mechanism itself
	if err != nil {
		return smwPlan{}, err
	}
	r.NHat, r.NHatBound = n.Value, e
	r.RunEpsilon = runEpsilon(rho)
	r.Prior = r.prior == released.PriorOfClasses || r.prior == "auto" && len(r.tables) > 0 && smw.PriorPays(r.Request)
	if r.Prior {
		p := smwPlan{prior: rho / 10, tables: r.tables}
		tenth, _ := p.sigmaSquared(r.Sensitivity).Float64()
		p.prior *= accounting.Rho(smw.PriorTenths(math.Sqrt(tenth), n.Value))
		p.runs, p.MechanismParams.Prior = rho-p.prior, released.PriorOfClasses
		r.RunEpsilon = runEpsilon(p.runs)
		p.Params, err = smw.Plan(r.Request)
		if err == nil && p.prior > 0 || r.prior == released.PriorOfClasses {
			return p, err
		}
		r.Prior, r.RunEpsilon = false, runEpsilon(rho)
	}
	p := smwPlan{runs: rho}
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

// sigmaSquared returns the variance of the noise in the prior's counts: K·L²/(2ρ) for K
// tables, and 0 if ρ is 0.
func (p smwPlan) sigmaSquared(sensitivity int64) *big.Rat {
	if p.prior == 0 {
		return new(big.Rat)
	}
	s := direct.SigmaSquared(int64(p.prior), sensitivity)
	return s.Mul(s, big.NewRat(int64(len(p.tables)), 1))
}

// buyPrior buys the prior that a mechanism starts from. The charge has its own line in the
// ledger, which is on disk before a row is read. It stays if the mechanism fails later: a prior
// is never given back. So buyPrior first checks that the whole budget is there, and a mechanism
// that cannot be created has not paid for a prior.
func (s *Statement) buyPrior(ctx context.Context, sn *rows.Snapshot, name string, columns []int, p smwPlan, whole accounting.Amount) ([]byte, error) {
	t := sn.Table()
	if err := s.Desk.Affords(ctx, s.Bill, t, s.Bill.Statement, catalog.KindInteractive, name, accounting.Amount{Rho: p.prior}, whole); err != nil {
		return nil, err
	}
	paid, err := s.Desk.Build(ctx, s.Bill, sn, catalog.KindInteractive, "prior of mechanism", name, accounting.Amount{Rho: p.prior})
	if err != nil {
		return nil, err
	}
	if err := s.Desk.Read(ctx, s.Bill, paid, func() error { return sn.CountPairs(ctx, paid, columns, p.tables) }); err != nil {
		return nil, err
	}
	return s.learnPrior(t, columns, p, paid)
}

// learnPrior learns the prior from noisy counts of pairs of columns. The caller has charged it and
// counted. K tables of counts with discrete Gaussian noise of variance K·L²/(2ρ) are ρ-zCDP, see
// smw.Measure.
func (s *Statement) learnPrior(t *view.Table, columns []int, p smwPlan, paid *pay.Receipt) ([]byte, error) {
	if p.prior == 0 {
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
