package source

import (
	"strings"

	"dpsql/query"
)

// canonical returns an SQL expression for the declared value that the value of
// a column expression stands for: an INTEGER or TEXT, NULL, or the blob noValue
// for what belongs to no declared value.
//
// A value stands for the INTEGER that SQLite would store in a column of INTEGER
// affinity (40, 40.0, '40', ' 4e1 '; not 40.5, '40abc' or a blob), and for the
// TEXT that it would store in a column of TEXT affinity. A cast reads the longest
// numeric prefix of a text; the comparison applies NUMERIC affinity to the text,
// and so decides whether the cast has read what SQLite would store. A digit
// string is stored exactly, except that one with a NUL behind it goes through a
// real. SQLite never turns the real -2^63 into an integer.
//
// The result has no affinity. Compare it COLLATE BINARY, whatever collation c
// has. It also has no declared type, so that the driver returns it as stored and
// never as a time.
func canonical(c string, t query.Type) string {
	form := canonicalText
	if t == query.TypeInteger {
		form = canonicalInteger
	}
	return strings.ReplaceAll(form, "?", c)
}

const (
	// Of all values only blobs are not below the empty blob: that is asked in
	// less time than the type's name.
	canonicalText = `CASE WHEN ? >= x'' THEN ` + noValue + ` ELSE CAST(? AS TEXT) END`

	canonicalInteger = `CASE typeof(?) WHEN 'integer' THEN ? WHEN 'null' THEN NULL WHEN 'blob' THEN ` + noValue +
		` ELSE CASE WHEN ` + exactly + ` = ? AND (` + exactly + ` > -9223372036854775808` +
		` OR typeof(CAST(? AS NUMERIC)) = 'integer' AND NOT instr(?, char(0))) THEN ` + exactly +
		` WHEN ` + asReal + ` = ? AND ` + asReal + ` > -9223372036854775808 THEN ` + asReal +
		` ELSE ` + noValue + ` END END`

	exactly = `CAST(CAST(? AS NUMERIC) AS INTEGER)`
	asReal  = `CAST(CAST(? AS REAL) AS INTEGER)`

	// noValue is not empty: the driver may return an empty blob as nil.
	noValue = `x'00'`
)

// quoted returns name as an SQL identifier.
func quoted(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// rows is the alias under which a source is read. Columns are always qualified
// by it: SQLite takes an unknown "name" for a string, but not an unknown r."name".
const rows = "r"

func from(source string) string { return " FROM main." + quoted(source) + " AS " + rows }

func columnOf(name string) string { return rows + "." + quoted(name) }
