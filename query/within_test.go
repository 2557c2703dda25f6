package query

import (
	"math/rand/v2"
	"testing"

	"dpsql/internal/seeds"
)

// TestWithin compares the weights of random queries with those over random parts of the domains.
func TestWithin(t *testing.T) {
	seed := seeds.Of(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	must := func(d Domain, err error) Domain {
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	letters := []Value{Null(), Text("v"), Text("x"), Text("y"), Text("z")}
	whole := []Column{{Name: "a", Domain: must(NewRange(-2, 9, true))}, {Name: "b", Domain: must(NewList(TypeText, letters))},
		{Name: "c", Domain: must(NewRange(-1, 1, false))}, {Name: "d", Domain: Unbounded()}}
	u, err := NewUniverse(whole)
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		q := None(u)
		for range rng.IntN(4) {
			term := All(u)
			for column, known := range whole {
				if rng.IntN(3) == 0 {
					continue
				}
				var values []Value
				if !known.Domain.Finite() {
					values = []Value{Text("p")}
				} else {
					for v := range known.Domain.All().Each() {
						if rng.IntN(2) == 0 {
							values = append(values, v)
						}
					}
				}
				if term, err = term.And(Where(u, column, known.Domain.SetOf(values...))); err != nil {
					t.Fatal(err)
				}
			}
			if q, err = q.Plus(term); err != nil {
				t.Fatal(err)
			}
		}
		lo := rng.Int64N(12) - 2
		part := append([]Column(nil), whole...)
		part[0].Domain = must(NewRange(lo, lo+rng.Int64N(10-lo), rng.IntN(2) == 0))
		if rng.IntN(2) == 0 {
			some := []Value{letters[rng.IntN(5)]}
			for _, v := range letters {
				if v != some[0] && rng.IntN(2) == 0 {
					some = append(some, v)
				}
			}
			part[1].Domain = must(NewList(TypeText, some))
		}
		narrow, err := NewUniverse(part)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := q.Within(narrow)
		if !ok {
			t.Fatalf("%v is no part of %v", part, whole)
		}
		for a := range part[0].Domain.All().Each() {
			for b := range part[1].Domain.All().Each() {
				for c := range part[2].Domain.All().Each() {
					for _, d := range []Value{Null(), Text("p"), Text("q")} {
						record := []Value{a, b, c, d}
						if got.Weight(record) != q.Weight(record) {
							t.Fatalf("%s weighs %v with %d, within %v with %d", q, record, q.Weight(record), part, got.Weight(record))
						}
					}
				}
			}
		}
		if back, err := got.Plus(None(narrow)); err != nil || !back.Equal(got) {
			t.Fatalf("%s is not canonical", got)
		}
		if _, ok := got.Within(u); ok && part[0].Domain.Size() < whole[0].Domain.Size() {
			t.Fatalf("%v is a part of %v", whole, part)
		}
	}
}
