package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"pgregory.net/rapid"

	"dpsql/engine"
	"dpsql/internal/exporter"
)

func TestNumber(t *testing.T) {
	tests := []struct {
		x    float64
		want string
	}{
		{0, "0"}, {8, "8"}, {8.5, "8.5"}, {-3, "-3"}, {1e6, "1000000"}, {123456789012, "123456789012"},
		{0.00077, "0.00077"}, {1e-6, "0.000001"}, {5e-7, "5e-7"}, {1e-15, "1e-15"}, {1.9e20, "190000000000000000000"}, {1e21, "1e+21"},
	}
	for _, test := range tests {
		if got := exporter.Number(test.x); got != test.want {
			t.Errorf("Number(%g) = %s, want %s", test.x, got, test.want)
		}
	}
}

func TestDuration(t *testing.T) {
	tests := []struct {
		d    time.Duration
		want string
	}{
		{0, "< 0.1 ms"}, {49 * time.Microsecond, "< 0.1 ms"}, {100 * time.Microsecond, "0.1 ms"},
		{9940 * time.Microsecond, "9.9 ms"}, {9960 * time.Microsecond, "10 ms"}, {999 * time.Millisecond, "999 ms"},
		{1000 * time.Millisecond, "1.0 s"}, {59900 * time.Millisecond, "59.9 s"}, {59990 * time.Millisecond, "1m0s"},
		{2 * time.Hour, "2h0m0s"},
	}
	for _, test := range tests {
		if got := Duration(test.d); got != test.want {
			t.Errorf("Duration(%v) = %s, want %s", test.d, got, test.want)
		}
	}
}

