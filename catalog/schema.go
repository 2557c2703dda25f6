package catalog

import (
	"context"
	"database/sql"
	"errors"

	sqlite3 "modernc.org/sqlite/lib"

	"dpsql/sqlerr"
)

// migration takes a catalog to a version from the one before. A migration, once
// shipped, never changes; a new one is appended. What it adds to the objects of an earlier version
// is optional in their JSON.
type migration struct {
	version    int
	adds       string // a table or an index that earlier versions do not have
	statements string
}

// firstVersion is the oldest version that this dpsql knows. Earlier ones were
// never released.
const firstVersion = 11

var migrations = []migration{{firstVersion, "dpsql_objects", version11}}

// latest returns the version of the catalogs that this Store writes.
func (s *Store) latest() int { return s.schema[len(s.schema)-1].version }

// readVersion returns the version of the catalog's schema, or 0 if there is no
// catalog. Errors: Unsupported for a version before the first known one or after the
// latest; Corrupt.
func (s *Store) readVersion(ctx context.Context, q Querier) (int, error) {
	latest := s.latest()
	version, exists, err := storedVersion(ctx, q)
	if !exists {
		if tables, failed := countNames(ctx, q, `name LIKE 'dpsql\_%' ESCAPE '\'`); failed != nil || tables == 0 {
			return 0, unreadable(failed)
		}
		// Another process may have made the table since the first attempt. That
		// attempt failed, so it fixed no snapshot.
		version, exists, err = storedVersion(ctx, q)
	}
	switch {
	case !exists, errors.Is(err, sql.ErrNoRows), err == nil && version < 1:
		return 0, corrupt("the version of the catalog is missing")
	case err != nil:
		return 0, unreadable(err)
	case version > latest:
		return 0, sqlerr.New(sqlerr.Unsupported, "the catalog has version %d and this dpsql knows versions up to %d", version, latest).
			WithHint("use the newer dpsql that wrote it")
	case version < latest:
		if err := s.confirmOld(ctx, q, version); err != nil {
			return 0, err
		}
	}
	if version < firstVersion {
		return 0, sqlerr.New(sqlerr.Unsupported, "the catalog has version %d, from before the first release, and this dpsql knows versions from %d on",
			version, firstVersion).WithHint("use the dpsql that wrote it: what it released, answered and charged cannot be taken over")
	}
	return version, nil
}

// storedVersion reads the version. Exists is false if the file has no table for it.
func storedVersion(ctx context.Context, q Querier) (version int, exists bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT version FROM dpsql_schema`).Scan(&version)
	code, ok := engineCode(err)
	return version, !ok || code != sqlite3.SQLITE_ERROR, err
}

// countNames counts the tables and indexes of a file for which a condition holds.
func countNames(ctx context.Context, q Querier, condition string) (names int, err error) {
	err = q.QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_schema WHERE `+condition).Scan(&names)
	return names, err
}

// confirmOld refuses a catalog whose version is lower than its tables say. The
// additions of the later version would not be verified in it.
func (s *Store) confirmOld(ctx context.Context, q Querier, version int) error {
	for _, later := range s.schema {
		if version >= later.version {
			continue
		}
		names, err := countNames(ctx, q, `name = '`+later.adds+`'`)
		if err == nil && names > 0 {
			err = corrupt("the version of the catalog is not the one it has")
		}
		if err != nil {
			return unreadable(err)
		}
	}
	return nil
}

// migrate brings the catalog to the latest version, in this transaction.
func (tx *Tx) migrate() error {
	for _, step := range tx.store.schema {
		if step.version <= tx.version {
			continue
		}
		if _, err := tx.sql.ExecContext(tx.ctx, step.statements); err != nil {
			return err
		}
		if _, err := tx.sql.ExecContext(tx.ctx, `UPDATE dpsql_schema SET version = ?`, step.version); err != nil {
			return err
		}
		tx.version = step.version
	}
	return nil
}

