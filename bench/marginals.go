package main

import (
	"context"
	"math"
	"slices"
	"time"

	"dpsql/accounting"
	"dpsql/bench/report"
	"dpsql/bench/workload"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/projection"
	"dpsql/noise"
)

// degree is how many columns a measured marginal has, the product's default.
const degree = 3

// marginalsParams returns the parameters of a release of all marginals of the degree.
func marginalsParams(t *workload.Table, degree int, spend budget, unbiased bool) (p marginals.Params, err error) {
	p.Unbiased = unbiased
	if p.Sets, err = marginals.Select(t.Universe, marginals.OfDegree(t.Universe, degree), marginals.DefaultCells); err != nil {
		return p, err
	}
	sigma2, err := accounting.DiscreteSigmaSquared(spend.epsilon, spend.delta,
		accounting.Vector{Dimensions: int64(p.Cells(t.Universe)), SquaredSensitivity: int64(len(p.Sets))})
	if err != nil {
		return p, err
	}
	p.Sigma2, _ = sigma2.Float64()
	p.Law, err = noise.NewGaussian(sigma2)
	return p, err
}

func buildMarginals(t *workload.Table, degree int, spend budget, unbiased bool, src *noise.Source) (*marginals.Release, error) {
	p, err := marginalsParams(t, degree, spend, unbiased)
	if err != nil {
		return nil, err
	}
	m, err := marginals.Measure(t.Universe, p, t.Elements())
	if err != nil {
		return nil, err
	}
	r, err := m.Perturb(src)
	if err != nil {
		return nil, err
	}
	return r, r.Fit(context.Background(), nil)
}

// fitIdentity builds an identity release and fits a table to its cells.
func fitIdentity(t *workload.Table, spend budget, src *noise.Source) (*marginals.Release, error) {
	law, err := spend.laplace(1)
	if err != nil {
		return nil, err
	}
	r, err := build(t, projection.Params{Transform: projection.Identity, Rows: t.Size(), Law: law, Bulk: true}, src)
	if err != nil {
		return nil, err
	}
	cells, _ := r.Cells()
	return marginals.FitCells(context.Background(), t.Universe, law, cells, nil)
}

func fittedMarginals() mechanism {
	return fromMarginals("3-way marginals, fitted", ours, func(t *workload.Table, spend budget, src *noise.Source) (*marginals.Release, error) {
		return buildMarginals(t, degree, spend, false, src)
	})
}

// unbiasedMarginals is least squares, without the fit.
func unbiasedMarginals() mechanism {
	return fromMarginals("3-way marginals, unbiased", ours, func(t *workload.Table, spend budget, src *noise.Source) (*marginals.Release, error) {
		return buildMarginals(t, degree, spend, true, src)
	})
}

func fittedIdentity() mechanism { return fromMarginals("identity, fitted", ours, fitIdentity) }

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

// marginals measures all counts of 3-way marginals of real tables, by ε.
func (b *bench) marginals(s *report.Section) error {
	s.Say(`All counts of the marginals over three columns, at δ = 10⁻⁶. *Identity* is the noisy histogram; *fitted* tables start from it, or from all 3-way
marginals, measured with one vector of discrete Gaussian noise; *unbiased* is least squares on the same marginals, which is what the fit is beside. RMS errors in
counts, mean over %d repetitions ± the half-width of a 95 %% interval (PUMS 2 repetitions, Adult's 8 columns 1). Choices in the fit were made while looking at Adult, flights and PUMS.`, b.reps)
	table := &report.Table{Head: []string{"table", "rows", "cells", "counts asked", "ε", "identity", "identity, fitted", "marginals, unbiased", "marginals, fitted"}}
	tables, err := b.marginalTables()
	if err != nil {
		return err
	}
	for _, t := range tables {
		w, err := workload.LowOrder(t, degree)
		if err != nil {
			return err
		}
		for _, epsilon := range []float64{0.1, 1, 3} {
			spend, err := newBudget(epsilon)
			if err != nil {
				return err
			}
			row := []any{t.Name, report.Number(float64(t.Rows)), report.Number(float64(t.Size())), report.Number(float64(len(w.Queries))), epsilon}
			few := *b
			if t.Size() > 1<<15 {
				few.reps = min(few.reps, 2)
			}
			if t.Size() > 1<<20 {
				few.reps = 1
			}
			for _, m := range []mechanism{identity(), fittedIdentity(), unbiasedMarginals(), fittedMarginals()} {
				if m.name == fittedIdentity().name && !marginals.CanFitCells(t.Universe) {
					row = append(row, "")
					continue
				}
				results, err := few.compare(w, spend, []mechanism{m})
				if err != nil {
					return err
				}
				row = append(row, results[0].rms)
			}
			table.Add(row...)
		}
	}
	s.Show(table)
	if err := b.marginalMargins(s, tables); err != nil {
		return err
	}
	return b.onDemand(s)
}

