package source

import (
	"context"

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
	code, words, result := sqlerr.OfSQLite(ctx, err)
	if result == 1 { // the schema has changed, or an expression of a view failed
		return sqlerr.Invalid, "the database refused a column or an expression"
	}
	return code, words
}
