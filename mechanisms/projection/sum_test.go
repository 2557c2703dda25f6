package projection

import (
	"math"
	"testing"

	"dpsql/query"
)

// TestSumCoverage adds answers of releases of different rows. Margins must hold the sum of the
// true counts as often as they say, and those of identity releases with one law must not be wider
// than those of one release with all of their cells. The test compares 12 times, and so fails a
// correct program once in 1.6·10^7 by leastHits, if its coverage is the stated confidence less half
// a point, as in TestMarginCoverage.
func TestSumCoverage(t *testing.T) {
	t.Parallel()
	src, _ := seeded(t)
	const n, parts = 500, 6
	u := line(t, n)
	queries := []query.Query{among(u, 17), between(t, u, 0, 9), between(t, u, 100, 399)}
	identity := func(b int64) Params {
		return Params{Transform: Identity, Rows: n, Law: laplace(t, b, 1), Bulk: true}
	}
	sparse := Params{Transform: Sparse, Rows: 64, Law: laplace(t, 3, 1), Bulk: true}
	dense := Params{Transform: Dense, Rows: 256, Law: laplace(t, 30, 1), Independence: 4}
	for _, c := range []struct {
		name   string
		of     func(i int) Params
		trials int
	}{
		{"alike", func(int) Params { return identity(5) }, sized(20, 2000)},
		{"laws", func(i int) Params { return identity(int64(2 + 3*i)) }, sized(20, 2000)},
		{"sparse", func(i int) Params { return sparse }, sized(15, 500)},
		{"mixed", func(i int) Params { return []Params{identity(4), sparse, dense}[i%3] }, sized(9, 300)},
	} {
		t.Run(c.name, func(t *testing.T) {
			hits := make([]int, len(queries))
			const confidence = 0.95
			var known []*widths // of each part: its law is the same in all trials
			for range parts {
				known = append(known, newWidths())
			}
			for range c.trials {
				var releases []*Release
				truth := make([]int64, len(queries))
				for i := range parts {
					data := zipf(n, 40+10*i, 60)
					r := build(t, u, c.of(i), src, data.cells())
					r.widths = known[i]
					releases = append(releases, r)
					for j, q := range queries {
						truth[j] += data.answer(q)
					}
				}
				for j, q := range queries {
					each := make([]query.Query, parts)
					for i := range each {
						each[i] = q
					}
					a, err := Sum(t.Context(), releases, each, confidence)
					if err != nil {
						t.Fatal(err)
					}
					if math.Abs(float64(a.Value-truth[j])) <= a.Margin {
						hits[j]++
					}
					if m, _ := q.SizeWithin(math.MaxUint64); c.name == "alike" {
						if want := releases[0].sumQuantile([]factor{{0, 1, parts * m}}, confidence); a.Margin != want {
							t.Fatalf("m = %d a part: margin %v, of one release %v", m, a.Margin, want)
						}
					}
				}
			}
			for j, q := range queries {
				if least := leastHits(c.trials, confidence-0.005); hits[j] < least {
					t.Errorf("m = %v: %d of %d, want at least %d", q.Size(), hits[j], c.trials, least)
				}
			}
		})
	}
}

// TestSumOfOne: the sum of one answer is that answer.
func TestSumOfOne(t *testing.T) {
	src, _ := seeded(t)
	u := line(t, 300)
	data := zipf(300, 50, 500)
	for _, p := range []Params{{Transform: Identity, Rows: 300, Law: laplace(t, 2, 1)}, {Transform: Sparse, Rows: 100, Law: laplace(t, 2, 1)},
		{Transform: Dense, Rows: 128, Law: laplace(t, 20, 1), Independence: 4}} {
		r := build(t, u, p, src, data.cells())
		for _, q := range []query.Query{among(u, 3), between(t, u, 10, 90)} {
			a, err := Sum(t.Context(), []*Release{r}, []query.Query{q}, 0.9)
			if err != nil {
				t.Fatal(err)
			}
			want := answer(t, r, q, 0.9)
			if a.Value != want.Value || math.Abs(a.Margin-want.Margin) > 0.6 { // a dense one is rounded to whole numbers
				t.Errorf("%s: %+v, want %+v", p.Transform, a, want)
			}
		}
	}
}
