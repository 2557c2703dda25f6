package main

import (
	"math"
	"math/big"

	"dpsql/accounting"
	"dpsql/bench/baseline"
	"dpsql/bench/workload"
	"dpsql/mechanisms/direct"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/query"
)

// beta is the chance that bounds of one experiment may fail.
const beta = 0.05

// interactive is SMW as the product makes it by default, asked a workload in its
// order.
func interactive() mechanism {
	return mechanism{name: "SMW", role: ours, answer: func(w *workload.Workload, spend budget, src *noise.Source) ([]float64, error) {
		return online(w, spend, smw.Request{Prior: true}, src)
	}}
}

// aboutRuns says what the mechanisms that are not tuned by themselves were given.
const aboutRuns = `SMW chooses its number of runs itself, and whether to buy a prior. The paper's SMW and the dense PMW with today's accounting were given the number that
was best for them by trial among 5 to 1,000. [HR10] and MWEM are told the number of rows, which their papers take for public; SMW buys it from its budget.`

// paperInteractive is SMW with the paper's update rule and uniform start. The
// number of runs that the product would choose is made for its own rule: this
// one is given the one best for it.
func paperInteractive(runs int64) mechanism {
	return mechanism{name: "paper's SMW", role: paper, answer: func(w *workload.Workload, spend budget, src *noise.Source) ([]float64, error) {
		return online(w, spend, smw.Request{Update: smw.Paper, MaxUpdates: runs}, src)
	}}
}

func online(w *workload.Workload, spend budget, r smw.Request, src *noise.Source) ([]float64, error) {
	p, err := planOnline(w, spend, r, src)
	if err != nil {
		return nil, err
	}
	classes, err := p.learn(w.Table, src)
	if err != nil {
		return nil, err
	}
	return ask(smw.NewHypothesis(p.Params, w.Table.Universe, classes), p.Params, w, src)
}

// onlinePlan is SMW's parameters and what its prior is made from.
type onlinePlan struct {
	smw.Params
	prior  accounting.Rho // 0 for a uniform start
	tables []smw.Table
}

// planOnline completes a request as the engine does: it buys N̂ from a hundredth
// of ρ, plans SMW for the workload with the rest, and sets a tenth of that aside
// for a prior where one is allowed and pays.
func planOnline(w *workload.Workload, spend budget, r smw.Request, src *noise.Source) (onlinePlan, error) {
	rho := spend.rho()
	law, err := noise.NewGaussian(direct.SigmaSquared(int64(rho/100), 1))
	if err != nil {
		return onlinePlan{}, err
	}
	draw, err := law.Draw(src)
	if err != nil {
		return onlinePlan{}, err
	}
	left := rho - rho/100
	r.MaxSupport, r.Queries, r.Beta = w.MaxSupport(), int64(len(w.Queries)), beta
	r.NHat, r.NHatBound = max(1, w.Table.Rows+draw), noise.HalfWidth(law, 1-beta)
	r.UniverseSize, r.Sensitivity, r.MaxWeight = w.Table.Universe.Size(), 1, 1
	r.RunEpsilon = runEpsilon(left)
	p := onlinePlan{tables: smw.PriorTables(w.Table.Universe)}
	if r.Prior = r.Prior && len(p.tables) > 0 && smw.PriorPays(r); r.Prior {
		p.prior = left / 10
		r.RunEpsilon = runEpsilon(left - p.prior)
	}
	p.Params, err = smw.Plan(r)
	return p, err
}

func runEpsilon(rho accounting.Rho) func(runs int64) *big.Rat {
	return func(runs int64) *big.Rat { return accounting.RunEpsilon(rho, runs).Rat() }
}

// learn measures and fits the prior, nil for a uniform start.
func (p onlinePlan) learn(t *workload.Table, src *noise.Source) (*smw.Classes, error) {
	if p.prior == 0 {
		return nil, nil
	}
	for _, pair := range p.tables {
		counts := t.Project([]int{pair.A, pair.B})
		for _, c := range counts.Cells {
			pair.Counts[c.Code] = c.Count
		}
	}
	sigma2 := direct.SigmaSquared(int64(p.prior), 1)
	sigma2.Mul(sigma2, big.NewRat(int64(len(p.tables)), 1))
	return smw.LearnClasses(t.Universe, p.tables, sigma2, p.NHat, src)
}

