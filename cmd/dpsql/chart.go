package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

const (
	chartWidth = 80 // characters of a line where nothing limits them
	leastBars  = 10 // characters for the bars, however narrow the line
	mostLabel  = 30 // characters of a label
)

// writeChart draws a bar for every point, a line each, at most width characters
// wide; 0 is no limit. Of a bar the part that stands whatever the noise was is
// solid, the part within the error bar below the value is shaded, and the error
// bar above the value is a line.
func writeChart(w io.Writer, s series, width int) error {
	if width <= 0 {
		width = chartWidth
	}
	labels, amounts := 0, 0
	for i := range s.points {
		p := &s.points[i]
		p.label = shorten(p.label, mostLabel)
		labels, amounts = max(labels, twwidth.Width(p.label)), max(amounts, twwidth.Width(p.amount()))
	}
	low, high := s.limits()
	scale := axis{low: low, high: high, width: max(leastBars, width-labels-amounts-2)}
	b := bufio.NewWriter(w)
	for _, p := range s.points {
		fmt.Fprintf(b, "%s %s %s\n", padded(p.label, labels), scale.bar(p), leading(p.amount(), amounts))
	}
	fmt.Fprintf(b, "%s %s\n", strings.Repeat(" ", labels), s.legend())
	return b.Flush()
}

// axis maps numbers to characters.
type axis struct {
	low, high float64
	width     int
}

// at returns the number in the middle of a character.
func (a axis) at(i int) float64 {
	return a.low + (float64(i)+0.5)/float64(a.width)*(a.high-a.low)
}

// cell returns the character that a number lies in.
func (a axis) cell(x float64) int {
	i := int(math.Floor((x - a.low) / (a.high - a.low) * float64(a.width)))
	return min(max(i, 0), a.width-1)
}

// bar draws one point.
func (a axis) bar(p point) string {
	line := make([]rune, a.width)
	from, to := min(0, p.value), max(0, p.value)
	for i := range line {
		x := a.at(i)
		inBar, inError := from <= x && x < to, p.low() < x && x < p.high()
		switch {
		case inBar && inError:
			line[i] = '▒'
		case inBar:
			line[i] = '█'
		case inError:
			line[i] = '─'
		default:
			line[i] = ' '
		}
	}
	if a.low < 0 {
		if zero := a.cell(0); line[zero] == ' ' {
			line[zero] = '│'
		}
	}
	if p.reach() > 0 {
		a.end(line, p.high(), '┤')
		a.end(line, p.low(), '├')
	}
	return string(line)
}

// end marks the end of an error bar that lies outside the bar.
func (a axis) end(line []rune, x float64, mark rune) {
	if i := a.cell(x); line[i] == ' ' || line[i] == '─' || line[i] == '│' {
		line[i] = mark
	}
}

// shorten cuts a text to a width.
func shorten(text string, width int) string {
	if twwidth.Width(text) <= width {
		return text
	}
	return text[:prefix(text, width-1)] + "…"
}

func padded(text string, width int) string {
	return text + strings.Repeat(" ", width-twwidth.Width(text))
}

func leading(text string, width int) string {
	return strings.Repeat(" ", width-twwidth.Width(text)) + text
}
