package declare

import (
	"context"
	"encoding"
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/projection"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// defaultDegree is the number of columns of a marginal if none is given.
const defaultDegree = 3

// marginalsPlan is a release of marginals before it is paid for. Planning spends nothing.
type marginalsPlan struct {
	table   *view.Table
	columns []int
	keyed
	params   marginals.Params
	larger   int // marginals that are wanted and above max_cells
	warnings []string
	cost     accounting.Amount
}

// planMarginals chooses the marginals and the noise from the options and public sizes. keysOf
// resolves the option keys; if it is nil, the releases that it names do.
func (s *Statement) planMarginals(ctx context.Context, st *syntax.CreateRelease, v *view.View, t *view.Table, columns []int,
	keysOf func(from []syntax.Name) (keyed, error)) (marginalsPlan, error) {
	o := kind.NewOptions(st.Options, "epsilon", "delta", "degree", "workload", "max_cells", "estimate", "keys")
	p := marginalsPlan{table: t, columns: columns}
	p.cost.Epsilon = o.Epsilon()
	var given bool
	if p.cost.Delta, given = o.Delta(); !given {
		p.cost.Delta = deltaShare(v.Accounts[t.Account], p.cost.Epsilon)
	}
	from := o.Releases("keys")
	degree, file := int(o.Integer("degree", defaultDegree, 1, marginals.MostDegree)), o.File("workload")
	maxCells := int(o.Integer("max_cells", marginals.DefaultCells, 1, marginals.MostTable))
	p.params.Unbiased = o.Word("estimate", "fitted", "unbiased") == "unbiased"
	if file != "" {
		o.Refuse("beside workload", "degree")
	}
	if err := o.Done(); err != nil {
		return p, err
	}
	if p.cost.Delta == 0 {
		return p, sqlerr.New(sqlerr.Invalid, "a release of marginals needs a delta").
			WithHint("give the table a delta, or use PROJECTION, which needs none")
	}
	var err error
	if keysOf != nil {
		p.keyed, err = keysOf(from)
	} else {
		p.keyed, err = s.publishedKeys(ctx, from, v, t, columns)
	}
	if err != nil || p.unclear != "" {
		return p, err
	}
	if !p.universe.WideCoded() {
		return p, tooManyForMarginals(p.universe)
	}
	wanted := marginals.OfDegree(p.universe, degree)
	if file != "" {
		queries, err := s.workload(ctx, file, t, func(q query.Query) released.Coverage { return released.Project(q, columns) })
		if err != nil {
			return p, err
		}
		wanted = nil
		for _, q := range queries {
			wanted = append(wanted, q.Columns())
		}
	}
	if p.params.Sets, err = marginals.Select(p.universe, wanted, maxCells); err != nil {
		return p, err
	}
	if p.larger = marginals.Larger(p.universe, wanted, maxCells); p.larger > 0 {
		p.warnings = append(p.warnings, fmt.Sprintf("%d of %d marginals have more than %d cells, which is max_cells: their parts are measured",
			p.larger, len(wanted), maxCells))
	}
	if names := p.unmeasured(wanted); len(names) > 0 {
		p.warnings = append(p.warnings, fmt.Sprintf("no marginal has %s: answers about it are guesses; raise max_cells", strings.Join(names, " or ")))
	}
	return p, p.calibrate()
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
func (p marginalsPlan) outlook() string {
	law, err := law.NewLaplace(pay.LaplaceScale(p.cost.Epsilon, p.table.Sensitivity()))
	if err != nil {
		return ""
	}
	text := fmt.Sprintf("counts err by %.3g before the fit", math.Sqrt(p.params.MeanVariance(p.universe)))
	if n := p.table.Over(p.columns).Size(); n == nil || !n.IsUint64() || n.Uint64() > projection.RowsWithin(defaultMemory, law) {
		return text
	}
	return text + fmt.Sprintf(", and by %.3g as an identity release", math.Sqrt(p.params.MeanOfSums(p.universe, law.Variance())))
}

// size says for people what is stored, and returns the columns of the largest marginal. A
// fitted table has 4 bytes a cell, and a noisy count 8 at most.
func (p marginalsPlan) size() (text string, largest []int) {
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
	if marginals.FitsWhole(p.universe) {
		return text + "; a table of " + p.universe.Size().String() + " cells is fitted", largest
	}
	return text + "; tables are fitted on demand", largest
}

// calibrate chooses the noise. A unit of at most L rows changes the counts of one marginal
// by at most L in ℓ2, the worst case being all its rows in one cell. It changes the vector
// of all K marginals by at most √K·L.
func (p *marginalsPlan) calibrate() error {
	squared, ok := squaredSensitivity(p.table.Sensitivity(), int64(len(p.params.Sets)))
	if !ok {
		return sqlerr.New(sqlerr.Unsupported, "marginals cannot be measured for units of %d rows", p.table.Sensitivity()).
			WithHint("use a smaller max_rows")
	}
	sigma2, err := accounting.DiscreteSigmaSquared(p.cost.Epsilon, p.cost.Delta,
		accounting.Vector{Dimensions: int64(p.params.Cells(p.universe)), SquaredSensitivity: squared})
	if err != nil {
		return err
	}
	p.params.Sigma2, _ = sigma2.Float64()
	p.params.Law, err = law.NewGaussian(sigma2)
	return err
}

// predict returns the margin of the unbiased answer to a query over the columns, and a half
// for its rounding.
func (p marginalsPlan) predict(q query.Query, confidence float64) (float64, bool, error) {
	predicted, known, err := p.params.Predict(p.universe, q, confidence)
	return predicted.Margin + 0.5, known, err
}

func tooManyForMarginals(u *query.Universe) error {
	return sqlerr.New(sqlerr.Unsupported, "a release of marginals is over fewer than 2^128 possible records, and the columns have %s",
		u.Size()).WithHint("name fewer columns, or columns of fewer values")
}

// createMarginals pays for a release of marginals, measures, stores and fits it. It is one
// (ε, δ)-differentially private step: one vector of discrete Gaussian noise.
func (s *Statement) createMarginals(ctx context.Context, name string, p marginalsPlan) (warnings []string, err error) {
	warnings = p.warnings
	steps := &buildSteps{report: s.Progress, fits: marginals.FitsWhole(p.universe)}
	var measured *marginals.Measurement
	var paid *pay.Receipt
	err = s.Rows.OnSnapshot(ctx, p.table, func(sn *rows.Snapshot) (err error) {
		paid, err = s.Desk.Build(ctx, s.Bill, sn, catalog.KindReleases, "create release", name, p.cost)
		if err != nil {
			return err
		}
		steps.read(0, 1)
		return s.Desk.Read(ctx, s.Bill, paid, func() error {
			cells, err := sn.Cells(ctx, paid, p.columns, query.NewWideCoder(p.universe), math.MaxInt, false, steps.read)
			if err == nil {
				measured, err = marginals.Measure(p.universe, p.params, cells.All())
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	steps.done(1)
	src, err := paid.Noise()
	if err != nil {
		return nil, err
	}
	release, err := measured.Perturb(src)
	if err != nil {
		return nil, err
	}
	if marginals.FitsWhole(p.universe) {
		r, err := s.storeMarginals(ctx, name, p, release, p.about(release))
		if err != nil {
			return nil, err
		}
		s.Bill.Store()
		more, err := s.fitMarginals(ctx, p, r, release, steps)
		return append(warnings, more...), err
	}
	about := p.about(release)
	demanded, err := marginals.NewOnDemand(release, s.Coins())
	if err != nil {
		return nil, err
	}
	steps.done(2)
	_, err = s.storeMarginals(ctx, name, p, demanded, about)
	return warnings, err
}

// storeMarginals stores the noisy counts.
func (s *Statement) storeMarginals(ctx context.Context, name string, p marginalsPlan, release encoding.BinaryMarshaler, about released.MarginalsAbout) (*catalog.Release, error) {
	payload, err := release.MarshalBinary()
	if err != nil {
		return nil, err
	}
	r := &catalog.Release{Name: name, TableID: p.table.ID, Span: p.table.Part, Columns: p.columns, Using: string(syntax.Marginals),
		Epsilon: p.cost.Epsilon, Delta: p.cost.Delta, MaxSupport: allSupport(p.universe)}
	return r, s.storeRelease(ctx, r, about, payload)
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
func (p marginalsPlan) about(release *marginals.Release) released.MarginalsAbout {
	whole := marginals.FitsWhole(p.universe)
	about := released.MarginalsAbout{Marginals: len(p.params.Sets), Cells: p.params.Cells(p.universe), Law: p.params.Law.String(),
		Estimate: "fitted", Settled: marginals.Converged(release.Stages()), Unfitted: whole && !release.HasTable(), OnDemand: !whole, Larger: p.larger, Keys: p.keys}
	if p.params.Unbiased {
		about.Estimate = "unbiased"
	}
	return about
}
