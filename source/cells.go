package source

import (
	"context"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Cells implements Reader. The rows stream by once.
func (s sqlite) Cells(ctx context.Context, t Table, columns []int, coder query.Coder, most int) (*Histogram, error) {
	if err := checkPositions(t, columns); err != nil {
		return nil, err
	}
	projected := Table{Source: t.Source, Columns: make([]query.Column, len(columns))}
	for i, c := range columns {
		projected.Columns[i] = t.Columns[c]
	}
	if err := sameColumns(projected, coder.Universe()); err != nil {
		return nil, err
	}
	cells := NewTally(coder, most)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	err := stream(reading, s.q, t, columns, func(tuple []query.Value) {
		if e, ok := coder.Code(tuple); ok && !cells.Add(e, 1) {
			stop()
		}
	})
	if err != nil && !cells.over {
		return nil, err
	}
	return cells.Histogram()
}

// checkPositions refuses columns that the table does not have.
func checkPositions(t Table, columns []int) error {
	for _, c := range columns {
		if c < 0 || c >= len(t.Columns) {
			return sqlerr.New(sqlerr.Internal, "%s has no declared column %d", t.Source, c)
		}
	}
	return nil
}
