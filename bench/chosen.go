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
	"dpsql/noise/coin"
)

// chosen measures identity releases that choose between their cells and the table fitted
// to them, once for all queries as is the default, or query by query as estimate = auto
// does, beside those that do not.
func (b *bench) chosen(s *report.Section) error {
	tables, err := b.chosenTables()
	if err != nil {
		return err
	}
	s.Say(`RMS errors in counts of all counts of marginals over so many columns (0 is the number of rows, of more than %s counts as many, evenly), from one identity release.
*Cells* is their sum; *fitted* is the table fitted to them. Either errs less by prediction: by the exact law of the noise, or by the simulations that are stored with
the fit. The *default* has one for all queries, by the prediction for all counts by one column, and *auto* has one for each query. Mean squares over %d
releases. The rule of *auto* was made on Adult and flights, and that of the default on the first six tables; both were looked at once on the last three.`, report.Number(mostChoices), chosenReps)
	table := &report.Table{Head: []string{"table", "cells", "ε", "columns", "error of cells", "fitted", "default", "auto", "default over cells", "auto over cells"}}
	var worst choice
	for _, t := range tables {
		for _, epsilon := range size(b, []float64{0.1, 1, 3}, []float64{1}) {
			b.note("  %s at ε = %v", t.Name, epsilon)
			list, err := b.choices(t, epsilon)
			if err != nil {
				return err
			}
			for order, c := range list {
				settled, auto := c.settled/c.cells, c.auto/c.cells
				worst.settled, worst.auto = max(worst.settled, settled), max(worst.auto, auto)
				table.Add(t.Name, report.Number(float64(t.Size())), epsilon, order, c.cells, c.fitted, c.settled, c.auto, settled, auto)
			}
		}
	}
	s.Show("", table)
	s.Say("At worst the default has %s times the error of the cells, and auto %s times.", report.Number(worst.settled), report.Number(worst.auto))
	return nil
}

// mostChoices bounds the queries of a workload, and chosenReps the releases of a table.
const (
	mostChoices = 1000
	chosenReps  = 5
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
	for _, read := range []func(folder string) ([]*workload.Table, error){workload.Blind, workload.BlindToMargins} {
		blind, err := read(b.testdata + "/blind")
		if err != nil {
			return nil, err
		}
		for _, t := range blind {
			few := t.Project([]int{0, 1, 2, 3, 4})
			few.Name = t.Name + ", 5 columns"
			tables = append(tables, few)
		}
	}
	return tables, nil
}

// choice has RMS errors: of the cells, of the fit, of what is chosen for all queries, and for
// each.
type choice struct{ cells, fitted, settled, auto float64 }

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
		if err := fit.Simulate(context.Background(), coin.NewSource, nil); err != nil {
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
		sums[order] = choice{math.Sqrt(c.cells / n), math.Sqrt(c.fitted / n), math.Sqrt(c.settled / n), math.Sqrt(c.auto / n)}
	}
	return sums, nil
}

// choose adds the squared errors of one release.
func (w forecastWorkload) choose(r *projection.Release, fit *marginals.Release, sums *choice) error {
	better := fit.BetterThanCells()
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
		settled, auto := own, own
		if better {
			settled = fitted.Value
		}
		if predicted*predicted < r.Params().Law.Variance()*q.SumSquares() {
			auto = fitted.Value
		}
		sums.cells += square(own - q.Count)
		sums.fitted += square(fitted.Value - q.Count)
		sums.settled += square(settled - q.Count)
		sums.auto += square(auto - q.Count)
	}
	return nil
}