// ask puts the queries to the mechanism one after the other; once its runs are
// spent the hypothesis answers alone.
func ask(h *smw.Hypothesis, p smw.Params, w *workload.Workload, src *noise.Source) ([]float64, error) {
	answers := make([]float64, len(w.Queries))
	var run smw.Run
	open, started := false, int64(0)
	for i, q := range w.Queries {
		guess := h.Count(q.Query)
		answers[i] = float64(guess)
		if !open && started == p.Updates {
			continue
		}
		if !open {
			var err error
			if run, err = smw.StartRun(p, src); err != nil {
				return nil, err
			}
			open = true
			started++
		}
		out, err := run.Test(q.Count, guess, src)
		if err != nil {
			return nil, err
		}
		if !out.Fired {
			continue
		}
		open = false
		answers[i] = float64(out.Noisy)
		if err := h.Update(q.Query, out.Noisy); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// densePMW is the mechanism of Hardt and Rothblum with their constants.
func densePMW() mechanism {
	return mechanism{name: "dense PMW, [HR10]'s constants", role: rival, answer: func(w *workload.Workload, spend budget, src *noise.Source) ([]float64, error) {
		t := w.Table
		p := baseline.PaperPMW(t.Size(), t.Rows, len(w.Queries), spend.epsilon.Float(), spend.delta.Float(), beta)
		m := baseline.NewPMW(t.Size(), t.Rows)
		answers := make([]float64, len(w.Queries))
		for i, q := range w.Queries {
			var err error
			var ok bool
			if answers[i], ok, err = m.Answer(q.Query, q.Count, p, src); err != nil {
				return nil, err
			}
			if !ok {
				answers[i] = math.NaN()
			}
		}
		return answers, nil
	}}
}

// calibratedPMW is the same algorithm with SMW's private test and accounting.
func calibratedPMW(runs int64) mechanism {
	return mechanism{name: "dense PMW, today's accounting", role: rival, answer: func(w *workload.Workload, spend budget, src *noise.Source) ([]float64, error) {
		p, err := planOnline(w, spend, smw.Request{Update: smw.Paper, MaxUpdates: runs}, src)
		if err != nil {
			return nil, err
		}
		queries, counts := split(w)
		return baseline.NewPMW(w.Table.Size(), w.Table.Rows).AnswerAll(queries, counts, p.Params, src)
	}}
}

// mwem is MWEM with T rounds.
func mwem(name string, rounds, replays int) mechanism {
	return mechanism{name: name, role: rival, answer: func(w *workload.Workload, spend budget, src *noise.Source) ([]float64, error) {
		m := baseline.MWEM{Rounds: rounds, Epsilon: spend.epsilon.Float(), Rows: w.Table.Rows, Replays: replays}
		queries, counts := split(w)
		return m.Answer(w.Table.Size(), queries, counts, src)
	}}
}

// stability is the stability histogram.
func stability() mechanism {
	return mechanism{name: "stability histogram", role: rival, release: true, answer: func(w *workload.Workload, spend budget, src *noise.Source) ([]float64, error) {
		law, err := spend.laplace(1)
		if err != nil {
			return nil, err
		}
		threshold := baseline.StabilityThreshold(spend.epsilon.Float(), spend.delta.Float())
		s, err := baseline.NewStability(w.Table.Elements(), law, threshold, src)
		if err != nil {
			return nil, err
		}
		answers := make([]float64, len(w.Queries))
		for i, q := range w.Queries {
			answers[i] = float64(s.Answer(q.Query))
		}
		return answers, nil
	}}
}

func split(w *workload.Workload) (queries []query.Query, counts []int64) {
	for _, q := range w.Queries {
		queries, counts = append(queries, q.Query), append(counts, q.Count)
	}
	return queries, counts
}
