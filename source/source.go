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
// value stands for is decided in one place, canonical. Of a table with a unit, a
// row counts only if it has a unit, and is one of at most L that are kept of it:
// chosen once for the table, whatever is counted (see Table).
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

// Table says where the rows of a private table come from, and which of them
// count.
//
// Without Unit a row is a unit, and all rows inside the domains count. With it,
// rows outside the domains and rows whose unit is NULL are dropped first. Then
// at most MaxRows rows of each unit are kept: those of the lowest HMAC-SHA256,
// under Key, of the unit, the row's canonical declared values and its number
// among the unit's equal rows. Databases with the same multiset of units and declared
// values thus keep the same multiset of rows, and adding or removing a unit
// changes a count by at most MaxRows times the query's largest weight, and the
// cells by at most MaxRows in all.
//
// Units are equal as stored values are under SQLite's = with the BINARY
// collation and no affinity: 1 and 1.0 are one unit; 1 and '1', 'a' and 'A', and
// 'a' and the blob x'61' are two.
type Table struct {
	Source  string         // an SQLite table or view of the main database
	Columns []query.Column // the declared columns
	Unit    string         // the column that names a row's unit, declared or not; "" where a unit is a row
	MaxRows int64          // L ≥ 1, the rows kept of each unit; without Unit ignored
	Key     []byte         // secret and of one table, chooses the rows kept; without Unit ignored
}

// Rows returns n, the number of rows that count.
func Rows(ctx context.Context, q Querier, t Table) (int64, error) {
	u, err := query.NewUniverse(t.Columns)
	if err != nil {
		return 0, err
	}
	return Count(ctx, q, t, query.All(u))
}
