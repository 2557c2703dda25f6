package source

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"dpsql/query"
)

// stream calls f with the canonical values of the given columns of each row
// inside the declared domains or, where the table has a unit, of each such row
// that is kept. The tuple is reused between calls.
func stream(ctx context.Context, q Querier, t Table, columns []int, f func([]query.Value)) error {
	if t.Unit != "" {
		return streamKept(ctx, q, t, condition{text: "1"}, columns, f)
	}
	p := newPlan(t, columns)
	found, err := q.QueryContext(ctx, p.text(t.Source), p.where.args...)
	if err != nil {
		return failure(ctx, err, t.Source)
	}
	defer found.Close()
	if err := p.each(found, len(columns), f); err != nil {
		return failure(ctx, err, t.Source)
	}
	return nil
}

// plan says how the rows of a stream are read: the columns fetched, those asked
// for first, and the domain conditions on all others, which SQLite checks.
type plan struct {
	fetch []query.Column
	where condition
}

func newPlan(t Table, columns []int) plan {
	var p plan
	wanted := make([]bool, len(t.Columns))
	for _, c := range columns {
		wanted[c] = true
		p.fetch = append(p.fetch, t.Columns[c])
	}
	var checks []condition
	arguments := 0
	for i, c := range t.Columns {
		if wanted[i] {
			continue
		}
		m, ok := newMembers(c.Domain.All())
		check := m.exactly(c)
		if arguments += len(check.args); !ok || arguments > maxVariables {
			arguments -= len(check.args)
			p.fetch = append(p.fetch, c) // its domain is tested in Go
			continue
		}
		checks = append(checks, check)
	}
	p.where = joined(checks, " AND ", "1")
	return p
}

func (p plan) text(source string) string {
	return "SELECT " + p.fields() + from(source) + " WHERE " + p.where.text
}

func (p plan) fields() string {
	fields := make([]string, len(p.fetch))
	for i, c := range p.fetch {
		fields[i] = canonical(columnOf(c.Name), c.Domain.Type())
	}
	return strings.Join(fields, ", ")
}

func (p plan) each(found *sql.Rows, asked int, f func([]query.Value)) error {
	row := p.newRow()
	for found.Next() {
		if err := found.Scan(row.into...); err != nil {
			return err
		}
		if p.inside(row.cells, row.tuple) {
			f(row.tuple[:asked])
		}
	}
	return found.Err()
}

// row is where a row is read into.
type row struct {
	cells []cell
	tuple []query.Value // of the cells, once they are found inside
	into  []any         // the cells, and what else is read
}

func (p plan) newRow(more ...any) row {
	r := row{cells: make([]cell, len(p.fetch)), tuple: make([]query.Value, len(p.fetch))}
	for i := range r.cells {
		r.into = append(r.into, &r.cells[i])
	}
	r.into = append(r.into, more...)
	return r
}

// inside fills the tuple and reports whether all of it lies in the domains.
func (p plan) inside(cells []cell, tuple []query.Value) bool {
	for i, c := range cells {
		if !c.ok || !p.fetch[i].Domain.Contains(c.value) {
			return false
		}
		tuple[i] = c.value
	}
	return true
}

// cell receives a canonical value from the driver.
type cell struct {
	value query.Value
	ok    bool // false for noValue
}

// Scan implements sql.Scanner.
func (c *cell) Scan(from any) error {
	c.ok = true
	switch v := from.(type) {
	case nil:
		c.value = query.Null()
	case int64:
		c.value = query.Int(v)
	case string:
		c.value = query.Text(v)
	case []byte:
		*c = cell{}
	default:
		return errors.New("a canonical value of another type")
	}
	return nil
}
