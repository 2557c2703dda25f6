package smw

import (
	"math"

	"dpsql/query"
)

// Hypothesis is the sparse multiplicative weights data structure (D, h, ind) of
// the paper's Definition 3.4, in a form whose queries and updates touch only
// the elements of their own support.
//
// A variable of D is kept without the normalisation of Algorithm 1, which
// multiplies all s of them alike: D[i] is weight/total, and only the total is
// maintained. A variable that no element was assigned to has never been updated
// since it stood at 1/s, so one number, unit, stands for all of them; s itself
// is a number. Memory is proportional to the elements assigned, and with the
// projection rule to the supports of the history, which it replays.
//
// The hypothesis is public: it is computed from the updates alone. It is not
// safe for concurrent use.
type Hypothesis struct {
	params Params
	coder  query.Coder
	prior  func(query.Element) float64 // initial weight; nil: 1 each, and s of them

	slots    map[query.Element]uint32 // h: the variable of an assigned element
	weights  []float64                // the assigned variables, unnormalised
	assigned sum                      // Σ weights
	peak     float64                  // the largest that assigned was since it was counted
	unit     float64                  // an unassigned variable's weight per initial weight
	rest     sum                      // initial weight of all that is unassigned

	updates int
	history []pair // projection only
}

// NewHypothesis returns the data structure before its first update: every
// variable is 1/s and no element is assigned. The coder names the elements of
// the universe of all queries to come.
func NewHypothesis(p Params, c query.Coder) *Hypothesis {
	return &Hypothesis{
		params: p, coder: c, unit: 1,
		slots: make(map[query.Element]uint32),
		rest:  sum{}.plus(float64(p.S >> 32 << 32)).plus(float64(p.S & (1<<32 - 1))),
	}
}

// NewHypothesisFrom returns a hypothesis over a finite universe, s = |X|, whose
// element x has the weight prior(x) before its first update. The prior is
// positive and sums to 1 over the universe.
func NewHypothesisFrom(p Params, c query.Coder, prior func(query.Element) float64) *Hypothesis {
	h := NewHypothesis(p, c)
	h.prior = prior
	h.rest = sum{hi: 1}
	return h
}

// Updates returns the number of updates made.
func (h *Hypothesis) Updates() int { return h.updates }

// Value returns q(D_t), a fraction in [0,1] relative to Params.MaxWeight: the
// evaluation rule of Definition 3.4. Each element of the support that is not
// assigned counts with the weight of the first unassigned variable, and with 0
// when there is none. Where fewer variables are left than the query has
// unassigned elements that sum can pass 1, and is cut off there.
//
// The query must be one that Params.Admits, over the coder's universe.
func (h *Hypothesis) Value(q query.Query) float64 {
	inside, free := 0.0, 0.0
	for e, w := range h.coder.Elements(q) {
		if i, ok := h.slots[e]; ok {
			inside += float64(w) * h.weights[i]
		} else {
			free += float64(w) * h.initial(e)
		}
	}
	if h.rest.value() > 0 {
		inside += free * h.unit
	}
	return clip(inside/float64(h.params.MaxWeight)/h.total(), 0, 1)
}

// Count returns the count that the hypothesis answers the query with,
// round(N̂·W·q(D_t)). See Value.
func (h *Hypothesis) Count(q query.Query) int64 {
	return int64(math.Round(h.params.mass() * h.Value(q)))
}

// initial returns the weight of an element before its first update, in units
// of h.unit.
func (h *Hypothesis) initial(e query.Element) float64 {
	if h.prior == nil {
		return 1
	}
	return max(h.prior(e), smallest)
}

// total returns Σ D before normalisation.
func (h *Hypothesis) total() float64 {
	return h.assigned.value() + max(h.rest.value(), 0)*h.unit
}

func clip(x, lo, hi float64) float64 { return max(lo, min(x, hi)) }

// smallest is the floor of weights, and large the size at which all of them are
// scaled down: between them no product of the updates leaves the floats.
const (
	smallest = 0x1p-500
	large    = 0x1p+300
)

// settle keeps the weights within range, and their running total exact enough:
// it is counted anew after a fall so deep that the rounding of what is gone
// could show. Both touch every variable, but only once in dozens of doublings.
func (h *Hypothesis) settle() {
	total := h.total()
	if total > large || total < 1/large {
		h.rescale(-math.Ilogb(total))
	}
	h.peak = max(h.peak, h.assigned.value())
	if h.assigned.value() < h.peak*0x1p-30 {
		h.recount()
	}
}

// rescale multiplies every variable by 2^e.
func (h *Hypothesis) rescale(e int) {
	h.unit = max(math.Ldexp(h.unit, e), smallest)
	for i, w := range h.weights {
		h.weights[i] = max(math.Ldexp(w, e), smallest)
	}
	h.recount()
}

// recount sums the assigned variables.
func (h *Hypothesis) recount() {
	h.assigned = sum{}
	for _, w := range h.weights {
		h.assigned = h.assigned.plus(w)
	}
	h.peak = h.assigned.value()
}
