package kind

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/projection"
	"dpsql/query"
	"dpsql/sqlerr"
)

const (
	defaultSupport = 1 << 16   // max_support if none is given; of an identity release, all its cells if they are more
	maxSupport     = 1 << 24   // an answer takes some seconds at this size
	defaultMemory  = 256 << 20 // bytes of a release's coordinates if no memory is given
	mostMemory     = 16 << 30
)

// projections are releases of noisy cells: identity, count sketches and the paper's dense matrix.
type projections struct{ released.Projections }

// projectionPlan is a projection release before it is paid for. A plan that depends on the
// number of rows is made in two steps: if complete is set, it makes the plan.
type projectionPlan struct {
	Outline
	wishes   wishes
	universe *query.Universe
	params   projection.Params
	waits    accounting.Delta                                 // of an interrupted statement's charge
	complete func(done *projectionPlan, n catalog.NHat) error // nil if the plan is complete
	warnings []string
}

// wishes are the options of a projection release as the statement gives them.
type wishes struct {
	transform string // auto, identity, sparse or dense
	heavy     string // auto, none, clip or named
	clip      int64  // 0 if not given
	rows      uint64 // 0 if not given
	memory    uint64 // bytes
	delta     accounting.Delta
	given     bool   // delta was given
	estimate  string // unbiased, fitted or auto; "" if not given
	fitted    bool   // a table is fitted to the cells, unless worthFitting says otherwise
}

// Plan chooses transform, rows, noise and the treatment of heavy cells from the options and public
// data, and works out the cost.
func (projections) Plan(ctx context.Context, r Request) (Plan, error) {
	o := NewOptions(r.Options, "epsilon", "delta", "transform", "rows", "max_support", "memory", "heavy", "clip", "noise", "queries", "beta", "estimate")
	p := &projectionPlan{Outline: r.outline(), universe: r.Table.Over(r.Columns)}
	p.Cost.Epsilon = o.Epsilon()
	p.MaxSupport = uint64(o.Integer("max_support", defaultSupport, 1, maxSupport))
	p.wishes = readWishes(o)
	err := o.Done()
	if err == nil && r.Waits != nil {
		p.waits, err = r.Waits(ctx)
	}
	if err == nil {
		err = p.choose(o, r.View.Accounts[r.Table.Account])
	}
	if err != nil {
		return nil, err
	}
	return p.outlined(), nil
}

// choose makes the plan, or complete.
func (p *projectionPlan) choose(o *Options, a view.Account) error {
	w := p.wishes
	if w.transform != "dense" {
		o.Refuse("without transform = dense", "noise", "queries", "beta")
		return p.sketch(o, a)
	}
	o.Refuse("with transform = dense", "heavy", "clip", "memory", "estimate")
	p.Cost.Delta = w.delta
	if !w.given {
		p.Cost.Delta = a.DeltaShare(p.Cost.Epsilon)
	}
	return p.planDense(o)
}

// outlined says what is planned.
func (p *projectionPlan) outlined() *projectionPlan {
	p.Open, p.Size, p.Averages = "", "", p.complete == nil && p.params.Transform != projection.Sparse
	if p.complete != nil {
		p.Open = p.open()
	} else {
		p.Size = p.size()
	}
	fitted := p.wishes.fitted && p.wishes.estimate != ""
	if p.wishes.fitted && !fitted {
		p.Open = "its noisy cells decide whether a table is fitted"
	}
	texts := p.complete != nil && p.universe.Size() == nil && p.wishes.transform != "dense" && p.Cost.Delta > 0
	p.About = released.ReleaseAbout{Fitted: fitted, Texts: texts || p.params.HasTexts(p.universe)}
	return p
}

// open returns what the cost of an incomplete plan depends on.
func (p *projectionPlan) open() string {
	text, unclear := "", p.Table.Unclear(p.Columns)
	switch {
	case p.wishes.transform == "dense":
		text = "its rows follow from the number of rows of the table"
	case p.Cost.Delta > 0:
		text = "δ at most: the number of rows decides whether it is needed"
	}
	if text == "" || unclear == "" {
		return text + unclear
	}
	return text + "; " + unclear
}

// Given implements Plan.
func (p *projectionPlan) Given(n catalog.NHat) (Plan, error) {
	if p.complete == nil {
		return p, nil
	}
	done, err := p.completed(n, p.Cost)
	if err != nil {
		return nil, err
	}
	return done, nil
}

