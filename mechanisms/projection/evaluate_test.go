package projection

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
)

// named are the cells of any universe, in a fixed order.
type named []weighted

func (n named) cells() iter.Seq2[query.Element, int64] {
	return func(yield func(query.Element, int64) bool) {
		for _, c := range n {
			if !yield(c.x, c.weight) {
				return
			}
		}
	}
}

// explicitMatrix returns √T·A (Dense) or A over the columns, entry by entry.
func (r *Release) explicitMatrix(columns []query.Element) [][]int64 {
	if r.p.Transform == Dense {
		return r.matrix.signs.explicit(r.p.Rows, columns)
	}
	a := make([][]int64, r.p.Rows)
	for i := range a {
		a[i] = make([]int64, len(columns))
	}
	for j, x := range columns {
		row, sign := x.Lo, int64(1)
		if r.p.Transform == Sparse {
			row, sign = naiveColumn(r.matrix.sketch, x)
		}
		a[row][j] = sign
	}
	return a
}

// naiveColumn is countSketch.at in big integers.
func naiveColumn(c *countSketch, x query.Element) (row uint64, sign int64) {
	point := c.point(x)
	at := func(p polynomial) *big.Int {
		v := new(big.Int)
		for i := 3; i >= 0; i-- {
			v.Mul(v, new(big.Int).SetUint64(point)).Add(v, new(big.Int).SetUint64(p[i])).Mod(v, big.NewInt(prime))
		}
		return v
	}
	sign = 1 - 2*int64(at(c.sign).Bit(0))
	b := at(c.bucket)
	b.Mul(b, new(big.Int).SetUint64(c.rows))
	return b.Rsh(b, 61).Uint64(), sign
}

// naiveEstimate is ⟨Aq, u⟩ by the explicit matrix, in rationals.
func (r *Release) naiveEstimate(a [][]int64, q []int64) *big.Rat {
	sum := new(big.Int)
	for i, row := range a {
		projected := new(big.Int)
		for j, w := range q {
			projected.Add(projected, new(big.Int).Mul(big.NewInt(row[j]), big.NewInt(w)))
		}
		sum.Add(sum, projected.Mul(projected, big.NewInt(r.sketch.at(uint64(i)))))
	}
	out := new(big.Rat).SetInt(sum)
	if r.p.Transform == Dense {
		out.Quo(out, new(big.Rat).SetInt(new(big.Int).SetUint64(r.p.Rows)))
	}
	return out
}

// nearest reports whether a is x rounded to the nearest integer.
func nearest(a int64, x *big.Rat) bool {
	d := new(big.Rat).Sub(new(big.Rat).SetInt64(a), x)
	return d.Abs(d).Cmp(big.NewRat(1, 2)) <= 0
}

