package projection

import (
	"flag"
	"fmt"
	"math"
	"testing"

	"dpsql/noise"
	"dpsql/query"
)

var coverageRuns = flag.Int("coverage", 4, "releases in each case of the tests of coverage")

var (
	confidences = []float64{0.5, 0.9, 0.95, 0.999}
	supports    = []int64{1, 2, 10, 1000}
)

// tallied counts, for each confidence, how many errors lie within the margin, and
// how many within one less.
type tallied struct {
	trials           int
	within, narrower []int
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

// expect fails unless the coverage is nominal or above, and, where tight, unless
// margins one less would not be enough, or by a hundredth. A test compares less
// than 200 times, and so is wrong of a correct program with probability 1e-6 at
// most, by leastHits. Half a hundredth, and at most a tenth of what is not covered,
// is for V, which is estimated: queries of one release share few of their buckets,
// with independent signs.
func (c *tallied) expect(t *testing.T, what string, tight bool) {
	t.Helper()
	t.Logf("%s: %v of %d at %v; one less: %v", what, c.within, c.trials, confidences, c.narrower)
	for i, confidence := range confidences {
		rest := min(0.005, 0.1*(1-confidence))
		if c.within[i] < leastHits(c.trials, confidence-rest) {
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
func foldedSum(law noise.Law, m int64) []float64 {
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
			for range *coverageRuns {
				r := build(t, u, c.p, src, d.cells())
				for _, m := range supports {
					if tallies[m] == nil {
						tallies[m] = newTally()
					}
					for range 400 {
						low := int64(random.IntN(n/2)) + n/4
						if c.name != "whole" { // occupied cells, past those near the clip
							low = 10_000 + int64(random.IntN(280_000))
						}
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

// Cells about the clip are covered whatever their excess, alone and many in a
// query, though most of these are not published.
func TestCoverageAboutTheClip(t *testing.T) {
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
		for range *coverageRuns {
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
// that cancel or agree, about a record that is known to be there or about none.
func TestCoverageOfCraftedLists(t *testing.T) {
	src, _ := seeded(t)
	law := laplace(t, 1, 1)
	const rows, cells = 1 << 12, 100
	u := line(t, 1<<20)
	for _, kind := range []string{"cancel", "agree", "cancel, many", "agree, many", "cancel, none there"} {
		tally := newTally()
		for range 10 * *coverageRuns {
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