// completed makes the plan from the number of rows and what is left of the cost.
func (p *projectionPlan) completed(n catalog.NHat, left accounting.Amount) (*projectionPlan, error) {
	done := *p
	done.complete, done.Cost = nil, left
	if err := p.complete(&done, n); err != nil {
		return nil, err
	}
	return done.outlined(), nil
}

// counted buys the number of rows, if the plan depends on it.
func (p *projectionPlan) counted(ctx context.Context, s *Site) (*projectionPlan, error) {
	if p.complete == nil {
		return p, nil
	}
	n, left, err := s.Desk.RowCount(ctx, s.Bill, s.Rows, p.Table, catalog.KindReleases, p.Cost)
	if err != nil {
		return nil, err
	}
	return p.completed(n, left)
}

// Predict implements Forecast. All ways to treat heavy cells have at least the noise of a sketch of
// whole counts.
func (p *projectionPlan) Predict(q query.Query, confidence float64) (Prediction, error) {
	if refused, yes := p.tooLarge(q); yes {
		return refused, nil
	}
	if p.complete == nil {
		m, known, err := p.params.Predict(p.universe, q, confidence)
		if known || err != nil {
			return Prediction{Margin: m, Known: known}, err
		}
	}
	if p.wishes.transform == "dense" {
		return Prediction{Note: noteBuilt}, nil
	}
	o, err := p.whole(p.wishes)
	if err != nil {
		return Prediction{}, err
	}
	m, err := o.Params.NoiseMargin(p.universe, q, confidence)
	if p.params.Transform != projection.Identity {
		return Prediction{Note: fmt.Sprintf("at least ± %s: the noise alone", released.Counts(math.Floor(m)))}, err
	}
	return Prediction{Margin: m, About: true, Note: "about"}, err // weights, of which only their mean square is taken
}

// Examples implements Forecast.
func (p *projectionPlan) Examples() (u *query.Universe, columns []int, of string) {
	if p.complete != nil && p.wishes.transform == "dense" {
		return nil, nil, ""
	}
	return p.universe, everyColumn(p.universe), ""
}

func readWishes(o *Options) (w wishes) {
	w.transform = o.Word("transform", "auto", "identity", "sparse", "dense")
	w.heavy = o.Word("heavy", "auto", "none", "clip", "named")
	w.clip = o.Integer("clip", 0, 1, 1<<40)
	w.rows = uint64(o.Integer("rows", 0, 1, projection.MaxRows))
	w.memory = uint64(o.Bytes("memory", defaultMemory, 1<<10, mostMemory))
	w.delta, w.given = o.Delta()
	if o.Has("estimate") {
		w.estimate = o.Word("estimate", "unbiased", "fitted", "auto")
	}
	w.fitted = w.estimate == "fitted"
	if w.clip != 0 {
		if w.heavy != "auto" && w.heavy != "clip" {
			o.Refuse("with heavy = "+w.heavy, "clip")
		}
		w.heavy = "clip"
	}
	return w
}

// sketch plans identity and sparse releases: discrete Laplace noise of scale L/ε on
// integer coordinates. One row changes one coordinate by one. Without heavy cells such
// a release is ε-differentially private; with them it is (ε, δ)-differentially private,
// by the proof at projection.Heavy.
func (p *projectionPlan) sketch(o *Options, a view.Account) error {
	w := p.wishes
	law, _, err := p.laplace(big.NewRat(1, 1))
	if err != nil {
		return err
	}
	most := projection.RowsWithin(w.memory, law)
	if w.rows > most {
		o.Fail(sqlerr.New(sqlerr.Invalid, "%d rows take more than memory = %d bytes", w.rows, w.memory).
			WithHint("raise memory, or lower rows"), o.Find("rows").Position)
	}
	size := p.universe.Size()
	small := size != nil && size.IsUint64() && size.Uint64() <= most && (w.rows == 0 || size.Uint64() <= w.rows)
	switch {
	case w.transform == "identity" && !small:
		return tooManyRecords(size, w, most)
	case w.transform == "identity", w.transform == "auto" && small && p.Table.Unclear(p.Columns) == "" && (w.heavy == "auto" || w.heavy == "none"):
		p.params = projection.Params{Transform: projection.Identity, Rows: size.Uint64(), Law: law}
		if !o.Has("max_support") { // it answers its own total
			p.MaxSupport = max(p.MaxSupport, min(p.params.Rows, maxSupport))
		}
		return p.pure(o, w)
	}
	o.Refuse("for a sketch: only the cells of an identity release are fitted", "estimate")
	if w.heavy == "none" {
		o.Refuse("with heavy = none: such a release is private without one, and costs none", "delta")
	}
	if err := o.Done(); err != nil {
		return err
	}
	return p.planSparse(a)
}

