package sqlfront

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/xwb1989/sqlparser"
	"pgregory.net/rapid"
)

// samples draws bounds, and values within.
func samples(t *rapid.T) (bounds, []scalar) {
	ends := []int64{math.MinInt64, math.MinInt64 + 1, -1 << 53, -7, -2, -1, 0, 1, 2, 3, 10, 1 << 31, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}
	a, b := rapid.SampledFrom(ends).Draw(t, "end"), rapid.SampledFrom(ends).Draw(t, "end")
	lo, hi := min(a, b), max(a, b)
	x := between(lo, hi, rapid.Bool().Draw(t, "null"))
	values := []scalar{integerOf(lo), integerOf(hi), integerOf(rapid.Int64Range(lo, hi).Draw(t, "inside"))}
	if real := realOf(float64(lo)); !x.known && real.compare(x.hi) < 0 && rapid.IntRange(0, 3).Draw(t, "real") == 0 {
		x.integral, x.lo = false, real
		values[0] = real
		values = append(values, realOf(rapid.Float64Range(float64(lo), float64(hi)).Draw(t, "inside")))
		values = slices.DeleteFunc(values, func(v scalar) bool { return !x.within(v) })
	}
	if x.null {
		values = append(values, scalar{})
	}
	return x, values
}

// within reports whether a value is one that bounds allow.
func (x bounds) within(v scalar) bool {
	switch {
	case x.known:
		return v == x.lo
	case v.kind == isNull:
		return x.null
	}
	return v.compare(x.lo) >= 0 && v.compare(x.hi) <= 0 && (!x.integral || v.kind == isInteger)
}

// TestBounds checks for every operation that the result of values within bounds
// is within the bounds of the result.
func TestBounds(t *testing.T) {
	binary := map[string]operation{"IS": same, "AND": all, "OR": either, "max": functionOf("max"), "min": functionOf("min")}
	for _, o := range []string{"+", "-", "*", "/", "%", "&", "|", "<<", ">>"} {
		binary[o] = arithmetical(o)
	}
	for o := range mirrored {
		binary["compare "+o] = comparison(o)
	}
	unary := map[string]operation{
		"-": negative, "~": complement, "NOT": negation, "IS NULL": missing, "IS TRUE": test(canBeTrue), "IS FALSE": test(canBeFalse),
		"abs": functionOf("abs"), "residue": residue(7), "IN": (&list{
			in: map[scalar]bool{integerOf(3): true, integerOf(1 << 62): true}, sorted: []scalar{integerOf(3), integerOf(1 << 62)}}).contains,
		"IN with NULL": (&list{in: map[scalar]bool{integerOf(0): true}, sorted: []scalar{integerOf(0)}, null: true}).contains,
	}
	rapid.Check(t, func(rt *rapid.T) {
		x, xs := samples(rt)
		y, ys := samples(rt)
		z, zs := samples(rt)
		for name, of := range unary {
			for _, a := range xs {
				if name == "residue" && !x.integral || name == "abs" && a.kind == isInteger && a.n == math.MinInt64 {
					continue
				}
				checkWithin(rt, name, of, []bounds{x}, []scalar{a})
			}
		}
		for name, of := range binary {
			for _, a := range xs {
				for _, b := range ys {
					checkWithin(rt, name, of, []bounds{x, y}, []scalar{a, b})
				}
			}
		}
		for _, a := range xs {
			checkWithin(rt, "CASE", choice, []bounds{x, y, z}, []scalar{a, ys[0], zs[0]})
		}
	})
}

func functionOf(name string) operation {
	f, _ := functionNamed(name, 2)
	return f.operation(name)
}

func checkWithin(t *rapid.T, name string, of operation, boxes []bounds, values []scalar) {
	exact := make([]bounds, len(values))
	for i, v := range values {
		exact[i] = known(v)
	}
	result := of(boxes)
	if got := of(exact); !got.known || !result.within(got.lo) {
		t.Fatalf("%s of %v is %v, outside of %v for %v", name, values, got.lo, result, boxes)
	}
}

// TestIntegerOverflow holds integer arithmetic to SQLite's rule on
// overflow, at the ends of the range.
func TestIntegerOverflow(t *testing.T) {
	const least, most = math.MinInt64, math.MaxInt64
	for _, c := range []struct {
		operator string
		a, b     int64
		want     scalar
	}{
		{sqlparser.PlusStr, most, 1, realOf(1 << 63)},
		{sqlparser.PlusStr, least, -1, realOf(-1 << 63)},
		{sqlparser.PlusStr, most, least, integerOf(-1)},
		{sqlparser.MinusStr, least, 1, realOf(-1 << 63)},
		{sqlparser.MinusStr, 0, least, realOf(1 << 63)},
		{sqlparser.MinusStr, -1, least, integerOf(most)},
		{sqlparser.MultStr, least, -1, realOf(1 << 63)},
		{sqlparser.MultStr, 1 << 32, 1 << 31, realOf(1 << 63)},
		{sqlparser.MultStr, -1 << 32, 1 << 31, integerOf(least)},
		{sqlparser.DivStr, least, -1, realOf(1 << 63)},
		{sqlparser.DivStr, 7, 0, scalar{}},
		{sqlparser.ModStr, least, -1, integerOf(0)},
		{sqlparser.ModStr, -7, 3, integerOf(-1)},
		{sqlparser.ModStr, 7, 0, scalar{}},
		{sqlparser.ShiftLeftStr, 1, 64, integerOf(0)},
		{sqlparser.ShiftRightStr, -1, 100, integerOf(-1)},
		{sqlparser.ShiftLeftStr, 8, -2, integerOf(2)},
		{sqlparser.ShiftRightStr, 1, least, integerOf(0)},
	} {
		if got := arithmetic(c.operator, integerOf(c.a), integerOf(c.b)); got != c.want {
			t.Errorf("%s: got %v, want %v", fmt.Sprint(c.a, c.operator, c.b), got, c.want)
		}
	}
}

// negative is -x, which SQLite computes as 0 - x.
func negative(args []bounds) bounds {
	return arithmetical(sqlparser.MinusStr)([]bounds{known(integerOf(0)), args[0]})
}
