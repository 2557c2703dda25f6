package engine

import (
	"context"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/sqlerr"
)

// charge writes a cost into the ledger and returns when it is on disk. What it
// pays for comes afterwards. A source whose schema changed is refused first:
// nothing is charged for what could not be answered. Of a table outside the file
// that was looked at where the snapshot was opened, see onSnapshot.
func (db *DB) charge(ctx context.Context, t *table, kind catalog.Kind, action, object string, amount accounting.Amount) error {
	return db.store.Write(ctx, func(tx *catalog.Tx) error {
		if err := db.unchanged(ctx, tx, t); err != nil {
			return err
		}
		return tx.Charge(t.Account, kind, action, object, amount)
	})
}

// errRandom stands for a failure of the system's random source. Nothing drawn
// from it is shown.
func errRandom() error {
	return sqlerr.New(sqlerr.IO, "the system's random source failed")
}
