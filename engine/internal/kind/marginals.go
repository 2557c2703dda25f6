package kind

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/projection"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
)

// defaultDegree is the number of columns of a marginal if none is given.
const defaultDegree = 3

// marginalTables are releases of marginals.
type marginalTables struct{ released.Marginals }

// marginalsPlan is a release of marginals before it is paid for.
type marginalsPlan struct {
	Outline
	keyed
	params   marginals.Params
	larger   int // marginals that are wanted and above max_cells
	warnings []string
	whole    bool               // one table is fitted to all columns
	largest  []int              // the columns of the largest marginal, among its own
	begun    *marginals.Release // what the statement goes on with; nil for nothing
}

// Plan chooses the marginals and the noise from the options and public sizes.
func (marginalTables) Plan(ctx context.Context, r Request) (Plan, error) {
	p := &marginalsPlan{Outline: r.outline()}
	if err := p.plan(ctx, r); err != nil {
		return nil, err
	}
	p.Unclear, p.Open, p.About = p.unclear, p.unclear, released.MarginalsAbout{}
	if p.unclear == "" {
		p.MaxSupport, p.whole, p.Averages = allSupport(p.universe), marginals.FitsWhole(p.universe), true
		p.Outlook = p.outlook()
		p.Size, p.largest = p.size()
	}
	return p, nil
}

// plan reads the options. It leaves what has no known universe.
func (p *marginalsPlan) plan(ctx context.Context, r Request) error {
	o := NewOptions(r.Options, "epsilon", "delta", "degree", "workload", "max_cells", "estimate", "keys")
	p.Cost.Epsilon = o.Epsilon()
	var given bool
	if p.Cost.Delta, given = o.Delta(); !given {
		p.Cost.Delta = r.View.Accounts[r.Table.Account].DeltaShare(p.Cost.Epsilon)
	}
	from := o.Releases("keys")
	degree, file := int(o.Integer("degree", defaultDegree, 1, marginals.MostDegree)), o.File("workload")
	maxCells := int(o.Integer("max_cells", marginals.DefaultCells, 1, marginals.MostTable))
	p.params.Unbiased = o.Word("estimate", "fitted", "unbiased") == "unbiased"
	if file != "" {
		o.Refuse("beside workload", "degree")
	}
	if err := o.Done(); err != nil {
		return err
	}
	if p.Cost.Delta == 0 {
		return sqlerr.New(sqlerr.Invalid, "a release of marginals needs a delta").
			WithHint("give the table a delta, or use PROJECTION, which needs none")
	}
	err := p.takeKeys(ctx, r, from)
	if err != nil || p.unclear != "" {
		return err
	}
	if !p.universe.WideCoded() {
		return tooManyForMarginals(p.universe)
	}
	wanted := marginals.OfDegree(p.universe, degree)
	if file != "" {
		if wanted, err = p.asked(ctx, r, file); err != nil {
			return err
		}
	}
	if p.params.Sets, err = marginals.Select(p.universe, wanted, maxCells); err != nil {
		return err
	}
	if p.larger = marginals.Larger(p.universe, wanted, maxCells); p.larger > 0 {
		p.warnings = append(p.warnings, fmt.Sprintf("%d of %d marginals have more than %d cells, which is max_cells: their parts are measured",
			p.larger, len(wanted), maxCells))
	}
	if names := p.unmeasured(wanted); len(names) > 0 {
		p.warnings = append(p.warnings, fmt.Sprintf("no marginal has %s: answers about it are guesses; raise max_cells", strings.Join(names, " or ")))
	}
	return p.calibrate()
}

// asked returns the columns that each query of a workload is on.
func (p *marginalsPlan) asked(ctx context.Context, r Request, file string) (sets [][]int, err error) {
	queries, err := r.Public.Workload(ctx, file, r.Table, func(q query.Query) released.Coverage { return released.Project(q, r.Columns) })
	for _, q := range queries {
		sets = append(sets, q.Columns())
	}
	return sets, err
}

// unmeasured returns the names of the wanted columns that have too many values for any
// marginal.
func (p *marginalsPlan) unmeasured(wanted [][]int) (names []string) {
	for i, c := range p.universe.Columns() {
		has := func(set []int) bool { return slices.Contains(set, i) }
		if slices.ContainsFunc(wanted, has) && !slices.ContainsFunc(p.params.Sets, has) {
			names = append(names, c.Name)
		}
	}
	return names
}

