package sqlfront

import (
	"cmp"
	"slices"

	"dpsql/query"
)

// pred is where a condition holds, kept as a set of one column's values as
// long as it speaks of one column only.
type pred struct {
	shape  predShape
	always bool        // of a constant
	column int         // of a set
	set    query.Set   // of a set
	q      query.Query // of a diagram
}

type predShape uint8

const (
	isConstant predShape = iota
	isSet
	isDiagram
)

func truth(always bool) pred { return pred{always: always} }

func where(column int, s query.Set) pred { return pred{shape: isSet, column: column, set: s} }

// query returns the diagram of a pred.
func (p pred) query(u *query.Universe) query.Query {
	switch {
	case p.shape == isSet:
		return query.Where(u, p.column, p.set)
	case p.shape == isDiagram:
		return p.q
	case p.always:
		return query.All(u)
	}
	return query.None(u)
}

// not returns where p does not hold.
func (b *binder) not(p pred) (pred, error) {
	switch p.shape {
	case isSet:
		return where(p.column, p.set.Complement()), nil
	case isDiagram:
		q, err := b.spent.work.Not(p.q)
		return pred{shape: isDiagram, q: q}, err
	}
	return truth(!p.always), nil
}

// merge returns the conjunction, or the disjunction, of preds. Those on one
// column are merged as sets before any diagram is made.
func (b *binder) merge(preds []pred, conjunction bool) (pred, error) {
	var sets []pred
	var diagrams []query.Query
	for _, p := range preds {
		switch {
		case p.shape == isSet:
			sets = append(sets, p)
		case p.shape == isDiagram:
			diagrams = append(diagrams, p.q)
		case p.always != conjunction:
			return p, nil
		}
	}
	merged := mergeSets(sets, conjunction)
	switch {
	case len(diagrams) == 0 && len(merged) == 0:
		return truth(conjunction), nil
	case len(diagrams) == 0 && len(merged) == 1:
		return merged[0], nil
	case len(diagrams) == 1 && len(merged) == 0:
		return pred{shape: isDiagram, q: diagrams[0]}, nil
	}
	op := b.spent.work.Or
	if conjunction {
		op = b.spent.work.And
	}
	if conjunction && len(merged) > 0 {
		diagrams = append(diagrams, conjunctionOf(b.u, merged))
		merged = nil
	}
	for _, p := range merged {
		diagrams = append(diagrams, p.query(b.u))
	}
	q, err := fold(diagrams, op)
	return pred{shape: isDiagram, q: q}, err
}

// conjunctionOf returns the diagram of sets of ascending columns, in one go.
func conjunctionOf(u *query.Universe, sets []pred) query.Query {
	each := make([]query.Each, len(sets))
	for i, p := range sets {
		each[i] = query.Each{Column: p.column, Set: p.set}
	}
	return query.Conjunction(u, each)
}

// mergeSets returns one set a column, in the columns' order.
func mergeSets(sets []pred, conjunction bool) []pred {
	op := query.Set.Union
	if conjunction {
		op = query.Set.Intersect
	}
	slices.SortStableFunc(sets, func(a, b pred) int { return cmp.Compare(a.column, b.column) })
	var merged []pred
	for len(sets) > 0 {
		n := 1
		for n < len(sets) && sets[n].column == sets[0].column {
			n++
		}
		p, _ := fold(sets[:n], func(a, b pred) (pred, error) { return where(a.column, op(a.set, b.set)), nil })
		merged, sets = append(merged, p), sets[n:]
	}
	return merged
}

// fold combines values pairwise in a balanced tree, so that n small operands
// cost n log n and not n².
func fold[T any](values []T, op func(a, b T) (T, error)) (T, error) {
	if len(values) == 1 {
		return values[0], nil
	}
	a, err := fold(values[:len(values)/2], op)
	if err != nil {
		return a, err
	}
	b, err := fold(values[len(values)/2:], op)
	if err != nil {
		return b, err
	}
	return op(a, b)
}
