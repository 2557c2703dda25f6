package smw

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dpsql/internal/sealed"
	"dpsql/query"
	"dpsql/sqlerr"
)

// someClasses learns classes over the space of 6 × 5 × 4 records from random
// counts.
func someClasses(t testing.TB, r *rand.Rand, s space) *Classes {
	tables := PriorTables(s.u)
	for _, table := range tables {
		for i := range table.Counts {
			table.Counts[i] = r.Int64N(100)
		}
	}
	return learned(t, s.u, tables, big.NewRat(40, 1), 1200, newSource(r), newCoins(r))
}

// naive is the probability of one record: the sum over the classes of the
// products of what each says of each column.
func (c *Classes) naive(u *query.Universe, tuple []query.Value) float64 {
	p, cells := 0.0, 1.0
	for i, w := range c.weights {
		for j, column := range u.Columns() {
			o, _ := column.Domain.Ordinal(tuple[j])
			total := 0.0
			for _, v := range c.laws[i][j] {
				total += float64(v)
			}
			w *= float64(c.laws[i][j][o]) / total
		}
		p += w
	}
	for _, column := range u.Columns() {
		cells *= float64(column.Domain.Size())
	}
	return (1-uniformShare)*p + uniformShare/cells
}

// The mass of a support is the sum over its records, and that of all is 1; after
// the bytes were stored it is the same to the last bit.
func TestClassesAgainstTheirRecords(t *testing.T) {
	r := newRand(t)
	s := codedSpace(t, r, 1)
	c := someClasses(t, r, s)
	again := must(DecodeClasses(s.u, c.Encode()))(t)
	p := testParams(uint64(len(s.pool)), Projection, 1)
	h, stored := NewHypothesis(p, s.u, c), NewHypothesis(p, s.u, again)
	if v := h.Value(query.All(s.u)); math.Abs(v-1) > close9 {
		t.Errorf("all records together have %v", v)
	}
	for range 200 {
		q := s.any()
		want := 0.0
		for _, x := range s.pool {
			if q.Weight(x) > 0 {
				want += c.naive(s.u, x)
			}
		}
		if got := h.Value(q); math.Abs(got-want) > close9 || got != stored.Value(q) {
			t.Fatalf("%v: %v, its records %v, decoded %v", q, got, want, stored.Value(q))
		}
	}
}

// A column too large to be counted is uniform in every class. The noise is of σ = 1
// on counts of 1,000 rows, and 50 of them are the tolerance.
func TestClassesBesideALargeColumn(t *testing.T) {
	r := newRand(t)
	var columns []query.Column
	for i, n := range []int64{3, 2, 1 << 40} {
		columns = append(columns, query.Column{Name: string(rune('a' + i)), Domain: must(query.NewRange(1, n, false))(t)})
	}
	u := must(query.NewUniverse(columns))(t)
	tables := PriorTables(u)
	copy(tables[0].Counts, []int64{600, 0, 0, 300, 100, 0})
	c := learned(t, u, tables, big.NewRat(1, 1), 1000, newSource(r), newCoins(r))
	c = must(DecodeClasses(u, c.Encode()))(t)
	p := testParams(1<<40, Projection, 1)
	p.MaxSupport = 1 << 50
	h := NewHypothesis(p, u, c)
	q := must(query.Where(u, 0, columns[0].Domain.SetOf(query.Int(1))).And(query.Where(u, 1, columns[1].Domain.SetOf(query.Int(1)))))(t)
	if v := h.Value(q); math.Abs(v-0.6) > 0.05 {
		t.Errorf("600 of 1000 rows have %v", v)
	}
	half := must(columns[2].Domain.Less(query.Int(1<<39), true))(t)
	if a, b := h.Value(q), h.Value(must(q.And(query.Where(u, 2, half)))(t)); math.Abs(b-a/2) > close9 {
		t.Errorf("half of a uniform column has %v of %v", b, a)
	}
}

// A hypothesis that starts from classes follows Algorithm 1 as its twin does
// that has the classes' probabilities in its variables.
func TestUpdatesFromClassesFollowTheirTwin(t *testing.T) {
	r := newRand(t)
	for _, rule := range []Update{Paper, Projection} {
		s := codedSpace(t, r, 3)
		c := someClasses(t, r, s)
		followTwin(t, r, rule, s, c, func(tuple []query.Value) float64 { return c.naive(s.u, tuple) })
	}
}

