package source

import (
	"context"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Cells returns how many rows fall into each cell of the universe projected to
// the given columns, by the cell's name under the coder, which is over that
// universe. It stops with ErrTooManyCells when more than most are occupied. A row with any declared column outside its
// domain, projected or not, is in no cell, and neither is one that is not kept
// of its unit.
func Cells(ctx context.Context, q Querier, t Table, columns []int, coder query.Coder, most int) (*Histogram, error) {
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
	cells := newTally(coder.Universe().Coded(), most)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	err := stream(reading, q, t, columns, func(tuple []query.Value) {
		if e, ok := coder.Code(tuple); ok && !cells.add(e) {
			stop()
		}
	})
	switch {
	case cells.over:
		return nil, ErrTooManyCells
	case err != nil:
		return nil, err
	}
	return newHistogram(coder, cells), nil
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
