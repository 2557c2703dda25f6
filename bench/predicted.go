package main

import (
	"context"
	"fmt"
	"math"

	"dpsql/bench/report"
	"dpsql/bench/workload"
	"dpsql/noise"
	"dpsql/noise/coin"
)

// forecastWorkload is a workload, and the degree of the marginals that answer it with an
// error bar.
type forecastWorkload struct {
	*workload.Workload
	degree int
	reps   int
}

// predicted compares measured RMS errors with those that are predicted: of identity
// releases and of least squares on marginals before anything is measured, and of fitted
// tables from the simulations of each.
func (b *bench) predicted(s *report.Section) error {
	list, err := b.forecastWorkloads()
	if err != nil {
		return err
	}
	s.Say(`RMS errors in counts, and how many times that is measured. The error of an *identity* release and of least squares on *marginals* (*unbiased*) is predicted
from the sizes of the domains, ε and δ = 10⁻⁶ alone; the planner goes by these two. That of a table *fitted* to the same marginals depends on the rows: it is
predicted from the simulations of each release, which are stored with it, and the planner goes by it under `+"`SET margins = simulated`"+`. Mean squares over up to %s
queries, evenly from the workload, and %d releases (2 of PUMS and flights, 1 of Adult's 8 columns). The aim is a ratio of 0.8 to 1.25.`, report.Number(mostForecast), b.reps)
	table := &report.Table{Head: []string{"workload", "marginals over", "ε", "identity, predicted", "identity, measured over predicted",
		"unbiased, predicted", "unbiased, measured over predicted", "fitted, predicted", "fitted, measured over predicted"}}
	least, most := math.Inf(1), 0.0
	for _, w := range list {
		for _, epsilon := range size(b, []float64{0.1, 1, 3}, []float64{1}) {
			b.note("  %s at ε = %v", w.Name, epsilon)
			f, err := w.forecast(epsilon)
			if err != nil {
				return err
			}
			row := []any{w.Name, fmt.Sprintf("%d columns", w.degree), epsilon}
			for _, m := range f {
				ratio := m.measured / m.predicted
				least, most = min(least, ratio), max(most, ratio)
				row = append(row, m.predicted, ratio)
			}
			table.Add(row...)
		}
	}
	s.Show("", table)
	s.Say("The ratios lie between %s and %s.", report.Number(least), report.Number(most))
	return nil
}

// forecastWorkloads are all counts of 3-way marginals, 2-way ones of the flights of an
// airport, and W2, whose queries are over four columns.
func (b *bench) forecastWorkloads() (list []forecastWorkload, err error) {
	w2, err := b.adultWorkload()
	if err != nil {
		return nil, err
	}
	if list = append(list, forecastWorkload{w2, 4, b.reps}); b.quick {
		return list, nil
	}
	for _, read := range []func() (*workload.Table, error){
		func() (*workload.Table, error) { return workload.AdultFew(b.testdata + "/adult/adult.csv") },
		func() (*workload.Table, error) { return workload.PUMS(b.testdata + "/pums/PUMS.csv") },
		func() (*workload.Table, error) { return workload.AdultMore(b.testdata + "/adult/adult.csv") },
	} {
		t, err := read()
		if err != nil {
			return nil, err
		}
		w, err := workload.LowOrder(t, 3)
		if err != nil {
			return nil, err
		}
		list = append(list, b.sampled(w, 3, mostForecast))
	}
	flights, err := workload.Flights(b.testdata+"/flights/flights.csv.gz", b.testdata+"/flights/airports.csv")
	if err != nil {
		return nil, err
	}
	flights = flights.Project([]int{0, 2, 3})
	flights.Name = "flights, 3 columns"
	w, err := workload.LowOrder(flights, 2)
	if err != nil {
		return nil, err
	}
	return append(list, b.sampled(w, 2, mostForecast)), nil
}

// mostForecast bounds the queries of a workload.
const mostForecast = 5000

// sampled returns a workload of at most most queries, and with fewer repetitions on large
// tables.
func (b *bench) sampled(w *workload.Workload, degree, most int) forecastWorkload {
	f := forecastWorkload{&workload.Workload{Name: w.Name, Table: w.Table}, degree, b.reps}
	step := len(w.Queries)/most + 1
	for i := 0; i < len(w.Queries); i += step {
		f.Queries = append(f.Queries, w.Queries[i])
	}
	switch size := w.Table.Size(); {
	case size > 1<<20:
		f.reps = 1
	case size > 1<<15:
		f.reps = min(2, b.reps)
	}
	return f
}

// forecastError is an RMS error over a workload.
type forecastError struct{ predicted, measured float64 }

// forecast returns the errors of identity, of least squares and of the fit.
func (w forecastWorkload) forecast(epsilon float64) (f [3]forecastError, err error) {
	spend, err := newBudget(epsilon)
	if err != nil {
		return f, err
	}
	if f[0], err = w.ofIdentity(spend); err != nil {
		return f, err
	}
	p, err := marginalsParams(w.Table, w.degree, spend)
	if err != nil {
		return f, err
	}
	var predicted, measured [2]float64 // sums of squares: of least squares and of the fit
	for _, q := range w.Queries {
		before, covered, err := p.Predict(w.Table.Universe, q.Query, 0.95)
		if err != nil || !covered {
			return f, fmt.Errorf("%s: a query is not covered: %v", w.Name, err)
		}
		predicted[0] += before.Deviation * before.Deviation * float64(w.reps)
	}
	for range w.reps {
		r, err := buildMarginals(w.Table, w.degree, spend, noise.NewSource())
		if err != nil {
			return f, err
		}
		if err := r.Simulate(context.Background(), coin.NewSource, nil); err != nil {
			return f, err
		}
		for _, q := range w.Queries {
			simulated, err := r.SimulatedError(q.Query)
			if err != nil {
				return f, err
			}
			unbiased, err := r.Unbiased(context.Background(), q.Query, 0.95)
			if err != nil {
				return f, err
			}
			fitted, err := r.Answer(context.Background(), q.Query, 0.95)
			if err != nil {
				return f, err
			}
			predicted[1] += simulated * simulated
			measured[0] += square(unbiased.Value - q.Count)
			measured[1] += square(fitted.Value - q.Count)
		}
	}
	n := float64(w.reps * len(w.Queries))
	for i := range predicted {
		f[i+1] = forecastError{math.Sqrt(predicted[i] / n), math.Sqrt(measured[i] / n)}
	}
	return f, nil
}

func (w forecastWorkload) ofIdentity(spend budget) (f forecastError, err error) {
	squares, variance := 0.0, 0.0
	for range w.reps {
		r, err := buildRaw(w.Table, spend, noise.NewSource())
		if err != nil {
			return f, err
		}
		for _, q := range w.Queries {
			n, err := estimate(r, q.Query)
			if err != nil {
				return f, err
			}
			squares += square(n - q.Count)
			variance += r.Params().Law.Variance() * q.SumSquares()
		}
	}
	n := float64(w.reps * len(w.Queries))
	return forecastError{math.Sqrt(variance / n), math.Sqrt(squares / n)}, nil
}

func square(n int64) float64 { return float64(n) * float64(n) }
