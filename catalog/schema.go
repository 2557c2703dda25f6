package catalog

import (
	"context"
	"database/sql"
	"errors"

	sqlite3 "modernc.org/sqlite/lib"

	"dpsql/sqlerr"
)

// migration takes a catalog to a version from the one before. A migration, once
// shipped, never changes; a new one is appended.
type migration struct {
	version    int
	statements string
}

// firstVersion is the oldest version that this dpsql knows. Earlier ones were
// never released.
const firstVersion = 4

// answerCountsVersion is the version that counts the answers of each query.
const answerCountsVersion = 5

// keyListsVersion is the version that says of which columns public tables are lists.
const keyListsVersion = 6

// usersVersion is the version that has users and what is granted to them.
const usersVersion = 7

// periodsVersion is the version in which accounts can have periods.
const periodsVersion = 8

// secretsVersion is the version that has a secret of the server.
const secretsVersion = 9

// bytesVersion is the version that counts what is stored for users.
const bytesVersion = 10

var migrations = []migration{{firstVersion, version4}, {answerCountsVersion, version5}, {keyListsVersion, version6}, {usersVersion, version7},
	{periodsVersion, version8}, {secretsVersion, version9}, {bytesVersion, version10}}

// latest returns the version of the catalogs that this Store writes.
func (s *Store) latest() int { return s.schema[len(s.schema)-1].version }

