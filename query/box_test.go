package query_test

import (
	"maps"
	"math/rand/v2"
	"testing"

	"dpsql/query"
)

// TestBoxesAgainstRuns compares the codes of boxes with those of runs, on
// random queries with weights and free columns.
func TestBoxesAgainstRuns(t *testing.T) {
	u := ofSizes(t, 3, 1, 5, 4, 2, 7)
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		q := randomQuery(t, u, random)
		want := make(map[uint64]int64)
		for r, w := range q.Runs() {
			for i := range r.Len {
				want[r.Start+i] = w
			}
		}
		got := make(map[uint64]int64)
		for b, w := range query.NewCoder(u, [16]byte{}).Boxes(q) {
			last := uint64(0)
			b.Each(b.Start, func(x query.Element) bool {
				if got[x.Lo] != 0 || x.Hi != 0 {
					t.Fatalf("%v comes twice", x)
				}
				got[x.Lo], last = w, max(last, x.Lo)
				return true
			})
			if b.Last() != (query.Element{Lo: last}) {
				t.Fatalf("%v ends at %d, not %v", b, last, b.Last())
			}
			for i, s := range b.Steps {
				if s.Count < 2 || i > 0 && b.Steps[i-1].Stride <= s.Stride*s.Count-s.Stride {
					t.Fatalf("steps %v", b.Steps)
				}
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// ofSizes returns a universe of integer columns of the given sizes.
func ofSizes(t *testing.T, sizes ...int64) *query.Universe {
	t.Helper()
	var columns []query.Column
	for i, n := range sizes {
		d, err := query.NewRange(0, n-1, false)
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, query.Column{Name: string(rune('a' + i)), Domain: d})
	}
	u, err := query.NewUniverse(columns)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// randomQuery adds up some conjunctions of random sets.
func randomQuery(t *testing.T, u *query.Universe, random *rand.Rand) query.Query {
	t.Helper()
	sum := query.None(u)
	for range 1 + random.IntN(3) {
		part := query.All(u)
		for i, c := range u.Columns() {
			if random.IntN(2) == 0 {
				continue
			}
			var values []query.Value
			for o := range c.Domain.Size() {
				if random.IntN(3) > 0 {
					values = append(values, c.Domain.Value(o))
				}
			}
			var err error
			if part, err = part.And(query.Where(u, i, c.Domain.SetOf(values...))); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if sum, err = sum.Plus(part); err != nil {
			t.Fatal(err)
		}
	}
	return sum
}
