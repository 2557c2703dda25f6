package engine

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"dpsql/query"
)

var accuracy = flag.Bool("accuracy", false, "TestAccuracy at full size: a million rows over 2^26 cells, flights, Adult, and less memory")

// accuracyCase is a table whose release is chosen by the product itself.
type accuracyCase struct {
	name  string
	load  func(t *testing.T) (s *Session, table string)
	with  string // further options of the release
	long  bool   // only with -accuracy
	kinds [3]float64
}

// The targets: RMS error over √(m·Var DLap(1/ε)) of queries of cells drawn
// uniformly from all, uniformly from the occupied ones, and half of them by rows.
var (
	sparseTargets   = [3]float64{1.10, 1.10, 1.20}
	identityTargets = [3]float64{1.02, 1.02, 1.02}
)

// TestAccuracy builds releases at ε = 1 and δ = 1e-6 with transform = auto, and
// measures RMS errors at m = 1, 16, 256 and 4096 against the exact noise of a
// table without limits. A program that meets the targets fails less than once in
// 10^6: each of at most 72 comparisons fails it with probability 1e-8, see
// judgeRMS. The noise is the product's, from crypto/rand: the seed is that of the
// queries.
func TestAccuracy(t *testing.T) {
	t.Parallel()
	for _, c := range []accuracyCase{
		{"zipf, 20,000 rows over 2^40", zipfTable(20_000, 40), "", false, sparseTargets},
		{"adult, nine columns", adultTable, "", false, sparseTargets},
		{"zipf, 10^6 rows over 2^26", zipfTable(1_000_000, 26), "", true, identityTargets},
		{"zipf, 10^6 rows over 2^26, 64 MiB less one row", zipfTable(1_000_000, 26), ", memory = 67108863", true, sparseTargets},
		{"zipf, 10^6 rows over 2^40", zipfTable(1_000_000, 40), "", true, sparseTargets},
		{"flights, hour, airports and distance", flightsTable, "", true, sparseTargets},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long && !*accuracy {
				t.Skip("run with -args -accuracy")
			}
			s, table := c.load(t)
			must(t, s, fmt.Sprintf(`CREATE PRIVATE TABLE private %s WITH (epsilon = 100, delta = 1e-4, interactive = 0)`, table))
			w := accuracyWorkload(t, s)
			releases := 1
			if *accuracy {
				releases = 5
			}
			found := make(map[string]*errorsFound)
			for i := range releases {
				must(t, s, fmt.Sprintf(`CREATE RELEASE r%d ON private USING PROJECTION WITH (epsilon = 1, delta = 1e-6%s)`, i, c.with))
				w.measure(t, s, fmt.Sprintf("r%d", i), found)
				if i == 0 {
					t.Log(must(t, s, `SHOW RELEASES`).Rows[0][3])
				}
				must(t, s, fmt.Sprintf(`DROP RELEASE r%d`, i))
			}
			for k, kind := range accuracyKinds {
				for _, m := range accuracySizes {
					judgeRMS(t, fmt.Sprintf("m = %d, %s", m, kind), m, found[fmt.Sprint(m, kind)], c.kinds[k])
				}
			}
		})
	}
}

var (
	accuracySizes = []int{1, 16, 256, 4096}
	accuracyKinds = [3]string{"all", "occupied", "rows"}
)

// errorsFound are the errors of queries of one size and kind.
type errorsFound struct {
	squares []float64 // over m·Var DLap(1)
	common  float64   // Σ over ordered pairs of queries of a release: (share of common cells)²
}

