package projection

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"testing"

	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
)

// clipped returns parameters of a sketch with heavy cells above a clip, at
// ε = 1/scale and δ.
func clipped(t testing.TB, rows uint64, clip int64, scale law.Law, delta float64) Params {
	t.Helper()
	return Params{Transform: Sparse, Rows: rows, Law: scale, Bulk: true,
		Heavy: Heavy{Form: Clipped, Clip: clip, Threshold: Threshold(scale, 1, delta)}}
}

// naming returns parameters of a sketch with named cells: nine tenths of ε = 1
// for the counts, a tenth for the names.
func naming(t testing.TB, rows uint64, delta float64) Params {
	t.Helper()
	names := laplace(t, 10, 1)
	return Params{Transform: Sparse, Rows: rows, Law: laplace(t, 10, 9), Bulk: true,
		Heavy: Heavy{Form: Named, Threshold: Threshold(names, 1, delta), NameLaw: names}}
}

// The threshold is L + ⌈(L/ε)·ln(L/((1 + e^{−ε/L})δ))⌉, and keeps what it
// promises whatever cells a unit brings about: of each partition of L rows into
// cells, none is published but with probability δ, computed exactly.
func TestThreshold(t *testing.T) {
	for _, epsilon := range []int64{1, 5, 10, 40} { // tenths
		for _, unit := range []int64{1, 2, 3, 7, 20} {
			for _, delta := range []float64{0.01, 1e-6, 1e-9} {
				law := laplace(t, 10*unit, epsilon)
				got := Threshold(law, unit, delta)
				e, l := float64(epsilon)/10, float64(unit)
				want := unit + int64(math.Ceil(l/e*math.Log(l/((1+math.Exp(-e/l))*delta))))
				if got != want {
					t.Errorf("ε = %v, L = %d, δ = %v: threshold %d, want %d", e, unit, delta, got, want)
				}
				eachPartition(unit, unit, 1, func(hidden float64) {
					if 1-hidden > delta {
						t.Errorf("ε = %v, L = %d, δ = %v: something is published with probability %v", e, unit, delta, 1-hidden)
					}
				}, func(excess int64) float64 { return 1 - law.Tail(got-excess) })
			}
		}
	}
}

// eachPartition calls use with the probability that no cell is published, for
// every way to split rows into cells of at most so many.
func eachPartition(rows, most int64, hidden float64, use func(float64), silent func(int64) float64) {
	if rows == 0 {
		use(hidden)
		return
	}
	for cell := min(rows, most); cell >= 1 && rows <= cell*8; cell-- { // at most eight of the largest size: 20 rows stay few ways
		eachPartition(rows-cell, cell, hidden*silent(cell), use, silent)
	}
}

// Answers must equal those of a database without the published cells, plus the
// published cells, element by element, in universes with codes and without.
func TestHeavyAgainstExplicitMatrix(t *testing.T) {
	src, random := seeded(t)
	coded, text := line(t, 300), infinite(t)
	pinned, err := query.Where(text, 0, text.Columns()[0].Domain.SetOf(query.Text("a"), query.Text("b"), query.Null())).
		And(query.Where(text, 1, text.Columns()[1].Domain.NotNull()))
	if err != nil {
		t.Fatal(err)
	}
	weights := make([]int64, 300)
	for i := range weights {
		weights[i] = int64(i % 5)
	}
	weighted, err := query.Weighted(coded, 0, weights)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		u       *query.Universe
		queries []query.Query
	}{
		{coded, []query.Query{query.All(coded), among(coded, 7), among(coded, 0, 3, 4, 5, 90, 299), between(t, coded, 20, 250), weighted}},
		{text, []query.Query{pinned}},
	} {
		for _, p := range []Params{clipped(t, 40, 50, laplace(t, 1, 1), 1e-3), naming(t, 40, 0.01)} {
			b, err := NewBuilder(c.u, p, coin.NewSource())
			if err != nil {
				t.Fatal(err)
			}
			data, columns := someCells(b.Coder(), func(n int64) int64 { return random.Int64N(min(n, 400)) })
			data[0].weight, data[1].weight = 0, 400 // never published, and always but for e^-30
			r, err := b.Build(data.cells(), src)
			if err != nil {
				t.Fatal(err)
			}
			if n := r.Published(); n == 0 || n == len(data) {
				t.Fatalf("%s: %d of %d cells are published", p.Heavy.Form, n, len(data))
			}
			a := r.explicitMatrix(columns)
			for _, q := range c.queries {
				w := vectorOf(r.Coder(), q, columns)
				var apart int64
				for _, h := range r.heavy {
					for j, x := range columns {
						if x == h.x {
							apart += w[j] * (h.noisy + p.Heavy.Clip)
							w[j] = 0
						}
					}
				}
				want := r.naiveEstimate(a, w)
				want.Add(want, new(big.Rat).SetInt64(apart))
				want.Add(want, new(big.Rat).SetFloat64(r.naiveLift(a, w)))
				if got := estimate(t, r, q); !nearest(got, want) {
					t.Errorf("%s: %v: %d, want %v", p.Heavy.Form, q, got, want)
				}
			}
		}
	}
}