// followTwin updates a hypothesis that starts from a prior, and its twin that starts from the
// probabilities of all records.
func followTwin(t *testing.T, r *rand.Rand, rule Update, s space, prior Prior, chance func(tuple []query.Value) float64) {
	t.Helper()
	p := testParams(uint64(len(s.pool)), rule, s.maxWeight)
	fast, slow := NewHypothesis(p, s.u, prior), newTwin(len(s.pool), p.MaxWeight, s.pool)
	for x, tuple := range s.pool {
		slow.h[x], slow.d[x+1] = x+1, chance(tuple)
	}
	slow.ind = len(s.pool) + 1
	for step := range 100 {
		q, noisy := s.any(), 60+r.Int64N(500)
		top := 0.0
		for _, w := range slow.support(q) {
			top = max(top, w)
		}
		a := float64(noisy) / p.mass()
		if a > 0.9*top || math.Abs(a-slow.value(q)) < close9 {
			continue
		}
		if err := fast.Update(q, noisy); err != nil {
			t.Fatal(err)
		}
		if rule == Paper {
			slow.smw(q, a, p.Eta)
		} else {
			slow.project(q, a)
		}
		compare(t, string(rule), step, fast, slow, s)
	}
}

func TestDecodeClassesRefuses(t *testing.T) {
	r := newRand(t)
	s := codedSpace(t, r, 1)
	whole := someClasses(t, r, s).Encode()
	good := body(t, sealed.Classes, whole)
	if _, err := DecodeClasses(s.u, seal(sealed.Classes, 1, good)); err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeClasses(s.u, seal(sealed.Classes, 2, good)); sqlerr.CodeOf(err) != sqlerr.Unsupported {
		t.Errorf("a later version: %v", err)
	}
	damage(t, whole, func(b []byte) error { return must2(DecodeClasses(s.u, b)) })
	other := must(query.NewUniverse(s.u.Columns()[:2]))(t)
	if _, err := DecodeClasses(other, whole); err == nil {
		t.Error("classes of another universe are accepted")
	}
	for _, change := range []func(b []byte) []byte{
		func([]byte) []byte { return nil },
		func(b []byte) []byte { return b[:len(b)-1] },
		func(b []byte) []byte { return append(b, 0) },
		func(b []byte) []byte { b[0] = 0; return b },
		func(b []byte) []byte { b[0] = 200; return b },
		func(b []byte) []byte { b[8] ^= 0x80; return b },                 // a weight below 0
		func(b []byte) []byte { copy(b[1:], make([]byte, 8)); return b }, // weights that sum to less than 1
		func(b []byte) []byte { b[9] = 0xff; return b },                  // too many values
		func(b []byte) []byte { b[13], b[12] = 0x7f, 0xff; return b },    // a probability that is no number
	} {
		if _, err := DecodeClasses(s.u, seal(sealed.Classes, 1, change(bytes.Clone(good)))); sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("error %v", err)
		}
	}
	for range 2000 { // no damage makes it panic
		bad := bytes.Clone(good)
		bad[r.IntN(len(bad))] ^= byte(1 << r.IntN(8))
		if c, err := DecodeClasses(s.u, seal(sealed.Classes, 1, bad[:r.IntN(len(bad))+1])); err == nil && c == nil {
			t.Fatal("neither classes nor an error")
		}
	}
}

// Each step of the fit makes the pairs' laws likelier, as every step of
// expectation and maximisation does. That is certain; that they learn 0.1 is as good
// as that, as they learned 5.97 to 6.08 in 12 trials.
func TestFitClimbs(t *testing.T) {
	r := newRand(t)
	c := newCorrelated(t, r, 20_000)
	tables := PriorTables(c.u)
	for _, table := range tables {
		copy(table.Counts, c.histogram([]int{table.A, table.B}))
	}
	f := newFit(pairLaws(c.u, tables, 0, 20_000))
	if err := f.scatter(newCoins(r)); err != nil {
		t.Fatal(err)
	}
	before := f.likelihood()
	first := before
	for range 20 {
		f.step()
		now := f.likelihood()
		if now < before-1e-9 {
			t.Fatalf("the likelihood fell from %v to %v", before, now)
		}
		before = now
	}
	t.Logf("log likelihood %v → %v", first, before)
	if before < first+0.1 {
		t.Errorf("the fit learned nothing: %v → %v", first, before)
	}
}

func (f *fit) likelihood() (sum float64) {
	for _, l := range f.laws {
		for _, v := range l.at {
			p := 0.0
			for c, w := range f.weights {
				p += w * f.given[c][l.a][v.a] * f.given[c][l.b][v.b]
			}
			sum += v.p * math.Log(p)
		}
	}
	return sum
}

