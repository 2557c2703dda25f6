package main

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"dpsql/accounting"
	"dpsql/bench/baseline"
	"dpsql/bench/workload"
	"dpsql/mechanisms/projection"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/noise/law"
	"dpsql/query"
)

// budget is what one mechanism may spend on a workload.
type budget struct {
	epsilon accounting.Epsilon
	delta   accounting.Delta
}

// newBudget returns the budget ε at δ = 10⁻⁶.
func newBudget(epsilon float64) (budget, error) {
	e, err := accounting.ParseEpsilon(fmt.Sprintf("%.6f", epsilon))
	if err != nil {
		return budget{}, err
	}
	d, err := accounting.ParseDelta("1e-6")
	return budget{e, d}, err
}

// rho returns the ρ that the budget is worth under zCDP.
func (b budget) rho() accounting.Rho { return accounting.RhoFor(b.epsilon, b.delta) }

// epsilonScale returns 1/ε.
func (b budget) epsilonScale() *big.Rat { return new(big.Rat).Inv(b.epsilon.Rat()) }

// laplace returns discrete Laplace noise of scale parts/ε: each of parts counts is
// (ε/parts)-differentially private.
func (b budget) laplace(parts int64) (law.Law, error) {
	return law.NewLaplace(new(big.Rat).Mul(big.NewRat(parts, 1), b.epsilonScale()))
}

// gaussian returns discrete Gaussian noise with which parts counts together cost ρ.
func (b budget) gaussian(parts int64) (law.Law, error) {
	sigma2 := new(big.Rat).Quo(big.NewRat(parts, 2), b.rho().Rat())
	return law.NewGaussian(sigma2)
}

// denseGaussian returns the discrete Gaussian noise of each coordinate of √T·A·D. One
// row changes all T of them by 1.
func denseGaussian(rows uint64, b budget) (law.Law, error) {
	sigma2, err := accounting.DiscreteSigmaSquared(b.epsilon, b.delta,
		accounting.Vector{Dimensions: int64(rows), SquaredSensitivity: int64(rows)})
	if err != nil {
		return nil, err
	}
	return law.NewGaussian(sigma2)
}

// mechanism is a way to answer a workload, with fresh noise each time, within a budget.
type mechanism struct {
	name    string
	role    role
	release bool // one build answers any number of queries
	most    int  // the largest number of queries that it answers of a workload, if it is slow; 0 for all
	answer  func(w *workload.Workload, spend budget, src *noise.Source) (answers, error)

	// settings, if any, are the mechanism with different values of its one number. The
	// best is searched for, and answer is not called.
	settings []setting
}

// setting is a mechanism with its number.
type setting struct {
	text string // "B = 50"
	mechanism
}

// answers are a mechanism's answers to the queries, in counts.
type answers struct {
	counts  []float64
	learned *learned // for a mechanism that learns as it is asked
}

// learned says what such a mechanism did.
type learned struct {
	updates    int
	unverified int       // answers compared with nothing, because the runs were spent
	before     []float64 // its answers without updates: those of its prior alone; nil if not known
}

// role says whose a mechanism is.
type role string

// The roles: the product by default, the product told to follow the paper, and
// mechanisms for comparison.
const (
	ours  role = "dpsql"
	paper role = "paper"
	rival role = "baseline"
	piece role = "ablation" // a part of a mechanism, not offered by itself
	idle  role = "nothing"  // an answer that looks at no data
)

// released returns a projection release as a mechanism.
func released(name string, r role, params func(t *workload.Table, spend budget, src *noise.Source) (projection.Params, error)) mechanism {
	return mechanism{name: name, role: r, release: true, answer: func(w *workload.Workload, spend budget, src *noise.Source) (answers, error) {
		p, err := params(w.Table, spend, src)
		if err != nil {
			return answers{}, err
		}
		release, err := build(w.Table, p, src)
		if err != nil {
			return answers{}, err
		}
		return eachAlone(w, func(q workload.Query) (float64, error) {
			n, err := estimate(release, q.Query)
			return float64(n), err
		})
	}}
}

// eachAlone asks the queries of something that they do not change.
func eachAlone(w *workload.Workload, ask func(q workload.Query) (float64, error)) (a answers, err error) {
	a.counts = make([]float64, len(w.Queries))
	for i, q := range w.Queries {
		if a.counts[i], err = ask(q); err != nil {
			return answers{}, err
		}
	}
	return a, nil
}

func build(t *workload.Table, p projection.Params, src *noise.Source) (*projection.Release, error) {
	b, err := projection.NewBuilder(t.Universe, p, coin.NewSource())
	if err != nil {
		return nil, err
	}
	return b.Build(t.Elements(), src)
}

