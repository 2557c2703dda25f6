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
var migrations = []migration{{version1, nil}, {version2, (*Tx).sealAll}, {version3, nil}, {version4, nil}, {version5, nil}}

// readVersion returns the version of the catalog's schema, 0 where there is no
// catalog, and refuses one newer than latest.
func readVersion(ctx context.Context, q Querier, latest int) (int, error) {
	version, exists, err := storedVersion(ctx, q)
	if !exists {
		if tables, failed := countTables(ctx, q, `dpsql\_%`); failed != nil || tables == 0 {
			return 0, unreadable(failed)
		}
		// Another process may have made it since the first look, which fixed no
		// snapshot as it failed.
		version, exists, err = storedVersion(ctx, q)
	}
	switch {
	case !exists, errors.Is(err, sql.ErrNoRows), err == nil && version < 1:
		return 0, corrupt("the version of the catalog is missing")
	case err == nil && version < latest:
		return version, confirmOld(ctx, q, version)
	case err == nil && version > latest:
		return 0, sqlerr.New(sqlerr.Unsupported, "the catalog has version %d and this dpsql knows versions up to %d", version, latest).
			WithHint("use the newer dpsql that wrote it")
	}
	return version, unreadable(err)
}

// storedVersion reads the version, if there is a place for it.
func storedVersion(ctx context.Context, q Querier) (version int, exists bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT version FROM dpsql_schema`).Scan(&version)
	code, ok := engineCode(err)
	return version, !ok || code != sqlite3.SQLITE_ERROR, err
}

func countTables(ctx context.Context, q Querier, like string) (tables int, err error) {
	err = q.QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_schema WHERE name LIKE ? ESCAPE '\'`, like).Scan(&tables)
	return tables, err
}

// confirmOld tells a catalog of an older version from one whose version is
// damaged, by a table that a later version has: what that version brought would
// not be verified in it.
func confirmOld(ctx context.Context, q Querier, version int) error {
	for later, table := range map[int]string{sealedVersion: `dpsql\_rolls`, sourcesVersion: `dpsql\_sources`, stepsVersion: `dpsql\_public\_columns`,
		answerCountsVersion: `dpsql\_answer\_counts`} {
		if version >= later {
			continue
		}
		tables, err := countTables(ctx, q, table)
		if err == nil && tables > 0 {
			err = corrupt("the version of the catalog is not the one it has")
		}
		if err != nil {
			return unreadable(err)
		}
	}
	return nil
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
