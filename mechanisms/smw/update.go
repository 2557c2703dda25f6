package smw

import (
	"math"

	"dpsql/query"
)

// Step is one update: a query and the noisy count the hypothesis learned. The
// sequence of steps is all there is to store of a hypothesis.
type Step struct {
	Query query.Query
	Noisy int64
}

// passes is how often the history is replayed after an update.
const passes = 10

// Update teaches the hypothesis the noisy count of a query, by Algorithm 1 or
// by projection. It assigns variables to the query's elements and fails with
// ErrFailure, changing nothing, when there are too few; a query that the
// parameters do not admit is refused likewise.
//
// With Projection the history is then replayed, at most ten times, for the
// pairs that the hypothesis is off by more than Params.Replay. That reads
// nothing private: it is post-processing.
func (h *Hypothesis) Update(q query.Query, noisy int64) error {
	if err := h.params.Admits(q); err != nil {
		return err
	}
	p, err := h.assign(q)
	if err != nil {
		return err
	}
	p.noisy = float64(noisy)
	h.cut.Add(q)
	h.history, h.lambda = append(h.history, p), append(h.lambda, 0)
	h.learn(p)
	if h.params.Update == Projection {
		h.replay()
	}
	return nil
}

// learn moves the weights of one pair by the update rule.
func (h *Hypothesis) learn(p *pair) {
	if len(p.groups) == 0 {
		return
	}
	switch {
	case h.params.Update == Paper:
		h.paperStep(p)
	case len(p.groups) == 1 && p.groups[0].q == 1:
		h.project(p)
	default:
		h.tilt(p)
	}
	h.settle()
}

func (h *Hypothesis) replay() {
	for range passes {
		moved := false
		for _, p := range h.history {
			if math.Abs(h.answer(p)*h.params.mass()-p.noisy) > float64(h.params.Replay) {
				h.learn(p)
				moved = true
			}
		}
		if !moved {
			return
		}
	}
}

// answer returns q(D_t) of a pair.
func (h *Hypothesis) answer(p *pair) float64 {
	inside := 0.0
	for _, g := range p.groups {
		part := 0.0
		for _, i := range g.slots {
			part += h.weights[i]
		}
		inside += g.q * part
	}
	return clip(inside/h.total(), 0, 1)
}
