package projection

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"dpsql/noise"
	"dpsql/query"
	"dpsql/sqlerr"
)

// zipf returns cells with counts top/(1+i)^1.05 on scattered codes below n.
func zipf(n uint64, cells int, top float64) counts {
	d := counts{}
	for i := range cells {
		d[uint64(i)*2654435761%n] = int64(top / math.Pow(float64(i+1), 1.05))
	}
	return d
}

// Margins must hold the truth as often as they say, over matrix and noise. The
// test compares 56 times, and so fails a correct program once in 3·10^6 by
// leastHits, if its coverage is the stated confidence less half a point. That half
// a point is for the normal law and for V, which is estimated.
func TestMarginCoverage(t *testing.T) {
	src, _ := seeded(t)
	const n = 5000
	u := line(t, n)
	law := laplace(t, 1, 1)
	skewed, flat := zipf(n, 400, 2000), zipf(n, 300, 0)
	for x := range flat {
		flat[x] = 3
	}
	weights := make([]int64, n)
	for i := range 30 {
		weights[100+i] = int64(i * i)
	}
	weightedQuery, err := query.Weighted(u, 0, weights)
	if err != nil {
		t.Fatal(err)
	}
	fewQueries := []query.Query{among(u, 17), between(t, u, 0, 9), between(t, u, 200, 263), weightedQuery}
	queries := append(fewQueries[:len(fewQueries):len(fewQueries)], between(t, u, 300, 364), between(t, u, 1000, 1999))
	for _, c := range []struct {
		name    string
		p       Params
		data    counts
		queries []query.Query
		trials  int
	}{
		{"identity", Params{Transform: Identity, Rows: n, Law: law, Bulk: true}, skewed, queries, 500},
		{"sparse 200 skewed", Params{Transform: Sparse, Rows: 200, Law: law}, skewed, queries, 50},
		{"sparse 4000 skewed", Params{Transform: Sparse, Rows: 4000, Law: law, Bulk: true}, skewed, queries, 50},
		{"sparse 200 flat", Params{Transform: Sparse, Rows: 200, Law: law}, flat, queries, 300},
		{"dense 512 flat", Params{Transform: Dense, Rows: 512, Law: laplace(t, 90, 1), Independence: 4}, flat, fewQueries, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			confidences := []float64{0.9, 0.99}
			hits := make([][2]int, len(c.queries))
			for range c.trials {
				r := build(t, u, c.p, src, c.data.cells())
				for i, q := range c.queries {
					off := math.Abs(float64(estimate(t, r, q) - c.data.answer(q)))
					for j, confidence := range confidences {
						if off <= margin(t, r, q, confidence) {
							hits[i][j]++
						}
					}
				}
			}
			for i, q := range c.queries {
				t.Logf("m = %v: %v of %d at %v", q.Size(), hits[i], c.trials, confidences)
				for j, confidence := range confidences {
					if least := leastHits(c.trials, confidence-0.005); hits[i][j] < least {
						t.Errorf("m = %v: %d of %d at %v, want at least %d", q.Size(), hits[i][j], c.trials, confidence, least)
					}
				}
			}
		})
	}
}

// The margin of a query that holds all of the data needs the term for it.
func TestDenseMarginCoversAlignedQuery(t *testing.T) {
	src, _ := seeded(t)
	u := line(t, 40)
	d := counts{}
	for x := range uint64(40) {
		d[x] = 30
	}
	q := query.All(u)
	const trials = 1000
	hits := 0
	for range trials {
		r := build(t, u, Params{Transform: Dense, Rows: 256, Law: laplace(t, 5, 1), Independence: 4}, src, d.cells())
		if math.Abs(float64(estimate(t, r, q)-1200)) <= margin(t, r, q, 0.95) {
			hits++
		}
	}
	t.Logf("%d of %d at 95 %%", hits, trials)
	// Below this with probability 5e-9 at a coverage of 94 %; without the term
	// the coverage is 84 %.
	if least := leastHits(trials, 0.94); hits < least {
		t.Errorf("%d of %d at 95 %%, want at least %d", hits, trials, least)
	}
}

