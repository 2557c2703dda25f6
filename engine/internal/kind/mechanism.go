package kind

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/marginals"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// MechanismPlan is an interactive mechanism before N̂ is known. Its cost is its reserve.
type MechanismPlan struct {
	Outline
	Epsilon   accounting.Epsilon
	Guarded   *catalog.Release // whose table the mechanism starts from, or nil
	MaxWeight int64            // the largest weight that it admits
	request   smwRequest
}

// PlanMechanism plans a mechanism from public data alone. It returns the plan with the error of an account
// that is too small.
func PlanMechanism(r Request) (*MechanismPlan, error) {
	p := &MechanismPlan{Outline: r.outline()}
	if err := p.readOptions(r); err != nil {
		return nil, err
	}
	p.MaxSupport, p.MaxWeight = p.request.MaxSupport, p.request.MaxWeight
	a := r.View.Accounts[r.Table.Account]
	if p.Epsilon > a.Caps.InteractiveEpsilon {
		return p, tooMuch(p.Epsilon, a)
	}
	p.Cost.Rho = accounting.RhoFor(p.Epsilon, a.Caps.InteractiveDelta)
	return p, nil
}

// Predict implements Forecast. See Complete for the margins that all answers have.
func (p *MechanismPlan) Predict(q query.Query, _ float64) (Prediction, error) {
	if refused, yes := p.tooLarge(q); yes {
		return refused, nil
	}
	switch {
	case p.Cost.Rho == 0:
		return Prediction{Note: noteBuilt}, nil
	case q.MaxWeight() > p.MaxWeight:
		return Prediction{Note: fmt.Sprintf("refused: a weight is above max_weight = %d", p.MaxWeight)}, nil
	}
	return Prediction{Note: "unfired or fired, as above"}, nil
}

// Complete makes the plan from N̂ and what is left of the reserve.
func (p *MechanismPlan) Complete(n catalog.NHat, rho accounting.Rho) (SMWPlan, error) {
	return planSMW(p.request, n, rho)
}

// FittedTable returns the counts of the guarded release's table over the columns of the
// mechanism, or nil if it guards none, and which marginals were measured. They were paid
// for and published with the release.
func (p *MechanismPlan) FittedTable(ctx context.Context, public Public) (table []float64, measured [][]int, err error) {
	r := p.Guarded
	if r == nil {
		return nil, nil, nil
	}
	payload, err := public.Payload(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	opened, err := Of(r.Using).Open(p.Table.Over(r.Columns), r.Name, r.Params, payload)
	if err != nil {
		return nil, nil, err
	}
	places, _ := among(p.Columns, r.Columns, p.Table)
	if table, measured, err = opened.Table(ctx, places); err == nil && table == nil {
		err = sqlerr.New(sqlerr.Invalid, "release %s has no fitted table", r.Name)
	}
	return table, measured, err
}

// readOptions reads the options of CREATE MECHANISM.
func (p *MechanismPlan) readOptions(r Request) error {
	o := NewOptions(r.Options, "epsilon", "max_updates", "alpha", "max_support", "queries", "beta", "update", "prior", "remeasure", "max_weight")
	p.Epsilon = o.Epsilon()
	prior := ""
	if option := o.Find("prior"); option != nil && option.Kind != syntax.Number && !slices.Contains(priors, strings.ToLower(option.Value)) {
		prior = released.PriorOfRelease
		var err error
		p.Guarded, err = guarded(option.Value, r.View, p.Table, p.Columns)
		o.Fail(err, option.Position)
	} else {
		prior = o.Word("prior", priors...)
	}
	p.request = readRequest(o, p.Table, p.Table.Over(p.Columns), prior)
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
		return nil, sqlerr.New(sqlerr.Invalid, "%s has a part for each period, and a mechanism starts from one", m.Name).WithHint("%s", v.HintPart(m, "prior = %s"))
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
	case !Of(r.Using).Describe(r.Params).Fitted:
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

func tooMuch(e accounting.Epsilon, a view.Account) error {
	if a.Caps.InteractiveEpsilon == 0 {
		return sqlerr.New(sqlerr.Budget, "the table has no interactive account").
			WithHint("declare it with a delta and interactive = 0.5")
	}
	return sqlerr.New(sqlerr.Budget, "epsilon = %v is more than the interactive account's %v", e, a.Caps.InteractiveEpsilon).
		WithHint("SHOW BUDGET shows what is left")
}
