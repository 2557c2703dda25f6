package catalog

// version5 counts the answers of each query apart from the answers, by which a
// query whose answer is missing differs from one that has none. The roll of all
// answers, which could say so only after all of them were read, is gone.
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

// answerCountsVersion is the version of the catalog's schema that brought the
// counts of answers.
const answerCountsVersion = 5
