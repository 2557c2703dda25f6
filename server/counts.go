package server

import "sync/atomic"

// Counts are what a server has counted since it was made. None of them depends on a private
// row but through an answer.
type Counts struct {
	Open        atomic.Int64 // connections now
	Connections atomic.Int64 // accepted
	Logins      atomic.Int64 // that succeeded
	Refused     atomic.Int64 // logins that failed
	Statements  atomic.Int64 // that ran
	Verbs       atomic.Int64 // of those, the ones about transactions, settings, cursors and the like
	Catalog     atomic.Int64 // of those, the ones about the catalog of PostgreSQL
	Errors      atomic.Int64 // statements that failed or were refused
	Answers     atomic.Int64 // statements with a private answer
	Bought      atomic.Int64 // of those, the ones that cost something
	Rows        atomic.Int64 // sent
	Received    atomic.Int64 // bytes of messages, within TLS
	Sent        atomic.Int64 // the same, to clients
	Cancels     atomic.Int64 // requests to cancel
	Panics      atomic.Int64 // faults of the server, each of which ended a statement or a connection
}
