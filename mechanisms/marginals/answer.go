package marginals

import (
	"context"
	"math"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Answer is a release's answer to a query, in counts.
type Answer struct {
	Value int64 // the estimate, rounded
	// Verified says that the query is on the columns of a measured marginal. Only then
	// the interval from Low to High holds the true count, at the confidence asked for. Its
	// ends are whole. The unbiased Value is its middle, and a fitted one need not be in it.
	// Margin is the larger distance of an end.
	Verified          bool
	Low, High, Margin float64
}

// Answer answers q, a query over the release's universe, from the fitted table, or by the
// unbiased estimate where Params say so and there is one.
//
// The interval holds for any q that was chosen without looking at the noise. It is that of
// the theorem at margin, and lies around the unbiased estimate, whichever answers.
//
// The time is proportional to the cells of the marginal over the query's columns, and at
// the first query on them to those of the table.
func (r *Release) Answer(ctx context.Context, q query.Query, confidence float64) (Answer, error) {
	return r.answer(ctx, q, confidence, r.p.Unbiased)
}

// Unbiased answers q by the unbiased estimate, where there is one. Its interval is that of
// Answer, so whoever chooses between the two loses no confidence.
func (r *Release) Unbiased(ctx context.Context, q query.Query, confidence float64) (Answer, error) {
	return r.answer(ctx, q, confidence, true)
}

func (r *Release) answer(ctx context.Context, q query.Query, confidence float64, wanted bool) (Answer, error) {
	if !r.HasTable() && !(wanted && r.measured(q)) {
		return Answer{}, sqlerr.New(sqlerr.Internal, "the release has no table for the query")
	}
	columns, weights, err := r.weigh(q, confidence)
	if err != nil {
		return Answer{}, err
	}
	if err := contextError(ctx); err != nil {
		return Answer{}, err
	}
	unbiased, variance, ok := r.unbiased(columns, weights)
	estimate := unbiased
	if !ok || !wanted {
		estimate = 0
		for c, m := range r.expected(columns) {
			estimate += weights[c] * m
		}
	}
	if !(math.Abs(estimate) < 1<<62) {
		return Answer{}, sqlerr.New(sqlerr.Unsupported, "the answer of this release to the query may not fit 64 bits")
	}
	a := Answer{Value: int64(math.Round(estimate)), Verified: ok}
	if ok {
		value := float64(a.Value)
		a.Low, a.High = whole(unbiased, r.margin(variance, confidence))
		a.Margin = max(a.High-value, value-a.Low)
		if wanted {
			a.Low, a.High = value-a.Margin, value+a.Margin
		}
	}
	return a, nil
}

// whole returns the least and the largest integer within a half-width of the middle. Where
// there is none, it returns the integers on both sides.
func whole(middle, halfWidth float64) (low, high float64) {
	low, high = math.Ceil(middle-halfWidth), math.Floor(middle+halfWidth)
	return min(low, high), max(low, high)
}

// Predict returns the half-width of the unbiased answer to q. It depends on public
// parameters alone. It is false where there is none.
func (r *Release) Predict(q query.Query, confidence float64) (float64, bool, error) {
	if !r.measured(q) {
		return 0, false, nil
	}
	columns, weights, err := r.weigh(q, confidence)
	if err != nil {
		return 0, false, err
	}
	_, variance, ok := r.unbiased(columns, weights)
	return r.margin(variance, confidence), ok, nil
}

// measured reports whether a measured marginal has all columns of q.
func (r *Release) measured(q query.Query) bool {
	_, ok := r.parts[key(q.Columns())]
	return ok
}

// Simulates reports whether the release answers from its fitted table and has
// simulations.
func (r *Release) Simulates() bool { return len(r.simulated) > 0 && !r.p.Unbiased }

// SimulatedMargin returns the half-width that the simulations suggest for the fitted
// answer to q. No theorem stands behind it. Without simulations it is an error.
func (r *Release) SimulatedMargin(q query.Query, confidence float64) (float64, error) {
	columns, weights, err := r.weigh(q, confidence)
	if err != nil {
		return 0, err
	}
	margin, ok := r.simulatedMargin(columns, weights, confidence)
	if !ok {
		return 0, sqlerr.New(sqlerr.Internal, "the release has no simulations")
	}
	return margin, nil
}

// SimulatedError returns the root mean square error of the fitted answer to q that the
// simulations suggest, in counts: √((1 + Σ squared errors)/B), bias and all. Without
// simulations it is an error.
func (r *Release) SimulatedError(q query.Query) (float64, error) {
	columns, weights, err := r.weigh(q, 0.5)
	if err != nil {
		return 0, err
	}
	if len(r.simulated) == 0 {
		return 0, sqlerr.New(sqlerr.Internal, "the release has no simulations")
	}
	return math.Sqrt(r.simulatedSquares(columns, weights) / float64(len(r.simulated))), nil
}

// BetterThanCells reports whether the simulations of a table that was fitted to cells predict
// that it errs less than sums of the cells do, in mean square over all counts by one column.
// These are the sums that a fit improves least: it trades their noise for bias. It is
// post-processing of the noisy cells.
func (r *Release) BetterThanCells() bool {
	fit, cells := 0.0, 0.0
	for c := range r.shape.sizes {
		for b := range r.simulated {
			for _, e := range r.errorMarginal(b, []int{c}) {
				fit += e * e
			}
		}
		cells += float64(r.shape.cells) * r.p.Sigma2 // each of n counts is the sum of 1/n of the cells
	}
	return fit < cells*float64(len(r.simulated))
}

// weigh returns the query's columns and its weights over the cells of their marginal.
func (r *Release) weigh(q query.Query, confidence float64) ([]int, []float64, error) {
	return weigh(r.shape.sizes, q, confidence)
}

func weigh(sizes []int, q query.Query, confidence float64) ([]int, []float64, error) {
	if !(confidence > 0 && confidence < 1) {
		return nil, nil, sqlerr.New(sqlerr.Invalid, "a confidence must lie between 0 and 1")
	}
	columns := q.Columns()
	narrow, ok := q.Project(columns)
	if !ok {
		return nil, nil, sqlerr.New(sqlerr.Internal, "the query is over another universe than the release")
	}
	weights := make([]float64, product(within(sizes, columns)))
	for run, weight := range narrow.Runs() {
		for i := range run.Len {
			weights[run.Start+i] = float64(weight)
		}
	}
	return columns, weights, nil
}

// Fitted returns the counts of the fitted table, summed over all but some columns, by code.
// columns are ascending. Callers must not change the result. It is nil if the release keeps
// no table.
func (r *Release) Fitted(columns []int) []float64 {
	if r.table == nil {
		return nil
	}
	return r.expected(columns)
}

// expected returns the marginal of the fitted table over some columns.
func (r *Release) expected(columns []int) []float64 {
	return r.remembered(-1, columns, func(l *layout, out []float64) { sum(l, r.table, out) })
}

// errorMarginal returns the errors of a simulation, in counts, at the cells of the marginal
// over some columns.
func (r *Release) errorMarginal(b int, columns []int) []float64 {
	return r.remembered(b, columns, func(l *layout, out []float64) {
		sum(l, r.simulated[b].errors, out)
		for c := range out {
			out[c] *= r.simulated[b].step
		}
	})
}

// remembered returns a marginal of the fitted table (b = -1) or of a simulation.
//
// They are remembered, while their cells are few beside those of the table: summing a table
// of 2 million cells takes 2 ms, and what follows some 20 µs (BenchmarkAnswer).
func (r *Release) remembered(b int, columns []int, compute func(l *layout, out []float64)) []float64 {
	k := marginalKey{b, key(columns)}
	if m, ok := r.marginals.Load(k); ok {
		return m.([]float64)
	}
	l := r.shape.layout(columns)
	m := make([]float64, l.size)
	compute(&l, m)
	if r.remembering.Add(int64(l.size)) <= int64(4*r.shape.cells)+manyCells {
		r.marginals.Store(k, m)
	}
	return m
}

type marginalKey struct {
	simulation int
	columns    string
}
