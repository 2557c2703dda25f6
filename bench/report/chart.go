package report

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Chart is a plot of lines over logarithmic axes.
type Chart struct {
	Name   string // the name of its file, without an extension
	Title  string
	X, Y   string // what the axes show, with units
	Series []Series
}

// Series is one line. Its points are in ascending order of X.
type Series struct {
	Name      string
	Points    []Point
	Reference bool // a dashed line without marks
}

// Point is one measurement: Y and its interval, in the axis's unit.
type Point struct {
	X float64
	Y Estimate
}

// Add appends a point to the series of that name.
func (c *Chart) Add(series string, x float64, y Estimate) {
	c.add(series, x, y, false)
}

// Refer appends a point to a reference line.
func (c *Chart) Refer(series string, x, y float64) {
	c.add(series, x, Estimate{Mean: y, Half: math.NaN()}, true)
}

func (c *Chart) add(series string, x float64, y Estimate, reference bool) {
	for i := range c.Series {
		if c.Series[i].Name == series {
			c.Series[i].Points = append(c.Series[i].Points, Point{x, y})
			return
		}
	}
	c.Series = append(c.Series, Series{series, []Point{{x, y}}, reference})
}

// The dimensions of a chart, in pixels. Labels of lines are right of the axes. Texts
// are anchored so that no viewer's font moves or cuts them.
const (
	chartWidth, chartHeight = 910, 500
	chartLeft, chartRight   = 80, 650
	chartTop, chartBottom   = 66, 440
	labelHeight             = 16
)

// colours are dark enough for text on white. Neighbours in the list also differ in
// lightness.
var colours = []string{"#0072b2", "#d55e00", "#00805f", "#b0479a", "#4a4a4a", "#9a6700", "#3b8fd0", "#8c3f14", "#6f4fd0", "#c02040", "#000000"}

// SVG writes the chart. It leaves out points whose Y is 0, which a logarithmic axis
// cannot show.
func (c *Chart) SVG(w io.Writer) error {
	d := &drawing{w: bufio.NewWriter(w), x: newLogAxis(chartLeft, chartRight), y: newLogAxis(chartBottom, chartTop)}
	lines, intervals := c.lines(), false
	for _, s := range lines {
		for _, p := range s.Points {
			if !(p.X > 0 && p.Y.Mean > 0) {
				return fmt.Errorf("%s, %s: (%v, %v) cannot lie on logarithmic axes", c.Name, s.Name, p.X, p.Y.Mean)
			}
			intervals = intervals || p.Y.Half > 0
			d.x.include(p.X)
			d.y.include(p.Y.Mean)
			if p.Y.Half > 0 {
				d.y.include(p.Y.Mean + p.Y.Half)
				d.y.include(max(p.Y.Mean-p.Y.Half, p.Y.Mean/2))
			}
		}
	}
	d.y.low, d.y.high = d.y.low/math.Pow(d.y.high/d.y.low, 0.03), d.y.high*math.Pow(d.y.high/d.y.low, 0.03)
	d.frame(c, intervals)
	for i, s := range lines {
		d.line(s, colours[i%len(colours)])
	}
	d.labels(lines)
	fmt.Fprintln(d.w, "</svg>")
	return d.w.Flush()
}

// lines returns the series without points that are 0, and without series that have no
// others.
func (c *Chart) lines() (lines []Series) {
	for _, s := range c.Series {
		s.Points = slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool { return p.Y.Mean == 0 })
		if len(s.Points) > 0 {
			lines = append(lines, s)
		}
	}
	return lines
}

// drawing is a chart being drawn.
type drawing struct {
	w    *bufio.Writer
	x, y *logAxis
}

