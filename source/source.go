// Package source is the only code that reads private rows. It counts the rows
// of an SQLite table or view: those that a query weighs (Count), all of them
// (Rows), or those of every cell (Cells).
//
// Its results are true counts: they must pass a mechanism before anyone sees
// them. Its errors are safe to show. They name tables and columns, and never
// quote an error of the database, which can carry a value.
//
// A row counts only if every declared column of the table lies in its domain,
// the columns that a query leaves free included. Which declared value a stored
// value stands for is decided in one place, canonical.
package source

import (
	"context"
	"database/sql"

	"dpsql/query"
)

// Querier runs statements: a *sql.DB, *sql.Tx or *sql.Conn. The functions of
// this package read the schema and then the rows, so a transaction is needed
// where another connection may change the schema meanwhile.
type Querier interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
}

// Table says where the rows of a private table come from.
type Table struct {
	Source  string         // an SQLite table or view of the main database
	Columns []query.Column // the declared columns
	Unit    string         // the column that names a row's unit; not supported yet, must be empty
	MaxRows int64          // the rows kept of each unit
	Key     []byte         // chooses the rows kept
}

// Rows returns n, the number of rows inside the declared domains.
func Rows(ctx context.Context, q Querier, t Table) (int64, error) {
	u, err := query.NewUniverse(t.Columns)
	if err != nil {
		return 0, err
	}
	return Count(ctx, q, t, query.All(u))
}
