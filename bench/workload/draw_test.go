package workload

import (
	"math"
	"testing"

	"dpsql/query"
)

func TestSpreadPermutes(t *testing.T) {
	for _, bits := range []uint{8, 13} {
		seen := make(map[uint64]bool)
		for x := range uint64(1) << bits {
			seen[spread(x, bits)] = true
		}
		if len(seen) != 1<<bits {
			t.Errorf("%d bits: %d images", bits, len(seen))
		}
	}
}

func TestZipf(t *testing.T) {
	table, err := Zipf(1.05, 20, 100_000, 1)
	if err != nil {
		t.Fatal(err)
	}
	// P(rank 0) = 1/Σ(1+r)^−1.05. The probability of a count further than 6σ from n·p
	// is below 1e-8, and the seed is fixed.
	sum := 0.0
	for r := range 1 << 20 {
		sum += math.Pow(float64(1+r), -1.05)
	}
	want := 1e5 / sum
	if got := float64(table.At(spread(0, 20))); table.Rows != 100_000 || math.Abs(got-want) > 6*math.Sqrt(want) {
		t.Errorf("%d rows, %v in the first cell, want about %v", table.Rows, got, want)
	}
}

// TestCounts checks every true count against its query's weights, cell by cell.
func TestCounts(t *testing.T) {
	table, err := Correlated(20_000, 2)
	if err != nil {
		t.Fatal(err)
	}
	line, err := table.OnLine()
	if err != nil {
		t.Fatal(err)
	}
	var all []*Workload
	for _, columns := range [][]int{{0, 1, 2, 3}, {0, 1, 3}, {2, 4}} {
		w, err := Runs(table, columns, []uint64{3, 3, 3, 3}, 5, 3)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	for _, f := range []Family{Uniform, Occupied, ByRows} {
		w, err := Points(line, f, 100, 5, 4)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	total := int64(0)
	for _, w := range all {
		for _, q := range w.Queries {
			if got := naive(w.Table, q.Query); got != q.Count || w.Table.Count(q.Query) != q.Count {
				t.Errorf("%s: count %d and %d, want %d", w.Name, q.Count, w.Table.Count(q.Query), got)
			}
			total += q.Count
		}
	}
	if total == 0 {
		t.Error("every query counts 0")
	}
	if m := all[1].MaxSupport(); m > 27*20*7*2 || m < 20*7*2 {
		t.Errorf("support %d of runs on three columns", m)
	}
	if m := all[4].MaxSupport(); m != 100 {
		t.Errorf("support %d of a list of 100", m)
	}
}

// naive looks at every occupied cell.
func naive(t *Table, q query.Query) (sum int64) {
	columns := t.Universe.Columns()
	for _, c := range t.Cells {
		tuple := make([]query.Value, len(columns))
		ordinals := make([]uint64, len(columns))
		t.Ordinals(c.Code, ordinals)
		for i, o := range ordinals {
			tuple[i] = columns[i].Domain.Value(o)
		}
		sum += q.Weight(tuple) * c.Count
	}
	return sum
}

// TestGrow checks that the queries of a growing table count what their cells hold,
// whatever |X|.
func TestGrow(t *testing.T) {
	for _, bits := range []float64{5, 40, 50, 70, 100, math.Inf(1)} {
		g, err := Grow(bits, 20)
		if err != nil {
			t.Fatal(err)
		}
		if want := Free * math.Exp2(bits); math.Abs(g.Size/want-1) > 1e-9 && !math.IsInf(bits, 1) {
			t.Errorf("%v bits: |X| = %v", bits, g.Size)
		}
		coder := query.NewCoder(g.Universe, [16]byte{1})
		cells := make(map[query.Element]int64)
		for x, count := range g.Elements(coder) {
			cells[x] += count
		}
		if len(cells) != 20*Free/2 || len(g.Queries) != 20 {
			t.Errorf("%v bits: %d cells, %d queries", bits, len(cells), len(g.Queries))
		}
		for _, q := range g.Queries {
			sum, m := int64(0), 0
			for x, w := range coder.Elements(q.Query) {
				sum += w * cells[x]
				m++
			}
			if sum != q.Count || m != Free {
				t.Errorf("%v bits: the query counts %d of %d cells, should be %d", bits, sum, m, q.Count)
			}
		}
	}
	if _, err := Grow(4, 20); err == nil {
		t.Error("20 keys were found among 16")
	}
}

// TestParity checks that every pair of the parity table's columns is distributed as
// their product, and that c is high where one of a and b is, in nine rows of ten. The
// seed is fixed, so nothing is left to chance.
func TestParity(t *testing.T) {
	const rows = 200_000
	table, err := Parity(rows, ParityValues, 5)
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got int64, p float64) {
		if want := rows * p; math.Abs(float64(got)-want) > 7*math.Sqrt(want*(1-p)) {
			t.Errorf("%s: %d rows, want about %.0f", what, got, want)
		}
	}
	columns := len(table.Universe.Columns())
	for b := range columns {
		for a := range b {
			pair := table.Project([]int{a, b})
			for _, c := range pair.Cells {
				near(pair.Name, c.Count, 1/float64(pair.Size()))
			}
		}
	}
	var odd [2]int64
	x := make([]uint64, columns)
	for _, c := range table.Cells {
		table.Ordinals(c.Code, x)
		odd[0] += int64(x[0]/16^x[1]/16^x[2]^1) * c.Count
		odd[1] += int64(x[2]^x[3]/128^x[4]/16^1) * c.Count
	}
	near("c", odd[0], 0.9)
	near("e", odd[1], 0.9)
}

// An analyst's queries differ from each other and have their true counts, whatever the
// answers are; the broad questions about a set of columns divide the rows.
func TestAnalyst(t *testing.T) {
	table, err := Hidden(2000, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	random := newRand(1, 99)
	a := NewAnalyst(table, 50, 1)
	asked := make(map[[32]byte]bool)
	for range 300 {
		q, err := a.Next()
		if err != nil {
			t.Fatal(err)
		}
		if n := table.Count(q.Query); n != q.Count || asked[q.Digest()] {
			t.Fatalf("%s has %d, not %d; asked before: %v", q, n, q.Count, asked[q.Digest()])
		}
		asked[q.Digest()] = true
		if err := a.Learn(float64(q.Count) + 100*random.NormFloat64()); err != nil {
			t.Fatal(err)
		}
	}
	broad, err := Broad(table, 2)
	if err != nil || len(broad) != 21*4 {
		t.Fatalf("%d broad questions, %v", len(broad), err)
	}
	for i := 0; i < len(broad); i += 4 {
		sum := int64(0)
		for _, q := range broad[i : i+4] {
			if sum += q.Count; q.Count != table.Count(q.Query) {
				t.Errorf("%s has %d", q, q.Count)
			}
		}
		if sum != table.Rows {
			t.Errorf("questions %d to %d have %d of %d rows", i, i+3, sum, table.Rows)
		}
	}
}