// Build and Estimate must agree with an explicit matrix, entry by entry.
func TestTwinWithExplicitMatrix(t *testing.T) {
	src, random := seeded(t)
	coded, text := line(t, 150), infinite(t)
	weights := make([]int64, 150)
	for i := range weights {
		weights[i] = int64(i * i % 7)
	}
	weightedQuery, err := query.Weighted(coded, 0, weights)
	if err != nil {
		t.Fatal(err)
	}
	pinned, err := query.Where(text, 0, text.Columns()[0].Domain.SetOf(query.Text("a"), query.Text("b"), query.Null())).
		And(query.Where(text, 1, text.Columns()[1].Domain.NotNull()))
	if err != nil {
		t.Fatal(err)
	}
	codedQueries := []query.Query{among(coded, 3), among(coded, 0, 7, 149), between(t, coded, 20, 90), query.All(coded), weightedQuery}
	for _, c := range []struct {
		name    string
		u       *query.Universe
		p       Params
		queries []query.Query
	}{
		{"identity", coded, Params{Transform: Identity, Rows: 150}, codedQueries},
		{"sparse", coded, Params{Transform: Sparse, Rows: 37}, codedQueries},
		{"dense", coded, Params{Transform: Dense, Rows: 100, Independence: 8}, codedQueries},
		{"sparse, no codes", text, Params{Transform: Sparse, Rows: 11}, []query.Query{pinned}},
		{"dense, no codes", text, Params{Transform: Dense, Rows: 70, Independence: 4}, []query.Query{pinned}},
	} {
		for _, law := range []law.Law{silent{}, laplace(t, 200, 1)} {
			t.Run(c.name+" "+law.String(), func(t *testing.T) {
				c.p.Law = law
				from := src
				if law.Variance() == 0 {
					from = scripted(t)
				}
				b, err := NewBuilder(c.u, c.p, coin.NewSource())
				if err != nil {
					t.Fatal(err)
				}
				data, columns := someCells(b.Coder(), random.Int64N)
				r, err := b.Build(data.cells(), from)
				if err != nil {
					t.Fatal(err)
				}
				a := r.explicitMatrix(columns)
				if law.Variance() == 0 {
					checkSketch(t, r, a, data)
				}
				for _, q := range c.queries {
					w := vectorOf(r.Coder(), q, columns)
					if got, want := estimate(t, r, q), r.naiveEstimate(a, w); !nearest(got, want) {
						t.Errorf("%v: %d, want %v", q, got, want.FloatString(3))
					}
				}
			})
		}
	}
}

// someCells returns counts for about half of the records of a small part of the
// universe, and the names of all of that part.
func someCells(c query.Coder, below func(int64) int64) (data named, columns []query.Element) {
	q := query.All(c.Universe())
	if !c.Universe().Coded() {
		d := c.Universe().Columns()[0].Domain
		q = query.Where(c.Universe(), 0, d.SetOf(query.Text("a"), query.Text("b"), query.Text("c"), query.Null()))
	}
	for x := range c.Elements(q) {
		columns = append(columns, x)
		if below(2) == 0 {
			data = append(data, weighted{x, below(3000)})
		}
	}
	return data, columns
}

func vectorOf(c query.Coder, q query.Query, columns []query.Element) []int64 {
	index := make(map[query.Element]int)
	for j, x := range columns {
		index[x] = j
	}
	out := make([]int64, len(columns))
	for x, w := range c.Elements(q) {
		out[index[x]] = w
	}
	return out
}

// checkSketch compares a sketch without noise with A·D.
func checkSketch(t *testing.T, r *Release, a [][]int64, data named) {
	t.Helper()
	count := make(map[query.Element]int64)
	for _, c := range data {
		count[c.x] = c.weight
	}
	_, columns := someCells(r.Coder(), func(int64) int64 { return 1 })
	for i, row := range a {
		var want int64
		for j, entry := range row {
			want += entry * count[columns[j]]
		}
		if got := r.sketch.at(uint64(i)); got != want {
			t.Fatalf("row %d is %d, want %d", i, got, want)
		}
	}
}

