package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsql/accounting"
	"dpsql/bench/report"
	"dpsql/bench/workload"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/projection"
	"dpsql/noise"
	"dpsql/noise/law"
)

// degree is how many columns a measured marginal has, the product's default.
const degree = 3

// marginalsParams returns the parameters of a release of all marginals of the degree.
func marginalsParams(t *workload.Table, degree int, spend budget) (p marginals.Params, err error) {
	if p.Sets, err = marginals.Select(t.Universe, marginals.OfDegree(t.Universe, degree), marginals.DefaultCells); err != nil {
		return p, err
	}
	sigma2, err := accounting.DiscreteSigmaSquared(spend.epsilon, spend.delta,
		accounting.Vector{Dimensions: int64(p.Cells(t.Universe)), SquaredSensitivity: int64(len(p.Sets))})
	if err != nil {
		return p, err
	}
	p.Sigma2, _ = sigma2.Float64()
	p.Law, err = law.NewGaussian(sigma2)
	return p, err
}

// perturbed returns a release that is not fitted.
func perturbed(t *workload.Table, p marginals.Params, src *noise.Source) (*marginals.Release, error) {
	m, err := marginals.Measure(context.Background(), t.Universe, p, t.Elements())
	if err != nil {
		return nil, err
	}
	return m.Perturb(src)
}

func buildMarginals(t *workload.Table, degree int, spend budget, src *noise.Source) (*marginals.Release, error) {
	p, err := marginalsParams(t, degree, spend)
	if err != nil {
		return nil, err
	}
	r, err := perturbed(t, p, src)
	if err != nil {
		return nil, err
	}
	return r, r.Fit(context.Background(), nil)
}

// buildRaw builds an identity release.
func buildRaw(t *workload.Table, spend budget, src *noise.Source) (*projection.Release, error) {
	law, err := spend.laplace(1)
	if err != nil {
		return nil, err
	}
	return build(t, projection.Params{Transform: projection.Identity, Rows: t.Size(), Law: law, Bulk: true}, src)
}

// buildIdentity builds an identity release and fits a table to its cells. There is none
// where the fit would hold too many marginals.
func buildIdentity(t *workload.Table, spend budget, src *noise.Source) (*projection.Release, *marginals.Release, error) {
	raw, err := buildRaw(t, spend, src)
	if err != nil || !marginals.CanFitCells(t.Universe) {
		return raw, nil, err
	}
	cells, _ := raw.Cells()
	fitted, err := marginals.FitCells(context.Background(), t.Universe, raw.Params().Law, slices.Clone(cells), nil)
	return raw, fitted, err
}

func fittedMarginals() mechanism {
	return fromMarginals("3-way marginals, fitted", ours, func(t *workload.Table, spend budget, src *noise.Source) (*marginals.Release, error) {
		return buildMarginals(t, degree, spend, src)
	})
}

func fittedIdentity() mechanism {
	return fromMarginals("identity, fitted", ours, func(t *workload.Table, spend budget, src *noise.Source) (*marginals.Release, error) {
		_, fitted, err := buildIdentity(t, spend, src)
		return fitted, err
	})
}

// fromMarginals returns a release of marginals as a mechanism.
func fromMarginals(name string, r role, build func(*workload.Table, budget, *noise.Source) (*marginals.Release, error)) mechanism {
	return mechanism{name: name, role: r, release: true, answer: func(w *workload.Workload, spend budget, src *noise.Source) (answers, error) {
		release, err := build(w.Table, spend, src)
		if err != nil {
			return answers{}, err
		}
		return eachAlone(w, func(q workload.Query) (float64, error) {
			a, err := release.Answer(context.Background(), q.Query, 0.95)
			return float64(a.Value), err
		})
	}}
}

// fittedTable is a table of the experiments with fitted tables.
type fittedTable struct {
	*workload.Table
	counts       *workload.Workload // counts of the marginals over three columns, all of them or a sample
	all          int                // how many of them there are
	conjunctions *workload.Workload // over four columns
	fewer        *workload.Workload // counts of the marginals over one and two columns; nil where only errors are measured
	reps         int
	blind        bool // no choice in dpsql was made on the table
}