// A margin must not only hold but be about as narrow as the noise allows. It is
// wider in a release whose matrix lets more elements of the query meet than is
// forgiven: of 1,000 elements in 2^20 buckets two or more, which is Poisson with
// mean 0.476 and has probability 0.083. So the narrowest of 7 releases counts, and
// a correct program fails with probability 0.083^7 < 3e-8.
func TestMarginsAreTight(t *testing.T) {
	src, _ := seeded(t)
	u := line(t, 1<<40)
	law := laplace(t, 1, 1)
	d := counts{}
	for i := range uint64(1000) {
		d[i*i*i] = int64(i % 5)
	}
	var releases []*Release
	for range 7 {
		releases = append(releases, build(t, u, Params{Transform: Sparse, Rows: 1 << 20, Law: law, Bulk: true}, src, d.cells()))
	}
	for _, c := range []struct {
		q    query.Query
		want float64
	}{
		{among(u, 12345), float64(noise.HalfWidth(law, 0.95))},
		{between(t, u, 1000, 1063), 1.96 * math.Sqrt(64*law.Variance())},
		{between(t, u, 1000, 1064), 1.96 * math.Sqrt(65*law.Variance())},
		{between(t, u, 5000, 5999), 1.96 * math.Sqrt(1000*law.Variance())},
	} {
		least := math.Inf(1)
		for _, r := range releases {
			least = min(least, margin(t, r, c.q, 0.95))
		}
		t.Logf("m = %v: ± %.1f, noise alone %.1f", c.q.Size(), least, c.want)
		if least > 1.06*c.want+1 || least < 0.97*c.want-1 {
			t.Errorf("m = %v: ± %v, want about %v", c.q.Size(), least, c.want)
		}
	}
}

// A table finds the elements that share a coordinate, all of them, whatever the
// order, and a margin counts what cancels and what adds up in one.
func TestMeetings(t *testing.T) {
	var table meetings
	table.expect(8, 1<<20, 0x9e3779b97f4a7c15)
	for _, c := range []struct {
		places []place
		weight int64
	}{{[]place{1, 7, 4, 9 | negative}, 2}, {[]place{1 | negative, 5}, 2}, {[]place{4, 1}, 3}} {
		table.places = append(table.places, c.places...)
		table.weigh(c.weight, uint64(len(c.places)))
		table.look()
	}
	table.search()
	var got []string
	table.eachBucket(func(bucket []term, c int64, s float64) {
		got = append(got, fmt.Sprintf("%d: %d elements, c = %d, s = %v", bucket[0].row, len(bucket), c, s))
	})
	if want := "[1: 3 elements, c = 3, s = 17 4: 2 elements, c = 5, s = 13]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	src, _ := seeded(t)
	u := line(t, 10)
	r := build(t, u, Params{Transform: Sparse, Rows: 1, Law: laplace(t, 1, 1)}, src, counts{}.cells())
	for x := range int64(9) {
		if margin(t, r, among(u, x, x+1), 0.95) == 0 {
			t.Errorf("a margin of 0 for codes %d and %d", x, x+1)
		}
	}
}

func TestMarginRefusesConfidence(t *testing.T) {
	src, _ := seeded(t)
	u := line(t, 10)
	r := build(t, u, Params{Transform: Identity, Rows: 10, Law: laplace(t, 1, 1)}, src, counts{}.cells())
	for _, c := range []float64{0, 1, -1, 2, math.NaN(), math.Inf(1)} {
		if _, err := r.Answer(context.Background(), among(u, 1), c); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("confidence %v: %v", c, err)
		}
	}
	if w := margin(t, r, query.None(u), 0.95); w != 0 {
		t.Errorf("the margin of an empty query is %v", w)
	}
}

// A release serves concurrent readers, who all see the same.
func TestConcurrentReaders(t *testing.T) {
	src, _ := seeded(t)
	u := line(t, 3000)
	for _, p := range []Params{
		{Transform: Sparse, Rows: 100, Law: laplace(t, 1, 1)},
		{Transform: Dense, Rows: 100, Law: laplace(t, 30, 1), Independence: 4},
	} {
		r := build(t, u, p, src, zipf(3000, 50, 100).cells())
		var queries []query.Query
		for i := range int64(40) {
			queries = append(queries, between(t, u, i, 3*i))
		}
		answers := func() (out []float64) {
			for _, q := range queries {
				out = append(out, float64(estimate(t, r, q)), margin(t, r, q, 0.9))
			}
			return out
		}
		got := make([][]float64, 4)
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() { got[i] = answers() })
		}
		wg.Wait()
		want := fmt.Sprint(answers())
		for i := range got {
			if fmt.Sprint(got[i]) != want {
				t.Errorf("%s: reader %d sees something else", p.Transform, i)
			}
		}
	}
}