// Estimates must be unbiased over matrix and noise, with the variance
//
//	Σq²·Var ν + Σ_{x<y} (q(x)D(y) + q(y)D(x))²/T      (sparse),
//
// the first term over T for dense and the second missing for identity; it needs
// 4-wise independence of the signs.
func TestUnbiasednessAndVariance(t *testing.T) {
	t.Parallel()
	src, _ := seeded(t)
	u := line(t, 30)
	d := counts{} // of many cells alike: rare large collisions would make tails heavy
	for x := range uint64(20) {
		d[x] = int64(4 + x*5%9)
	}
	q := among(u, 0, 1, 2, 4, 5, 17, 20)
	law := laplace(t, 3, 1)
	var collisions float64
	for x := range uint64(30) {
		for y := range x {
			c := weightOf(q, x)*float64(d[y]) + weightOf(q, y)*float64(d[x])
			collisions += c * c
		}
	}
	const sparseRows, denseRows = 16, 64
	for _, c := range []struct {
		p        Params
		variance float64
	}{
		{Params{Transform: Identity, Rows: 30, Law: law}, 7 * law.Variance()},
		{Params{Transform: Identity, Rows: 30, Law: law, Bulk: true}, 7 * law.Variance()},
		{Params{Transform: Sparse, Rows: sparseRows, Law: law}, 7*law.Variance() + collisions/sparseRows},
		{Params{Transform: Dense, Rows: denseRows, Law: laplace(t, 33, 1), Independence: 4},
			(7*laplace(t, 33, 1).Variance()+collisions)/denseRows + 1.0/12},
	} {
		t.Run(string(c.p.Transform), func(t *testing.T) {
			var s sample
			known := newWidths() // the law is the same in all releases, and first quantiles take milliseconds
			queries := []query.Query{q}
			if c.p.Transform == Identity { // seven other cells have noise of their own
				queries = []query.Query{q, among(u, 3, 6, 7, 8, 9, 10, 11), between(t, u, 21, 27)}
			}
			for range sized(3000, 10_000) / len(queries) {
				r := build(t, u, c.p, src, d.cells())
				r.widths = known
				for _, q := range queries {
					s.add(float64(estimate(t, r, q) - d.answer(q)))
				}
			}
			s.expect(t, 0, c.variance)
		})
	}
}

func weightOf(q query.Query, x uint64) float64 {
	return float64(q.Weight([]query.Value{query.Int(int64(x))}))
}

func TestEstimatesAreNotClipped(t *testing.T) {
	src, _ := seeded(t)
	u := line(t, 200)
	r := build(t, u, Params{Transform: Identity, Rows: 200, Law: laplace(t, 5, 1)}, src, counts{}.cells())
	negative := 0
	for x := range int64(200) {
		if estimate(t, r, among(u, x)) < 0 {
			negative++
		}
	}
	// Each is negative with probability 0.45: none of 200 happens once in 10^51.
	if negative == 0 {
		t.Error("no empty cell has a negative estimate")
	}
}