func (d *drawing) text(x, y float64, anchor, style, text string) {
	fmt.Fprintf(d.w, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>`, x, y, anchor, style)
	xml.EscapeText(d.w, []byte(text))
	fmt.Fprintln(d.w, "</text>")
}

// frame draws the title, the axes and the lines of their ticks.
func (d *drawing) frame(c *Chart, intervals bool) {
	fmt.Fprintf(d.w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="13">`+"\n",
		chartWidth, chartHeight)
	fmt.Fprintf(d.w, `<rect width="%d" height="%d" fill="white"/>`+"\n", chartWidth, chartHeight)
	d.text(20, 26, "start", ` font-size="16"`, c.Title)
	if intervals {
		d.text(20, 46, "start", ` fill="#555"`, "bands: 95 % confidence intervals of the means")
	}
	for _, v := range d.x.ticks() {
		fmt.Fprintf(d.w, `<path d="M%.1f %d V%d" stroke="#ddd"/>`+"\n", d.x.at(v), chartTop, chartBottom)
		d.text(d.x.at(v), chartBottom+20, "middle", "", d.x.label(v))
	}
	for _, v := range d.y.ticks() {
		fmt.Fprintf(d.w, `<path d="M%d %.1f H%d" stroke="#ddd"/>`+"\n", chartLeft, d.y.at(v), chartRight)
		d.text(chartLeft-8, d.y.at(v)+4, "end", "", d.y.label(v))
	}
	fmt.Fprintf(d.w, `<path d="M%d %d V%d H%d" stroke="#555" fill="none"/>`+"\n", chartLeft, chartTop, chartBottom, chartRight)
	d.text((chartLeft+chartRight)/2, chartBottom+46, "middle", "", c.X)
	d.text(0, 0, "middle", fmt.Sprintf(` transform="translate(22 %d) rotate(-90)"`, (chartTop+chartBottom)/2), c.Y)
}

// line draws a series: its band, its line and a mark for each point.
func (d *drawing) line(s Series, colour string) {
	var path, above, below strings.Builder
	for i, p := range s.Points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		x := d.x.at(p.X)
		fmt.Fprintf(&path, "%s%.1f %.1f", command, x, d.y.at(p.Y.Mean))
		fmt.Fprintf(&above, "%s%.1f %.1f", command, x, d.y.at(p.Y.Mean+orZero(p.Y.Half)))
		// An interval that reaches 0 or below reaches the bottom of the chart.
		q := s.Points[len(s.Points)-1-i]
		fmt.Fprintf(&below, "L%.1f %.1f", d.x.at(q.X), d.y.at(max(d.y.low, q.Y.Mean-orZero(q.Y.Half))))
	}
	if slices.ContainsFunc(s.Points, func(p Point) bool { return p.Y.Half > 0 }) {
		fmt.Fprintf(d.w, `<path d="%s%sZ" fill="%s" opacity="0.18"/>`+"\n", above.String(), below.String(), colour)
	}
	if s.Reference {
		fmt.Fprintf(d.w, `<path d="%s" stroke="%s" stroke-dasharray="6 4" fill="none"/>`+"\n", path.String(), colour)
		return
	}
	fmt.Fprintf(d.w, `<path d="%s" stroke="%s" stroke-width="1.6" fill="none"/>`+"\n", path.String(), colour)
	for _, p := range s.Points {
		fmt.Fprintf(d.w, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", d.x.at(p.X), d.y.at(p.Y.Mean), colour)
	}
}

// orZero returns x, or 0 if it is not a number.
func orZero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

// lineLabel is the name of a line, placed right of the axes.
type lineLabel struct {
	name, colour string
	x, y         float64 // the last point of the line
	at           float64 // the height of the label
}

// labels writes the name of each line at its right end. Labels that would overlap
// are moved apart, and a thin line leads from the line to its label.
func (d *drawing) labels(lines []Series) {
	var labels []lineLabel
	for i, s := range lines {
		last := s.Points[len(s.Points)-1]
		y := d.y.at(last.Y.Mean)
		labels = append(labels, lineLabel{s.Name, colours[i%len(colours)], d.x.at(last.X), y, y})
	}
	slices.SortStableFunc(labels, func(a, b lineLabel) int { return int(math.Copysign(1, a.y-b.y)) })
	spread(labels)
	for _, l := range labels {
		if bend := float64(chartRight + 8); l.x < chartRight-1 || math.Abs(l.at-l.y) > 1 {
			fmt.Fprintf(d.w, `<path d="M%.1f %.1fL%.1f %.1fH%d" stroke="%s" stroke-width="0.6" stroke-dasharray="2 2" fill="none"/>`+"\n",
				l.x+4, l.y, bend+6, l.at, chartRight+18, l.colour)
		}
		d.text(chartRight+22, l.at+4, "start", fmt.Sprintf(` fill="%s"`, l.colour), l.name)
	}
}

