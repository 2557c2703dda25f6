package engine_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// stays makes a table of 4,000 stays, with atoms at 0 and 7, and a ward of none. Every
// third length is NULL in the last ward.
func stays(t testing.TB, with string) (*engine.Session, map[string][]int64) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2)) // the data are fixed
	days := make(map[string][]int64)
	values := ""
	for i := range 4000 {
		ward := []string{"A", "A", "B", "C"}[i%4]
		d := int64(min(99, math.Floor(random.ExpFloat64()*9)))
		if i%5 == 0 {
			d = 7
		}
		if ward == "B" { // two values
			d = 3 + 60*int64(i/4%2)
		}
		if ward == "C" && i%3 == 0 {
			values += fmt.Sprintf(",('%s', NULL)", ward)
			continue
		}
		days[ward], days[""] = append(days[ward], d), append(days[""], d)
		values += fmt.Sprintf(",('%s', %d)", ward, d)
	}
	for _, d := range days {
		slices.Sort(d)
	}
	return declared(t, []string{`CREATE TABLE raw (ward TEXT, days INTEGER)`, `INSERT INTO raw VALUES ` + values[1:]},
		`CREATE PRIVATE TABLE stays (ward TEXT IN ('A', 'B', 'C', 'D'), days INTEGER BETWEEN -5 AND 110 OR NULL) FROM raw WITH (`+with+`)`), days
}

// discrete and continuous are PERCENTILE_DISC and PERCENTILE_CONT as PostgreSQL defines
// them, by a sorted list.
func discrete(sorted []int64, q float64) any {
	return sorted[max(1, int(math.Ceil(q*float64(len(sorted)))))-1]
}

func continuous(sorted []int64, q float64) any {
	at := q * float64(len(sorted)-1)
	low, high := sorted[int(math.Floor(at))], sorted[int(math.Ceil(at))]
	return float64(low) + (at-math.Floor(at))*float64(high-low)
}

// TestQuantilesWithoutNoise compares quantiles with those of the sorted rows, where all
// noise is 0: by a release, and bought. MIN and MAX are certain ends of an interval, whose
// margins are those of the noise that was not there.
func TestQuantilesWithoutNoise(t *testing.T) {
	t.Parallel()
	for _, way := range []struct{ name, first string }{
		{"direct", `SET accuracy = 150`},
		{"identity", `CREATE RELEASE cells ON stays USING PROJECTION WITH (epsilon = 5, transform = identity)`},
		{"marginals", `CREATE RELEASE cells ON stays USING MARGINALS WITH (epsilon = 5, delta = 1e-7, degree = 2, estimate = unbiased)`},
	} {
		s, days := stays(t, `epsilon = 20, delta = 1e-6`)
		quieten(s.DB())
		must(t, s, way.first)
		for _, q := range some(t, 3, []string{"0", "0.1", "0.25", "0.333", "0.5", "0.75", "0.9", "0.99", "1"}) {
			var f float64
			fmt.Sscan(q, &f)
			r := must(t, s, fmt.Sprintf(`SELECT ward, PERCENTILE_DISC(days, %[1]s), PERCENTILE_CONT(days, %[1]s), QUANTILE(days, %[1]s), MEDIAN(days), COUNT(days) FROM stays GROUP BY ward`, q))
			for i, ward := range []string{"A", "B", "C"} {
				d := days[ward]
				want := []any{ward, discrete(d, f), continuous(d, f), discrete(d, f), continuous(d, 0.5), int64(len(d))}
				for j := range want {
					got := r.Rows[i][j]
					if a, ok := got.(float64); ok && math.Abs(a-want[j].(float64)) < 1e-9 {
						continue
					}
					if got != want[j] {
						t.Errorf("%s, q = %s, ward %s: column %d is %v, want %v", way.name, q, ward, j, got, want[j])
					}
				}
				for j := 1; j < 5; j++ {
					in, ok := r.Answer.Intervals[i][j].(engine.Interval)
					truth, _ := want[j].(float64)
					if n, ok := want[j].(int64); ok {
						truth = float64(n)
					}
					if !ok || truth < in.Low || truth > in.High {
						t.Errorf("%s, q = %s, ward %s: column %d has the interval %v, and the truth is %v", way.name, q, ward, j, r.Answer.Intervals[i][j], want[j])
					}
				}
			}
			if got := r.Rows[3]; got[1] != nil || got[2] != nil || got[4] != nil || r.Answer.Intervals[3][1] != nil {
				t.Errorf("%s: quantiles of no rows are %v with %v", way.name, got, r.Answer.Intervals[3])
			}
		}
		r := must(t, s, `SELECT MEDIAN(days), MIN(days), MAX(days), MARGIN(MEDIAN(days)), LOW(MIN(days)), MEDIAN(days) - 1 FROM stays WHERE days BETWEEN 2 AND 70`)
		var kept []int64
		for _, d := range days[""] {
			if d >= 2 && d <= 70 {
				kept = append(kept, d)
			}
		}
		t.Logf("%s: %v ± %v, from %v", way.name, r.Rows, r.Answer.Margins, r.Answer.Intervals)
		if got, want := r.Rows[0][0], continuous(kept, 0.5); got != want {
			t.Errorf("%s: the median is %v, want %v", way.name, got, want)
		}
		if low, ok := r.Rows[0][1].(int64); !ok || low < kept[0] {
			t.Errorf("%s: MIN is %v, and no row is below %d", way.name, r.Rows[0][1], kept[0])
		}
		if high, ok := r.Rows[0][2].(int64); !ok || high > kept[len(kept)-1] {
			t.Errorf("%s: MAX is %v, and no row is above %d", way.name, r.Rows[0][2], kept[len(kept)-1])
		}
		for _, row := range must(t, s, `EXPLAIN SELECT MEDIAN(days) FROM stays`).Rows {
			t.Log(row)
		}
	}
}

