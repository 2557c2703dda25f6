package marginals

import (
	"bytes"
	"fmt"
	"iter"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsql/noise"
	"dpsql/query"
	"dpsql/sqlerr"
)

// texts are the values of text columns in these tests. Some of them are published.
var texts = []string{"a", "b", "c", "d", "e", "f"}

// keyedUniverses returns the universe of two columns without domain and one with, and the one with published
// keys in their place: b and e of the first, and d of the third.
func keyedUniverses(t testing.TB) (declared, own *query.Universe) {
	t.Helper()
	digits, err := query.NewRange(0, 3, false)
	if err != nil {
		t.Fatal(err)
	}
	declared, err = query.NewUniverse([]query.Column{{Name: "zip", Domain: query.Unbounded()}, {Name: "n", Domain: digits}, {Name: "plan", Domain: query.Unbounded()}})
	if err != nil {
		t.Fatal(err)
	}
	own = declared
	for c, published := range map[int][]string{0: {"b", "e"}, 2: {"d"}} {
		key := [16]byte{byte(c), 9}
		coder := query.NewCoder(declared.Project([]int{c}), key)
		var names []query.Element
		for _, s := range published {
			x, _ := coder.Code([]query.Value{query.Text(s)})
			names = append(names, x)
		}
		slices.SortFunc(names, func(a, b query.Element) int {
			if a.Hi < b.Hi || a.Hi == b.Hi && a.Lo < b.Lo {
				return -1
			}
			return 1
		})
		d, err := query.Published(key, names)
		if err != nil {
			t.Fatal(err)
		}
		own = own.With(c, d)
	}
	return declared, own
}

// named returns the cells of tuples by a coder.
func named(t testing.TB, u *query.Universe, tuples [][]query.Value) iter.Seq2[query.Element, int64] {
	coder := query.NewWideCoder(u)
	return func(yield func(query.Element, int64) bool) {
		for _, tuple := range tuples {
			x, ok := coder.Code(tuple)
			if !ok {
				t.Fatalf("%v has no code", tuple)
			}
			if !yield(x, 1) {
				return
			}
		}
	}
}

