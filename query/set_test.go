package query

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestSetAlgebra(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := small(t)
		d := u.Columns()[0].Domain
		draw := func(label string) (Set, map[Value]bool) {
			in := make(map[Value]bool)
			var list []Value
			for _, v := range values(d) {
				if rapid.Bool().Draw(t, label) {
					in[v] = true
					list = append(list, v)
				}
			}
			return d.SetOf(list...), in
		}
		s, in := draw("s")
		r, also := draw("t")
		check := func(name string, got Set, want func(v Value) bool) {
			q := Where(must(NewUniverse([]Column{{"c", d}})), 0, got)
			for _, v := range values(d) {
				if (q.Weight([]Value{v}) == 1) != want(v) {
					t.Fatalf("%s is wrong at %v", name, v)
				}
			}
		}
		check("union", s.Union(r), func(v Value) bool { return in[v] || also[v] })
		check("intersection", s.Intersect(r), func(v Value) bool { return in[v] && also[v] })
		check("difference", s.Minus(r), func(v Value) bool { return in[v] && !also[v] })
		check("complement", s.Complement(), func(v Value) bool { return !in[v] })
		check("union with a complement", s.Complement().Union(r), func(v Value) bool { return !in[v] || also[v] })
		check("two complements", s.Complement().Intersect(r.Complement()), func(v Value) bool { return !in[v] && !also[v] })
		check("not null", d.NotNull(), func(v Value) bool { return !v.IsNull() })
		if !s.Union(s.Complement()).IsAll() || !s.Intersect(s.Complement()).IsEmpty() {
			t.Fatal("a set and its complement do not part the domain")
		}
		if !d.Finite() {
			return
		}
		bound := rapid.SampledFrom([]Value{Int(-9), Int(0), Int(3), Int(40), Int(99), Text("G"), Text("")}).Draw(t, "bound")
		for _, equal := range []bool{false, true} {
			check("below", must(d.Less(bound, equal)), func(v Value) bool {
				c := v.Compare(bound)
				return !v.IsNull() && (c < 0 || c == 0 && equal)
			})
			check("above", must(d.Greater(bound, equal)), func(v Value) bool {
				c := v.Compare(bound)
				return !v.IsNull() && (c > 0 || c == 0 && equal)
			})
		}
	})
}

func TestDomainsRefused(t *testing.T) {
	_, empty := NewList(TypeText, nil)
	_, twice := NewList(TypeInteger, []Value{Int(1), Int(1)})
	_, mixed := NewList(TypeInteger, []Value{Int(1), Text("a")})
	_, inverted := NewRange(3, 2, false)
	_, huge := NewRange(math.MinInt64, math.MaxInt64, false)
	for name, err := range map[string]error{"empty": empty, "twice": twice, "mixed": mixed, "inverted": inverted, "huge": huge} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestOrdinalsRoundTrip(t *testing.T) {
	for _, d := range []Domain{
		must(NewRange(math.MinInt64, math.MinInt64+5, true)),
		must(NewRange(math.MaxInt64-5, math.MaxInt64, false)),
		must(NewList(TypeText, []Value{Text("b"), Null(), Text("a")})),
	} {
		for o := uint64(0); o < d.Size(); o++ {
			if got, ok := d.Ordinal(d.Value(o)); !ok || got != o {
				t.Errorf("%v: ordinal %d becomes %d, %v", d, o, got, ok)
			}
		}
	}
	if _, ok := must(NewRange(0, 3, false)).Ordinal(Text("1")); ok {
		t.Error("a text lies in an integer range")
	}
}
