package query

import (
	"cmp"
	"slices"
)

// rootIndex holds the branches of all roots at one level together, sorted, so
// that long lists of literals are found by one search instead of one a query.
type rootIndex struct {
	narrow []hit // spans of up to narrowest values, by their first
	wide   []wideSpans
	cases  []rootCase
}

// narrowest is how far before a value a narrow span that holds it begins at most.
const narrowest = 8

// wideSpans are the other spans of one root.
type wideSpans struct {
	query int
	spans []span
}

// rootCase is a case of one root.
type rootCase struct {
	valueCase
	query int
}

func (x *rootIndex) add(query int, root *node) {
	spans, cases := len(x.narrow), len(x.cases)
	wide := wideSpans{query: query}
	for _, s := range root.spans {
		if s.Last-s.First < narrowest {
			x.narrow = append(x.narrow, hit{s, query})
		} else {
			wide.spans = append(wide.spans, s)
		}
	}
	if len(wide.spans) > 0 {
		x.wide = append(x.wide, wide)
	}
	for _, c := range root.cases {
		x.cases = append(x.cases, rootCase{c, query})
	}
	merge(x.narrow, spans, func(a, b hit) int { return cmp.Compare(a.First, b.First) })
	merge(x.cases, cases, func(a, b rootCase) int { return a.value.Compare(b.value) })
}

// merge sorts a slice whose first n elements are sorted, and the others are.
func merge[T any](s []T, n int, compare func(a, b T) int) {
	tail := slices.Clone(s[n:])
	for i, j, to := n-1, len(tail)-1, len(s)-1; j >= 0; to-- {
		if i >= 0 && compare(s[i], tail[j]) > 0 {
			s[to] = s[i]
			i--
		} else {
			s[to] = tail[j]
			j--
		}
	}
}

// cross adds what of the narrow spans lies in s, which does not lie before what
// the last call was asked for, and returns where to go on from.
func (x *rootIndex) cross(s span, from int, hits *[]hit) int {
	least := s.First - min(s.First, narrowest-1)
	from = seek(from, len(x.narrow), func(j int) bool { return x.narrow[j].First < least })
	for i := from; i < len(x.narrow) && x.narrow[i].First <= s.Last; i++ {
		if h := x.narrow[i]; h.Last >= s.First {
			*hits = append(*hits, hit{h.within(s.Range), h.query})
		}
	}
	return from
}

// seekRoot returns the first index from i on whose value is not below v.
func seekRoot(cases []rootCase, i int, v Value) int {
	return seek(i, len(cases), func(j int) bool { return cases[j].value.Compare(v) < 0 })
}
