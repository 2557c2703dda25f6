package main

import (
	"context"
	"fmt"
	"math"

	"dpsql/bench/report"
	"dpsql/bench/workload"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/projection"
	"dpsql/noise"
)

// chosen measures identity releases that choose between their cells and the table fitted
// to them, query by query, as estimate = auto does, beside those that do not.
func (b *bench) chosen(s *report.Section) error {
	tables, err := b.chosenTables()
	if err != nil {
		return err
	}
	s.Say(`RMS errors in counts of all counts of marginals over so many columns (0 is the number of rows, of more than %s counts as many, evenly), from one identity release.
*Cells* is their sum; *fitted* is the table fitted to them; *chosen* is, for each query, the one that is predicted to err less: by the exact law of the noise, or by the
simulations that are stored with the fit. The last column says how many queries the fit answered. Mean squares over %d releases. The rule was made on Adult and
flights. PUMS, diamonds, RAND HIE and bird strikes were looked at when it stood.`, report.Number(mostChoices), chosenReps)
	table := &report.Table{Head: []string{"table", "cells", "ε", "columns", "cells ", "fitted", "chosen", "chosen over cells", "by the fit"}}
	worst := 0.0
	for _, t := range tables {
		for _, epsilon := range size(b, []float64{0.1, 1, 3}, []float64{1}) {
			b.note("  %s at ε = %v", t.Name, epsilon)
			list, err := b.choices(t, epsilon)
			if err != nil {
				return err
			}
			for order, c := range list {
				ratio := c.chosen / c.cells
				worst = max(worst, ratio)
				table.Add(t.Name, report.Number(float64(t.Size())), epsilon, order, c.cells, c.fitted, c.chosen, ratio, c.share)
			}
		}
	}
	s.Show(table)
	s.Say("At worst the chosen answers have %s times the error of the cells.", report.Number(worst))
	return nil
}

// mostChoices bounds the queries of a workload, and chosenReps the releases of a table.
const (
	mostChoices = 1000
	chosenReps  = 2
)

// chosenTables are tables of sizes for which estimate = auto fits.
func (b *bench) chosenTables() ([]*workload.Table, error) {
	adult, err := workload.AdultFew(b.testdata + "/adult/adult.csv")
	if err != nil || b.quick {
		return []*workload.Table{adult}, err
	}
	pums, err := workload.PUMS(b.testdata + "/pums/PUMS.csv")
	if err != nil {
		return nil, err
	}
	tables := []*workload.Table{adult, pums}
	blind, err := workload.Blind(b.testdata + "/blind")
	for _, t := range blind {
		few := t.Project([]int{0, 1, 2, 3, 4})
		few.Name = t.Name + ", 5 columns"
		tables = append(tables, few)
	}
	return tables, err
}

// choice has RMS errors, and the share of the queries that the fit answered.
type choice struct{ cells, fitted, chosen, share float64 }

// choices returns the errors by the number of columns, 0 to 4.
func (b *bench) choices(t *workload.Table, epsilon float64) ([5]choice, error) {
	var sums [5]choice
	var asked [5]forecastWorkload
	for order := range asked {
		w, err := workload.LowOrder(t, order)
		if err != nil {
			return sums, err
		}
		asked[order] = b.sampled(w, order, size(b, mostChoices, 100))
	}
	spend, err := newBudget(epsilon)
	if err != nil {
		return sums, err
	}
	reps := min(chosenReps, b.reps)
	for range reps {
		r, fit, err := buildIdentity(t, spend, noise.NewSource())
		if err != nil {
			return sums, err
		}
		if err := fit.Simulate(context.Background(), noise.NewSource, nil); err != nil {
			return sums, err
		}
		for order, w := range asked {
			if err := w.choose(r, fit, &sums[order]); err != nil {
				return sums, err
			}
		}
	}
	for order, w := range asked {
		n := float64(reps * len(w.Queries))
		c := sums[order]
		sums[order] = choice{math.Sqrt(c.cells / n), math.Sqrt(c.fitted / n), math.Sqrt(c.chosen / n), c.share / n}
	}
	return sums, nil
}

// choose adds the squared errors of one release, and the number of queries that the fit
// answers.
func (w forecastWorkload) choose(r *projection.Release, fit *marginals.Release, sums *choice) error {
	for _, q := range w.Queries {
		own, err := estimate(r, q.Query)
		if err != nil {
			return err
		}
		fitted, err := fit.Answer(context.Background(), q.Query, 0.95)
		if err != nil {
			return err
		}
		predicted, err := fit.SimulatedError(q.Query)
		if err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
		value := own
		if predicted*predicted < r.Params().Law.Variance()*q.SumSquares() {
			value, sums.share = fitted.Value, sums.share+1
		}
		sums.cells += square(own - q.Count)
		sums.fitted += square(fitted.Value - q.Count)
		sums.chosen += square(value - q.Count)
	}
	return nil
}
