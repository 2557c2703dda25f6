package engine

import (
	"context"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/source"
)

// unchanged refuses a source whose schema is no longer the declared one, or
// that reads a table which was public then and is not any more: its rows could
// be those of another budget, which nobody has charged. Schemas are
// public; whether rows changed is not looked at.
func (db *DB) unchanged(ctx context.Context, tx *catalog.Tx, t *view.Table) error {
	bases, err := sameInFile(ctx, tx, t)
	if err != nil {
		return err
	}
	return covered(tx, t, bases)
}

// sameInFile is sameSchema for a table of the file.
func sameInFile(ctx context.Context, tx *catalog.Tx, t *view.Table) (bases []string, err error) {
	publics, err := tx.Publics()
	if err != nil {
		return nil, err
	}
	schema, err := sameSchema(ctx, source.SQLite(tx.SQL()), t, publics)
	return schema.Bases, err
}
