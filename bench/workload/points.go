package workload

import (
	"fmt"
	"math/rand/v2"
	"sort"

	"dpsql/query"
)

// Family says how the cells of a list query are drawn.
type Family string

// The families. Uniform draws cells of the whole universe. Occupied draws cells that
// hold a row, each with equal probability. ByRows draws half of the cells by rows, a
// cell of c rows with weight c, and half from the universe.
const (
	Uniform  Family = "uniform"
	Occupied Family = "occupied"
	ByRows   Family = "by rows"
)

// Points returns k queries that list m distinct cells of a table on a line.
func Points(t *Table, f Family, m, k int, seed uint64) (*Workload, error) {
	if len(t.Universe.Columns()) != 1 {
		return nil, fmt.Errorf("%s is not on a line", t.Name)
	}
	if available := t.available(f); uint64(m) > available {
		return nil, fmt.Errorf("%s has only %d cells to draw %d from", t.Name, available, m)
	}
	p := picker{table: t, random: newRand(seed, pointsStream)}
	for _, c := range t.Cells {
		p.rows += c.Count
		p.upTo = append(p.upTo, p.rows)
	}
	w := &Workload{Name: string(f), Table: t}
	for range k {
		w.Queries = append(w.Queries, p.query(f, m))
	}
	return w, nil
}

func (t *Table) available(f Family) uint64 {
	if f == Occupied {
		return uint64(len(t.Cells))
	}
	return t.Size()
}

type picker struct {
	table  *Table
	random *rand.Rand
	rows   int64
	upTo   []int64 // rows in the cells up to this one
}

func (p *picker) query(f Family, m int) Query {
	seen := make(map[uint64]bool, m)
	var values []query.Value
	count := int64(0)
	for tries := 0; len(seen) < m; tries++ {
		from := f
		// Few cells may hold most of the rows. After many draws in vain the rest comes
		// from the universe.
		if f == ByRows && (len(seen) >= m/2+m%2 || tries > 100*m) {
			from = Uniform
		}
		x := p.cell(from)
		if seen[x] {
			continue
		}
		seen[x] = true
		values = append(values, query.Int(int64(x)))
		count += p.table.At(x)
	}
	u := p.table.Universe
	return Query{query.Where(u, 0, u.Columns()[0].Domain.SetOf(values...)), count}
}

func (p *picker) cell(f Family) uint64 {
	switch f {
	case Occupied:
		return p.table.Cells[p.random.IntN(len(p.table.Cells))].Code
	case ByRows:
		row := p.random.Int64N(p.rows)
		i := sort.Search(len(p.upTo), func(i int) bool { return p.upTo[i] > row })
		return p.table.Cells[i].Code
	}
	return p.random.Uint64N(p.table.Size())
}
