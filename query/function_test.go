package query_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
	"dpsql/sqlerr"
)

// TestFunctionAgainstRecordByRecord adds, scales and weighs columns' values and
// looks each record up.
func TestFunctionAgainstRecordByRecord(t *testing.T) {
	a := must(query.NewRange(-2, 3, true))
	b := must(query.NewList(query.TypeInteger, []query.Value{query.Int(-5), query.Int(0), query.Int(40), query.Null()}))
	rapid.Check(t, func(t *rapid.T) {
		u := must(query.NewUniverse([]query.Column{{Name: "a", Domain: a}, {Name: "s", Domain: must(query.NewList(query.TypeText, []query.Value{query.Text("x"), query.Null()}))}, {Name: "b", Domain: b}}))
		where, holds := predicate(t, u, 2)
		k := rapid.Int64Range(-3, 3).Draw(t, "k")
		sum := func(x, y int64) (int64, error) { return x + k*y, nil }
		f := must(must(query.ColumnValue(new(query.Work), u, 0)).Combine(new(query.Work), must(query.ColumnValue(new(query.Work), u, 2)), sum))
		value := func(x []query.Value) int64 { return x[0].Int64() + k*x[2].Int64() }
		lo, hi, unit, any := int64(math.MaxInt64), int64(math.MinInt64), int64(0), false
		for _, x := range tuples(u) {
			if holds(x) {
				lo, hi, any = min(lo, value(x)), max(hi, value(x)), true
				unit = new(big.Int).GCD(nil, nil, big.NewInt(unit), big.NewInt(max(value(x), -value(x)))).Int64()
			}
		}
		got, ok, err := f.Extent(new(query.Work), where)
		if want := (query.Extent{lo, hi, unit}); err != nil || ok != any || any && got != want {
			t.Fatalf("the extent is %v %v %v, want %v %v", got, ok, err, want, any)
		}
		q := must(f.Weigh(new(query.Work), where, func(v int64) int64 { return 2 * (v - lo) }))
		for _, x := range tuples(u) {
			want := int64(0)
			if holds(x) {
				want = 2 * (value(x) - lo)
			}
			if got := q.Weight(x); got != want {
				t.Fatalf("the weight of %v is %d, want %d", x, got, want)
			}
		}
	})
}

func TestFunctionLimits(t *testing.T) {
	wide := must(query.NewRange(0, 1<<20, false))
	u := must(query.NewUniverse([]query.Column{{Name: "wide", Domain: wide}, {Name: "s", Domain: query.Unbounded()}}))
	if _, err := query.ColumnValue(new(query.Work), u, 0); sqlerr.CodeOf(err) != sqlerr.Unsupported {
		t.Errorf("a domain of 2^20 + 1 values: %v", err)
	}
	if _, err := query.ColumnValue(new(query.Work), u, 1); sqlerr.CodeOf(err) != sqlerr.Internal {
		t.Errorf("a column of texts: %v", err)
	}
	if _, err := query.Constant(u, -1).Weigh(new(query.Work), query.All(u), func(v int64) int64 { return v }); sqlerr.CodeOf(err) != sqlerr.Internal {
		t.Errorf("a negative weight: %v", err)
	}
}

// TestValues holds Values to a search through all records.
func TestValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := small(t)
		q, holds := predicate(t, u, 3)
		for column, c := range u.Columns() {
			found := q.Values(column)
			want := make(map[query.Value]bool)
			for _, x := range tuples(u) {
				if holds(x) {
					want[x[column]] = true
				}
			}
			if want[query.Text("listed nowhere")] != func() bool { _, finite := found.Size(); return !finite }() {
				t.Fatalf("column %d of %v: %v", column, q, found)
			}
			for _, v := range values(c.Domain) {
				if got := !c.Domain.SetOf(v).Intersect(found).IsEmpty(); got != want[v] {
					t.Fatalf("column %d of %v has value %v: %v, want %v", column, q, v, got, want[v])
				}
			}
		}
	})
}

func TestEach(t *testing.T) {
	d := must(query.NewRange(1, 9, true))
	got := slices.Collect(d.SetOf(query.Int(3), query.Null(), query.Int(4), query.Int(9)).Each())
	if want := []query.Value{query.Null(), query.Int(3), query.Int(4), query.Int(9)}; !slices.Equal(got, want) {
		t.Errorf("the values are %v, want %v", got, want)
	}
	if got := slices.Collect(query.Unbounded().SetOf(query.Text("b"), query.Text("a")).Each()); !slices.Equal(got, []query.Value{query.Text("a"), query.Text("b")}) {
		t.Errorf("the values are %v", got)
	}
}

