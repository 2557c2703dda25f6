package source

// SQLite returns the reader of an SQLite file's main database. It reads the
// schema and then the rows, so q should be a transaction where another
// connection may change either meanwhile.
func SQLite(q Querier) Reader { return sqlite{q} }

type sqlite struct{ q Querier }
