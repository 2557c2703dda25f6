package engine

import (
	"math/big"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/projection"
	"dpsql/noise"
	"dpsql/sqlerr"
)

// planSparse plans a sketch: what becomes of heavy cells, T and the clip, where
// they are not given, by the squared error predicted from public data.
func planSparse(p projectionPlan, w wishes, a view.Account) (projectionPlan, error) {
	delta := w.delta
	switch {
	case w.heavy == "none":
		delta = 0
	case !w.given:
		delta = min(deltaShare(a, p.cost.Epsilon), a.Left().Delta)
	}
	if delta == 0 && (w.heavy == "clip" || w.heavy == "named") {
		return p, sqlerr.New(sqlerr.Invalid, "heavy = %s needs a delta", w.heavy).
			WithHint("give the table a delta, or use heavy = none, which needs none")
	}
	if p.cost.Delta = delta; delta == 0 {
		w.heavy = "none"
	}
	if w.complete() {
		return p.sparse(w, 1)
	}
	p.complete = func(n catalog.NHat, left accounting.Amount) (projectionPlan, error) {
		p.cost = left
		return p.sparse(w, float64(n.Value))
	}
	return p, nil
}

// sparse completes the plan of a sketch of so many records.
func (p projectionPlan) sparse(w wishes, records float64) (projectionPlan, error) {
	p.complete = nil
	options, err := p.options(w)
	if err != nil {
		return p, err
	}
	p.params, err = projection.Choose(projection.Plan{Cells: p.universe.Size(), Records: records, Support: p.support,
		Memory: w.memory, Rows: w.rows, Options: options})
	if err != nil {
		return p, err
	}
	if p.params.Heavy.Form == projection.Whole {
		p.cost.Delta = 0
		if w.given && w.delta > 0 {
			p.warnings = append(p.warnings, "delta was not needed and is not charged: no cell is published apart")
		}
	}
	return p.sampler(), nil
}

// complete reports whether there is nothing left to choose.
func (w wishes) complete() bool {
	return w.rows != 0 && (w.heavy == "none" || w.heavy == "named" || w.clip != 0)
}

// options lists the ways to treat heavy cells that the wishes and the δ allow.
func (p projectionPlan) options(w wishes) (options []projection.Option, err error) {
	for _, form := range []struct {
		name string
		make func(wishes) (projection.Option, error)
	}{{"clip", p.clipped}, {"named", p.named}, {"none", p.whole}} {
		if w.heavy != form.name && w.heavy != "auto" || form.name != "none" && p.cost.Delta == 0 {
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

// laplace returns noise of scale L over a part of ε, and the scale.
func (p projectionPlan) laplace(part *big.Rat) (noise.Law, float64, error) {
	scale := pay.LaplaceScale(p.cost.Epsilon, p.table.Sensitivity())
	scale.Quo(scale, part)
	law, err := noise.NewLaplace(scale)
	f, _ := scale.Float64()
	return law, f, err
}

// whole hashes all cells.
func (p projectionPlan) whole(wishes) (projection.Option, error) {
	law, scale, err := p.laplace(big.NewRat(1, 1))
	return projection.Option{Params: projection.Params{Transform: projection.Sparse, Law: law}, Scale: scale}, err
}

// clipped splits counts at a clip, and spends all of ε on both parts in
// parallel.
func (p projectionPlan) clipped(w wishes) (projection.Option, error) {
	o, err := p.whole(w)
	if err != nil {
		return o, err
	}
	o.Params.Heavy = projection.Heavy{Form: projection.Clipped, Clip: w.clip, Threshold: p.threshold(o.Params.Law)}
	return o, nil
}

// named spends a tenth of ε, and all of δ, on the names of heavy cells, and the
// rest of ε on their counts and on the sketch of the others.
func (p projectionPlan) named(wishes) (o projection.Option, err error) {
	o.Params.Transform = projection.Sparse
	if o.Params.Law, o.Scale, err = p.laplace(big.NewRat(9, 10)); err != nil {
		return o, err
	}
	var law noise.Law
	if law, o.NameScale, err = p.laplace(big.NewRat(1, 10)); err != nil {
		return o, err
	}
	o.Params.Heavy = projection.Heavy{Form: projection.Named, Threshold: p.threshold(law), NameLaw: law}
	return o, nil
}

func (p projectionPlan) threshold(law noise.Law) int64 {
	return projection.Threshold(law, p.table.Sensitivity(), p.cost.Delta.Float())
}
