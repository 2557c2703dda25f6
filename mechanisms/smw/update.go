package smw

import (
	"math"

	"dpsql/query"
)

// Step is one update: a query and the noisy count that the hypothesis learned.
// A hypothesis is stored as the sequence of its steps.
type Step struct {
	Query query.Query
	Noisy int64
}

// maxReplays bounds the replays of the history after an update.
const maxReplays = 10

// Update teaches the hypothesis the noisy count of a query, by Algorithm 1 or
// by projection. It assigns variables to the query's elements. If there are too
// few, it fails with ErrFailure and changes nothing. It also refuses a query
// that the parameters do not admit.
//
// With Projection it then replays the history, at most ten times, for the pairs
// whose answer is off by more than Params.Replay. That reads nothing private:
// it is post-processing.
func (h *Hypothesis) Update(q query.Query, noisy int64) error {
	if err := h.params.Admits(q); err != nil {
		return err
	}
	if h.guard != nil {
		h.guard.add(Step{q, noisy})
		return nil
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

// Broader returns the queries that a guard compares after one that fired, before it takes
// the next question: those with fewer of its conditions, the fewest first, that are about
// columns which the release did not measure together. The caller compares them with the
// hypothesis as it was before the firing, whose noisy count would show in all of them. What
// the release does not know is mostly about few columns, and many questions share it. A
// noisy count of all that it is about corrects them all, and is a smaller part of that
// count. Only conjunctions have broader queries, and only those of a guard.
//
// Privacy. The private test serves any queries that an analyst chooses by the answers so
// far (Run.Test). Broader depends on the query that fired, on what the release measured and
// on the parameters, all of which she knows. So a mechanism that asks broader queries is
// one without, and an analyst who asks them. The outcomes are not shown to her, but in the
// answers that follow. Each is a comparison like any other: it counts in k, and needs a
// run, which it ends where it fires.
func (h *Hypothesis) Broader(q query.Query) []query.Query {
	if h.guard == nil {
		return nil
	}
	return h.guard.broader(q, &h.params)
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
	for range maxReplays {
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

// moves reports whether learning a pair once more would move its answer b by a
// count or more. A pair whose noisy count lies beyond Params.Floor stays off
// once its answer is at the floor.
func (h *Hypothesis) moves(p *pair, b float64) bool {
	short := 0.0
	if !p.plain() {
		short = h.shortfall()
	}
	a, ok := h.target(p, b, short)
	return ok && math.Abs(a-b)*h.params.mass() >= 1
}

// answer returns q(D_t) for the query of a pair.
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

// paperStep is the update of Algorithm 1: a factor e^{−ηq(x)} where the noisy
// count is below the hypothesis's answer, and e^{ηq(x)} otherwise.
func (h *Hypothesis) paperStep(p *pair) {
	eta := h.params.Eta
	if p.noisy/h.params.mass() < h.answer(p) {
		eta = -eta
	}
	h.move(p, eta)
}

// project moves a 0/1 query's answer b to the noisy one, a, by the factor
// a(1−b)/(b(1−a)) on its support. This is the projection in relative entropy
// onto the hypotheses that answer a. It never moves away from a, which clipping
// could ask for, and does nothing if the support is the whole universe.
func (h *Hypothesis) project(p *pair) {
	g := p.groups[0]
	inside := h.inside(g)
	outside := h.assigned.sub(inside).value() + max(h.rest.value(), 0)*h.unit
	a, ok := h.target(p, h.answer(p), 0)
	if !ok || outside <= 0 || inside.value() <= 0 {
		return
	}
	scale := a / (1 - a) * outside
	now := inside.value()
	after := sum{}
	for _, i := range g.slots {
		h.weights[i] = max(h.weights[i]/now*scale, minWeight)
		after = after.plus(h.weights[i])
	}
	h.assigned = h.assigned.sub(inside).add(after)
	h.lambda[p.step] += math.Log(scale / now)
}

// target returns the answer at which a projection from b aims. That is the
// noisy count as a fraction, moved back by short against the direction of the
// move, and clipped by Params.Floor. target returns false where that would
// reverse the move.
func (h *Hypothesis) target(p *pair, b, short float64) (float64, bool) {
	a := p.noisy / h.params.mass()
	up := a > b
	if up {
		short = -short
	}
	floor := h.floor()
	a = clip(a+short, floor, 1-floor)
	return a, (a > b) == up
}

// floor returns the least fraction that a projection gives a query. It is at
// most a quarter, which matters for tables so small that answers are all noise.
func (h *Hypothesis) floor() float64 {
	return min(float64(h.params.Floor)/h.params.mass(), 0.25)
}

// tilt is the projection for weighted queries: the factor e^{λq(x)} with the λ
// that makes the answer equal to the noisy one. For weights 0 and 1 that is
// project's factor. Where an accuracy is guaranteed, tilt aims short of the
// noisy answer by Params.Floor, which bounds the error of that answer. So it
// never passes the true answer d. As the variance of q is at most 1/4, the
// potential of Lemma 3.7 falls by at least 2(b−d)² − 2(a−d)², which is above
// γ²/4 where the noisy answer is T = 3·Floor from b. The 0/1 projection needs
// no such care.
func (h *Hypothesis) tilt(p *pair) {
	a, ok := h.target(p, h.answer(p), h.shortfall())
	if !ok {
		return
	}
	t := h.newTilted(p)
	lambda := t.solve(min(a, t.top*(1-h.floor())))
	h.move(p, lambda)
}

// shortfall returns the distance from the noisy answer at which a tilt stops.
func (h *Hypothesis) shortfall() float64 {
	if h.params.Alpha > 0 {
		return h.floor()
	}
	return 0
}

// tilted is the law of q under the hypothesis, by distinct values of q.
type tilted struct {
	q, mass []float64
	outside float64 // the mass where q is 0
	top     float64 // the largest q
}

func (h *Hypothesis) newTilted(p *pair) tilted {
	t := tilted{top: p.groups[len(p.groups)-1].q}
	left := h.assigned
	for _, g := range p.groups {
		in := h.inside(g)
		t.q = append(t.q, g.q)
		t.mass = append(t.mass, in.value())
		left = left.sub(in)
	}
	t.outside = max(left.value(), 0) + max(h.rest.value(), 0)*h.unit
	return t
}

// mean returns the answer after a tilt by λ.
func (t tilted) mean(lambda float64) float64 {
	shift := max(lambda*t.top, 0) // keeps the exponents at or below 0
	num, den := 0.0, t.outside*math.Exp(-shift)
	for i, q := range t.q {
		m := t.mass[i] * math.Exp(lambda*q-shift)
		num += q * m
		den += m
	}
	return num / den
}

// solve returns the λ with mean(λ) = a, or the nearest end of its range. One
// step changes no weight by more than a factor e^400.
func (t tilted) solve(a float64) float64 {
	lo, hi := -400/t.top, 400/t.top
	for range 100 {
		mid := (lo + hi) / 2
		if t.mean(mid) < a {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

func (h *Hypothesis) inside(g group) sum {
	s := sum{}
	for _, i := range g.slots {
		s = s.plus(h.weights[i])
	}
	return s
}

// move multiplies the weight of x by e^{λq(x)}.
func (h *Hypothesis) move(p *pair, lambda float64) {
	for _, g := range p.groups {
		h.multiply(g, math.Exp(lambda*g.q))
	}
	h.lambda[p.step] += lambda
}

// multiply multiplies the weights of a group and updates the total.
func (h *Hypothesis) multiply(g group, factor float64) {
	before, after := sum{}, sum{}
	for _, i := range g.slots {
		before = before.plus(h.weights[i])
		h.weights[i] = max(h.weights[i]*factor, minWeight)
		after = after.plus(h.weights[i])
	}
	h.assigned = h.assigned.sub(before).add(after)
}