// TestQuantilesRefused has each wrong use.
func TestQuantilesRefused(t *testing.T) {
	t.Parallel()
	s, _ := stays(t, `epsilon = 20, delta = 1e-6`)
	for _, c := range []struct {
		text string
		code sqlerr.Code
	}{
		{`SELECT MEDIAN(ward) FROM stays`, sqlerr.Unsupported},
		{`SELECT MEDIAN(days + 1) FROM stays`, sqlerr.Unsupported},
		{`SELECT MEDIAN(*) FROM stays`, sqlerr.Malformed},
		{`SELECT MEDIAN(days, 0.5) FROM stays`, sqlerr.Malformed},
		{`SELECT QUANTILE(days) FROM stays`, sqlerr.Malformed},
		{`SELECT QUANTILE(days, 1.5) FROM stays`, sqlerr.Malformed},
		{`SELECT QUANTILE(days, -0.1) FROM stays`, sqlerr.Malformed},
		{`SELECT QUANTILE(days, days) FROM stays`, sqlerr.Unsupported},
		{`SELECT QUANTILE(days, 'x') FROM stays`, sqlerr.Unsupported},
		{`SELECT QUANTILE(days, NULL) FROM stays`, sqlerr.Unsupported},
	} {
		if e := refused(t, s, c.code, c.text); e.Hint == "" {
			t.Errorf("%s: %v has no hint", c.text, e)
		}
	}
	refused(t, s, sqlerr.Uncovered, `SELECT MEDIAN(days) FROM stays`)
}

