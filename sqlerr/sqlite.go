package sqlerr

import (
	"context"
	"errors"
)

// OfSQLite maps an error of SQLite, or of reading from it, to a code and fixed
// words, without the error's own text. Codes that mean something else to every
// caller (1 error, 19 constraint, 20 mismatch) are Internal here, with the
// primary result code to tell them by; it is 0 where there is none.
func OfSQLite(ctx context.Context, err error) (code Code, words string, result int) {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Cancelled, "cancelled", 0
	}
	var coded interface{ Code() int }
	if !errors.As(err, &coded) {
		return Internal, "the database failed", 0
	}
	result = coded.Code() & 0xff
	switch result {
	case 5, 6: // SQLITE_BUSY, SQLITE_LOCKED
		return Busy, "the database is locked", result
	case 9: // SQLITE_INTERRUPT
		return Cancelled, "interrupted", result
	case 8: // SQLITE_READONLY: also where recovery of a journal needs write access
		return ReadOnly, "the database cannot be written", result
	case 7, 10, 13, 14: // SQLITE_NOMEM, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN
		return IO, "the operating system failed", result
	case 11, 26: // SQLITE_CORRUPT, SQLITE_NOTADB
		return Corrupt, "the database file is damaged", result
	}
	return Internal, "the database failed", result
}
