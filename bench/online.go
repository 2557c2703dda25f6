package main

import (
	"fmt"
	"math"
	"math/big"

	"dpsql/accounting"
	"dpsql/bench/report"
	"dpsql/bench/workload"
	"dpsql/mechanisms/direct"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/noise/law"
	"dpsql/query"
)

// beta is the probability that bounds of one experiment may fail.
const beta = 0.05

// interactive is SMW as the product makes it by default. It is asked a workload in
// order.
func interactive() mechanism { return online("SMW", ours, interactiveRequest) }

var interactiveRequest = smw.Request{Prior: true}

// paperInteractive is SMW with the paper's update rule and uniform start. The product
// chooses the number of runs for its own rule, so this one is given the best number.
func (b *bench) paperInteractive() mechanism {
	return tuned("paper's SMW", paper, "B", b.runs(), func(runs int) mechanism {
		return online("", paper, smw.Request{Update: smw.Paper, MaxUpdates: int64(runs)})
	})
}

// runs are the numbers of runs that are tried.
func (b *bench) runs() []int {
	return size(b, []int{5, 10, 20, 50, 120, 200, 500, 1000}, []int{5, 20})
}

// tuned is a mechanism that is given the best of some values.
func tuned(name string, r role, number string, values []int, with func(value int) mechanism) mechanism {
	m := mechanism{name: name, role: r}
	for _, v := range values {
		m.settings = append(m.settings, setting{fmt.Sprintf("%s = %s", number, report.Number(float64(v))), with(v)})
	}
	return m
}

// aboutRuns says how the mechanisms got their numbers of runs.
func (b *bench) aboutRuns() string {
	return fmt.Sprintf(`SMW itself chooses its number of runs B, whether to buy a prior, and for how much. The paper's SMW and the dense PMW with today's accounting get the B, of %s,
that has the least RMS error in a trial on this workload. MWEM gets its number of rounds T, of %s, in the same way, and the dense releases their number of rows T, of %s. The table says which.
(Nobody pays for that search here. With one budget one has to guess.) [HR10] and MWEM are told the number of rows, which their papers take to be public. SMW buys it from its budget.`,
		enumerate(b.runs()), enumerate(b.rounds()), enumerate(b.denseRows()))
}

// aboutParts explains the rows about SMW's parts.
const aboutParts = `"SMW, updates off" is the prior alone in the same runs: the answers that SMW would have given if it had never found its hypothesis wrong. "All on SMW's prior" spends on a prior
what SMW spends on prior and runs together. "The paper's SMW, updates off" is the uniform distribution. "Updates" is the number of updates made. "Unverified" answers were given after
the last run, and compared with nothing.`

func enumerate(values []int) string {
	text := ""
	for i, v := range values {
		switch {
		case i > 0 && i == len(values)-1:
			text += " and "
		case i > 0:
			text += ", "
		}
		text += report.Number(float64(v))
	}
	return text
}

// online is SMW for a request, completed as the engine completes it.
func online(name string, r role, request smw.Request) mechanism {
	return mechanism{name: name, role: r, answer: func(w *workload.Workload, spend budget, src *noise.Source) (answers, error) {
		p, err := planOnline(w.Table, w.MaxSupport(), len(w.Queries), spend, request, src)
		if err != nil {
			return answers{}, err
		}
		classes, err := p.learn(w.Table, src)
		if err != nil {
			return answers{}, err
		}
		return askAll(p.Params, classes, w, src)
	}}
}

// onlyPrior spends the whole budget on SMW's prior and answers from it.
func onlyPrior() mechanism {
	return mechanism{name: "all on SMW's prior", role: piece, answer: func(w *workload.Workload, spend budget, src *noise.Source) (answers, error) {
		n, left, err := countRows(w.Table, spend, src)
		if err != nil {
			return answers{}, err
		}
		p := onlinePlan{Params: smw.Params{NHat: n.value, MaxWeight: 1, S: w.Table.Size()}, prior: left, tables: smw.PriorTables(w.Table.Universe)}
		classes, err := p.learn(w.Table, src)
		if err != nil {
			return answers{}, err
		}
		h := smw.NewHypothesis(p.Params, w.Table.Universe, classes)
		return eachAlone(w, func(q workload.Query) (float64, error) { return float64(h.Count(q.Query)), nil })
	}}
}

// onlinePlan is SMW's parameters and the budget of its prior.
type onlinePlan struct {
	smw.Params
	prior  accounting.Rho // 0 for a uniform start
	tables []smw.Table
}

// rowCount is N̂ and the bound on its error.
type rowCount struct{ value, bound int64 }

// countRows buys N̂ from a hundredth of ρ, as the engine does. It also returns the rest
// of ρ.
func countRows(t *workload.Table, spend budget, src *noise.Source) (rowCount, accounting.Rho, error) {
	rho := spend.rho()
	gaussian, err := law.NewGaussian(direct.SigmaSquared(int64(rho/100), 1))
	if err != nil {
		return rowCount{}, 0, err
	}
	draw, err := noise.Draw(gaussian, src)
	return rowCount{max(1, t.Rows+draw), law.HalfWidth(gaussian, 1-beta)}, rho - rho/100, err
}

