package engine

import (
	"fmt"
	"strings"

	"dpsql/query"
)

// coverage is what a release or mechanism on some columns sees of a query: the
// query projected to them and its sparsity there, or why it cannot answer.
type coverage struct {
	query   query.Query
	size    supportSize // m over the columns
	refusal string
}

// cover decides from sizes alone; nothing is enumerated. Nil columns are all.
func cover(q query.Query, columns []int, maxSupport uint64) coverage {
	if columns != nil {
		p, ok := q.Project(columns)
		if !ok {
			return coverage{refusal: "no column " + missing(q, columns)}
		}
		q = p
	}
	if m, ok := q.SizeWithin(maxSupport); ok {
		return coverage{query: q, size: finiteSupport(m)}
	}
	see := coverage{query: q, size: supportOf(q)}
	if see.size.infinite {
		see.refusal = infinite(q)
	} else {
		see.refusal = fmt.Sprintf("m = %s, above max_support = %d", see.size, maxSupport)
	}
	return see
}

// missing names a column that q depends on and the list does not have.
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

// infinite says which columns make the support of q infinite.
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

// columnNames lists the columns that a release or mechanism is over, or a candidate
// looks at; nil are all.
func columnNames(t *table, columns []int) string {
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
func (t *table) over(columns []int) *query.Universe {
	if columns == nil {
		return t.universe
	}
	return t.universe.Project(columns)
}
