package released

import (
	"fmt"
	"math"
	"math/big"
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