func TestFooter(t *testing.T) {
	const ms = 100 * time.Microsecond
	tests := []struct {
		answer engine.Answer
		want   string
		ends   []engine.Interval // of the first value, 7, if it is not their middle
	}{
		{engine.Answer{Margins: [][]any{{8.0}}, Confidence: 0.95, Via: "adm_zip", Mechanism: "projection", Support: "2", Verified: true},
			"± at 95 % · release adm_zip (projection, m = 2) · cost 0 · 0.1 ms", nil},
		{engine.Answer{Margins: [][]any{{8.0, 9.5}, {nil, 3.0}}, Confidence: 0.999, Via: "a", Mechanism: "projection", Support: "2", Verified: true},
			"± at 99.9 % · release a (projection, m = 2) · cost 0 · 0.1 ms", nil},
		{engine.Answer{Margins: [][]any{{8.0, nil}}, Confidence: 0.9, Via: "l", Mechanism: "smw", Support: "7"},
			"± at 90 %, some unverified: no error bar · mechanism l (smw, m = 7) · cost 0 · 0.1 ms", nil},
		{engine.Answer{Margins: [][]any{{8.0}}, Confidence: 0.95, Via: "r", Mechanism: "smw", Support: "7", Verified: true, Released: true},
			"± at 95 % · release r (smw, m = 7) · cost 0 · 0.1 ms", nil},
		{engine.Answer{Via: "l", Mechanism: "smw", Support: "7"},
			"unverified: no error bar · mechanism l (smw, m = 7) · cost 0 · 0.1 ms", nil},
		{engine.Answer{Margins: [][]any{{50.0}}, Confidence: 0.95, Mechanism: "direct", Support: "infinite", Verified: true, Cost: engine.Cost{Epsilon: 0.02, Rho: 0.000768}},
			"± at 95 % · direct · cost ε 0.02 and ρ 0.00077 · 0.1 ms", nil},
		{engine.Answer{Margins: [][]any{{11.0}}, Confidence: 0.95, Via: "r\x1b[2J", Mechanism: "projection", Support: "infinite", Verified: true},
			`± at 95 % · release r\x1b[2J (projection, m = ∞) · cost 0 · 0.1 ms`, nil},
		{engine.Answer{Margins: [][]any{{40.0}}, Confidence: 0.95, Mechanism: "direct", Verified: true, Kept: []engine.Kept{{Table: "visits", Unit: "patient", MaxRows: 3}}},
			"± at 95 % · of kept rows, at most 3 a patient · direct · cost 0 · 0.1 ms", nil},
		{engine.Answer{Margins: [][]any{{0.0}}, Mechanism: "constant", Verified: true, Kept: []engine.Kept{{Table: "visits", Unit: "patient", MaxRows: 3}}},
			"exact · constant: no row can match · cost 0 · 0.1 ms", nil},
		{engine.Answer{Margins: [][]any{{8.0, nil}}, Intervals: [][]any{{nil, engine.Unknown("a divisor may be 0")}}, Confidence: 0.95, Mechanism: "direct", Verified: true, Apart: 2},
			"± at 95 %, fit and proof disagree in 2 answers, no error bar where a divisor may be 0 · direct · cost 0 · 0.1 ms", nil},
		{engine.Answer{Margins: [][]any{{nil, nil}}, Intervals: [][]any{{engine.Unknown("no rule gives one"), engine.Unknown("a divisor may be 0")}}, Confidence: 0.95, Mechanism: "direct", Verified: true},
			"no error bar where no rule gives one or a divisor may be 0 · direct · cost 0 · 0.1 ms", nil},
		{engine.Answer{Margins: [][]any{{8.0}}, Confidence: 0.95, Via: "r", Mechanism: "marginals", Support: "7", Verified: true},
			"± at 95 % · release r (marginals, m = 7) · cost 0 · 0.1 ms", []engine.Interval{{Low: 4, High: 15}}},
		{engine.Answer{Margins: [][]any{{1.125}}, Confidence: 0.95, Via: "r", Mechanism: "marginals", Support: "7", Verified: true, Simulated: true},
			"± at 95 %, simulated · release r (marginals, m = 7) · cost 0 · 0.1 ms", []engine.Interval{{Low: 6.5, High: 8.125}}},
		{engine.Answer{Margins: [][]any{{8.0, nil}, {3.0, nil}}, Confidence: 0.95, Via: "r", Mechanism: "marginals", Support: "7"},
			"± at 95 %, some unverified: no error bar · release r (marginals, m = 7) · cost 0 · 0.1 ms", []engine.Interval{{Low: 4, High: 15}}},
	}
	for _, test := range tests {
		r := &engine.Result{Answer: &test.answer}
		for _, margins := range test.answer.Margins {
			r.Rows = append(r.Rows, make([]any, len(margins)))
			for j := range margins {
				r.Rows[len(r.Rows)-1][j] = int64(7)
			}
		}
		if centred(r); len(test.ends) > 0 {
			r.Answer.Intervals[0][0] = test.ends[0]
		}
		if got := Footer(r, ms); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
		if got, want := Footer(r, 0), strings.TrimSuffix(test.want, " · 0.1 ms"); got != want {
			t.Errorf("untimed: got  %s\nwant %s", got, want)
		}
	}
}

// TestAmount rounds numbers to their margins, and margins up.
func TestAmount(t *testing.T) {
	for _, c := range []struct {
		value, low, high float64
		want             string
	}{
		{20.858969607116382, 20.308969607116382, 21.408969607116382, "20.9 ± 0.6"},
		{20.858969607116382, 20.258969607116382, 21.458969607116382, "20.9 ± 0.7"}, // 0.6, and 0.04 from 20.86 to 20.9
		{0.5, 0.5, 0.5, "0.5 ± 0"},
		{1234.5678, 1034.5678, 1434.5678, "1235 ± 201"},
		{7, 4.75, 9.25, "7 ± 2.3"},
		{7, -1, 15, "7 ± 8"},
		{-0.004, -1.004, 0.996, "0.0 ± 1.1"},
		{16211, 16185, 16237, "16211 ± 26"},
		{1234567, 1233324.8, 1235809.2, "1234567 ± 1243"},
		{0.0001234, 0.0001, 0.0001468, "0.000123 ± 0.000024"},
		{5880, 5798, 6014, "5880 (5798 … 6014)"},
		{20.858, 20.31, 22.44, "20.9 (20.3 … 22.5)"},
		{9.25, 9, 9.75, "9.3 (9.0 … 9.8)"},
	} {
		margin := max(c.value-c.low, c.high-c.value)
		if got := amount(c.value, engine.Interval{Low: c.low, High: c.high}, margin); got != c.want {
			t.Errorf("%v from %v to %v: %s, want %s", c.value, c.low, c.high, got, c.want)
		}
	}
}

