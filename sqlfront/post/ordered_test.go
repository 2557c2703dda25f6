package post

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dpsql/internal/calendar"
	"dpsql/internal/seeds"
	"dpsql/internal/sqlvalue"
	"dpsql/query"
)

// ordered is a column of 100 values, with the numbers that rows of them have.
type ordered struct {
	column query.Column
	number func(n int64, share float64) float64 // of a row of a canonical value; steps have many
	shown  func(x float64) any                  // of a quantile of such numbers
}

func orderedColumns(t *testing.T) map[string]ordered {
	t.Helper()
	column := func(d query.Domain, f query.Form, err error) query.Column {
		if err != nil {
			t.Fatal(err)
		}
		return query.Column{Name: "x", Domain: d, Form: f}
	}
	ranged := func(f query.Form, lo, hi string) query.Column {
		d, err := f.NewRange(lo, hi, false)
		return column(d, f, err)
	}
	stepped := func(lo, hi, step string, rounded bool, precision, scale int) query.Column {
		rat := func(text string) *big.Rat { r, _ := new(big.Rat).SetString(text); return r }
		s, err := query.NewSteps(rat(lo), rat(hi), rat(step), false)
		if err != nil {
			t.Fatal(err)
		}
		return column(s.Column(rounded, precision, scale))
	}
	hours, err := query.TimestampForm(query.StoredUnix, 3600)
	if err != nil {
		t.Fatal(err)
	}
	exactly := func(n int64, _ float64) float64 { return float64(n) }
	return map[string]ordered{
		"date": {ranged(query.DateForm(query.StoredISO), "1969-12-01", "1970-03-10"), exactly,
			func(x float64) any { return calendar.Format(int64(math.Floor(x))) }},
		"timestamp": {ranged(hours, "1969-12-31 00:00", "1970-01-04 03:00"), exactly,
			func(x float64) any { return calendar.FormatMoment(3600 * int64(math.Floor(x))) }},
		"real": {stepped("-12.5", "237.5", "2.5", true, 0, 0), func(n int64, share float64) float64 { return 2.5 * (float64(n) + share) },
			func(x float64) any { return x }},
		"numeric": {stepped("-0.2", "0.79", "0.01", false, 5, 2), func(n int64, _ float64) float64 { return float64(n) / 100 },
			func(x float64) any { return x }},
	}
}

// isWithin reports whether a value is within an interval or a span. Texts of one form sort as
// their moments.
func isWithin(v any, ends any) bool {
	switch i := ends.(type) {
	case Interval:
		return v.(float64) >= i.Low-1e-9 && v.(float64) <= i.High+1e-9
	case Span:
		return v.(string) >= i.Low && v.(string) <= i.High
	}
	return false
}

// TestOrderedQuantilesCover draws noisy distributions of dates, timestamps, steps and exact
// numbers, and counts how often the interval at 95 % misses the quantile of the rows' own
// numbers, which lie anywhere in their steps. The misses of 20,000 draws are at most binomial
// with 5 %: more than 1,190 has a probability below 1e-8 for each of 60 cells, so that the test
// fails by chance in less than 1 of 10⁶ runs. By default 200 are drawn, of which more than 32
// is as rare. An estimate is in its interval always.
func TestOrderedQuantilesCover(t *testing.T) {
	draws, most := 200, 32
	if *long {
		draws, most = 20_000, 1190
	}
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 1))
	worst := 0.0
	for kind, o := range orderedColumns(t) {
		if n := o.column.Domain.Size(); n != 100 {
			t.Fatalf("%s has %d values", kind, n)
		}
		lo, _ := o.column.Domain.Bounds()
		for shape, counts := range quantileShapes() {
			var sorted []float64
			for place, n := range counts {
				for i := range n {
					sorted = append(sorted, o.number(lo+int64(place), (float64(i)+0.5)/float64(n)))
				}
			}
			asked := []Quantile{{Q: 0.5, Method: Continuous, Of: o.column}, {Q: 0.8, Of: o.column}, {Method: Greatest, Of: o.column}}
			n := float64(len(sorted))
			at := (n - 1) / 2
			low, high := sorted[int(math.Floor(at))], sorted[int(math.Ceil(at))]
			truths := []any{o.shown(low + (at-math.Floor(at))*(high-low)), o.shown(sorted[int(math.Ceil(0.8*n))-1]), o.shown(sorted[len(sorted)-1])}
			missed := make([]int, len(asked))
			for range draws {
				r := &row{answers: []Answer{noisyDistribution(counts, 30, random)}, confidence: 0.95}
				r.answers[0].Distribution.Values = func(p int64) (float64, float64) { return Values(o.column, uint64(p), uint64(p)) }
				for i, q := range asked {
					v := q.value(r)
					around, known := errorOf(q, v, r)
					if !known { // there may be no row
						continue
					}
					if !isWithin(truths[i], around.ends()) {
						missed[i]++
					}
					if !isWithin(v.Any(), around.ends()) {
						t.Fatalf("%s, %s: %v is outside %v", kind, shape, v.Any(), around.ends())
					}
				}
			}
			for i, n := range missed {
				worst = max(worst, float64(n)/float64(draws))
				if n > most {
					t.Errorf("%s, %s, seed %d: the interval of %d of %g misses %v in %d of %d draws", kind, shape, seed, asked[i].Method, asked[i].Q, truths[i], n, draws)
				}
			}
		}
	}
	t.Logf("at most %.2f %% of the intervals miss", 100*worst)
}

