package released

import (
	"iter"
	"math"
	"slices"

	"dpsql/query"
	"dpsql/sqlerr"
)

// MaxClass bounds the number of queries of a class.
const MaxClass = 1 << 22

// Class is the set of queries that a non-interactive release answers: the queries of a
// workload, or all conjunctions that fix all but at most Free columns to one value each.
//
// Monotone keeps only the conjunctions of the paper's section 3.1, over columns of two
// values: Q_S(x) = ∏_{i∈S} x_i, where x_i = 1 if column i has the greater of its values.
// With Free = k the class is C_{d−k}, …, C_d. Its queries have supports of at most 2^k.
// There are Σ_{i≤k} (d choose i) of them; with every value there are Σ_{i≤k} (d choose
// i)·2^{d−i}.
type Class struct {
	Free     int      `json:"free_columns"`
	Monotone bool     `json:"monotone,omitempty"`
	Workload []string `json:"workload,omitempty"` // canonical texts
	universe *query.Universe
	listed   []query.Query
	digests  map[[32]byte]bool
}

// Conjunctions returns the class of conjunctions with at most j free columns.
func Conjunctions(u *query.Universe, j int, monotone bool) (*Class, error) {
	if u.Size() == nil {
		return nil, sqlerr.New(sqlerr.Invalid, "free_columns needs a domain for every column").
			WithHint("name the columns that have domains: ON t (a, b), or give a workload")
	}
	if c := notBinary(u); monotone && c != nil {
		return nil, sqlerr.New(sqlerr.Invalid, "class = monotone needs columns of two values, and %s has %d", c.Name, c.Domain.Size()).
			WithHint("name the columns that have two: ON t (a, b), or leave class out")
	}
	return &Class{Free: j, Monotone: monotone, universe: u}, nil
}

// notBinary returns a column that does not have two values, or nil if all have two.
func notBinary(u *query.Universe) *query.Column {
	for i, c := range u.Columns() {
		if c.Domain.Size() != 2 {
			return &u.Columns()[i]
		}
	}
	return nil
}

// Binary reports whether all columns have two values.
func (c *Class) Binary() bool { return notBinary(c.universe) == nil }

// first returns the smallest ordinal that the class fixes a column to.
func (c *Class) first(d query.Domain) uint64 {
	if c.Monotone {
		return d.Size() - 1
	}
	return 0
}

// Workload returns the class of the given queries, without duplicates.
func Workload(u *query.Universe, queries []query.Query) *Class {
	c := &Class{Free: -1, universe: u, digests: make(map[[32]byte]bool)}
	for _, q := range queries {
		if !c.digests[q.Digest()] {
			c.digests[q.Digest()] = true
			c.listed = append(c.listed, q)
			c.Workload = append(c.Workload, q.String())
		}
	}
	return c
}

// Size returns the number of queries of the class and their largest support.
func (c *Class) Size() (queries, support float64) {
	if c.Free < 0 {
		for _, q := range c.listed {
			m, _ := q.SizeWithin(math.MaxUint64)
			support = max(support, float64(m))
		}
		return float64(len(c.listed)), support
	}
	// by[f] is the number of conjunctions of the columns so far with f of them free.
	// It is the coefficient of z^f in the product of (n + z) over the columns, where n
	// is the number of values that a column can be fixed to.
	by := make([]float64, c.Free+1)
	by[0] = 1
	var sizes []float64
	for _, col := range c.universe.Columns() {
		sizes = append(sizes, float64(col.Domain.Size()))
		for f := c.Free; f >= 0; f-- {
			by[f] *= float64(col.Domain.Size() - c.first(col.Domain))
			if f > 0 {
				by[f] += by[f-1]
			}
		}
	}
	for _, n := range by {
		queries += n
	}
	slices.Sort(sizes)
	support = 1
	for _, d := range sizes[max(0, len(sizes)-c.Free):] {
		support *= d
	}
	return queries, support
}

// MaxWeight returns the largest weight of a query of the class.
func (c *Class) MaxWeight() int64 {
	w := int64(1)
	for _, q := range c.listed {
		w = max(w, q.MaxWeight())
	}
	return w
}

// freeSets lists the sets of at most Free columns, as masks.
func (c *Class) freeSets() [][]bool {
	var out [][]bool
	n := len(c.universe.Columns())
	var extend func(mask []bool, i, left int)
	extend = func(mask []bool, i, left int) {
		if i == n {
			out = append(out, append([]bool{}, mask...))
			return
		}
		extend(mask, i+1, left)
		if left > 0 {
			mask[i] = true
			extend(mask, i+1, left-1)
			mask[i] = false
		}
	}
	extend(make([]bool, n), 0, c.Free)
	return out
}

// Queries yields the queries of the class, always in the same order.
func (c *Class) Queries() iter.Seq[query.Query] {
	return func(yield func(query.Query) bool) {
		if c.Free < 0 {
			for _, q := range c.listed {
				if !yield(q) {
					return
				}
			}
			return
		}
		for _, free := range c.freeSets() {
			if !c.fix(query.All(c.universe), free, len(free), yield) {
				return
			}
		}
	}
}

// fix conjoins q, a condition on the columns from i on, with each choice of a value for
// every column before i that is not free. It goes from the last column to the first, so
// each step adds one node above a diagram that does not change.
func (c *Class) fix(q query.Query, free []bool, i int, yield func(query.Query) bool) bool {
	if i == 0 {
		return yield(q)
	}
	i--
	if free[i] {
		return c.fix(q, free, i, yield)
	}
	d := c.universe.Columns()[i].Domain
	for o := c.first(d); o < d.Size(); o++ {
		r, err := q.And(query.Where(c.universe, i, d.SetOf(d.Value(o))))
		if err != nil || !c.fix(r, free, i, yield) {
			return false
		}
	}
	return true
}

// Contains reports whether q is in the class.
func (c *Class) Contains(q query.Query) bool {
	if c.Free < 0 {
		return c.digests[q.Digest()]
	}
	sets, ok := q.Product()
	if !ok {
		return false
	}
	free := 0
	for _, s := range sets {
		n, _ := s.Size()
		switch {
		case n == 1 && s.Ranges()[0].First >= c.first(s.Domain()):
		case s.IsAll():
			free++
		default:
			return false
		}
	}
	return free <= c.Free
}
