package query

import (
	"math"
	"math/big"
	"strings"

	"dpsql/sqlerr"
)

// Steps is the declared domain of a column of REAL numbers: the multiples of a
// step between two bounds. A number is kept as an integer, its multiple of the
// step, so that sums are exact. It is immutable.
type Steps struct {
	lo, hi int64 // in steps
	step   *big.Rat
	null   bool

	numerator, denominator float64 // of the step, if n·numerator/denominator rounds once for each n; else denominator is 0
}

// maxSteps bounds |lo| and |hi|, in steps. Up to it the rounding of a float64
// is far below a step.
const maxSteps = 1e9

// maxExact is the largest n such that every integer up to n is a float64.
const maxExact = 1 << 53

// NewSteps returns the domain of the multiples of step from lo to hi, and of
// NULL if orNull. lo and hi must be multiples of step.
func NewSteps(lo, hi, step *big.Rat, orNull bool) (Steps, error) {
	if step.Sign() <= 0 {
		return Steps{}, sqlerr.New(sqlerr.Invalid, "the step is not above 0")
	}
	if lo.Cmp(hi) > 0 {
		return Steps{}, sqlerr.New(sqlerr.Invalid, "the range is empty").WithHint("write the smaller bound first")
	}
	s := Steps{step: new(big.Rat).Set(step), null: orNull}
	if p, q := step.Num(), step.Denom(); p.IsInt64() && p.Int64() <= maxExact/int64(maxSteps) && q.IsInt64() && q.Int64() <= maxExact {
		s.numerator, s.denominator = float64(p.Int64()), float64(q.Int64())
	}
	for _, bound := range []struct {
		of *big.Rat
		to *int64
	}{{lo, &s.lo}, {hi, &s.hi}} {
		n := new(big.Rat).Quo(bound.of, step)
		switch {
		case !n.IsInt():
			return Steps{}, sqlerr.New(sqlerr.Invalid, "the bound %s is no multiple of the step %s", Decimal(bound.of), Decimal(step)).
				WithHint("give a smaller step, such that the bounds and all values are multiples of it")
		case new(big.Rat).Abs(n).Cmp(big.NewRat(maxSteps, 1)) > 0:
			return Steps{}, sqlerr.New(sqlerr.Unsupported, "the bound %s is more than 10^9 steps of %s from 0", Decimal(bound.of), Decimal(step)).
				WithHint("give a larger step")
		}
		*bound.to = n.Num().Int64()
	}
	return s, nil
}

// Step returns the length of a step.
func (s Steps) Step() *big.Rat { return new(big.Rat).Set(s.step) }

// HasNull reports whether NULL is in the domain.
func (s Steps) HasNull() bool { return s.null }

// Number returns the REAL nearest to n steps.
func (s Steps) Number(n int64) float64 {
	x, _ := new(big.Rat).Mul(s.step, new(big.Rat).SetInt64(n)).Float64()
	return x
}

// InSteps returns x in steps, as a fraction. An x that is the REAL nearest to a
// multiple counts as that multiple, as 0.1 counts as a tenth.
func (s Steps) InSteps(x *big.Rat) *big.Rat {
	in := new(big.Rat).Quo(x, s.step)
	n, ok := nearest(in)
	if r, exact := x.Float64(); ok && exact && s.Number(n) == r {
		return in.SetInt64(n)
	}
	return in
}

// nearest returns the integer nearest to x. It returns false where x is large.
func nearest(x *big.Rat) (int64, bool) {
	n := new(big.Int).Lsh(x.Num(), 1)
	n.Add(n, x.Denom())
	n.Div(n, new(big.Int).Lsh(x.Denom(), 1))
	return n.Int64(), n.IsInt64()
}

// Value converts a stored value (int64, float64 or nil) to steps: an INTEGER
// Value, or NULL. A REAL may be off its multiple by the rounding of a few
// operations on numbers within the bounds, so that 0.1 + 0.2 is 0.3. A value
// outside the domain is refused as invalid, with an error that shows the value.
func (s Steps) Value(v any) (Value, error) {
	var x float64
	switch v := v.(type) {
	case nil:
		if s.null {
			return Null(), nil
		}
		return Value{}, sqlerr.New(sqlerr.Invalid, "NULL is not in the declared domain %v", s).WithHint("declare it with OR NULL where values are missing")
	case int64:
		return s.number(new(big.Rat).SetInt64(v), new(big.Rat))
	case float64:
		x = v
	default:
		return Value{}, sqlerr.New(sqlerr.Invalid, "a value is no number")
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return Value{}, sqlerr.New(sqlerr.Invalid, "%g is not in the declared domain %v", x, s)
	}
	if n := math.Round(x / s.numerator * s.denominator); n >= float64(s.lo) && n <= float64(s.hi) && n*s.numerator/s.denominator == x {
		return Int(int64(n)), nil // the usual case: x is the REAL nearest to a multiple
	}
	slack := big.NewRat(max(s.hi, -s.lo, 1), 1<<50)
	return s.number(new(big.Rat).SetFloat64(x), slack.Mul(slack, s.step))
}

// number returns the multiple nearest to a number, if it is within the slack.
func (s Steps) number(x, slack *big.Rat) (Value, error) {
	n, ok := nearest(new(big.Rat).Quo(x, s.step))
	if ok {
		off := new(big.Rat).Mul(s.step, new(big.Rat).SetInt64(n))
		ok = off.Abs(off.Sub(off, x)).Cmp(slack) <= 0
	}
	shown, _ := x.Float64()
	switch {
	case !ok:
		return Value{}, sqlerr.New(sqlerr.Invalid, "%g is no multiple of the step %s", shown, Decimal(s.step)).
			WithHint("declare a smaller step, or round the values to multiples of it")
	case n < s.lo || n > s.hi:
		return Value{}, sqlerr.New(sqlerr.Invalid, "%g is not in the declared domain %v", shown, s)
	}
	return Int(n), nil
}

// Texts returns the bounds and the step as decimals.
func (s Steps) Texts() (lo, hi, step string) {
	return Decimal(s.Multiple(s.lo)), Decimal(s.Multiple(s.hi)), Decimal(s.step)
}

// maxDecimal bounds the text of a number that ReadSteps reads.
const maxDecimal = 4096

// ReadSteps returns the steps of Texts. It is false if they are none.
func ReadSteps(low, high, step string, orNull bool) (s Steps, ok bool) {
	var numbers [3]*big.Rat
	for i, text := range []string{low, high, step} {
		if strings.Trim(text, "-.0123456789") != "" || len(text) > maxDecimal {
			return s, false
		}
		if numbers[i], ok = new(big.Rat).SetString(text); !ok {
			return s, false
		}
	}
	s, err := NewSteps(numbers[0], numbers[1], numbers[2], orNull)
	return s, err == nil
}

// String returns the domain in the syntax of a column declaration, after REAL.
func (s Steps) String() string {
	lo, hi, step := s.Texts()
	text := "BETWEEN " + lo + " AND " + hi + " STEP " + step
	if s.null {
		text += " OR NULL"
	}
	return text
}

// Multiple returns n steps.
func (s Steps) Multiple(n int64) *big.Rat {
	return new(big.Rat).Mul(s.step, new(big.Rat).SetInt64(n))
}

// Decimal returns a fraction in decimal notation. The fraction came from
// decimal text.
func Decimal(r *big.Rat) string {
	n, _ := r.FloatPrec()
	return r.FloatString(n)
}
