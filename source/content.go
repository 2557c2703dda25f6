package source

import (
	"context"

	"dpsql/sqlerr"
)

// Content returns the columns and rows of a table, for joins. It must be called
// for public tables only: its errors depend on the rows. More than limit rows
// are refused as unsupported. Values are int64, float64, string, []byte or nil.
func Content(ctx context.Context, q Querier, table string, limit int) (columns []string, rows [][]any, err error) {
	name, err := resolve(ctx, q, table)
	if err != nil {
		return nil, nil, err
	}
	found, err := q.QueryContext(ctx, "SELECT *"+from(name))
	if err != nil {
		return nil, nil, failure(ctx, err, name)
	}
	defer found.Close()
	if columns, err = found.Columns(); err != nil {
		return nil, nil, failure(ctx, err, name)
	}
	for found.Next() {
		if len(rows) == limit {
			return nil, nil, sqlerr.New(sqlerr.Unsupported, "%s has more than %d rows, too many to join", name, limit).
				WithHint("make a public view of the rows that matter")
		}
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := found.Scan(into...); err != nil {
			return nil, nil, failure(ctx, err, name)
		}
		rows = append(rows, row)
	}
	if err := found.Err(); err != nil {
		return nil, nil, failure(ctx, err, name)
	}
	return columns, rows, nil
}
