package smw

import (
	"maps"
	"math"
	"slices"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Step is one update: a query and the noisy count the hypothesis learned. The
// sequence of steps is all there is to store of a hypothesis.
type Step struct {
	Query query.Query
	Noisy int64
}

// pair is a step in terms of the variables: those of the query's support,
// grouped by weight, ascending.
type pair struct {
	noisy  float64
	groups []group
}

// group is the part of a support that has one weight, as a fraction of W.
type group struct {
	q     float64
	slots []uint32
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
	h.updates++
	h.learn(p)
	if h.params.Update == Projection {
		h.history = append(h.history, p)
		h.replay()
	}
	return nil
}

// learn moves the weights of one pair by the update rule.
func (h *Hypothesis) learn(p pair) {
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
func (h *Hypothesis) answer(p pair) float64 {
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

// assign gives a variable to every element of the support that has none, and
// returns the support as variables.
func (h *Hypothesis) assign(q query.Query) (pair, error) {
	fresh, byWeight := uint64(0), make(map[int64]int)
	for e, w := range h.coder.Elements(q) {
		byWeight[w]++
		if _, ok := h.slots[e]; !ok {
			fresh++
		}
	}
	used := uint64(len(h.weights))
	if used > h.params.S || fresh > h.params.S-used {
		return pair{}, ErrFailure
	}
	if used+fresh > math.MaxUint32 {
		return pair{}, sqlerr.New(sqlerr.Unsupported, "the mechanism has learned more elements than it can hold")
	}
	return h.grouped(q, byWeight), nil
}

// grouped returns the support as variables, assigning them as needed, given how
// many elements have each weight.
func (h *Hypothesis) grouped(q query.Query, byWeight map[int64]int) pair {
	weights := slices.Sorted(maps.Keys(byWeight))
	groups := make([]group, len(weights))
	for i, w := range weights {
		groups[i].q = float64(w) / float64(h.params.MaxWeight)
		groups[i].slots = make([]uint32, 0, byWeight[w])
		byWeight[w] = i
	}
	for e, w := range h.coder.Elements(q) {
		g := &groups[byWeight[w]]
		g.slots = append(g.slots, h.slot(e))
	}
	return pair{groups: groups}
}

// slot returns the variable of an element, a new one if it has none.
func (h *Hypothesis) slot(e query.Element) uint32 {
	if i, ok := h.slots[e]; ok {
		return i
	}
	i := uint32(len(h.weights))
	first := h.initial(e)
	h.slots[e] = i
	h.weights = append(h.weights, first*h.unit)
	h.assigned = h.assigned.plus(first * h.unit)
	h.rest = h.rest.plus(-first)
	if h.prior == nil && uint64(len(h.weights)) == h.params.S {
		h.rest = sum{}
	}
	return i
}
