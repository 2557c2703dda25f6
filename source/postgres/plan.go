package postgres

import (
	"slices"
	"strings"

	"dpsql/query"
	"dpsql/source"
)

// rowset is where rows are read from: a relation, its parts, or what is kept of
// one.
type rowset struct {
	from    []string // each " FROM … AS r"; together they have all rows
	args    [][]byte // the parameters in them
	columns []column // all that are declared
	limit   string   // a condition that every row must meet; "" where there is none
}

// rowsOf returns the rows of a relation.
func rowsOf(rel *relation, t source.Table) (rowset, error) {
	s := rowset{from: rel.sources(), columns: make([]column, len(t.Columns))}
	for i, c := range t.Columns {
		var err error
		if s.columns[i], err = rel.column(c, t.Source); err != nil {
			return rowset{}, err
		}
	}
	return s, nil
}

// plan is how rows inside the domains are grouped: by the columns asked for and
// by those of which only Go tells whether the domain has the value.
type plan struct {
	rowset
	fetch []int // the columns grouped by, those asked for first
	asked int   // how many they are
	where string
}

// newPlan returns the plan for some of the columns.
func newPlan(rows rowset, asked []int) plan {
	p := plan{rowset: rows, fetch: append([]int(nil), asked...), asked: len(asked)}
	fetched := make([]bool, len(rows.columns))
	for _, c := range asked {
		fetched[c] = true
	}
	w := writer{slices.Clip(rows.args)}
	parts := []string{rows.limit}
	for i, c := range rows.columns {
		condition, ok := w.within(c, c.Domain.All())
		switch {
		case ok:
			parts = append(parts, condition)
		case !fetched[i]:
			p.fetch = append(p.fetch, i)
		}
	}
	p.where, p.args = allOf(parts), w.args
	return p
}

// statement counts the rows by their values.
func (p plan) statement() statement {
	fields := p.fields()
	end := " WHERE " + p.where
	if len(fields) > 0 {
		end += " GROUP BY " + strings.Join(fields, ", ")
	}
	return statement{text: p.each("SELECT "+strings.Join(append(fields, "count(*)"), ", "), end), args: p.args}
}

// each returns a statement over all rows: for each part what it begins and ends
// with.
func (s rowset) each(begin, end string) string {
	parts := make([]string, len(s.from))
	for i, from := range s.from {
		parts[i] = begin + from + end
	}
	return strings.Join(parts, " UNION ALL ")
}

func (p plan) fields() []string {
	fields := make([]string, len(p.fetch), len(p.fetch)+1)
	for i, c := range p.fetch {
		fields[i] = p.columns[c].text
	}
	return fields
}

// tuple reads the values of a row, the columns asked for first, and reports
// whether all of them lie in their domains.
func (p plan) tuple(row [][]byte, into []query.Value) bool {
	for i, c := range p.fetch {
		v, ok := query.Null(), true
		if row[i] != nil {
			v, ok = p.columns[c].value(row[i])
		}
		if !ok || !p.columns[c].Domain.Contains(v) {
			return false
		}
		into[i] = v
	}
	return true
}
