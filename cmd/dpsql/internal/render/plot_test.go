package render

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpsql/engine"
)

// drawn returns the attributes of the elements of that name, and the texts, of a
// plot.
func drawn(t *testing.T, s Series, name string) (elements []map[string]string, texts []string) {
	t.Helper()
	var out bytes.Buffer
	if err := s.Plot(&out); err != nil {
		t.Fatal(err)
	}
	text := false
	for d := xml.NewDecoder(&out); ; {
		token, err := d.Token()
		if err == io.EOF {
			return elements, texts
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, out.String())
		}
		switch e := token.(type) {
		case xml.StartElement:
			text = e.Name.Local == "text"
			if e.Name.Local == name {
				attributes := make(map[string]string)
				for _, a := range e.Attr {
					attributes[a.Name.Local] = a.Value
				}
				elements = append(elements, attributes)
			}
		case xml.EndElement:
			text = false
		case xml.CharData:
			if text {
				texts = append(texts, string(e))
			}
		}
	}
}

var decimal = regexp.MustCompile(`-?[0-9.]+`)

// Both whiskers of an error bar are centred on it: M low,middle H high, then at
// each end M x,top v length.
func TestWhiskersAreCentred(t *testing.T) {
	s, err := NewSeries(grouped(), "")
	if err != nil {
		t.Fatal(err)
	}
	paths, _ := drawn(t, s, "path")
	var bars []map[string]string
	for _, p := range paths {
		if p["class"] == "error" {
			bars = append(bars, p)
		} else if line := decimal.FindAllString(p["d"], -1); len(line) != 3 || line[1] == line[2] {
			t.Errorf("the line at a tick, %s, has no length", p["d"])
		}
	}
	if len(bars) != 3 {
		t.Fatalf("%d error bars", len(bars))
	}
	for _, bar := range bars {
		var n []float64
		for _, text := range decimal.FindAllString(bar["d"], -1) {
			x, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			n = append(n, x)
		}
		if len(n) != 9 {
			t.Fatalf("an error bar %s", bar["d"])
		}
		low, middle, high := n[0], n[1], n[2]
		for _, w := range [][]float64{{low, n[3], n[4], n[5]}, {high, n[6], n[7], n[8]}} {
			if end, x, top, length := w[0], w[1], w[2], w[3]; x != end || top+length/2 != middle {
				t.Errorf("the whisker at %v of %s reaches from %v to %v; the bar is at %v", end, bar["d"], top, top+length, middle)
			}
		}
	}
}

// TestUnevenPlot draws intervals whose middle is not the value.
func TestUnevenPlot(t *testing.T) {
	r := uneven()
	r.Answer.Simulated = true
	s, err := NewSeries(r, "")
	if err != nil {
		t.Fatal(err)
	}
	_, texts := drawn(t, s, "rect")
	for _, want := range []string{"n (low … high)", "n, with error bars at 95 %, simulated", "100 (90 … 130)", "-20 ± 10", "40 (50 … 71)"} {
		if !slices.Contains(texts, want) {
			t.Errorf("no text %q in %q", want, texts)
		}
	}
	// The axis goes from -30 to 130.
	paths, _ := drawn(t, s, "path")
	last := paths[len(paths)-1]["d"]
	p := newPlot(nil, s)
	if want := fmt.Sprintf("M%.1f ", p.x(50)); !strings.HasPrefix(last, want) || !strings.Contains(last, fmt.Sprintf(" H%.1f ", p.x(70.25))) {
		t.Errorf("the error bar of c is %s", last)
	}
}

// The columns have names, and what is drawn fills the width: labels start at its
// left end, numbers end at its right, and the longest bar takes the whole axis.
func TestPlotNamesItsColumns(t *testing.T) {
	r := grouped()
	s, err := NewSeries(r, "")
	if err != nil {
		t.Fatal(err)
	}
	bars, texts := drawn(t, s, "rect")
	for _, want := range []string{"race", "n ± margin", "n, with error bars at 95 %", "a <b>", "NULL", "-20 ± 10", "0", "100"} {
		if !slices.Contains(texts, want) {
			t.Errorf("no text %q in %q", want, texts)
		}
	}
	widest := 0.0
	for _, b := range bars[1:] { // the first is the background
		width, err := strconv.ParseFloat(b["width"], 64)
		if err != nil {
			t.Fatal(err)
		}
		widest = max(widest, width)
	}
	// From -30 to 110, a bar of 100.
	if want := fmt.Sprintf("%.1f", plotBars*100/140.0); fmt.Sprintf("%.1f", widest) != want {
		t.Errorf("the longest bar has %.1f pixels, want %s", widest, want)
	}
	if total, err := strconv.ParseFloat(bars[0]["width"], 64); err != nil || plotBars/total < 0.6 {
		t.Errorf("the bars have %d of %v pixels", plotBars, bars[0]["width"])
	}
}

// TestLine: 40 points are bars, and 41 are a line with a band, which has each point once.
func TestLine(t *testing.T) {
	for _, n := range []int{40, 41, 366} {
		s := Series{Name: "n", groups: "day"}
		for i := range n {
			s.points = append(s.points, point{label: fmt.Sprint("day ", i), value: float64(i % 7), bar: &engine.Interval{Low: float64(i%7) - 2, High: float64(i%7) + 2}})
		}
		lines, texts := drawn(t, s, "polyline")
		bands, _ := drawn(t, s, "polygon")
		if n <= 40 {
			if len(lines) > 0 || len(bands) > 0 {
				t.Errorf("%d points are a line", n)
			}
			continue
		}
		if len(lines) != 1 || len(strings.Fields(lines[0]["points"])) != n || len(bands) != 1 || len(strings.Fields(bands[0]["points"])) != 2*n {
			t.Errorf("%d points: %v, %v", n, lines, bands)
		}
		for _, label := range []string{"day 0", fmt.Sprint("day ", n-1)} {
			if !slices.Contains(texts, label) {
				t.Errorf("no label %s among %q", label, texts)
			}
		}
	}
}
