package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// TestOf uses the 0.975 quantile of Student's t with 3 degrees of freedom, 3.182446.
func TestOf(t *testing.T) {
	e := Of([]float64{1, 2, 3, 6})
	want := 3.182446305284263 * math.Sqrt((4+1+0+9)/3.0) / 2
	if e.Mean != 3 || math.Abs(e.Half-want) > 1e-9 || e.N != 4 {
		t.Errorf("%+v, want 3 ± %v", e, want)
	}
	if one := Of([]float64{5}); one.Mean != 5 || !math.IsNaN(one.Half) || one.String() != "5" {
		t.Errorf("of one: %v", one)
	}
	if !(Estimate{Mean: 1, Half: 0.4}).Below(Estimate{Mean: 2, Half: 0.4}) || (Estimate{Mean: 1, Half: 0.6}).Below(Estimate{Mean: 2, Half: 0.6}) {
		t.Error("intervals that do not touch, and some that do, are confused")
	}
}

func TestRootMeanSquare(t *testing.T) {
	squares := Of([]float64{1, 4, 9})
	e := RootMeanSquare([]float64{1, 2, 3})
	if math.Abs(e.Mean-math.Sqrt(14.0/3)) > 1e-12 || math.Abs(e.Half-squares.Half/(2*e.Mean)) > 1e-12 || e.N != 3 {
		t.Errorf("%+v", e)
	}
	if zero := RootMeanSquare([]float64{0, 0}); zero.Mean != 0 || zero.Half != 0 {
		t.Errorf("of zeros: %+v", zero)
	}
}

// TestUpperBound checks the bound for an event never seen in n draws, 1 − 0.05^(1/n).
func TestUpperBound(t *testing.T) {
	for _, n := range []int{10, 10_000} {
		if got, want := UpperBound(0, n), 1-math.Pow(0.05, 1/float64(n)); math.Abs(got-want) > 1e-9 {
			t.Errorf("none in %d: %v, want %v", n, got, want)
		}
	}
	if UpperBound(7, 7) != 1 || UpperBound(1, 100) <= UpperBound(0, 100) {
		t.Error("the bound does not grow with what was seen")
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1", 10: "10", -42: "-42", 1.234: "1.23", 12.34: "12.3", 99.96: "100.0", 123.4: "123", 1234: "1,234", 1234567: "1,234,567",
		-1234: "-1,234", 12345678: "1.2e+07", 0.0123: "0.0123", 0.000123: "0.00012", math.Inf(1): "∞",
	} {
		if got := Number(x); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}

func TestSection(t *testing.T) {
	s := Section{Name: "a", Title: "A title"}
	s.Say("%d words", 2)
	table := &Table{Head: []string{"who", "how much"}}
	table.Add("a|b", Estimate{Mean: 10, Half: 1, N: 3})
	table.Add("c", 2.5)
	s.Show("", table)
	s.Draw(&Chart{Name: "c", Title: "a chart"})
	s.Show("more", table)
	var b, text bytes.Buffer
	if err := errors.Join(s.Markdown(&b), s.Text(&text)); err != nil {
		t.Fatal(err)
	}
	const rows = "| who | how much |\n| --- | ---: |\n| a\\|b | 10 ± 1 |\n| c | 2.5 |\n"
	if want := "# A title\n\n2 words\n\n" + rows + "\n" + rows; b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if want := "# A title\n\n2 words\n\na.csv\n\na-more.csv\n"; text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
	if len(s.Charts()) != 1 {
		t.Errorf("%d charts", len(s.Charts()))
	}
}

// TestCSV writes tables whose cells have numbers, intervals, remarks and texts, and reads them.
func TestCSV(t *testing.T) {
	table := &Table{Head: []string{"who", "RMS", "k"}}
	table.Add("a, b", "1,216 ± 11.4 (B = 20; 16.8 updates)", 1e7)
	table.Add("c (d)", math.NaN(), "3 to 21")
	var b bytes.Buffer
	if err := table.CSV(&b, "abc"); err != nil {
		t.Fatal(err)
	}
	const want = "commit,who,RMS,RMS ±,\"RMS, remark\",k\nabc,\"a, b\",1216,11.4,B = 20; 16.8 updates,1e+07\nabc,c (d),,,,3 to 21\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	rows, commit, err := ReadCSV(strings.NewReader(want))
	if err != nil || commit != "abc" || len(rows) != 3 || rows[1][1] != "1216" || rows[0][0] != "who" {
		t.Errorf("%v: %q at %s", err, rows, commit)
	}
}

// TestChart checks that a chart is well-formed, has its words, and is small.
func TestChart(t *testing.T) {
	c := &Chart{Name: "c", Title: "error against m", X: "m", Y: "counts"}
	for _, x := range []float64{1, 10, 1e3, 1e6} {
		c.Add("ours", x, Estimate{Mean: 2 * x, Half: x / 3})
		c.Add("theirs", x, Estimate{Mean: 3 * x, Half: 4 * x})
		c.Refer("limit", x, x)
	}
	var b bytes.Buffer
	if err := c.SVG(&b); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"error against m", "ours", "theirs", "limit"} {
		if !strings.Contains(b.String(), word) {
			t.Errorf("%q is missing", word)
		}
	}
	d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if b.Len() > 10_000 {
		t.Errorf("%d bytes", b.Len())
	}
	c.Add("ours", 1e7, Estimate{Mean: 0})
	c.Add("nothing", 1e7, Estimate{Mean: 0})
	if err := c.SVG(&b); err != nil {
		t.Errorf("a zero was not left out: %v", err)
	}
	c.Add("ours", 0, Estimate{Mean: 1})
	if err := c.SVG(&b); err == nil {
		t.Error("x = 0 was put on a logarithmic axis")
	}
}

