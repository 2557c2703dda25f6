package sqlfront

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dpsql/internal/sqlvalue"
)

// samples draws bounds, and values within.
func samples(t *rapid.T) (bounds, []scalar) {
	ends := []int64{math.MinInt64, math.MinInt64 + 1, -1 << 53, -7, -2, -1, 0, 1, 2, 3, 10, 1 << 31, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}
	a, b := rapid.SampledFrom(ends).Draw(t, "end"), rapid.SampledFrom(ends).Draw(t, "end")
	lo, hi := min(a, b), max(a, b)
	x := integersBetween(lo, hi, rapid.Bool().Draw(t, "null"))
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
	case v.isNull():
		return x.null
	}
	return v.compare(x.lo) >= 0 && v.compare(x.hi) <= 0 && (!x.integral || v.isInteger())
}

// TestBounds checks for every operation that the result of values within bounds
// is within the bounds of the result.
func TestBounds(t *testing.T) {
	binary := map[string]operation{"IS": isSame, "AND": conjunction, "OR": disjunction, "max": functionOf("max"), "min": functionOf("min")}
	for _, o := range []sqlvalue.Operator{"+", "-", "*", "/", "%", "&", "|", "<<", ">>"} {
		binary[string(o)] = arithmetical(o)
	}
	for o, r := range relations {
		binary["compare "+o] = comparison(r)
	}
	unary := map[string]operation{
		"-": negative, "~": complement, "NOT": negation, "IS NULL": missing, "IS TRUE": testTrue,
		"abs": functionOf("abs"), "residue": residue(7), "IN": (&members{
			spans:  []span{{integerOf(3), integerOf(5)}, {integerOf(1 << 62), integerOf(1 << 62)}},
			inside: canBeTrue, outside: canBeFalse, null: canBeUnknown}).contains,
		"NOT IN": (&members{
			spans:  []span{{integerOf(3), integerOf(3)}, {textOf("a"), textOf("b")}},
			inside: canBeFalse, outside: canBeTrue, null: canBeFalse}).contains,
		"IN with NULL": (&members{
			spans:  []span{{integerOf(0), integerOf(0)}},
			inside: canBeTrue, outside: canBeUnknown, null: canBeUnknown}).contains,
	}
	rapid.Check(t, func(rt *rapid.T) {
		x, xs := samples(rt)
		y, ys := samples(rt)
		z, zs := samples(rt)
		for name, of := range unary {
			for _, a := range xs {
				if name == "residue" && !x.integral || name == "abs" && a.isInteger() && a.integer() == math.MinInt64 {
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
			checkWithin(rt, "CASE", firstTrue, []bounds{x, y, z}, []scalar{a, ys[0], zs[0]})
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
		exact[i] = exactly(v)
	}
	result := of(boxes)
	if got := of(exact); !got.known || !result.within(got.lo) {
		t.Fatalf("%s of %v is %v, outside of %v for %v", name, values, got.lo, result, boxes)
	}
}

// negative is -x, which SQLite computes as 0 - x.
func negative(args []bounds) bounds {
	return arithmetical(sqlvalue.Minus)([]bounds{exactly(integerOf(0)), args[0]})
}
