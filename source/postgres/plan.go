package postgres

import (
	"strings"

	"dpsql/query"
	"dpsql/source"
)

// plan is how the rows of a table that count are grouped: by the columns asked
// for and by those of which only Go tells whether the domain has the value.
type plan struct {
	rel     *relation
	columns []column // all that are declared
	fetch   []int    // the columns grouped by, those asked for first
	asked   int      // how many they are
	where   string   // the conditions that the server checks
	args    [][]byte
}

// columnsOf returns how the relation has the declared columns.
func columnsOf(rel *relation, t source.Table) ([]column, error) {
	out := make([]column, len(t.Columns))
	for i, c := range t.Columns {
		var err error
		if out[i], err = rel.column(c, t.Source); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// newPlan returns the plan for some of the columns.
func newPlan(rel *relation, columns []column, asked []int) plan {
	p := plan{rel: rel, columns: columns, fetch: append([]int(nil), asked...), asked: len(asked)}
	fetched := make([]bool, len(columns))
	for _, c := range asked {
		fetched[c] = true
	}
	var w writer
	var parts []string
	for i, c := range columns {
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
	fields := make([]string, len(p.fetch), len(p.fetch)+1)
	for i, c := range p.fetch {
		fields[i] = p.columns[c].text
	}
	text := "SELECT " + strings.Join(append(fields, "count(*)"), ", ") + p.rel.from() + " WHERE " + p.where
	if len(p.fetch) > 0 {
		text += " GROUP BY " + strings.Join(fields[:len(p.fetch)], ", ")
	}
	return statement{text, p.args}
}

// tuple reads the values of a group, the columns asked for first, and reports
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