// TestOrderedForms holds the forms of quantiles, their ends and their margins.
func TestOrderedForms(t *testing.T) {
	columns := orderedColumns(t)
	counts := make([]int64, 100)
	counts[10], counts[13] = 1, 1
	for _, c := range []struct {
		column string
		q      Quantile
		want   string // the value, the ends, the margin, the type
	}{
		{"date", Quantile{Q: 0.5, Method: Continuous}, "1969-12-12 {1969-12-11 1969-12-14} 2 TEXT"},
		{"date", Quantile{Q: 0.5}, "1969-12-11 {1969-12-11 1969-12-11} 0 TEXT"},
		{"date", Quantile{Method: Greatest}, "1969-12-14 {1969-12-14 1969-12-14} 0 TEXT"},
		{"timestamp", Quantile{Q: 0.5, Method: Continuous}, "1969-12-31 11:00:00 {1969-12-31 10:00:00 1969-12-31 13:00:00} 0.08333333333333333 TEXT"},
		{"real", Quantile{Q: 0.5, Method: Continuous}, "17.5 {12.5 22.5} 5 REAL"},
		{"real", Quantile{Q: 0.5}, "13.75 {12.5 15} 1.25 REAL"},
		{"real", Quantile{Method: Least}, "15 {12.5 15} 2.5 REAL"},
		{"real", Quantile{Method: Greatest}, "20 {20 22.5} 2.5 REAL"},
		{"numeric", Quantile{Q: 0.5, Method: Continuous}, "-0.085 {-0.1 -0.07} 0.015 REAL"},
		{"numeric", Quantile{Method: Least}, "-0.1 {-0.1 -0.1} 0 REAL"},
	} {
		o := columns[c.column]
		c.q.Of = o.column
		r := &row{answers: []Answer{noisyDistribution(counts, 0, nil)}, confidence: 0.95}
		r.answers[0].Distribution.Values = func(p int64) (float64, float64) { return Values(o.column, uint64(p), uint64(p)) }
		v := c.q.value(r)
		around, _ := errorOf(c.q, v, r)
		if got := fmt.Sprint(v.Any(), " ", around.ends(), " ", around.margin, " ", c.q.Type()); got != c.want {
			t.Errorf("%s: %+v is %s, want %s", c.column, c.q.Method, got, c.want)
		}
		for of, want := range map[Measure]any{Distance: around.margin, Low: around.Low, High: around.High} {
			m := Margin{Operand: c.q, Of: of}
			if around.span != (Span{}) && of != Distance {
				want = map[Measure]any{Low: around.span.Low, High: around.span.High}[of]
			}
			if got := m.value(r).Any(); got != want || (m.Type() == Text) != sqlvalue.FromAny(want).IsText() {
				t.Errorf("%s: measure %d is %v of type %v, want %v", c.column, of, got, m.Type(), want)
			}
		}
	}
}

func TestReach(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		span Span
		from string
		want float64
	}{
		{Span{"2024-01-01", "2024-01-04"}, "2024-01-03", 2}, {Span{"2024-01-01 00:00:00", "2024-01-01 06:00:00"}, "2024-01-01 00:00:00", 0.25},
		{Span{"09:00:00", "12:00:00"}, "11:00:00", 2.0 / 24}, {Span{"09:00:00", "12:00:00"}, "09:00:00", 0.125}, {Span{"09:00:00", "12:00:00"}, "noon", 0},
	} {
		if got := c.span.Reach(c.from); got != c.want {
			t.Errorf("from %s to the ends of %v: %v, want %v", c.from, c.span, got, c.want)
		}
	}
}
