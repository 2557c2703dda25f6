package source

import (
	"context"
	"errors"

	"dpsql/sqlerr"
)

// failure replaces an error of the database, which can carry a value of a row,
// by one that names the source only.
func failure(ctx context.Context, err error, source string) error {
	code, what := classify(ctx, err)
	return sqlerr.New(code, "%s while reading %s", what, source)
}

// classify maps an error to a code and fixed words for it.
func classify(ctx context.Context, err error) (sqlerr.Code, string) {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return sqlerr.Cancelled, "cancelled"
	}
	var coded interface{ Code() int }
	if !errors.As(err, &coded) {
		return sqlerr.Internal, "the database failed"
	}
	switch coded.Code() & 0xff { // the primary result code
	case 5, 6: // SQLITE_BUSY, SQLITE_LOCKED
		return sqlerr.Busy, "the database is locked"
	case 9: // SQLITE_INTERRUPT
		return sqlerr.Cancelled, "interrupted"
	case 8: // SQLITE_READONLY: recovery of a journal needs write access
		return sqlerr.ReadOnly, "the database cannot be written"
	case 7, 10, 13, 14: // SQLITE_NOMEM, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN
		return sqlerr.IO, "the operating system failed"
	case 11, 26: // SQLITE_CORRUPT, SQLITE_NOTADB
		return sqlerr.Corrupt, "the database file is damaged"
	case 1: // SQLITE_ERROR: the schema has changed, or an expression of a view failed
		return sqlerr.Invalid, "the database refused a column or an expression"
	}
	return sqlerr.Internal, "the database failed"
}
