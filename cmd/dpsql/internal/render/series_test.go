package render

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"pgregory.net/rapid"

	"dpsql/engine"
	_ "dpsql/internal/seeds"
)

// grouped is the answer to SELECT race, COUNT(*) AS n, MARGIN(n) … GROUP BY race.
func grouped() *engine.Result {
	return centred(&engine.Result{
		Columns: []engine.Column{{Name: "race", Type: "TEXT"}, {Name: "n", Type: "INTEGER"}, {Name: "margin", Type: "REAL"}},
		Rows:    [][]any{{"a <b>", int64(100), 10.0}, {nil, int64(-20), 10.0}, {"c", int64(40), 60.0}},
		Answer: &engine.Answer{Margins: [][]any{{nil, 10.0, nil}, {nil, 10.0, nil}, {nil, 60.0, nil}}, Confidence: 0.95,
			Mechanism: "projection", Verified: true},
	})
}

// centred gives the values of a result intervals of their margins, whose middle they are.
func centred(r *engine.Result) *engine.Result {
	for i, row := range r.Answer.Margins {
		r.Answer.Intervals = append(r.Answer.Intervals, make([]any, len(row)))
		for j, m := range row {
			if m, ok := m.(float64); ok {
				value, _ := asFloat(r.Rows[i][j])
				r.Answer.Intervals[i][j] = engine.Interval{Low: value - m, High: value + m}
			}
		}
	}
	return r
}

// uneven is grouped with other intervals. One does not hold its value.
func uneven() *engine.Result {
	r := grouped()
	r.Answer.Intervals = [][]any{{nil, engine.Interval{Low: 90, High: 130}, nil}, {nil, engine.Interval{Low: -30, High: -10}, nil},
		{nil, engine.Interval{Low: 50, High: 70.25}, nil}}
	r.Answer.Margins = [][]any{{nil, 30.0, nil}, {nil, 10.0, nil}, {nil, 30.25, nil}}
	return r
}

func TestChart(t *testing.T) {
	s, err := NewSeries(grouped(), "")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.Chart(&out, 47); err != nil {
		t.Fatal(err)
	}
	want := `a <b>       │████████████████████▒▒▒─┤ 100 ± 10
NULL  ├─▒▒▒██                          -20 ± 10
c       ├────▒▒▒▒▒▒▒▒▒─────────────┤    40 ± 60
      n, with error bars at 95 %
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// TestUnevenChart draws intervals whose middle is not the value.
func TestUnevenChart(t *testing.T) {
	r := uneven()
	r.Answer.Simulated, r.Answer.Verified = true, false
	s, err := NewSeries(r, "n")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.Chart(&out, 60); err != nil {
		t.Fatal(err)
	}
	want := `a <b>        ██████████████████████▒▒▒──────┤ 100 (90 … 130)
NULL  ├─▒▒▒██│                                      -20 ± 10
c            ██████████  ├────┤                 40 (50 … 71)
      n, with error bars at 95 %, simulated, some unverified: no error bar
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// TestUnverifiedChart draws counts without margins. They are found, and do not label
// themselves.
func TestUnverifiedChart(t *testing.T) {
	r := &engine.Result{Columns: []engine.Column{{Name: "age", Type: "INTEGER"}, {Name: "n", Type: "INTEGER"}},
		Rows: [][]any{{int64(20), int64(5)}}, Answer: &engine.Answer{Margins: [][]any{{nil, nil}}, Intervals: [][]any{{nil, nil}}, NotNull: []bool{false, true}, Confidence: 0.95}}
	for _, column := range []string{"", "n"} {
		s, err := NewSeries(r, column)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := s.Chart(&out, 20); err != nil {
			t.Fatal(err)
		}
		if want := "20 ███████████████ 5\n   n, unverified: no error bar\n"; out.String() != want {
			t.Errorf("got\n%s\nwant\n%s", out.String(), want)
		}
	}
}

// A chart has a line for each point, and no line is wider than the limit.
func TestChartFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Series{Name: "n", confidence: 0.9}
		for range rapid.IntRange(1, 20).Draw(t, "points") {
			s.points = append(s.points, point{label: rapid.StringN(0, 50, 80).Draw(t, "label"),
				value: rapid.Float64Range(-1e12, 1e12).Draw(t, "value"), margin: 1e12})
			p := &s.points[len(s.points)-1]
			p.label = Visible(p.label)
			if low := rapid.Float64Range(-1e12, 1e12).Draw(t, "low"); rapid.Bool().Draw(t, "known") {
				p.bar = &engine.Interval{Low: low, High: low + rapid.Float64Range(0, 1e12).Draw(t, "width")}
			}
		}
		var out bytes.Buffer
		if err := s.Chart(&out, 120); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != len(s.points)+1 {
			t.Errorf("%d lines for %d points", len(lines), len(s.points))
		}
		for _, line := range lines {
			if w := twwidth.Width(line); w > 120 {
				t.Errorf("a line of %d characters: %s", w, line)
			}
		}
	})
}

func TestTicks(t *testing.T) {
	tests := []struct {
		low, high float64
		want      []float64
	}{
		{0, 100, []float64{0, 20, 40, 60, 80, 100}},
		{-20, 110, []float64{0, 50, 100}},
		{0, 1, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{0, 7, []float64{0, 2, 4, 6}},
		{-3e9, 0, []float64{-3e9, -2.5e9, -2e9, -1.5e9, -1e9, -5e8, 0}},
	}
	for _, test := range tests {
		if got := ticks(test.low, test.high); !slices.Equal(got, test.want) {
			t.Errorf("ticks(%g, %g) = %v, want %v", test.low, test.high, got, test.want)
		}
	}
}
