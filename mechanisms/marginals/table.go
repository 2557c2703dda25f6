package marginals

import (
	"math/bits"
	"slices"
	"sync"
)

// shape is the shape of a dense table: one cell for each record, at its code. The code
// counts in mixed radix, and the last column runs fastest, as codes of a universe do.
//
// A code is divided in two: the columns before cut say which row of the table, and the
// others say where in the row. So the index of a cell in a marginal is the sum of two
// small look-ups.
type shape struct {
	sizes []int
	cells int
	cut   int
	inner int // cells in a row
}

// longestRow bounds the cells of a row, so that a row and what it is added to stay in
// the fastest cache.
const longestRow = 4096

// newShape returns the shape of a table with so many values a column; false when it
// would have more than most cells.
func newShape(sizes []int, most int) (shape, bool) {
	s := shape{sizes: sizes, cells: 1}
	for _, n := range sizes {
		hi, lo := bits.Mul64(uint64(s.cells), uint64(n))
		if hi != 0 || lo > uint64(most) {
			return shape{}, false
		}
		s.cells = int(lo)
	}
	s.inner = s.cells
	for s.cut < len(sizes) && s.inner > longestRow {
		s.inner /= sizes[s.cut]
		s.cut++
	}
	return s, true
}

// layout is a marginal's place in a table: the cell of the marginal that a cell of the
// table belongs to is outer[row] + inner[place in the row].
type layout struct {
	columns      []int // ascending
	size         int   // cells of the marginal
	outer, inner []int32
}

// layout lays a marginal over ascending columns of the shape.
func (s shape) layout(columns []int) layout {
	l := layout{columns: columns, size: 1}
	stride := make([]int, len(s.sizes))
	for _, c := range slices.Backward(columns) {
		stride[c] = l.size
		l.size *= s.sizes[c]
	}
	l.outer = offsets(s.sizes[:s.cut], stride[:s.cut], s.cells/s.inner)
	l.inner = offsets(s.sizes[s.cut:], stride[s.cut:], s.inner)
	return l
}

// offsets returns, for each of n codes of the columns, its digits times the strides.
func offsets(sizes, stride []int, n int) []int32 {
	out := make([]int32, n)
	for code := range out {
		sum, rest := 0, code
		for c, size := range slices.Backward(sizes) {
			sum += stride[c] * (rest % size)
			rest /= size
		}
		out[code] = int32(sum)
	}
	return out
}

// sum writes the table's marginal into out.
func sum[number float32 | float64 | int16](l *layout, table []number, out []float64) {
	clear(out)
	n := len(l.inner)
	for row, base := range l.outer {
		to := out[base:]
		for i, v := range table[row*n:][:n] {
			to[l.inner[i]] += float64(v)
		}
	}
}

// scale multiplies the table by a factor for each cell of the marginal.
func (l *layout) scale(table, factor []float64) {
	n := len(l.inner)
	for row, base := range l.outer {
		by := factor[base:]
		for i, in := range l.inner {
			table[row*n+i] *= by[in]
		}
	}
}

// scaleAndSum multiplies the table by a factor for each cell of the marginal l, and
// writes the marginal next of the result into out, in one pass.
//
// Large tables are cut into a fixed number of parts, which are worked on side by side.
// Their sums are added in order, so the result is the same on every machine of one
// architecture.
func (l *layout) scaleAndSum(table, factor []float64, next *layout, out []float64) {
	if len(table) < manyCells || len(l.outer) < parts {
		clear(out)
		l.scaleRows(table, factor, next, out, 0, len(l.outer))
		return
	}
	var sums [parts][]float64
	var work sync.WaitGroup
	for p := range parts {
		work.Go(func() {
			sums[p] = make([]float64, len(out))
			l.scaleRows(table, factor, next, sums[p], p*len(l.outer)/parts, (p+1)*len(l.outer)/parts)
		})
	}
	work.Wait()
	clear(out)
	for _, s := range sums {
		for i, v := range s {
			out[i] += v
		}
	}
}

const (
	manyCells = 1 << 16
	parts     = 4
)

// scaleRows is scaleAndSum for some rows, added to out.
func (l *layout) scaleRows(table, factor []float64, next *layout, out []float64, first, end int) {
	n := len(l.inner)
	inner, nextInner := l.inner, next.inner[:n]
	for row := first; row < end; row++ {
		by, to := factor[l.outer[row]:], out[next.outer[row]:]
		cells := table[row*n:][:n]
		for i, v := range cells {
			v *= by[inner[i]]
			cells[i] = v
			to[nextInner[i]] += v
		}
	}
}

// within returns the sizes of ascending columns.
func within(sizes, columns []int) []int {
	out := make([]int, len(columns))
	for i, c := range columns {
		out[i] = sizes[c]
	}
	return out
}

// product returns the number of cells that columns of these sizes span.
func product(sizes []int) int {
	n := 1
	for _, s := range sizes {
		n *= s
	}
	return n
}

// contains reports whether ascending columns contain all of others.
func contains(columns, others []int) bool {
	for _, c := range others {
		if _, ok := slices.BinarySearch(columns, c); !ok {
			return false
		}
	}
	return true
}

// places returns where each of some columns stands among others that contain them.
func places(columns, among []int) []int {
	out := make([]int, len(columns))
	for i, c := range columns {
		out[i], _ = slices.BinarySearch(among, c)
	}
	return out
}

// subsets calls f with each subset of columns, as a new slice.
func subsets(columns []int, f func([]int)) {
	for bitsOf := range uint64(1) << len(columns) {
		var s []int
		for i, c := range columns {
			if bitsOf>>i&1 != 0 {
				s = append(s, c)
			}
		}
		f(s)
	}
}

// marginalOf returns the marginal over some columns of a small table over others.
func marginalOf(table []float64, sizes, columns []int) []float64 {
	s, _ := newShape(sizes, len(table))
	l := s.layout(columns)
	out := make([]float64, l.size)
	sum(&l, table, out)
	return out
}

// interaction removes from a table its means along every column, which leaves the
// part that no smaller marginal has: the projection onto the pure interaction of its
// columns.
func interaction(table []float64, sizes []int) {
	stride := 1
	for _, n := range slices.Backward(sizes) {
		for block := 0; block < len(table); block += stride * n {
			for i := block; i < block+stride; i++ {
				mean := 0.0
				for j := range n {
					mean += table[i+j*stride]
				}
				mean /= float64(n)
				for j := range n {
					table[i+j*stride] -= mean
				}
			}
		}
		stride *= n
	}
}

// freedom returns the share of a marginal's dimensions that its pure interaction has.
func freedom(sizes []int) float64 {
	f := 1.0
	for _, n := range sizes {
		f *= 1 - 1/float64(n)
	}
	return f
}
