package catalog

import (
	"context"
	"database/sql"
	"errors"

	sqlite3 "modernc.org/sqlite/lib"

	"dpsql/sqlerr"
)

// migration takes a catalog to the next version: first the statements, then
// fill, if there is one, writes what statements cannot. The transaction still
// has the old version while fill runs.
type migration struct {
	statements string
	fill       func(*Tx) error
}

// migrations[i] takes a catalog from version i to i+1. A migration, once
// shipped, never changes; a new one is appended.
var migrations = []migration{{version1, nil}, {version2, (*Tx).sealAll}}

// readVersion returns the version of the catalog's schema, 0 where there is no
// catalog, and refuses one newer than latest.
func readVersion(ctx context.Context, q Querier, latest int) (int, error) {
	var version int
	err := q.QueryRowContext(ctx, `SELECT version FROM dpsql_schema`).Scan(&version)
	if code, ok := engineCode(err); ok && code == sqlite3.SQLITE_ERROR {
		return 0, confirmAbsent(ctx, q)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && version < 1:
		return 0, corrupt("the version of the catalog is missing")
	case err == nil && version < sealedVersion:
		return version, confirmUnsealed(ctx, q)
	case err == nil && version > latest:
		return 0, sqlerr.New(sqlerr.Unsupported, "the catalog has version %d and this dpsql knows versions up to %d", version, latest).
			WithHint("use the newer dpsql that wrote it")
	}
	return version, unreadable(err)
}

// confirmAbsent tells a file without a catalog from one whose catalog cannot be
// read.
func confirmAbsent(ctx context.Context, q Querier) error {
	var tables int
	err := q.QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_schema WHERE name LIKE 'dpsql\_%' ESCAPE '\'`).Scan(&tables)
	if err == nil && tables > 0 {
		err = corrupt("the version of the catalog is missing")
	}
	return unreadable(err)
}

// confirmUnsealed tells a catalog without digests from one whose version is
// damaged: nothing would be verified in it.
func confirmUnsealed(ctx context.Context, q Querier) error {
	var tables int
	err := q.QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_schema WHERE name = 'dpsql_rolls'`).Scan(&tables)
	if err == nil && tables > 0 {
		err = corrupt("the version of the catalog is not the one it has")
	}
	return err
}

// migrate brings the catalog to the newest version, in this transaction.
func (tx *Tx) migrate() error {
	for v := tx.version; v < len(tx.store.schema); v++ {
		step := tx.store.schema[v]
		if _, err := tx.sql.ExecContext(tx.ctx, step.statements); err != nil {
			return err
		}
		if step.fill != nil {
			if err := step.fill(tx); err != nil {
				return err
			}
		}
		if _, err := tx.sql.ExecContext(tx.ctx, `UPDATE dpsql_schema SET version = ?`, v+1); err != nil {
			return err
		}
		tx.version = v + 1
	}
	return nil
}
