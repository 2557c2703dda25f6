package audit

import (
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/query"
)

// The queries of a guard's case: one of four conditions that fires, and the broader ones,
// of two and of three conditions.
const (
	pairs   = 6
	triples = 4
)

// broaderQueries is a guard of two runs that is asked one query. It fires, and the guard
// compares the broader ones in its next run. The record of zeros, of which D′ has a unit
// more, is in all of them. In D the query is below the hypothesis by the threshold, the
// pairs are above it by nearly as much, and the triples below it.
func broaderQueries(unit int64) (Case, error) {
	g, err := newGuarded(2, unit)
	return Case{
		Name: "SMW, broader queries", Claim: pure(2 * eachRun),
		Shows:   []string{"gap", "broader fired at", "gap of the broader"},
		Run:     g.search,
		Suspect: func(o Output) bool { return o[0] < 0 && o[1] > pairs && o[2] < 0 },
	}, err
}

// guarded is a guard and what it compares: a query and the broader ones, with their counts
// in D.
type guarded struct {
	params  smw.Params
	unit    int64
	queries []query.Query
	counts  []int64
}

func newGuarded(runs, unit int64) (g guarded, err error) {
	u, err := binary(4)
	if err != nil {
		return g, err
	}
	r := request(runs, runs*(1+pairs+triples), unit, eachRun)
	r.Fitted = true
	if g.params, err = smw.Plan(r); err != nil {
		return g, err
	}
	g.unit = unit
	state, err := smw.EncodeFitted(u, make([]float64, records), [][]int{{0}, {1}, {2}, {3}}, g.params.NHat)
	if err != nil {
		return g, err
	}
	from, err := smw.DecodeFitted(u, state)
	if err != nil {
		return g, err
	}
	var zeros []query.ColumnSet
	for i, c := range u.Columns() {
		zeros = append(zeros, query.ColumnSet{Column: i, Set: c.Domain.SetOf(query.Int(0))})
	}
	q := query.Conjunction(u, zeros)
	h := smw.NewHypothesis(g.params, u, from)
	g.queries = append(g.queries, q)
	g.queries = append(g.queries, h.Broader(q)...)
	for _, q := range g.queries {
		g.counts = append(g.counts, h.Count(q)+g.off(q))
	}
	return g, nil
}

// off returns by how much the count of a query is above the first hypothesis in D.
func (g guarded) off(q query.Query) int64 {
	if len(q.Columns()) == 2 {
		return g.params.Threshold - g.unit
	}
	return -g.params.Threshold
}

// search shows the gap of the query, which of the broader ones fired, from 1, and its gap.
// All are compared with the first hypothesis.
func (g guarded) search(changed bool, src *noise.Source) (o Output, err error) {
	var run smw.Run
	for i, q := range g.queries {
		if i < 2 { // the query's run, and that of the broader ones
			if run, err = smw.StartRun(g.params, src); err != nil {
				return o, err
			}
		}
		answer := g.counts[i] - g.off(q)
		out, err := run.Test(rows(g.counts[i], g.unit, changed), answer, src)
		switch {
		case err != nil || i == 0 && !out.Fired:
			return o, err
		case i == 0:
			o[0] = out.Noisy - answer
		case out.Fired:
			return Output{o[0], int64(i), out.Noisy - answer}, nil
		}
	}
	return o, nil
}