// TestLabelsAreSpread checks that labels keep their order, do not overlap, and move no
// farther than necessary.
func TestLabelsAreSpread(t *testing.T) {
	for _, c := range []struct{ lines, want []float64 }{
		{[]float64{10, 100}, []float64{10, 100}},
		{[]float64{100, 100}, []float64{92, 108}},
		{[]float64{10, 100, 101, 102, 200}, []float64{10, 85, 101, 117, 200}},
		{[]float64{100, 104, 130}, []float64{94, 110, 130}},
	} {
		var labels []lineLabel
		for _, y := range c.lines {
			labels = append(labels, lineLabel{y: y})
		}
		spread(labels)
		for i, l := range labels {
			if l.at != c.want[i] {
				t.Errorf("lines at %v: label %d is at %v, want %v", c.lines, i, l.at, c.want)
			}
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{1, 4096, "1 10 100 1,000"},
		{1, 1e6, "10⁰ 10¹ 10² 10³ 10⁴ 10⁵ 10⁶"},
		{1e5, 1e36, "10⁸ 10¹² 10¹⁶ 10²⁰ 10²⁴ 10²⁸ 10³² 10³⁶"},
		{0.1, 4, "0.1 0.2 0.5 1 2"},
		{1e5, 2e6, "10⁵ 2·10⁵ 5·10⁵ 10⁶ 2·10⁶"},
		{39, 51, "40 42 44 46 48 50"},
	} {
		a := &logAxis{0, 100, c.low, c.high}
		var labels []string
		for _, v := range a.ticks() {
			labels = append(labels, a.label(v))
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("from %g to %g: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}

// TestPoints stores points and reads them again.
func TestPoints(t *testing.T) {
	c := &Chart{Name: "c"}
	c.Add("a, b", 1, Estimate{Mean: 2.5, Half: 0.25})
	c.Add("a, b", 1e36, Estimate{Mean: 0, Half: math.NaN()})
	c.Refer("limit", 1, 3)
	var stored, again bytes.Buffer
	if err := c.WritePoints(&stored, "abc"); err != nil {
		t.Fatal(err)
	}
	const want = "commit,series,reference,x,y,half\nabc,\"a, b\",false,1,2.5,0.25\nabc,\"a, b\",false,1e+36,0,\nabc,limit,true,1,3,\n"
	if stored.String() != want {
		t.Errorf("stored\n%s\nwant\n%s", stored.String(), want)
	}
	d := &Chart{Name: "c"}
	if err := d.ReadPoints(strings.NewReader(want)); err != nil {
		t.Fatal(err)
	}
	if err := d.WritePoints(&again, "abc"); err != nil || again.String() != want {
		t.Errorf("%v, stored again\n%s", err, again.String())
	}
	if d.ReadPoints(strings.NewReader("commit,series,reference,x,y,half\nabc,a,false,one,2,\n")) == nil {
		t.Error("a point without a place is read")
	}
}

// TestEmptyChart draws a chart whose points cannot be shown on logarithmic axes, and so
// has no lines. A coarse clock measures 0 for all small builds.
func TestEmptyChart(t *testing.T) {
	c := Chart{Name: "none", X: "n", Y: "seconds"}
	c.Add("builds", 10, Estimate{Mean: 0})
	c.Add("builds", 100, Estimate{Mean: 0})
	if err := c.SVG(io.Discard); err != nil {
		t.Error(err)
	}
}

func TestLeastHits(t *testing.T) {
	// With p = 1/2, of 16 events one is expected to happen in none of 4 repetitions, and of
	// 3 events, each with 5/16, none in at most one.
	for _, c := range []struct{ events, want int }{{16, 0}, {15, 1}, {3, 2}, {1, 4}} {
		if got := LeastHits(c.events, 4, 0.5); got != c.want {
			t.Errorf("%d events: %d, want %d", c.events, got, c.want)
		}
	}
}
