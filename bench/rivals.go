package main

import (
	"math"

	"dpsql/bench/baseline"
	"dpsql/bench/workload"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/query"
)

// densePMW is the mechanism of Hardt and Rothblum with their constants.
func densePMW() mechanism {
	return mechanism{name: "dense PMW, [HR10]'s constants", role: rival, answer: func(w *workload.Workload, spend budget, src *noise.Source) (answers, error) {
		t := w.Table
		p := baseline.PaperPMW(t.Size(), t.Rows, len(w.Queries), spend.epsilon.Float(), spend.delta.Float(), beta)
		m := baseline.NewPMW(t.Size(), t.Rows)
		a, err := eachAlone(w, func(q workload.Query) (float64, error) {
			n, ok, err := m.Answer(q.Query, q.Count, p, src)
			if !ok {
				n = math.NaN()
			}
			return n, err
		})
		a.learned = &learned{updates: m.Updates}
		return a, err
	}}
}

// calibratedPMW is the same algorithm with SMW's private test and accounting.
func (b *bench) calibratedPMW() mechanism {
	return tuned("dense PMW, today's accounting", rival, "B", b.runs(), func(runs int) mechanism {
		return mechanism{answer: func(w *workload.Workload, spend budget, src *noise.Source) (answers, error) {
			p, err := planOnline(w, spend, smw.Request{Update: smw.Paper, MaxUpdates: int64(runs)}, src)
			if err != nil {
				return answers{}, err
			}
			queries, counts := split(w)
			m := baseline.NewPMW(w.Table.Size(), w.Table.Rows)
			a, unverified, err := m.AnswerAll(queries, counts, p.Params, src)
			return answers{a, &learned{updates: m.Updates, unverified: unverified}}, err
		}}
	})
}

// rounds are the numbers of rounds that MWEM is tried with.
func (b *bench) rounds() []int { return size(b, []int{5, 10, 20, 30, 50, 100}, []int{5, 10}) }

// mwem is MWEM as its Figure 1 has it, or with replays.
func (b *bench) mwem(name string, replays int) mechanism {
	return tuned(name, rival, "T", b.rounds(), func(rounds int) mechanism {
		return mechanism{answer: func(w *workload.Workload, spend budget, src *noise.Source) (answers, error) {
			m := baseline.MWEM{Rounds: rounds, Epsilon: spend.epsilon.Float(), Rows: w.Table.Rows, Replays: replays}
			queries, counts := split(w)
			a, err := m.Answer(w.Table.Size(), queries, counts, src)
			return answers{counts: a}, err
		}}
	})
}

// replayed is MWEM with replays.
func (b *bench) replayed() mechanism { return b.mwem("MWEM, 10 replays", 10) }

// stability is the stability histogram.
func stability() mechanism {
	return mechanism{name: "stability histogram", role: rival, release: true, answer: func(w *workload.Workload, spend budget, src *noise.Source) (answers, error) {
		law, err := spend.laplace(1)
		if err != nil {
			return answers{}, err
		}
		threshold := baseline.StabilityThreshold(spend.epsilon.Float(), spend.delta.Float())
		s, err := baseline.NewStability(w.Table.Elements(), law, threshold, src)
		if err != nil {
			return answers{}, err
		}
		return eachAlone(w, func(q workload.Query) (float64, error) { return float64(s.Answer(q.Query)), nil })
	}}
}

func split(w *workload.Workload) (queries []query.Query, counts []int64) {
	for _, q := range w.Queries {
		queries, counts = append(queries, q.Query), append(counts, q.Count)
	}
	return queries, counts
}
