package smw

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"dpsql/query"
)

// Hypothesis is the sparse multiplicative weights data structure (D, h, ind) of
// the paper's Definition 3.4. Its time and memory depend on how the queries of
// its history cross each other. The sizes of their supports are only an upper
// bound.
//
// Elements that lie in the same queries of the history, with the same weights,
// have been multiplied alike. They form one atom, which keeps the sum of the
// variables that Algorithm 1 assigned to them. To find the part of a query's
// support in each atom, query.Arrangement follows the query's diagram along
// those of the history. So no element is stored and few are enumerated.
// Variables are not normalised as in Algorithm 1, which multiplies all s of
// them alike: D[i] is weight/total, and only the total is maintained. Variables
// without elements have never been updated since they stood at 1/s, so one
// number, unit, stands for all of them.
//
// The hypothesis is public: it is computed from the updates and a public prior
// alone. It is not safe for concurrent use.
type Hypothesis struct {
	params Params
	prior  Prior // nil: s variables of weight 1
	cut    *query.Arrangement
	lambda []float64 // each step has multiplied x by e^{λq(x)}, relative to unit

	atoms    []atom
	weights  []float64         // of the atoms, unnormalised
	byKey    map[string]uint32 // the atom for each set of steps
	entries  int               // the number of atom slots in all pairs
	used     uint64            // ind − 1: the number of assigned variables
	assigned sum               // Σ weights
	peak     float64           // the largest value of assigned since the last recount
	unit     float64           // an unassigned variable's weight per initial weight
	rest     sum               // the initial weight of everything unassigned

	history []*pair
	guard   *guard // nil unless the prior knows what was measured; then there are no atoms
}

// Prior is a public distribution over a finite universe with which a hypothesis
// starts: Classes or Fitted.
type Prior interface {
	mass(c *query.Cell) float64 // of a cell
}

// NewHypothesis returns the data structure before its first update, over the
// universe of all queries to come. Without a prior, nil, every variable is 1/s and
// no element is assigned. With a prior, which Request.Prior must have announced, s
// = |X| and each element starts from its probability under the prior.
func NewHypothesis(p Params, u *query.Universe, from Prior) *Hypothesis {
	h := &Hypothesis{
		params: p, prior: from, cut: query.NewArrangement(u), unit: 1,
		byKey: make(map[string]uint32),
		rest:  sum{}.plus(float64(p.S >> 32 << 32)).plus(float64(p.S & (1<<32 - 1))),
	}
	if from != nil {
		h.rest = sum{hi: 1}
	}
	if f, ok := from.(*Fitted); ok && f.measured != nil && p.Update == Projection && p.Alpha == 0 {
		h.guard = newGuard(f)
	}
	return h
}

// Updates returns the number of updates made.
func (h *Hypothesis) Updates() int {
	if h.guard != nil {
		return len(h.guard.steps)
	}
	return len(h.history)
}

