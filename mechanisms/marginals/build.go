package marginals

import (
	"context"
	"iter"

	"dpsql/noise"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Measurement is what is private of a release: the exact marginals, until Perturb adds
// the noise.
type Measurement struct {
	u     *query.Universe
	p     Params
	shape shape
	cells [][]int64
}

// Measure sums cells, each record's code with its count, to the marginals of p. The
// result is as private as the cells; Perturb makes it public. Parameters that no release
// over u can have are refused. A sum of counts above 63 bits is an internal error.
func Measure(u *query.Universe, p Params, cells iter.Seq2[query.Element, int64]) (*Measurement, error) {
	if err := p.check(u); err != nil {
		return nil, err
	}
	m := &Measurement{u: u, p: p}
	m.shape, _ = newShape(sizesOf(u), MostTable)
	var layouts []layout
	for _, set := range p.Sets {
		l := m.shape.layout(set)
		layouts = append(layouts, l)
		m.cells = append(m.cells, make([]int64, l.size))
	}
	for x, count := range cells {
		if x.Hi != 0 || x.Lo >= uint64(m.shape.cells) || count < 0 {
			return nil, sqlerr.New(sqlerr.Internal, "a cell lies outside the universe")
		}
		row, place := int(x.Lo)/m.shape.inner, int(x.Lo)%m.shape.inner
		for i, l := range layouts {
			c := l.outer[row] + l.inner[place]
			if m.cells[i][c] += count; m.cells[i][c] < 0 {
				return nil, tooLarge()
			}
		}
	}
	return m, nil
}

// Perturb adds an independent draw of the law to every cell and fits a table to the
// result. It can be called once. When ctx is done the fit ends, and the error has code
// cancelled: by then the noise is drawn, and the measurement is spent.
func (m *Measurement) Perturb(ctx context.Context, src *noise.Source) (*Release, error) {
	if m.cells == nil {
		return nil, sqlerr.New(sqlerr.Internal, "the release is built already")
	}
	noisy := m.cells
	m.cells = nil
	if err := perturb(noisy, m.p.Law, src); err != nil {
		return nil, err
	}
	r := newRelease(m.u, m.p, noisy)
	x, stages, err := fit(ctx, r.shape, r.total(), r.observations(), byRisk)
	if err != nil {
		return nil, err
	}
	r.stages, r.table = stages, make([]float32, len(x))
	for i, v := range x {
		r.table[i] = float32(v)
	}
	return r, nil
}

// perturb adds an independent draw of the law to every cell.
func perturb(marginals [][]int64, law noise.Law, src *noise.Source) error {
	table, wide := noise.NewTable(law)
	for _, cells := range marginals {
		draws := make([]int64, len(cells))
		if wide != nil { // the law has no table
			if !fill(draws, law, src) {
				return noRandomness()
			}
		} else if table.Fill(draws, src) != nil {
			return noRandomness()
		}
		for c, d := range draws {
			sum := cells[c] + d
			if (sum > cells[c]) != (d > 0) && d != 0 {
				return tooLarge()
			}
			cells[c] = sum
		}
	}
	return nil
}

// fill fills a slice by the law's exact sampler.
func fill(dst []int64, law noise.Law, src *noise.Source) bool {
	for i := range dst {
		var err error
		if dst[i], err = law.Draw(src); err != nil {
			return false
		}
	}
	return true
}

func noRandomness() error {
	return sqlerr.New(sqlerr.IO, "the operating system gave no random numbers")
}

func tooLarge() error {
	return sqlerr.New(sqlerr.Internal, "the counts of a release do not fit 64 bits")
}
