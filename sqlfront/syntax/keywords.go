package syntax

import "strings"

// words returns the set of the words in a text.
func words(text string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// reserved are the keywords that SQLite accepts as a name only when quoted.
var reserved = words(`ADD ALL ALTER AND AS AUTOINCREMENT BETWEEN CASE CHECK COLLATE COMMIT CONSTRAINT
	CREATE DEFAULT DEFERRABLE DELETE DISTINCT DROP ELSE ESCAPE EXISTS FOREIGN FROM GROUP HAVING IN INDEX
	INSERT INTERSECT INTO IS ISNULL JOIN LIMIT NOT NOTHING NOTNULL NULL ON OR ORDER PRIMARY REFERENCES
	RETURNING SELECT SET TABLE THEN TO TRANSACTION UNION UNIQUE UPDATE USING VALUES WHEN WHERE`)

// keywords are the words that reach the SELECT parser as keywords; every other
// word reaches it as an identifier, so that its own keywords (key, status,
// year, …) are ordinary names.
var keywords = words(`SELECT DISTINCT FROM WHERE AND OR NOT IN IS BETWEEN LIKE ESCAPE AS CASE WHEN THEN
	ELSE END GROUP BY HAVING ORDER ASC DESC LIMIT OFFSET UNION ALL JOIN LEFT RIGHT INNER OUTER CROSS
	NATURAL ON USING EXISTS COLLATE`)

// foreign are the first words of SQLite's statements that have no place here,
// with what to do instead.
var foreign = map[string]string{
	"ALTER":     "ALTER PRIVATE TABLE changes what SELECTs may take; change the schema with another SQLite client",
	"ANALYZE":   "",
	"ATTACH":    "rows of a PostgreSQL database are reached by CREATE SOURCE",
	"BEGIN":     "every statement is a transaction of its own",
	"COMMIT":    "every statement is a transaction of its own",
	"DELETE":    "change rows with another SQLite client",
	"DETACH":    "rows of a PostgreSQL database are reached by CREATE SOURCE",
	"END":       "every statement is a transaction of its own",
	"INSERT":    "load rows with .import or another SQLite client",
	"PRAGMA":    "settings are read by SHOW SETTINGS and written by SET name = value",
	"REINDEX":   "",
	"RELEASE":   "releases are made by CREATE RELEASE and dropped by DROP RELEASE",
	"REPLACE":   "load rows with .import or another SQLite client",
	"ROLLBACK":  "every statement is a transaction of its own",
	"SAVEPOINT": "every statement is a transaction of its own",
	"UPDATE":    "change rows with another SQLite client",
	"VACUUM":    "",
	"VALUES":    "write SELECT COUNT(*) FROM table WHERE …",
}

// native are the first words of the dialect's own statements.
var native = []string{"SELECT", "WITH", "EXPLAIN", "CREATE", "ALTER", "DROP", "SHOW", "DESCRIBE", "SET", "EXPORT"}
