package render

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"pgregory.net/rapid"

	"dpsql/engine"
)

// grouped is the answer to SELECT race, COUNT(*) AS n, MARGIN(n) … GROUP BY race.
func grouped() *engine.Result {
	return &engine.Result{
		Columns: []engine.Column{{Name: "race", Type: "TEXT"}, {Name: "n", Type: "INTEGER"}, {Name: "margin", Type: "REAL"}},
		Rows:    [][]any{{"a <b>", int64(100), 10.0}, {nil, int64(-20), 10.0}, {"c", int64(40), 60.0}},
		Answer: &engine.Answer{Margins: [][]any{{nil, 10.0, nil}, {nil, 10.0, nil}, {nil, 60.0, nil}}, Confidence: 0.95,
			Mechanism: "projection", Verified: true},
	}
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

// A chart has a line for each point, and no line is wider than the limit.
func TestChartFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Series{Name: "n", confidence: 0.9}
		for range rapid.IntRange(1, 20).Draw(t, "points") {
			s.points = append(s.points, point{label: rapid.StringN(0, 50, 80).Draw(t, "label"),
				value: rapid.Float64Range(-1e12, 1e12).Draw(t, "value"), margin: rapid.Float64Range(0, 1e12).Draw(t, "margin")})
			s.points[len(s.points)-1].label = Visible(s.points[len(s.points)-1].label)
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
