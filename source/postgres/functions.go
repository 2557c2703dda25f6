package postgres

import "regexp"

// A view may call only functions of the server that give a value for every
// argument, and the same each time: one that fails on a row would turn an answer
// into an error, and the error would tell of that row without noise. That is why
// arithmetic is missing, which overflows. What a function costs in memory is not
// looked at.

// total matches functions, named as the type regprocedure writes them, that
// never fail.
var total = regexp.MustCompile(`^(` +
	`(int|float)[248]{1,2}(eq|ne|lt|le|gt|ge)\(.*` +
	`|(text|bpchar|name|char|bool|bytea|oid|numeric|date|time|timetz|timestamp|timestamptz|interval|uuid|enum)_?(eq|ne|lt|le|gt|ge)\(.*` +
	`|(lower|upper|initcap|length|char_length|character_length|octet_length|reverse|btrim|ltrim|rtrim|"left"|"right"|strpos|starts_with|textcat|concat)\((text|"any"|character).*` +
	`|(floor|ceil|ceiling|round|trunc|sign)\((double precision|numeric)\)` +
	`|int4\((smallint|boolean)\)|int8\((smallint|integer)\)|float8\((smallint|integer|bigint|real)\)|"?numeric"?\((smallint|integer|bigint)\)` +
	`|text\((boolean|character|name|"char")\)|date\(timestamp with(out)? time zone\)` +
	`|(count|min|max|bool_and|bool_or|every)\(.*` +
	`|avg\((smallint|integer|bigint|real|double precision)\)` +
	`)$`)

// byConstant matches functions that never fail if their last argument is a
// constant, not 0 and not -1: int4div of the least integer by -1 overflows.
var byConstant = regexp.MustCompile(`^(int[248]{1,2}(div|mod)|mod)\((smallint|integer|bigint),\s?(smallint|integer|bigint)\)$`)

// byField matches functions that never fail if their first argument is a constant
// that names one of fields.
var byField = regexp.MustCompile(`^("extract"\(text,\s?(date|timestamp without time zone)|date_part\(text,\s?timestamp without time zone)\)$`)

var fields = wordsOf("century day decade dow doy epoch isodow isoyear julian millennium month quarter week year")

// byPattern matches functions that never fail if their last argument is a
// constant without a backslash: one at the end of a pattern is an error where it
// is reached.
var byPattern = regexp.MustCompile(`^(text|bpchar|name)(ic)?n?like\(.*|^(i?c?n?like|"like"|notlike)\((text|name|character).*`)