// judgeRMS holds the mean square to a target. An error of m cells is nearly
// normal, of kurtosis 3 + 3/m, so its square varies by 2 + 3/m; those of queries
// that share a part r of their cells correlate by r². So the mean square varies as
// a chi-squared of k degrees over k does, and is taken to be one.
func judgeRMS(t *testing.T, what string, m int, found *errorsFound, target float64) {
	t.Helper()
	n := float64(len(found.squares))
	mean := stat.Mean(found.squares, nil)
	k := 2 * n / ((2 + 3/float64(m)) * (1 + found.common/n))
	limit := target * math.Sqrt(distuv.ChiSquared{K: k}.Quantile(1-1e-8)/k)
	t.Logf("%-22s RMS %.3f (target %.2f, at most %.2f by %.0f queries worth %.0f)", what, math.Sqrt(mean), target, limit, n, k/2)
	if math.Sqrt(mean) > limit {
		t.Errorf("%s: RMS %.3f, want %.2f", what, math.Sqrt(mean), target)
	}
}

// cellwise is a workload of queries that are sets of cells: the answer of a
// linear release to one is the sum of its answers to the cells.
type cellwise struct {
	u        *query.Universe
	random   *rand.Rand
	counts   map[string]int64 // by the cell's text
	occupied [][]query.Value
	rows     []int // the cell of each row
}