// version11 is the whole schema of the first version. An object says by its kind what it is, and its
// body has the fields of the kind as JSON. Rows of dropped objects stay: their ids are never used
// again, and what was learned through them stays on record. Every record that matters has a digest;
// the rolls say which records there are. Payloads are covered by the objects they belong to. The
// counts of answers tell a query whose answer is missing from one that has none. A line of
// the ledger is about a range of periods, or about all where the range is NULL.
const version11 = `
CREATE TABLE dpsql_schema (version INTEGER NOT NULL) STRICT;
INSERT INTO dpsql_schema VALUES (0);

CREATE TABLE dpsql_objects (
	id         INTEGER PRIMARY KEY,
	kind       TEXT NOT NULL,
	name       TEXT COLLATE NOCASE,
	parent     INTEGER REFERENCES dpsql_objects (id),
	dropped_at TEXT,
	digest     BLOB NOT NULL,
	body       TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX dpsql_objects_live ON dpsql_objects (kind, name) WHERE dropped_at IS NULL;

CREATE TABLE dpsql_payloads (
	object INTEGER NOT NULL REFERENCES dpsql_objects (id),
	part   INTEGER NOT NULL,
	data   BLOB NOT NULL,
	PRIMARY KEY (object, part)
) STRICT;

CREATE TABLE dpsql_history (
	mechanism INTEGER NOT NULL REFERENCES dpsql_objects (id),
	seq       INTEGER NOT NULL,
	query     TEXT NOT NULL,
	noisy     INTEGER NOT NULL,
	digest    BLOB NOT NULL DEFAULT x'',
	PRIMARY KEY (mechanism, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE dpsql_answers (
	id         INTEGER PRIMARY KEY,
	table_id   INTEGER NOT NULL REFERENCES dpsql_objects (id),
	sha256     BLOB NOT NULL,
	kind       TEXT NOT NULL,
	via        TEXT NOT NULL,
	mechanism  INTEGER REFERENCES dpsql_objects (id),
	estimate   INTEGER NOT NULL,
	law        TEXT NOT NULL,
	created_at TEXT NOT NULL,
	digest     BLOB NOT NULL DEFAULT x''
) STRICT;
CREATE INDEX dpsql_answers_query ON dpsql_answers (table_id, sha256);

CREATE TABLE dpsql_answer_counts (
	table_id INTEGER NOT NULL REFERENCES dpsql_objects (id),
	sha256   BLOB NOT NULL,
	answers  INTEGER NOT NULL,
	PRIMARY KEY (table_id, sha256)
) STRICT, WITHOUT ROWID;

CREATE TABLE dpsql_ledger (
	seq          INTEGER PRIMARY KEY,
	at           TEXT NOT NULL,
	account      INTEGER NOT NULL REFERENCES dpsql_objects (id),
	kind         TEXT NOT NULL,
	action       TEXT NOT NULL,
	object       TEXT NOT NULL,
	epsilon      INTEGER NOT NULL,
	delta        INTEGER NOT NULL,
	rho          INTEGER NOT NULL,
	hash         BLOB NOT NULL,
	period_first INTEGER,
	period_last  INTEGER
) STRICT;

CREATE TABLE dpsql_rolls (
	owner INTEGER NOT NULL,
	name  TEXT NOT NULL,
	count INTEGER NOT NULL,
	sum   BLOB NOT NULL,
	PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
INSERT INTO dpsql_rolls VALUES (0, 'catalog', 0, randomblob(32));

CREATE TRIGGER dpsql_ledger_update BEFORE UPDATE ON dpsql_ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER dpsql_ledger_delete BEFORE DELETE ON dpsql_ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER dpsql_ledger_insert BEFORE INSERT ON dpsql_ledger
WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq), 0) + 1 FROM dpsql_ledger)
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

CREATE TRIGGER dpsql_history_update BEFORE UPDATE ON dpsql_history
BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER dpsql_history_delete BEFORE DELETE ON dpsql_history
BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER dpsql_history_insert BEFORE INSERT ON dpsql_history
WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq), 0) + 1 FROM dpsql_history WHERE mechanism = NEW.mechanism)
BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
`
