package render

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"dpsql/internal/exporter"
)

// The measures of a plot, in pixels.
const (
	plotBars   = 460 // the width of the axis
	plotTop    = 64  // for the title and the names of the columns
	plotLine   = 24  // from bar to bar
	plotBar    = 14
	plotBottom = 50 // for the ticks and the name of the axis
	plotMargin = 12
	halfTick   = 20 // of the widest tick that stands at an end of the axis

	// plotCharacter is the width of a character at the font size of 12. It is
	// more than the average of common fonts, so that texts fit.
	plotCharacter = 7
)

// Plot draws the series as an SVG document: a horizontal bar for every point with
// its error bar, label and number, and a scale below. Of more than mostBars points it
// draws a line.
func (s Series) Plot(w io.Writer) error {
	if len(s.points) > mostBars {
		return s.line(w)
	}
	p := newPlot(bufio.NewWriter(w), s)
	p.frame()
	for i, q := range s.points {
		p.point(q, plotTop+plotLine*i+plotLine/2)
	}
	fmt.Fprintln(p.w, `</svg>`)
	return p.w.Flush()
}

// mostBars is how many points are drawn as bars.
const mostBars = 40

// line draws the points from left to right as a line, with their error bars as a band around
// it, a scale at the left, and some of the labels below.
func (s Series) line(w io.Writer) error {
	const height, labels = 240, 5
	p := newPlot(bufio.NewWriter(w), s)
	p.left, p.right, p.bottom = plotMargin+12*plotCharacter, plotMargin+12*plotCharacter+plotBars, plotTop+height
	p.width = max(p.right+maxLabel*plotCharacter/2, float64(plotMargin*2+twwidth.Width(s.legend())*(plotCharacter+1)))
	x := func(i int) float64 { return p.left + float64(i)/float64(len(s.points)-1)*plotBars }
	y := func(v float64) float64 { return plotTop + (p.high-v)/(p.high-p.low)*height }
	p.open(p.bottom + plotBottom)
	for _, t := range ticks(p.low, p.high) {
		fmt.Fprintf(p.w, `<path d="M%.1f %.1f H%.1f" stroke="#ddd"/>`+"\n", p.left, y(t), p.right)
		p.text(p.left-4, int(y(t))+4, "end", gray, exporter.Number(t))
	}
	io.WriteString(p.w, `<polygon class="error" fill="#d5e3f0" points="`)
	for i, q := range s.points {
		fmt.Fprintf(p.w, "%.1f,%.1f ", x(i), y(q.high()))
	}
	for i, q := range slices.Backward(s.points) {
		fmt.Fprintf(p.w, "%.1f,%.1f ", x(i), y(q.low()))
	}
	io.WriteString(p.w, `"/><polyline stroke="#3a6ea5" fill="none" points="`)
	for i, q := range s.points {
		fmt.Fprintf(p.w, "%.1f,%.1f ", x(i), y(q.value))
	}
	fmt.Fprintln(p.w, `"/>`)
	for k := range labels {
		i := k * (len(s.points) - 1) / (labels - 1)
		p.text(x(i), p.bottom+18, "middle", gray, shorten(s.points[i].label, 2*maxLabel/labels))
	}
	p.text(p.left+plotBars/2, p.bottom+38, "middle", gray, shorten(s.groups, maxLabel))
	fmt.Fprintln(p.w, `</svg>`)
	return p.w.Flush()
}

// plot is a plot being drawn.
type plot struct {
	w           *bufio.Writer
	series      Series
	low, high   float64 // the ends of the axis
	left, right float64 // their x coordinates
	width       float64
	bottom      int // the y coordinate below the last bar
}

// newPlot lays a plot out: its columns are as wide as the labels and numbers.
func newPlot(w *bufio.Writer, s Series) *plot {
	labels, amounts := twwidth.Width(shorten(s.groups, maxLabel)), twwidth.Width(amountHead(s))
	for _, q := range s.points {
		labels = max(labels, twwidth.Width(shorten(q.label, maxLabel)))
		amounts = max(amounts, twwidth.Width(q.amount()))
	}
	p := &plot{w: w, series: s, bottom: plotTop + plotLine*len(s.points)}
	p.low, p.high = s.limits()
	p.left = float64(plotMargin + max(labels*plotCharacter+plotMargin, halfTick))
	p.right = p.left + plotBars
	p.width = p.right + plotMargin + float64(max(amounts*plotCharacter, halfTick)) + plotMargin
	if title := float64(plotMargin*2 + twwidth.Width(s.legend())*(plotCharacter+1)); p.width < title {
		p.width = title
	}
	return p
}

