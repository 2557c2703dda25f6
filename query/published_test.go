package query_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dpsql/internal/seeds"
	"dpsql/query"
	"dpsql/sqlerr"
)

// publishedNames returns the names that a coder of one text column gives to texts, ascending.
func publishedNames(t testing.TB, key [16]byte, texts ...query.Value) []query.Element {
	t.Helper()
	u, err := query.NewUniverse([]query.Column{{Name: "t", Domain: query.Unbounded()}})
	if err != nil {
		t.Fatal(err)
	}
	coder := query.NewCoder(u, key)
	var names []query.Element
	for _, v := range texts {
		x, ok := coder.Code([]query.Value{v})
		if !ok {
			t.Fatalf("%v has no name", v)
		}
		names = append(names, x)
	}
	slices.SortFunc(names, func(a, b query.Element) int {
		if a.Hi < b.Hi || a.Hi == b.Hi && a.Lo < b.Lo {
			return -1
		}
		return 1
	})
	return names
}

// TestPublished looks values up in a domain of published keys.
func TestPublished(t *testing.T) {
	key := [16]byte{7}
	names := publishedNames(t, key, query.Text("a"), query.Text("b"), query.Null(), query.Text(""))
	d, err := query.Published(key, names)
	if err != nil {
		t.Fatal(err)
	}
	if d.Size() != 5 || !d.Finite() || d.IsRange() || !d.HasNull() || d.Type() != query.TypeText {
		t.Errorf("the domain is %v of %d", d, d.Size())
	}
	seen := make(map[uint64]string)
	for _, v := range []query.Value{query.Null(), query.Text("a"), query.Text("b"), query.Text("")} {
		o, ok := d.Ordinal(v)
		if !ok || o >= 4 || v.IsNull() != (o == 0) || seen[o] != "" {
			t.Errorf("%v has the ordinal %d, %v", v, o, ok)
		}
		seen[o] = "taken"
	}
	for _, v := range []query.Value{query.Text("c"), query.Text("A"), query.Text("a ")} {
		if o, ok := d.Ordinal(v); !ok || o != 4 || !d.Contains(v) {
			t.Errorf("%v has the ordinal %d, %v, want that of OTHER", v, o, ok)
		}
	}
	if _, ok := d.Ordinal(query.Int(1)); ok || d.Contains(query.Int(1)) {
		t.Error("an integer lies in the domain")
	}
	if _, err := d.Less(query.Text("a"), false); sqlerr.CodeOf(err) != sqlerr.Unsupported {
		t.Errorf("an order: %v", err)
	}
	back, kept, ok := d.Keys()
	if again, err := query.Published(back, kept); !ok || err != nil || again.Size() != d.Size() || back != key || len(kept) != 3 {
		t.Errorf("the keys make a domain of %d values: %v", again.Size(), err)
	}
	for _, names := range [][]query.Element{nil, publishedNames(t, key, query.Null()), {{Lo: 2}, {Lo: 1}}, {{Lo: 1}, {Lo: 1}}} {
		if _, err := query.Published(key, names); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("%v: %v", names, err)
		}
	}
}

// TestTold has queries told apart by the texts that they name: every record has its weights, and
// the universe is finite.
func TestTold(t *testing.T) {
	text := query.Unbounded()
	u, err := query.NewUniverse([]query.Column{{Name: "a", Domain: text}, {Name: "n", Domain: must(query.NewRange(0, 3, false))}, {Name: "b", Domain: text}})
	if err != nil {
		t.Fatal(err)
	}
	in := func(column int, texts ...string) query.Query {
		var values []query.Value
		for _, v := range texts {
			values = append(values, query.Text(v))
		}
		return query.Where(u, column, text.SetOf(values...))
	}
	not := func(q query.Query) query.Query { return must(q.Not()) }
	queries := []query.Query{in(0, "x", "y"), not(in(0, "x", "z")), must(in(0, "x").And(not(in(2, "p", "q")))), query.Where(u, 0, text.SetOf(query.Null())),
		must(must(not(in(2, "p")).And(query.Where(u, 1, u.Columns()[1].Domain.SetOf(query.Int(2))))).Plus(in(0, "y"))), query.All(u), query.None(u)}
	told, ok := query.Told(queries, [16]byte{3})
	if !ok {
		t.Fatal("they are not told apart")
	}
	if size := told[0].Universe().Size(); size == nil || size.Int64() != 5*4*4 { // x, y, z, NULL, OTHER; p, q, NULL, OTHER
		t.Errorf("a universe of %v", size)
	}
	values := []query.Value{query.Null(), query.Text("x"), query.Text("y"), query.Text("z"), query.Text("p"), query.Text("q"), query.Text("other"), query.Text("")}
	coder := query.NewCoder(told[0].Universe(), [16]byte{})
	for _, a := range values {
		for n := range int64(4) {
			for _, b := range values {
				record := []query.Value{a, query.Int(n), b}
				x, ok := coder.Code(record)
				if !ok {
					t.Fatalf("%v has no code", record)
				}
				for i, q := range queries {
					if got := told[i].WeightOf(x.Lo); got != q.Weight(record) {
						t.Errorf("%v weighs %v as %d, and was %d", told[i], record, got, q.Weight(record))
					}
				}
			}
		}
	}
	for _, queries := range [][]query.Query{{query.All(u)}, {in(0, "x")}, {in(0, "x"), query.Where(u, 2, text.SetOf(query.Null()))}} {
		if _, ok := query.Told(queries, [16]byte{3}); ok {
			t.Errorf("%v: a column of which no text is named is told apart", queries)
		}
	}
}

