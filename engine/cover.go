package engine

import (
	"fmt"
	"strings"

	"dpsql/query"
	"dpsql/sqlerr"
)

// coverage is what a release or mechanism on some columns sees of a query: the
// query projected to them and its sparsity there, or why it cannot answer.
type coverage struct {
	query   query.Query
	size    string // m over the columns, as people read it
	refusal string
}

// cover decides from sizes alone; nothing is enumerated. Nil columns are all.
func cover(q query.Query, columns []int, maxSupport uint64) coverage {
	if columns != nil {
		p, ok := q.Project(columns)
		if !ok {
			return coverage{refusal: "it does not have the column " + missing(q, columns)}
		}
		q = p
	}
	see := coverage{query: q, size: supportText(q)}
	if q.Size() == nil {
		see.refusal = infinite(q)
	} else if _, ok := q.SizeWithin(maxSupport); !ok {
		see.refusal = fmt.Sprintf("m = %s exceeds its max_support of %d", see.size, maxSupport)
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
		return "its support is infinite (" + names[0] + " has no domain and is not pinned)"
	}
	return "its support is infinite (" + strings.Join(names, ", ") + " have no domains and are not all pinned)"
}

// columnNames lists the columns of a release or mechanism; nil are all.
func columnNames(t *table, columns []int) string {
	if columns == nil {
		return "all"
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

// uncovered says why no candidate answers, and what would.
func uncovered(candidates []candidate, r request) error {
	s := r.settings
	var direct *candidate
	var reasons []string
	named := false
	for i, c := range candidates {
		switch {
		case c.kind == "direct" && c.name == "direct":
			direct = &candidates[i]
		case !c.allowed(s.Mechanism):
			continue
		case c.refusal != "":
			reasons = append(reasons, c.name+": "+c.refusal)
		case !c.known:
			reasons = append(reasons, c.name+" has no error bar for it")
		default:
			reasons = append(reasons, fmt.Sprintf("%s reaches ±%s", c.name, counts(c.margin)))
		}
		named = named || c.allowed(s.Mechanism)
	}
	if direct != nil && direct.allowed(s.Mechanism) && s.Accuracy > 0 {
		return sqlerr.New(sqlerr.Budget, "%s", direct.refusal).WithHint("SHOW BUDGET tells what is left; a larger accuracy costs less")
	}
	if !named && s.Mechanism != "auto" && s.Mechanism != "smw" && s.Mechanism != "projection" {
		return sqlerr.New(sqlerr.Unknown, "%s has no release or mechanism %s", r.table.Name, s.Mechanism).
			WithHint("SET mechanism = auto")
	}
	e := sqlerr.New(sqlerr.Uncovered, "no release or mechanism covers this query%s", because(reasons, s))
	if direct != nil && s.Mechanism == "auto" {
		return e.WithHint("%s", direct.note)
	}
	return e.WithHint("SET mechanism = auto tries every way")
}

func because(reasons []string, s Settings) string {
	if len(reasons) == 0 {
		return ": the table has none"
	}
	within := ""
	if s.Accuracy > 0 {
		within = fmt.Sprintf(" within ±%s", counts(s.Accuracy))
	}
	return within + ": " + strings.Join(reasons, "; ")
}
