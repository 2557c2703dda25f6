package render

import (
	"cmp"
	"math"
	"strconv"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"dpsql/engine"
	"dpsql/internal/exporter"
)

// rowsForPeople returns the cells of a result as tables have them: with its margin beside
// each number that has one, which is rounded to it.
func rowsForPeople(r *engine.Result) [][]string {
	cells := make([][]string, len(r.Rows))
	for i, row := range r.Rows {
		cells[i] = visibleRow(row)
	}
	if r.Answer == nil || r.Answer.Mechanism == "constant" {
		return cells
	}
	for i, row := range r.Answer.Bounds {
		for j, b := range row {
			if x, ok := r.Rows[i][j].(float64); ok && b != nil {
				cells[i][j] = bound(x, b.(engine.Bound))
			}
		}
	}
	for j := range r.Columns {
		besides, widest := make([]string, len(cells)), 0
		for i, row := range r.Answer.Margins {
			margin, ok := row[j].(float64)
			if span, is := r.Answer.Intervals[i][j].(engine.Span); ok && is {
				cells[i][j], besides[i] = besideDate(cells[i][j], span, margin)
				widest = max(widest, twwidth.Width(besides[i]))
				continue
			}
			if _, is := r.Answer.Intervals[i][j].(engine.Unknown); is {
				besides[i], widest = "?", max(widest, 1)
				continue
			}
			ends, has := r.Answer.Intervals[i][j].(engine.Interval)
			value, number := asFloat(r.Rows[i][j])
			if !ok || !has || !number {
				continue
			}
			whole := ""
			if _, ok := r.Rows[i][j].(int64); ok {
				whole = cells[i][j]
			}
			cells[i][j], besides[i] = beside(value, whole, ends, margin)
			widest = max(widest, twwidth.Width(besides[i]))
		}
		for i, beside := range besides {
			if beside != "" { // so that ± is below ±
				cells[i][j] += " ± " + padLeft(beside, widest)
			}
		}
	}
	return cells
}

// amount returns a number with its margin, or with its interval if that is uneven.
func amount(value float64, ends engine.Interval, margin float64) string {
	whole := ""
	if value == math.Trunc(value) {
		whole = exporter.Number(value)
	}
	text, beside := beside(value, whole, ends, margin)
	if beside != "" {
		text += " ± " + beside
	}
	return text
}

// beside rounds a number to its margin, and returns the margin in the same places. A number
// with an uneven interval has that in its text, and no margin beside it. The margin is rounded
// up, by what the number was moved too, and the ends of an interval outwards: what is shown
// holds what is meant. The text of a whole number is given, and stays.
func beside(value float64, whole string, ends engine.Interval, margin float64) (text, beside string) {
	if margin == 0 || math.IsInf(margin, 0) || math.IsNaN(margin) {
		return cmp.Or(whole, exporter.Number(value)), exporter.Number(margin)
	}
	places := places(margin)
	unit, shown := math.Pow10(places), value
	in := func(x float64) string { return exporter.Number(x + 0) } // no -0
	if text = whole; whole == "" {
		in = func(x float64) string { return strconv.FormatFloat(x+0, 'f', places, 64) }
		shown = math.Round(value*unit) / unit
		text = in(shown)
	}
	if even(value, ends, margin) {
		return text, in(math.Ceil((margin+math.Abs(shown-value))*unit-fuzz) / unit)
	}
	return text + " (" + in(math.Floor(ends.Low*unit+fuzz)/unit) + " … " + in(math.Ceil(ends.High*unit-fuzz)/unit) + ")", ""
}

// besideDate is beside for a date or timestamp, whose margin is in days. The margin stands
// beside it if that is all of its interval.
func besideDate(date string, ends engine.Span, days float64) (text, beside string) {
	switch {
	case days != math.Trunc(days) || ends.Reach(ends.Low) != 2*days:
		return date + " (" + ends.Low + " … " + ends.High + ")", ""
	case days == 1:
		return date, "1 day"
	}
	return date, exporter.Number(days) + " days"
}

// bound rounds a MARGIN, LOW or HIGH as the margin itself is shown.
func bound(x float64, b engine.Bound) string {
	if b.Margin == 0 || math.IsInf(b.Margin, 0) || math.IsNaN(b.Margin) || math.IsInf(x, 0) {
		return exporter.Number(x)
	}
	places := places(b.Margin)
	unit := math.Pow10(places)
	if shown := math.Ceil(x*unit-fuzz) / unit; !b.Down {
		return strconv.FormatFloat(shown+0, 'f', places, 64)
	}
	return strconv.FormatFloat(math.Floor(x*unit+fuzz)/unit+0, 'f', places, 64)
}

// places returns how many places a number of some margin has: those up to the margin's first
// digit, or its second where the first is below 4, and no more than tell whole numbers apart.
func places(margin float64) int {
	first := math.Floor(math.Log10(margin))
	if margin/math.Pow(10, first) < 4 {
		first--
	}
	return int(min(max(0, -first), mostPlaces))
}

const (
	mostPlaces = 12
	fuzz       = 1e-9 // the error of binary fractions that rounding ignores
)

// even reports whether a value is the middle of its interval, rounding aside.
func even(value float64, i engine.Interval, margin float64) bool {
	return math.Abs(i.Low/2+i.High/2-value) <= 1e-9*(margin+math.Abs(value))
}