func (b *bench) marginalTables() (tables []*workload.Table, err error) {
	for _, read := range []func() (*workload.Table, error){
		func() (*workload.Table, error) { return workload.AdultFew(b.testdata + "/adult/adult.csv") },
		func() (*workload.Table, error) { return workload.PUMS(b.testdata + "/pums/PUMS.csv") },
		func() (*workload.Table, error) { return workload.AdultMore(b.testdata + "/adult/adult.csv") },
	} {
		t, err := read()
		if err != nil {
			return nil, err
		}
		if tables = append(tables, t); b.quick {
			break
		}
	}
	return tables, nil
}

// marginalMargins counts how many true counts lie within the margins of both kinds at
// ε = 1, by size of the true count, and how long a release takes.
func (b *bench) marginalMargins(s *report.Section, tables []*workload.Table) error {
	s.Say(`Margins of 95 %% around the fitted answers of one release at ε = 1: the share of true counts within them, and their median. *Proven* ones follow from the
law of the noise; *simulated* ones from 8 simulations.`)
	out := &report.Table{Head: []string{"table", "true count", "counts", "within proven", "median", "within simulated", "median ", "build and fit", "simulations"}}
	for _, t := range tables {
		spend, err := newBudget(1)
		if err != nil {
			return err
		}
		start := time.Now()
		r, err := buildMarginals(t, degree, spend, false, noise.NewSource())
		if err != nil {
			return err
		}
		fitted := time.Since(start)
		if err := r.Simulate(context.Background(), noise.NewSource, nil); err != nil {
			return err
		}
		simulated := time.Since(start) - fitted
		w, err := workload.LowOrder(t, degree)
		if err != nil {
			return err
		}
		var kinds [4]coverage
		for _, q := range w.Queries {
			a, err := r.Answer(context.Background(), q.Query, 0.95)
			if err != nil {
				return err
			}
			m, err := r.SimulatedMargin(q.Query, 0.95)
			if err != nil {
				return err
			}
			kinds[min(3, int(math.Log10(float64(q.Count+1))))].add(math.Abs(float64(a.Value-q.Count)), a.Margin, m)
		}
		for i, size := range []string{"below 9", "to 98", "to 998", "more"} {
			if c := kinds[i]; len(c.errors) > 0 {
				out.Add(t.Name, size, report.Number(float64(len(c.errors))), c.within(c.proven), median(c.proven), c.within(c.simulated), median(c.simulated), fitted.Seconds(), simulated.Seconds())
			}
		}
	}
	s.Show(out)
	s.Say("The last two columns are in seconds of wall time.")
	return nil
}

// coverage has the errors of answers beside their margins.
type coverage struct{ errors, proven, simulated []float64 }

func (c *coverage) add(err, proven, simulated float64) {
	c.errors, c.proven, c.simulated = append(c.errors, err), append(c.proven, math.Floor(proven)), append(c.simulated, math.Floor(simulated))
}

// median returns the median of values.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// within returns the share of errors within margins.
func (c *coverage) within(margins []float64) float64 {
	n := 0.0
	for i, e := range c.errors {
		if e <= margins[i] {
			n++
		}
	}
	return n / float64(len(c.errors))
}
