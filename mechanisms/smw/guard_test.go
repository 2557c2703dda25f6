package smw

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsql/internal/sealed"
	"dpsql/query"
)

// flags is a universe of columns of two values, the first of which are flags, and one of
// four values.
func flags(t testing.TB, n int) *query.Universe {
	var columns []query.Column
	for i := range n {
		columns = append(columns, query.Column{Name: fmt.Sprint("f", i), Domain: must(query.NewRange(0, 1, false))(t)})
	}
	columns = append(columns, query.Column{Name: "a", Domain: must(query.NewRange(0, 3, false))(t)})
	return must(query.NewUniverse(columns))(t)
}

// triples are all sets of three columns.
func triples(columns int) (all [][]int) {
	for a := range columns {
		for b := a + 1; b < columns; b++ {
			for c := b + 1; c < columns; c++ {
				all = append(all, []int{a, b, c})
			}
		}
	}
	return all
}

func guardOf(t testing.TB, u *query.Universe, p Params, counts []float64, measured [][]int) *Hypothesis {
	t.Helper()
	state := must(EncodeFitted(u, counts, measured, p.NHat))(t)
	return NewHypothesis(p, u, must(DecodeFitted(u, state))(t))
}

// fixed is the conjunction of some columns' values.
func fixed(u *query.Universe, columns []int, values ...int64) query.Query {
	var sets []query.ColumnSet
	for i, c := range columns {
		sets = append(sets, query.ColumnSet{Column: c, Set: u.Columns()[c].Domain.SetOf(query.Int(values[i]))})
	}
	return query.Conjunction(u, sets)
}

// The parity of four flags is one number beside their marginals by three, so one count of
// one setting teaches a guard all 16, to within a count. Without the marginals the others
// stay where they were.
func TestGuardLearnsParityAtOnce(t *testing.T) {
	u := flags(t, 4)
	p := testParams(64, Projection, 1)
	p.NHat, p.Floor, p.Replay = 16_000, 50, 100
	uniform := slices.Repeat([]float64{250}, 64)
	h := guardOf(t, u, p, uniform, triples(5))
	plain := guardOf(t, u, p, uniform, nil)
	four := []int{0, 1, 2, 3}
	for _, x := range []*Hypothesis{h, plain} {
		if err := x.Update(fixed(u, four, 0, 1, 1, 0), 1800); err != nil {
			t.Fatal(err)
		}
	}
	for x := range int64(16) {
		a, b, c, d := x&1, x>>1&1, x>>2&1, x>>3
		want := int64(1800)
		if a^b^c^d == 1 {
			want = 200
		}
		if got := h.Count(fixed(u, four, a, b, c, d)); max(got-want, want-got) > 1 {
			t.Errorf("parity %d of flags %d%d%d%d: %d, want %d", a^b^c^d, a, b, c, d, got, want)
		}
	}
	if got := plain.Count(fixed(u, four, 1, 1, 1, 1)); got > 1000 {
		t.Errorf("without marginals another setting rose to %d", got)
	}
	if a, b := h.Updates(), plain.Updates(); a != 1 || b != 1 {
		t.Errorf("%d and %d updates", a, b)
	}
}

// naiveGuard is the projection by iterative proportional fitting of all records: the
// answer, and the marginals by the parts of each column that the query tells apart, in
// turns. cell gives a record's cell of a marginal.
func naiveGuard(s space, x []float64, q query.Query, measured [][]int, cell func(tuple []query.Value, set []int) int, a float64) []float64 {
	x = slices.Clone(x)
	type cells struct {
		of   []int
		want [32]float64
	}
	all := []cells{{want: [32]float64{1 - a, a}}}
	for _, tuple := range s.pool {
		all[0].of = append(all[0].of, int(q.Weight(tuple)))
	}
	for _, set := range measured {
		var m cells
		for i, tuple := range s.pool {
			m.of = append(m.of, cell(tuple, set))
			m.want[m.of[i]] += x[i]
		}
		all = append(all, m)
	}
	for range 10_000 {
		for _, m := range all {
			var sum [32]float64
			for i, c := range m.of {
				sum[c] += x[i]
			}
			for i, c := range m.of {
				x[i] *= m.want[c] / sum[c]
			}
		}
	}
	return x
}

