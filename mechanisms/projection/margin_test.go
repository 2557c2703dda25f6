package projection

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"dpsql/noise/law"
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
	t.Parallel()
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
		{"identity", Params{Transform: Identity, Rows: n, Law: law, Bulk: true}, skewed, queries, sized(20, 500)},
		{"sparse 200 skewed", Params{Transform: Sparse, Rows: 200, Law: law}, skewed, queries, sized(12, 100)},
		{"sparse 4000 skewed", Params{Transform: Sparse, Rows: 4000, Law: law, Bulk: true}, skewed, queries, sized(12, 100)},
		{"sparse 200 flat", Params{Transform: Sparse, Rows: 200, Law: law}, flat, queries, sized(20, 300)},
		{"dense 512 flat", Params{Transform: Dense, Rows: 512, Law: laplace(t, 90, 1), Independence: 4}, flat, fewQueries, sized(20, 200)},
	} {
		t.Run(c.name, func(t *testing.T) {
			confidences := []float64{0.9, 0.99}
			hits := make([][2]int, len(c.queries))
			known := newWidths() // the law is the same in all releases
			for range c.trials {
				r := build(t, u, c.p, src, c.data.cells())
				r.widths = known
				for i, q := range c.queries {
					truth := c.data.answer(q)
					for j, confidence := range confidences {
						if a := answer(t, r, q, confidence); math.Abs(float64(a.Value-truth)) <= a.Margin {
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
	trials := sized(250, 1000)
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
	l := laplace(t, 1, 1)
	d := counts{}
	for i := range uint64(1000) {
		d[i*i*i] = int64(i % 5)
	}
	var releases []*Release
	for range 7 {
		releases = append(releases, build(t, u, Params{Transform: Sparse, Rows: 1 << 20, Law: l, Bulk: true}, src, d.cells()))
	}
	for _, c := range []struct {
		q    query.Query
		want float64
	}{
		{among(u, 12345), float64(law.HalfWidth(l, 0.95))},
		{between(t, u, 1000, 1063), 1.96 * math.Sqrt(64*l.Variance())},
		{between(t, u, 1000, 1064), 1.96 * math.Sqrt(65*l.Variance())},
		{between(t, u, 5000, 5999), 1.96 * math.Sqrt(1000*l.Variance())},
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
		places []signedRow
		weight int64
	}{{[]signedRow{1, 7, 4, 9 | negative}, 2}, {[]signedRow{1 | negative, 5}, 2}, {[]signedRow{4, 1}, 3}} {
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

var coverageRuns = flag.Int("coverage", 0, "releases in each case of the tests of coverage; 0 means 1, or 20 with -long")

func coverageReleases() int {
	if *coverageRuns > 0 {
		return *coverageRuns
	}
	return sized(1, 20)
}

var (
	confidences = []float64{0.5, 0.9, 0.95, 0.999}
	supports    = []int64{1, 2, 10, 1000}
)

// tallied counts, for each confidence, how many errors lie within the margin, and
// how many within one less.
type tallied struct {
	trials           int
	within, narrower []int
	together         int // how many of the trials may miss together; 0 is each for itself
}

func newTally() *tallied {
	return &tallied{within: make([]int, len(confidences)), narrower: make([]int, len(confidences))}
}

func (c *tallied) add(t *testing.T, r *Release, q query.Query, truth int64) {
	t.Helper()
	c.trials++
	for i, confidence := range confidences {
		a := answer(t, r, q, confidence)
		off := math.Abs(float64(a.Value - truth))
		if off <= a.Margin {
			c.within[i]++
		}
		if off <= a.Margin-1 {
			c.narrower[i]++
		}
	}
}

// expect checks the coverage at each confidence, up to the rest in its code. The
// coverage must be nominal or above. If tight is set, margins one less must not be
// enough, or by a hundredth at most. The rest is half a hundredth, and at most a
// tenth of what is not covered. It allows for V, which is estimated: queries of one
// release have no cell in common and share few of their buckets, with independent
// signs. A test makes fewer than 200 comparisons, so by leastHits it fails a correct
// program with probability 1e-6 at most.
func (c *tallied) expect(t *testing.T, what string, tight bool) {
	t.Helper()
	t.Logf("%s: %v of %d at %v; one less: %v", what, c.within, c.trials, confidences, c.narrower)
	for i, confidence := range confidences {
		rest := min(0.005, 0.1*(1-confidence))
		together := max(c.together, 1)
		if c.within[i] < together*leastHits(c.trials/together, confidence-rest) {
			t.Errorf("%s: %d of %d at %v", what, c.within[i], c.trials, confidence)
		}
		if tight && c.trials-c.narrower[i] < leastHits(c.trials, 1-confidence-2*rest) {
			t.Errorf("%s: margins at %v are too wide: %d of %d are within one less", what, confidence, c.narrower[i], c.trials)
		}
	}
}

// The margins of identity releases are the smallest integers that reach the
// confidence, by exact convolution.
func TestIdentityMarginsAreExact(t *testing.T) {
	src, _ := seeded(t)
	u := line(t, 1000)
	for _, scale := range [][2]int64{{1, 2}, {1, 1}, {3, 1}} {
		law := laplace(t, scale[0], scale[1])
		r := build(t, u, Params{Transform: Identity, Rows: 1000, Law: law}, src, counts{}.cells())
		for _, m := range supports {
			sum := foldedSum(law, m)
			for _, confidence := range confidences {
				want, inside := 0, sum[0]
				for ; inside < confidence; want++ {
					inside += 2 * sum[want+1]
				}
				if got := margin(t, r, between(t, u, 0, m-1), confidence); got != float64(want) {
					t.Errorf("%v, m = %d at %v: ± %v, want %d", law, m, confidence, got, want)
				}
			}
		}
	}
}

// foldedSum returns P(S = k), k = 0, 1, …, of a sum of m draws of a law.
func foldedSum(law law.Law, m int64) []float64 {
	const reach = 1500
	one, sum := make([]float64, 2*reach+1), make([]float64, 2*reach+1)
	for k := -reach; k <= reach; k++ {
		one[k+reach] = law.Tail(int64(k)) - law.Tail(int64(k+1))
	}
	sum[reach] = 1
	convolve := func(a, b []float64) []float64 {
		out := make([]float64, 2*reach+1)
		for i, x := range a {
			if x < 1e-25 {
				continue
			}
			for j := max(0, reach-i); j <= min(2*reach, 3*reach-i); j++ {
				out[i+j-reach] += x * b[j]
			}
		}
		return out
	}
	for ; m > 0; m /= 2 {
		if m%2 == 1 {
			sum = convolve(sum, one)
		}
		one = convolve(one, one)
	}
	return sum[reach:]
}

// Margins of sketches, with heavy cells and without, are as wide as they must be
// and no wider, over matrix and noise, for queries of occupied and empty cells.
func TestSketchCoverage(t *testing.T) {
	t.Parallel()
	src, random := seeded(t)
	const n = 1 << 30
	u := line(t, n)
	law := laplace(t, 1, 1)
	d := counts{} // on consecutive codes, a tenth as many as the queries reach
	for i := range uint64(30_000) {
		d[10*i] = int64(20_000 / math.Pow(float64(i+1), 1.05))
	}
	for _, c := range []struct {
		name string
		p    Params
	}{
		{"whole", Params{Transform: Sparse, Rows: 1 << 22, Law: law, Bulk: true}},
		{"clip", clipped(t, 1<<18, 64, law, 1e-6)},
		{"named", naming(t, 1<<20, 1e-6)},
	} {
		t.Run(c.name, func(t *testing.T) {
			tallies := make(map[int64]*tallied)
			for range coverageReleases() {
				r := build(t, u, c.p, src, d.cells())
				for _, m := range supports {
					if tallies[m] == nil {
						tallies[m] = newTally()
					}
					first, blocks := int64(n/4), int64(n/2)/m
					if c.name != "whole" { // occupied cells, past those near the clip
						first, blocks = 10_000, 280_000/m
					}
					for _, block := range someBlocks(random, blocks, 250) {
						low := first + block*m
						q := between(t, u, low, low+m-1)
						tallies[m].add(t, r, q, d.answer(q))
					}
				}
			}
			for _, m := range supports {
				tallies[m].expect(t, fmt.Sprintf("m = %d", m), true)
			}
		})
	}
}

// someBlocks draws numbers below n, all different: queries of one release that
// shared cells would not be independent trials.
func someBlocks(random *rand.Rand, n int64, count int) []int64 {
	drawn := make(map[int64]bool)
	for len(drawn) < count {
		drawn[random.Int64N(n)] = true
	}
	return slices.Sorted(maps.Keys(drawn))
}

// TestCoverageAboutTheClip checks that margins cover cells whose counts lie about the
// clip, whatever their excess. It asks for them alone and many in a query. Most of
// these cells are not published.
func TestCoverageAboutTheClip(t *testing.T) {
	t.Parallel()
	src, _ := seeded(t)
	const clip, each = 64, 200
	law := laplace(t, 1, 1)
	p := clipped(t, 1<<18, clip, law, 1e-6)
	top := p.Heavy.Threshold
	u := line(t, 1<<30)
	for _, excess := range []int64{-8, -3, -1, 0, 1, 2, 5, top / 2, top - 3, top - 1, top, top + 1, top + 3, top + 10} {
		tallies := map[int64]*tallied{1: newTally(), 2: newTally(), 10: newTally()}
		d := counts{}
		for i := range uint64(each * 10) {
			d[i] = clip + excess
		}
		for range coverageReleases() {
			r := build(t, u, p, src, d.cells())
			for m, c := range tallies {
				for i := range int64(each) {
					c.add(t, r, between(t, u, i*m, i*m+m-1), m*(clip+excess))
				}
			}
		}
		for _, m := range []int64{1, 2, 10} {
			tallies[m].expect(t, fmt.Sprintf("excess %d, m = %d", excess, m), false)
		}
	}
}

// Lists made from the public matrix, of elements that share buckets, with signs
// that cancel or agree, about a record that is known to be there or about none. Two of the
// 100 codes share a bucket once or twice a release, and then their lists may miss together.
func TestCoverageOfCraftedLists(t *testing.T) {
	t.Parallel()
	src, _ := seeded(t)
	law := laplace(t, 1, 1)
	const rows, cells = 1 << 12, 100
	u := line(t, 1<<20)
	kinds := []string{"cancel", "agree, many", "cancel, none there"}
	if *long {
		kinds = append(kinds, "agree", "cancel, many")
	}
	for _, kind := range kinds {
		tally := newTally()
		tally.together = 2 // two codes in one bucket
		for range 3 * coverageReleases() {
			d := counts{}
			for i := range uint64(cells) {
				d[i] = int64(1 + i%40)
			}
			r := build(t, u, Params{Transform: Sparse, Rows: rows, Law: law, Bulk: true}, src, d.cells())
			partners := r.partners(kind[:5] == "agree", cells)
			var list []int64
			for i := range int64(cells) {
				if kind == "cancel, none there" {
					list = append(list, partners[i][1], partners[i][2])
				} else {
					list = append(list, i, partners[i][0])
				}
				if kind[len(kind)-4:] == "many" && len(list) < 20 {
					continue
				}
				q := among(u, list...)
				tally.add(t, r, q, d.answer(q))
				if kind[:5] != "agree" && margin(t, r, q, 0.5) == 0 {
					t.Fatalf("%s: a margin of 0", kind)
				}
				list = nil
			}
		}
		tally.expect(t, kind, false)
	}
}

// partners finds for each of the first codes three others in its bucket, empty
// ones; the first has its sign, or the other one, and the second and third have
// different signs.
func (r *Release) partners(agree bool, codes uint64) map[int64][3]int64 {
	first := make(map[uint64]int64)
	for x := range codes {
		if _, taken := first[r.matrix.sketch.atPoint(x).row()]; !taken {
			first[r.matrix.sketch.atPoint(x).row()] = int64(x)
		}
	}
	found := make(map[int64][3]int64)
	for x := codes; x < 1<<19; x++ {
		p := r.matrix.sketch.atPoint(x)
		mine, ok := first[p.row()]
		if !ok {
			continue
		}
		three := found[mine]
		same := p.sign() == r.matrix.sketch.atPoint(uint64(mine)).sign()
		switch {
		case three[0] == 0 && same == agree:
			three[0] = int64(x)
		case three[1] == 0 && same:
			three[1] = int64(x)
		case three[2] == 0 && !same:
			three[2] = int64(x)
		}
		found[mine] = three
	}
	for x := range codes { // codes whose bucket another of them has
		if found[int64(x)] == [3]int64{} {
			found[int64(x)] = [3]int64{int64(x) + 1<<19, int64(x) + 1<<19 + 1000, int64(x) + 1<<19 + 2000}
		}
	}
	return found
}