// A table of more than manyCells cells takes seconds to fit.
const manyCells = 1_000_000

// fittedTables returns the tables, those on which no choice was made last.
func (b *bench) fittedTables() (tables []fittedTable, err error) {
	adult, flights := b.testdata+"/adult/adult.csv", b.testdata+"/flights/"
	for _, of := range []struct {
		read   func() (*workload.Table, error)
		sample bool // where marginals of 10,000 cells make each answer slow
	}{
		{func() (*workload.Table, error) { return workload.AdultFew(adult) }, false},
		{func() (*workload.Table, error) { return workload.AdultMore(adult) }, false},
		{func() (*workload.Table, error) {
			return workload.FlightsByState(flights+"flights.csv.gz", flights+"airports.csv")
		}, true},
		{func() (*workload.Table, error) { return workload.PUMS(b.testdata + "/pums/PUMS.csv") }, true},
	} {
		t, err := of.read()
		if err != nil {
			return nil, err
		}
		f, err := b.fittedTable(t, of.sample)
		if err != nil {
			return nil, err
		}
		if tables = append(tables, f); b.quick {
			return tables, nil
		}
	}
	blind, err := workload.Blind(b.testdata + "/blind")
	if err != nil {
		return nil, err
	}
	for _, t := range blind {
		f, err := b.fittedTable(t, false)
		if err != nil {
			return nil, err
		}
		f.blind = true
		tables = append(tables, f)
	}
	return tables, nil
}

func (b *bench) fittedTable(t *workload.Table, sample bool) (f fittedTable, err error) {
	f = fittedTable{Table: t, reps: b.reps}
	switch {
	case t.Size() > manyCells:
		f.reps = min(f.reps, 3)
	case t.Size() > manyCells/2:
		f.reps = min(f.reps, 5)
	}
	if f.counts, err = workload.LowOrder(t, degree); err != nil {
		return f, err
	}
	f.all = len(f.counts.Queries)
	asked := size(b, 5000, 200)
	if sample || b.quick {
		asked = min(asked, 1000)
		f.counts = f.counts.Sample(asked, b.seed)
	}
	f.conjunctions, err = workload.Conjunctions(t, asked, conjunctionSeed)
	return f, err
}

// conjunctionSeed is that of W2.
const conjunctionSeed = 20240607

// repetitions returns how often the table is measured at ε: fewer times where ε is not 1.
func (f fittedTable) repetitions(epsilon float64) int {
	if epsilon == 1 {
		return f.reps
	}
	return (f.reps + 2) / 3
}

