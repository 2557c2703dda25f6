package query_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
)

func TestSetAlgebra(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := small(t)
		d := u.Columns()[0].Domain
		draw := func(label string) (query.Set, map[query.Value]bool) {
			in := make(map[query.Value]bool)
			var list []query.Value
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
		check := func(name string, got query.Set, want func(v query.Value) bool) {
			q := query.Where(must(query.NewUniverse([]query.Column{{Name: "c", Domain: d}})), 0, got)
			for _, v := range values(d) {
				if (q.Weight([]query.Value{v}) == 1) != want(v) {
					t.Fatalf("%s is wrong at %v", name, v)
				}
			}
		}
		check("union", s.Union(r), func(v query.Value) bool { return in[v] || also[v] })
		check("intersection", s.Intersect(r), func(v query.Value) bool { return in[v] && also[v] })
		check("difference", s.Minus(r), func(v query.Value) bool { return in[v] && !also[v] })
		check("complement", s.Complement(), func(v query.Value) bool { return !in[v] })
		check("union with a complement", s.Complement().Union(r), func(v query.Value) bool { return !in[v] || also[v] })
		check("two complements", s.Complement().Intersect(r.Complement()), func(v query.Value) bool { return !in[v] && !also[v] })
		check("not null", d.NotNull(), func(v query.Value) bool { return !v.IsNull() })
		if !s.Union(s.Complement()).IsAll() || !s.Intersect(s.Complement()).IsEmpty() {
			t.Fatal("a set and its complement do not part the domain")
		}
		if !d.Finite() {
			return
		}
		bound := rapid.SampledFrom([]query.Value{query.Int(-9), query.Int(0), query.Int(3), query.Int(40), query.Int(99), query.Text("G"), query.Text("")}).Draw(t, "bound")
		for _, equal := range []bool{false, true} {
			check("below", must(d.Less(bound, equal)), func(v query.Value) bool {
				c := v.Compare(bound)
				return !v.IsNull() && (c < 0 || c == 0 && equal)
			})
			check("above", must(d.Greater(bound, equal)), func(v query.Value) bool {
				c := v.Compare(bound)
				return !v.IsNull() && (c > 0 || c == 0 && equal)
			})
		}
	})
}

func TestDomainsRefused(t *testing.T) {
	_, empty := query.NewList(query.TypeText, nil)
	_, twice := query.NewList(query.TypeInteger, []query.Value{query.Int(1), query.Int(1)})
	_, mixed := query.NewList(query.TypeInteger, []query.Value{query.Int(1), query.Text("a")})
	_, inverted := query.NewRange(3, 2, false)
	_, huge := query.NewRange(math.MinInt64, math.MaxInt64, false)
	for name, err := range map[string]error{"empty": empty, "twice": twice, "mixed": mixed, "inverted": inverted, "huge": huge} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestOrdinalsRoundTrip(t *testing.T) {
	for _, d := range []query.Domain{
		must(query.NewRange(math.MinInt64, math.MinInt64+5, true)),
		must(query.NewRange(math.MaxInt64-5, math.MaxInt64, false)),
		must(query.NewList(query.TypeText, []query.Value{query.Text("b"), query.Null(), query.Text("a")})),
	} {
		for o := uint64(0); o < d.Size(); o++ {
			if got, ok := d.Ordinal(d.Value(o)); !ok || got != o {
				t.Errorf("%v: ordinal %d becomes %d, %v", d, o, got, ok)
			}
		}
	}
	if _, ok := must(query.NewRange(0, 3, false)).Ordinal(query.Text("1")); ok {
		t.Error("a text lies in an integer range")
	}
}