// TestRecast recasts random queries over columns without domain. Where it succeeds, every
// record has its weight. Where it fails, two values that are OTHER are told apart.
func TestRecast(t *testing.T) {
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 0))
	values := []query.Value{query.Null()}
	for i := range 6 {
		values = append(values, query.Text(fmt.Sprint("v", i)))
	}
	digits, err := query.NewRange(0, 3, true)
	if err != nil {
		t.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{{Name: "a", Domain: query.Unbounded()}, {Name: "n", Domain: digits}, {Name: "b", Domain: query.Unbounded()}})
	if err != nil {
		t.Fatal(err)
	}
	key := [16]byte{1, 2, 3}
	known := func() query.Domain {
		d, err := query.Published(key, publishedNames(t, key, values[1+random.IntN(2)], values[3+random.IntN(3)]))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	literal := func() query.Query {
		c := []int{0, 1, 2, 2, 0}[random.IntN(5)]
		d := u.Columns()[c].Domain
		var some []query.Value
		for range 1 + random.IntN(3) {
			some = append(some, values[random.IntN(len(values))])
		}
		if c == 1 {
			some = []query.Value{query.Int(int64(random.IntN(4)))}
		}
		s := d.SetOf(some...)
		if random.IntN(2) == 0 {
			s = s.Complement()
		}
		return query.Where(u, c, s)
	}
	all := append(slices.Clone(values), query.Text("none")) // and one that no query names
	recast, refused := 0, 0
	for range 200 {
		q := literal()
		for range random.IntN(4) {
			r := literal()
			op := q.And
			if random.IntN(2) == 0 {
				op = q.Or
			}
			if q, err = op(r); err != nil {
				t.Fatal(err)
			}
		}
		to := u.With(0, known()).With(2, known())
		r, column, ok := q.Recast(to)
		told := map[int]bool{} // the columns of which q tells values apart that have one ordinal
		for _, a := range all {
			for _, b := range all {
				for n := range int64(4) {
					tuple := []query.Value{a, query.Int(n), b}
					if ok && r.Weight(tuple) != q.Weight(tuple) {
						t.Fatalf("%v weighs %v %d, and %v weighs it %d", q, tuple, q.Weight(tuple), r, r.Weight(tuple))
					}
					for _, c := range []int{0, 2} {
						own, _ := to.Columns()[c].Domain.Ordinal(tuple[c])
						for _, v := range all {
							other := slices.Clone(tuple)
							other[c] = v
							if o, _ := to.Columns()[c].Domain.Ordinal(v); o == own && q.Weight(other) != q.Weight(tuple) {
								told[c] = true
							}
						}
					}
				}
			}
		}
		if ok != (len(told) == 0) || !ok && !told[column] {
			t.Fatalf("%v: recast %v at column %d, and %v tell values apart", q, ok, column, told)
		}
		if ok {
			recast++
			if _, finite := r.SizeWithin(1 << 20); !finite || !r.Universe().Coded() {
				t.Fatalf("%v has no finite support", r)
			}
		} else {
			refused++
		}
	}
	t.Logf("%d recast, %d refused", recast, refused)
	if recast < 15 || refused < 15 { // six deviations below what is drawn
		t.Errorf("%d recast and %d refused: the cases are too much alike", recast, refused)
	}
}