// TestSpansForPeople: a date has its interval behind it, or its margin in days beside it if that
// says as much. JSON has the ends.
func TestSpansForPeople(t *testing.T) {
	r := &engine.Result{Columns: []engine.Column{{Name: "d", Type: "TEXT", SQL: engine.Date}, {Name: "n", Type: "INTEGER"}}, Answer: &engine.Answer{Mechanism: "direct", Confidence: 0.95}}
	for _, c := range []struct {
		date string
		span any
		days any
		want string
	}{
		{"2024-03-01", engine.Span{Low: "2024-02-23", High: "2024-03-08"}, 7.0, "2024-03-01 ±  7 days"},
		{"2024-03-01", engine.Span{Low: "2024-02-20", High: "2024-03-11"}, 10.0, "2024-03-01 ± 10 days"},
		{"2024-03-01", engine.Span{Low: "2024-02-29", High: "2024-03-02"}, 1.0, "2024-03-01 ±   1 day"},
		{"2024-03-01", engine.Span{Low: "2024-03-01", High: "2024-03-01"}, 0.0, "2024-03-01 ±  0 days"},
		{"2024-03-01", engine.Span{Low: "2024-02-28", High: "2024-03-02"}, 2.0, "2024-03-01 (2024-02-28 … 2024-03-02)"},
		{"2024-03-01 06:00:00", engine.Span{Low: "2024-03-01 03:00:00", High: "2024-03-01 09:00:00"}, 0.125, "2024-03-01 06:00:00 (2024-03-01 03:00:00 … 2024-03-01 09:00:00)"},
		{"2024-03-01", nil, nil, "2024-03-01"},
	} {
		r.Rows = append(r.Rows, []any{c.date, int64(7)})
		r.Answer.Margins, r.Answer.Intervals = append(r.Answer.Margins, []any{c.days, 1.0}), append(r.Answer.Intervals, []any{c.span, engine.Interval{Low: 6, High: 8}})
		if got := rowsForPeople(r)[len(r.Rows)-1][0]; got != c.want && len(r.Rows) > 2 {
			t.Errorf("%s in %v: %s, want %s", c.date, c.span, got, c.want)
		}
	}
	var b bytes.Buffer
	if err := JSON.Rows(&b, r, 0, false); err != nil || !strings.Contains(b.String(), `"intervals":[[["2024-02-23","2024-03-08"],[6,8]]`) || !strings.Contains(b.String(), `[null,[6,8]]`) {
		t.Errorf("JSON has %s, %v", b.String(), err)
	}
	if s, err := NewSeries(r, ""); err != nil || s.Name != "n" {
		t.Errorf("%s is drawn, %v", s.Name, err)
	}
}

