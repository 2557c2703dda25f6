package post

import (
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"pgregory.net/rapid"

	"dpsql/internal/scratch"
	"dpsql/internal/seeds"
)

var long = flag.Bool("long", false, "draw as much as .ci/run does")

func TestMain(m *testing.M) {
	scratch.CollectSeldom()
	os.Exit(m.Run())
}

// TestIsotonic compares pooling with the definition of the regression: at i it is the
// largest over j ≤ i of the smallest over k ≥ i of the mean of x[j … k].
func TestIsotonic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-20, 20), 0, 12).Draw(rt, "x")
		got := isotonic(x)
		for i := range x {
			want := math.Inf(-1)
			for j := 0; j <= i; j++ {
				least := math.Inf(1)
				for k := i; k < len(x); k++ {
					sum := 0.0
					for _, v := range x[j : k+1] {
						sum += v
					}
					least = min(least, sum/float64(k+1-j))
				}
				want = max(want, least)
			}
			if math.Abs(got[i]-want) > 1e-9 {
				rt.Fatalf("isotonic(%v)[%d] is %v, want %v", x, i, got[i], want)
			}
		}
	})
}

// noisyDistribution is the distribution of counts by value, where each count up to a place
// and behind it has Gaussian noise of its own, and of the half-width that goes with it.
func noisyDistribution(counts []int64, sigma float64, random *rand.Rand) Answer {
	type cut struct{ below, above int64 }
	known := make(map[int64]cut)
	sums := make([]int64, len(counts)+1)
	for i, n := range counts {
		sums[i+1] = sums[i] + n
	}
	count := func(value int64) Answer {
		return Answer{Value: value, Error: func(confidence float64) (Interval, bool) {
			if sigma == 0 {
				return Interval{}, true
			}
			return Within(math.Floor(0.5 + sigma*math.Sqrt2*math.Erfinv(confidence))), true
		}}
	}
	noise := func() int64 {
		if sigma == 0 {
			return 0
		}
		return int64(math.Round(sigma * random.NormFloat64()))
	}
	n := sums[len(counts)]
	all := count(n + noise())
	all.Distribution = &Distribution{Places: int64(len(counts)), Values: func(p int64) (float64, float64) { return float64(p), float64(p) },
		Split: func(p int64) (below, above Answer, ok bool) {
			c, seen := known[p]
			if !seen {
				c = cut{sums[p+1] + noise(), n - sums[p+1] + noise()}
				known[p] = c
			}
			return count(c.below), count(c.above), true
		}}
	return all
}

// withGap gives a noisy distribution the law of its gaps. The numbers are rounded, each by at
// most a half.
func withGap(a Answer, sigma float64) Answer {
	d := a.Distribution
	d.Gap = func(place int64, q, confidence float64) (Interval, bool) {
		below, above, _ := d.Split(place)
		width := sigma*math.Hypot(1-q, q)*math.Sqrt2*math.Erfcinv(2*(1-confidence)) + 0.5
		return Within(width).Plus((1-q)*float64(below.Value) - q*float64(above.Value)), true
	}
	return a
}

// quantileShapes are distributions over 100 values: even, an atom in the middle of few
// others, two values, one row, and rows at both ends.
func quantileShapes() map[string][]int64 {
	shapes := map[string][]int64{"even": make([]int64, 100), "atom": make([]int64, 100), "two": make([]int64, 100), "one": make([]int64, 100), "ends": make([]int64, 100)}
	for i := range 100 {
		shapes["even"][i], shapes["atom"][i] = 20, 5
	}
	shapes["atom"][40] = 3000
	shapes["two"][10], shapes["two"][90] = 1000, 1001
	shapes["one"][77] = 1
	shapes["ends"][0], shapes["ends"][99] = 700, 1400
	return shapes
}

// TestQuantilesCover draws noisy distributions and counts how often the interval at 95 %
// misses the true quantile. The misses of 20,000 draws are at most binomial with 5 %: more
// than 1,190 has a probability below 1.4e-8 (Chernoff) for each of 60 cells. By default a
// hundredth is drawn, of which more than 31 is as rare. Half of the cells have gaps.
func TestQuantilesCover(t *testing.T) {
	draws, most := 200, 31
	if *long {
		draws, most = 20_000, 1190
	}
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 1))
	var worst [2]float64
	for cell := range 2 {
		for name, counts := range quantileShapes() {
			for _, q := range []Quantile{{Q: 0.5, Method: Continuous}, {Q: 0.5}, {Q: 0.9}, {Q: 0.1, Method: Continuous}, {Method: Least}, {Method: Greatest}} {
				exact := &row{answers: []Answer{noisyDistribution(counts, 0, random)}, confidence: 0.95}
				truth := q.value(exact).Float()
				missed, known := 0, 0
				for range draws {
					r := &row{answers: []Answer{noisyDistribution(counts, 30, random)}, confidence: 0.95}
					if cell == 1 {
						r.answers[0] = withGap(r.answers[0], 30)
					}
					first, last, ok := q.ends(r.answers[0].Distribution, r.confidence)
					if !ok {
						t.Fatal("an interval is not known")
					}
					if truth < float64(first) || truth > float64(last) {
						missed++
					}
					if v := q.value(r); !v.IsNull() {
						if known++; v.Float() < float64(first) || v.Float() > float64(last) {
							t.Fatalf("%s: %+v is %v, outside %d … %d", name, q, v.Float(), first, last)
						}
					}
				}
				worst[cell] = max(worst[cell], float64(missed)/float64(draws))
				if missed > most {
					t.Errorf("%s, seed %d: the interval of %+v misses %v in %d of %d draws (gaps: %v)", name, seed, q, truth, missed, draws, cell == 1)
				}
			}
		}
	}
	t.Logf("at most %.2f %% of the intervals miss, and with gaps %.2f %%", 100*worst[0], 100*worst[1])
}

// TestQuantileOfSorted compares quantiles without noise with a sorted list, and their
// intervals with the value alone. A list without values has none.
func TestQuantileOfSorted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		counts := rapid.SliceOfN(rapid.Int64Range(0, 3), 1, 40).Draw(rt, "counts")
		q := Quantile{Q: rapid.Float64Range(0, 1).Draw(rt, "q"), Method: rapid.SampledFrom([]Method{Discrete, Continuous, Least, Greatest}).Draw(rt, "method")}
		var sorted []float64
		for v, n := range counts {
			for range n {
				sorted = append(sorted, float64(v))
			}
		}
		r := &row{answers: []Answer{noisyDistribution(counts, 0, nil)}, confidence: 0.95}
		got := q.value(r)
		if len(sorted) == 0 {
			if !got.IsNull() {
				rt.Fatalf("%+v of nothing is %v", q, got.Any())
			}
			return
		}
		n := float64(len(sorted))
		var want float64
		switch q.Method {
		case Least:
			want = sorted[0]
		case Greatest:
			want = sorted[len(sorted)-1]
		case Discrete:
			want = sorted[max(1, int(math.Ceil(q.Q*n)))-1]
		default:
			at := q.Q * (n - 1)
			low, high := sorted[int(math.Floor(at))], sorted[int(math.Ceil(at))]
			want = low + (at-math.Floor(at))*(high-low)
		}
		if math.Abs(got.Float()-want) > 1e-9 {
			rt.Fatalf("%+v of %v is %v, want %v", q, sorted, got.Any(), want)
		}
	})
}
