package main

import (
	"context"
	"math"
	"slices"
	"time"

	"dpsql/bench/report"
	"dpsql/bench/workload"
	"dpsql/mechanisms/marginals"
	"dpsql/noise"
	"dpsql/noise/coin"
)

// onDemand measures all 14 columns of Adult, which are too many for a table. Each marginal
// is asked from a fit over its columns.
func (b *bench) onDemand(s *report.Section) error {
	t, err := workload.Adult(b.testdata + "/adult/adult.csv")
	if err != nil {
		return err
	}
	spend, err := newBudget(1)
	if err != nil {
		return err
	}
	p, err := marginalsParams(t, degree, spend)
	if err != nil {
		return err
	}
	m := &demand{table: t, params: p, step: 1, held: held{caps: true}}
	reps := b.reps
	if b.quick {
		reps, m.step = 1, 25
	}
	var errors, measured []float64
	for range reps {
		start := clock()
		release, err := m.measure()
		if err != nil {
			return err
		}
		measured = append(measured, (clock() - start).Seconds())
		rms, err := m.ask(release)
		if err != nil {
			return err
		}
		errors = append(errors, rms)
		if err := m.margins(release); err != nil {
			return err
		}
	}
	all := marginals.OfDegree(t.Universe, degree)
	s.Say(`All 14 columns of Adult, 6·10¹⁷ cells, at ε = 1: of the %d marginals over three columns the %d of at most %s cells are measured, and all their %s counts are
asked. Each marginal is answered from a table that is fitted on demand, over its columns and those that are added by the public rule. *Unbiased* is the predicted RMS of least
squares on the same marginals. Times are processor time; a *new column set* is one fit.`, len(all), len(p.Sets), report.Number(marginals.DefaultCells), report.Number(float64(p.Cells(t.Universe))))
	out := &report.Table{Head: []string{"RMS", "unbiased", "measuring, s", "new column set, ms", "95 % of them below, ms", "its simulations, ms"}}
	mean := 0.0
	for _, e := range errors {
		mean += e / float64(len(errors))
	}
	slices.Sort(m.fits)
	out.Add(mean, math.Sqrt(p.MeanVariance(t.Universe)), median(measured), median(m.fits), m.fits[len(m.fits)*95/100], median(m.simulations))
	s.Show("ondemand", out)
	s.Say("The RMS is the mean over %d releases, which have from %.2f to %.2f. How often margins of 95 %% around a sample of these counts hold, in per cent, and their medians:", len(errors), slices.Min(errors), slices.Max(errors))
	cover := &report.Table{Head: []string{"ε", "true count", "answers", "within proven", "median proven", "within simulated", "median simulated"}}
	if !b.quick {
		if err := m.coverAt(0.1, reps, cover); err != nil {
			return err
		}
	}
	m.held.byClass(1, cover)
	s.Show("ondemand-held", cover)
	return nil
}

// coverAt adds the coverage of margins at another ε.
func (m *demand) coverAt(epsilon float64, reps int, cover *report.Table) error {
	spend, err := newBudget(epsilon)
	if err != nil {
		return err
	}
	other := &demand{table: m.table, step: m.step, held: held{caps: true}}
	if other.params, err = marginalsParams(m.table, degree, spend); err != nil {
		return err
	}
	for range reps {
		release, err := other.measure()
		if err != nil {
			return err
		}
		if err := other.margins(release); err != nil {
			return err
		}
	}
	other.held.byClass(epsilon, cover)
	return nil
}

// byClass adds a row for each class that there are counts of.
func (h *held) byClass(epsilon float64, cover *report.Table) {
	for i, class := range classes {
		if _, _, n := h.hold(proven, i); n > 0 {
			cover.Add(epsilon, class.name, report.Number(float64(n)), h.share(proven, i), h.median(proven, i), h.share(simulated, i), h.median(simulated, i))
		}
	}
}

// demand is a benchmark of fits on demand.
type demand struct {
	table             *workload.Table
	step              int // one in so many marginals is asked
	params            marginals.Params
	fits, simulations []float64 // milliseconds
	held              held
}

func (m *demand) measure() (*marginals.OnDemand, error) {
	src := noise.NewSource()
	release, err := perturbed(m.table, m.params, src)
	if err != nil {
		return nil, err
	}
	return marginals.NewOnDemand(release, coin.NewSource())
}

// ask returns the RMS error over all counts of the measured marginals.
func (m *demand) ask(release *marginals.OnDemand) (float64, error) {
	squares, n := 0.0, 0
	for i := 0; i < len(m.params.Sets); i += m.step {
		set := m.params.Sets[i]
		start := clock()
		fit, err := release.Fitted(context.Background(), set)
		if err != nil {
			return 0, err
		}
		m.fits = append(m.fits, milliseconds(clock()-start))
		truth := m.table.Project(set)
		for c, v := range fit {
			off := v - float64(truth.At(uint64(c)))
			squares += off * off
		}
		n += len(fit)
	}
	return math.Sqrt(squares / float64(n)), nil
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// margins compares both kinds of margins with the errors of some counts of every fifth
// marginal.
func (m *demand) margins(release *marginals.OnDemand) error {
	ctx := context.Background()
	m.held.begin()
	for i := 0; i < len(m.params.Sets); i += 5 * m.step {
		set := m.params.Sets[i]
		start := clock()
		fit, columns, err := release.Over(ctx, set, set, true)
		if err != nil {
			return err
		}
		m.simulations = append(m.simulations, milliseconds(clock()-start))
		counts, err := workload.Marginal(m.table, set)
		if err != nil {
			return err
		}
		for cell := i % 37; cell < len(counts); cell += 37 {
			q, ok := counts[cell].Project(columns)
			if !ok {
				continue
			}
			if err := m.held.ask(fit, workload.Query{Query: q, Count: counts[cell].Count}); err != nil {
				return err
			}
		}
	}
	return nil
}
