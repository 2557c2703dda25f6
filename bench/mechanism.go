package main

import (
	"context"

	"dpsql/bench/workload"
	"dpsql/mechanisms/projection"
	"dpsql/noise"
	"dpsql/query"
)

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