// amountHead names the column of numbers.
func amountHead(s Series) string {
	head := shorten(Visible(s.Name), maxLabel)
	for _, p := range s.points {
		if p.bar != nil && !even(p.value, *p.bar, p.margin) {
			return head + " (low … high)"
		}
	}
	return head + " ± margin"
}

// x returns the x coordinate of a number.
func (p *plot) x(v float64) float64 {
	return p.left + (v-p.low)/(p.high-p.low)*(p.right-p.left)
}

// text writes a text. The anchor is "start", "middle" or "end".
func (p *plot) text(x float64, y int, anchor, style, text string) {
	fmt.Fprintf(p.w, `<text x="%.1f" y="%d" text-anchor="%s"%s>`, x, y, anchor, style)
	xml.EscapeText(p.w, []byte(text))
	fmt.Fprintln(p.w, `</text>`)
}

const gray = ` fill="#555"`

// open begins the document, with the title.
func (p *plot) open(height int) {
	fmt.Fprintf(p.w, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %[1]g %[2]d" font-family="sans-serif" font-size="12">`+"\n",
		p.width, height)
	fmt.Fprintf(p.w, `<rect width="%.0f" height="%d" fill="white"/>`+"\n", p.width, height)
	p.text(plotMargin, 24, "start", ` font-size="14"`, p.series.legend())
}

// frame draws everything but the points: the title, the names of the columns and
// the scale, each tick with a line through the bars.
func (p *plot) frame() {
	p.open(p.bottom + plotBottom)
	p.text(p.left-plotMargin, plotTop-10, "end", gray, shorten(p.series.groups, maxLabel))
	p.text(p.right+plotMargin, plotTop-10, "start", gray, amountHead(p.series))
	for _, t := range ticks(p.low, p.high) {
		color := "#ddd"
		if t == 0 {
			color = "#888"
		}
		fmt.Fprintf(p.w, `<path d="M%.1f %d V%d" stroke="%s"/>`+"\n", p.x(t), plotTop-4, p.bottom+4, color)
		p.text(p.x(t), p.bottom+18, "middle", gray, exporter.Number(t))
	}
	p.text((p.left+p.right)/2, p.bottom+38, "middle", gray, Visible(p.series.Name))
}

// point draws one bar, its error bar, its label and its number. The whiskers at
// the ends of the error bar are centred on it.
func (p *plot) point(q point, middle int) {
	from, to := p.x(min(0, q.value)), p.x(max(0, q.value))
	p.text(p.left-plotMargin, middle+4, "end", "", shorten(q.label, maxLabel))
	fmt.Fprintf(p.w, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#86aed3"/>`+"\n", from, middle-plotBar/2, to-from, plotBar)
	if q.high() > q.low() {
		const whisker = 8
		fmt.Fprintf(p.w, `<path d="M%.1f %d H%.1f M%.1[1]f %[4]d v%[5]d M%.1[3]f %[4]d v%[5]d" class="error" stroke="black" fill="none"/>`+"\n",
			p.x(q.low()), middle, p.x(q.high()), middle-whisker/2, whisker)
	}
	p.text(p.right+plotMargin, middle+4, "start", "", q.amount())
}

// ticks returns about five round numbers within an interval.
func ticks(low, high float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/5)))
	for _, factor := range []float64{2, 2.5, 2} { // 1, 2, 5, 10
		if (high-low)/step <= 6 {
			break
		}
		step *= factor
	}
	var all []float64
	for i := math.Ceil(low / step); i <= math.Floor(high/step); i++ {
		t, err := strconv.ParseFloat(strconv.FormatFloat(i*step, 'g', 12, 64), 64)
		if err != nil {
			t = i * step
		}
		all = append(all, t+0) // not -0
	}
	return all
}
