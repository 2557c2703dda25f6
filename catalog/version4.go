package catalog

// version4 adds the columns of public tables that were declared with steps.
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
`

// stepsVersion is the version of the catalog's schema that brought columns of
// public tables.
const stepsVersion = 4
