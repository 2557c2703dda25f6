package query_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
)

// small draws a universe of two to four columns with at most a few hundred
// records; unbounded columns are tried on a handful of values.
func small(t *rapid.T) *query.Universe {
	domains := []query.Domain{
		must(query.NewList(query.TypeText, []query.Value{query.Text("F"), query.Text("M"), query.Null()})),
		must(query.NewRange(-2, 4, true)),
		must(query.NewRange(0, 2, false)),
		must(query.NewList(query.TypeInteger, []query.Value{query.Int(7), query.Int(-1), query.Int(40)})),
		query.Unbounded(),
	}
	n := rapid.IntRange(2, 4).Draw(t, "columns")
	columns := make([]query.Column, n)
	for i := range columns {
		columns[i] = query.Column{Name: fmt.Sprintf("c%d", i), Domain: rapid.SampledFrom(domains).Draw(t, "domain")}
	}
	return must(query.NewUniverse(columns))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// values returns every value of a finite domain, and the values that the tests
// use of an unbounded one.
func values(d query.Domain) []query.Value {
	if !d.Finite() {
		return []query.Value{query.Null(), query.Text(""), query.Text("a"), query.Text("it's"), query.Text("z")}
	}
	var all []query.Value
	for o := uint64(0); o < d.Size(); o++ {
		all = append(all, d.Value(o))
	}
	return all
}

// tuples returns records that tell any two of the tests' queries apart: every
// one of a finite universe, and over unbounded columns also one with a value
// that no query lists.
func tuples(u *query.Universe) [][]query.Value {
	all := [][]query.Value{nil}
	for _, c := range u.Columns() {
		probes := values(c.Domain)
		if !c.Domain.Finite() {
			probes = append(probes, query.Text("listed nowhere"))
		}
		var next [][]query.Value
		for _, prefix := range all {
			for _, v := range probes {
				next = append(next, append(append([]query.Value{}, prefix...), v))
			}
		}
		all = next
	}
	return all
}

// predicate draws a query together with its meaning, computed record by record.
func predicate(t *rapid.T, u *query.Universe, depth int) (query.Query, func([]query.Value) bool) {
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	if depth == 0 || kind == 0 {
		return atom(t, u)
	}
	q, f := predicate(t, u, depth-1)
	if kind == 1 {
		return must(q.Not()), func(x []query.Value) bool { return !f(x) }
	}
	r, g := predicate(t, u, depth-1)
	if kind == 2 {
		return must(q.And(r)), func(x []query.Value) bool { return f(x) && g(x) }
	}
	return must(q.Or(r)), func(x []query.Value) bool { return f(x) || g(x) }
}

func atom(t *rapid.T, u *query.Universe) (query.Query, func([]query.Value) bool) {
	i := rapid.IntRange(0, len(u.Columns())-1).Draw(t, "column")
	d := u.Columns()[i].Domain
	picked := make(map[query.Value]bool)
	var list []query.Value
	for _, v := range values(d) {
		if rapid.Bool().Draw(t, "in") {
			picked[v] = true
			list = append(list, v, v)
		}
	}
	s := d.SetOf(list...)
	return query.Where(u, i, s), func(x []query.Value) bool { return picked[x[i]] }
}

func TestQueryAgainstRecordByRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := small(t)
		q, f := predicate(t, u, 4)
		all := tuples(u)
		coder := query.NewCoder(u, [16]byte{1, 2, 3})
		want := make(map[query.Element]int64)
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
		back, err := query.Parse(u, q.String())
		if err != nil || !back.Equal(q) || back.String() != q.String() {
			t.Fatalf("%q parses as %q, %v", q, back, err)
		}
		if q.Size() == nil {
			return
		}
		got := make(map[query.Element]int64)
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
			y := make([]query.Value, len(columns))
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
		q := query.All(u)
		for range u.Columns() {
			a, _ := atom(t, u)
			q = must(q.And(a))
		}
		got, ok := q.Product()
		if !ok {
			t.Fatalf("the conjunction %v is not a product", q)
		}
		r := query.All(u)
		for i, s := range got {
			r = must(r.And(query.Where(u, i, s)))
		}
		if !r.Equal(q) {
			t.Fatalf("the sets of %v give %v", q, r)
		}
	})
}