// pure completes the plan of an identity release. It does not spend a delta that was
// given for other choices of auto.
func (p *projectionPlan) pure(o *Options, w wishes) error {
	if w.transform == "identity" {
		o.Refuse("with transform = identity: such a release is private without one, and costs none", "delta")
		o.Refuse("with transform = identity", "heavy", "clip")
	}
	if w.fitted && !marginals.CanFitCells(p.universe) {
		o.Fail(sqlerr.New(sqlerr.Unsupported, "a table of %v cells and all its marginals are too many to fit", p.universe.Size()).
			WithHint("name fewer columns, or leave estimate out"), o.Find("estimate").Position)
	}
	if w.estimate == "auto" || w.estimate == "" {
		p.wishes.fitted = fitPays(p.universe)
	}
	if err := o.Done(); err != nil {
		return err
	}
	if w.given && w.delta > 0 {
		p.warnings = append(p.warnings, "delta was not needed and is not charged: the release is an identity release")
	}
	p.sample()
	return nil
}

// With fewer than leastFitted cells or columns a fit gains little: queries sum few cells, or
// are about most of the columns. With more than mostFitted cells the fit and its simulations
// take more than a few seconds, and 20 bytes a cell. Where cells have on average more than
// mostDense times the scale of their noise, a fit gains little, too, and takes long.
const (
	leastFitted        = 1 << 11
	mostFitted         = 1 << 16
	leastFittedColumns = 3
	mostDense          = 32
)

// fitPays reports whether a table is fitted to the cells of an identity release unless its
// estimate is given. It goes by public sizes.
func fitPays(u *query.Universe) bool {
	cells := u.Size().Uint64()
	return cells >= leastFitted && cells <= mostFitted && len(u.Columns()) >= leastFittedColumns && marginals.CanFitCells(u)
}

// worthFitting reports whether a table is fitted to the noisy cells of a release. It is
// post-processing of them.
func (p *projectionPlan) worthFitting(release *projection.Release) bool {
	if p.wishes.estimate != "" {
		return p.wishes.fitted
	}
	cells, _ := release.Cells()
	total := 0.0
	for _, c := range cells {
		total += float64(c)
	}
	return p.wishes.fitted && total/float64(len(cells)) <= mostDense*math.Sqrt(p.params.Law.Variance()/2)
}

// about describes a release that is not to be fitted.
func (p *projectionPlan) about(release *projection.Release) released.ReleaseAbout {
	h := p.params.Heavy
	about := released.ReleaseAbout{Transform: string(p.params.Transform), Rows: p.params.Rows, Law: p.params.Law.String(), Sampler: "exact",
		Heavy: string(h.Form), Clip: h.Clip, Threshold: h.Threshold, Published: release.Published(), Texts: p.params.HasTexts(p.universe)}
	if p.params.Bulk {
		about.Sampler = "table"
	}
	return about
}

func tooManyRecords(size *big.Int, w wishes, most uint64) error {
	if w.rows != 0 {
		most = w.rows
	}
	text := "infinitely many"
	if size != nil {
		text = size.String()
	}
	return sqlerr.New(sqlerr.Invalid, "the identity transform has a row for each of %s possible records, more than %d", text, most).
		WithHint("use transform = sparse, fewer columns, or more memory")
}

// size says for people what is stored.
func (p *projectionPlan) size() string {
	text := fmt.Sprintf("%s, %d rows, about %s", p.params.Transform, p.params.Rows, bytes(p.params.Bytes()))
	if p.wishes.fitted && p.params.Transform == projection.Identity {
		text += "; a table of " + p.universe.Size().String() + " cells is fitted"
	}
	return text
}

// bytes writes a number of bytes for people.
func bytes(n uint64) string {
	units := []string{"bytes", "kB", "MB", "GB"}
	x, i := float64(n), 0
	for ; x >= 1000 && i < len(units)-1; i++ {
		x /= 1000
	}
	return strconv.FormatFloat(x, 'g', 3, 64) + " " + units[i]
}

// sample uses a table for the noise if the law has one. Tables are exact.
func (p *projectionPlan) sample() { p.params.Bulk = projection.HasTable(p.params.Law) } // otherwise the law is too wide for one

