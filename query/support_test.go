package query

import (
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"dpsql/internal/scratch"
	"dpsql/internal/seeds"
)

// TestMain lets properties be tried 30 times in place of 100, unless -rapid.checks says otherwise.
func TestMain(m *testing.M) {
	flag.Set("rapid.checks", "30")
	scratch.CollectSeldom()
	os.Exit(m.Run())
}

// TestSupport compares the values with those of all records, for random queries.
func TestSupport(t *testing.T) {
	seed := seeds.Of(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	a, _ := NewRange(0, 4, true)
	b, _ := NewList(TypeText, []Value{Text("x"), Text("y"), Text("z")})
	c, _ := NewRange(-1, 1, false)
	u, err := NewUniverse([]Column{{Name: "a", Domain: a}, {Name: "b", Domain: b}, {Name: "c", Domain: c}})
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		q := None(u)
		for range rng.IntN(4) {
			term := All(u)
			for column, known := range u.Columns() {
				if rng.IntN(3) == 0 {
					continue
				}
				var values []Value
				for v := range known.Domain.All().Each() {
					if rng.IntN(2) == 0 {
						values = append(values, v)
					}
				}
				if term, err = term.And(Where(u, column, known.Domain.SetOf(values...))); err != nil {
					t.Fatal(err)
				}
			}
			if q, err = q.Or(term); err != nil {
				t.Fatal(err)
			}
		}
		for column, known := range u.Columns() {
			var want []Value
			for v := range known.Domain.All().Each() {
				only, err := q.And(Where(u, column, known.Domain.SetOf(v)))
				if err != nil {
					t.Fatal(err)
				}
				if !only.Equal(None(u)) {
					want = append(want, v)
				}
			}
			got := slices.Collect(q.Support(column).Each())
			if !slices.Equal(got, want) {
				t.Fatalf("%s: column %s has %v, want %v", q, known.Name, got, want)
			}
		}
	}
}
