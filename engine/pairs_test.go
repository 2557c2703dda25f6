package engine_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpsql/internal/seeds"
	"dpsql/mechanisms/direct"
	"dpsql/noise/law"
	"dpsql/sqlerr"
	"dpsql/sqlfront/post"
)

// TestPairsAreSevenCharges checks that the aggregates of two columns cost the count, the two
// sums, the two sums of squares, and the products of either sign, whatever is computed from
// them and for any number of groups.
func TestPairsAreSevenCharges(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 100, delta = 1e-6`)
	must(t, s, `SET accuracy = 50`)
	one := must(t, s, `SELECT COUNT(*) FROM t WHERE v < 7`).Answer.Cost.Rho
	for text, prices := range map[string]float64{
		`SELECT REGR_COUNT(v, a) FROM t WHERE a = 0`:                                               1,
		`SELECT COVAR_POP(v, a), COVAR_SAMP(v, a), REGR_SXY(v, a) FROM t WHERE v > 1`:              5,
		`SELECT REGR_SLOPE(v, a), REGR_INTERCEPT(v, a), REGR_AVGX(v, a) FROM t WHERE v > 2`:        6,
		`SELECT CORR(v, a), REGR_R2(v, a), CORR(a, v), VARIANCE(v), REGR_SXX(v, a) FROM t`:         7,
		`SELECT b, CORR(v, a), MARGIN(CORR(v, a)) AS m FROM t WHERE v > 3 GROUP BY b HAVING m < 1`: 7,
	} {
		if got := must(t, s, text).Answer.Cost.Rho / one; got < prices || got > prices*1.02 {
			t.Errorf("%s costs %g prices, want %g", text, got, prices)
		}
	}
}

// TestPairsFromReleases asks a release of marginals that measured both columns together, and
// one that measured each of them alone.
func TestPairsFromReleases(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 100, delta = 1e-6`)
	quieten(s.DB())
	must(t, s, `CREATE RELEASE r ON t (v, a) USING MARGINALS WITH (epsilon = 1, delta = 1e-8, degree = 2)`)
	r := must(t, s, `SELECT CORR(v, a) FROM t`)
	if x, ok := r.Rows[0][0].(float64); !ok || math.Abs(x) > 1 || r.Answer.Via != "r" || r.Answer.Cost.Rho != 0 {
		t.Errorf("%v by %s", r.Rows, r.Answer.Via)
	}
	must(t, s, `CREATE RELEASE alone ON t (v, b) USING MARGINALS WITH (epsilon = 1, delta = 1e-8, degree = 1)`)
	must(t, s, `SET mechanism = alone`)
	refused(t, s, sqlerr.Uncovered, `SELECT COVAR_POP(v, a) FROM t`)
}

// TestPairsAreCovered draws the statistics of two columns from direct answers, 20,000 times
// in the long run: of a cloud of points, of two points, and of a column that is constant, of
// which a correlation must have no interval. By the union bound each interval holds in at
// least 95 % of the draws. So one of the 27 holds in fewer than 92.8 % with a probability
// of at most 27·exp(−2·20000·0.022²) = 1.1e-7, and of 500 in fewer than 81 % with at most
// 27·exp(−2·500·0.14²) = 8.3e-8 (Hoeffding).
func TestPairsAreCovered(t *testing.T) {
	t.Parallel()
	draws, least := 500, 0.81
	if *long {
		draws, least = 20_000, 0.928
	}
	seed := seeds.Of(t)
	src, random := stream(seed), rand.New(rand.NewPCG(seed, 1))
	const d, c = 20, 50 // the middles
	laws := make([]direct.Plan, 6)
	for i, w := range []int64{1, 40, 100, d * d, c * c, d * c} { // weights; rows are within 14 at 95 % each
		laws[i], _ = direct.PlanFor(direct.Request{Accuracy: float64(14 * w), Confidence: 0.95, Sensitivity: w, Answers: 1})
	}
	widths := make(map[[2]float64]float64) // by law and confidence
	p := post.Program{Limit: -1}
	names := []string{"COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2", "REGR_SXX", "REGR_SYY", "REGR_SXY"}
	for i := range names {
		p.Columns = append(p.Columns, post.Column{Value: post.Pair{Of: post.Statistic(i), MiddleY: d, MiddleX: c,
			Y:        post.Variance{Mean: post.Mean{Terms: []post.Term{{Slot: 1, Factor: 1}, {Slot: 0, Factor: -d}}}, Squares: []post.Term{{Slot: 3, Factor: 1}}},
			X:        post.Variance{Mean: post.Mean{Terms: []post.Term{{Slot: 2, Factor: 1}, {Slot: 0, Factor: -c}}}, Squares: []post.Term{{Slot: 4, Factor: 1}}},
			Products: []post.Term{{Slot: 5, Factor: 1}}}})
	}
	for shape, point := range map[string]func(i int) (y, x int64){
		"cloud":      func(int) (y, x int64) { x = random.Int64N(101); return (x*3/10 + random.Int64N(11)), x },
		"two points": func(i int) (y, x int64) { return []int64{5, 35}[i%2], []int64{90, 10}[i%2] },
		"constant":   func(int) (y, x int64) { return random.Int64N(41), c },
	} {
		var truths [6]int64
		for i := range 4000 {
			y, x := point(i)
			for k, v := range [6]int64{1, y, x, (y - d) * (y - d), (x - c) * (x - c), (y - d) * (x - c)} {
				truths[k] += v
			}
		}
		exact := p.Run([]post.Group{{Answers: answersWithin(truths, func(int, float64) float64 { return 0 })}}, 0.95).Rows[0]
		held, some := make([]int, len(names)), make([]int, len(names))
		for range draws {
			values := truths
			for i, plan := range laws {
				var err error
				if values[i], err = plan.Answer(truths[i], src); err != nil {
					t.Fatal(err)
				}
			}
			out := p.Run([]post.Group{{Answers: answersWithin(values, func(i int, confidence float64) float64 {
				key := [2]float64{float64(i), confidence}
				if widths[key] == 0 {
					widths[key] = float64(law.HalfWidth(laws[i].Law, confidence))
				}
				return widths[key]
			})}}, 0.95)
			for k := range names {
				in, known := out.Intervals[0][k].(post.Interval)
				truth, defined := exact[k].(float64)
				if known {
					some[k]++
				}
				if !known || defined && in.Low-1e-9 <= truth && truth <= in.High+1e-9 {
					held[k]++
				}
			}
		}
		for k, name := range names {
			t.Logf("%s of %s: %d of %d intervals hold, %d there", name, shape, held[k], draws, some[k])
			if float64(held[k]) < least*float64(draws) || exact[k] != nil && shape != "constant" && some[k] < draws*9/10 {
				t.Errorf("%s of %s: %d of %d intervals hold, %d there", name, shape, held[k], draws, some[k])
			}
		}
	}
}

// answersWithin returns answers with symmetric intervals.
func answersWithin(values [6]int64, width func(i int, confidence float64) float64) []post.Answer {
	answers := make([]post.Answer, len(values))
	for i, v := range values {
		answers[i] = post.Answer{Value: v, Error: func(confidence float64) (post.Interval, bool) { return post.Within(width(i, confidence)), true }}
	}
	return answers
}
