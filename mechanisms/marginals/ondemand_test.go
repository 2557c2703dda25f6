package marginals

import (
	"bytes"
	"context"
	"encoding/csv"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/query"
	"dpsql/sqlerr"
)

// adultSizes are those of all 14 columns of Adult, which have 6.4·10¹⁷ cells.
var adultSizes = []int{85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2}

// onDemand measures rows and draws the noise.
func onDemand(t testing.TB, u *query.Universe, p Params, rows [][]int) *OnDemand {
	t.Helper()
	sizes := sizesOf(u)
	m, err := Measure(t.Context(), u, p, func(yield func(query.Element, int64) bool) {
		for _, row := range rows {
			code := uint64(0)
			for c, v := range row {
				code = code*uint64(sizes[c]) + uint64(v)
			}
			if !yield(query.Element{Lo: code}, 1) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	src := noise.NewSource()
	r, err := m.Perturb(src)
	if err != nil {
		t.Fatal(err)
	}
	o, err := NewOnDemand(r, coin.NewSource())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// adultRows returns the rows of Adult.
func adultRows(t testing.TB) (rows [][]int) {
	t.Helper()
	file, err := os.Open("../../testdata/adult/adult.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range records[1:] {
		row := make([]int, len(record))
		for c, text := range record {
			if row[c], err = strconv.Atoi(text); err != nil {
				t.Fatal(err)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// countsOf returns the true marginal of rows over some columns.
func countsOf(rows [][]int, sizes, columns []int) []float64 {
	out := make([]float64, product(within(sizes, columns)))
	for _, row := range rows {
		cell := 0
		for _, c := range columns {
			cell = cell*sizes[c] + row[c]
		}
		out[cell]++
	}
	return out
}

// TestAnyUniverse measures all 14 columns of Adult at ε = 1, δ = 1e-6: of the 364 marginals
// over three columns, the 250 of at most 20,000 cells. It asks for these 1.2 million counts
// from fits on demand.
//
// One release errs by 5.5 with a standard deviation of 0.05, and by 5.6 with one of 0.12 at 10 of the
// marginals; the short test asks for 5. 7 is more than 10 of these away: a right program
// fails in fewer than one of 10^9 runs.
func TestAnyUniverse(t *testing.T) {
	u := universe(t, adultSizes...)
	rows := adultRows(t)
	p := calibrated(t, u, 3, "1", "1e-6")
	if len(p.Sets) != 250 {
		t.Errorf("%d marginals are measured, want 250", len(p.Sets))
	}
	releases, step := sized(1, 10), sized(50, 1)
	mean := 0.0
	for range releases {
		o := onDemand(t, u, p, rows)
		squares, counts := 0.0, 0
		for i := 0; i < len(p.Sets); i += step {
			set := p.Sets[i]
			r, columns, err := o.Over(t.Context(), set, set, false)
			if err != nil {
				t.Fatal(err)
			}
			if !Converged(r.Stages()) {
				t.Errorf("the fit over %v did not settle: %v", columns, r.Stages())
			}
			truth := countsOf(rows, adultSizes, set)
			for c, v := range r.expected(places(set, columns)) {
				squares += (v - truth[c]) * (v - truth[c])
			}
			counts += len(truth)
		}
		mean += math.Sqrt(squares/float64(counts)) / float64(releases)
	}
	t.Logf("RMS %.2f", mean)
	if mean > 7 {
		t.Errorf("the RMS is %.2f, above 7", mean)
	}
}

// randomRows draws rows of columns of these sizes, not evenly.
func randomRows(random *rand.Rand, sizes []int, n int) [][]int {
	rows := make([][]int, n)
	for i := range rows {
		for _, size := range sizes {
			rows[i] = append(rows[i], min(random.IntN(size), random.IntN(size)))
		}
	}
	return rows
}

// TestSummedAgainstNaive sums random measured marginals to random columns one by one, and
// compares what all of them say of these columns with what the release over them says.
func TestSummedAgainstNaive(t *testing.T) {
	random := seeded(t)
	for range 60 {
		sizes, sets, table := randomCase(random)
		u := universe(t, sizes...)
		p := params(t, sets, big.NewRat(25, 1))
		whole := build(t, u, p, table)
		var columns []int
		for c := range sizes {
			if random.IntN(3) > 0 {
				columns = append(columns, c)
			}
		}
		if columns == nil {
			continue
		}
		var each []observed // S∩C for each S, summed by hand
		for i, set := range sets {
			var m observed
			for _, c := range set {
				if k := slices.Index(columns, c); k >= 0 {
					m.columns = append(m.columns, k)
				}
			}
			m.cells = make([]float64, product(within(within(sizes, columns), m.columns)))
			m.variance = 25 * float64(len(whole.noisy[i])) / float64(len(m.cells))
			for cell, n := range whole.noisy[i] {
				to := 0
				for k, ordinal := range ordinalsAt(sizes, set, cell) {
					if slices.Contains(columns, set[k]) {
						to = to*sizes[set[k]] + ordinal
					}
				}
				m.cells[to] += float64(n)
			}
			each = append(each, m)
		}
		want, err := components(t.Context(), within(sizes, columns), each)
		if err != nil {
			t.Fatal(err)
		}
		got := whole.over(columns).parts
		simulated := whole.summed(columns)
		for i := range simulated {
			simulated[i].cells = make([]float64, product(within(within(sizes, columns), simulated[i].columns)))
		}
		drawn, err := components(t.Context(), within(sizes, columns), simulated)
		if err != nil || len(got) != len(want) || len(drawn) != len(want) {
			t.Fatalf("%v of %v over %v: %d and %d components, want %d, %v", sets, sizes, columns, len(got), len(drawn), len(want), err)
		}
		for k, w := range want {
			for c, v := range w.interaction {
				if math.Abs(got[k].interaction[c]-v) > 1e-9*(1+math.Abs(v)) {
					t.Errorf("%v of %v over %v: component %v has %v, want %v", sets, sizes, columns, w.columns, got[k].interaction, w.interaction)
					break
				}
			}
			if math.Abs(got[k].variance-w.variance) > 1e-9*w.variance || math.Abs(drawn[k].variance-w.variance) > 1e-9*w.variance {
				t.Errorf("%v of %v over %v: component %v has the variance %v, and simulated %v, want %v", sets, sizes, columns, w.columns,
					got[k].variance, drawn[k].variance, w.variance)
			}
		}
	}
}

// wide returns a release of pairs of 12 columns, which have 6·10¹¹ cells.
func wide(t testing.TB) (*query.Universe, *OnDemand) {
	sizes := []int{10, 10, 10, 10, 10, 10, 10, 10, 10, 600, 2, 500}
	u := universe(t, sizes...)
	p := calibrated(t, u, 2, "1", "1e-6")
	return u, onDemand(t, u, p, randomRows(seeded(t), sizes, 3000))
}

// conjunction returns the query for the value 1 in some columns.
func conjunction(u *query.Universe, columns ...int) query.Query {
	var each []query.ColumnSet
	for _, c := range columns {
		each = append(each, query.ColumnSet{Column: c, Set: u.Columns()[c].Domain.SetOf(query.Int(1))})
	}
	return query.Conjunction(u, each)
}

// ask asks an OnDemand about some columns of a statement about others, too.
func ask(t *testing.T, o *OnDemand, q query.Query, statement []int) (Answer, float64) {
	t.Helper()
	r, columns, err := o.Over(t.Context(), q.Columns(), statement, true)
	if err != nil {
		t.Fatal(err)
	}
	if columns != nil {
		var ok bool
		if q, ok = q.Project(columns); !ok {
			t.Fatalf("the query on %v is not over %v", q.Columns(), columns)
		}
	}
	a, err := r.Answer(t.Context(), q, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Simulates() {
		return a, 0
	}
	m, err := r.SimulatedMargin(q, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	return a, m
}

// TestOnDemandIsDeterministic asks a release and its stored copy the same in different
// orders, and one of them again after what it kept is gone.
func TestOnDemandIsDeterministic(t *testing.T) {
	u, o := wide(t)
	data, err := o.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := UnmarshalOnDemand(u, data)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := stored.MarshalBinary(); err != nil || !bytes.Equal(again, data) {
		t.Errorf("it is stored otherwise the second time: %v", err)
	}
	type answer struct {
		a Answer
		m float64
	}
	answers := func(o *OnDemand, queries ...query.Query) (out []answer) {
		for _, q := range queries {
			a, m := ask(t, o, q, q.Columns())
			out = append(out, answer{a, m})
		}
		return out
	}
	a, b, c := conjunction(u, 0, 1), conjunction(u, 2, 3, 10), conjunction(u)
	want := answers(o, a, b, c)
	got := answers(stored, c, b, a)
	slices.Reverse(got)
	o.kept = nil
	for _, got := range [][]answer{got, answers(o, a, b, c)} {
		if !slices.Equal(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if !want[0].a.Verified || want[1].a.Verified || want[0].m <= 0 {
		t.Errorf("a pair and three columns: %+v", want)
	}
}

// TestOver asks what a release is fitted over.
func TestOver(t *testing.T) {
	_, o := wide(t)
	for _, c := range []struct {
		name               string
		columns, statement []int
		over               []int // nil: no fit
		code               sqlerr.Code
	}{
		{"small columns are added", []int{0, 1}, []int{0, 1}, []int{0, 1, 2, 10}, ""},
		{"one fit a statement", []int{0, 1}, []int{0, 1, 2, 3, 4}, []int{0, 1, 2, 3, 4}, ""},
		{"no columns", []int{}, []int{}, []int{0, 1, 2, 10}, ""},
		{"a large pair", []int{9, 11}, []int{9, 11}, []int{9, 11}, ""},
		{"too many in the statement", []int{0, 1}, []int{0, 1, 2, 3, 4, 5, 6, 7}, []int{0, 1, 2, 10}, ""},
		{"too many in the query", []int{0, 1, 2, 3, 4, 5, 6, 7}, []int{0, 1, 2, 3, 4, 5, 6, 7}, nil, sqlerr.Uncovered},
	} {
		if _, over, err := o.Over(t.Context(), c.columns, c.statement, false); sqlerr.CodeOf(err) != c.code || !slices.Equal(over, c.over) {
			t.Errorf("%s: over %v, %v", c.name, over, err)
		}
	}
	o.unbiased = true
	if r, over, err := o.Over(t.Context(), []int{0, 1}, []int{0, 1}, true); r != o.exact || over != nil || err != nil {
		t.Errorf("with unbiased answers: over %v, %v", over, err)
	}
}

// TestToTotal takes one number from all cells of random tables. Tables of different columns
// then have one total.
func TestToTotal(t *testing.T) {
	random := seeded(t)
	for range 50 {
		x := make([]float64, 1+random.IntN(20))
		for i := range x {
			x[i] = 0.001 + random.Float64()*float64(random.IntN(30))
		}
		was, total, all := slices.Clone(x), 1+random.Float64()*100, 0.0
		toTotal(x, total)
		least := 0.0 // taken from a cell that is left
		for i, v := range x {
			all += v
			if v > 0 {
				least = was[i] - v
			}
		}
		if math.Abs(all-total) > 1e-9*total {
			t.Errorf("%v becomes %v, of %v in place of %v", was, x, all, total)
		}
		for i, v := range x {
			if taken := was[i] - v; least >= 0 && (v < 0 || taken > least+1e-9 || v > 0 && taken < least-1e-9) {
				t.Errorf("%v is taken from one cell of %v and %v from another", taken, was, least)
			}
		}
	}
	_, o := wide(t)
	for _, columns := range [][]int{{}, {9}, {0, 3}, {9, 11}} {
		x, err := o.Fitted(t.Context(), columns)
		all := 0.0
		for _, v := range x {
			all += v
		}
		if total := max(1, o.exact.total()); err != nil || math.Abs(all-total) > 1e-3*total {
			t.Errorf("over %v the total is %v, %v; want %v", columns, all, err, total)
		}
	}
}

// TestOnDemandIsCancelled asks with a context that is done. Nothing is kept of it, and the
// next one is answered.
func TestOnDemandIsCancelled(t *testing.T) {
	_, o := wide(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := o.Over(ended, []int{0}, []int{0}, true); sqlerr.CodeOf(err) != sqlerr.Cancelled || len(o.kept) > 0 {
		t.Errorf("%v, and %d fits are kept", err, len(o.kept))
	}
	o.turn <- struct{}{} // somebody else fits
	if _, _, err := o.Over(ended, []int{0}, []int{0}, true); sqlerr.CodeOf(err) != sqlerr.Cancelled {
		t.Errorf("in the queue: %v", err)
	}
	<-o.turn
	if _, _, err := o.Over(t.Context(), []int{0}, []int{0}, true); err != nil {
		t.Error(err)
	}
}

// TestOnDemandKeepsLittle keeps fits of a quarter of what is kept at most, each but the
// first asked for once.
func TestOnDemandKeepsLittle(t *testing.T) {
	o := &OnDemand{}
	for i := range 8 {
		o.keep([]int{i}, &Release{shape: shape{cells: mostKept / 4}})
		if o.find([]int{0}) == nil {
			t.Errorf("the fit that is used was dropped after %d", i)
		}
	}
	if len(o.kept) != 4 || o.find([]int{7}) == nil || o.find([]int{3}) != nil {
		t.Errorf("%d fits are kept", len(o.kept))
	}
	o.keep([]int{9}, &Release{shape: shape{cells: 2 * mostKept}})
	if len(o.kept) != 1 || o.find([]int{9}) == nil {
		t.Errorf("%d fits are kept beside a large one", len(o.kept))
	}
}

// TestOnDemandAtOnce asks from many goroutines.
func TestOnDemandAtOnce(t *testing.T) {
	u, o := wide(t)
	var work sync.WaitGroup
	answers := make([]Answer, 8)
	for i := range answers {
		work.Go(func() {
			q := conjunction(u, i%2)
			answers[i], _ = ask(t, o, q, q.Columns())
		})
	}
	work.Wait()
	for i, a := range answers {
		if a != answers[i%2] {
			t.Errorf("%+v and %+v", a, answers[i%2])
		}
	}
}