// marginals measures counts of 3-way marginals, and conjunctions, of real tables by ε.
func (b *bench) marginals(s *report.Section) error {
	tables, err := b.fittedTables()
	if err != nil {
		return err
	}
	of := &report.Table{Head: []string{"table", "rows", "columns", "cells", "empty", "counts", "asked", "conjunctions", "repetitions", "blind"}}
	counts := &report.Table{Head: append([]string{"table", "ε"}, estimates...)}
	conjunctions := &report.Table{Head: []string{"table", "ε", estimates[0], estimates[1], estimates[3]}}
	beside := &report.Table{Head: []string{"table", "questions", "dpsql", "peer", "peer's RMS"}}
	others := &report.Table{Head: []string{"table", "direct, Gaussian", "heavy and light", "answering 0"}}
	var best winners
	for _, t := range tables {
		blind := "no"
		if t.blind {
			blind = "yes"
		}
		empty := fmt.Sprintf("%.1f %%", 100*(1-float64(len(t.Cells))/float64(t.Size())))
		of.Add(t.Name, report.Number(float64(t.Rows)), len(t.Universe.Columns()), report.Number(float64(t.Size())), empty, report.Number(float64(t.all)),
			report.Number(float64(len(t.counts.Queries))), report.Number(float64(len(t.conjunctions.Queries))), t.reps, blind)
		for _, epsilon := range size(b, []float64{0.01, 0.1, 1, 3}, []float64{1}) {
			spend, err := newBudget(epsilon)
			if err != nil {
				return err
			}
			o, err := b.fittedErrors(t, epsilon, spend)
			if err != nil {
				return err
			}
			best.add(t, epsilon, o)
			if epsilon == 1 {
				for _, p := range lowOrderPeers {
					if p.table == t.Name {
						mine := o[p.at+3].rms
						beside.Add(t.Name, p.questions, mine, p.name, p.rms)
						if !(mine.Mean < p.rms) {
							s.Say("**A peer wins here:** %s has %v on %s of %s, dpsql %v.", p.name, p.rms, p.questions, t.Name, mine)
						}
					}
				}
				few := *b
				few.reps = min(2, t.reps)
				results, err := few.compare(t.counts, spend, []mechanism{directGaussian(), heavyLight(b.memory(smallMemory)), zeros()})
				if err != nil {
					return err
				}
				others.Add(t.Name, results[0].rms.Mean, results[1].rms.Mean, results[2].rms.Mean)
			}
			counts.Add(t.Name, epsilon, o[0].rms, o[1].rms, o[2].rms, o[3].rms)
			conjunctions.Add(t.Name, epsilon, o[4].rms, o[5].rms, o[7].rms)
		}
	}
	s.Say(`When is a release of all marginals over three columns the one to take, and when a table fitted to an identity release? The tables are real. Choices in the fit were made while
looking at Adult, flights and PUMS. Diamonds, RAND HIE and bird strikes are *blind*: no choice was made on them (testdata/blind).`)
	s.Show("tables", of)
	s.Say(`"Counts" are those of all marginals over three columns. Conjunctions confine four columns to one to three values each, as W2 does; on Adult's six columns they are W2. Of flights and
PUMS a sample of both is asked, drawn with the seed of the data. δ = 10⁻⁶. A row has the RMS errors in counts, over the table's repetitions at ε = 1 and a third of them at other ε. The noise is
fresh each time and has no seed. *Identity* adds up noisy cells. *Identity, fitted* is a table fitted to the same cells, at no further budget. *Marginals, unbiased* is least squares on
all 3-way marginals, measured with one vector of discrete Gaussian noise, and *marginals, fitted* a table fitted to the same noise.`)
	s.Say("Counts of 3-way marginals:")
	s.Show("counts", counts)
	s.Say(`Conjunctions of four columns. No measured marginal has all the columns of one, so least squares has no answer:`)
	s.Show("conjunctions", conjunctions)
	best.say(s)
	s.Say("Peers on the same questions at ε = 1, δ = 10⁻⁶, beside the fitted marginals:")
	s.Show("peers", beside)
	s.Say(`The peers are those of W2, run once by their own code. They were not measured on the other tables, nor at other ε. Other releases and direct answers at ε = 1, on the counts:`)
	s.Show("others", others)
	return nil
}

// estimates are what one identity release and one release of marginals say.
var estimates = []string{"identity", "identity, fitted", "marginals, unbiased", "marginals, fitted"}

