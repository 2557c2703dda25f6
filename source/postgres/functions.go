package postgres

import "regexp"

// A view may call only functions of the server that give a value for every
// argument, and the same each time: one that fails on a row would turn an answer
// into an error, and the error would tell of that row without noise. That is why
// arithmetic is missing, which overflows, and what looks harmless but is not:
// avg(double precision) overflows, round(numeric), ceil and floor at the top of
// numeric's range, date_part(text,date) where the date is no timestamp, and max
// of arrays needs an order of their elements. Only what needs more memory than
// the server gives a value is not looked at. What functions need of collations is
// in vouch.

// total matches functions, named with the types of their arguments as the type
// regprocedure writes them, that never fail.
var total = regexp.MustCompile(`^(` +
	`int[248]{1,2}` + order + `\((smallint|integer|bigint),(smallint|integer|bigint)\)` +
	`|float[48]{1,2}` + order + `\((real|double precision),(real|double precision)\)` +
	`|text_?` + order + `\(text,text\)|bpchar` + order + `\(character,character\)|bool` + order + `\(boolean,boolean\)|bytea` + order + `\(bytea,bytea\)` +
	`|oid` + order + `\(oid,oid\)|numeric_` + order + `\(numeric,numeric\)|uuid_` + order + `\(uuid,uuid\)|enum_` + order + `\(anyenum,anyenum\)` +
	`|date_` + order + `\(date,date\)|time_` + order + `\(time without time zone,time without time zone\)|timetz_` + order + `\(time with time zone,time with time zone\)` +
	`|timestamp_` + order + `\(timestamp without time zone,timestamp without time zone\)|timestamptz_` + order + `\(timestamp with time zone,timestamp with time zone\)` +
	`|interval_` + order + `\(interval,interval\)` +
	`|(lower|upper|initcap|length|char_length|character_length|octet_length|reverse|btrim|ltrim|rtrim)\(text\)|(length|char_length|character_length|octet_length)\(character\)` +
	`|(btrim|ltrim|rtrim|strpos|starts_with|textcat)\(text,text\)|("left"|"right")\(text,integer\)` +
	`|(floor|ceil|ceiling|round|trunc|sign)\(double precision\)|(trunc|sign)\(numeric\)` +
	`|int4\((smallint|boolean)\)|int8\((smallint|integer)\)|float8\((smallint|integer|bigint|real)\)|"?numeric"?\((smallint|integer|bigint)\)` +
	`|text\((boolean|character)\)|date\(timestamp with(out)? time zone\)` +
	`|count\(("any")?\)|(bool_and|bool_or|every)\(boolean\)|avg\((smallint|integer|bigint)\)` +
	`|(min|max)\((smallint|integer|bigint|real|double precision|numeric|text|character|date|time with(out)? time zone|timestamp with(out)? time zone|interval)\)` +
	`)$`)

const order = `(eq|ne|lt|le|gt|ge)`

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
var byPattern = regexp.MustCompile(`^((text|bpchar)(ic)?n?like|i?c?n?like|"like"|notlike)\((text|character),text\)$`)
