package projection

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsql/noise"
	"dpsql/query"
)

// naiveAnswer is Answer by its definition: element by element, with the places
// of explicit arithmetic and a map of all coordinates. It is for sparse releases
// and supports of up to maxTable elements.
func (r *Release) naiveAnswer(q query.Query, confidence float64) Answer {
	e := &evaluation{r: r, near: r.near(confidence)}
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
	for _, s := range shifts[min(len(shifts), forgiven(m, r.p.Rows)):] {
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
// both, few rows and many, with published cells and without.
func TestAnswersAgainstNaive(t *testing.T) {
	src, random := seeded(t)
	codes := universe(t, ints(t, "a", 1<<20), ints(t, "b", 12), ints(t, "c", 1), ints(t, "d", 300), ints(t, "e", 1<<20))
	names := universe(t, query.Column{Name: "k", Domain: query.Unbounded()}, ints(t, "b", 12), ints(t, "c", 1), ints(t, "d", 300), ints(t, "e", 1<<40))
	hashed := universe(t, ints(t, "a", 1<<20), ints(t, "b", 12), ints(t, "c", 1<<50), ints(t, "d", 300), ints(t, "e", 1<<40))
	for _, u := range []*query.Universe{codes, names, hashed} {
		for _, p := range []Params{
			{Transform: Sparse, Rows: 1, Law: laplace(t, 1, 1)},
			{Transform: Sparse, Rows: 5000, Law: laplace(t, 300, 1), Bulk: true},
			clipped(t, 1<<16, 8, laplace(t, 1, 1), 1e-3),
			clipped(t, 1<<20+7, 8, laplace(t, 1, 1), 1e-3),
		} {
			checkAnswers(t, someRelease(t, u, p, version, src, random), 12, random)
		}
	}
	for _, v := range []uint16{first, second} { // whose names are hashed whole, and column by column
		checkAnswers(t, someRelease(t, names, clipped(t, 1<<16, 8, laplace(t, 1, 1), 1e-3), v, src, random), 12, random)
	}
}

func checkAnswers(t *testing.T, r *Release, n int, random *rand.Rand) {
	t.Helper()
	for i := range n {
		q, confidence := someQuery(t, r.u, random), []float64{0.5, 0.95, 0.999}[i%3]
		got, err := r.Answer(context.Background(), q, confidence)
		if want := r.naiveAnswer(q, confidence); err != nil || got.Value != want.Value || math.Abs(got.Margin-want.Margin) > 1e-9*want.Margin {
			t.Fatalf("version %d, %d rows, %d published, m = %v, weights to %d: %v, %v, want %v",
				r.matrix.version, r.p.Rows, r.Published(), q.Size(), q.MaxWeight(), got, err, want)
		}
	}
}

// someRelease is of a few thousand cells of up to 60 rows, half of them about
// the first values of the columns, where someQuery asks.
func someRelease(t *testing.T, u *query.Universe, p Params, v uint16, src *noise.Source, random *rand.Rand) *Release {
	t.Helper()
	b, err := NewBuilder(u, p, src)
	if err != nil {
		t.Fatal(err)
	}
	b.matrix.version, b.matrix.sketch.chained = v, v == first
	b.coder = b.matrix.newCoder(u)
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
	r, err := b.Build(maps.All(cells))
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
		var each []query.Each
		room := uint64(30_000)
		for i, c := range u.Columns() {
			d := c.Domain
			most := min(room, 1+random.Uint64N(500))
			switch kind := random.IntN(4); {
			case !d.Finite():
				each = append(each, query.Each{Column: i, Set: d.Of(query.Text(fmt.Sprint("k", random.IntN(20))), query.Text("other"))})
				room /= 2
			case kind == 0 && d.Size() <= room: // free
				room /= d.Size()
			case kind <= 2:
				values := make([]query.Value, min(most, 30))
				for i := range values {
					values[i] = d.Value(random.Uint64N(min(d.Size(), 40)))
				}
				each = append(each, query.Each{Column: i, Set: d.Of(values...)})
				room /= uint64(len(values))
			default:
				most = min(most, d.Size())
				each = append(each, query.Each{Column: i, Set: atMost(t, d, int64(most-1))})
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
