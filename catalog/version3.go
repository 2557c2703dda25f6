package catalog

// version3 adds the sources outside the file, and says of a private table in
// which of them its rows are; NULL stands for the file itself. The record of a
// table in the file stays as it was, and so does its digest.
const version3 = `
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

ALTER TABLE dpsql_tables ADD COLUMN source_id INTEGER REFERENCES dpsql_sources (id);
`

// sourcesVersion is the version of the catalog's schema that brought sources.
const sourcesVersion = 3