// estimate returns a release's answer. It also computes the margin, as a product's
// answer does.
func estimate(r *projection.Release, q query.Query) (int64, error) {
	a, err := r.Answer(context.Background(), q, 0.95)
	return a.Value, err
}

// denseRows are the values of T that the dense releases are tried with. What a computer
// can do in reasonable time ends where the paper's T begins.
func (b *bench) denseRows() []int { return size(b, []int{256, 1024, 4096}, []int{64}) }

// bestDense is a dense release with the best T of denseRows.
func (b *bench) bestDense(of func(rows uint64) mechanism) mechanism {
	m := of(0)
	return tuned(m.name, m.role, "T", b.denseRows(), func(rows int) mechanism { return of(uint64(rows)) })
}

// paperDense is Algorithm 2 with its own noise, for a T that fits a computer.
func paperDense(rows uint64) mechanism {
	m := released("paper's dense, Laplace", paper, func(_ *workload.Table, spend budget, _ *noise.Source) (projection.Params, error) {
		scale, err := projection.PaperLaplaceScale(rows, spend.epsilon.Rat(), spend.delta.Rat())
		if err != nil {
			return projection.Params{}, err
		}
		law, err := law.NewLaplace(scale)
		return dense(rows, law), err
	})
	m.most = denseQueries
	return m
}

// gaussianDense is Algorithm 2 with discrete Gaussian noise.
func gaussianDense(rows uint64) mechanism {
	m := released("dense, Gaussian", ours, func(_ *workload.Table, spend budget, _ *noise.Source) (projection.Params, error) {
		law, err := denseGaussian(rows, spend)
		return dense(rows, law), err
	})
	m.most = denseQueries
	return m
}

// denseQueries bounds the queries of a dense release. Each answer takes time m·T.
const denseQueries = 50

func dense(rows uint64, law law.Law) projection.Params {
	return projection.Params{Transform: projection.Dense, Rows: rows, Law: law, Bulk: true,
		Independence: projection.PaperIndependence(1e6, float64(rows), 0.05)}
}

// oneByOne answers each query by itself, all of them within the budget.
func oneByOne(name string, r role, law func(b budget, k int64) (law.Law, error)) mechanism {
	return mechanism{name: name, role: r, answer: func(w *workload.Workload, spend budget, src *noise.Source) (answers, error) {
		l, err := law(spend, int64(len(w.Queries)))
		if err != nil {
			return answers{}, err
		}
		return eachAlone(w, func(q workload.Query) (float64, error) {
			draw, err := noise.Draw(l, src)
			return float64(q.Count + draw), err
		})
	}}
}

// directGaussian is the product's direct answers: zCDP, discrete Gaussian.
func directGaussian() mechanism { return oneByOne("direct, Gaussian", ours, budget.gaussian) }

// zeros answers 0 to everything. A mechanism with a larger error carries no
// information.
func zeros() mechanism {
	return mechanism{name: "answering 0", role: idle, answer: func(w *workload.Workload, _ budget, _ *noise.Source) (answers, error) {
		return answers{counts: make([]float64, len(w.Queries))}, nil
	}}
}

// directLaplace composes ε by addition.
func directLaplace() mechanism { return oneByOne("direct, Laplace", rival, budget.laplace) }

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

// heavyLight is the sparse release with the product's defaults, except for the memory.
// The predicted error decides its form, clip and T.
func heavyLight(memory uint64) mechanism {
	return released("heavy and light", ours, func(t *workload.Table, spend budget, src *noise.Source) (projection.Params, error) {
		return planHeavy(t.Universe.Size(), t.Rows, memory, spend, src)
	})
}

// The memory of a sparse release, in bytes: the product's default, and less where many
// are built.
const (
	fullMemory  = 256 << 20
	someMemory  = 64 << 20
	smallMemory = 8 << 20
)

// memory returns full in a full run, and little in a quick one.
func (b *bench) memory(full uint64) uint64 { return size[uint64](b, full, 1<<16) }

// defaultSupport is the support that a release is planned for.
const defaultSupport = 1 << 16

