package post

import (
	"math"
	"math/big"

	"dpsql/internal/calendar"
	"dpsql/internal/sqlvalue"
	"dpsql/query"
)

// Span is an interval of dates, timestamps or times of day, as they are shown.
type Span struct{ Low, High string }

// Reach returns the larger distance of an end of the span from a date or timestamp, in days.
// It is 0 for a text that is none.
func (s Span) Reach(from string) float64 {
	at, _, ok := calendar.ReadAny(from)
	low, _, known := calendar.ReadAny(s.Low)
	high, _, also := calendar.ReadAny(s.High)
	if !ok || !known || !also {
		return 0
	}
	return float64(max(high-at, at-low, 0)) / 86_400
}

// Values returns the canonical values of a column that belong to ordinals of its domain, from
// the least to the greatest. A step of a REAL or NUMERIC column that stands for all numbers
// in it ends where the next one begins.
func Values(c query.Column, first, last uint64) (least, most float64) {
	least, most = float64(c.Domain.Value(first).Int64()), float64(c.Domain.Value(last).Int64())
	if c.Form.IsRounded() {
		most++
	}
	return least, most
}

// shown returns a canonical value as people write it. One between two dates or steps of time
// is in the earlier one, and so is a Discrete one between two exact numbers.
func (q Quantile) shown(x float64) sqlvalue.Value {
	f := q.Of.Form
	if f.IsTime() || q.Method == Discrete && !f.IsRounded() {
		x = math.Floor(x)
	}
	switch {
	case f.IsTime():
		return sqlvalue.FromColumn(f.Shown(query.Int(int64(x))))
	case f.IsStepped():
		return sqlvalue.Real(q.worth(x))
	case q.Method == Continuous:
		return sqlvalue.Real(x)
	}
	return sqlvalue.Int(int64(x))
}

// worth returns the number that so many steps of a REAL or NUMERIC column are, rounded once.
// Of other columns it is x.
func (q Quantile) worth(x float64) float64 {
	if !q.Of.Form.IsStepped() {
		return x
	}
	return inUnit(x, big.NewRat(q.Of.Form.Fraction()))
}

// span returns the interval of a quantile of dates or timestamps, whose value is v.
func (q Quantile) span(v sqlvalue.Value, r *row) (around, bool) {
	b, _, known := newBox(r, slots(q, r))
	if !known || v.IsNull() {
		return around{}, false
	}
	ends := b.quantile(q)
	text := func(x float64) string { return q.Of.Form.Shown(query.Int(int64(x))).Str() }
	out := around{span: Span{text(ends.lo), text(ends.hi)}}
	out.margin = out.span.Reach(v.Str())
	return out, ends.bounded
}
