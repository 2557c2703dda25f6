package released

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"dpsql/query"
)

// Coverage is a query projected to some columns of a release or mechanism, with its
// sparsity there, or the reason why it cannot be answered.
type Coverage struct {
	Query   query.Query
	Size    SupportSize // m over the columns
	Refusal string
}

// Project projects a query to some columns; nil means all.
func Project(q query.Query, columns []int) Coverage {
	if columns == nil {
		return Coverage{Query: q}
	}
	p, ok := q.Project(columns)
	if !ok {
		return Coverage{Refusal: "no column " + missing(q, columns)}
	}
	return Coverage{Query: p}
}

// Over covers a projected query by a release of every support over u: the universe of the
// columns, some with published keys as domain. Values of such a column that are not among the
// keys are OTHER, and u tells none of them from another.
func (see Coverage) Over(u *query.Universe) Coverage {
	if see.Refusal != "" {
		return see
	}
	q, column, ok := see.Query.Recast(u)
	if !ok {
		return Coverage{Query: see.Query, Refusal: u.Columns()[column].Name + " is compared with a text that is none of its published keys, and is in OTHER with all such texts"}
	}
	see.Query, see.Size = q, SupportOf(q)
	if see.Size.Infinite {
		see.Refusal = infinite(q)
	}
	return see
}

// Cover projects a query to some columns; nil means all. It decides from sizes alone
// and enumerates nothing.
func Cover(q query.Query, columns []int, maxSupport uint64) Coverage {
	see := Project(q, columns)
	if see.Refusal != "" {
		return see
	}
	q = see.Query
	if m, ok := q.SizeWithin(maxSupport); ok {
		return Coverage{Query: q, Size: FiniteSupport(m)}
	}
	see.Size = SupportOf(q)
	if see.Size.Infinite {
		see.Refusal = infinite(q)
	} else {
		see.Refusal = fmt.Sprintf("m = %s, above max_support = %d", see.Size, maxSupport)
	}
	return see
}

// missing returns the name of a column that q depends on and that the list lacks.
func missing(q query.Query, columns []int) string {
	has := make(map[int]bool)
	for _, c := range columns {
		has[c] = true
	}
	for _, c := range q.Columns() {
		if !has[c] {
			return q.Universe().Columns()[c].Name
		}
	}
	return ""
}

// infinite names the columns that make the support of q infinite.
func infinite(q query.Query) string {
	var names []string
	for _, c := range q.Universe().Columns() {
		if !c.Domain.Finite() {
			names = append(names, c.Name)
		}
	}
	if len(names) == 1 {
		return "infinite support, as " + names[0] + " has no domain and is not pinned"
	}
	return "infinite support, as " + strings.Join(names, ", ") + " have no domains and are not all pinned"
}

// SupportSize is m, the sparsity of a query over some columns. The zero value stands
// for an unknown m.
type SupportSize struct {
	M        *big.Int // nil if it is infinite or not known
	Infinite bool
}

// SupportOf returns m over all columns of the query's universe.
func SupportOf(q query.Query) SupportSize {
	if m, ok := q.SizeWithin(math.MaxUint64); ok {
		return FiniteSupport(m)
	}
	m := q.Size()
	return SupportSize{m, m == nil}
}

func FiniteSupport(m uint64) SupportSize { return SupportSize{M: new(big.Int).SetUint64(m)} }

func (s SupportSize) Known() bool { return s.M != nil || s.Infinite }

// String returns m in decimal, "infinite", or "" if m is not known.
func (s SupportSize) String() string {
	switch {
	case s.M != nil:
		return s.M.String()
	case s.Infinite:
		return "infinite"
	}
	return ""
}

// below orders sizes, the infinite one last.
func (s SupportSize) below(t SupportSize) bool {
	if s.Infinite || t.Infinite {
		return !s.Infinite
	}
	return s.M.Cmp(t.M) < 0
}

