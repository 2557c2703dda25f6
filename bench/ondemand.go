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
	"dpsql/query"
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
	m := &demand{table: t, params: p, counts: trueMarginals(t, p.Sets), step: 1}
	reps := b.reps
	if b.quick {
		reps, m.step = 1, 25
	}
	var errors, measured []float64
	for rep := range reps {
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
		if rep == 0 {
			if err := m.margins(release); err != nil {
				return err
			}
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
	s.Show(out)
	s.Say("The RMS is the mean over %d releases, which have from %.2f to %.2f. Margins of 95 %% around a sample of these counts, by size of the true count:", len(errors), slices.Min(errors), slices.Max(errors))
	cover := &report.Table{Head: []string{"true count", "counts", "within proven", "median", "within simulated", "median "}}
	for i, size := range []string{"below 9", "to 98", "to 998", "more"} {
		if c := m.kinds[i]; len(c.errors) > 0 {
			cover.Add(size, report.Number(float64(len(c.errors))), c.within(c.proven), median(c.proven), c.within(c.simulated), median(c.simulated))
		}
	}
	s.Show(cover)
	return nil
}

// demand is a benchmark of fits on demand.
type demand struct {
	table             *workload.Table
	step              int // one in so many marginals is asked
	params            marginals.Params
	counts            [][]float64 // of each measured marginal, by code
	fits, simulations []float64   // milliseconds
	kinds             [4]coverage // by size of the true count
}

func (m *demand) measure() (*marginals.OnDemand, error) {
	src := noise.NewSource()
	release, err := perturbed(m.table, m.params, src)
	if err != nil {
		return nil, err
	}
	return marginals.NewOnDemand(release, src)
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
		for c, v := range fit {
			squares += (v - m.counts[i][c]) * (v - m.counts[i][c])
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
	for i := 0; i < len(m.params.Sets); i += 5 * m.step {
		set := m.params.Sets[i]
		start := clock()
		fit, columns, err := release.Over(ctx, set, set, true)
		if err != nil {
			return err
		}
		m.simulations = append(m.simulations, milliseconds(clock()-start))
		for cell := i % 37; cell < len(m.counts[i]); cell += 37 {
			q, ok := atCell(m.table.Universe, set, cell).Project(columns)
			if !ok {
				continue
			}
			a, err := fit.Answer(ctx, q, 0.95)
			if err != nil {
				return err
			}
			simulated, err := fit.SimulatedMargin(q, 0.95)
			if err != nil {
				return err
			}
			truth := m.counts[i][cell]
			m.kinds[min(3, int(math.Log10(truth+1)))].add(math.Abs(float64(a.Value)-truth), a.Margin, simulated)
		}
	}
	return nil
}

// atCell returns the query for one cell of a marginal.
func atCell(u *query.Universe, set []int, cell int) query.Query {
	var each []query.ColumnSet
	for _, c := range slices.Backward(set) {
		d := u.Columns()[c].Domain
		each = append(each, query.ColumnSet{Column: c, Set: d.SetOf(d.Value(uint64(cell) % d.Size()))})
		cell /= int(d.Size())
	}
	slices.Reverse(each)
	return query.Conjunction(u, each)
}

// trueMarginals returns the exact counts of marginals.
func trueMarginals(t *workload.Table, sets [][]int) [][]float64 {
	columns := t.Universe.Columns()
	out := make([][]float64, len(sets))
	for i, set := range sets {
		n := 1
		for _, c := range set {
			n *= int(columns[c].Domain.Size())
		}
		out[i] = make([]float64, n)
	}
	digits := make([]int, len(columns))
	for _, cell := range t.Cells {
		rest := cell.Code
		for c, column := range slices.Backward(columns) {
			digits[c] = int(rest % column.Domain.Size())
			rest /= column.Domain.Size()
		}
		for i, set := range sets {
			at := 0
			for _, c := range set {
				at = at*int(columns[c].Domain.Size()) + digits[c]
			}
			out[i][at] += float64(cell.Count)
		}
	}
	return out
}

// coverage has the errors of answers beside their margins.
type coverage struct{ errors, proven, simulated []float64 }

func (c *coverage) add(err, proven, simulated float64) {
	c.errors, c.proven, c.simulated = append(c.errors, err), append(c.proven, math.Floor(proven)), append(c.simulated, math.Floor(simulated))
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