// One step agrees with iterative proportional fitting over all records, to 1e-6. Where the
// noisy count cannot be had with the marginals there is nothing to compare.
func TestGuardAgainstItsTwin(t *testing.T) {
	r := newRand(t)
	s := codedSpace(t, r, 1)
	p := testParams(uint64(len(s.pool)), Projection, 1)
	p.NHat, p.Floor, p.Replay = 1_000_000, 1, 1
	measured := [][]int{{0, 1}, {1, 2}}
	for compared := 0; compared < 5; {
		counts := make([]float64, len(s.pool))
		for i := range counts {
			counts[i] = 5 + r.Float64()
		}
		h := guardOf(t, s.u, p, counts, measured)
		h.guard.measured = nil // one step, without the raking that follows it
		q := s.any()
		sets, _ := q.Product()
		chances := func(f *Fitted) []float64 {
			var all []float64
			for _, tuple := range s.pool {
				e, _ := s.coder.Code(tuple)
				all = append(all, float64(f.whole.upTo[e.Lo+1]-f.whole.upTo[e.Lo])/float64(f.whole.upTo[len(s.pool)]))
			}
			return all
		}
		noisy := h.Count(q) * (95 + r.Int64N(11)) / 100
		want := naiveGuard(s, chances(h.guard.from), q, measured, func(tuple []query.Value, set []int) (n int) {
			for _, c := range set {
				n *= 2
				if !sets[c].Intersect(sets[c].Domain().SetOf(tuple[c])).IsEmpty() {
					n++
				}
			}
			return n
		}, float64(noisy)/p.mass())
		reached := 0.0
		for i, tuple := range s.pool {
			reached += want[i] * float64(q.Weight(tuple))
		}
		if math.Abs(reached-float64(noisy)/p.mass()) > 1e-8 || noisy == h.Count(q) {
			continue
		}
		if err := h.Update(q, noisy); err != nil {
			t.Fatal(err)
		}
		h.Value(q)
		for i, got := range chances(h.guard.table) {
			if math.Abs(got-want[i]) > 1e-6 {
				t.Fatalf("%s to %v: record %v has %v, want %v", q, noisy, s.pool[i], got, want[i])
			}
		}
		compared++
	}
}