// planSparse plans a sketch. The treatment of heavy cells, T and the clip, if not
// given, are chosen by the squared error predicted from public data.
func (p *projectionPlan) planSparse(a view.Account) error {
	w := p.wishes
	delta := w.delta
	switch {
	case w.heavy == "none":
		delta = 0
	case !w.given:
		delta = min(a.DeltaShare(p.Cost.Epsilon), max(p.waits, a.RemainingIn(p.Table.Span()).Delta))
	}
	if delta == 0 && (w.heavy == "clip" || w.heavy == "named") {
		return sqlerr.New(sqlerr.Invalid, "heavy = %s needs a delta", w.heavy).
			WithHint("give the table a delta, or use heavy = none, which needs none")
	}
	if p.Cost.Delta = delta; delta == 0 {
		w.heavy = "none"
	}
	if w.complete() {
		return p.sparse(w, 1)
	}
	p.complete = func(done *projectionPlan, n catalog.NHat) error { return done.sparse(w, float64(n.Value)) }
	return nil
}

// sparse completes the plan of a sketch for the given number of records.
func (p *projectionPlan) sparse(w wishes, records float64) error {
	options, err := p.options(w)
	if err != nil {
		return err
	}
	p.params, err = projection.Choose(projection.Plan{Cells: p.universe.Size(), Records: records, Support: p.MaxSupport,
		Memory: w.memory, Rows: w.rows, Options: options})
	if err != nil {
		return err
	}
	if p.params.Heavy.Form == projection.Whole {
		p.Cost.Delta = 0
		if w.given && w.delta > 0 {
			p.warnings = append(p.warnings, "delta was not needed and is not charged: no cell is published apart")
		}
	}
	p.sample()
	return nil
}

// complete reports whether there is nothing left to choose.
func (w wishes) complete() bool {
	return w.rows != 0 && (w.heavy == "none" || w.heavy == "named" || w.clip != 0)
}

// options lists the ways to treat heavy cells that the wishes and the δ allow.
func (p *projectionPlan) options(w wishes) (options []projection.Option, err error) {
	for _, form := range []struct {
		name string
		make func(wishes) (projection.Option, error)
	}{{"clip", p.clipped}, {"named", p.namedHeavy}, {"none", p.whole}} {
		if w.heavy != form.name && w.heavy != "auto" || form.name != "none" && p.Cost.Delta == 0 {
			continue
		}
		o, err := form.make(w)
		if err != nil {
			return nil, err
		}
		options = append(options, o)
	}
	return options, nil
}

// mostDenseRows bounds T of a dense release, whose build and answers take time
// proportional to T for every cell and every element of a support.
const mostDenseRows = 1 << 20

// planDense plans the paper's Algorithm 2 (SparseProject), with its Laplace noise or,
// by default, Gaussian noise. Without rows it takes the paper's T at N̂, and says so if
// that is absurd.
func (p *projectionPlan) planDense(o *Options) error {
	law := o.Word("noise", "gaussian", "laplace")
	queries := o.Integer("queries", 1e6, 1, 1e15)
	beta := o.Fraction("beta", 0.05)
	rows := uint64(o.Integer("rows", 0, 1, mostDenseRows))
	if err := o.Done(); err != nil {
		return err
	}
	if p.Cost.Delta == 0 {
		return sqlerr.New(sqlerr.Invalid, "the dense transform needs a delta").
			WithHint("give the table a delta, or use transform = sparse, which needs none")
	}
	if rows != 0 {
		return p.dense(law, rows, queries, beta)
	}
	p.complete = func(done *projectionPlan, n catalog.NHat) error {
		rows, err := paperRows(n, p.MaxSupport, queries, beta)
		if err != nil {
			return err
		}
		return done.dense(law, rows, queries, beta)
	}
	return nil
}

// dense completes the plan of a dense release of T rows.
func (p *projectionPlan) dense(law string, rows uint64, queries int64, beta float64) error {
	r := projection.PaperIndependence(float64(queries), float64(rows), beta)
	p.params = projection.Params{Transform: projection.Dense, Rows: rows, Independence: r}
	var err error
	p.params.Law, err = denseLaw(law, rows, p.Cost, p.Table.Sensitivity())
	return err
}

// paperRows computes Algorithm 2's T at N̂. At n = 10⁴ and m = 64 it is 10²⁰. A T that no
// computer could hold is refused, and the error has the number.
func paperRows(n catalog.NHat, support uint64, queries int64, beta float64) (uint64, error) {
	t := projection.PaperRows(float64(n.Value), float64(support), float64(queries), beta)
	if t > mostDenseRows {
		return 0, sqlerr.New(sqlerr.Invalid, "the paper's T is %s rows at N̂ = %d, m = %d and k = %d",
			strconv.FormatFloat(t, 'g', 2, 64), n.Value, support, queries).
			WithHint("give rows = …, up to %d: privacy does not depend on it", mostDenseRows)
	}
	return uint64(t), nil
}