// naiveLift is what the lift adds to an answer, by the explicit matrix.
func (r *Release) naiveLift(a [][]int64, q []int64) (sum float64) {
	for i, row := range a {
		for j, w := range q {
			if row[j] != 0 {
				sum += float64(w) * r.lift.at(row[j]*r.sketch.at(uint64(i)))
			}
		}
	}
	return sum
}

// The lift is the posterior mean of the excess, summed term by term over
// equally likely counts near the clip. There is none beyond a twentieth of the
// noise below the clip.
func TestLift(t *testing.T) {
	for _, scale := range [][2]int64{{1, 2}, {1, 1}, {7, 1}} {
		law := laplace(t, scale[0], scale[1])
		h := clipped(t, 1, 500, law, 1e-6).Heavy
		l := h.liftOf(law)
		at := func(k int64) float64 { return law.Tail(k) - law.Tail(k+1) }
		for light := int64(400); light < 560; light++ {
			var seen, lost float64
			for count := int64(0); count < 1000; count++ {
				p := at(light - min(count, 500))
				if count > 500 {
					p *= 1 - law.Tail(h.Threshold-(count-500))
					lost += p * float64(count-500)
				}
				seen += p
			}
			want := lost / seen
			if light < l.from {
				if limit := 0.06 * math.Sqrt(law.Variance()); want > limit {
					t.Errorf("%v: no lift at %d, want %v", law, light, want)
				}
				continue
			}
			if got := l.at(light); math.Abs(got-want) > 0.001*want+1e-4 {
				t.Errorf("%v: lift %v at %d, want %v", law, got, light, want)
			}
		}
		if noLift.at(1<<40) != 0 {
			t.Error("something is lifted without a clip")
		}
	}
}

// TestPublication compares how often a cell is published with the probability that
// its excess and the threshold give. The published value is the draw that was
// compared with the threshold, so it is at or above the threshold. A cell at the clip
// or below gets no draw: it is not published even under a law that would always
// publish it.
func TestPublication(t *testing.T) {
	src, _ := seeded(t)
	u := line(t, 10)
	const clip = 20
	runs := sized(1500, 20_000)
	p := clipped(t, 4, clip, laplace(t, 2, 1), 0.01)
	p.Bulk = false
	for _, excess := range []int64{1, p.Heavy.Threshold - 3, p.Heavy.Threshold, p.Heavy.Threshold + 4} {
		published := 0
		for range runs {
			r := build(t, u, p, src, counts{3: clip + excess, 4: clip, 5: 1}.cells())
			for _, h := range r.heavy {
				if h.x.Lo != 3 || h.noisy < p.Heavy.Threshold {
					t.Fatalf("cell %d is published with %d", h.x.Lo, h.noisy)
				}
				published++
			}
		}
		// Bernstein bounds each of the four by 2·exp(−18) at most: 1.3e-7 in all.
		want := float64(runs) * p.Law.Tail(p.Heavy.Threshold-excess)
		if off := math.Abs(float64(published) - want); off > 6*math.Sqrt(want)+12 {
			t.Errorf("excess %d is published %d times, want %.1f", excess, published, want)
		}
	}
	eager := Params{Transform: Sparse, Rows: 4, Law: always(1 << 30), Heavy: Heavy{Form: Clipped, Clip: clip, Threshold: 1}}
	if r := build(t, u, eager, scripted(t), counts{3: clip + 1, 4: clip, 5: 1, 6: 0}.cells()); r.Published() != 1 {
		t.Errorf("%d cells are published, want the one with an excess", r.Published())
	}
	named := Params{Transform: Sparse, Rows: 4, Law: silent{}, Heavy: Heavy{Form: Named, Threshold: 1, NameLaw: always(1 << 30)}}
	if r := build(t, u, named, scripted(t), counts{3: 1, 4: 0}.cells()); r.Published() != 1 || r.heavy[0].noisy != 1 {
		t.Errorf("published %v, want cell 3 with its second draw", r.heavy)
	}
}

