package main

import (
	"math/big"

	"dpsql/bench/workload"
	"dpsql/mechanisms/projection"
	"dpsql/noise"
)

// identity is a noisy count for every cell.
func identity() mechanism {
	return released("identity", ours, func(t *workload.Table, spend budget, _ *noise.Source) (projection.Params, error) {
		law, err := spend.laplace(1)
		return projection.Params{Transform: projection.Identity, Rows: t.Size(), Law: law, Bulk: true}, err
	})
}

// sparse is the count sketch without a heavy part.
func sparse(rows uint64) mechanism {
	return released("sparse, no heavy part", ours, func(_ *workload.Table, spend budget, _ *noise.Source) (projection.Params, error) {
		law, err := spend.laplace(1)
		return projection.Params{Transform: projection.Sparse, Rows: rows, Law: law, Bulk: true}, err
	})
}

// heavyLight is the sparse release of the product's defaults, but for the memory:
// the form, the clip and T are chosen by the predicted error.
func heavyLight(memory uint64) mechanism {
	return released("heavy and light", ours, func(t *workload.Table, spend budget, src *noise.Source) (projection.Params, error) {
		return planHeavy(t.Universe.Size(), t.Rows, memory, spend, src)
	})
}

// What a sparse release may take here, in bytes: what the product gives it unless
// told otherwise, and less where many are built.
const (
	fullMemory  = 256 << 20
	someMemory  = 64 << 20
	smallMemory = 8 << 20
)

// memory returns so many bytes in a full run, and few in a quick one.
func (b *bench) memory(full uint64) uint64 { return size[uint64](b, full, 1<<16) }

// defaultSupport is the support that a release is to serve.
const defaultSupport = 1 << 16

// planHeavy chooses a sparse release as the engine does: with N̂, bought from a
// hundredth of ε, and δ all for the heavy cells.
func planHeavy(cells *big.Int, rows int64, memory uint64, spend budget, src *noise.Source) (projection.Params, error) {
	count := budget{epsilon: spend.epsilon / 100}
	law, err := count.laplace(1)
	if err != nil {
		return projection.Params{}, err
	}
	draw, err := law.Draw(src)
	if err != nil {
		return projection.Params{}, err
	}
	spend.epsilon -= count.epsilon
	options, err := heavyOptions(spend)
	if err != nil {
		return projection.Params{}, err
	}
	p, err := projection.Choose(projection.Plan{Cells: cells, Records: float64(max(1, rows+draw)), Support: defaultSupport,
		Memory: memory, Options: options})
	p.Bulk = true
	return p, err
}

// heavyOptions lists the ways to treat heavy cells: a clip, at the whole ε for
// both parts; names, for a tenth of ε; and not at all.
func heavyOptions(spend budget) ([]projection.Option, error) {
	scale := func(part *big.Rat) (noise.Law, float64, error) {
		s := new(big.Rat).Quo(spend.epsilonScale(), part)
		law, err := noise.NewLaplace(s)
		f, _ := s.Float64()
		return law, f, err
	}
	whole, one, err := scale(big.NewRat(1, 1))
	if err != nil {
		return nil, err
	}
	most, nine, err := scale(big.NewRat(9, 10))
	if err != nil {
		return nil, err
	}
	names, ten, err := scale(big.NewRat(1, 10))
	if err != nil {
		return nil, err
	}
	threshold := func(law noise.Law) int64 { return projection.Threshold(law, 1, spend.delta.Float()) }
	return []projection.Option{
		{Params: projection.Params{Transform: projection.Sparse, Law: whole,
			Heavy: projection.Heavy{Form: projection.Clipped, Threshold: threshold(whole)}}, Scale: one},
		{Params: projection.Params{Transform: projection.Sparse, Law: most,
			Heavy: projection.Heavy{Form: projection.Named, Threshold: threshold(names), NameLaw: names}}, Scale: nine, NameScale: ten},
		{Params: projection.Params{Transform: projection.Sparse, Law: whole}, Scale: one},
	}, nil
}