// Without noise the laws of pairs are those of the counts; with nothing but
// noise, a table says no more than that its columns are independent. One that is
// half noise is half-way.
func TestPairLaws(t *testing.T) {
	r := newRand(t)
	c := newCorrelated(t, r, 50_000)
	tables := PriorTables(c.u)
	for _, table := range tables {
		copy(table.Counts, c.histogram([]int{table.A, table.B}))
	}
	laws, _ := pairLaws(c.u, tables, 0, 50_000)
	for i, l := range laws {
		for k, p := range l.joint {
			if want := float64(tables[i].Counts[k]) / 50_000; math.Abs(p-want) > close9 {
				t.Fatalf("columns %d and %d: %v, want %v", l.a, l.b, p, want)
			}
		}
	}
	laws, singles := pairLaws(c.u, tables, 1e6, 50_000)
	for _, l := range laws {
		for k, p := range l.joint {
			if want := singles[l.a][k/l.sizeB] * singles[l.b][k%l.sizeB]; math.Abs(p-want) > close9 {
				t.Fatalf("columns %d and %d, all noise: %v, want %v", l.a, l.b, p, want)
			}
		}
	}
	two := newDrawn(t, []int{2, 2}, 0).u
	laws, _ = pairLaws(two, []Table{{A: 0, B: 1, Counts: []int64{300, 100, 100, 300}}}, math.Sqrt(5000), 800)
	for k, want := range []float64{0.3125, 0.1875, 0.1875, 0.3125} {
		if p := laws[0].joint[k]; math.Abs(p-want) > close9 {
			t.Errorf("cell %d, half noise: %v, want %v", k, p, want)
		}
	}
}

// The projection is the point of the simplex whose distance to x no small move
// within the simplex lessens.
func TestOntoSimplex(t *testing.T) {
	r := newRand(t)
	for range 200 {
		x := make([]float64, 1+r.IntN(40))
		for i := range x {
			x[i] = r.NormFloat64() * math.Pow(10, float64(r.IntN(4)-2))
		}
		y := append([]float64{}, x...)
		ontoSimplex(y)
		total := 0.0
		for i := range y {
			total += y[i]
			for j := range y {
				// Moving mass from i to j lessens the distance at this rate.
				if rate := (x[j] - y[j]) - (x[i] - y[i]); y[i] > 0 && rate > 1e-9 {
					t.Fatalf("%v is projected to %v: move from %d to %d", x, y, i, j)
				}
			}
			if y[i] < 0 {
				t.Fatalf("%v is negative", y[i])
			}
		}
		if math.Abs(total-1) > 1e-9 {
			t.Fatalf("%v sums to %v", y, total)
		}
	}
}

// Measure adds noise of the given variance to each count, by either sampler. The
// mean square of n draws is off by 7 of its deviations σ²√(2/n) with probability
// below 1e-11.
func TestMeasure(t *testing.T) {
	r := newRand(t)
	for _, n := range []int{worthTable - 1, 20_000} {
		tables := []Table{{0, 1, make([]int64, n)}}
		if _, err := Measure(tables, big.NewRat(900, 1), newSource(r)); err != nil {
			t.Fatal(err)
		}
		sum, squares := 0.0, 0.0
		for _, c := range tables[0].Counts {
			sum += float64(c)
			squares += float64(c) * float64(c)
		}
		mean, square := sum/float64(n), squares/float64(n)
		if math.Abs(mean) > 7*30/math.Sqrt(float64(n)) || math.Abs(square-900) > 7*900*math.Sqrt(2/float64(n)) {
			t.Errorf("%d counts: mean %v, mean square %v of 900", n, mean, square)
		}
	}
	if _, err := Measure([]Table{{0, 1, make([]int64, 1)}}, big.NewRat(0, 1), newSource(r)); err == nil {
		t.Error("no noise is accepted")
	}
}

func TestPriorTables(t *testing.T) {
	integers := func(n int64) query.Domain { return must(query.NewRange(1, n, false))(t) }
	for name, c := range map[string]struct {
		domains []query.Domain
		want    int
	}{
		"one column":   {[]query.Domain{integers(5)}, 0},
		"three":        {[]query.Domain{integers(5), integers(6), integers(7)}, 3},
		"with a text":  {[]query.Domain{integers(5), query.Unbounded()}, 0},
		"a large pair": {[]query.Domain{integers(1001), integers(1000), integers(2)}, 2},
		"many cells":   {[]query.Domain{integers(1000), integers(1000), integers(1000), integers(1000)}, 4}, // of 6 pairs
		"vast":         {[]query.Domain{integers(1 << 40), integers(2)}, 0},
	} {
		var columns []query.Column
		for i, d := range c.domains {
			columns = append(columns, query.Column{Name: string(rune('a' + i)), Domain: d})
		}
		tables := PriorTables(must(query.NewUniverse(columns))(t))
		if len(tables) != c.want {
			t.Errorf("%s: %d tables, want %d", name, len(tables), c.want)
		}
		for _, table := range tables {
			if want := columns[table.A].Domain.Size() * columns[table.B].Domain.Size(); uint64(len(table.Counts)) != want {
				t.Errorf("%s: %d counts of columns %d and %d", name, len(table.Counts), table.A, table.B)
			}
		}
	}
}