// TestLevels divides by a function's value and looks each record up.
func TestLevels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := must(query.NewUniverse([]query.Column{{Name: "a", Domain: must(query.NewRange(-2, 3, true))}, {Name: "s", Domain: query.Unbounded()}, {Name: "b", Domain: must(query.NewRange(0, 2, false))}}))
		where, holds := predicate(t, u, 3)
		pick, picked := predicate(t, u, 2)
		f := must(must(query.ColumnValue(new(query.Work), u, 0)).Combine(new(query.Work), must(query.ColumnValue(new(query.Work), u, 2)), func(x, y int64) (int64, error) { return x * y, nil }))
		f = must(f.Combine(new(query.Work), pick.Indicator(), func(x, y int64) (int64, error) { return x + y, nil }))
		value := func(x []query.Value) int64 {
			if picked(x) {
				return x[0].Int64()*x[2].Int64() + 1
			}
			return x[0].Int64() * x[2].Int64()
		}
		levels, ok, err := f.Levels(new(query.Work), where, 100)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		found := make(map[int64]query.Query)
		for i, l := range levels {
			if i > 0 && l.Value <= levels[i-1].Value || l.Where.Equal(query.None(u)) {
				t.Fatalf("the levels are %v", levels)
			}
			found[l.Value] = l.Where
		}
		for _, x := range tuples(u) {
			for v, q := range found {
				if got, want := q.Weight(x) == 1, holds(x) && value(x) == v; got != want {
					t.Fatalf("%v is in level %d: %v, want %v", x, v, got, want)
				}
			}
			if _, ok := found[value(x)]; holds(x) && !ok {
				t.Fatalf("%v is in no level", x)
			}
		}
		if _, ok, _ := f.Levels(new(query.Work), where, len(levels)-1); ok && len(levels) > 0 {
			t.Fatal("the limit is not kept")
		}
	})
}

// TestSizeInWords holds sizes counted in words to those counted in big numbers,
// beyond 64 bits and in infinite universes too.
func TestSizeInWords(t *testing.T) {
	wide := must(query.NewRange(0, 1<<40, false))
	rapid.Check(t, func(t *rapid.T) {
		u := small(t)
		q, _ := predicate(t, u, 4)
		if rapid.Bool().Draw(t, "wide") {
			q.SetUniverse(must(query.NewUniverse(append(append([]query.Column{}, u.Columns()...), query.Column{Name: "w", Domain: wide}, query.Column{Name: "v", Domain: wide}))))
		}
		want := q.Measure(func(int64) *big.Int { return big.NewInt(1) })
		if got := q.Size(); (got == nil) != (want == nil) || got != nil && got.Cmp(want) != 0 {
			t.Fatalf("%v has size %v, want %v", q, got, want)
		}
		m, ok := q.SizeWithin(math.MaxUint64)
		if fits := want != nil && want.IsUint64(); ok != fits || ok && m != want.Uint64() {
			t.Fatalf("%v has size %d %v, want %v", q, m, ok, want)
		}
	})
}

// TestRamps writes weights that grow by a step in short, and reads them back.
func TestRamps(t *testing.T) {
	u := must(query.NewUniverse([]query.Column{{Name: "a", Domain: must(query.NewRange(0, 9, true))}, {Name: "b", Domain: must(query.NewRange(0, 1, false))}}))
	for _, c := range []struct {
		weights []int64 // of NULL, 0, 1, … 9
		want    string
	}{
		{[]int64{0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, "a{1..9: 1+1}"},
		{[]int64{0, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, "a{0..8: 9-1}"},
		{[]int64{0, 1, 2, 3, 7, 7, 10, 20, 30, 40, 60}, "a{0: 1; 1: 2; 2: 3; 3..4: 7; 5..8: 10+10; 9: 60}"},
		{[]int64{5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0}, "a{NULL: 5; 0..3: 6+1}"},
		{[]int64{0, 6, 7, 8, 0, 1, 2, 3, 4, 6, 8}, "a{0, 8: 6; 1: 7; 2, 9: 8; 4..7: 1+1}"},
	} {
		q := must(query.Weighted(u, 0, c.weights))
		if got := q.String(); got != c.want {
			t.Errorf("%v is %s, want %s", c.weights, got, c.want)
		}
		if back, err := query.Parse(u, c.want); err != nil || !back.Equal(q) {
			t.Errorf("%s parses as %v, %v", c.want, back, err)
		}
	}
	for _, text := range []string{"a{1..3: 1-1+1}", "a{1..9: 1-1}", "a{1, 2: 1+1}", "a{1..9: 1+}", "a{1..9: b{1: 1}+1}", "a{1..9: 9223372036854775807+1}", "1+1"} {
		if _, err := query.Parse(u, text); sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("%s: %v", text, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		q := must(query.Weighted(u, 0, rapid.SliceOfN(rapid.Int64Range(0, 4), 11, 11).Draw(t, "weights")))
		q = must(q.And(query.Where(u, 1, u.Columns()[1].Domain.SetOf(query.Int(rapid.Int64Range(0, 1).Draw(t, "b"))))))
		if back, err := query.Parse(u, q.String()); err != nil || !back.Equal(q) {
			t.Fatalf("%v parses as %v, %v", q, back, err)
		}
	})
}