// always is the law of one value.
type always int64

func (a always) value() int64      { return int64(a) }
func (a always) Variance() float64 { return 1 }
func (a always) String() string    { return "always" }
func (a always) Tail(k int64) float64 {
	if k <= int64(a) {
		return 1
	}
	return 1e-300
}

// A cell that comes in parts would lose its excess twice: it is refused.
func TestHeavyCellsComeWhole(t *testing.T) {
	src, _ := seeded(t)
	b, err := NewBuilder(line(t, 10), clipped(t, 4, 5, laplace(t, 1, 1), 1e-6), coin.NewSource())
	if err != nil {
		t.Fatal(err)
	}
	x := query.Element{Lo: 3}
	if _, err := b.Build(named{{x, 500}, {x, 500}}.cells(), src); sqlerr.CodeOf(err) != sqlerr.Internal {
		t.Errorf("a cell in two parts: %v", err)
	}
}

func TestHeavyRefusals(t *testing.T) {
	law := laplace(t, 1, 1)
	for _, h := range []Heavy{
		{Form: "some"}, {Clip: 3}, {Form: Clipped, Threshold: 3}, {Form: Clipped, Clip: 3}, {Form: Clipped, Clip: 3, Threshold: 3, NameLaw: law},
		{Form: Clipped, Clip: maxClip + 1, Threshold: 3}, {Form: Named, Threshold: 3}, {Form: Named, Clip: 1, Threshold: 3, NameLaw: law},
	} {
		if _, err := NewBuilder(line(t, 10), Params{Transform: Sparse, Rows: 4, Law: law, Heavy: h}, coin.NewSource()); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("%+v: %v", h, err)
		}
	}
	if _, err := NewBuilder(line(t, 10), Params{Transform: Identity, Rows: 10, Law: law, Heavy: clipped(t, 1, 1, law, 0.1).Heavy}, coin.NewSource()); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("identity with heavy cells: %v", err)
	}
}

// TestTexts builds releases with texts. The named cells have theirs. The texts of others are
// not even asked for, and clipped cells have none. A cell of 4,000 rows is published but with probability e^-300, one
// of 1 row with probability below 1e-9, and there are 60.
func TestTexts(t *testing.T) {
	src, _ := seeded(t)
	u, err := query.NewUniverse([]query.Column{{Name: "a", Domain: query.Unbounded()}, {Name: "b", Domain: query.Unbounded()}})
	if err != nil {
		t.Fatal(err)
	}
	records := [][2]query.Value{{query.Text("x"), query.Text("p")}, {query.Text("y"), query.Text("p")}, {query.Text("y"), query.Null()}, {query.Null(), query.Text("q")}}
	for i := range 30 {
		records = append(records, [2]query.Value{query.Text("rare " + strconv.Itoa(i)), query.Text("p")})
	}
	for _, p := range []Params{clipped(t, 40, 5, laplace(t, 10, 1), 1e-9), naming(t, 40, 1e-9)} {
		b, err := NewBuilder(u, p, coin.NewSource())
		if err != nil {
			t.Fatal(err)
		}
		var cells named
		of := make(map[query.Element]string)
		for i, record := range records {
			x, _ := b.Coder().Code(record[:])
			of[x] = u.TextsOf(record[:])
			cells = append(cells, struct {
				x      query.Element
				weight int64
			}{x, []int64{4000, 1}[min(i/4, 1)]})
		}
		asked := 0
		b.WithTexts(func(x query.Element) string { asked++; return of[x] })
		r, err := b.Build(cells.cells(), src)
		if err != nil {
			t.Fatal(err)
		}
		data := marshal(t, r)
		back, err := Unmarshal(u, data)
		if err != nil {
			t.Fatal(err)
		}
		if p.Heavy.Form == Clipped {
			if _, ok := r.Texts(0); ok || asked != 0 {
				t.Errorf("clipped cells have texts, and %d are asked for", asked)
			}
			continue
		}
		for _, r := range []*Release{r, back} {
			for column, want := range [][]query.Value{{query.Text("x"), query.Text("y")}, {query.Text("p"), query.Text("q")}} {
				if got, ok := r.Texts(column); !ok || !slices.Equal(got, want) {
					t.Errorf("%s: column %d has %v, %v, want %v", p.Heavy.Form, column, got, ok, want)
				}
			}
		}
		if asked != 4 || bytes.Contains(data, []byte("rare")) {
			t.Errorf("%s: %d texts are asked for, or the release has a rare one", p.Heavy.Form, asked)
		}
		body := bodyOf(t, data)
		at := bytes.Index(body, []byte(sectionTexts)) // what comes before is random, and can have any two bytes
		for _, other := range []string{"\x02z", "\x09x"} {
			texts := bytes.Replace(body[at:], []byte("\x02x"), []byte(other), 1)
			if _, err := Unmarshal(u, seal(slices.Concat(body[:at], texts))); sqlerr.CodeOf(err) != sqlerr.Corrupt {
				t.Errorf("%s: with other texts: %v", p.Heavy.Form, err)
			}
		}
		early := build(t, u, p, src, cells.cells())
		if _, ok := early.Texts(0); ok {
			t.Errorf("%s: it has texts that nobody gave it", p.Heavy.Form)
		}
	}
	for _, r := range stored(t) {
		if texts, ok := r.Texts(0); ok != r.texts || ok && fmt.Sprint(texts) != "['a' 'b']" {
			t.Errorf("%v, %v", texts, ok)
		}
		if _, ok := r.Texts(len(r.Universe().Columns()) - 1); ok {
			t.Error("a column with a domain has texts")
		}
	}
}

