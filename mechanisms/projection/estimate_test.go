package projection

import (
	"context"
	"iter"
	"math/big"
	"testing"

	"dpsql/noise"
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
	pinned, err := query.Where(text, 0, text.Columns()[0].Domain.Of(query.Text("a"), query.Text("b"), query.Null())).
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
		for _, law := range []noise.Law{silent{}, laplace(t, 200, 1)} {
			t.Run(c.name+" "+law.String(), func(t *testing.T) {
				c.p.Law = law
				b, err := NewBuilder(c.u, c.p, src)
				if err != nil {
					t.Fatal(err)
				}
				data, columns := someCells(b.Coder(), random.Int64N)
				r, err := b.Build(data.cells())
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
		q = query.Where(c.Universe(), 0, d.Of(query.Text("a"), query.Text("b"), query.Text("c"), query.Null()))
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
	src, _ := seeded(t)
	u := line(t, 30)
	d := counts{0: 40, 3: 9, 4: 25, 10: 3, 17: 60, 29: 12}
	q := among(u, 0, 1, 2, 4, 5, 17, 20)
	law := laplace(t, 3, 1)
	var collisions float64
	for x := range uint64(30) {
		for y := range x {
			c := weightOf(q, x)*float64(d[y]) + weightOf(q, y)*float64(d[x])
			collisions += c * c
		}
	}
	const sparseRows, denseRows = 16, 128
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
			for range 5000 {
				s.add(float64(estimate(t, build(t, u, c.p, src, d.cells()), q)))
			}
			s.expect(t, float64(d.answer(q)), c.variance)
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
		if _, err := NewBuilder(u, p, src); err == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
	if _, err := NewBuilder(text, Params{Transform: Identity, Rows: 10, Law: law}, src); err == nil {
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
			b, err := NewBuilder(u, p, src)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Build(cells.cells()); sqlerr.CodeOf(err) != sqlerr.Internal {
				t.Errorf("%s: cells %v: %v", p.Transform, cells, err)
			}
			if _, err := b.Build(named{}.cells()); err == nil {
				t.Errorf("%s: a builder that failed builds", p.Transform)
			}
		}
	}
}

func TestBuildOnce(t *testing.T) {
	src, _ := seeded(t)
	b, err := NewBuilder(line(t, 5), Params{Transform: Sparse, Rows: 5, Law: laplace(t, 1, 1)}, src)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Build(counts{1: 2}.cells()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Build(counts{}.cells()); err == nil {
		t.Error("a second build of the same cells is accepted: two draws of noise for one charge")
	}
}
