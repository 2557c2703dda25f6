package workload

import (
	"math"
	"math/rand/v2"
)

// newRand returns the generator of drawn data. PCG, from the standard library, draws
// the same everywhere for the same seed. Each data set has a stream of its own.
func newRand(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// Streams of one seed.
const (
	zipfStream = iota + 1
	correlatedStream
	pointsStream
	runsStream
	parityStream
)

// Zipf returns n rows over 2^bits cells: the cell of rank r = 0, 1, … has a
// probability proportional to (1+r)^−s. Ranks are spread over the codes by a
// fixed permutation.
func Zipf(s float64, bits uint, n int64, seed uint64) (*Table, error) {
	u, err := Line(1 << bits)
	if err != nil {
		return nil, err
	}
	random := rand.NewZipf(newRand(seed, zipfStream), s, 1, 1<<bits-1)
	counts := make(map[uint64]int64)
	for range n {
		counts[spread(random.Uint64(), bits)]++
	}
	return newTable("Zipf", u, counts), nil
}

// spread permutes 0 … 2^bits−1: it multiplies by an odd factor and shifts downwards,
// twice.
func spread(x uint64, bits uint) uint64 {
	mask := uint64(1)<<bits - 1
	for range 2 {
		x = x * 0x9E3779B97F4A7C15 & mask
		x ^= x >> (bits/2 + 1)
	}
	return x
}

// correlatedSizes are the domains of the correlated table's columns.
var correlatedSizes = []int64{50, 50, 20, 10, 7, 2}

// Correlated returns n rows over six columns, 7·10⁶ cells, that share a hidden
// component: each row draws c of 0 … 4 uniformly, and column j of domain d_j is
// (⌊|N(0,1)|·d_j/5⌋ + ⌊c·d_j/5⌋) mod d_j.
func Correlated(n int64, seed uint64) (*Table, error) {
	u, err := grid([]string{"a", "b", "c", "d", "e", "f"}, correlatedSizes)
	if err != nil {
		return nil, err
	}
	random := newRand(seed, correlatedStream)
	counts := make(map[uint64]int64)
	for range n {
		component := random.Int64N(5)
		code := uint64(0)
		for _, d := range correlatedSizes {
			v := (int64(math.Abs(random.NormFloat64())*float64(d)/5) + component*d/5) % d
			code = code*uint64(d) + uint64(v)
		}
		counts[code]++
	}
	return newTable("correlated, 6 columns", u, counts), nil
}

// ParityValues is how many values column d of the parity table has in a full run.
const ParityValues = 256

// Parity returns n rows over five columns of 32, 32, 2, values and 32 values. Every two
// of them are independent and uniform, but not every three. Call a value high if it is
// in the upper half of its domain. Column c is high where exactly one of a and b is,
// and e where exactly one of c and d is, each except in a tenth of the rows.
func Parity(n, values int64, seed uint64) (*Table, error) {
	sizes := []int64{32, 32, 2, values, 32}
	u, err := grid([]string{"a", "b", "c", "d", "e"}, sizes)
	if err != nil {
		return nil, err
	}
	random := newRand(seed, parityStream)
	xor := func(x, y int64) int64 {
		if random.IntN(10) == 0 {
			return 1 - x ^ y
		}
		return x ^ y
	}
	counts := make(map[uint64]int64)
	for range n {
		a, b, d := random.Int64N(32), random.Int64N(32), random.Int64N(values)
		c := xor(a/16, b/16)
		e := 16*xor(c, d/(values/2)) + random.Int64N(16)
		code := uint64(0)
		for i, v := range []int64{a, b, c, d, e} {
			code = code*uint64(sizes[i]) + uint64(v)
		}
		counts[code]++
	}
	return newTable("parity, 5 columns", u, counts), nil
}

// Runs returns k conjunctions on a table that fix the given columns to runs of
// consecutive values, of one to the longest of each, and leave the others free.
func Runs(t *Table, columns []int, longest []uint64, k int, seed uint64) (*Workload, error) {
	random := newRand(seed, runsStream)
	projected := t.Project(columns)
	w := &Workload{Name: "conjunctions", Table: t}
	for range k {
		values := make([][]uint64, len(columns))
		for i, c := range columns {
			size := t.Universe.Columns()[c].Domain.Size()
			n := min(1+random.Uint64N(longest[i]), size)
			from := random.Uint64N(size - n + 1)
			for v := from; v < from+n; v++ {
				values[i] = append(values[i], v)
			}
		}
		q, err := product(t.Universe, columns, values)
		if err != nil {
			return nil, err
		}
		short, _ := q.Project(columns)
		w.Queries = append(w.Queries, Query{q, projected.Count(short)})
	}
	return w, nil
}
