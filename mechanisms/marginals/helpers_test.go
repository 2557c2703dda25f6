package marginals

import (
	"compress/gzip"
	"encoding/csv"
	"io"
	"iter"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpsql/accounting"
	"dpsql/internal/seeds"
	"dpsql/noise"
	"dpsql/noise/law"
	"dpsql/query"
)

// seeded returns a generator whose seed a failing test prints.
func seeded(t testing.TB) *rand.Rand {
	seed := seeds.Of(t)
	return rand.New(rand.NewPCG(seed, 0))
}

// universe returns the universe of columns a, b, … of these sizes.
func universe(t testing.TB, sizes ...int) *query.Universe {
	t.Helper()
	var columns []query.Column
	for i, n := range sizes {
		d, err := query.NewRange(0, int64(n)-1, false)
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, query.Column{Name: string(rune('a' + i)), Domain: d})
	}
	u, err := query.NewUniverse(columns)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// params returns parameters for sets with the noise of a parameter σ².
func params(t testing.TB, sets [][]int, sigma2 *big.Rat) Params {
	t.Helper()
	law, err := law.NewGaussian(sigma2)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := sigma2.Float64()
	return Params{Sets: sets, Law: law, Sigma2: f}
}

// calibrated returns parameters for all sets of degree columns at (ε, δ).
func calibrated(t testing.TB, u *query.Universe, degree int, epsilon, delta string) Params {
	t.Helper()
	sets, err := Select(u, OfDegree(u, degree), DefaultCells)
	if err != nil {
		t.Fatal(err)
	}
	e, err1 := accounting.ParseEpsilon(epsilon)
	d, err2 := accounting.ParseDelta(delta)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	n := Params{Sets: sets}.Cells(u)
	sigma2, err := accounting.DiscreteSigmaSquared(e, d,
		accounting.Vector{Dimensions: int64(n), SquaredSensitivity: int64(len(sets))})
	if err != nil {
		t.Fatal(err)
	}
	return params(t, sets, sigma2)
}

// cellsOf yields the cells of a table, those of 0 left out.
func cellsOf(table []int64) iter.Seq2[query.Element, int64] {
	return func(yield func(query.Element, int64) bool) {
		for c, n := range table {
			if n != 0 && !yield(query.Element{Lo: uint64(c)}, n) {
				return
			}
		}
	}
}

// build measures a table, draws the noise and fits.
func build(t testing.TB, u *query.Universe, p Params, table []int64) *Release {
	t.Helper()
	m, err := Measure(t.Context(), u, p, cellsOf(table))
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Perturb(noise.NewSource())
	if err == nil {
		err = r.Fit(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// csvTable returns columns of a CSV file in testdata with codes 0, 1, …, and its cells.
func csvTable(t testing.TB, name string, columns []string, sizes []int) (*query.Universe, []int64) {
	t.Helper()
	file, err := os.Open("../../testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var text io.Reader = file
	if strings.HasSuffix(name, ".gz") {
		if text, err = gzip.NewReader(file); err != nil {
			t.Fatal(err)
		}
	}
	records, err := csv.NewReader(text).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	u := universe(t, sizes...)
	table := make([]int64, product(sizes))
	for _, record := range records[1:] {
		code := 0
		for i, column := range columns {
			v, err := strconv.Atoi(record[slices.Index(records[0], column)])
			if err != nil {
				t.Fatal(err)
			}
			code = code*sizes[i] + v
		}
		table[code]++
	}
	return u, table
}

func adult(t testing.TB, columns []string, sizes []int) (*query.Universe, []int64) {
	return csvTable(t, "adult/adult.csv", columns, sizes)
}

func adult6(t testing.TB) (*query.Universe, []int64) {
	return adult(t, []string{"sex", "race", "education-num", "marital-status", "relationship", "income>50K"}, []int{2, 5, 16, 7, 6, 2})
}

func adult8(t testing.TB) (*query.Universe, []int64) {
	return adult(t, []string{"workclass", "education-num", "marital-status", "occupation", "relationship", "race", "sex", "income>50K"},
		[]int{9, 16, 7, 15, 6, 5, 2, 2})
}

func floats[number int64 | float32](table []number) []float64 {
	out := make([]float64, len(table))
	for i, v := range table {
		out[i] = float64(v)
	}
	return out
}

// rms returns the root mean square of the differences.
func rms(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum / float64(len(a)))
}

// lowOrder returns all cells of the marginals over k columns of a table.
func lowOrder(u *query.Universe, table []float64, k int) (out []float64) {
	sizes := sizesOf(u)
	s, _ := newShape(sizes, len(table))
	for _, set := range OfDegree(u, k) {
		l := s.layout(set)
		m := make([]float64, l.size)
		sum(&l, table, m)
		out = append(out, m...)
	}
	return out
}

// ordinalsAt returns the ordinals of a marginal's cell, by columns.
func ordinalsAt(sizes, set []int, cell int) []int {
	out := make([]int, len(set))
	for i, c := range slices.Backward(set) {
		out[i] = cell % sizes[c]
		cell /= sizes[c]
	}
	return out
}

// drawing returns a function that draws from a law, by the product's own noise.
func drawing(l law.Law) func(draws []int64) error {
	fill, src := noise.InBulk(l), noise.NewSource()
	return func(draws []int64) error { return fill(draws, src) }
}
