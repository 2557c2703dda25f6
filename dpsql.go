// Package dpsql answers SQL counting queries on private tables of a SQLite
// database under differential privacy. Importing it registers the database/sql
// driver "dpsql":
//
//	import _ "dpsql"
//
//	db, err := sql.Open("dpsql", "clinic.db?role=analyst")
//
// # The contract
//
// A database is a multiset of records over a universe X, the product of the
// declared column domains; a text column without a domain makes X infinite.
// Two databases are neighbours when they differ in one unit: one row or, where a
// unit column is declared, all rows with one of its values, of which at most
// max_rows count. Where rows change between statements, neighbours differ in the
// whole history of one unit.
//
// A curator gives the rows of a base table a budget (ε, δ). Everything that is
// ever answered about them, to all analysts together, adaptively and
// concurrently, is (ε, δ)-differentially private. The budget belongs to the
// rows: a second declaration over the same base table continues it.
//
// Spending is durable before anything of an answer leaves: charge, draw, store,
// return. A crash can lose budget, never privacy.
//
// What decides parsing, support, routing, refusal and the shape of a result is
// public: the query, the catalog, and what was released before. Domains are
// declared, never read off private rows; a row outside them is counted nowhere
// and is never an error. The number of rows is private, and bought.
//
// Trusted: the curator, and whoever can read the file. Analysts see only the
// results of statements. Not protected: running time, memory, timeouts, and a
// restored backup, which brings spent budget back.
//
// # Where it is kept
//
// engine is the one gate to private rows; source reads them; catalog holds the
// ledger; accounting computes costs; noise draws; mechanisms/projection and
// mechanisms/smw implement Blum and Roth, "Fast Private Data Release Algorithms
// for Sparse Queries". ARCHITECTURE.md draws the arrows between them.
package dpsql

import _ "dpsql/driver" // registers "dpsql"
