// Package post makes the rows of a result out of private answers.
//
// What it computes is post-processing: it gets integers that were released and
// their error bars, the declared values that groups are made of, and the
// expressions of the statement. It reads no table, and whatever it does with
// the numbers costs no privacy (Dwork and Roth 2014).
//
// Values are int64, float64, string and nil for NULL, and are computed as
// SQLite computes them. A margin is a half-width around a value that holds the
// true value, the one that exact answers would give, at the confidence asked
// for, each for its own column and row.
package post

import "dpsql/query"

// Answer is a private answer to one linear query.
type Answer struct {
	Value int64
	// HalfWidth returns how far the true value can be from Value at a confidence
	// in (0, 1), and false where nothing is promised.
	HalfWidth func(confidence float64) (float64, bool)
}

// Group is what a row of the result is made of.
type Group struct {
	Keys    []query.Value // the values of the grouped expressions
	Answers []Answer      // to the statement's linear queries
}

// Type is the SQL type of a column of a result.
type Type string

// The types.
const (
	Integer Type = "INTEGER"
	Real    Type = "REAL"
	Text    Type = "TEXT"
)

// Column is one column of the result.
type Column struct {
	Name string
	Of   Expr
}

// Order is one term of ORDER BY.
type Order struct {
	By         Expr
	Descending bool
}

// Program makes rows of groups: the part of a SELECT that follows the answers.
type Program struct {
	Columns  []Column
	Having   Expr // nil: every group stays
	Distinct bool
	Order    []Order
	Offset   int64
	Limit    int64 // negative: no limit
}

// Table is the rows of a result and, in the same shape, their margins: float64,
// nil where a value has none or is itself public.
type Table struct{ Rows, Margins [][]any }
