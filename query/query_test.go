package query

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// small draws a universe of two to four columns with at most a few hundred
// records; unbounded columns are tried on a handful of values.
func small(t *rapid.T) *Universe {
	domains := []Domain{
		must(NewList(TypeText, []Value{Text("F"), Text("M"), Null()})),
		must(NewRange(-2, 4, true)),
		must(NewRange(0, 2, false)),
		must(NewList(TypeInteger, []Value{Int(7), Int(-1), Int(40)})),
		Unbounded(),
	}
	n := rapid.IntRange(2, 4).Draw(t, "columns")
	columns := make([]Column, n)
	for i := range columns {
		columns[i] = Column{fmt.Sprintf("c%d", i), rapid.SampledFrom(domains).Draw(t, "domain")}
	}
	return must(NewUniverse(columns))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// values returns every value of a finite domain, and the values that the tests
// use of an unbounded one.
func values(d Domain) []Value {
	if !d.Finite() {
		return []Value{Null(), Text(""), Text("a"), Text("it's"), Text("z")}
	}
	var all []Value
	for o := uint64(0); o < d.Size(); o++ {
		all = append(all, d.Value(o))
	}
	return all
}

// tuples returns records that tell any two of the tests' queries apart: every
// one of a finite universe, and over unbounded columns also one with a value
// that no query lists.
func tuples(u *Universe) [][]Value {
	all := [][]Value{nil}
	for _, c := range u.Columns() {
		probes := values(c.Domain)
		if !c.Domain.Finite() {
			probes = append(probes, Text("listed nowhere"))
		}
		var next [][]Value
		for _, prefix := range all {
			for _, v := range probes {
				next = append(next, append(append([]Value{}, prefix...), v))
			}
		}
		all = next
	}
	return all
}

// predicate draws a query together with its meaning, computed record by record.
func predicate(t *rapid.T, u *Universe, depth int) (Query, func([]Value) bool) {
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	if depth == 0 || kind == 0 {
		return atom(t, u)
	}
	q, f := predicate(t, u, depth-1)
	if kind == 1 {
		return must(q.Not()), func(x []Value) bool { return !f(x) }
	}
	r, g := predicate(t, u, depth-1)
	if kind == 2 {
		return must(q.And(r)), func(x []Value) bool { return f(x) && g(x) }
	}
	return must(q.Or(r)), func(x []Value) bool { return f(x) || g(x) }
}

func atom(t *rapid.T, u *Universe) (Query, func([]Value) bool) {
	i := rapid.IntRange(0, len(u.Columns())-1).Draw(t, "column")
	d := u.Columns()[i].Domain
	picked := make(map[Value]bool)
	var list []Value
	for _, v := range values(d) {
		if rapid.Bool().Draw(t, "in") {
			picked[v] = true
			list = append(list, v, v)
		}
	}
	s := d.SetOf(list...)
	return Where(u, i, s), func(x []Value) bool { return picked[x[i]] }
}

func TestQueryAgainstRecordByRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := small(t)
		q, f := predicate(t, u, 4)
		all := tuples(u)
		coder := rapid.SampledFrom([]Coder{NewCoder(u, [16]byte{1, 2, 3}), SummedCoder(u, [16]byte{1, 2, 3}), ChainedCoder(u, [16]byte{1, 2, 3})}).Draw(t, "coder")
		want := make(map[Element]int64)
		for _, x := range all {
			w := int64(0)
			if f(x) {
				w = 1
				e, _ := coder.Code(x)
				want[e] = 1
			}
			if got := q.Weight(x); got != w {
				t.Fatalf("weight of %v is %d, want %d in %v", x, got, w, q)
			}
		}
		back, err := Parse(u, q.String())
		if err != nil || !back.Equal(q) || back.String() != q.String() {
			t.Fatalf("%q parses as %q, %v", q, back, err)
		}
		if q.Size() == nil {
			return
		}
		got := make(map[Element]int64)
		for e, w := range coder.Elements(q) {
			if got[e] != 0 {
				t.Fatalf("element %v is yielded twice", e)
			}
			got[e] = w
		}
		if q.Size().Cmp(big.NewInt(int64(len(want)))) != 0 || len(got) != len(want) {
			t.Fatalf("size %v, enumerated %d, want %d", q.Size(), len(got), len(want))
		}
		for e := range want {
			if got[e] != 1 {
				t.Fatalf("element %v is missing", e)
			}
		}
	})
}

func TestEqualFunctionsAreEqualDiagrams(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := small(t)
		q, f := predicate(t, u, 3)
		r, g := predicate(t, u, 3)
		same := true
		for _, x := range tuples(u) {
			same = same && f(x) == g(x)
		}
		if same != q.Equal(r) || same != (q.String() == r.String()) {
			t.Fatalf("same function %v, equal %v: %v and %v", same, q.Equal(r), q, r)
		}
		twice := must(must(q.Not()).Not())
		if !twice.Equal(q) || twice.Digest() != q.Digest() {
			t.Fatalf("NOT NOT changes %v into %v", q, twice)
		}
	})
}

func TestProjectKeepsTheFunction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := small(t)
		q, _ := predicate(t, u, 3)
		columns := q.Columns()
		if len(columns) == 0 {
			return
		}
		p, ok := q.Project(columns)
		if !ok {
			t.Fatalf("cannot project %v on its own columns %v", q, columns)
		}
		for _, x := range tuples(u) {
			y := make([]Value, len(columns))
			for i, c := range columns {
				y[i] = x[c]
			}
			if p.Weight(y) != q.Weight(x) {
				t.Fatalf("%v and its projection %v differ at %v", q, p, x)
			}
		}
		if _, ok := q.Project(columns[1:]); ok {
			t.Fatalf("%v projects on columns it does not depend on alone", q)
		}
	})
}

func TestProductSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := small(t)
		q := All(u)
		for range u.Columns() {
			a, _ := atom(t, u)
			q = must(q.And(a))
		}
		got, ok := q.Product()
		if !ok {
			t.Fatalf("the conjunction %v is not a product", q)
		}
		r := All(u)
		for i, s := range got {
			r = must(r.And(Where(u, i, s)))
		}
		if !r.Equal(q) {
			t.Fatalf("the sets of %v give %v", q, r)
		}
	})
}

func TestWeights(t *testing.T) {
	u := must(NewUniverse([]Column{{"a", must(NewRange(0, 3, false))}, {"b", must(NewRange(0, 1, false))}}))
	sum := must(Weighted(u, 0, []int64{0, 1, 2, 3}))
	q := must(sum.And(Where(u, 1, u.Columns()[1].Domain.SetOf(Int(1)))))
	for _, x := range tuples(u) {
		if got, want := q.Weight(x), x[0].Int64()*x[1].Int64(); got != want {
			t.Errorf("weight of %v is %d, want %d", x, got, want)
		}
	}
	if q.MaxWeight() != 3 || q.Size().Int64() != 3 || q.SumSquares() != 14 {
		t.Errorf("W = %d, m = %v, Σw² = %v; want 3, 3, 14", q.MaxWeight(), q.Size(), q.SumSquares())
	}
	if got, want := q.String(), "a{1: b{1: 1}; 2: b{1: 2}; 3: b{1: 3}}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if back := must(Parse(u, q.String())); !back.Equal(q) {
		t.Errorf("%v parses as %v", q, back)
	}
	double := must(q.Plus(q))
	if double.Weight([]Value{Int(3), Int(1)}) != 6 {
		t.Errorf("3 + 3 is %d", double.Weight([]Value{Int(3), Int(1)}))
	}
}

func TestCanonicalText(t *testing.T) {
	u := must(NewUniverse([]Column{
		{"sex", must(NewList(TypeText, []Value{Text("M"), Text("F")}))},
		{"age", must(NewRange(0, 120, true))},
		{"income>50K", must(NewRange(0, 1, false))},
		{"zip", Unbounded()},
	}))
	sex, age, zip := u.Columns()[0].Domain, u.Columns()[1].Domain, u.Columns()[3].Domain
	f := Where(u, 0, sex.SetOf(Text("F")))
	young := Where(u, 1, must(age.Less(Int(30), false)))
	rich := Where(u, 2, u.Columns()[2].Domain.SetOf(Int(1)))
	tests := []struct {
		q    Query
		want string
	}{
		{All(u), "1"},
		{None(u), "0"},
		{must(f.And(young)), "sex{'F': age{0..29: 1}}"},
		{must(young.Not()), "age{NULL, 30..120: 1}"},
		{must(f.Or(rich)), `sex{'F': 1; 'M': "income>50K"{1: 1}}`},
		{Where(u, 3, zip.SetOf(Text("it's"), Null())), "zip{NULL, 'it''s': 1}"},
		{Where(u, 3, zip.NotNull()), "zip{NULL: 0; else: 1}"},
	}
	for _, tt := range tests {
		if got := tt.q.String(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

// TestSharedParts writes the parity of three bits, whose diagram has two
// nodes on its second and on its third level.
func TestSharedParts(t *testing.T) {
	bit := must(NewRange(0, 1, false))
	u := must(NewUniverse([]Column{{"a", bit}, {"b", bit}, {"c", bit}}))
	parity := None(u)
	for i := range u.Columns() {
		one := Where(u, i, bit.SetOf(Int(1)))
		parity = must(must(parity.And(must(one.Not()))).Or(must(must(parity.Not()).And(one))))
	}
	want := "a{0: b{0: @1=c{1: 1}; 1: @2=c{0: 1}}; 1: b{0: @2; 1: @1}}"
	if got := parity.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if parity.Size().Int64() != 4 {
		t.Errorf("m = %v, want 4", parity.Size())
	}
}

func TestParseRefusesOtherText(t *testing.T) {
	u := must(NewUniverse([]Column{{"a", must(NewRange(0, 3, false))}, {"z", Unbounded()}}))
	for _, text := range []string{"", "x{1: 1}", "a{1: 1", "a{9: 1}", "a{1..0: 1}", "a{1: a{2: 1}}", "a{1: @2}",
		"a{1: 1} ", "z{'a: 1}", "a{1: 1; 1: 1}", "z{'a': 1; 'a': 2}", "99999999999999999999"} {
		if q, err := Parse(u, text); err == nil {
			t.Errorf("%q parses as %v", text, q)
		}
	}
}

func FuzzParse(f *testing.F) {
	u := must(NewUniverse([]Column{{"a", must(NewRange(0, 3, true))}, {"b", must(NewRange(0, 3, false))}, {"z", Unbounded()}}))
	for _, seed := range []string{"1", "a{NULL, 2..3: z{'x': 1}}", "a{1: @1=b{1: 1}; 2: 1; 3: @1}", "z{NULL: 0; else: 1}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(u, text)
		if err != nil {
			return
		}
		if back, err := Parse(u, q.String()); err != nil || !back.Equal(q) {
			t.Fatalf("%q is read as %q, which does not round trip: %v", text, q, err)
		}
	})
}
