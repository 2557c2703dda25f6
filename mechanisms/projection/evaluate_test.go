package projection

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"dpsql/query"
)

// TestEvaluationAgainstElements evaluates random weighted queries over universes
// whose columns are coded, hashed or both, under the names of every version, and
// adds the same up element by element.
func TestEvaluationAgainstElements(t *testing.T) {
	src, random := seeded(t)
	for name, u := range map[string]*query.Universe{
		"coded":  universe(t, ints(t, "a", 7), ints(t, "b", 1), ints(t, "c", 12), ints(t, "d", 9)),
		"text":   universe(t, ints(t, "a", 7), query.Column{Name: "k", Domain: query.Unbounded()}, ints(t, "c", 12), ints(t, "d", 9)),
		"hashed": universe(t, ints(t, "a", 5), ints(t, "w", 1<<40), ints(t, "c", 12), ints(t, "v", 1<<55)),
	} {
		for _, v := range []uint16{first, second, version} {
			b, err := NewBuilder(u, clipped(t, 600, 20, laplace(t, 1, 1), 0.1), src)
			if err != nil {
				t.Fatal(err)
			}
			b.matrix.version = v
			b.matrix.sketch.chained = v == first && !u.Coded()
			b.coder = b.matrix.newCoder(u)
			var data named
			for x := range b.Coder().Elements(someRecords(t, u, random, 3)) {
				data = append(data, weighted{x, 1 + random.Int64N(80)})
			}
			r, err := b.Build(data.cells())
			if err != nil {
				t.Fatal(err)
			}
			if n := r.Published(); n == 0 || n == len(data) {
				t.Fatalf("%d of %d cells are published", n, len(data))
			}
			for range 30 {
				checkEvaluation(t, name, r, someRecords(t, u, random, 3))
			}
		}
	}
}

// checkEvaluation compares sums, lift and tallies.
func checkEvaluation(t *testing.T, name string, r *Release, q query.Query) {
	t.Helper()
	heavy := make(map[query.Element]published)
	for _, c := range r.heavy {
		heavy[c.x] = c
	}
	var sum, apart, light int64
	lift := 0.0
	for x, w := range r.Coder().Elements(q) {
		if c, ok := heavy[x]; ok {
			sum += w * (c.noisy + r.p.Heavy.Clip)
			apart += w
			continue
		}
		p := r.matrix.sketch.at(x)
		v := r.sketch.at(p.row()) ^ p.sign() - p.sign()
		sum += w * v
		light += w
		if v >= r.lift.from {
			lift += float64(w) * r.lift.of(v)
		}
	}
	m, ok := q.SizeWithin(math.MaxInt64)
	if !ok {
		t.Fatal("infinite")
	}
	e := r.begin(context.Background(), m, nowhere)
	defer e.end()
	if err := e.all(q); err != nil {
		t.Fatal(err)
	}
	weight := func(of tally) (all int64) {
		for _, c := range of {
			all += c.weight * int64(c.times)
		}
		return all
	}
	if got := e.sum.big().Int64(); got != sum || weight(e.heavy) != apart || weight(e.light) != light || math.Abs(e.lift-lift) > 1e-6 {
		t.Errorf("%s, version %d, %v: %d of %d and %d, lifted by %g, want %d of %d and %d by %g", name, r.matrix.version, q,
			got, weight(e.heavy), weight(e.light), e.lift, sum, apart, light, lift)
	}
}

func ints(t testing.TB, name string, n int64) query.Column {
	t.Helper()
	d, err := query.NewRange(0, n-1, false)
	if err != nil {
		t.Fatal(err)
	}
	return query.Column{Name: name, Domain: d}
}

// someRecords adds up a few conjunctions of random sets, those of large columns
// and of texts small.
func someRecords(t testing.TB, u *query.Universe, random *rand.Rand, parts int) query.Query {
	t.Helper()
	sum := query.None(u)
	for range parts {
		var each []query.Each
		for i, c := range u.Columns() {
			var values []query.Value
			switch d := c.Domain; {
			case !d.Finite():
				for _, s := range []string{"a", "b", "c"} {
					values = append(values, query.Text(s))
				}
			case d.Size() > 100:
				for _, o := range []uint64{0, 1, 2, d.Size() - 1} {
					values = append(values, d.Value(o))
				}
			case random.IntN(3) == 0:
				continue // free
			default:
				for o := range d.Size() {
					values = append(values, d.Value(o))
				}
			}
			random.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
			each = append(each, query.Each{Column: i, Set: c.Domain.Of(values[:1+random.IntN(len(values))]...)})
		}
		var err error
		if sum, err = sum.Plus(query.Conjunction(u, each)); err != nil {
			t.Fatal(err)
		}
	}
	return sum
}