// spread moves labels, in the order of their lines, so far apart that they do not
// overlap, and no farther. Labels that touch share a block around the mean of their
// lines.
func spread(labels []lineLabel) {
	type block struct {
		first, n int
		middle   float64
	}
	var blocks []block
	top := func(b block) float64 { return b.middle - float64(b.n-1)*labelHeight/2 }
	for i, l := range labels {
		blocks = append(blocks, block{i, 1, l.y})
		for len(blocks) > 1 {
			a, b := blocks[len(blocks)-2], blocks[len(blocks)-1]
			if top(a)+float64(a.n)*labelHeight <= top(b) {
				break
			}
			n := a.n + b.n
			merged := block{a.first, n, (a.middle*float64(a.n) + b.middle*float64(b.n)) / float64(n)}
			blocks = append(blocks[:len(blocks)-2], merged)
		}
	}
	for _, b := range blocks {
		for i := range b.n {
			labels[b.first+i].at = top(b) + float64(i)*labelHeight
		}
	}
}

// logAxis maps positive numbers to pixels.
type logAxis struct {
	from, to  float64 // pixels of low and high
	low, high float64
}

func newLogAxis(from, to float64) *logAxis {
	return &logAxis{from: from, to: to, low: math.Inf(1), high: 0}
}

// include widens the axis to hold v.
func (a *logAxis) include(v float64) { a.low, a.high = min(a.low, v), max(a.high, v) }

// at returns the pixel of v.
func (a *logAxis) at(v float64) float64 {
	if a.low >= a.high {
		return (a.from + a.to) / 2
	}
	return a.from + math.Log(v/a.low)/math.Log(a.high/a.low)*(a.to-a.from)
}

// ticks returns the positions of the axis's ticks: at powers of ten, or at every n-th
// of them; on a short axis at 2 and 5 times these, too; and on a very short one at even
// steps.
func (a *logAxis) ticks() (values []float64) {
	decades := math.Log10(a.high / a.low)
	if decades < 0.6 {
		step := math.Pow(10, math.Floor(math.Log10((a.high-a.low)/4)))
		for _, factor := range []float64{2, 2.5, 2} { // 1, 2, 5, 10
			if (a.high-a.low)/step <= 6 {
				break
			}
			step *= factor
		}
		for i := math.Ceil(a.low / step); i*step <= a.high*(1+1e-9); i++ {
			values = append(values, i*step)
		}
		return values
	}
	factors, every := []float64{1}, max(1, math.Ceil(decades/9))
	if decades <= 2.5 {
		factors = []float64{1, 2, 5}
	}
	for e := math.Floor(math.Log10(a.low)); e <= math.Log10(a.high); e++ {
		for _, f := range factors {
			v := f * math.Pow(10, e)
			if v >= a.low*(1-1e-9) && v <= a.high*(1+1e-9) && math.Mod(e, every) == 0 {
				values = append(values, v)
			}
		}
	}
	return values
}

// label returns the text of a tick: a power of ten if the axis reaches 10⁴ or 10⁻³,
// else a decimal.
func (a *logAxis) label(v float64) string {
	if a.high < 1e4*(1-1e-9) && a.low > 1e-3*(1+1e-9) {
		return decimal(v)
	}
	e := math.Floor(math.Log10(v) + 1e-9)
	power := "10" + superscript(int(e))
	if f := math.Round(v / math.Pow(10, e)); f > 1 {
		return fmt.Sprintf("%g·%s", f, power)
	}
	return power
}

// decimal returns a number of at most four digits, with commas.
func decimal(v float64) string {
	text := fmt.Sprintf("%.4g", v)
	if v >= 1000 {
		return commas(text)
	}
	return text
}

func superscript(n int) string {
	return strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹").
		Replace(fmt.Sprint(n))
}