func TestWeights(t *testing.T) {
	u := must(query.NewUniverse([]query.Column{{Name: "a", Domain: must(query.NewRange(0, 3, false))}, {Name: "b", Domain: must(query.NewRange(0, 1, false))}}))
	sum := must(query.Weighted(u, 0, []int64{0, 1, 2, 3}))
	q := must(sum.And(query.Where(u, 1, u.Columns()[1].Domain.SetOf(query.Int(1)))))
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
	if back := must(query.Parse(u, q.String())); !back.Equal(q) {
		t.Errorf("%v parses as %v", q, back)
	}
	double := must(q.Plus(q))
	if double.Weight([]query.Value{query.Int(3), query.Int(1)}) != 6 {
		t.Errorf("3 + 3 is %d", double.Weight([]query.Value{query.Int(3), query.Int(1)}))
	}
}

func TestCanonicalText(t *testing.T) {
	u := must(query.NewUniverse([]query.Column{
		{Name: "sex", Domain: must(query.NewList(query.TypeText, []query.Value{query.Text("M"), query.Text("F")}))},
		{Name: "age", Domain: must(query.NewRange(0, 120, true))},
		{Name: "income>50K", Domain: must(query.NewRange(0, 1, false))},
		{Name: "zip", Domain: query.Unbounded()},
	}))
	sex, age, zip := u.Columns()[0].Domain, u.Columns()[1].Domain, u.Columns()[3].Domain
	f := query.Where(u, 0, sex.SetOf(query.Text("F")))
	young := query.Where(u, 1, must(age.Less(query.Int(30), false)))
	rich := query.Where(u, 2, u.Columns()[2].Domain.SetOf(query.Int(1)))
	tests := []struct {
		q    query.Query
		want string
	}{
		{query.All(u), "1"},
		{query.None(u), "0"},
		{must(f.And(young)), "sex{'F': age{0..29: 1}}"},
		{must(young.Not()), "age{NULL, 30..120: 1}"},
		{must(f.Or(rich)), `sex{'F': 1; 'M': "income>50K"{1: 1}}`},
		{query.Where(u, 3, zip.SetOf(query.Text("it's"), query.Null())), "zip{NULL, 'it''s': 1}"},
		{query.Where(u, 3, zip.NotNull()), "zip{NULL: 0; else: 1}"},
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
	bit := must(query.NewRange(0, 1, false))
	u := must(query.NewUniverse([]query.Column{{Name: "a", Domain: bit}, {Name: "b", Domain: bit}, {Name: "c", Domain: bit}}))
	parity := query.None(u)
	for i := range u.Columns() {
		one := query.Where(u, i, bit.SetOf(query.Int(1)))
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
	u := must(query.NewUniverse([]query.Column{{Name: "a", Domain: must(query.NewRange(0, 3, false))}, {Name: "z", Domain: query.Unbounded()}}))
	for _, text := range []string{"", "x{1: 1}", "a{1: 1", "a{9: 1}", "a{1..0: 1}", "a{1: a{2: 1}}", "a{1: @2}",
		"a{1: 1} ", "z{'a: 1}", "a{1: 1; 1: 1}", "z{'a': 1; 'a': 2}", "99999999999999999999"} {
		if q, err := query.Parse(u, text); err == nil {
			t.Errorf("%q parses as %v", text, q)
		}
	}
}

func FuzzParse(f *testing.F) {
	u := must(query.NewUniverse([]query.Column{{Name: "a", Domain: must(query.NewRange(0, 3, true))}, {Name: "b", Domain: must(query.NewRange(0, 3, false))}, {Name: "z", Domain: query.Unbounded()}}))
	for _, seed := range []string{"1", "a{NULL, 2..3: z{'x': 1}}", "a{1: @1=b{1: 1}; 2: 1; 3: @1}", "z{NULL: 0; else: 1}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := query.Parse(u, text)
		if err != nil {
			return
		}
		if back, err := query.Parse(u, q.String()); err != nil || !back.Equal(q) {
			t.Fatalf("%q is read as %q, which does not round trip: %v", text, q, err)
		}
	})
}

// TestShown: what is shown of a query begins as its whole text does, however little is wanted.
func TestShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := small(t)
		q, _ := predicate(t, u, 3)
		whole := q.Shown(math.MaxInt)
		for most := range len(whole) + 2 {
			got := q.Shown(most)
			if want := whole[:min(most, len(whole))]; got[:min(most, len(got))] != want {
				t.Fatalf("%d bytes of %s: %s", most, whole, got)
			}
		}
	})
}