// TestKeysAgainstDeclared measures random rows over published keys, and the same rows over the
// declared domains IN ('b', 'e', 'other', NULL) and IN ('d', 'other', NULL). The exact
// marginals are the same counts. With the same noise so are the intervals, and the fitted
// answers but for what is left open by the end of a fit.
func TestKeysAgainstDeclared(t *testing.T) {
	random := seeded(t)
	open, own := keyedUniverses(t)
	list := func(values ...string) query.Domain {
		all := []query.Value{query.Null(), query.Text("other")}
		for _, v := range values {
			all = append(all, query.Text(v))
		}
		d, err := query.NewList(query.TypeText, all)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	declared := open.With(0, list("b", "e")).With(2, list("d"))
	var tuples, mapped [][]query.Value
	for range 500 {
		tuple := []query.Value{randomText(random), query.Int(random.Int64N(4)), randomText(random)}
		twin := slices.Clone(tuple)
		for _, c := range []int{0, 2} {
			if !declared.Columns()[c].Domain.Contains(tuple[c]) {
				twin[c] = query.Text("other")
			}
		}
		tuples, mapped = append(tuples, tuple), append(mapped, twin)
	}
	p := params(t, OfDegree(own, 2), big.NewRat(4, 1))
	m, err1 := Measure(t.Context(), own, p, named(t, own, tuples))
	twin, err2 := Measure(t.Context(), declared, p, named(t, declared, mapped))
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	// at returns the ordinals of a cell of the twin's marginal in the other one.
	at := func(set, digits []int) int {
		cell := 0
		for i, c := range set {
			d := own.Columns()[c].Domain
			o, _ := d.Ordinal(declared.Columns()[c].Domain.Value(uint64(digits[i])))
			cell = cell*int(d.Size()) + int(o)
		}
		return cell
	}
	noisy, noisyTwin := make([][]int64, len(p.Sets)), make([][]int64, len(p.Sets))
	for i, set := range p.Sets {
		own2 := declared.Project(set)
		digits := make([]int, len(set))
		noisy[i], noisyTwin[i] = make([]int64, len(m.cells[i])), make([]int64, len(m.cells[i]))
		for cell, n := range twin.cells[i] {
			own2.Digits(query.Element{Lo: uint64(cell)}, digits)
			other := at(set, digits)
			if m.cells[i][other] != n {
				t.Fatalf("marginal %v, cell %v: %d rows, want %d", set, digits, m.cells[i][other], n)
			}
			draw := random.Int64N(9) - 4
			noisyTwin[i][cell], noisy[i][other] = n+draw, n+draw
		}
	}
	var releases []*Release
	for u, cells := range map[*query.Universe][][]int64{own: noisy, declared: noisyTwin} {
		r, err := newRelease(t.Context(), u, p, cells)
		if err == nil {
			err = r.Fit(t.Context(), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if releases = append(releases, r); u == declared {
			slices.Reverse(releases) // the twin comes first
		}
	}
	compared := 0
	for range 300 {
		q, q2 := query.All(open), query.All(declared)
		for c := range 3 {
			if random.IntN(3) == 0 {
				continue
			}
			v := randomText(random)
			if c == 1 {
				v = query.Int(random.Int64N(4))
			}
			q, _ = q.And(query.Where(open, c, open.Columns()[c].Domain.SetOf(v)))
			q2, _ = q2.And(query.Where(declared, c, declared.Columns()[c].Domain.SetOf(v)))
		}
		q, _, ok := q.Recast(own)
		if !ok {
			continue
		}
		compared++
		a, err1 := releases[1].Answer(t.Context(), q, 0.9)
		b, err2 := releases[0].Answer(t.Context(), q2, 0.9)
		if err1 != nil || err2 != nil || a.Verified != b.Verified || a.Low != b.Low || a.High != b.High || a.Value-b.Value > 1 || b.Value-a.Value > 1 {
			t.Fatalf("%v: %+v, and %+v over declared values: %v, %v", q2, a, b, err1, err2)
		}
	}
	if compared < 50 {
		t.Errorf("only %d queries were compared", compared)
	}
}

func randomText(random *rand.Rand) query.Value {
	if random.IntN(9) == 0 {
		return query.Null()
	}
	return query.Text(texts[min(random.IntN(len(texts)), random.IntN(len(texts)))])
}

// keyedRelease returns a release over published keys.
func keyedRelease(t testing.TB, own *query.Universe) *Release {
	t.Helper()
	tuples := [][]query.Value{{query.Text("b"), query.Int(1), query.Null()}, {query.Text("x"), query.Int(2), query.Text("d")}}
	m, err := Measure(t.Context(), own, params(t, OfDegree(own, 2), big.NewRat(9, 1)), named(t, own, tuples))
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Perturb(noise.NewSource())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFormatOfKeys stores releases over published keys, and reads them over the columns as
// they were declared.
func TestFormatOfKeys(t *testing.T) {
	declared, own := keyedUniverses(t)
	r := keyedRelease(t, own)
	if err := r.Fit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	data, err := r.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Unmarshal(declared, data)
	if err != nil {
		t.Fatal(err)
	}
	ask := query.Where(declared, 0, declared.Columns()[0].Domain.SetOf(query.Text("b")))
	q, _, ok := ask.Recast(again.Universe())
	if !ok {
		t.Fatal("a published key is not there any more")
	}
	want, err1 := r.Answer(t.Context(), q, 0.9)
	if got, err2 := again.Answer(t.Context(), q, 0.9); err1 != nil || err2 != nil || got != want {
		t.Errorf("%+v, %v; before it was stored %+v, %v", got, err2, want, err1)
	}
	if rest, err := again.MarshalBinary(); err != nil || !bytes.Equal(rest, data) {
		t.Errorf("it is stored otherwise the second time: %v", err)
	}
	for i, u := range []*query.Universe{own, universe(t, 4, 4, 3), declared.Project([]int{0, 1})} {
		if _, err := Unmarshal(u, data); sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("over another universe, %d: %v", i, err)
		}
	}
	if IsOnDemand(data) {
		t.Error("it is taken for one on demand")
	}
	if data, err = newOnDemand(r, seed{}).MarshalBinary(); err != nil || !IsOnDemand(data) {
		t.Errorf("on demand: %v", err)
	}
	if _, err := Unmarshal(declared, data); sqlerr.CodeOf(err) != sqlerr.Corrupt {
		t.Errorf("one on demand is read as another: %v", err)
	}
	if o, err := UnmarshalOnDemand(declared, data); err != nil || fmt.Sprint(o.Exact().Universe().Columns()[0].Domain) != fmt.Sprint(own.Columns()[0].Domain) {
		t.Errorf("on demand: %v", err)
	}
}
