package query

import "slices"

// Level is a value of a function with the 0/1 query of the records that have it.
type Level struct {
	Value int64
	Where Query
}

// Levels divides the records where a 0/1 query holds by the function's value,
// ascending; false when there are more values than a limit.
func (f Function) Levels(where Query, limit int) ([]Level, bool, error) {
	var values []int64
	number := make(map[int64]int64) // of a value, from 1 on
	n, err := combine(f.u, f.root, where.root, func(v, holds int64) (int64, error) {
		if holds == 0 || len(values) > limit {
			return 0, nil
		}
		if number[v] == 0 {
			values = append(values, v)
			number[v] = int64(len(values))
		}
		return number[v], nil
	})
	if err != nil || len(values) > limit {
		return nil, false, err
	}
	l := leveler{u: f.u, done: make(map[*node]map[int64]*node)}
	var levels []Level
	for i, to := range l.divide(n) {
		levels = append(levels, Level{values[i-1], Query{f.u, to}})
	}
	slices.SortFunc(levels, func(a, b Level) int { return Int(a.Value).Compare(Int(b.Value)) })
	return levels, true, nil
}

// leveler takes a diagram apart by its weights, in one pass over its branches.
type leveler struct {
	u    *Universe
	done map[*node]map[int64]*node
}

func (l *leveler) divide(n *node) map[int64]*node {
	if n.isLeaf() {
		if n.weight == 0 {
			return nil
		}
		return map[int64]*node{n.weight: leaf(1)}
	}
	if d, ok := l.done[n]; ok {
		return d
	}
	d := make(map[int64]*node)
	domain := l.u.columns[n.level].Domain
	if n.rest == nil {
		spans := make(map[int64][]span)
		for _, s := range n.spans {
			for w, to := range l.divide(s.to) {
				spans[w] = append(spans[w], span{s.Range, to})
			}
		}
		for w, list := range spans {
			d[w] = newSpans(n.level, domain, list)
		}
	} else {
		l.divideCases(n, d)
	}
	l.done[n] = d
	return d
}

// divideCases fills d for a node over an unbounded column.
func (l *leveler) divideCases(n *node, d map[int64]*node) {
	rest := l.divide(n.rest)
	parts := make([]map[int64]*node, len(n.cases))
	weights := make(map[int64]bool)
	for w := range rest {
		weights[w] = true
	}
	for i, c := range n.cases {
		parts[i] = l.divide(c.to)
		for w := range parts[i] {
			weights[w] = true
		}
	}
	orZero := func(m map[int64]*node, w int64) *node {
		if to, ok := m[w]; ok {
			return to
		}
		return zero
	}
	for w := range weights {
		cases := make([]valueCase, len(n.cases))
		for i, c := range n.cases {
			cases[i] = valueCase{c.value, orZero(parts[i], w)}
		}
		d[w] = newCases(n.level, cases, orZero(rest, w))
	}
}
