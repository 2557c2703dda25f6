package post

import "math"

// Arithmetic of intervals. Each result has every value that the operation gives, in floating
// point, for numbers of the intervals: rounding is monotone, so that the rounded ends enclose
// what is rounded between them.

// Add returns the interval of the sums.
func (i Interval) Add(j Interval) Interval { return Interval{i.Low + j.Low, i.High + j.High} }

// Subtract returns the interval of the differences.
func (i Interval) Subtract(j Interval) Interval { return Interval{i.Low - j.High, i.High - j.Low} }

// Multiply returns the interval of the products.
func (i Interval) Multiply(j Interval) Interval {
	return corners(i.Low*j.Low, i.Low*j.High, i.High*j.Low, i.High*j.High)
}

// Divide returns the interval of the quotients, false if a divisor is 0. A whole interval has
// those of integers too, which SQLite cuts off toward zero.
func (i Interval) Divide(j Interval, whole bool) (Interval, bool) {
	if j.Low <= 0 && j.High >= 0 {
		return Interval{}, false
	}
	out := corners(i.Low/j.Low, i.Low/j.High, i.High/j.Low, i.High/j.High)
	if whole {
		out = Interval{min(out.Low, math.Trunc(out.Low)), max(out.High, math.Trunc(out.High))}
	}
	return out, true
}

// Finite reports whether both ends are numbers.
func (i Interval) Finite() bool { return i.finite() }

func corners(a, b, c, d float64) Interval { return Interval{min(a, b, c, d), max(a, b, c, d)} }