// A hypothesis is what its history says, to the last bit: whether it was asked between the
// updates makes no difference, and the marginals that were measured stay near.
func TestGuardIsItsHistory(t *testing.T) {
	r := newRand(t)
	u := flags(t, 4)
	p := testParams(64, Projection, 1)
	p.NHat, p.Floor, p.Replay = 16_000, 50, 100
	counts := make([]float64, 64)
	for i := range counts {
		counts[i] = 200 + 100*r.Float64()
	}
	asked, replayed, before := guardOf(t, u, p, counts, triples(5)), guardOf(t, u, p, counts, triples(5)), guardOf(t, u, p, counts, triples(5))
	var steps []Step
	for range 8 {
		q := fixed(u, []int{0, 1, 2, 3}, r.Int64N(2), r.Int64N(2), r.Int64N(2), r.Int64N(2))
		if r.IntN(2) == 0 {
			q = must(q.And(fixed(u, []int{4}, r.Int64N(4))))(t)
		}
		s := Step{q, asked.Count(q) * (8 + r.Int64N(5)) / 10}
		steps = append(steps, s)
		if err := asked.Update(s.Query, s.Noisy); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range steps {
		if err := replayed.Update(s.Query, s.Noisy); err != nil {
			t.Fatal(err)
		}
	}
	for x := range int64(64) {
		q := fixed(u, []int{0, 1, 2, 3, 4}, x&1, x>>1&1, x>>2&1, x>>3&1, x>>4)
		if a, b := asked.Value(q), replayed.Value(q); a != b {
			t.Fatalf("%s: %v, and %v replayed", q, a, b)
		}
		low := fixed(u, []int{0, 2, 4}, x&1, x>>2&1, x>>4)
		if a, b := asked.Count(low), before.Count(low); max(a-b, b-a) > 2*p.Replay {
			t.Errorf("%s was measured, and went from %d to %d", low, b, a)
		}
	}
}

// Broader queries have fewer conditions, fewest first, and none that was measured; each is
// admitted, and there are not too many.
func TestBroader(t *testing.T) {
	u := flags(t, 9)
	p := testParams(2048, Projection, 1)
	counts := slices.Repeat([]float64{1}, 2048)
	h := guardOf(t, u, p, counts, triples(10))
	q := fixed(u, []int{0, 2, 3, 5, 7, 9}, 1, 0, 1, 1, 0, 3)
	all := h.Broader(q)
	if len(all) != 15+6 {
		t.Fatalf("%d broader queries, want those with four and five of six conditions", len(all))
	}
	for i, b := range all {
		want := 4
		if i >= 15 {
			want = 5
		}
		both := must(q.And(b))(t)
		if len(b.Columns()) != want || !both.Equal(q) {
			t.Errorf("%d: %s is not broader than %s by %d conditions", i, b, q, 6-want)
		}
	}
	nine := fixed(u, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	if n := len(h.Broader(nine)); n != mostBroader {
		t.Errorf("nine conditions have %d broader queries, want %d", n, mostBroader)
	}
	p.MaxSupport = 100
	if n := len(guardOf(t, u, p, counts, triples(10)).Broader(q)); n != 16 { // four flags leave 128
		t.Errorf("with max_support = 100 there are %d", n)
	}
	either := must(fixed(u, []int{0, 1, 2, 3}, 0, 0, 0, 0).Or(fixed(u, []int{4, 5, 6, 7}, 1, 1, 1, 1)))(t)
	if n := len(h.Broader(either)) + len(h.Broader(query.All(u))) + len(guardOf(t, u, p, counts, nil).Broader(q)); n != 0 {
		t.Errorf("%d broader queries of what has none", n)
	}
}

// A noisy count that contradicts what was measured is learned all the same, and the query
// of a whole measured marginal, an empty one and one of all records do no harm.
func TestGuardLearnsAgainstTheMarginals(t *testing.T) {
	u := flags(t, 4)
	p := testParams(64, Projection, 1)
	p.NHat, p.Floor, p.Replay = 16_000, 50, 100
	h := guardOf(t, u, p, slices.Repeat([]float64{250}, 64), triples(5))
	q := fixed(u, []int{0, 1}, 1, 1)
	for _, s := range []Step{{q, 9000}, {query.None(u), 500}, {query.All(u), 100}, {fixed(u, []int{0, 1, 2, 3}, 1, 1, 1, 1), 15_000}} {
		if err := h.Update(s.Query, s.Noisy); err != nil {
			t.Fatal(err)
		}
		if v := h.Value(query.All(u)); math.Abs(v-1) > 1e-9 {
			t.Fatalf("after %s all records have %v", s.Query, v)
		}
		if s.Query.Equal(q) && max(h.Count(q)-9000, 9000-h.Count(q)) > p.Replay {
			t.Errorf("%s learned 9000 and says %d", q, h.Count(q))
		}
	}
}

// Conditions that are no products, and weights, are learned as well.
func TestGuardLearnsAnyQuery(t *testing.T) {
	r := newRand(t)
	s := codedSpace(t, r, 3)
	p := testParams(uint64(len(s.pool)), Projection, 3)
	p.NHat, p.Floor, p.Replay = 100_000, 10, 100
	for range 30 {
		h := guardOf(t, s.u, p, someCounts(r, s), [][]int{{0, 1}, {2}})
		q := s.any()
		if r.IntN(2) == 0 {
			if sum := must(q.Plus(s.any()))(t); sum.MaxWeight() <= 3 {
				q = sum
			}
		}
		b := h.Count(q)
		noisy := b + b*(r.Int64N(41)-20)/100
		if err := h.Update(q, noisy); err != nil {
			t.Fatal(err)
		}
		if got := h.Count(q); max(got-noisy, noisy-got) > p.Replay+1 {
			t.Errorf("%s had %d, learned %d and has %d", q, b, noisy, got)
		}
	}
}

// What was measured is stored with the table, and damage is noticed. A table may be without it.
func TestDecodeMeasured(t *testing.T) {
	u := flags(t, 4)
	counts := slices.Repeat([]float64{3}, 64)
	want := [][]int{{0, 1, 4}, {2, 3}}
	good := must(EncodeFitted(u, counts, want, 100))(t)
	if got := must(DecodeFitted(u, good))(t).measured; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("measured %v, stored %v", got, want)
	}
	for _, of := range [][][]int{nil, {}} {
		f := must(DecodeFitted(u, must(EncodeFitted(u, counts, of, 100))(t)))(t)
		if (f.measured == nil) != (of == nil) || len(f.measured) > 0 {
			t.Errorf("measured %v, stored %v", f.measured, of)
		}
	}
	good = body(t, sealed.Fitted, good)
	for at := 7; at < 14; at++ { // the numbers of the sets
		bad := bytes.Clone(good)
		bad[at] += 60
		if _, err := DecodeFitted(u, seal(sealed.Fitted, 1, bad)); err == nil {
			t.Errorf("a change at %d is not noticed", at)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 { // no damage makes it panic
		bad := bytes.Clone(good)
		bad[r.IntN(20)] ^= byte(1 << r.IntN(8))
		if f, err := DecodeFitted(u, seal(sealed.Fitted, 1, bad[:r.IntN(len(bad))+1])); err == nil && f == nil {
			t.Fatal("neither a table nor an error")
		}
	}
}
