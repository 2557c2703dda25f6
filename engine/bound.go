package engine

import (
	"context"

	"dpsql/catalog"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlfront"
)

// bound adapts a table to the front end's interface.
type bound struct{ t *table }

func (b bound) Name() string              { return b.t.Name }
func (b bound) Universe() *query.Universe { return b.t.universe }

// Undecided makes the binder refuse names of columns without a known domain.
func (b bound) Undecided(column int) bool { return b.t.undecided[column] != "" }

// joinable is a table to which public ones can be joined.
type joinable struct {
	bound
	ctx context.Context
	db  *DB
}

// maxPublicRows bounds the public tables that are joined.
const maxPublicRows = 1 << 20

// Public reads a public table, after checking in the same snapshot that it is
// one, and that it is not computed from private rows.
func (b joinable) Public(name string) (*sqlfront.PublicRows, error) {
	var rows *sqlfront.PublicRows
	err := b.db.store.Read(b.ctx, func(tx *catalog.Tx) error {
		public, err := tx.IsPublic(name)
		if err != nil || !public {
			return err
		}
		if err := readsNoPrivateRows(b.ctx, tx, name, nil); err != nil {
			return err
		}
		columns, values, err := source.Content(b.ctx, tx.SQL(), name, maxPublicRows)
		rows = &sqlfront.PublicRows{Columns: columns, Rows: values}
		return err
	})
	return rows, err
}
