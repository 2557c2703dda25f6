package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/mechanisms/projection"
	"dpsql/noise"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

const (
	defaultSupport = 1 << 16 // max_support where none is given
	maxSupport     = 1 << 24 // planning holds a few words for each element
	defaultRows    = 1 << 20 // T where none is given
	mostRows       = 1 << 27 // at a byte a row, 128 MiB
)

// projectionPlan is a projection release before it is paid for.
type projectionPlan struct {
	table    *table
	columns  []int
	universe *query.Universe
	params   projection.Params
	cost     accounting.Amount
	support  uint64
}

// releaseParams describe a release in the catalog, for people.
type releaseParams struct {
	Transform string `json:"transform"`
	Rows      uint64 `json:"rows"`
	Law       string `json:"law"`
	Sampler   string `json:"sampler"`
}

// createRelease builds a release: plan from public data, charge, stream the
// cells, draw, store.
func (s *Session) createRelease(ctx context.Context, st *sqlfront.CreateRelease) (*Result, error) {
	v, err := s.db.view(ctx)
	if err != nil {
		return nil, err
	}
	if done, err := v.nameFree(st.Name, st.IfNotExists, v.release(st.Name.Text) != nil); done || err != nil {
		return &Result{}, err
	}
	t, columns, err := v.target(st.Table, st.Columns)
	if err != nil {
		return nil, err
	}
	if st.Using == sqlfront.SMW {
		return s.createSMWRelease(ctx, st, v, t, columns)
	}
	p, err := s.db.planProjection(ctx, st, v, t, columns)
	if err != nil {
		return nil, err
	}
	return &Result{Warnings: warnDelta(t, v.accounts[t.Account])}, s.db.buildProjection(ctx, st.Name.Text, p)
}

// nameFree reports whether a statement has nothing to do because the thing
// exists, and refuses a name that is taken.
func (v *view) nameFree(name sqlfront.Name, ifNotExists, same bool) (done bool, err error) {
	if same && ifNotExists {
		return true, nil
	}
	if v.release(name.Text) != nil || v.mechanism(name.Text) != nil {
		return false, sqlerr.New(sqlerr.Invalid, "the name %s is taken", name.Text).
			WithHint("releases and mechanisms share one list of names").At(name.Position)
	}
	for _, word := range []string{"auto", "smw", "projection", "direct", "constant"} {
		if query.SameName(name.Text, word) {
			return false, sqlerr.New(sqlerr.Invalid, "%s means something else in SET mechanism", name.Text).At(name.Position)
		}
	}
	return false, nil
}

// target resolves ON table (columns). No column list means all columns, nil.
func (v *view) target(name sqlfront.Name, list []sqlfront.Name) (*table, []int, error) {
	t, err := v.table(name.Text, name.Position)
	if err != nil {
		return nil, nil, err
	}
	if t.Source == "" {
		return nil, nil, sqlerr.New(sqlerr.Invalid, "this file holds no rows of %s", t.Name).At(name.Position)
	}
	picked := make([]bool, len(t.Columns))
	for _, c := range list {
		i, ok := t.universe.Index(c.Text)
		if !ok {
			return nil, nil, sqlerr.New(sqlerr.Unknown, "%s has no column %s", t.Name, c.Text).
				WithHint("DESCRIBE %s lists its columns", t.Name).At(c.Position)
		}
		picked[i] = true
	}
	var columns []int
	for i, yes := range picked {
		if yes {
			columns = append(columns, i)
		}
	}
	if len(columns) == len(t.Columns) {
		columns = nil
	}
	return t, columns, nil
}

// planProjection chooses transform, rows and noise from the options and public
// data, and works out the cost. The paper's T needs N̂, which is then bought.
func (db *DB) planProjection(ctx context.Context, st *sqlfront.CreateRelease, v *view, t *table, columns []int) (projectionPlan, error) {
	o := newOptions(st.Options, "epsilon", "delta", "transform", "rows", "max_support", "noise", "queries", "beta")
	p := projectionPlan{table: t, columns: columns, universe: t.over(columns)}
	p.cost.Epsilon = o.epsilon()
	delta, given := o.delta()
	transform := projection.Transform(o.word("transform", "auto", "identity", "sparse", "dense"))
	rows := uint64(o.integer("rows", defaultRows, 1, mostRows))
	p.support = uint64(o.integer("max_support", defaultSupport, 1, maxSupport))
	if err := o.done(); err != nil {
		return p, err
	}
	p.cost.Delta = delta
	a := v.accounts[t.Account]
	if transform != projection.Dense {
		o.refuse("without transform = dense", "noise", "queries", "beta")
		if err := o.done(); err != nil {
			return p, err
		}
		return p.sketch(transform, rows, o.has("rows"))
	}
	if !given {
		p.cost.Delta = deltaShare(a, p.cost.Epsilon)
	}
	return db.planDense(ctx, o, p, a)
}

