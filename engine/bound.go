package engine

import (
	"context"
	"slices"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// bound adapts a table to the front end's interface.
type bound struct{ t *view.Table }

func (b bound) Name() string              { return b.t.Name }
func (b bound) Universe() *query.Universe { return b.t.Universe }

// Undecided makes the binder refuse names of columns without a known domain.
func (b bound) Undecided(column int) bool { return b.t.Undecided[column] != "" }

// joinable is a table to which public ones can be joined.
type joinable struct {
	bound
	ctx context.Context
	db  *DB
}

// Public reads a public table, after checking in the same snapshot that it is
// one, that it is not computed from private rows, and that its REAL columns hold
// what they are declared to. So the weights that the noise is scaled to are those
// of the rows that were read.
func (b joinable) Public(name string) (rows *sqlfront.PublicRows, err error) {
	err = b.db.store.Read(b.ctx, func(tx *catalog.Tx) error {
		public, err := tx.IsPublic(name)
		if err != nil || !public {
			return err
		}
		if err := readsNoPrivateRows(b.ctx, tx, name, nil); err != nil {
			return err
		}
		columns, err := tx.PublicColumns(name)
		if err != nil {
			return err
		}
		if rows, err = publicRows(b.ctx, tx, name); err != nil {
			return err
		}
		for _, c := range columns {
			i := slices.IndexFunc(rows.Columns, func(name string) bool { return query.SameName(name, c.Name) })
			if i < 0 {
				return sqlerr.New(sqlerr.Invalid, "%s no longer has the column %s that it was declared with", name, c.Name).
					WithHint("drop the declaration and declare it anew: DROP PUBLIC TABLE %s", name)
			}
			if err := inSteps(rows, i, c); err != nil {
				return err
			}
		}
		return nil
	})
	return rows, err
}