// SupportRange is the smallest and the largest of several sizes.
type SupportRange struct{ Least, most SupportSize }

// Add includes a size, if it is known.
func (r *SupportRange) Add(s SupportSize) {
	if !s.Known() {
		return
	}
	if !r.Least.Known() || s.below(r.Least) {
		r.Least = s
	}
	if !r.most.Known() || r.most.below(s) {
		r.most = s
	}
}

// String returns one number, or the smallest and the largest, or "" if there are none.
func (r SupportRange) String() string {
	least, most := r.Least.String(), r.most.String()
	if least == most {
		return most
	}
	return least + " to " + most
}

// Release is a stored release, as far as its answers depend on it.
type Release struct {
	Kind       Opener
	Name       string
	Columns    []int // of the table; nil for all
	MaxSupport uint64
	Waits      string // why it answers nothing yet; "" if it does
	Load       func(context.Context) (Answers, error)
}

// evaluatedSupport is the largest m for which planning evaluates a release, in about ten
// microseconds. Its margin is then known and not only predicted.
const evaluatedSupport = 1 << 12

// Candidate returns the way to answer a query of the table by the release. It costs nothing: a
// release is public, and was paid for when it was built. statement returns the columns of the
// table that the queries of the statement are on.
func (r Release) Candidate(ctx context.Context, q query.Query, s Settings, explaining bool, statement func() []int) (Candidate, error) {
	c := Candidate{Origin: FromRelease, Name: r.Name, Kind: r.Kind.Name(), Columns: r.Columns}
	see := r.Kind.Cover(q, r.Columns, r.MaxSupport)
	c.Support = see.Size
	if c.Refusal = see.Refusal; c.Refusal != "" {
		return c, nil
	}
	if c.Refusal = r.Waits; c.Refusal != "" {
		return c, nil
	}
	a, err := r.Load(ctx)
	if err != nil {
		return c.Failed(err)
	}
	see = a.Cover(see)
	c.Support = see.Size
	if c.Refusal = see.Refusal; c.Refusal != "" {
		return c, nil
	}
	shows := s.Margins == Simulated
	if c.Allowed(s.Mechanism) {
		asked := func() []int { return standing(statement(), r.Columns) }
		if a, see.Query, err = a.Over(ctx, see.Query, asked, shows); err != nil {
			return c.Failed(err)
		}
	}
	c.Note = a.Note()
	c.Answer = func(ctx context.Context) (Estimate, error) { return Evaluate(ctx, a, see.Query, s) }
	_, few := see.Query.SizeWithin(evaluatedSupport)
	if c.Allowed(s.Mechanism) && (few || a.Shifts() || s.Accuracy > 0) {
		var e Estimate
		e, err = Evaluate(ctx, a, see.Query, s)
		c.Margin, c.Known = e.Error.Reach(), e.Verified
		if e.Simulated != nil && (shows || explaining) { // EXPLAIN has both kinds, but simulates nothing for it
			by, _ := e.Simulated(s.Confidence)
			c.Simulated, c.Shows = by.Reach(), shows
		}
		c.Answer = AnsweredBy(e)
	} else {
		c.Margin, c.Known, err = a.Predict(see.Query, s.Confidence)
	}
	if err != nil {
		return c.Failed(err)
	}
	return c.Marked(s), nil
}

// Marked returns a candidate that says so if it has no margin, and is refused where SET unverified is off.
func (c Candidate) Marked(s Settings) Candidate {
	if c.Known {
		return c
	}
	c.Note = "no error bar for this query: unverified"
	if !s.Unverified {
		c.Refusal = "no error bar for this query, and SET unverified = off"
	}
	return c
}

// standing returns where columns of a table stand among those of a release; nil means all.
// Others it leaves out.
func standing(columns, release []int) (out []int) {
	if release == nil {
		return columns
	}
	for i, c := range release {
		if slices.Contains(columns, c) {
			out = append(out, i)
		}
	}
	return out
}
