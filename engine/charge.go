package engine

import (
	"context"
	"errors"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/sqlerr"
)

// charge writes a cost into the ledger and returns when it is on disk. What it
// pays for comes afterwards. A source whose schema changed is refused first:
// nothing is charged for what could not be answered.
func (db *DB) charge(ctx context.Context, t *table, kind catalog.Kind, action, object string, amount accounting.Amount) error {
	return db.store.Write(ctx, func(tx *catalog.Tx) error {
		if err := unchanged(ctx, tx, t); err != nil {
			return err
		}
		return tx.Charge(t.Account, kind, action, object, amount)
	})
}

// fits refuses what the account could not pay for, and charges nothing: the
// charge is rolled back.
func (db *DB) fits(ctx context.Context, t *table, kind catalog.Kind, amount accounting.Amount) error {
	tried := errors.New("tried")
	err := db.store.Write(ctx, func(tx *catalog.Tx) error {
		if err := tx.Charge(t.Account, kind, "this statement", t.Name, amount); err != nil {
			return err
		}
		return tried
	})
	if sqlerr.CodeOf(err) == sqlerr.Budget {
		return err
	}
	return nil
}

// errRandom stands for a failure of the system's random source. Nothing drawn
// from it is shown.
func errRandom() error {
	return sqlerr.New(sqlerr.IO, "the system's random source failed")
}
