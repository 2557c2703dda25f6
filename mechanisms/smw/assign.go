package smw

import (
	"cmp"
	"encoding/binary"
	"slices"

	"dpsql/query"
)

// atom is the elements that the same steps hold, with the same weights: what a
// hypothesis says of them has always been the same but for the prior.
type atom struct {
	size uint64
	mass sum    // before the first update
	key  string // the steps, see keyOf
}

// pair is a step in terms of the atoms: those of the query's support, grouped
// by weight, ascending.
type pair struct {
	step   int
	noisy  float64
	groups []group
}

// group is the part of a support that has one weight, as a fraction q of W.
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

// What a hypothesis holds at most, which is about 250 MB. Histories of
// conjunctions stay far below it: so many atoms take a history whose queries
// cross each other in a million different ways.
const (
	mostAtoms   = 1 << 20
	mostEntries = 1 << 24
)

// part is what a support has of one atom, or of what is unassigned, with one
// weight.
type part struct {
	key    string
	weight int64
	size   uint64
	mass   sum
}

// assign gives a variable to every element of the support that has none, splits
// the atoms that the support crosses, and returns the support as atoms. It
// fails with ErrFailure, changing nothing, where there are too few variables.
func (h *Hypothesis) assign(q query.Query) (*pair, error) {
	parts := h.parts(q)
	fresh, entries := uint64(0), 0
	for _, p := range parts {
		if p.key == "" {
			fresh += p.size
		}
		entries += 1 + steps(p.key)
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

// groups returns a group without atoms for each weight of a support.
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

// take returns the atom that a part is from now on, when the given step holds
// it: a new one of what was unassigned, all of an atom, or a piece split off.
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
	h.weights[i] = max(was*max(a.mass.value()/whole, 0), smallest)
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
	weight = max(weight, smallest)
	h.atoms, h.weights = append(h.atoms, a), append(h.weights, weight)
	h.assigned = h.assigned.plus(weight)
	h.byKey[a.key] = i
	return i
}

// appendKey names a set of steps with weights, independent of its order.
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

// stepsOf yields the steps that a key names, with their weights.
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

// steps returns how many steps a key names.
func steps(key string) (n int) {
	for range stepsOf(key) {
		n++
	}
	return n
}
