package render

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"dpsql/engine"
	"dpsql/internal/exporter"
	"dpsql/sqlerr"
)

// Series is one column of numbers of a result, to be drawn.
type Series struct {
	Name       string
	groups     string // the names of the columns that label the points
	points     []point
	confidence float64
	marks      []string
}

// point is a number of a series, with its label and its interval.
type point struct {
	label  string
	value  float64
	bar    *engine.Interval // nil if it is not known
	margin float64
}

// low and high are the ends of the error bar, or the value itself.
func (p point) low() float64 {
	if p.bar == nil {
		return p.value
	}
	return p.bar.Low
}

func (p point) high() float64 {
	if p.bar == nil {
		return p.value
	}
	return p.bar.High
}

// amount returns a point's number with its margin or interval.
func (p point) amount() string {
	if p.bar == nil {
		return exporter.Number(math.Round(p.value*1000) / 1000)
	}
	return amount(p.value, *p.bar, p.margin)
}

// NewSeries returns the column of that name, or the first private answer if
// column is "". Columns that are neither answers nor margins label the points.
func NewSeries(r *engine.Result, column string) (Series, error) {
	if r == nil || r.Answer == nil || len(r.Rows) == 0 {
		return Series{}, sqlerr.New(sqlerr.Invalid, "there is no answer to draw").
			WithHint("run a SELECT first, best with GROUP BY; its answer is drawn")
	}
	drawn, err := drawnColumn(r, column)
	if err != nil {
		return Series{}, err
	}
	s := Series{Name: r.Columns[drawn].Name, confidence: r.Answer.Confidence, marks: marks(r.Answer)}
	labels := labelColumns(r, drawn)
	names := make([]string, len(labels))
	for i, c := range labels {
		names[i] = Visible(r.Columns[c].Name)
	}
	s.groups = strings.Join(names, labelSeparator)
	for i, row := range r.Rows {
		p := point{label: label(row, labels)}
		var known bool
		if p.value, known = asFloat(row[drawn]); !known {
			continue
		}
		if ends, ok := r.Answer.Intervals[i][drawn].(engine.Interval); ok {
			p.bar = &ends
			p.margin, _ = asFloat(r.Answer.Margins[i][drawn])
		}
		s.points = append(s.points, p)
	}
	if len(s.points) == 0 {
		return s, sqlerr.New(sqlerr.Invalid, "the column %s holds only NULL", s.Name)
	}
	return s, nil
}

// drawnColumn returns the index of the column to draw.
func drawnColumn(r *engine.Result, column string) (int, error) {
	for i, c := range r.Columns {
		if column == "" && isNumber(c) && isAnswer(r, i) || column != "" && strings.EqualFold(c.Name, column) {
			if !isNumber(c) {
				return 0, sqlerr.New(sqlerr.Invalid, "the column %s holds no numbers", c.Name)
			}
			return i, nil
		}
	}
	if column == "" {
		return 0, sqlerr.New(sqlerr.Invalid, "the last answer has no column of counts")
	}
	return 0, sqlerr.New(sqlerr.Unknown, "the last answer has no column %s", column)
}

// isAnswer reports whether a column is a private answer: some row of it has a margin, or it
// is a count or sum that has none.
func isAnswer(r *engine.Result, column int) bool {
	if c := r.Columns[column]; !r.Answer.Verified && isNumber(c) && column < len(r.Answer.NotNull) && r.Answer.NotNull[column] {
		return true
	}
	for _, margins := range r.Answer.Margins {
		if margins[column] != nil {
			return true
		}
	}
	return false
}

// labelSeparator stands between the labels of several columns.
const labelSeparator = " · "

// labelColumns returns the columns that are neither drawn nor answers nor margins.
func labelColumns(r *engine.Result, drawn int) (columns []int) {
	for i, c := range r.Columns {
		if i != drawn && !isAnswer(r, i) && c.Type != "REAL" {
			columns = append(columns, i)
		}
	}
	return columns
}

// label joins the values of a row in the columns that label it.
func label(row []any, columns []int) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = Visible(row[c])
		if row[c] == nil {
			parts[i] = "NULL"
		}
	}
	return strings.Join(parts, labelSeparator)
}

func asFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// limits returns the ends of an axis that holds 0, every bar and every error
// bar.
func (s Series) limits() (low, high float64) {
	for _, p := range s.points {
		low, high = min(low, p.value, p.low()), max(high, p.value, p.high())
	}
	if low == high {
		high = 1
	}
	return low, high
}

// legend describes the bars and error bars.
func (s Series) legend() string {
	text := Visible(s.Name)
	for _, p := range s.points {
		if p.bar != nil {
			text += ", with error bars at " + percent(s.confidence)
			break
		}
	}
	for _, mark := range s.marks {
		text += ", " + mark
	}
	return text
}

const (
	chartWidth = 80 // characters of a line if there is no limit
	minBars    = 10 // characters for the bars, even on a narrow line
	maxLabel   = 30 // characters of a label
)

// Chart draws a bar for every point on a line of its own, at most width
// characters wide; 0 is no limit. The part of a bar below the error bar is
// solid, the part within it is shaded, and the error bar above the value is a
// line.
func (s Series) Chart(w io.Writer, width int) error {
	if width <= 0 {
		width = chartWidth
	}
	labels, amounts := 0, 0
	for i := range s.points {
		p := &s.points[i]
		p.label = shorten(p.label, maxLabel)
		labels, amounts = max(labels, twwidth.Width(p.label)), max(amounts, twwidth.Width(p.amount()))
	}
	low, high := s.limits()
	scale := axis{low: low, high: high, width: max(minBars, width-labels-amounts-2)}
	b := bufio.NewWriter(w)
	for _, p := range s.points {
		fmt.Fprintf(b, "%s %s %s\n", padRight(p.label, labels), scale.bar(p), padLeft(p.amount(), amounts))
	}
	fmt.Fprintf(b, "%s %s\n", strings.Repeat(" ", labels), s.legend())
	return b.Flush()
}

// axis maps numbers to the characters of a line.
type axis struct {
	low, high float64
	width     int
}

// middle returns the number in the middle of a character.
func (a axis) middle(i int) float64 {
	return a.low + (float64(i)+0.5)/float64(a.width)*(a.high-a.low)
}

// cell returns the character that holds a number.
func (a axis) cell(x float64) int {
	i := int(math.Floor((x - a.low) / (a.high - a.low) * float64(a.width)))
	return min(max(i, 0), a.width-1)
}

// bar draws one point.
func (a axis) bar(p point) string {
	line := make([]rune, a.width)
	from, to := min(0, p.value), max(0, p.value)
	for i := range line {
		x := a.middle(i)
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
	if p.high() > p.low() {
		a.mark(line, p.high(), '┤')
		a.mark(line, p.low(), '├')
	}
	return string(line)
}

// mark marks the end of an error bar, unless it lies inside the bar.
func (a axis) mark(line []rune, x float64, mark rune) {
	if i := a.cell(x); line[i] == ' ' || line[i] == '─' || line[i] == '│' {
		line[i] = mark
	}
}
