package source

import (
	"context"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Cells implements Reader. The rows stream by once.
func (s sqlite) Cells(ctx context.Context, t Table, columns []int, coder query.Coder, most int) (*Histogram, error) {
	projected, err := t.Project(columns)
	if err == nil {
		err = projected.Over(coder.Universe())
	}
	if err != nil {
		return nil, err
	}
	cells := NewTally(coder, most)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	err = stream(reading, s.q, t, columns, func(tuple []query.Value) {
		if e, ok := coder.Code(tuple); ok && !cells.Add(e, 1) {
			stop()
		}
	})
	if err != nil && !cells.over {
		return nil, err
	}
	return cells.Histogram()
}

// Project returns the table with the columns at the given positions alone, and
// refuses, as internal, those that it does not have.
func (t Table) Project(columns []int) (Table, error) {
	projected := t
	projected.Columns = make([]query.Column, len(columns))
	for i, c := range columns {
		if c < 0 || c >= len(t.Columns) {
			return Table{}, sqlerr.New(sqlerr.Internal, "%s has no declared column %d", t.Source, c)
		}
		projected.Columns[i] = t.Columns[c]
	}
	return projected, nil
}