// TestShownSums: a query that adds up a column reads so wherever the column was declared.
func TestShownSums(t *testing.T) {
	columns := []query.Column{{Name: "age", Domain: must(query.NewRange(0, 90, true))}, {Name: "educ", Domain: must(query.NewRange(1, 20, false))},
		{Name: "sex", Domain: must(query.NewList(query.TypeText, []query.Value{query.Text("F"), query.Text("M")}))},
		{Name: "balance", Domain: must(query.NewRange(-5, 5, true))}, {Name: "zip", Domain: query.Unbounded()}}
	for _, c := range []struct{ sum, where, want string }{
		{"age{1..90: 1+1}", "1", "SUM(age)"},
		{"age{1..90: 1+1}", "educ{5..16: 1}", "SUM(age) where educ 5 … 16"},
		{"age{1..90: 1+1}", "age{17..90: 1}", "SUM(age) where age 17 … 90"},
		{"age{1..90: 1+1}", "educ{5..16, 18: sex{'F': zip{'b', 'a': 1}}}", "SUM(age) where educ 5 … 16, 18 and sex 'F' and zip 'a', 'b'"},
		{"age{1..90: 1+1}", "zip{NULL: 0; else: 1}", "SUM(age) where zip{NULL: 0; else: 1}"},
		{"age{1..90: 1+1}", "educ{5..16: 1; 17..20: sex{'F': 1}}", "SUM(age) where educ{5 … 16: 1; 17 … 20: sex{'F': 1}}"},
		{"balance{1..5: 1+1}", "educ{5..16: 1}", "SUM(balance) where balance 1 … 5 and educ 5 … 16"},
		{"balance{-4..5: 1+1}", "educ{5..16: 1}", "SUM(balance + 5) where educ 5 … 16"},
		{"balance{-1..5: 1+1}", "1", "SUM(balance + 2) where balance -1 … 5"},
		{"age{0..90: 1+1}", "1", "age{0 … 90: 1+1}"},
		{"age{0..90: 1+2}", "1", "age{0 … 90: 1+2}"},
		{"1", "educ{5..16: 1}", "educ{5 … 16: 1}"},
	} {
		for _, order := range [][]int{{0, 1, 2, 3, 4}, {1, 2, 4, 0, 3}, {4, 3, 2, 1, 0}} {
			declared := make([]query.Column, len(order))
			for i, k := range order {
				declared[i] = columns[k]
			}
			u := must(query.NewUniverse(declared))
			where := must(query.Parse(must(query.NewUniverse(columns)), c.where))
			q := query.All(u)
			if sets, ok := where.Product(); ok {
				for i, k := range order {
					q = must(q.And(query.Where(u, i, sets[k])))
				}
			} else if order[1] != 1 {
				continue
			} else {
				q = must(query.Parse(u, c.where))
			}
			got := must(must(query.Parse(u, c.sum)).And(q)).Shown(math.MaxInt)
			if sum, where, ok := strings.Cut(got, " where "); ok { // conditions stand in declared order
				parts := strings.Split(where, " and ")
				slices.Sort(parts)
				got = sum + " where " + strings.Join(parts, " and ")
			}
			if got != c.want {
				t.Errorf("%s where %s, declared %v: %s, want %s", c.sum, c.where, order, got, c.want)
			}
		}
	}
}
