package engine_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dpsql/mechanisms/direct"
	"dpsql/noise"
	"dpsql/post"
)

// TestVarianceOfRows compares variances, out of answers without noise, with
// those of the rows: of values on one side of 0 and on both, of expressions, in
// groups, and next to the mean of the same.
func TestVarianceOfRows(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 100, delta = 1e-6`)
	quieten(s.DB())
	must(t, s, `CREATE RELEASE r ON t USING PROJECTION WITH (epsilon = 10, transform = identity)`)
	raw := plain(t, s)
	for _, x := range []string{"v", "a", "v - 20", "v + 1000000", "-a", "v * a", "a * a - 3", "CASE WHEN a > 2 THEN a END", "7", "a / 2"} {
		for _, where := range []string{"1 = 1", "a < 3", "b = 'x' AND a > 1", "v = 30", "v > 90"} {
			var n, first, second float64
			err := raw.QueryRow(fmt.Sprintf(`SELECT COUNT(%[1]s), COALESCE(SUM(%[1]s), 0), COALESCE(SUM((%[1]s) * (%[1]s)), 0) FROM raw WHERE %[2]s`, x, where)).Scan(&n, &first, &second)
			if err != nil {
				t.Fatal(err)
			}
			got := must(t, s, fmt.Sprintf(`SELECT VAR_POP(%[1]s), VAR_SAMP(%[1]s), VARIANCE(%[1]s), STDDEV_POP(%[1]s), stddev_samp(%[1]s), STDDEV(%[1]s), AVG(%[1]s) FROM t WHERE %[2]s`, x, where)).Rows[0]
			over := second - first*first/n
			want := []float64{over / n, over / (n - 1), over / (n - 1), math.Sqrt(over / n), math.Sqrt(over / (n - 1)), math.Sqrt(over / (n - 1)), first / n}
			for i, w := range want {
				if v, ok := got[i].(float64); ok != (n > 0) || ok && math.Abs(v-w) > 1e-3*(1+math.Abs(w)) {
					t.Errorf("%s where %s: got %v, want %v", x, where, got, want)
					break
				}
			}
		}
	}
	rows := must(t, s, `SELECT a, VAR_POP(v + a), STDDEV(v) AS d, MARGIN(d) FROM t GROUP BY a HAVING STDDEV(v) < 1 ORDER BY VARIANCE(v), a`).Rows
	if len(rows) != 5 || rows[4][1] != 0.0 || rows[4][2] != 0.0 || rows[4][0] != int64(4) {
		t.Errorf("in groups: %v", rows)
	}
}

// TestVarianceIsThreeCharges: the count, the sum and the squares, whatever is
// made of them, and however many groups there are.
func TestVarianceIsThreeCharges(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 20, delta = 1e-6`)
	must(t, s, `SET accuracy = 50`)
	one := must(t, s, `SELECT COUNT(*) FROM t WHERE v < 7`).Answer.Cost.Rho
	for text, prices := range map[string]float64{
		`SELECT VARIANCE(v) FROM t WHERE a = 0`:                                                3,
		`SELECT AVG(v), VAR_POP(v), STDDEV(v), MARGIN(STDDEV(v)), COUNT(v) FROM t WHERE a = 1`: 3,
		`SELECT a, STDDEV(v) FROM t WHERE v > 3 GROUP BY a`:                                    3,
		`SELECT a, AVG(v), STDDEV(v) FROM t WHERE v > 5 GROUP BY a`:                            3,
	} {
		if got := must(t, s, text).Answer.Cost.Rho / one; got < prices || got > prices*1.02 {
			t.Errorf("%s costs %g prices, want %g", text, got, prices)
		}
	}
}

// TestVariancesAreCovered draws 20,000 standard deviations of direct answers.
// By the union bound the margins hold in at least 95 % of cases, so that fewer
// than 93.1 % have a probability of exp(−2·20000·0.019²) = 5.4e-7 at most
// (Hoeffding).
func TestVariancesAreCovered(t *testing.T) {
	t.Parallel()
	const c = 50
	laws := make([]direct.Plan, 3)
	for i, w := range []int64{1, 100, c * c} { // weights, and rows to within 14 at 95 % each
		laws[i], _ = direct.PlanFor(direct.Request{Accuracy: float64(14 * w), Confidence: 0.95, Sensitivity: w})
	}
	truths := [3]int64{1000, 15_000, 0} // values 10 and 20, half of them each
	truths[2] = 500*(c-10)*(c-10) + 500*(c-20)*(c-20)
	deviation := post.Variance{Mean: post.Mean{Terms: []post.Term{{Slot: 1, Factor: 1}, {Slot: 0, Factor: -c}}, Count: 0},
		Squares: []post.Term{{Slot: 2, Factor: 1}}, Root: true}
	p := post.Program{Columns: []post.Column{{Name: "stddev", Value: deviation}}, Limit: -1}
	widths := make(map[[2]float64]float64) // of each law at each confidence, computed once
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	src := stream(seed)
	const draws = 20_000
	held := 0
	for range draws {
		var answers []post.Answer
		for i, plan := range laws {
			value, err := plan.Answer(truths[i], src)
			if err != nil {
				t.Fatal(err)
			}
			answers = append(answers, post.Answer{Value: value, HalfWidth: func(confidence float64) (float64, bool) {
				key := [2]float64{float64(i), confidence}
				if widths[key] == 0 {
					widths[key] = float64(noise.HalfWidth(plan.Law, confidence))
				}
				return widths[key], true
			}})
		}
		out := p.Run([]post.Group{{Answers: answers}}, 0.95)
		if math.Abs(out.Rows[0][0].(float64)-5) <= out.Margins[0][0].(float64) {
			held++
		}
	}
	t.Logf("%d of %d margins hold", held, draws)
	if held < draws*931/1000 {
		t.Errorf("only %d of %d margins hold", held, draws)
	}
}
