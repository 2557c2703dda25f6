package importer

import (
	"context"

	"dpsql/sqlerr"
)

// failure replaces an error of the database by one that names only the table, because
// the original can carry a value of a row.
func failure(ctx context.Context, err error, table string) error {
	code, what := classify(ctx, err)
	return sqlerr.New(code, "%s while importing into %s", what, table)
}

// classify maps an error to a code and a fixed text.
func classify(ctx context.Context, err error) (sqlerr.Code, string) {
	code, words, result := sqlerr.OfSQLite(ctx, err)
	switch result {
	case 1: // SQLITE_ERROR
		return sqlerr.Invalid, "the database refused the table or a row"
	case 19, 20: // SQLITE_CONSTRAINT, SQLITE_MISMATCH
		return sqlerr.Invalid, "a row breaks a constraint of the table"
	}
	return code, words
}

func cancelled(path string) error {
	return sqlerr.New(sqlerr.Cancelled, "cancelled while reading file %s", path)
}