// TestBoundsForPeople: a MARGIN, LOW or HIGH has the places of the margin, and holds what the
// exact one does. Programs get the exact one.
func TestBoundsForPeople(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		margin := math.Pow(10, rapid.Float64Range(-9, 9).Draw(t, "exponent"))
		value := rapid.Float64Range(-1e6, 1e6).Draw(t, "value")
		low, high := value-margin, value+margin
		r := &engine.Result{Columns: []engine.Column{{Name: "x", Type: "REAL"}, {Name: "m", Type: "REAL"}, {Name: "l", Type: "REAL"}, {Name: "h", Type: "REAL"}},
			Rows: [][]any{{value, margin, low, high}, {nil, nil, nil, nil}}, Answer: &engine.Answer{Mechanism: "direct", Confidence: 0.95,
				Margins: [][]any{{nil, nil, nil, nil}, {nil, nil, nil, nil}}, Intervals: [][]any{{nil, nil, nil, nil}, {nil, nil, nil, nil}},
				Bounds: [][]any{{nil, engine.Bound{Margin: margin}, engine.Bound{Margin: margin, Down: true}, engine.Bound{Margin: margin}}, {nil, nil, nil, nil}}}}
		cells := rowsForPeople(r)
		for i, exact := range []float64{margin, -low, high} {
			shown, err := strconv.ParseFloat(cells[0][i+1], 64)
			if i == 1 {
				shown = -shown
			}
			slack := 1e-9*max(1, math.Abs(exact)) + math.Pow10(-mostPlaces)
			if err != nil || shown < exact-slack || shown > exact+margin/2+max(1, slack) && margin >= 4 || shown > exact+margin/2+slack && margin < 4 {
				t.Errorf("%v ± %v: %v", value, margin, cells[0])
			}
		}
		if want := strings.TrimLeft(cells[0][1], "0."); margin < 1 && len(want) > 3 {
			t.Errorf("%v is shown as %s", margin, cells[0][1])
		}
		var b bytes.Buffer
		if err := CSV.Rows(&b, r, 0, false); err != nil || !strings.HasPrefix(b.String(), exporter.Number(value)+","+exporter.Number(margin)+","+exporter.Number(low)+","+exporter.Number(high)) {
			t.Errorf("CSV has %s, %v", b.String(), err)
		}
	})
}

// TestAmountHolds reads amounts back: what is shown holds what is meant, and the margin that
// is shown is at most half as large again.
func TestAmountHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64Range(-1e6, 1e6).Draw(t, "value")
		margin := math.Pow(10, rapid.Float64Range(-6, 6).Draw(t, "log margin"))
		text := amount(value, engine.Interval{Low: value - margin, High: value + margin}, margin)
		v, m, _ := strings.Cut(text, " ± ")
		x, err := strconv.ParseFloat(v, 64)
		y, err2 := strconv.ParseFloat(m, 64)
		if err != nil || err2 != nil {
			t.Fatalf("%v ± %v is shown as %s", value, margin, text)
		}
		if slack := 1e-8 * max(1, margin); x-y > value-margin+slack || x+y < value+margin-slack || y > 1.5*margin+1 && margin > 1 || y > 1.5*margin && margin < 1 {
			t.Errorf("%v ± %v is shown as %s", value, margin, text)
		}
	})
}

