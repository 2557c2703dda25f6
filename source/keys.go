package source

import (
	"context"
	"fmt"
	"iter"

	"dpsql/query"
)

// Keys implements Reader. It reads each row once.
func (s sqlite) Keys(ctx context.Context, p Permit, t Table, column int) (*Keys, error) {
	if err := Admit(p, t); err != nil {
		return nil, err
	}
	if _, err := t.Project([]int{column}); err != nil {
		return nil, err
	}
	k := NewKeys()
	if t.Unit == "" {
		return k, stream(ctx, s.q, t, []int{column}, func(tuple []query.Value) { k.AddRows(tuple[0], 1) })
	}
	return k, streamKept(ctx, s.q, t, condition{text: "1"}, []int{column}, func(tuple []query.Value) { k.Add(tuple[0]) }, k.End)
}

// Keys counts, for each text of a column, the units that have it. Its caller adds the rows kept of
// one unit, ends the unit, and goes on to the next, or adds rows that are units. It prints as its
// type only.
type Keys struct {
	counts map[string]having
	unit   int64 // the number of the present unit, from 1
}

// having is the number of units that have a key, and the last of them.
type having struct{ units, last int64 }

// NewKeys returns empty counts.
func NewKeys() *Keys { return &Keys{counts: make(map[string]having), unit: 1} }

// Format prints the type and none of the counts.
func (k *Keys) Format(s fmt.State, _ rune) { fmt.Fprint(s, "keys") }

// Add adds a kept row of the present unit. NULL is no key.
func (k *Keys) Add(v query.Value) {
	if v.IsNull() || v.IsInt() {
		return
	}
	if h := k.counts[v.Str()]; h.last != k.unit {
		k.counts[v.Str()] = having{h.units + 1, k.unit}
	}
}

// End ends the present unit.
func (k *Keys) End() { k.unit++ }

// AddRows adds n units of one row each.
func (k *Keys) AddRows(v query.Value, n int64) {
	if v.IsNull() || v.IsInt() || n <= 0 {
		return
	}
	k.counts[v.Str()] = having{units: k.counts[v.Str()].units + n}
}

// All yields the keys that a unit has, each with the number of units, in any order.
func (k *Keys) All() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for key, h := range k.counts {
			if !yield(key, h.units) {
				return
			}
		}
	}
}