func TestRefusals(t *testing.T) {
	src, _ := seeded(t)
	u, text := line(t, 50), infinite(t)
	law := laplace(t, 1, 1)
	for _, p := range []Params{
		{Transform: Sparse, Rows: 10},
		{Transform: Sparse, Rows: 0, Law: law},
		{Transform: Sparse, Rows: MaxRows + 1, Law: law},
		{Transform: Identity, Rows: 49, Law: law},
		{Transform: Dense, Rows: 10, Law: law, Independence: 5},
		{Transform: Dense, Rows: 10, Law: law, Independence: 2},
		{Transform: Dense, Rows: 10, Law: law, Independence: MaxIndependence + 2},
		{Transform: "fourier", Rows: 10, Law: law},
	} {
		if _, err := NewBuilder(u, p, coin.NewSource()); err == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
	if _, err := NewBuilder(text, Params{Transform: Identity, Rows: 10, Law: law}, coin.NewSource()); err == nil {
		t.Error("identity is accepted without codes")
	}

	r := build(t, text, Params{Transform: Sparse, Rows: 16, Law: law}, src, named{}.cells())
	ask := func(r *Release, q query.Query) error {
		_, err := r.Answer(context.Background(), q, 0.95)
		return err
	}
	if err := ask(r, query.All(text)); sqlerr.CodeOf(err) != sqlerr.Uncovered {
		t.Errorf("a query of infinite support: %v", err)
	}
	if _, err := r.Predict(query.All(text), 0.95); sqlerr.CodeOf(err) != sqlerr.Uncovered {
		t.Errorf("the margin of a query of infinite support: %v", err)
	}
	vast := line(t, 1<<40)
	if err := ask(build(t, vast, Params{Transform: Sparse, Rows: 16, Law: law}, src, named{}.cells()),
		query.All(vast)); sqlerr.CodeOf(err) != sqlerr.Uncovered {
		t.Errorf("a query of 2^40 records: %v", err)
	}
	if err := ask(r, among(u, 1)); sqlerr.CodeOf(err) != sqlerr.Internal {
		t.Errorf("a query over another universe: %v", err)
	}
	if err := ask(build(t, u, Params{Transform: Sparse, Rows: 16, Law: law}, src, named{}.cells()),
		among(line(t, 50), 1)); err != nil {
		t.Errorf("a query over an equal universe: %v", err)
	}
}

func TestBuilderRefusals(t *testing.T) {
	src, _ := seeded(t)
	u := line(t, 50)
	law := laplace(t, 1, 1)
	huge := int64(1) << 62
	for _, p := range []Params{
		{Transform: Identity, Rows: 50, Law: law},
		{Transform: Sparse, Rows: 1, Law: law},
		{Transform: Dense, Rows: 100, Law: law, Independence: 4},
	} {
		for _, cells := range []named{
			{{query.Element{Lo: 3}, -1}},
			{{query.Element{Lo: 50}, 1}},
			{{query.Element{Hi: 1, Lo: 3}, 1}},
			{{query.Element{Lo: 3}, huge}, {query.Element{Lo: 3}, huge}},
		} {
			b, err := NewBuilder(u, p, coin.NewSource())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Build(cells.cells(), src); sqlerr.CodeOf(err) != sqlerr.Internal {
				t.Errorf("%s: cells %v: %v", p.Transform, cells, err)
			}
			if _, err := b.Build(named{}.cells(), src); err == nil {
				t.Errorf("%s: a builder that failed builds", p.Transform)
			}
		}
	}
}

func TestBuildOnce(t *testing.T) {
	src, _ := seeded(t)
	b, err := NewBuilder(line(t, 5), Params{Transform: Sparse, Rows: 5, Law: laplace(t, 1, 1)}, coin.NewSource())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Build(counts{1: 2}.cells(), src); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Build(counts{}.cells(), src); err == nil {
		t.Error("a second build of the same cells is accepted: two draws of noise for one charge")
	}
}

// naiveAnswer is Answer by its definition: element by element, with the places
// of explicit arithmetic and a map of all coordinates. It is for sparse releases
// and supports of up to maxTable elements.
func (r *Release) naiveAnswer(q query.Query, confidence float64) Answer {
	e := &evaluation{r: r, clipMargin: r.clipMargin(confidence)}
	heavy := make(map[query.Element]int64)
	for _, c := range r.heavy {
		heavy[c.x] = c.noisy + r.p.Heavy.Clip
	}
	var value int64
	m := uint64(0)
	rows := make(map[uint64][]int64)
	for x, weight := range r.Coder().Elements(q) {
		m++
		if v, ok := heavy[x]; ok {
			value += weight * v
			e.heavy.add(weight, 1)
			continue
		}
		row, sign := naiveColumn(r.matrix.sketch, x)
		rows[uint64(row)] = append(rows[uint64(row)], weight*sign)
		v := r.sketch.at(uint64(row)) * sign
		value += weight * v
		e.add([]int64{v}, weight)
		e.light.add(weight, 1)
	}
	value += int64(math.Round(e.lift))
	var factors []factor
	var shifts []float64
	for row, weights := range rows {
		var c int64
		var s float64
		for _, w := range weights {
			c += w
			s += float64(w) * float64(w)
		}
		square := float64(c) * float64(c)
		if square >= s {
			factors = append(factors, factor{0, max(c, -c), 1})
		} else {
			for _, w := range weights {
				factors = append(factors, factor{0, max(w, -w), 1})
			}
		}
		if len(weights) > 1 {
			shifts = append(shifts, math.Sqrt(max(s, square))*math.Abs(float64(r.sketch.at(row))))
		}
	}
	for _, t := range e.heavy {
		factors = append(factors, factor{1, t.weight, t.times})
	}
	slices.Sort(shifts)
	margin := 0.0
	for _, s := range shifts[min(len(shifts), toleratedMeetings(m, r.p.Rows)):] {
		margin += s
	}
	margin += r.sumQuantile(grouped(factors), confidence)
	if lost := e.lost + e.escaped(confidence); lost > 0 || e.lift > 0 {
		high := lost * float64(r.p.Heavy.Threshold-1+r.laws[1].quantile(confidence))
		margin += math.Ceil(max(high-e.raise, e.lift))
	}
	return Answer{value, margin}
}

// grouped counts equal factors together.
func grouped(factors []factor) (out []factor) {
	for _, f := range factors {
		i := slices.IndexFunc(out, func(o factor) bool { return o.law == f.law && o.value == f.value })
		if i < 0 {
			i, out = len(out), append(out, factor{f.law, f.value, 0})
		}
		out[i].times += f.times
	}
	return out
}

// TestAnswersAgainstNaive answers random queries of mixed weights, with single
// codes, runs and progressions, over universes whose columns are coded, hashed or
// both, few rows and many, with published cells and without. By default it takes one
// universe, at random, for most of them.
func TestAnswersAgainstNaive(t *testing.T) {
	t.Parallel()
	src, random := seeded(t)
	codes := universe(t, ints(t, "a", 1<<20), ints(t, "b", 12), ints(t, "c", 1), ints(t, "d", 300), ints(t, "e", 1<<20))
	names := universe(t, query.Column{Name: "k", Domain: query.Unbounded()}, ints(t, "b", 12), ints(t, "c", 1), ints(t, "d", 300), ints(t, "e", 1<<40))
	hashed := universe(t, ints(t, "a", 1<<20), ints(t, "b", 12), ints(t, "c", 1<<50), ints(t, "d", 300), ints(t, "e", 1<<40))
	universes := []*query.Universe{codes, names, hashed}
	if !*long {
		universes = universes[random.IntN(3):][:1]
	}
	for _, u := range universes {
		for _, p := range []Params{
			{Transform: Sparse, Rows: 1, Law: laplace(t, 1, 1)},
			{Transform: Sparse, Rows: 5000, Law: laplace(t, 300, 1), Bulk: true},
			clipped(t, 1<<16, 8, laplace(t, 1, 1), 1e-3),
			clipped(t, 1<<20+7, 8, laplace(t, 1, 1), 1e-3),
		} {
			checkAnswers(t, someRelease(t, u, p, src, random), sized(3, 12), random)
		}
	}
}

func checkAnswers(t *testing.T, r *Release, n int, random *rand.Rand) {
	t.Helper()
	for i := range n {
		q, confidence := someQuery(t, r.u, random), []float64{0.5, 0.95, 0.999}[i%3]
		got, err := r.Answer(context.Background(), q, confidence)
		if want := r.naiveAnswer(q, confidence); err != nil || got.Value != want.Value || math.Abs(got.Margin-want.Margin) > 1e-9*want.Margin {
			t.Fatalf("%d rows, %d published, m = %v, weights to %d: %v, %v, want %v",
				r.p.Rows, r.Published(), q.Size(), q.MaxWeight(), got, err, want)
		}
	}
}

// someRelease is of a few thousand cells of up to 60 rows, half of them about
// the first values of the columns, where someQuery asks.
func someRelease(t *testing.T, u *query.Universe, p Params, src *noise.Source, random *rand.Rand) *Release {
	t.Helper()
	b, err := NewBuilder(u, p, coin.NewSource())
	if err != nil {
		t.Fatal(err)
	}
	cells := make(map[query.Element]int64)
	for i := range 3000 {
		tuple := make([]query.Value, len(u.Columns()))
		for j, c := range u.Columns() {
			switch {
			case !c.Domain.Finite():
				tuple[j] = query.Text(fmt.Sprint("k", random.IntN(20)))
			case i%2 == 0:
				tuple[j] = c.Domain.Value(random.Uint64N(min(c.Domain.Size(), 30)))
			default:
				tuple[j] = c.Domain.Value(random.Uint64N(c.Domain.Size()))
			}
		}
		x, _ := b.Coder().Code(tuple)
		cells[x] = 1 + random.Int64N(60)
	}
	r, err := b.Build(maps.All(cells), src)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// someQuery adds up to three conjunctions of sets, each up to three times; each
// is of up to about 30,000 elements.
func someQuery(t *testing.T, u *query.Universe, random *rand.Rand) query.Query {
	t.Helper()
	sum := query.None(u)
	for range 1 + random.IntN(3) {
		var each []query.ColumnSet
		room := uint64(30_000)
		for i, c := range u.Columns() {
			d := c.Domain
			most := min(room, 1+random.Uint64N(500))
			switch kind := random.IntN(4); {
			case !d.Finite():
				each = append(each, query.ColumnSet{Column: i, Set: d.SetOf(query.Text(fmt.Sprint("k", random.IntN(20))), query.Text("other"))})
				room /= 2
			case kind == 0 && d.Size() <= room: // free
				room /= d.Size()
			case kind <= 2:
				values := make([]query.Value, min(most, 30))
				for i := range values {
					values[i] = d.Value(random.Uint64N(min(d.Size(), 40)))
				}
				each = append(each, query.ColumnSet{Column: i, Set: d.SetOf(values...)})
				room /= uint64(len(values))
			default:
				most = min(most, d.Size())
				each = append(each, query.ColumnSet{Column: i, Set: atMost(t, d, int64(most-1))})
				room /= most
			}
			room = max(room, 1)
		}
		for range 1 + random.IntN(3) {
			var err error
			if sum, err = sum.Plus(query.Conjunction(u, each)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return sum
}

// TestSortTerms compares the sort by digits with a stable one.
func TestSortTerms(t *testing.T) {
	_, random := seeded(t)
	var spare []term
	for _, n := range []int{0, 1, 2, 511, 512, 5000} {
		for _, rows := range []uint64{1, 100, 1 << 23, MaxRows} {
			terms := make([]term, n)
			for i := range terms {
				terms[i] = term{random.Uint64N(rows), int64(i)}
			}
			want := slices.Clone(terms)
			slices.SortStableFunc(want, func(a, b term) int {
				if a.row < b.row {
					return -1
				}
				return min(1, int(a.row-b.row))
			})
			spare = sortTerms(terms, spare)
			if !slices.Equal(terms, want) {
				t.Errorf("%d terms of %d rows are not in order", n, rows)
			}
		}
	}
}

// TestMeetingsAgainstMap compares the elements found with a map of all, whatever
// the rows and the slots.
func TestMeetingsAgainstMap(t *testing.T) {
	_, random := seeded(t)
	for _, c := range []struct{ m, rows uint64 }{{1, 1}, {40, 1 << 30}, {40, 50}, {1000, 1 << 16}, {30_000, 1 << 23}, {30_000, 1 << 31}, {30_000, 1000}} {
		var table meetings
		table.expect(c.m, c.rows, random.Uint64()|1)
		want := make(map[uint64]int)
		for i := range c.m {
			p := signedRow(random.Uint64N(c.rows) | random.Uint64()&(1<<63))
			want[p.row()]++
			table.places = append(table.places, p)
			table.weigh(1+int64(i/100%3), 1)
			if random.IntN(100) == 0 {
				table.look()
			}
		}
		table.look()
		table.search()
		for row, n := range want {
			if n == 1 {
				delete(want, row)
			}
		}
		table.eachBucket(func(bucket []term, _ int64, _ float64) {
			if want[bucket[0].row] != len(bucket) {
				t.Fatalf("m = %d of %d: %d elements meet in %d, want %d", c.m, c.rows, len(bucket), bucket[0].row, want[bucket[0].row])
			}
			delete(want, bucket[0].row)
		})
		if len(want) > 0 {
			t.Errorf("m = %d of %d: %d meetings are not found", c.m, c.rows, len(want))
		}
	}
}

// TestPlacesOfProgressions compares walks with single evaluations, of as many
// points as make thousands of places undecided where there are many rows.
func TestPlacesOfProgressions(t *testing.T) {
	_, random := seeded(t)
	for _, rows := range []uint64{1, 3, 1 << 10, 1 << 23, 1<<23 + 12345, MaxRows} {
		c, err := drawCountSketch(rows, true, coin.NewSource())
		if err != nil {
			t.Fatal(err)
		}
		c.half = c.sign.halved()
		for _, stride := range []uint64{1, 2, 1200, 1 << 33, random.Uint64N(1 << 40)} {
			for _, n := range []int{0, 1, 2, shortWalk - 1, shortWalk, 100, maxWalk, maxWalk + 1, 10_000} {
				for _, start := range []uint64{prime - 1 - 10_000*stride, prime - 1} { // the latter runs over the modulus
					got := make([]signedRow, n)
					s := powersOf(stride)
					after := c.places(got, start, &s)
					x := start
					for i, p := range got {
						if want := c.atPoint(x); p != want {
							t.Fatalf("%d rows, place %d of %d at distance %d: %x, want %x", rows, i, n, stride, p, want)
						}
						x = addMod(x, stride)
					}
					if after != x {
						t.Fatalf("%d points at distance %d end at %d, not %d", n, stride, after, x)
					}
				}
			}
		}
	}
}

// TestWalkStops checks that a walk ends before a place that it cannot tell.
func TestWalkStops(t *testing.T) {
	c := &countSketch{rows: 1 << 10}
	for _, k := range []struct {
		bucket, sign walk
		steps        int
	}{
		{walk{1 << 60}, walk{1 << 60}, 9},
		{walk{1<<60 - slack}, walk{1 << 60}, 0},
		{walk{1<<60 - slack - 1}, walk{1 << 60}, 9},
		{walk{1 << 60, 1<<53 - slack/2}, walk{1 << 60}, 2},
		{walk{1 << 60}, walk{1<<63 - slack}, 0},
		{walk{1 << 60}, walk{1<<63 - slack - 1}, 9},
		{walk{1 << 60}, walk{1 << 63}, 9},
		{walk{1 << 60}, walk{-slack & (1<<64 - 1)}, 0},
		{walk{1 << 60}, walk{0, 0, 1<<63 - slack}, 2},
	} {
		if n := c.steps(make([]signedRow, 9), &k.bucket, &k.sign); n != k.steps {
			t.Errorf("%v, %v: %d steps, want %d", k.bucket, k.sign, n, k.steps)
		}
	}
}

// TestAnswerIsCancelled: an answer whose context is done by then is an error, and no part of a sum. So is what is multiplied
// for a dense release.
func TestAnswerIsCancelled(t *testing.T) {
	const n = 3 * checkInterval
	src := scripted(t)
	for _, c := range []struct {
		p Params
		u *query.Universe
	}{
		{Params{Transform: Identity, Rows: n, Law: silent{}}, line(t, n)},
		{Params{Transform: Sparse, Rows: 64, Law: silent{}}, line(t, n)},
		{Params{Transform: Sparse, Rows: 64, Law: silent{}}, universe(t, ints(t, "x", n/3), ints(t, "y", 3))},
		{Params{Transform: Dense, Rows: 64, Law: silent{}, Independence: 4}, line(t, n)},
	} {
		r := build(t, c.u, c.p, src, counts{1: 5}.cells())
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := r.Answer(ctx, query.All(c.u), 0.9); err != nil {
			t.Errorf("%v over %d columns: %v", c.p.Transform, len(c.u.Columns()), err)
		}
		cancel()
		if a, err := r.Answer(ctx, query.All(c.u), 0.9); sqlerr.CodeOf(err) != sqlerr.Cancelled {
			t.Errorf("%v over %d columns: %v, %v, want the code cancelled", c.p.Transform, len(c.u.Columns()), a, err)
		}
		b, err := NewBuilder(c.u, c.p, coin.NewSource())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Multiply(ctx, counts{1: 5}.cells()); errors.Is(err, context.Canceled) != (c.p.Transform == Dense) {
			t.Errorf("%v: a product is %v", c.p.Transform, err)
		}
	}
}
