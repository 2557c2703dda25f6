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
	case p.plain():
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
			b := h.answer(p)
			if math.Abs(b*h.params.mass()-p.noisy) > float64(h.params.Replay) && h.moves(p, b) {
				h.learn(p)
				moved = true
			}
		}
		if !moved {
			return
		}
	}
}

// moves reports whether learning a pair once more would move its answer, which
// is b, by a count or more. A pair whose noisy count lies beyond Params.Floor is
// off for good once its answer is at the floor.
func (h *Hypothesis) moves(p *pair, b float64) bool {
	short := 0.0
	if !p.plain() {
		short = h.shortfall()
	}
	a, ok := h.target(p, b, short)
	return ok && math.Abs(a-b)*h.params.mass() >= 1
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