// deltaShare returns the part of the releases account's δ that a release with
// no delta of its own takes: that of its ε in the account.
func deltaShare(a account, e accounting.Epsilon) accounting.Delta {
	if a.Caps.ReleaseEpsilon <= 0 {
		return 0
	}
	share := new(big.Int).Mul(big.NewInt(int64(a.Caps.ReleaseDelta)), big.NewInt(int64(min(e, a.Caps.ReleaseEpsilon))))
	return accounting.Delta(share.Quo(share, big.NewInt(int64(a.Caps.ReleaseEpsilon))).Int64())
}

// laplaceScale returns L/ε.
func laplaceScale(e accounting.Epsilon, sensitivity int64) *big.Rat {
	return new(big.Rat).Quo(new(big.Rat).SetInt64(sensitivity), e.Rat())
}

// sketch plans identity and sparse releases: discrete Laplace noise of scale
// L/ε on integer coordinates, of which one row changes one by one, so that the
// release is ε-differentially private. With a delta that pays for it, the
// draws may come from a table.
func (p projectionPlan) sketch(transform projection.Transform, rows uint64, given bool) (projectionPlan, error) {
	size := p.universe.Size()
	small := size != nil && size.IsUint64() && size.Uint64() <= rows
	switch {
	case transform == "auto" && small, transform == projection.Identity && size != nil && size.IsUint64() && size.Uint64() <= mostRows && (small || !given):
		transform, rows = projection.Identity, size.Uint64()
	case transform == "auto":
		transform = projection.Sparse
	case transform == projection.Identity:
		return p, tooManyRecords(size, given, rows)
	}
	law, err := noise.NewLaplace(laplaceScale(p.cost.Epsilon, p.table.sensitivity()))
	if err != nil {
		return p, err
	}
	p.params = projection.Params{Transform: transform, Rows: rows, Law: law}
	return p.sampler()
}

func tooManyRecords(size *big.Int, given bool, rows uint64) error {
	most := uint64(mostRows)
	if given {
		most = rows
	}
	text := "infinitely many"
	if size != nil {
		text = size.String()
	}
	return sqlerr.New(sqlerr.Invalid, "the identity transform has a row for each of %s possible records, more than %d", text, most).
		WithHint("use transform = sparse, or fewer columns")
}

// sampler draws from a table where the law has one and the release's δ pays
// for the table's distance from the law (which is 0 for tables that are exact),
// and charges no more δ than that.
func (p projectionPlan) sampler() (projectionPlan, error) {
	table, err := noise.NewTable(p.params.Law)
	if err != nil { // the law is too wide for one
		p.cost.Delta = 0
		return p, nil
	}
	need := accounting.TableSamplerDelta(int64(p.params.Rows), table.Distance(), p.cost.Epsilon)
	p.params.Bulk = need <= p.cost.Delta
	p.cost.Delta = 0
	if p.params.Bulk {
		p.cost.Delta = need
	}
	return p, nil
}

// buildProjection pays for a planned release, builds it and stores it.
func (db *DB) buildProjection(ctx context.Context, name string, p projectionPlan) error {
	if err := db.charge(ctx, p.table, catalog.KindReleases, "create release", name, p.cost); err != nil {
		return err
	}
	builder, err := projection.NewBuilder(p.universe, p.params, db.random())
	if err != nil {
		return err
	}
	cells, err := db.cells(ctx, p.table, p.columns, builder.Coder(), math.MaxInt)
	if err != nil {
		return err
	}
	release, err := builder.Build(cells.All())
	if err != nil {
		return err
	}
	payload, err := release.MarshalBinary()
	if err != nil {
		return err
	}
	return db.storeRelease(ctx, name, p, payload)
}

func (db *DB) storeRelease(ctx context.Context, name string, p projectionPlan, payload []byte) error {
	sampler := "exact"
	if p.params.Bulk {
		sampler = "table"
	}
	params, err := json.Marshal(releaseParams{string(p.params.Transform), p.params.Rows, p.params.Law.String(), sampler})
	if err != nil {
		return err
	}
	return db.store.Write(ctx, func(tx *catalog.Tx) error {
		return tx.AddRelease(&catalog.Release{Name: name, TableID: p.table.ID, Columns: p.columns, Using: "projection",
			Params: params, Epsilon: p.cost.Epsilon, Delta: p.cost.Delta, MaxSupport: p.support}, payload)
	})
}

// warnDelta warns when δ is no longer small beside one row in N̂.
func warnDelta(t *table, a account) []string {
	delta := (a.Caps.ReleaseDelta + a.Caps.InteractiveDelta).Float()
	if t.NHat == nil || delta*float64(t.NHat.Value) <= 0.1 {
		return nil
	}
	return []string{fmt.Sprintf("delta = %s is large for about %.0f rows: keep it well below 1/%.0f", short(delta),
		float64(t.NHat.Value), math.Ceil(float64(t.NHat.Value)))}
}