// fittedErrors returns the errors of the estimates on the counts of a table, and then on
// its conjunctions.
func (b *bench) fittedErrors(t fittedTable, epsilon float64, spend budget) ([]outcome, error) {
	cells := t.Size() <= manyCells || epsilon == 1 // there the fit of cells is slow, and of no use
	reps, err := parallel(t.repetitions(epsilon), func(int) ([]misses, error) { return t.once(spend, cells, noise.NewSource()) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	var outcomes []outcome
	for i := range reps[0] {
		var of []misses
		for _, r := range reps {
			of = append(of, r[i])
		}
		outcomes = append(outcomes, summarise(of))
		b.note("  %-20s ε = %-5v %-20s RMS %v", t.Name, epsilon, estimates[i%len(estimates)], outcomes[i].rms)
	}
	return outcomes, nil
}

// once builds both releases and returns the errors of the estimates, NaN where there is
// none. Without cells there is none from the cells' fit.
func (f fittedTable) once(spend budget, cells bool, src *noise.Source) (all []misses, err error) {
	var raw *projection.Release
	var fromCells *marginals.Release
	if cells {
		raw, fromCells, err = buildIdentity(f.Table, spend, src)
	} else {
		raw, err = buildRaw(f.Table, spend, src)
	}
	if err != nil {
		return nil, err
	}
	fromMarginals, err := buildMarginals(f.Table, degree, spend, src)
	if err != nil {
		return nil, err
	}
	for _, w := range []*workload.Workload{f.counts, f.conjunctions} {
		var answers [4][]float64
		for _, q := range w.Queries {
			n, err := estimate(raw, q.Query)
			if err != nil {
				return nil, err
			}
			c, _, err := both(fromCells, q)
			if err != nil {
				return nil, err
			}
			m, u, err := both(fromMarginals, q)
			if err != nil {
				return nil, err
			}
			for i, v := range []float64{float64(n), c, u, m} {
				answers[i] = append(answers[i], v)
			}
		}
		for _, a := range answers {
			all = append(all, errorsOf(a, w.Queries))
		}
	}
	return all, nil
}

// both returns the fitted and the unbiased answer, NaN where there is none. The unbiased
// one is the middle of the proven interval, whose ends are rounded.
func both(r *marginals.Release, q workload.Query) (fitted, unbiased float64, err error) {
	if r == nil {
		return math.NaN(), math.NaN(), nil
	}
	a, err := r.Answer(context.Background(), q.Query, confidence)
	if err != nil {
		return 0, 0, err
	}
	if !a.Verified {
		return float64(a.Value), math.NaN(), nil
	}
	return float64(a.Value), (a.Low + a.High) / 2, nil
}

// lowOrderPeer is what a peer reaches on a table at ε = 1.
type lowOrderPeer struct {
	table, questions string
	at               int // of the outcomes on these questions
	name             string
	rms              float64
}

// lowOrderPeers were measured once, as peers were.
var lowOrderPeers = []lowOrderPeer{
	{"Adult, 6 columns", "counts", 0, "Gaussian on all 3-way marginals, private-pgm inference", 8.6},
	{"Adult, 6 columns", "W2", len(estimates), "Gaussian on all 3-way marginals, private-pgm inference", 13.7},
	{"Adult, 6 columns", "W2", len(estimates), "private-pgm AIM", 19.3},
	{"Adult, 8 columns", "counts", 0, "private-pgm AIM, in 222 s", 14.5},
}

// winners says in words which estimate was best.
type winners struct {
	cases  int
	won    [4]int   // by estimate
	harmed []string // where a fit to cells is worse than the cells
	least  float64  // of identity's error over that of fitted marginals
	most   float64
}

// add adds the errors on the counts of a table.
func (w *winners) add(t fittedTable, epsilon float64, o []outcome) {
	first := 0
	for i := range w.won {
		if o[i].rms.Mean < o[first].rms.Mean {
			first = i
		}
	}
	w.won[first]++
	ratio := o[0].rms.Mean / o[3].rms.Mean
	if w.cases++; w.cases == 1 {
		w.least = ratio
	}
	w.least, w.most = min(w.least, ratio), max(w.most, ratio)
	if o[0].rms.Below(o[1].rms) || math.IsNaN(o[1].rms.Half) && o[1].rms.Mean > 1.2*o[0].rms.Mean {
		w.harmed = append(w.harmed, fmt.Sprintf("%s at ε = %v (%s against %s)", t.Name, epsilon, report.Number(o[1].rms.Mean), report.Number(o[0].rms.Mean)))
	}
}

func (w *winners) say(s *report.Section) {
	s.Say(`On the counts the fitted marginals are best in %d of %d rows, the table fitted to an identity release in %d, raw identity in %d, least squares in %d. Identity has %s to %s times the error
of the fitted marginals. Many cells, few rows or a small ε speak for marginals, few cells and a large ε for identity.`, w.won[3], w.cases, w.won[1], w.won[0], w.won[2], report.Number(w.least), report.Number(w.most))
	if len(w.harmed) > 0 {
		s.Say("**A fit to an identity release can be worse than its cells:** %s.", strings.Join(w.harmed, "; "))
	}
}
