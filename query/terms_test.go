package query_test

import (
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
)

// TestTermsAreTheQuery compares the weight of every record with that of the
// terms it meets. A record meets at most one.
func TestTermsAreTheQuery(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := small(t)
		q, _ := predicate(t, u, 3)
		more, _ := predicate(t, u, 2)
		q = must(q.Plus(more))
		terms, ok := q.Terms(1 << 20)
		if !ok {
			t.Fatalf("%s has too many terms", q)
		}
		if _, ok := q.Terms(len(terms) - 1); ok && len(terms) > 0 {
			t.Fatalf("%s has %d terms, and fewer", q, len(terms))
		}
		for _, tuple := range tuples(u) {
			met, weight := 0, int64(0)
			for _, term := range terms {
				if inAll(term.Sets, tuple) {
					met, weight = met+1, term.Weight
				}
			}
			if met > 1 || weight != q.Weight(tuple) {
				t.Fatalf("%s: %v meets %d terms, of weight %d", q, tuple, met, weight)
			}
		}
	})
}

func inAll(sets []query.Set, tuple []query.Value) bool {
	for i, s := range sets {
		if s.Intersect(s.Domain().SetOf(tuple[i])).IsEmpty() {
			return false
		}
	}
	return true
}