// accuracyWorkload reads the cells of the private table.
func accuracyWorkload(t *testing.T, s *Session) *cellwise {
	t.Helper()
	v, err := s.db.view(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := &cellwise{u: v.Tables[0].Universe, random: rand.New(rand.NewPCG(seed, 4)), counts: make(map[string]int64)}
	var names []string
	for _, c := range w.u.Columns() {
		names = append(names, fmt.Sprintf("%q", c.Name))
	}
	found, err := plain(t, s).Query(`SELECT COUNT(*), ` + strings.Join(names, ", ") + ` FROM ` + v.Tables[0].Source + ` GROUP BY ` + strings.Join(names, ", "))
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	raw, into := make([]any, len(names)), []any{new(int64)}
	for i := range raw {
		into = append(into, &raw[i])
	}
	for found.Next() {
		if err := found.Scan(into...); err != nil {
			t.Fatal(err)
		}
		w.add(raw, *into[0].(*int64))
	}
	return w
}

func (w *cellwise) add(raw []any, n int64) {
	cell := make([]query.Value, len(raw))
	for i, v := range raw {
		switch v := v.(type) {
		case int64:
			cell[i] = query.Int(v)
		case string:
			cell[i] = query.Text(v)
		}
	}
	w.counts[fmt.Sprint(cell)] = n
	for range n {
		w.rows = append(w.rows, len(w.occupied))
	}
	w.occupied = append(w.occupied, cell)
}

// draw draws a cell of a kind.
func (w *cellwise) draw(kind string) []query.Value {
	switch kind {
	case "occupied":
		return w.occupied[w.random.IntN(len(w.occupied))]
	case "rows":
		return w.occupied[w.rows[w.random.IntN(len(w.rows))]]
	}
	cell := make([]query.Value, len(w.u.Columns()))
	for i, c := range w.u.Columns() {
		cell[i] = c.Domain.Value(w.random.Uint64N(c.Domain.Size()))
	}
	return cell
}

// measure asks a release queries of each size and kind.
func (w *cellwise) measure(t *testing.T, s *Session, name string, found map[string]*errorsFound) {
	t.Helper()
	v, err := s.db.view(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r := v.Release(name)
	a, err := s.db.load(context.Background(), v.Tables[0], r)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range accuracySizes {
		queries := map[int]int{1: 4000, 16: 1000, 256: 150, 4096: 24}[m]
		if !*accuracy {
			queries = 1 + queries/4
		}
		for _, kind := range accuracyKinds {
			key := fmt.Sprint(m, kind)
			if found[key] == nil {
				found[key] = new(errorsFound)
			}
			var asked []map[string]bool
			for range queries {
				off, cells := w.off(t, a, m, kind)
				found[key].squares = append(found[key].squares, off*off/float64(m)/variance)
				for _, other := range asked {
					share := common(cells, other) / float64(m)
					found[key].common += 2 * share * share
				}
				asked = append(asked, cells)
			}
		}
	}
}

// common counts the cells of both.
func common(a, b map[string]bool) (n float64) {
	for cell := range a {
		if b[cell] {
			n++
		}
	}
	return n
}

// off draws a query and returns the release's error, and its cells. A query by rows
// has half of its cells from everywhere; one of a single cell is by rows half the
// time.
func (w *cellwise) off(t *testing.T, a answerer, m int, kind string) (off float64, chosen map[string]bool) {
	t.Helper()
	chosen = make(map[string]bool)
	limit := 50 * m // few cells may be occupied
	for i := 0; len(chosen) < m && limit > 0; limit-- {
		source := kind
		if kind == "rows" && (m > 1 && 2*len(chosen) >= m || m == 1 && w.random.IntN(2) == 0) {
			source = "all"
		}
		if kind == "occupied" && len(chosen) >= len(w.occupied)*9/10 {
			source = "all"
		}
		cell := w.draw(source)
		text := fmt.Sprint(cell)
		if chosen[text] {
			continue
		}
		chosen[text] = true
		i++
		off += w.cellError(t, a, cell, text)
	}
	return off, chosen
}

func (w *cellwise) cellError(t *testing.T, a answerer, cell []query.Value, text string) float64 {
	t.Helper()
	q := query.All(w.u)
	var err error
	for i := len(cell) - 1; i >= 0; i-- {
		if q, err = q.And(query.Where(w.u, i, w.u.Columns()[i].Domain.Of(cell[i]))); err != nil {
			t.Fatal(err)
		}
	}
	e, err := a.answer(context.Background(), q, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	return float64(e.value - w.counts[text])
}

// zipfTable makes rows over 2^bits cells, of one integer column, by Zipf's law of
// exponent 1.05.
func zipfTable(rows, bits int) func(t *testing.T) (*Session, string) {
	return func(t *testing.T) (*Session, string) {
		s := open(t, filepath.Join(t.TempDir(), "zipf.db"), Options{}).NewSession()
		random := rand.New(rand.NewPCG(1, uint64(rows)))
		zipf := rand.NewZipf(random, 1.05, 1, 1<<bits-1)
		fill(t, s, `CREATE TABLE raw (x INTEGER)`)
		for left := rows; left > 0; {
			var values []string
			for ; left > 0 && len(values) < 2000; left-- {
				values = append(values, fmt.Sprintf("(%d)", zipf.Uint64()*0x9E3779B97F4A7C15&(1<<bits-1)))
			}
			fill(t, s, `INSERT INTO raw VALUES `+strings.Join(values, ","))
		}
		return s, fmt.Sprintf(`(x INTEGER BETWEEN 0 AND %d) FROM raw`, 1<<bits-1)
	}
}

func adultTable(t *testing.T) (*Session, string) {
	t.Helper()
	s := open(t, imported(t, "adult/adult.csv", "raw"), Options{}).NewSession()
	return s, `(age INTEGER BETWEEN 0 AND 84, "education-num" INTEGER BETWEEN 0 AND 15, occupation INTEGER BETWEEN 0 AND 14,
		relationship INTEGER BETWEEN 0 AND 5, race INTEGER BETWEEN 0 AND 4, sex INTEGER BETWEEN 0 AND 1,
		"hours-per-week" INTEGER BETWEEN 0 AND 98, "native-country" INTEGER BETWEEN 0 AND 41, "income>50K" INTEGER BETWEEN 0 AND 1) FROM raw`
}

func flightsTable(t *testing.T) (*Session, string) {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "flights.db"), Options{}).NewSession()
	for file, table := range map[string]string{"flights.csv.gz": "raw", "airports.csv": "airports"} {
		if _, err := s.Import(context.Background(), Import{Path: "../testdata/flights/" + file, Table: table}); err != nil {
			t.Fatal(err)
		}
	}
	must(t, s, `CREATE PUBLIC TABLE airports`)
	return s, `(dep_hour INTEGER BETWEEN 0 AND 23, origin TEXT IN (SELECT iata FROM airports),
		destination TEXT IN (SELECT iata FROM airports), distance INTEGER BETWEEN 30 AND 4962) FROM raw`
}