// TestNamedKeysAreCovered asks for the sum of the cells that a release published, of which there are
// many near the threshold. A margin at 90 % misses in at most a tenth of n releases, so that more
// than n/10 + √(7n) misses have a probability below e^-14 by Hoeffding's inequality. Clipped cells
// miss far more often, since they are published when their draw is large. That is why they have
// no texts.
func TestNamedKeysAreCovered(t *testing.T) {
	src, _ := seeded(t)
	u, err := query.NewUniverse([]query.Column{{Name: "a", Domain: query.Unbounded()}})
	if err != nil {
		t.Fatal(err)
	}
	const releases, keys = 300, 60
	most := releases/10 + int(math.Sqrt(7*releases))
	for _, p := range []Params{naming(t, 512, 1e-3), clipped(t, 512, 1, laplace(t, 1, 1), 1e-3)} {
		missed, published := 0, 0
		for range releases {
			b, err := NewBuilder(u, p, coin.NewSource())
			if err != nil {
				t.Fatal(err)
			}
			var cells named
			texts, counts := make(map[query.Element]query.Value), make(map[query.Element]int64)
			for i := range keys {
				text := query.Text(strconv.Itoa(i))
				x, _ := b.Coder().Code([]query.Value{text})
				texts[x], counts[x] = text, p.Heavy.Threshold+int64(i%5)-2
				cells = append(cells, weighted{x, counts[x]})
			}
			r, err := b.Build(cells.cells(), src)
			if err != nil {
				t.Fatal(err)
			}
			truth, listed := int64(0), []query.Value{}
			for _, c := range r.heavy {
				truth, listed = truth+counts[c.x], append(listed, texts[c.x])
			}
			published += len(listed)
			a, err := r.Answer(t.Context(), query.Where(u, 0, u.Columns()[0].Domain.SetOf(listed...)), 0.9)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(float64(a.Value-truth)) > a.Margin {
				missed++
			}
		}
		t.Logf("%s: %d of %d margins miss, and %d of %d cells are published", p.Heavy.Form, missed, releases, published, releases*keys)
		if p.Heavy.Form == Named && missed > most {
			t.Errorf("named: %d of %d margins miss, more than %d", missed, releases, most)
		}
		if p.Heavy.Form == Clipped && missed <= most {
			t.Errorf("clipped: %d of %d margins miss: such cells could have texts", missed, releases)
		}
	}
}

// one is the law that is always 1.
type one struct{ silent }

func (one) value() int64 { return 1 }

// TestNoisedFits: a count that its noise takes beyond 64 bits is refused, and none below is.
func TestNoisedFits(t *testing.T) {
	if got, err := noised(math.MaxInt64-1, noise.Of(one{}), scripted(t)); got != math.MaxInt64 || err != nil {
		t.Errorf("the largest count is %d, %v", got, err)
	}
	if got, err := noised(math.MaxInt64, noise.Of(one{}), scripted(t)); err == nil {
		t.Errorf("a count beyond it is %d", got)
	}
}
