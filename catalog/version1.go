package catalog

// version1 keeps rows of dropped tables, releases and mechanisms: their ids are
// never used again, and what was learned through them stays on record.
const version1 = `
CREATE TABLE dpsql_schema (version INTEGER NOT NULL) STRICT;
INSERT INTO dpsql_schema VALUES (0);

CREATE TABLE dpsql_public (
	name        TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
	declared_at TEXT NOT NULL
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
	created_at          TEXT NOT NULL
) STRICT;

CREATE TABLE dpsql_bases (
	name    TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
	account INTEGER NOT NULL REFERENCES dpsql_accounts (id)
) STRICT;

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
	dropped_at    TEXT
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
	dropped_at  TEXT
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
	dropped_at   TEXT
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
	created_at TEXT NOT NULL
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