// TestQuantilesArePaidOnce buys the distribution of a column once for each condition: every
// later quantile of it is free, in any group, and so is one of another process.
func TestQuantilesArePaidOnce(t *testing.T) {
	t.Parallel()
	s, _ := stays(t, `epsilon = 20, delta = 1e-6`)
	must(t, s, `SET accuracy = 200`)
	cost := func(text string) float64 { return must(t, s, text).Answer.Cost.Rho }
	first := cost(`SELECT MEDIAN(days) FROM stays`)
	if first <= 0 {
		t.Fatalf("a median costs %g", first)
	}
	for _, text := range []string{`SELECT MEDIAN(days), MIN(days), MAX(days), QUANTILE(days, 0.9) FROM stays`, `SELECT MARGIN(MAX(days)) FROM stays WHERE days IS NOT NULL`,
		`SELECT PERCENTILE_DISC(0.1) WITHIN GROUP (ORDER BY days) FROM stays WITH ACCURACY 300`} {
		if c := cost(text); c != 0 {
			t.Errorf("%s costs %g", text, c)
		}
	}
	if c := cost(`SELECT MEDIAN(days) FROM stays WHERE ward = 'A'`); c != first {
		t.Errorf("another condition costs %g, and the first %g", c, first)
	}
	if c := cost(`SELECT ward, MEDIAN(days) FROM stays GROUP BY ward`); c != first {
		t.Errorf("four groups cost %g, one of which was bought, and the first %g", c, first)
	}
	if c := cost(`SELECT ward, QUANTILE(days, 0.2), MAX(days) FROM stays GROUP BY ward`); c != 0 {
		t.Errorf("other quantiles of the groups cost %g", c)
	}
	if c := cost(`SELECT MEDIAN(days) FROM stays WITH ACCURACY 100`); c <= first {
		t.Errorf("a finer median costs %g, and the first %g", c, first)
	}
	if c := cost(`SELECT COUNT(days) FROM stays`); c <= 0 {
		t.Error("the stored distribution answers a count") // it is no linear query
	}
}

// TestQuantileRacers asks for one median from several sessions of two processes' handles at
// once. One of them pays.
func TestQuantileRacers(t *testing.T) {
	t.Parallel()
	s, _ := stays(t, `epsilon = 20, delta = 1e-6`)
	other := open(t, s.DB().Store().Path(), engine.Options{})
	costs := make(chan float64)
	for i := range 6 {
		db := s.DB()
		if i%2 == 1 {
			db = other
		}
		racer := db.NewSession()
		must(t, racer, `SET accuracy = 200`)
		go func() {
			r, err := racer.Exec(t.Context(), `SELECT ward, MEDIAN(days) FROM stays GROUP BY ward`, nil)
			if err != nil {
				t.Error(err)
				costs <- 0
				return
			}
			costs <- r.Answer.Cost.Rho
		}()
	}
	payers := 0
	for range 6 {
		if <-costs > 0 {
			payers++
		}
	}
	if payers != 1 {
		t.Errorf("%d of 6 sessions paid", payers)
	}
}

// TestDistributionIsPaidBeforeDrawn copies the file when the first number of a distribution is drawn, as if the
// machine stopped there. The copy has the charge and no answer, and the same statement pays
// there again; then every quantile is free.
func TestDistributionIsPaidBeforeDrawn(t *testing.T) {
	t.Parallel()
	s, _ := stays(t, `epsilon = 20, delta = 1e-6`)
	must(t, s, `SET accuracy = 200`)
	crashed := copiedAtDraw(t, s)
	before := len(entries(t, s.DB()))
	const text = `SELECT MEDIAN(days), MAX(days) FROM stays WHERE ward <> 'B'`
	must(t, s, text)
	again := open(t, crashed, engine.Options{}).NewSession()
	if n := len(entries(t, again.DB())); n != before+1 {
		t.Fatalf("%d lines after the crash, %d before the statement", n, before)
	}
	must(t, again, `SET accuracy = 200`)
	if r := must(t, again, text); r.Answer.Cost.Rho == 0 || len(entries(t, again.DB())) != before+2 {
		t.Errorf("the statement cost %g after the crash", r.Answer.Cost.Rho)
	}
	if r := must(t, again, `SELECT QUANTILE(days, 0.9) FROM stays WHERE ward <> 'B'`); r.Answer.Cost.Rho != 0 {
		t.Errorf("another quantile cost %g", r.Answer.Cost.Rho)
	}
}