// Value returns q(D_t), a fraction in [0,1] relative to Params.MaxWeight, by
// the evaluation rule of Definition 3.4. Each unassigned element of the support
// counts with the weight of the first unassigned variable, and with 0 when
// there is none. The sum can exceed 1 where fewer variables are left than the
// query has unassigned elements; Value cuts it off at 1.
//
// The query is over the hypothesis's universe. If its weights reach w above W,
// which Params.Admits refuses, the value is a fraction in [0,w/W].
func (h *Hypothesis) Value(q query.Query) float64 {
	if h.guard != nil && h.guard.table == nil {
		h.relearn()
	}
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

// Count returns round(N̂·W·q(D_t)), the hypothesis's answer to the query in
// counts. See Value.
func (h *Hypothesis) Count(q query.Query) int64 {
	return int64(math.Round(h.params.mass() * h.Value(q)))
}

// mass returns the weight of a cell's elements before their first update, in
// units of h.unit.
func (h *Hypothesis) mass(c *query.Cell) float64 {
	if h.prior == nil {
		return float64(c.Size)
	}
	return max(h.prior.mass(c), minWeight)
}

// total returns Σ D before normalisation.
func (h *Hypothesis) total() float64 {
	return h.assigned.value() + max(h.rest.value(), 0)*h.unit
}

func clip(x, lo, hi float64) float64 { return max(lo, min(x, hi)) }

// minWeight is the floor of weights. When the total exceeds maxTotal, all
// weights are scaled down. Between the two no product of updates leaves the
// range of floats.
const (
	minWeight = 0x1p-500
	maxTotal  = 0x1p+300
)

// settle keeps the weights within range and their running total exact enough.
// It recomputes the total after a fall so deep that the rounding of the removed
// part could show. Both touch every atom, but only once in dozens of doublings.
func (h *Hypothesis) settle() {
	total := h.total()
	if total > maxTotal || total < 1/maxTotal {
		h.rescale(-math.Ilogb(total))
	}
	h.peak = max(h.peak, h.assigned.value())
	if h.assigned.value() < h.peak*0x1p-30 {
		h.recount()
	}
}

// rescale multiplies every variable by 2^e.
func (h *Hypothesis) rescale(e int) {
	h.unit = max(math.Ldexp(h.unit, e), minWeight)
	for i, w := range h.weights {
		h.weights[i] = max(math.Ldexp(w, e), minWeight)
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

// atom is a set of elements that lie in the same steps, with the same weights.
// The hypothesis has treated them alike, but for the prior.
type atom struct {
	size uint64
	mass sum    // before the first update
	key  string // the steps, see appendKey
}

// pair is a step in terms of atoms: the atoms of the query's support, grouped
// by weight, ascending.
type pair struct {
	step   int
	noisy  float64
	groups []group
}

// group is the part of a support with one weight, as a fraction q of W.
type group struct {
	weight int64
	q      float64
	slots  []uint32 // atoms
}

// plain reports whether the query's weights are 0 and 1.
func (p *pair) plain() bool { return len(p.groups) == 1 && p.groups[0].q == 1 }

func (p *pair) group(weight int64) *group {
	i, _ := slices.BinarySearchFunc(p.groups, weight, func(g group, w int64) int { return cmp.Compare(g.weight, w) })
	return &p.groups[i]
}

// mostAtoms and mostEntries bound a hypothesis to about 250 MB. Histories of
// conjunctions stay far below: to make so many atoms, the queries of a history
// must cross each other in a million different ways.
const (
	mostAtoms   = 1 << 20
	mostEntries = 1 << 24
)

// part is the part of a support that lies in one atom, or in none yet, and has
// one weight.
type part struct {
	key    string
	weight int64
	size   uint64
	mass   sum
}

// assign gives a variable to every element of the support that has none, splits
// the atoms that the support crosses, and returns the support as atoms. It
// fails with ErrFailure and changes nothing if there are too few variables.
func (h *Hypothesis) assign(q query.Query) (*pair, error) {
	parts := h.parts(q)
	fresh, entries := uint64(0), 0
	for _, p := range parts {
		if p.key == "" {
			fresh += p.size
		}
		entries += 1 + stepCount(p.key)
	}
	if h.used > h.params.S || fresh > h.params.S-h.used ||
		len(h.atoms)+len(parts) > mostAtoms || h.entries+entries > mostEntries {
		return nil, ErrFailure
	}
	p := &pair{step: len(h.history), groups: h.groups(parts)}
	for _, s := range parts {
		g := p.group(s.weight)
		g.slots = append(g.slots, h.take(s, p.step))
	}
	h.entries += entries
	if h.used += fresh; h.used == h.params.S {
		h.rest = sum{}
	}
	return p, nil
}

// parts cuts a support along the history, in the order of the records.
func (h *Hypothesis) parts(q query.Query) []part {
	type name struct {
		key    string
		weight int64
	}
	var parts []part
	place := make(map[name]int)
	var key []byte
	h.cut.Cells(q, func(c *query.Cell) {
		key = appendKey(key[:0], c.In)
		i, ok := place[name{string(key), c.Weight}]
		if !ok {
			i = len(parts)
			parts = append(parts, part{key: string(key), weight: c.Weight})
			place[name{parts[i].key, c.Weight}] = i
		}
		parts[i].size += c.Size
		parts[i].mass = parts[i].mass.plus(h.mass(c))
	})
	return parts
}

// groups returns one empty group for each weight of a support.
func (h *Hypothesis) groups(parts []part) []group {
	var weights []int64
	for _, p := range parts {
		weights = append(weights, p.weight)
	}
	slices.Sort(weights)
	var groups []group
	for _, w := range slices.Compact(weights) {
		groups = append(groups, group{weight: w, q: float64(w) / float64(h.params.MaxWeight)})
	}
	return groups
}

// take returns the atom of a part, which lies in the given step. The atom is
// new if the part was unassigned. Otherwise it is the part's atom if the part
// fills it, or a piece split off that atom.
func (h *Hypothesis) take(p part, step int) uint32 {
	key := string(appendStep([]byte(p.key), step, p.weight))
	if p.key == "" {
		h.rest = h.rest.sub(p.mass)
		return h.add(atom{p.size, p.mass, key}, p.mass.value()*h.unit)
	}
	i := h.byKey[p.key]
	a := &h.atoms[i]
	if a.size == p.size {
		delete(h.byKey, a.key)
		a.key, h.byKey[key] = key, i
		return i
	}
	whole, was := a.mass.value(), h.weights[i]
	a.size -= p.size
	a.mass = a.mass.sub(p.mass)
	h.weights[i] = max(was*max(a.mass.value()/whole, 0), minWeight)
	h.assigned = h.assigned.plus(-was).plus(h.weights[i])
	n := h.add(atom{p.size, p.mass, key}, was*min(p.mass.value()/whole, 1))
	for at, w := range stepsOf(p.key) {
		g := h.history[at].group(w)
		g.slots = append(g.slots, n)
	}
	return n
}

func (h *Hypothesis) add(a atom, weight float64) uint32 {
	i := uint32(len(h.atoms))
	weight = max(weight, minWeight)
	h.atoms, h.weights = append(h.atoms, a), append(h.weights, weight)
	h.assigned = h.assigned.plus(weight)
	h.byKey[a.key] = i
	return i
}

// appendKey encodes a set of steps with weights. The order of in does not
// matter.
func appendKey(key []byte, in []query.Member) []byte {
	slices.SortFunc(in, func(a, b query.Member) int { return cmp.Compare(a.Query, b.Query) })
	for _, m := range in {
		key = appendStep(key, m.Query, m.Weight)
	}
	return key
}

func appendStep(key []byte, step int, weight int64) []byte {
	return binary.AppendVarint(binary.AppendUvarint(key, uint64(step)), weight)
}

// stepsOf yields the steps of a key, with their weights.
func stepsOf(key string) func(yield func(int, int64) bool) {
	return func(yield func(int, int64) bool) {
		for b := []byte(key); len(b) > 0; {
			step, n := binary.Uvarint(b)
			weight, m := binary.Varint(b[n:])
			if b = b[n+m:]; !yield(int(step), weight) {
				return
			}
		}
	}
}

// stepCount returns the number of steps of a key.
func stepCount(key string) (n int) {
	for range stepsOf(key) {
		n++
	}
	return n
}

// sum is a running total of about 106 bits. Weights of very different sizes are
// added and subtracted, and the rest must stay right.
type sum struct{ hi, lo float64 }

// plus returns s + x.
func (s sum) plus(x float64) sum {
	hi := s.hi + x
	back := hi - s.hi
	lo := (s.hi - (hi - back)) + (x - back) + s.lo
	return sum{hi + lo, lo - ((hi + lo) - hi)}
}

// add and sub return s + t and s − t.
func (s sum) add(t sum) sum { return s.plus(t.hi).plus(t.lo) }
func (s sum) sub(t sum) sum { return s.plus(-t.hi).plus(-t.lo) }

func (s sum) value() float64 { return s.hi + s.lo }
