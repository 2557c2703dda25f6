package catalog

// version4 adds the columns of public tables that were declared with steps, and
// to an account what SELECTs may take of it. An account without limits has the
// record that it had, and so the same digest.
const version4 = `
CREATE TABLE dpsql_public_columns (
	public  TEXT NOT NULL COLLATE NOCASE,
	name    TEXT NOT NULL COLLATE NOCASE,
	lowest  TEXT NOT NULL,
	highest TEXT NOT NULL,
	step    TEXT NOT NULL,
	or_null INTEGER NOT NULL,
	PRIMARY KEY (public, name)
) STRICT;

ALTER TABLE dpsql_accounts ADD COLUMN max_charge INTEGER NOT NULL DEFAULT 0;
ALTER TABLE dpsql_accounts ADD COLUMN analysts_buy INTEGER NOT NULL DEFAULT 1;
`

// stepsVersion is the version of the catalog's schema that brought columns of
// public tables, and limitsVersion the one that brought limits.
const (
	stepsVersion  = 4
	limitsVersion = 4
)
