package render

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// The measures of a plot, in pixels.
const (
	plotWidth  = 720
	plotLabels = 180 // left of the axis
	plotRight  = 120 // for the numbers
	plotTop    = 40
	plotLine   = 24 // from bar to bar
	plotBar    = 14
	plotBottom = 40
)

// Plot draws the series as an SVG document: a horizontal bar for every point with
// its error bar, and a scale below.
func (s Series) Plot(w io.Writer) error {
	b := bufio.NewWriter(w)
	height := plotTop + plotLine*len(s.points) + plotBottom
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="12">`+"\n",
		plotWidth, height)
	fmt.Fprintf(b, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWidth, height)
	fmt.Fprintf(b, `<text x="%d" y="22" font-size="14">%s</text>`+"\n", plotLabels, escaped(s.legend()))
	p := plot{b, s, ticks(s.limits())}
	p.scale(height - plotBottom)
	for i := range s.points {
		p.point(s.points[i], plotTop+plotLine*i)
	}
	fmt.Fprintln(b, `</svg>`)
	return b.Flush()
}

// plot draws a series along an axis with ticks.
type plot struct {
	w     io.Writer
	s     Series
	ticks []float64 // ascending; the first and last are the ends of the axis
}

// x returns where a number lies.
func (p plot) x(v float64) float64 {
	low, high := p.ticks[0], p.ticks[len(p.ticks)-1]
	return plotLabels + (v-low)/(high-low)*(plotWidth-plotLabels-plotRight)
}

// scale draws the ticks, each with a line through the plot.
func (p plot) scale(bottom int) {
	for _, t := range p.ticks {
		fmt.Fprintf(p.w, `<line x1="%.1f" y1="%d" x2="%.1[1]f" y2="%d" stroke="#ddd"/>`, p.x(t), plotTop-4, bottom)
		fmt.Fprintf(p.w, `<text x="%.1f" y="%d" text-anchor="middle" fill="#555">%s</text>`+"\n", p.x(t), bottom+16, Number(t))
	}
}

// point draws one bar, its error bar, its label and its number.
func (p plot) point(q point, top int) {
	middle := top + plotLine/2
	from, to := p.x(min(0, q.value)), p.x(max(0, q.value))
	fmt.Fprintf(p.w, `<text x="%d" y="%d" text-anchor="end">%s</text>`, plotLabels-8, middle+4, escaped(shorten(q.label, maxLabel)))
	fmt.Fprintf(p.w, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#4878a8"/>`, from, middle-plotBar/2, to-from, plotBar)
	if q.halfBar() > 0 {
		low, high := p.x(q.low()), p.x(q.high())
		fmt.Fprintf(p.w, `<path d="M%.1f %d H%.1f M%.1[1]f %d v8 M%.1[3]f %[4]d v8" stroke="black" fill="none"/>`, low, middle, high, middle-4)
	}
	fmt.Fprintf(p.w, `<text x="%d" y="%d">%s</text>`+"\n", plotWidth-plotRight+8, middle+4, escaped(q.amount()))
}

// ticks returns about five round numbers that span an interval.
func ticks(low, high float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/5)))
	for _, factor := range []float64{2, 2.5, 2} { // 1, 2, 5, 10
		if (high-low)/step <= 6 {
			break
		}
		step *= factor
	}
	var all []float64
	first, last := math.Floor(low/step), math.Ceil(high/step)
	for i := first; i <= last; i++ {
		t, err := strconv.ParseFloat(strconv.FormatFloat(i*step, 'g', 12, 64), 64)
		if err != nil {
			t = i * step
		}
		all = append(all, t)
	}
	return all
}

func escaped(text string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(text))
	return b.String()
}
