package smw

import (
	"math"

	"dpsql/query"
)

// Hypothesis is the sparse multiplicative weights data structure (D, h, ind) of
// the paper's Definition 3.4, in a form whose time and memory depend on how the
// queries of its history cross each other, and on their supports only as far as
// these bound that.
//
// All elements that the same queries of the history hold, with the same
// weights, have been multiplied alike ever since: they are one atom, and the
// variables that Algorithm 1 assigned to them are kept as their sum. What a
// query's support has of each atom is found by following its diagram along
// those of the history (query.Arrangement), so that no element is stored and
// few are enumerated. A variable is kept without the normalisation of
// Algorithm 1, which multiplies all s of them alike: D[i] is weight/total, and
// only the total is maintained. A variable that no element was assigned to has
// never been updated since it stood at 1/s, so one number, unit, stands for all
// of them; s itself is a number.
//
// The hypothesis is public: it is computed from the updates, and a prior that
// is public, alone. It is not safe for concurrent use.
type Hypothesis struct {
	params Params
	prior  prior // nil: 1 for each element, and s of them
	cut    *query.Arrangement
	lambda []float64 // each step has multiplied x by e^{λq(x)}, relative to unit

	atoms    []atom
	weights  []float64         // of the atoms, unnormalised
	byKey    map[string]uint32 // the atom of the elements that these steps hold
	entries  int               // how many places the pairs have for atoms
	used     uint64            // ind − 1: the variables that are assigned
	assigned sum               // Σ weights
	peak     float64           // the largest that assigned was since it was counted
	unit     float64           // an unassigned variable's weight per initial weight
	rest     sum               // initial weight of all that is unassigned

	history []*pair
}

// prior is a distribution over a finite universe that the hypothesis starts
// from: its mass on a cell.
type prior interface {
	mass(c *query.Cell) float64
}

// NewHypothesis returns the data structure before its first update, over the
// universe of all queries to come. Without classes every variable is 1/s and no
// element is assigned; with them, which Request.Prior has announced, s = |X| and
// each element starts from its probability by the classes.
func NewHypothesis(p Params, u *query.Universe, from *Classes) *Hypothesis {
	if from == nil {
		return newHypothesis(p, u, nil)
	}
	return newHypothesis(p, u, from)
}

func newHypothesis(p Params, u *query.Universe, from prior) *Hypothesis {
	h := &Hypothesis{
		params: p, prior: from, cut: query.NewArrangement(u), unit: 1,
		byKey: make(map[string]uint32),
		rest:  sum{}.plus(float64(p.S >> 32 << 32)).plus(float64(p.S & (1<<32 - 1))),
	}
	if from != nil {
		h.rest = sum{hi: 1}
	}
	return h
}

// Updates returns the number of updates made.
func (h *Hypothesis) Updates() int { return len(h.history) }

// Value returns q(D_t), a fraction in [0,1] relative to Params.MaxWeight: the
// evaluation rule of Definition 3.4. Each element of the support that is not
// assigned counts with the weight of the first unassigned variable, and with 0
// when there is none. Where fewer variables are left than the query has
// unassigned elements that sum can pass 1, and is cut off there.
//
// The query is over the hypothesis's universe. Of one that Params.Admits not, as
// its weights reach w above W, the value is a fraction in [0,w/W].
func (h *Hypothesis) Value(q query.Query) float64 {
	inside, free := 0.0, 0.0
	w := float64(h.params.MaxWeight)
	h.cut.Cells(q, func(c *query.Cell) {
		mass := float64(c.Weight) * h.mass(c)
		if len(c.In) == 0 {
			free += mass
			return
		}
		exponent := 0.0
		for _, m := range c.In {
			exponent += h.lambda[m.Query] * float64(m.Weight)
		}
		inside += mass * math.Exp(min(exponent/w, steepest))
	})
	if h.rest.value() > 0 {
		inside += free
	}
	value := max(inside*h.unit/w/h.total(), 0)
	if value > 1 {
		value = min(value, max(1, float64(q.MaxWeight())/w))
	}
	return value
}

// steepest is the largest exponent of a product of multipliers.
const steepest = 690

// Count returns the count that the hypothesis answers the query with,
// round(N̂·W·q(D_t)). See Value.
func (h *Hypothesis) Count(q query.Query) int64 {
	return int64(math.Round(h.params.mass() * h.Value(q)))
}

// mass returns the weight of a cell's elements before their first update, in
// units of h.unit.
func (h *Hypothesis) mass(c *query.Cell) float64 {
	if h.prior == nil {
		return float64(c.Size)
	}
	return max(h.prior.mass(c), smallest)
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
// could show. Both touch every atom, but only once in dozens of doublings.
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
