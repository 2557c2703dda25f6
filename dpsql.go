// Package dpsql answers SQL queries about private tables, counts, sums and
// averages, with differential privacy. Importing it registers the database/sql
// driver "dpsql":
//
//	db, err := sql.Open("dpsql", "clinic.db?role=analyst&confidence=0.99")
//	err = db.QueryRowContext(ctx, `SELECT COUNT(*) AS n, MARGIN(n) FROM visits WHERE age < ?`, 20).Scan(&n, &margin)
//	a, err := dpsql.Ask(dpsql.With(ctx, dpsql.Settings{Accuracy: 50}), db, `SELECT sex, COUNT(*) FROM visits GROUP BY sex`)
//
// The options behind the path, with their defaults:
//
//	role=curator       analyst: may ask, and nothing else
//	readonly=false     true: nothing is written, and nothing bought
//	create=false       true: a curator's first write makes a file that does not exist
//	busy_timeout=5s    how long to wait for another process
//	mechanism=auto     direct, projection, marginals, smw, or the name of a release or mechanism
//	accuracy=default   in counts: what is not known so well for free is bought
//	confidence=0.95    of margins
//	clamp=off          on: negative counts are 0
//	unverified=on      off: answers without a margin are refused
//	margins=proven     simulated: narrower, and without a proof
//	times=time         text: dates and timestamps in rows are texts
//
// # The contract
//
// A database is a multiset of records over a universe X, the product of the
// declared column domains. A text column without a domain makes X infinite.
// Two databases are neighbours if they differ in one unit. A unit is one row. If
// a unit column is declared, it is all rows with one value of that column, of
// which at most max_rows count. Where rows change between statements, a unit is
// its whole history.
//
// A curator gives the rows of a base table a budget (ε, δ). Everything that is
// ever answered about them, to all analysts together, adaptively and
// concurrently, is (ε, δ)-differentially private. The budget belongs to the
// rows: a second declaration over the same base table continues it.
//
// Spending is durable before anything of an answer leaves. The order is charge,
// draw, store, return. A crash can lose budget, never privacy.
//
// Parsing, support, routing, refusals and the shape of a result depend only on
// what is public: the query, the catalog, and earlier releases. Domains are
// declared and never read off private rows. A row outside its domain is not
// counted and is never an error. The number of rows is private, and a noisy one
// is bought.
//
// The curator is trusted, and so is everyone who can read the file. Analysts see
// only the results of statements. Running time, memory and timeouts are not
// protected. Nor is a restored backup, which brings spent budget back.
//
// # The packages
//
// engine is the one gate to private rows. source reads them, catalog holds the
// ledger, accounting computes costs, and noise draws. mechanisms/projection and
// mechanisms/smw implement Blum and Roth, "Fast Private Data Release Algorithms
// for Sparse Queries". ARCHITECTURE.md draws the arrows between them.
package dpsql

import (
	"context"

	"dpsql/driver" // registers "dpsql"
)

// Settings are the settings of SET for one call. A field that is zero leaves its setting as the connection has it.
type Settings struct {
	Mechanism  string  // auto, direct, projection, marginals, smw, or the name of a release or mechanism
	Accuracy   float64 // in counts, of a SUM or AVG in its units: what is not known so well for free is bought
	Confidence float64 // of margins, between 0 and 1
	Clamp      string  // on: negative counts are 0; or off
	Unverified string  // off: answers without a margin are refused; or on
	Margins    string  // proven or simulated
}

// With returns a context whose statements have settings of their own, whichever connection of a pool runs them:
//
//	err := db.QueryRowContext(dpsql.With(ctx, dpsql.Settings{Accuracy: 50}), query).Scan(&n)
//
// They add to those of ctx. A value that SET refuses is an error of the statement.
func With(ctx context.Context, s Settings) context.Context {
	return driver.With(ctx, driver.Settings(s))
}