// planHeavy chooses a sparse release as the engine does: with N̂, bought from a
// hundredth of ε, and with all of δ for the heavy cells.
func planHeavy(cells *big.Int, rows int64, memory uint64, spend budget, src *noise.Source) (projection.Params, error) {
	count := budget{epsilon: spend.epsilon / 100}
	law, err := count.laplace(1)
	if err != nil {
		return projection.Params{}, err
	}
	draw, err := noise.Draw(law, src)
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

// heavyOptions lists the ways to treat heavy cells: a clip, with the whole ε for both
// parts; named cells, for a tenth of ε; and no special treatment.
func heavyOptions(spend budget) ([]projection.Option, error) {
	scale := func(part *big.Rat) (law.Law, float64, error) {
		s := new(big.Rat).Quo(spend.epsilonScale(), part)
		law, err := law.NewLaplace(s)
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
	threshold := func(law law.Law) int64 { return projection.Threshold(law, 1, spend.delta.Float()) }
	return []projection.Option{
		{Params: projection.Params{Transform: projection.Sparse, Law: whole,
			Heavy: projection.Heavy{Form: projection.Clipped, Threshold: threshold(whole)}}, Scale: one},
		{Params: projection.Params{Transform: projection.Sparse, Law: most,
			Heavy: projection.Heavy{Form: projection.Named, Threshold: threshold(names), NameLaw: names}}, Scale: nine, NameScale: ten},
		{Params: projection.Params{Transform: projection.Sparse, Law: whole}, Scale: one},
	}, nil
}

// densePMW is the mechanism of Hardt and Rothblum with their constants.
func densePMW() mechanism {
	return mechanism{name: "dense PMW, [HR10]'s constants", role: rival, answer: func(w *workload.Workload, spend budget, src *noise.Source) (answers, error) {
		t := w.Table
		p := baseline.PaperPMW(t.Size(), t.Rows, len(w.Queries), spend.epsilon.Float(), spend.delta.Float(), beta)
		m := baseline.NewPMW(t.Size(), t.Rows)
		a, err := eachAlone(w, func(q workload.Query) (float64, error) {
			n, ok, err := m.Answer(q.Query, q.Count, p, src)
			if !ok {
				n = math.NaN()
			}
			return n, err
		})
		a.learned = &learned{updates: m.Updates}
		return a, err
	}}
}

// calibratedPMW is the same algorithm with SMW's private test and accounting.
func (b *bench) calibratedPMW() mechanism {
	return tuned("dense PMW, today's accounting", rival, "B", b.runs(), func(runs int) mechanism {
		return mechanism{answer: func(w *workload.Workload, spend budget, src *noise.Source) (answers, error) {
			p, err := planOnline(w.Table, w.MaxSupport(), len(w.Queries), spend, smw.Request{Update: smw.Paper, MaxUpdates: int64(runs)}, src)
			if err != nil {
				return answers{}, err
			}
			queries, counts := split(w)
			m := baseline.NewPMW(w.Table.Size(), w.Table.Rows)
			a, unverified, err := m.AnswerAll(queries, counts, p.Params, src)
			return answers{a, &learned{updates: m.Updates, unverified: unverified}}, err
		}}
	})
}

// rounds are the numbers of rounds that MWEM is tried with.
func (b *bench) rounds() []int { return size(b, []int{5, 10, 20, 30, 50, 100}, []int{5, 10}) }

// mwem is MWEM as in its Figure 1, or with replays.
func (b *bench) mwem(name string, replays int) mechanism {
	return tuned(name, rival, "T", b.rounds(), func(rounds int) mechanism {
		return mechanism{answer: func(w *workload.Workload, spend budget, src *noise.Source) (answers, error) {
			m := baseline.MWEM{Rounds: rounds, Epsilon: spend.epsilon.Float(), Rows: w.Table.Rows, Replays: replays}
			queries, counts := split(w)
			a, err := m.Answer(w.Table.Size(), queries, counts, src)
			return answers{counts: a}, err
		}}
	})
}

// replayed is MWEM with replays.
func (b *bench) replayed() mechanism { return b.mwem("MWEM, 10 replays", 10) }

// stability is the stability histogram.
func stability() mechanism {
	return mechanism{name: "stability histogram", role: rival, release: true, answer: func(w *workload.Workload, spend budget, src *noise.Source) (answers, error) {
		law, err := spend.laplace(1)
		if err != nil {
			return answers{}, err
		}
		threshold := baseline.StabilityThreshold(spend.epsilon.Float(), spend.delta.Float())
		s, err := baseline.NewStability(w.Table.Elements(), law, threshold, src)
		if err != nil {
			return answers{}, err
		}
		return eachAlone(w, func(q workload.Query) (float64, error) { return float64(s.Answer(q.Query)), nil })
	}}
}

func split(w *workload.Workload) (queries []query.Query, counts []int64) {
	for _, q := range w.Queries {
		queries, counts = append(queries, q.Query), append(counts, q.Count)
	}
	return queries, counts
}
