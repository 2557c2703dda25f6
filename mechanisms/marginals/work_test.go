package marginals

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/query"
	"dpsql/sqlerr"
)

// binaries returns a universe of so many columns of two values.
func binaries(t testing.TB, columns int) *query.Universe {
	return universe(t, slices.Repeat([]int{2}, columns)...)
}

// TestWork counts the steps of small releases by the definition.
func TestWork(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		sets  [][]int
		want  float64
	}{
		{[]int{3, 4}, [][]int{{0}}, 12 + 300 + 2000},
		{[]int{3, 4}, [][]int{{0, 1}}, 3*(12+2000) + 100*(3+4+12)},
		{[]int{3, 4, 5}, [][]int{{0, 1}, {1, 2}}, 5*(60+2000) + 100*(3+4+5+12+20)},
	} {
		if got := work(c.sizes, c.sets); got != c.want {
			t.Errorf("%v of %v: %v steps, want %v", c.sets, c.sizes, got, c.want)
		}
	}
}

// TestTooMuchWork asks for more than a fit can do in time. All is refused from public sizes
// alone, and what remains possible is selected.
func TestTooMuchWork(t *testing.T) {
	long := make([]int, 60)
	for i := range long {
		long[i] = i
	}
	for _, c := range []struct {
		u        *query.Universe
		degree   int
		maxCells int
		ok       bool
	}{
		{binaries(t, 21), 5, DefaultCells, false},
		{binaries(t, 21), 3, DefaultCells, false},
		{binaries(t, 21), 2, DefaultCells, true},
		{binaries(t, 21), 8, 4, false},
		{binaries(t, 14), 8, 4, true}, // its pairs
		{binaries(t, 15), 4, DefaultCells, true},
		{universe(t, slices.Repeat([]int{1}, 60)...), 8, DefaultCells, false},
		{universe(t, slices.Repeat([]int{1}, 60)...), 2, DefaultCells, true},
	} {
		sets, err := Select(c.u, OfDegree(c.u, c.degree), c.maxCells)
		var e *sqlerr.Error
		if c.ok && (err != nil || len(sets) == 0) || !c.ok && (!errors.As(err, &e) || e.Code != sqlerr.Unsupported || e.Hint == "") {
			t.Errorf("%d columns, degree %d: %d sets, %v", len(c.u.Columns()), c.degree, len(sets), err)
		}
	}
	for columns, ok := range map[int]bool{14: true, 16: false, 22: false} {
		if CanFitCells(binaries(t, columns)) != ok {
			t.Errorf("cells of %d columns: fitted %v", columns, !ok)
		}
	}
	if _, err := Select(universe(t, slices.Repeat([]int{1}, 60)...), [][]int{long}, DefaultCells); sqlerr.CodeOf(err) != sqlerr.Unsupported {
		t.Errorf("a marginal over 60 columns: %v", err)
	}
}

// ending is a context that ends when it is asked for the n-th time, and counts.
type ending struct {
	context.Context
	asked, ends int
}

func (e *ending) Err() error {
	if e.asked++; e.asked > e.ends {
		return context.Canceled
	}
	return nil
}

// TestFitIsInterrupted ends a fit at each time that it asks whether it is to end. It ends
// with the code cancelled, does not go on asking, and leaves the release as it was.
func TestFitIsInterrupted(t *testing.T) {
	u := universe(t, 3, 4, 2)
	table := make([]int64, 24)
	for i := range table {
		table[i] = int64(100 * i)
	}
	m, err := Measure(t.Context(), u, calibrated(t, u, 2, "1", "1e-6"), cellsOf(table))
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Perturb(noise.NewSource())
	if err != nil {
		t.Fatal(err)
	}
	times := 0
	for ; ; times++ {
		ctx := &ending{Context: t.Context(), ends: times}
		err := r.Fit(ctx, nil)
		if err == nil {
			break
		}
		if sqlerr.CodeOf(err) != sqlerr.Cancelled || r.table != nil || ctx.asked > times+8 {
			t.Fatalf("ended the %d. time: %v, table %v, asked %d times", times, err, r.table != nil, ctx.asked)
		}
	}
	sweeps := 0
	for _, s := range r.Stages() {
		sweeps += 3 * s.Sweeps // both stages have three marginals
	}
	if times < sweeps {
		t.Errorf("asked %d times while %d marginals were fitted", times, sweeps)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Simulate(ctx, coin.NewSource, nil); sqlerr.CodeOf(err) != sqlerr.Cancelled || r.Simulates() {
		t.Errorf("a simulation that was interrupted: %v", err)
	}
}

// TestFitReports holds what a fit and its simulations report: shares that rise to 1.
func TestFitReports(t *testing.T) {
	u := universe(t, 3, 4, 2)
	r := build(t, u, calibrated(t, u, 2, "1", "1e-6"), make([]int64, 24))
	for name, run := range map[string]func(func(float64)) error{
		"fit":         func(report func(float64)) error { return r.Fit(t.Context(), report) },
		"simulations": func(report func(float64)) error { return r.Simulate(t.Context(), coin.NewSource, report) },
	} {
		var shares []float64
		if err := run(func(s float64) { shares = append(shares, s) }); err != nil {
			t.Fatal(err)
		}
		if n := len(shares); n < 2 || !slices.IsSorted(shares) || shares[0] <= 0 || shares[n-1] < 0.999999 || shares[n-1] > 1.000001 {
			t.Errorf("%s: %v", name, shares)
		}
	}
}

// BenchmarkWork fits binary columns, and reports the time of a step.
func BenchmarkWork(b *testing.B) {
	for _, c := range []struct{ columns, degree int }{{21, 1}, {16, 2}, {12, 6}} {
		b.Run(fmt.Sprintf("%d columns, degree %d", c.columns, c.degree), func(b *testing.B) {
			u := binaries(b, c.columns)
			table, random := make([]int64, 1<<c.columns), seeded(b)
			for range 40_000 {
				table[random.IntN(len(table))]++
			}
			p := calibrated(b, u, c.degree, "1", "1e-6")
			steps := 0.0
			for b.Loop() {
				for _, s := range build(b, u, p, table).Stages() {
					share := work(sizesOf(u), OfDegree(u, s.Order))
					if s.Order > 1 {
						share -= work(sizesOf(u), OfDegree(u, s.Order-1))
					}
					steps += share * float64(s.Sweeps)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/steps, "ns/step")
		})
	}
}

// λ is chosen by moments only where the cells over all columns are measured.
func TestChooser(t *testing.T) {
	for _, c := range []struct {
		sets    [][]int
		columns int
		want    chooser
	}{{[][]int{{0, 1}}, 2, byMoments}, {[][]int{{0, 1}}, 3, byRisk}, {[][]int{{0, 1}, {1, 2}}, 3, byRisk}, {nil, 2, byRisk}} {
		if got := (Params{Sets: c.sets}).chooser(c.columns); reflect.ValueOf(got).Pointer() != reflect.ValueOf(c.want).Pointer() {
			t.Errorf("%v of %d columns: chosen otherwise", c.sets, c.columns)
		}
	}
}
