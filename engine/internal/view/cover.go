package view

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"dpsql/query"
)

// Coverage is a query as a release or mechanism over some columns sees it: projected to
// them, with its sparsity there, or with the reason why it cannot be answered.
type Coverage struct {
	Query   query.Query
	Size    SupportSize // m over the columns
	Refusal string
}

// Cover decides from sizes alone; nothing is enumerated. Nil columns are all.
func Cover(q query.Query, columns []int, maxSupport uint64) Coverage {
	if columns != nil {
		p, ok := q.Project(columns)
		if !ok {
			return Coverage{Refusal: "no column " + missing(q, columns)}
		}
		q = p
	}
	if m, ok := q.SizeWithin(maxSupport); ok {
		return Coverage{Query: q, Size: FiniteSupport(m)}
	}
	see := Coverage{Query: q, Size: SupportOf(q)}
	if see.Size.Infinite {
		see.Refusal = infinite(q)
	} else {
		see.Refusal = fmt.Sprintf("m = %s, above max_support = %d", see.Size, maxSupport)
	}
	return see
}

// missing returns the name of a column that q depends on and the list lacks.
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

// infinite returns which columns make the support of q infinite.
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

// ColumnNames lists the columns that a release or mechanism is over, or a candidate
// looks at; nil are all.
func ColumnNames(t *Table, columns []int) string {
	switch {
	case columns == nil:
		return "all"
	case len(columns) == 0:
		return "none"
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = t.Columns[c].Name
	}
	return strings.Join(names, ", ")
}

// universe returns the universe that a release or mechanism is over.
func (t *Table) Over(columns []int) *query.Universe {
	if columns == nil {
		return t.Universe
	}
	return t.Universe.Project(columns)
}

// SupportSize is m, the sparsity of a query over the columns that something
// looks at. The zero value is not known.
type SupportSize struct {
	M        *big.Int // nil where it is infinite, or not known
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

// String returns m in decimal, or "infinite"; "" where it is not known.
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

// SupportRange is the least and the largest of several sizes.
type SupportRange struct{ Least, most SupportSize }

// Add takes in a size, if it is known.
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

// String writes one number, or the least and the largest; "" where there are none.
func (r SupportRange) String() string {
	least, most := r.Least.String(), r.most.String()
	if least == most {
		return most
	}
	return least + " to " + most
}
