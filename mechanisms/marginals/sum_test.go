package marginals

import (
	"math"
	"math/big"
	"testing"

	"dpsql/query"
)

// TestSumCovers adds answers of releases of different rows, with different noise. Its intervals are
// a theorem: of 100 sums, 3 queries each, at 95 %, at most 20 of a query may miss, and of 600 63. A correct
// program has more in one of the three with probability 4e-7 at most, by the exact binomial law.
func TestSumCovers(t *testing.T) {
	random := seeded(t)
	u := universe(t, 3, 4)
	d := u.Columns()[1].Domain
	half := query.Where(u, 1, d.SetOf(query.Int(1), query.Int(3)))
	one := query.Where(u, 0, u.Columns()[0].Domain.SetOf(query.Int(2)))
	both, err := half.And(one)
	if err != nil {
		t.Fatal(err)
	}
	queries := []query.Query{query.All(u), half, both}
	missed := make([]int, len(queries))
	trials, most := sized(100, 600), sized(20, 63)
	for range trials {
		var releases []*Release
		truth := make([]int64, len(queries))
		for i := range 5 {
			table := make([]int64, 12)
			for c := range table {
				table[c] = random.Int64N(100)
			}
			p := params(t, [][]int{{0, 1}}, big.NewRat(int64(4+30*i), 1))
			p.Unbiased = true
			releases = append(releases, build(t, u, p, table))
			for j, q := range queries {
				for c, n := range table {
					truth[j] += n * q.Weight([]query.Value{query.Int(int64(c / 4)), query.Int(int64(c % 4))})
				}
			}
		}
		for j, q := range queries {
			a, err := Sum(t.Context(), releases, []query.Query{q, q, q, q, q}, 0.95)
			if err != nil || !a.Verified {
				t.Fatalf("%+v, %v", a, err)
			}
			if float64(truth[j]) < a.Low || float64(truth[j]) > a.High {
				missed[j]++
			}
		}
	}
	for j, n := range missed {
		if n > most {
			t.Errorf("query %d: %d of %d missed", j, n, trials)
		}
	}
}

// TestSumOfUnmeasured: a query that no marginal has is answered by fits, and has no interval.
func TestSumOfUnmeasured(t *testing.T) {
	u := universe(t, 2, 2)
	p := params(t, [][]int{{0}, {1}}, big.NewRat(4, 1))
	r := build(t, u, p, []int64{10, 20, 30, 40})
	q, err := query.Where(u, 0, u.Columns()[0].Domain.SetOf(query.Int(1))).And(query.Where(u, 1, u.Columns()[1].Domain.SetOf(query.Int(1))))
	if err != nil {
		t.Fatal(err)
	}
	a, err := Sum(t.Context(), []*Release{r, r}, []query.Query{q, q}, 0.95)
	if err != nil || a.Verified {
		t.Fatalf("%+v, %v", a, err)
	}
	if one, _ := r.Answer(t.Context(), q, 0.95); math.Abs(float64(a.Value-2*one.Value)) > 0 {
		t.Errorf("%+v, of one %+v", a, one)
	}
}