// readVersion returns the version of the catalog's schema, or 0 if there is no
// catalog. Errors: Unsupported for a version before the first known one or after the
// latest; Corrupt.
func readVersion(ctx context.Context, q Querier, latest int) (int, error) {
	version, exists, err := storedVersion(ctx, q)
	if !exists {
		if tables, failed := countTables(ctx, q, `dpsql\_%`); failed != nil || tables == 0 {
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
		if err := confirmOld(ctx, q, version); err != nil {
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

func countTables(ctx context.Context, q Querier, like string) (tables int, err error) {
	err = q.QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_schema WHERE name LIKE ? ESCAPE '\'`, like).Scan(&tables)
	return tables, err
}

// confirmOld refuses a catalog whose version is lower than its tables say. The
// additions of the later version would not be verified in it.
func confirmOld(ctx context.Context, q Querier, version int) error {
	for later, table := range map[int]string{firstVersion: `dpsql\_public\_columns`, answerCountsVersion: `dpsql\_answer\_counts`, keyListsVersion: `dpsql\_key\_lists`,
		usersVersion: `dpsql\_users`, periodsVersion: `dpsql\_templates`, secretsVersion: `dpsql\_secrets`, bytesVersion: `dpsql\_grants\_stored`} {
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

// version4 is the whole schema of the first version. It keeps rows of dropped
// tables, sources, releases and mechanisms: their ids are never used again, and
// what was learned through them stays on record. Every record that matters has a
// digest; the rolls say which records there are. Columns, base tables and payloads
// are covered by the records they belong to, a public table by its roll. The
// source_id of a table whose rows are in the file itself is NULL.
const version4 = `
CREATE TABLE dpsql_schema (version INTEGER NOT NULL) STRICT;
INSERT INTO dpsql_schema VALUES (0);

CREATE TABLE dpsql_public (
	name        TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
	declared_at TEXT NOT NULL
) STRICT;

CREATE TABLE dpsql_public_columns (
	public  TEXT NOT NULL COLLATE NOCASE,
	name    TEXT NOT NULL COLLATE NOCASE,
	lowest  TEXT NOT NULL,
	highest TEXT NOT NULL,
	step    TEXT NOT NULL,
	or_null INTEGER NOT NULL,
	PRIMARY KEY (public, name)
) STRICT;

CREATE TABLE dpsql_accounts (
	id                  INTEGER PRIMARY KEY,
	epsilon             TEXT NOT NULL,
	delta               TEXT NOT NULL,
	interactive         TEXT NOT NULL,
	release_epsilon     INTEGER NOT NULL,
	release_delta       INTEGER NOT NULL,
	interactive_rho     INTEGER NOT NULL,
	interactive_delta   INTEGER NOT NULL,
	interactive_epsilon INTEGER NOT NULL,
	created_at          TEXT NOT NULL,
	digest              BLOB NOT NULL DEFAULT x'',
	max_charge          INTEGER NOT NULL DEFAULT 0,
	analysts_buy        INTEGER NOT NULL DEFAULT 1
) STRICT;

CREATE TABLE dpsql_bases (
	name    TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
	account INTEGER NOT NULL REFERENCES dpsql_accounts (id)
) STRICT;

CREATE TABLE dpsql_sources (
	id         INTEGER PRIMARY KEY,
	name       TEXT NOT NULL COLLATE NOCASE,
	kind       TEXT NOT NULL,
	dsn_env    TEXT NOT NULL,
	timeout    INTEGER NOT NULL,
	created_at TEXT NOT NULL,
	dropped_at TEXT,
	digest     BLOB NOT NULL DEFAULT x''
) STRICT;
CREATE UNIQUE INDEX dpsql_sources_live ON dpsql_sources (name) WHERE dropped_at IS NULL;

CREATE TABLE dpsql_tables (
	id            INTEGER PRIMARY KEY,
	name          TEXT NOT NULL COLLATE NOCASE,
	source        TEXT NOT NULL,
	account       INTEGER REFERENCES dpsql_accounts (id),
	unit          TEXT NOT NULL,
	max_rows      INTEGER NOT NULL,
	source_schema TEXT NOT NULL,
	key           BLOB NOT NULL,
	nhat          INTEGER,
	nhat_epsilon  INTEGER,
	nhat_rho      INTEGER,
	nhat_law      TEXT,
	created_at    TEXT NOT NULL,
	dropped_at    TEXT,
	digest        BLOB NOT NULL DEFAULT x'',
	source_id     INTEGER REFERENCES dpsql_sources (id)
) STRICT;
CREATE UNIQUE INDEX dpsql_tables_live ON dpsql_tables (name) WHERE dropped_at IS NULL;

CREATE TABLE dpsql_columns (
	table_id INTEGER NOT NULL REFERENCES dpsql_tables (id),
	position INTEGER NOT NULL,
	name     TEXT NOT NULL COLLATE NOCASE,
	type     TEXT NOT NULL,
	domain   TEXT NOT NULL,
	PRIMARY KEY (table_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE dpsql_releases (
	id          INTEGER PRIMARY KEY,
	name        TEXT NOT NULL COLLATE NOCASE,
	table_id    INTEGER NOT NULL REFERENCES dpsql_tables (id),
	columns     TEXT NOT NULL,
	method      TEXT NOT NULL,
	params      TEXT NOT NULL,
	epsilon     INTEGER NOT NULL,
	delta       INTEGER NOT NULL,
	max_support INTEGER NOT NULL,
	size        INTEGER NOT NULL,
	sha256      BLOB NOT NULL,
	created_at  TEXT NOT NULL,
	dropped_at  TEXT,
	digest      BLOB NOT NULL DEFAULT x''
) STRICT;
CREATE UNIQUE INDEX dpsql_releases_live ON dpsql_releases (name) WHERE dropped_at IS NULL;

CREATE TABLE dpsql_mechanisms (
	id           INTEGER PRIMARY KEY,
	name         TEXT NOT NULL COLLATE NOCASE,
	table_id     INTEGER NOT NULL REFERENCES dpsql_tables (id),
	columns      TEXT NOT NULL,
	params       TEXT NOT NULL,
	epsilon      INTEGER NOT NULL,
	rho          INTEGER NOT NULL,
	run_rho      INTEGER NOT NULL,
	updates      INTEGER NOT NULL,
	runs_started INTEGER NOT NULL,
	runs_ended   INTEGER NOT NULL,
	comparisons  INTEGER NOT NULL,
	run          INTEGER,
	tau          INTEGER,
	leased       INTEGER NOT NULL,
	state_size   INTEGER NOT NULL,
	state_sha256 BLOB NOT NULL,
	created_at   TEXT NOT NULL,
	dropped_at   TEXT,
	digest       BLOB NOT NULL DEFAULT x''
) STRICT;
CREATE UNIQUE INDEX dpsql_mechanisms_live ON dpsql_mechanisms (name) WHERE dropped_at IS NULL;

CREATE TABLE dpsql_payloads (
	owner    TEXT NOT NULL,
	owner_id INTEGER NOT NULL,
	part     INTEGER NOT NULL,
	data     BLOB NOT NULL,
	PRIMARY KEY (owner, owner_id, part)
) STRICT;

CREATE TABLE dpsql_history (
	mechanism INTEGER NOT NULL REFERENCES dpsql_mechanisms (id),
	seq       INTEGER NOT NULL,
	query     TEXT NOT NULL,
	noisy     INTEGER NOT NULL,
	digest    BLOB NOT NULL DEFAULT x'',
	PRIMARY KEY (mechanism, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE dpsql_answers (
	id         INTEGER PRIMARY KEY,
	table_id   INTEGER NOT NULL REFERENCES dpsql_tables (id),
	sha256     BLOB NOT NULL,
	query      TEXT NOT NULL,
	kind       TEXT NOT NULL,
	via        TEXT NOT NULL,
	mechanism  INTEGER REFERENCES dpsql_mechanisms (id),
	estimate   INTEGER NOT NULL,
	law        TEXT NOT NULL,
	created_at TEXT NOT NULL,
	digest     BLOB NOT NULL DEFAULT x''
) STRICT;
CREATE INDEX dpsql_answers_query ON dpsql_answers (table_id, sha256);

CREATE TABLE dpsql_ledger (
	seq     INTEGER PRIMARY KEY,
	at      TEXT NOT NULL,
	account INTEGER NOT NULL REFERENCES dpsql_accounts (id),
	kind    TEXT NOT NULL,
	action  TEXT NOT NULL,
	object  TEXT NOT NULL,
	epsilon INTEGER NOT NULL,
	delta   INTEGER NOT NULL,
	rho     INTEGER NOT NULL,
	hash    BLOB NOT NULL
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

// version5 counts the answers of each query apart from the answers. The count tells a
// query whose answer is missing from one that has none. It replaces the roll of all
// answers, which could tell them apart only after all answers were read.
const version5 = `
CREATE TABLE dpsql_answer_counts (
	table_id INTEGER NOT NULL REFERENCES dpsql_tables (id),
	sha256   BLOB NOT NULL,
	answers  INTEGER NOT NULL,
	PRIMARY KEY (table_id, sha256)
) STRICT, WITHOUT ROWID;
INSERT INTO dpsql_answer_counts SELECT table_id, sha256, COUNT(*) FROM dpsql_answers NOT INDEXED GROUP BY table_id, sha256;
DELETE FROM dpsql_rolls WHERE owner = 0 AND name = 'stored answers';
`

// version6 says of which private column the keys of a public table were discovered.
const version6 = `
CREATE TABLE dpsql_key_lists (
	public      TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
	table_name  TEXT NOT NULL COLLATE NOCASE,
	column_name TEXT NOT NULL COLLATE NOCASE
) STRICT;
`

// version7 has users, and what is granted to them. Rows of dropped users and revoked
// grants stay, as those of dropped tables do. Tables have an answer time, in milliseconds.
const version7 = `
CREATE TABLE dpsql_users (
	id         INTEGER PRIMARY KEY,
	name       TEXT NOT NULL COLLATE NOCASE,
	verifier   TEXT NOT NULL,
	created_at TEXT NOT NULL,
	dropped_at TEXT,
	digest     BLOB NOT NULL DEFAULT x''
) STRICT;
CREATE UNIQUE INDEX dpsql_users_live ON dpsql_users (name) WHERE dropped_at IS NULL;

CREATE TABLE dpsql_grants (
	id         INTEGER PRIMARY KEY,
	user_id    INTEGER NOT NULL REFERENCES dpsql_users (id),
	table_id   INTEGER NOT NULL REFERENCES dpsql_tables (id),
	rho        INTEGER NOT NULL,
	charge     INTEGER NOT NULL,
	spent      INTEGER NOT NULL,
	granted_at TEXT NOT NULL,
	revoked_at TEXT,
	digest     BLOB NOT NULL DEFAULT x'',
	UNIQUE (user_id, table_id)
) STRICT;

ALTER TABLE dpsql_tables ADD COLUMN answer_time INTEGER NOT NULL DEFAULT 250;
`

// version8 has budgets of periods. A line of the ledger, a release, a mechanism and a row
// count are about a range of periods, or about all where the range is NULL.
const version8 = `
ALTER TABLE dpsql_accounts ADD COLUMN periods TEXT NOT NULL DEFAULT '';
ALTER TABLE dpsql_tables ADD COLUMN period TEXT NOT NULL DEFAULT '';
ALTER TABLE dpsql_ledger ADD COLUMN period_first INTEGER;
ALTER TABLE dpsql_ledger ADD COLUMN period_last INTEGER;
ALTER TABLE dpsql_releases ADD COLUMN period_first INTEGER;
ALTER TABLE dpsql_releases ADD COLUMN period_last INTEGER;
ALTER TABLE dpsql_releases ADD COLUMN template INTEGER NOT NULL DEFAULT 0;
ALTER TABLE dpsql_mechanisms ADD COLUMN period_first INTEGER;
ALTER TABLE dpsql_mechanisms ADD COLUMN period_last INTEGER;
CREATE INDEX dpsql_releases_template ON dpsql_releases (template);

CREATE TABLE dpsql_templates (
	id         INTEGER PRIMARY KEY,
	name       TEXT NOT NULL COLLATE NOCASE,
	table_id   INTEGER NOT NULL REFERENCES dpsql_tables (id),
	columns    TEXT NOT NULL,
	method     TEXT NOT NULL,
	options    TEXT NOT NULL,
	early      INTEGER NOT NULL,
	created_at TEXT NOT NULL,
	dropped_at TEXT,
	digest     BLOB NOT NULL DEFAULT x''
) STRICT;
CREATE UNIQUE INDEX dpsql_templates_live ON dpsql_templates (name) WHERE dropped_at IS NULL;

CREATE TABLE dpsql_row_counts (
	id           INTEGER PRIMARY KEY,
	table_id     INTEGER NOT NULL REFERENCES dpsql_tables (id),
	period_first INTEGER NOT NULL,
	period_last  INTEGER NOT NULL,
	nhat         INTEGER NOT NULL,
	epsilon      INTEGER NOT NULL,
	rho          INTEGER NOT NULL,
	law          TEXT NOT NULL,
	digest       BLOB NOT NULL DEFAULT x'',
	UNIQUE (table_id, period_first, period_last)
) STRICT;
`

// version9 keeps what a server answers with to names that no user has.
const version9 = `
CREATE TABLE dpsql_secrets (
	id     INTEGER PRIMARY KEY CHECK (id = 1),
	secret BLOB NOT NULL
) STRICT;
`

// version10 counts the bytes that are stored for a user's answers. By the index, confirmOld knows it.
const version10 = `
ALTER TABLE dpsql_grants ADD COLUMN stored INTEGER NOT NULL DEFAULT 0;
CREATE INDEX dpsql_grants_stored ON dpsql_grants (user_id, stored);
`
