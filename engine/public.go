package engine

import (
	"context"
	"slices"

	"dpsql/catalog"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// readsNoPrivateRows refuses a public table or view that reads a base table
// with a budget, or one of those given, which are about to have one. It is
// asked whenever a public table is used, since a view can be redefined.
func readsNoPrivateRows(ctx context.Context, tx *catalog.Tx, public string, also []string) error {
	bases, err := source.Bases(ctx, tx.SQL(), public)
	if err != nil {
		return err
	}
	for _, base := range bases {
		a, err := tx.AccountFor([]string{base})
		if err != nil {
			return err
		}
		if a != nil || slices.ContainsFunc(also, func(b string) bool { return query.SameName(b, base) }) {
			return sqlerr.New(sqlerr.Invalid, "%s reads %s, which holds private rows", public, base).
				WithHint("what is public must not be computed from private rows")
		}
	}
	return nil
}

// noPublicViewReads refuses base tables that a declared public view reads: its
// contents could have become a domain, or could later.
func noPublicViewReads(ctx context.Context, tx *catalog.Tx, bases []string) error {
	publics, err := tx.Publics()
	if err != nil {
		return err
	}
	for _, public := range publics {
		if _, err := source.Bases(ctx, tx.SQL(), public); err != nil {
			continue // it cannot be read now, and is checked again whenever it is used
		}
		if err := readsNoPrivateRows(ctx, tx, public, bases); err != nil {
			return err
		}
	}
	return nil
}
