package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"dpsql/query"
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
	hiddenStream
	analystStream
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

// hiddenSizes are the domains of the hidden table's last columns.
var hiddenSizes = []int64{12, 10, 8, 8}

// Hidden returns n rows over some flags, columns of two values, and four columns of 12, 10, 8
// and 8 values. All flags but one are independent and uniform, and so are the others without
// any one of them: the last flag is the parity of the rest, except in a tenth of the rows.
// The other columns share a hidden component, as those of Correlated do.
func Hidden(n int64, flags int, seed uint64) (*Table, error) {
	names, sizes := []string{"a", "b", "c", "d"}, hiddenSizes
	for i := range flags {
		names, sizes = append([]string{fmt.Sprintf("flag%d", flags-i)}, names...), append([]int64{2}, sizes...)
	}
	u, err := grid(names, sizes)
	if err != nil {
		return nil, err
	}
	random := newRand(seed, hiddenStream)
	counts := make(map[uint64]int64)
	for range n {
		code, parity := uint64(0), uint64(0)
		for range flags - 1 {
			flag := random.Uint64N(2)
			code, parity = 2*code+flag, parity^flag
		}
		if random.IntN(10) == 0 {
			parity = 1 - parity
		}
		code = 2*code + parity
		component := random.Int64N(5)
		for _, d := range hiddenSizes {
			v := (int64(math.Abs(random.NormFloat64())*float64(d)/5) + component*d/5) % d
			code = code*uint64(d) + uint64(v)
		}
		counts[code]++
	}
	return newTable("hidden parity", u, counts), nil
}

// Broad returns the conjunctions that confine so many columns each to one half of its
// values: of every set of columns all combinations of halves.
func Broad(t *Table, columns int) (all []Query, err error) {
	u := t.Universe
	var extend func(chosen []int) error
	extend = func(chosen []int) error {
		if len(chosen) < columns {
			first := 0
			if len(chosen) > 0 {
				first = chosen[len(chosen)-1] + 1
			}
			for c := first; c < len(u.Columns()); c++ {
				if err := extend(append(slices.Clone(chosen), c)); err != nil {
					return err
				}
			}
			return nil
		}
		few := t.Project(chosen)
		for halves := range 1 << columns {
			values := make([][]uint64, columns)
			for i, c := range chosen {
				size := u.Columns()[c].Domain.Size()
				for v := range size {
					if v >= size/2 == (halves>>i&1 != 0) {
						values[i] = append(values[i], v)
					}
				}
			}
			q, err := product(u, chosen, values)
			if err != nil {
				return err
			}
			short, _ := q.Project(chosen)
			all = append(all, Query{q, few.Count(short)})
		}
		return nil
	}
	return all, extend(nil)
}

// Analyst asks conjunctions, each of them once. It takes the columns in a random order and
// confines one after the other to a run of values: a column of two values to one of them,
// others to at most half of theirs. Where the answer is less than half of the last one, it
// goes on with the other values of that column instead. It begins anew when an answer is
// below least, or no column is left. So what it asks depends on the answers.
type Analyst struct {
	t       *Table
	least   float64
	random  *rand.Rand
	columns []int       // those left
	query   query.Query // what the rows at hand satisfy
	rows    []Cell
	answer  float64
	last    Query // the last query, and what satisfies it
	inLast  []Cell
	run     []bool // the values that it confined the column to
	column  int
	asked   map[[32]byte]bool
}

// NewAnalyst returns an analyst of a table.
func NewAnalyst(t *Table, least float64, seed uint64) *Analyst {
	a := &Analyst{t: t, least: least, random: newRand(seed, analystStream), asked: make(map[[32]byte]bool)}
	a.begin()
	return a
}

func (a *Analyst) begin() {
	a.columns = a.random.Perm(len(a.t.Universe.Columns()))
	a.query, a.rows, a.answer = query.All(a.t.Universe), a.t.Cells, float64(a.t.Rows)
}

// Next returns the next query.
func (a *Analyst) Next() (Query, error) {
	for {
		if len(a.columns) == 0 {
			a.begin()
		}
		a.column, a.columns = a.columns[0], a.columns[1:]
		size := a.t.Universe.Columns()[a.column].Domain.Size()
		n := 1 + a.random.Uint64N(size/2)
		from := a.random.Uint64N(size - n + 1)
		a.run = make([]bool, size)
		for v := from; v < from+n; v++ {
			a.run[v] = true
		}
		q, rows, err := a.narrowed()
		if err != nil {
			return Query{}, err
		}
		if a.asked[q.Digest()] {
			a.query, a.rows = q, rows
			continue
		}
		a.asked[q.Digest()] = true
		count := int64(0)
		for _, c := range rows {
			count += c.Count
		}
		a.last, a.inLast = Query{q, count}, rows
		return a.last, nil
	}
}

// narrowed returns the query and the rows confined to the run.
func (a *Analyst) narrowed() (query.Query, []Cell, error) {
	var values []uint64
	for v, in := range a.run {
		if in {
			values = append(values, uint64(v))
		}
	}
	q, err := product(a.t.Universe, []int{a.column}, [][]uint64{values})
	if err == nil {
		q, err = q.And(a.query)
	}
	stride := uint64(1)
	for _, c := range a.t.Universe.Columns()[a.column+1:] {
		stride *= c.Domain.Size()
	}
	var rows []Cell
	for _, c := range a.rows {
		if a.run[c.Code/stride%uint64(len(a.run))] {
			rows = append(rows, c)
		}
	}
	return q, rows, err
}

// Learn tells the analyst the answer to the last query.
func (a *Analyst) Learn(answer float64) (err error) {
	if answer < a.answer/2 {
		for v := range a.run {
			a.run[v] = !a.run[v]
		}
		answer = a.answer - answer
		a.query, a.rows, err = a.narrowed()
	} else {
		a.query, a.rows = a.last.Query, a.inLast
	}
	if a.answer = answer; answer < a.least {
		a.columns = nil
	}
	return err
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
