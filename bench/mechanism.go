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
	"dpsql/query"
)

// budget is what one mechanism may spend on a workload.
type budget struct {
	epsilon accounting.Epsilon
	delta   accounting.Delta
}

// newBudget returns ε at δ = 10⁻⁶.
func newBudget(epsilon float64) (budget, error) {
	e, err := accounting.ParseEpsilon(fmt.Sprintf("%.6f", epsilon))
	if err != nil {
		return budget{}, err
	}
	d, err := accounting.ParseDelta("1e-6")
	return budget{e, d}, err
}

// rho returns the ρ that the budget is worth in zCDP.
func (b budget) rho() accounting.Rho { return accounting.RhoFor(b.epsilon, b.delta) }

// epsilonScale returns 1/ε.
func (b budget) epsilonScale() *big.Rat { return new(big.Rat).Inv(b.epsilon.Rat()) }

// laplace returns discrete Laplace noise of scale parts/ε: each of so many
// counts is (ε/parts)-differentially private.
func (b budget) laplace(parts int64) (noise.Law, error) {
	return noise.NewLaplace(new(big.Rat).Mul(big.NewRat(parts, 1), b.epsilonScale()))
}

// gaussian returns discrete Gaussian noise such that so many counts together
// cost ρ.
func (b budget) gaussian(parts int64) (noise.Law, error) {
	sigma2 := new(big.Rat).Quo(big.NewRat(parts, 2), b.rho().Rat())
	return noise.NewGaussian(sigma2)
}

// denseGaussian returns the discrete Gaussian noise of each coordinate of
// √T·A·D, which one row changes by 1 in all T of them.
func denseGaussian(rows uint64, b budget) (noise.Law, error) {
	sigma2, err := accounting.DiscreteSigmaSquared(b.epsilon, b.delta,
		accounting.Vector{Dimensions: int64(rows), SquaredSensitivity: int64(rows)})
	if err != nil {
		return nil, err
	}
	return noise.NewGaussian(sigma2)
}

// mechanism answers a workload once, with fresh noise, within a budget.
type mechanism struct {
	name    string
	role    role
	release bool // one build answers any number of queries
	most    int  // a slow one answers at most so many queries of a workload; 0: all
	answer  func(w *workload.Workload, spend budget, src *noise.Source) (answers, error)

	// settings, where a mechanism has to be given a number, are the same with one
	// number each; the best is searched, and answer is not called.
	settings []setting
}

// setting is a mechanism with its number.
type setting struct {
	text string // "B = 50"
	mechanism
}

// answers are what a mechanism says to the queries, in counts.
type answers struct {
	counts  []float64
	learned *learned // of one that learns as it is asked
}

// learned is what became of such a mechanism.
type learned struct {
	updates    int
	unverified int       // answers that nothing was compared with: the runs were spent
	before     []float64 // its answers had it made no update: those of its prior alone; nil where that is not known
}

// role says whose a mechanism is.
type role string

// The roles: what the product does unless told otherwise, what it can be told to
// do to have the paper's, and what is here to be compared with.
const (
	ours  role = "dpsql"
	paper role = "paper"
	rival role = "baseline"
	piece role = "ablation" // a part of a mechanism, which nobody offers
	idle  role = "nothing"  // an answer that looks at no data
)

// released is the mechanism of a projection release.
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
	b, err := projection.NewBuilder(t.Universe, p, src)
	if err != nil {
		return nil, err
	}
	return b.Build(t.Elements())
}

// estimate is a release's answer, with the margin that it costs to know.
func estimate(r *projection.Release, q query.Query) (int64, error) {
	a, err := r.Answer(context.Background(), q, 0.95)
	return a.Value, err
}

// denseRows are the numbers of rows that the dense releases are tried with: a
// computer's time ends where the paper's T begins.
func (b *bench) denseRows() []int { return size(b, []int{256, 1024, 4096}, []int{64}) }

// bestDense is a dense release with the best of those.
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
		law, err := noise.NewLaplace(scale)
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

// denseQueries bounds the answers of a dense release, each of which takes time
// m·T.
const denseQueries = 50

func dense(rows uint64, law noise.Law) projection.Params {
	return projection.Params{Transform: projection.Dense, Rows: rows, Law: law, Bulk: true,
		Independence: projection.PaperIndependence(1e6, float64(rows), 0.05)}
}

// oneByOne answers each query by itself, all of them within the budget.
func oneByOne(name string, r role, law func(b budget, k int64) (noise.Law, error)) mechanism {
	return mechanism{name: name, role: r, answer: func(w *workload.Workload, spend budget, src *noise.Source) (answers, error) {
		l, err := law(spend, int64(len(w.Queries)))
		if err != nil {
			return answers{}, err
		}
		return eachAlone(w, func(q workload.Query) (float64, error) {
			draw, err := l.Draw(src)
			return float64(q.Count + draw), err
		})
	}}
}

// directGaussian is the product's direct answers: zCDP, discrete Gaussian.
func directGaussian() mechanism { return oneByOne("direct, Gaussian", ours, budget.gaussian) }

// zeros answers 0 to everything: what an error has to be below to say anything.
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
			p, err := planOnline(w, spend, smw.Request{Update: smw.Paper, MaxUpdates: int64(runs)}, src)
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

// mwem is MWEM as its Figure 1 has it, or with replays.
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