// outlook says what the counts of the marginals are predicted to err by, in the root mean
// square over all of them, before the fit, and what those of an identity release of the same
// columns and ε would, which needs no δ, if there is room for it. The fit about halves the first.
func (p *marginalsPlan) outlook() string {
	law, err := law.NewLaplace(pay.LaplaceScale(p.Cost.Epsilon, p.Table.Sensitivity()))
	if err != nil {
		return ""
	}
	text := fmt.Sprintf("counts err by %.3g before the fit", math.Sqrt(p.params.MeanVariance(p.universe)))
	if n := p.Table.Over(p.Columns).Size(); n == nil || !n.IsUint64() || n.Uint64() > projection.RowsWithin(defaultMemory, law) {
		return text
	}
	return text + fmt.Sprintf(", and by %.3g as an identity release", math.Sqrt(p.params.MeanOfSums(p.universe, law.Variance())))
}

// size says for people what is stored, and returns the columns of the largest marginal. A
// fitted table has 4 bytes a cell, and a noisy count 8 at most.
func (p *marginalsPlan) size() (text string, largest []int) {
	cells, most := p.params.Cells(p.universe), 0
	for _, set := range p.params.Sets {
		n := 1
		for _, c := range set {
			n *= int(p.universe.Columns()[c].Domain.Size()) // at most max_cells
		}
		if n > most {
			most, largest = n, set
		}
	}
	text = fmt.Sprintf("%d marginals of %d cells, at most %s", len(p.params.Sets), cells, bytes(uint64(cells)*8))
	if p.whole {
		return text + "; a table of " + p.universe.Size().String() + " cells is fitted", largest
	}
	return text + "; tables are fitted on demand", largest
}

// Given implements Plan.
func (p *marginalsPlan) Given(catalog.NHat) (Plan, error) { return p, nil }

// Cover implements Forecast.
func (p *marginalsPlan) Cover(q query.Query) released.Coverage {
	return p.Over(released.Project(q, p.Columns))
}

// Over implements Forecast. Every support over the universe is covered.
func (p *marginalsPlan) Over(see released.Coverage) released.Coverage {
	if p.unclear != "" {
		return see
	}
	return see.Over(p.universe)
}

// Predict implements Forecast: the margin of the unbiased answer, and a half for its rounding.
func (p *marginalsPlan) Predict(q query.Query, confidence float64) (Prediction, error) {
	if p.unclear != "" {
		return Prediction{Note: noteBuilt}, nil
	}
	predicted, known, err := p.params.Predict(p.universe, q, confidence)
	if known || err != nil {
		return Prediction{Margin: predicted.Margin + 0.5, Known: known}, err
	}
	return Prediction{Note: "no error bar: no marginal has all its columns"}, nil
}

// Examples implements Forecast.
func (p *marginalsPlan) Examples() (u *query.Universe, columns []int, of string) {
	if p.unclear != "" {
		return nil, nil, ""
	}
	return p.universe, p.largest, " of " + view.ColumnNames(&view.Table{Table: catalog.Table{Columns: p.universe.Columns()}}, p.largest)
}

func tooManyForMarginals(u *query.Universe) error {
	return sqlerr.New(sqlerr.Unsupported, "a release of marginals is over fewer than 2^128 possible records, and the columns have %s",
		u.Size()).WithHint("name fewer columns, or columns of fewer values")
}

// allSupport is what a release that answers queries of every support has as its max_support:
// the number of possible records, or catalog.AnySupport if that is more.
func allSupport(u *query.Universe) uint64 {
	if n := u.Size(); n.IsUint64() {
		return min(n.Uint64(), catalog.AnySupport)
	}
	return catalog.AnySupport
}

// about describes the release, fitted or not.
func (p *marginalsPlan) about(release *marginals.Release) released.MarginalsAbout {
	about := released.MarginalsAbout{Marginals: len(p.params.Sets), Cells: p.params.Cells(p.universe), Law: p.params.Law.String(),
		Estimate: "fitted", Settled: marginals.Converged(release.Stages()), Unfitted: p.whole && !release.HasTable(), OnDemand: !p.whole, Larger: p.larger, Keys: p.keys}
	if p.params.Unbiased {
		about.Estimate = "unbiased"
	}
	return about
}
