package answer

import "time"

// Result is what one statement gives: rows for those that have some, and for
// answers what is to be known about them.
type Result struct {
	Columns  []Column // empty for statements without rows
	Rows     [][]any  // int64, float64, string or nil
	Answer   *Answer  // nil unless the rows are a private answer
	Warnings []string
	Elapsed  time.Duration // how long the statement took; 0 for the analyst role, which is told no times
}

// Column is a column of a result.
type Column struct {
	Name string
	Type string // "INTEGER", "REAL" or "TEXT"
}

// Answer says how a differentially private answer came about.
type Answer struct {
	Margins    [][]any // shaped as Rows: half-widths (float64), nil where none is known or the value is public
	NotNull    []bool  // one a column: no value of it can be NULL
	Confidence float64 // that a true value lies within its margin, each for itself
	Via        string  // the release or mechanism, "direct", or "constant" for an empty query; several are joined by ", "
	Mechanism  string  // "projection", "smw", "direct" or "constant"; several are joined by ", "
	Support    string  // m, the sparsity of the query, in decimal, or "infinite"; of several queries "least to largest"
	Cost       Cost    // what this statement was charged
	Verified   bool    // false when a mechanism answers past its last run: no margin is known
	Released   bool    // releases alone answered, and no mechanism
	Kept       Kept    // which rows of the table the answer is about
}

// Kept says which rows of a table answers are about. Both fields are public: the
// table's declaration states them.
type Kept struct {
	Unit    string // the column that tells units apart, or "" if answers are about all rows
	MaxRows int64  // how many rows of each unit are kept
}

// Cost is what a statement was charged.
type Cost struct {
	Epsilon float64 // nats, releases account
	Rho     float64 // zero-concentrated divergence, interactive account
}
