package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"slices"

	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/view"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// maxClass bounds the queries that a non-interactive release goes through.
const maxClass = 1 << 22

// class is the set of queries that a non-interactive release answers: all
// conjunctions that fix every column but up to Free of them to one value, or
// those of a workload.
//
// Monotone keeps the conjunctions of the paper's section 3.1 alone, over columns
// of two values: Q_S(x) = ∏_{i∈S} x_i, where x_i says that column i has the
// greater of its values. With Free = k they are C_{d−k}, …, C_d: they have
// supports of 2^k at most, and there are Σ_{i≤k} (d choose i) of them, where
// there are Σ_{i≤k} (d choose i)·2^{d−i} with every value.
type class struct {
	Free     int      `json:"free_columns"`
	Monotone bool     `json:"monotone,omitempty"`
	Workload []string `json:"workload,omitempty"` // canonical texts
	universe *query.Universe
	listed   []query.Query
	digests  map[[32]byte]bool
}

// freeColumns returns the class of conjunctions with at most j free columns.
func freeColumns(u *query.Universe, j int, monotone bool) (*class, error) {
	if u.Size() == nil {
		return nil, sqlerr.New(sqlerr.Invalid, "free_columns needs a domain for every column").
			WithHint("name the columns that have domains: ON t (a, b), or give a workload")
	}
	if c := notBinary(u); monotone && c != nil {
		return nil, sqlerr.New(sqlerr.Invalid, "class = monotone needs columns of two values, and %s has %d", c.Name, c.Domain.Size()).
			WithHint("name the columns that have two: ON t (a, b), or leave class out")
	}
	return &class{Free: j, Monotone: monotone, universe: u}, nil
}

// notBinary returns a column that does not have two values, nil where all do.
func notBinary(u *query.Universe) *query.Column {
	for i, c := range u.Columns() {
		if c.Domain.Size() != 2 {
			return &u.Columns()[i]
		}
	}
	return nil
}

// first returns the ordinal of the least value that the class fixes a column to.
func (c *class) first(d query.Domain) uint64 {
	if c.Monotone {
		return d.Size() - 1
	}
	return 0
}

// listedClass returns the class of the given queries, without repetitions.
func listedClass(u *query.Universe, queries []query.Query) *class {
	c := &class{Free: -1, universe: u, digests: make(map[[32]byte]bool)}
	for _, q := range queries {
		if !c.digests[q.Digest()] {
			c.digests[q.Digest()] = true
			c.listed = append(c.listed, q)
			c.Workload = append(c.Workload, q.String())
		}
	}
	return c
}

// size returns the number of queries and the largest support among them.
func (c *class) size() (queries, support float64) {
	if c.Free < 0 {
		for _, q := range c.listed {
			m, _ := q.SizeWithin(math.MaxUint64)
			support = max(support, float64(m))
		}
		return float64(len(c.listed)), support
	}
	// by[f] counts the conjunctions with f free columns among those seen so far:
	// the coefficients of the product of (n + z) over the columns, n being how
	// many values each is fixed to.
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

// maxWeight returns the largest weight of a query of the class.
func (c *class) maxWeight() int64 {
	w := int64(1)
	for _, q := range c.listed {
		w = max(w, q.MaxWeight())
	}
	return w
}

// freeSets lists the sets of at most Free columns, as masks.
func (c *class) freeSets() [][]bool {
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

// queries yields the class, in the same order each time.
func (c *class) queries() iter.Seq[query.Query] {
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

// fix extends q, which is about the columns from i on, by a value of each column
// before it that is not free. The last column comes first, so that each step adds
// one node above a diagram that stays as it is.
func (c *class) fix(q query.Query, free []bool, i int, yield func(query.Query) bool) bool {
	if i == 0 {
		return yield(q)
	}
	i--
	if free[i] {
		return c.fix(q, free, i, yield)
	}
	d := c.universe.Columns()[i].Domain
	for o := c.first(d); o < d.Size(); o++ {
		r, err := q.And(query.Where(c.universe, i, d.Of(d.Value(o))))
		if err != nil || !c.fix(r, free, i, yield) {
			return false
		}
	}
	return true
}

// contains reports whether the release speaks of q.
func (c *class) contains(q query.Query) bool {
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

// workload reads a file of SELECT statements over the table.
func (s *Session) workload(ctx context.Context, name string, t *view.Table, columns []int) (*class, error) {
	f, err := os.Open(s.path(name))
	if err != nil {
		return nil, sqlerr.New(sqlerr.IO, "cannot read the workload %s", name).WithHint("file names are relative to the script")
	}
	defer f.Close()
	var queries []query.Query
	scanner := sqlfront.NewScanner(f)
	for {
		in, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		asked, err := s.workloadQueries(ctx, in, t, columns)
		if err != nil {
			return nil, inWorkload(err, name, in)
		}
		queries = append(queries, asked...)
	}
	if len(queries) == 0 || len(queries) > maxClass {
		return nil, sqlerr.New(sqlerr.Invalid, "the workload has %d queries; it can have 1 to %d", len(queries), maxClass)
	}
	return listedClass(t.Over(columns), queries), nil
}

// workloadQueries returns what a statement of a workload asks: one query, or
// one for each group and aggregate.
func (s *Session) workloadQueries(ctx context.Context, in sqlfront.Input, t *view.Table, columns []int) ([]query.Query, error) {
	statement, err := sqlfront.Parse(in.Text)
	if err != nil {
		return nil, err
	}
	sel, ok := statement.(*sqlfront.Select)
	if !ok || !slices.ContainsFunc(sel.Tables, func(n sqlfront.Name) bool { return query.SameName(n.Text, t.Name) }) {
		return nil, sqlerr.New(sqlerr.Invalid, "a workload holds SELECT statements on %s only", t.Name)
	}
	b, err := sqlfront.Bind(sel, schemas.Bindable(ctx, s.db.store, t), nil)
	if err != nil {
		return nil, err
	}
	queries := make([]query.Query, len(b.Queries))
	for i, q := range b.Queries {
		see := view.Cover(q, columns, maxSupport)
		if see.Refusal != "" {
			return nil, sqlerr.New(sqlerr.Invalid, "the release cannot hold this query: %s", see.Refusal)
		}
		queries[i] = see.Query
	}
	return queries, nil
}

// inWorkload says where in the file an error is.
func inWorkload(err error, name string, in sqlfront.Input) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	line, column := in.Locate(e.Position)
	c.Message = fmt.Sprintf("%s:%d:%d: %s", name, line, column, e.Message)
	c.Position = 0
	return &c
}
