package engine

import (
	"math/big"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/projection"
	"dpsql/noise"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

const (
	defaultSupport = 1 << 16   // max_support where none is given
	maxSupport     = 1 << 24   // answers take some seconds then
	defaultMemory  = 256 << 20 // bytes of a release's coordinates where no memory is given
	mostMemory     = 16 << 30
)

// projectionPlan is a projection release before it is paid for. Planning spends
// nothing. A plan that depends on the number of rows is made in two steps: where
// complete is set, N̂ has to be found or bought first, and complete then makes the
// plan from it and from what is left of the cost.
type projectionPlan struct {
	wishes   wishes
	table    *view.Table
	columns  []int
	universe *query.Universe
	params   projection.Params
	cost     accounting.Amount
	support  uint64
	warnings []string
	complete func(n catalog.NHat, left accounting.Amount) (projectionPlan, error) // nil: nothing is missing
}

// wishes are the options of a projection release as they were given.
type wishes struct {
	transform string // auto, identity, sparse or dense
	heavy     string // auto, none, clip or named
	clip      int64  // 0 when it is not given
	rows      uint64 // 0 when they are not given
	memory    uint64 // bytes
	delta     accounting.Delta
	given     bool // delta was given
}

// planProjection chooses transform, rows, noise and the treatment of heavy cells
// from the options and public data, and works out the cost. It spends nothing. The
// plan has to be completed where complete is not nil.
func planProjection(st *sqlfront.CreateRelease, v *view.View, t *view.Table, columns []int) (projectionPlan, error) {
	o := newOptions(st.Options, "epsilon", "delta", "transform", "rows", "max_support", "memory", "heavy", "clip", "noise", "queries", "beta")
	p := projectionPlan{table: t, columns: columns, universe: t.Over(columns)}
	p.cost.Epsilon = o.epsilon()
	p.support = uint64(o.integer("max_support", defaultSupport, 1, maxSupport))
	w := readWishes(o)
	p.wishes = w
	if err := o.done(); err != nil {
		return p, err
	}
	a := v.Accounts[t.Account]
	if w.transform == "dense" {
		o.refuse("with transform = dense", "heavy", "clip", "memory")
		p.cost.Delta = w.delta
		if !w.given {
			p.cost.Delta = deltaShare(a, p.cost.Epsilon)
		}
		return planDense(o, p)
	}
	o.refuse("without transform = dense", "noise", "queries", "beta")
	return planSketch(o, p, w, a)
}

func readWishes(o *options) (w wishes) {
	w.transform = o.word("transform", "auto", "identity", "sparse", "dense")
	w.heavy = o.word("heavy", "auto", "none", "clip", "named")
	w.clip = o.integer("clip", 0, 1, 1<<40)
	w.rows = uint64(o.integer("rows", 0, 1, projection.MaxRows))
	w.memory = uint64(o.bytes("memory", defaultMemory, 1<<10, mostMemory))
	w.delta, w.given = o.delta()
	if w.clip != 0 {
		if w.heavy != "auto" && w.heavy != "clip" {
			o.refuse("with heavy = "+w.heavy, "clip")
		}
		w.heavy = "clip"
	}
	return w
}

// deltaShare returns the part of the releases account's δ that a release with
// no delta of its own takes: that of its ε in the account.
func deltaShare(a view.Account, e accounting.Epsilon) accounting.Delta {
	if a.Caps.ReleaseEpsilon <= 0 {
		return 0
	}
	share := new(big.Int).Mul(big.NewInt(int64(a.Caps.ReleaseDelta)), big.NewInt(int64(min(e, a.Caps.ReleaseEpsilon))))
	return accounting.Delta(share.Quo(share, big.NewInt(int64(a.Caps.ReleaseEpsilon))).Int64())
}

// planSketch plans identity and sparse releases: discrete Laplace noise of scale
// L/ε on integer coordinates, of which one row changes one by one. Without heavy
// cells such a release is ε-differentially private; with them (ε, δ), by the
// proof at projection.Heavy.
func planSketch(o *options, p projectionPlan, w wishes, a view.Account) (projectionPlan, error) {
	law, err := noise.NewLaplace(pay.LaplaceScale(p.cost.Epsilon, p.table.Sensitivity()))
	if err != nil {
		return p, err
	}
	most := projection.RowsWithin(w.memory, law)
	if w.rows > most {
		o.fail(sqlerr.New(sqlerr.Invalid, "%d rows take more than memory = %d bytes", w.rows, w.memory).
			WithHint("raise memory, or lower rows"), o.find("rows").Position)
	}
	size := p.universe.Size()
	small := size != nil && size.IsUint64() && size.Uint64() <= most && (w.rows == 0 || size.Uint64() <= w.rows)
	switch {
	case w.transform == "identity" && !small:
		return p, tooManyRecords(size, w, most)
	case w.transform == "identity", w.transform == "auto" && small && p.table.Unclear(p.columns) == "" && (w.heavy == "auto" || w.heavy == "none"):
		p.params = projection.Params{Transform: projection.Identity, Rows: size.Uint64(), Law: law}
		return p.pure(o, w)
	}
	if w.heavy == "none" {
		o.refuse("with heavy = none: such a release is private without one, and costs none", "delta")
	}
	if err := o.done(); err != nil {
		return p, err
	}
	return planSparse(p, w, a)
}

// pure completes the plan of an identity release. A delta that was given for
// what auto might have chosen is not spent.
func (p projectionPlan) pure(o *options, w wishes) (projectionPlan, error) {
	if w.transform == "identity" {
		o.refuse("with transform = identity: such a release is private without one, and costs none", "delta")
		o.refuse("with transform = identity", "heavy", "clip")
	}
	if err := o.done(); err != nil {
		return p, err
	}
	if w.given && w.delta > 0 {
		p.warnings = append(p.warnings, "delta was not needed and is not charged: the release is an identity release")
	}
	return p.sampler(), nil
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

// sampler draws from a table where the law has one: tables are exact.
func (p projectionPlan) sampler() projectionPlan {
	_, err := noise.NewTable(p.params.Law)
	p.params.Bulk = err == nil // else the law is too wide for one
	return p
}
