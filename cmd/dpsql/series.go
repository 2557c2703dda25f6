package main

import (
	"math"
	"strings"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// point is one number of a result with what names it and how far off it may
// be.
type point struct {
	label  string
	value  float64
	margin float64 // a half-width; NaN where none is known
}

// low and high are the ends of the error bar, or the value itself.
func (p point) low() float64  { return p.value - p.reach() }
func (p point) high() float64 { return p.value + p.reach() }

func (p point) reach() float64 {
	if math.IsNaN(p.margin) {
		return 0
	}
	return p.margin
}

// series is one column of numbers of a result, to be drawn.
type series struct {
	name       string
	points     []point
	confidence float64
}

// newSeries takes the column of that name, or the first private answer, of a
// result. The columns that are no private answers name the points.
func newSeries(r *engine.Result, column string) (series, error) {
	if r == nil || r.Answer == nil || len(r.Rows) == 0 {
		return series{}, sqlerr.New(sqlerr.Invalid, "there is no answer to draw").
			WithHint("ask first, best with GROUP BY; the last answer is drawn")
	}
	drawn, err := drawnColumn(r, column)
	if err != nil {
		return series{}, err
	}
	s := series{name: r.Columns[drawn].Name, confidence: r.Answer.Confidence}
	for i, row := range r.Rows {
		p := point{label: label(r, row), margin: math.NaN()}
		var known bool
		if p.value, known = asFloat(row[drawn]); !known {
			continue
		}
		if m, ok := asFloat(r.Answer.Margins[i][drawn]); ok {
			p.margin = m
		}
		s.points = append(s.points, p)
	}
	if len(s.points) == 0 {
		return s, sqlerr.New(sqlerr.Invalid, "the column %s has only NULLs", s.name)
	}
	return s, nil
}

// drawnColumn finds the column to draw.
func drawnColumn(r *engine.Result, column string) (int, error) {
	for i, c := range r.Columns {
		if column == "" && isAnswer(r, i) || column != "" && strings.EqualFold(c.Name, column) {
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

// isAnswer reports whether a column is a private answer: it has an error bar in
// some row.
func isAnswer(r *engine.Result, column int) bool {
	for _, margins := range r.Answer.Margins {
		if margins[column] != nil {
			return true
		}
	}
	return false
}

// label joins the values that are no private answers and no margins.
func label(r *engine.Result, row []any) string {
	var parts []string
	for i, v := range row {
		if !isAnswer(r, i) && r.Columns[i].Type != "REAL" {
			text := visibleText(v)
			if v == nil {
				text = "NULL"
			}
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " · ")
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

// limits returns the ends of an axis that holds every bar and error bar, and 0.
func (s series) limits() (low, high float64) {
	for _, p := range s.points {
		low, high = min(low, p.low()), max(high, p.high())
	}
	if low == high {
		high = 1
	}
	return low, high
}

// amount writes a point's number.
func (p point) amount() string {
	text := number(math.Round(p.value*1000) / 1000)
	if !math.IsNaN(p.margin) {
		text += " ± " + roundUp(p.margin)
	}
	return text
}

// legend says what is drawn.
func (s series) legend() string {
	return visibleText(s.name) + ", with error bars at " + percent(s.confidence)
}
