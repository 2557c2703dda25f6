// Package workload makes the data sets and queries of the benchmarks: tables of cell
// counts, real or drawn from a stated law with a stated seed, and lists of queries with
// their true counts. Nothing here is private. math/rand draws data here, and never
// noise.
package workload

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"dpsql/query"
)

// Cell is an occupied cell of a coded universe.
type Cell struct {
	Code  uint64
	Count int64
}

// Table is a table as a mechanism sees it: the counts of its cells.
type Table struct {
	Name     string
	Universe *query.Universe // coded: |X| < 2^61 − 1
	Rows     int64
	Cells    []Cell // the occupied cells, by ascending code

	counts map[uint64]int64
}

// Query is a linear query of weights 0 and 1 with its true count.
type Query struct {
	query.Query
	Count int64
}

// Workload is a list of queries on a table.
type Workload struct {
	Name    string
	Table   *Table
	Queries []Query
}

// First returns the workload of the first k queries, or all if there are fewer.
func (w *Workload) First(k int) *Workload {
	return &Workload{w.Name, w.Table, w.Queries[:min(k, len(w.Queries))]}
}

// Sample returns k of the queries, drawn without replacement, or all if there are fewer.
func (w *Workload) Sample(k int, seed uint64) *Workload {
	queries := slices.Clone(w.Queries)
	shuffle(queries, min(k, len(queries)), NewSplitmix(seed))
	return (&Workload{w.Name, w.Table, queries}).First(k)
}

// MaxSupport returns the largest sparsity m of a query.
func (w *Workload) MaxSupport() uint64 {
	most := uint64(1)
	for _, q := range w.Queries {
		most = max(most, q.Size().Uint64())
	}
	return most
}

// newTable sorts the counts.
func newTable(name string, u *query.Universe, counts map[uint64]int64) *Table {
	t := &Table{Name: name, Universe: u, counts: counts}
	for code, count := range counts {
		t.Cells = append(t.Cells, Cell{code, count})
		t.Rows += count
	}
	slices.SortFunc(t.Cells, func(a, b Cell) int { return cmp.Compare(a.Code, b.Code) })
	return t
}

// Size returns |X|.
func (t *Table) Size() uint64 { return t.Universe.Size().Uint64() }

// Elements yields the occupied cells in the form that mechanisms take.
func (t *Table) Elements() iter.Seq2[query.Element, int64] {
	return func(yield func(query.Element, int64) bool) {
		for _, c := range t.Cells {
			if !yield(query.Element{Lo: c.Code}, c.Count) {
				return
			}
		}
	}
}

// Count returns the true count of a query.
func (t *Table) Count(q query.Query) (sum int64) {
	for r, w := range q.Runs() {
		if r.Len > uint64(len(t.Cells)) { // a long run: look up the cells in it
			from, _ := slices.BinarySearchFunc(t.Cells, r.Start, func(c Cell, code uint64) int { return cmp.Compare(c.Code, code) })
			for _, c := range t.Cells[from:] {
				if c.Code >= r.Start+r.Len {
					break
				}
				sum += w * c.Count
			}
			continue
		}
		for x := r.Start; x < r.Start+r.Len; x++ {
			sum += w * t.counts[x]
		}
	}
	return sum
}

// At returns the count of a cell.
func (t *Table) At(code uint64) int64 { return t.counts[code] }

// Project returns the table over some of its columns.
func (t *Table) Project(columns []int) *Table {
	all := t.Universe.Columns()
	counts := make(map[uint64]int64)
	ordinals := make([]uint64, len(all))
	for _, c := range t.Cells {
		t.Ordinals(c.Code, ordinals)
		code := uint64(0)
		for _, i := range columns {
			code = code*all[i].Domain.Size() + ordinals[i]
		}
		counts[code] += c.Count
	}
	return newTable(t.Name, t.Universe.Project(columns), counts)
}

// Ordinals splits a code into the ordinals of its values.
func (t *Table) Ordinals(code uint64, out []uint64) {
	columns := t.Universe.Columns()
	for i := len(columns) - 1; i >= 0; i-- {
		size := columns[i].Domain.Size()
		out[i] = code % size
		code /= size
	}
}

// grid returns the universe of columns with the values 0 … size−1.
func grid(names []string, sizes []int64) (*query.Universe, error) {
	columns := make([]query.Column, len(names))
	for i, name := range names {
		d, err := query.NewRange(0, sizes[i]-1, false)
		if err != nil {
			return nil, err
		}
		columns[i] = query.Column{Name: name, Domain: d}
	}
	return query.NewUniverse(columns)
}

// Line returns the universe of one column, 0 … size−1. The mechanisms see only codes,
// so moving a table to a line of the same size changes nothing for them, and any list
// of its cells is a query.
func Line(size uint64) (*query.Universe, error) {
	if size > query.MaxDomain/2 {
		return nil, fmt.Errorf("a line of %d cells is too long", size)
	}
	return grid([]string{"cell"}, []int64{int64(size)})
}

// OnLine returns the same table over a universe of one column.
func (t *Table) OnLine() (*Table, error) {
	u, err := Line(t.Size())
	return &Table{t.Name, u, t.Rows, t.Cells, t.counts}, err
}

// product returns the conjunction that confines each listed column to values.
func product(u *query.Universe, columns []int, values [][]uint64) (query.Query, error) {
	q := query.All(u)
	for i, c := range columns {
		var listed []query.Value
		for _, v := range values[i] {
			listed = append(listed, query.Int(int64(v)))
		}
		var err error
		if q, err = q.And(query.Where(u, c, u.Columns()[c].Domain.SetOf(listed...))); err != nil {
			return q, err
		}
	}
	return q, nil
}