// TestMarginsBeside shows an answer of several rows.
func TestMarginsBeside(t *testing.T) {
	r := &engine.Result{
		Columns: []engine.Column{{Name: "sex", Type: "TEXT"}, {Name: "n", Type: "INTEGER"}, {Name: "mean", Type: "REAL"}},
		Rows:    [][]any{{"F", int64(9007199254740993), 20.858969607116382}, {nil, int64(-3), nil}, {"M", int64(7), 1.0}},
		Answer: &engine.Answer{Margins: [][]any{{nil, 26.0, 0.55}, {nil, 1312.0, nil}, {nil, 8.0, 2.0}},
			Intervals: [][]any{{nil, engine.Interval{Low: 9007199254740967, High: 9007199254741019}, engine.Interval{Low: 20.308969607116382, High: 21.408969607116382}},
				{nil, engine.Interval{Low: -1315, High: 1309}, nil}, {nil, engine.Interval{Low: 4, High: 15}, engine.Interval{Low: -1, High: 3}}}},
	}
	var b bytes.Buffer
	if err := Table.Rows(&b, r, 0, true); err != nil {
		t.Fatal(err)
	}
	const want = `┌─────┬─────────────────────────┬────────────┐
│ sex │                       n │       mean │
├─────┼─────────────────────────┼────────────┤
│ F   │ 9007199254740993 ±   26 │ 20.9 ± 0.6 │
│     │               -3 ± 1312 │            │
│ M   │              7 (4 … 15) │  1.0 ± 2.0 │
└─────┴─────────────────────────┴────────────┘
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// Any texts in any number of rows can be read back from CSV.
func TestCSVReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 3).Draw(t, "width")
		r := &engine.Result{Columns: make([]engine.Column, width)}
		for i := range r.Columns {
			r.Columns[i].Name = "c"
		}
		for range rapid.IntRange(0, 4).Draw(t, "rows") {
			row := make([]any, width)
			for i := range row {
				row[i] = rapid.SampledFrom([]any{nil, "", int64(-7), "a,b", "\"", " x\n", "日本", 0.5, `\.`}).Draw(t, "cell")
			}
			r.Rows = append(r.Rows, row)
		}
		var b bytes.Buffer
		if err := CSV.Rows(&b, r, 0, true); err != nil {
			t.Fatal(err)
		}
		records, err := csv.NewReader(&b).ReadAll()
		if err != nil || len(records) != 1+len(r.Rows) {
			t.Fatalf("%d records of %d: %v", len(records), 1+len(r.Rows), err)
		}
		for i, row := range r.Rows {
			for j, v := range row {
				if records[i+1][j] != exporter.Text(v) {
					t.Fatalf("row %d: got %q, want %q", i, records[i+1], row)
				}
			}
		}
	})
}

// A result in JSON is one object on one line. Integers keep all their digits, and
// numbers that JSON does not have are null.
func TestJSONIsALine(t *testing.T) {
	r := &engine.Result{
		Columns: []engine.Column{{Name: "a\nb"}, {Name: "<x>"}},
		Rows:    [][]any{{int64(math.MaxInt64), math.Inf(1)}, {"\u2028\n\xff\x7f\u009b\u202e", math.NaN()}},
		Answer: &engine.Answer{Margins: [][]any{{math.Inf(1), nil}, {0.5, nil}}, Confidence: 0.95,
			Support: "340282366920938463463374607431768211456", Mechanism: "projection"},
	}
	var b bytes.Buffer
	if err := JSON.Rows(&b, r, 0, false); err != nil {
		t.Fatal(err)
	}
	line := b.String()
	if strings.Count(line, "\n") != 1 || !json.Valid(b.Bytes()) {
		t.Errorf("not one line of JSON: %q", line)
	}
	for _, want := range []string{`[9223372036854775807,null]`, `"\u2028\n\ufffd\u007f\u009b\u202e"`, `"<x>"`, `"margins":[[null,null],[0.5,null]]`,
		`"support":340282366920938463463374607431768211456,`} {
		if !strings.Contains(line, want) {
			t.Errorf("no %s in %s", want, line)
		}
	}
}

// No wrapped line of more than one character is wider than the limit, and only the
// blanks at the breaks are lost.
func TestWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab  é日x-")), 0, 60, -1).Draw(t, "text")
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		wrapped := wrap(text, limit)
		for line := range strings.SplitSeq(wrapped, "\n") {
			if w := twwidth.Width(line); w > limit && len([]rune(line)) > 1 {
				t.Fatalf("%q is %d wide, limit %d", line, w, limit)
			}
		}
		squeeze := strings.NewReplacer(" ", "", "\n", "")
		if squeeze.Replace(wrapped) != squeeze.Replace(text) {
			t.Fatalf("%q became %q", text, wrapped)
		}
	})
}

// Every line of a table is within the width of the terminal, in a box or not.
func TestTableWidth(t *testing.T) {
	r := &engine.Result{Columns: []engine.Column{{Name: "name"}, {Name: "a note"}, {Name: "n", Type: "INTEGER"}}}
	r.Rows = append(r.Rows, []any{"adm_zip", strings.Repeat("some words ", 20), int64(12345)})
	r.Rows = append(r.Rows, []any{strings.Repeat("日", 30), strings.Repeat("x", 90), nil})
	for width := 25; width < 200; width += 7 {
		var b bytes.Buffer
		if err := writeTable(&b, r, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if w := twwidth.Width(strings.TrimSuffix(line, "\n")); w > width {
				t.Fatalf("width %d: a line of %d:\n%s", width, w, b.String())
			}
		}
	}
}