// TestRest takes queries of infinitely many texts apart: each record has the weight of the first
// part less that of the second, the first part does not depend on the column, and the second one
// has weights for the texts alone that the query names. It refuses a query that weighs a text more
// than the unnamed ones.
func TestRest(t *testing.T) {
	text := query.Unbounded()
	u, err := query.NewUniverse([]query.Column{{Name: "n", Domain: must(query.NewRange(0, 3, false))}, {Name: "a", Domain: text}, {Name: "b", Domain: text}})
	if err != nil {
		t.Fatal(err)
	}
	seed := seeds.Of(t)
	r := rand.New(rand.NewPCG(seed, 0))
	values := []query.Value{query.Null(), query.Text("x"), query.Text("y"), query.Text("z"), query.Text("unnamed"), query.Text("")}
	some := func() (picked []query.Value) {
		for _, v := range values[:4] {
			if r.IntN(2) == 0 {
				picked = append(picked, v)
			}
		}
		return picked
	}
	apart, refused := 0, 0
	for range 200 {
		q := query.All(u)
		for range 1 + r.IntN(4) {
			column := r.IntN(3)
			s := text.SetOf(some()...)
			if column == 0 {
				s = u.Columns()[0].Domain.SetOf(query.Int(r.Int64N(4)), query.Int(r.Int64N(4)))
			}
			if r.IntN(3) > 0 {
				s = s.Complement()
			}
			if p := query.Where(u, column, s); r.IntN(3) == 0 {
				q = must(q.Plus(must(p.Times(r.Int64N(3)))))
			} else {
				q = must(q.And(p))
			}
		}
		if !slices.Contains(q.Columns(), 1) {
			continue
		}
		all, listed, ok := q.Rest(1)
		heavier := false
		for n := range int64(4) {
			for _, a := range values {
				for _, b := range values {
					record, other := []query.Value{query.Int(n), a, b}, []query.Value{query.Int(n), query.Text("unnamed"), b}
					heavier = heavier || q.Weight(record) > q.Weight(other)
					if !ok {
						continue
					}
					if q.Weight(record) != all.Weight(record)-listed.Weight(record) || all.Weight(record) != q.Weight(other) {
						t.Errorf("%v is not %v less %v at %v", q, all, listed, record)
					}
				}
			}
		}
		if ok == heavier || ok && (slices.Contains(all.Columns(), 1) || listed.Weight([]query.Value{query.Int(0), query.Text("unnamed"), query.Null()}) != 0) {
			t.Errorf("%v: %v, %v, %v", q, all, listed, ok)
		}
		if ok {
			apart++
		} else {
			refused++
		}
	}
	t.Logf("%d apart, %d not", apart, refused)
	if apart == 0 || refused == 0 { // with probability below 1e-12: a query is of either kind with more than 0.25
		t.Errorf("%d queries are taken apart, %d are not", apart, refused)
	}
}

// TestTextsOf reads what records have in the columns without a domain, one record behind another.
func TestTextsOf(t *testing.T) {
	u, err := query.NewUniverse([]query.Column{{Name: "a", Domain: query.Unbounded()}, {Name: "n", Domain: must(query.NewRange(0, 3, false))}, {Name: "b", Domain: query.Unbounded()}})
	if err != nil {
		t.Fatal(err)
	}
	texts := []query.Value{query.Null(), query.Text(""), query.Text("x"), query.Text("\x00\x01"), query.Text(strings.Repeat("é", 200)), query.Text("NULL")}
	var all []byte
	seen := make(map[string]bool)
	for _, a := range texts {
		for _, b := range texts {
			one := u.TextsOf([]query.Value{a, query.Int(2), b})
			if seen[one] || one != u.TextsOf([]query.Value{a, query.Int(1), b}) {
				t.Errorf("%q for %v and %v", one, a, b)
			}
			seen[one] = true
			all = append(all, one...)
		}
	}
	for _, a := range texts {
		for _, b := range texts {
			values, rest, ok := u.CutTexts(all)
			if !ok || len(values) != 2 || values[0] != a || values[1] != b {
				t.Fatalf("%v, %v: want %v, %v", values, ok, a, b)
			}
			all = rest
		}
	}
	for _, damaged := range []string{"", "\x00", "\x00\x03x", "\x00\x81\x00", "\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "\x80"} {
		if values, _, ok := u.CutTexts([]byte(damaged)); ok {
			t.Errorf("%q is read as %v", damaged, values)
		}
	}
}