// planOnline completes a request as the engine does, for so many queries of supports up
// to support. It buys N̂, plans SMW, and divides the rest between a prior, if one is
// allowed and pays, and the runs (TestPlanIsTheProducts).
func planOnline(t *workload.Table, support uint64, queries int, spend budget, r smw.Request, src *noise.Source) (onlinePlan, error) {
	n, left, err := countRows(t, spend, src)
	if err != nil {
		return onlinePlan{}, err
	}
	r.MaxSupport, r.Queries, r.Beta = support, int64(queries), beta
	if r.Update == smw.Paper { // s would be m·B, but |X| is better
		r.MaxSupport = t.Size()
	}
	r.NHat, r.NHatBound = n.value, n.bound
	r.UniverseSize, r.Sensitivity, r.MaxWeight = t.Universe.Size(), 1, 1
	r.RunEpsilon = runEpsilon(left)
	p := onlinePlan{tables: smw.PriorTables(t.Universe)}
	if r.Prior = r.Prior && len(p.tables) > 0 && smw.PriorPays(r); r.Prior {
		p.prior = left / 10
		tenth, _ := p.sigmaSquared().Float64()
		p.prior *= accounting.Rho(smw.PriorTenths(math.Sqrt(tenth), n.value))
		r.RunEpsilon = runEpsilon(left - p.prior)
	}
	p.Params, err = smw.Plan(r)
	return p, err
}

func runEpsilon(rho accounting.Rho) func(runs int64) *big.Rat {
	return func(runs int64) *big.Rat { return accounting.RunEpsilon(rho, runs).Rat() }
}

// sigmaSquared is the variance of the noise in the counts of the prior.
func (p onlinePlan) sigmaSquared() *big.Rat {
	s := direct.SigmaSquared(int64(p.prior), 1)
	return s.Mul(s, big.NewRat(int64(len(p.tables)), 1))
}

// learn measures and fits the prior. It returns nil for a uniform start.
func (p onlinePlan) learn(t *workload.Table, src *noise.Source) (smw.Prior, error) {
	if p.prior == 0 {
		return nil, nil
	}
	ordinals := make([]uint64, len(t.Universe.Columns()))
	for _, c := range t.Cells {
		t.Ordinals(c.Code, ordinals)
		for _, pair := range p.tables {
			pair.Counts[ordinals[pair.A]*t.Universe.Columns()[pair.B].Domain.Size()+ordinals[pair.B]] += c.Count
		}
	}
	measured, err := smw.Measure(p.tables, p.sigmaSquared(), src)
	if err != nil {
		return nil, err
	}
	return smw.LearnClasses(t.Universe, measured, p.NHat, coin.NewSource())
}

// askAll puts the queries to the mechanism one after the other. Beside it a hypothesis
// that learns nothing answers, too.
func askAll(p smw.Params, from smw.Prior, w *workload.Workload, src *noise.Source) (answers, error) {
	m := newLive(p, w.Table, from, src)
	first := smw.NewHypothesis(p, w.Table.Universe, from)
	a := answers{make([]float64, len(w.Queries)), &m.learned}
	m.before = make([]float64, len(w.Queries))
	for i, q := range w.Queries {
		m.before[i] = float64(first.Count(q.Query))
		var err error
		if a.counts[i], _, err = m.ask(q); err != nil {
			return answers{}, err
		}
	}
	return a, nil
}

// live is a mechanism that is asked.
type live struct {
	smw.Params
	h        *smw.Hypothesis
	src      *noise.Source
	run      smw.Run
	open     bool
	started  int64
	count    func(q query.Query) int64 // of the broader queries of one that fired; nil: none is compared
	compared int64
	learned
}

func newLive(p smw.Params, t *workload.Table, from smw.Prior, src *noise.Source) *live {
	return &live{Params: p, h: smw.NewHypothesis(p, t.Universe, from), src: src}
}

// ask answers a query. Once the runs are spent the hypothesis answers alone, and the kind is
// unverified.
func (m *live) ask(q workload.Query) (float64, answerKind, error) {
	guess := m.h.Count(q.Query)
	if m.spent() {
		m.unverified++
		return float64(guess), unverified, nil
	}
	if err := m.begin(); err != nil {
		return 0, 0, err
	}
	m.compared++
	out, err := m.run.Test(q.Count, guess, m.src)
	if err != nil || !out.Fired {
		return float64(guess), agreed, err
	}
	m.open = false
	m.updates++
	var broader []workload.Query
	var guesses []int64
	if m.count != nil {
		for _, b := range m.h.Broader(q.Query) {
			broader, guesses = append(broader, workload.Query{Query: b, Count: m.count(b)}), append(guesses, m.h.Count(b))
		}
	}
	if err := m.h.Update(q.Query, out.Noisy); err != nil {
		return 0, 0, err
	}
	return float64(out.Noisy), fired, m.askBroader(broader, guesses)
}

// askBroader compares the broader queries of one that fired, until one of them fires, as
// the product does.
func (m *live) askBroader(broader []workload.Query, guesses []int64) error {
	for i, q := range broader {
		if m.spent() {
			return nil
		}
		if err := m.begin(); err != nil {
			return err
		}
		m.compared++
		out, err := m.run.Test(q.Count, guesses[i], m.src)
		if err != nil {
			return err
		}
		if out.Fired {
			m.open = false
			m.updates++
			return m.h.Update(q.Query, out.Noisy)
		}
	}
	return nil
}

// spent reports whether no comparison is left.
func (m *live) spent() bool { return !m.open && m.started == m.Updates || m.compared == m.Queries }

// begin starts a run unless one is open.
func (m *live) begin() (err error) {
	if m.open {
		return nil
	}
	if m.run, err = smw.StartRun(m.Params, m.src); err != nil {
		return err
	}
	m.open = true
	m.started++
	return nil
}

// answerKind says how a mechanism came to its answer.
type answerKind int

const (
	unverified answerKind = iota
	agreed
	fired
)
