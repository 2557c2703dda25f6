package postgres

import (
	"context"
	"regexp"
	"slices"
	"strconv"

	"dpsql/sqlerr"
)

// vouch refuses views that can fail on a row, or vary between calls. It returns what
// the server's catalog says about the things that they use.
func (r *reader) vouch(ctx context.Context, v view, source string) (known catalog, err error) {
	what := v.refused
	if what == "" {
		if err := r.lookUp(ctx, v, &known); err != nil {
			return known, err
		}
		what = v.refusedFor(known)
	}
	if what == "" {
		return known, nil
	}
	return known, sqlerr.New(sqlerr.Unsupported, "%s has %s: it could fail on a row, or vary between calls", source, what).
		WithHint("write it with what cannot fail, such as CASE, substr and lower, or leave it out of the view")
}

// catalog describes the functions, operators, types and collations that a view uses, by
// their numbers.
type catalog struct {
	functions  map[string]string // names of functions that are PostgreSQL's own and not volatile
	operators  map[string]string // names of such functions, by the operators that call them
	types      map[string]typ
	collations map[string]bool // the deterministic collations
}

// typ describes a type.
type typ struct {
	name     string // as in printable; "" for one that is not PostgreSQL's own
	collates bool
}

const ownFunction = `p.pronamespace = 'pg_catalog'::regnamespace AND p.oid < 16384 AND p.provolatile <> 'v'`

const functionsText = `SELECT p.oid::text, p.oid::regprocedure::text FROM pg_proc AS p WHERE p.oid = ANY ($1::oid[]) AND ` + ownFunction

const operatorsText = `SELECT o.oid::text, p.oid::regprocedure::text FROM pg_operator AS o JOIN pg_proc AS p ON p.oid = o.oprcode
	WHERE o.oid = ANY ($1::oid[]) AND o.oprnamespace = 'pg_catalog'::regnamespace AND o.oid < 16384 AND ` + ownFunction

const typesText = `WITH RECURSIVE base(oid, typ) AS (
		SELECT oid, oid FROM pg_type WHERE oid = ANY ($1::oid[])
		UNION ALL SELECT b.oid, t.typbasetype FROM base AS b JOIN pg_type AS t ON t.oid = b.typ WHERE t.typtype = 'd')
	SELECT b.oid::text, CASE WHEN t.typtype = 'e' THEN 'enum'
			WHEN t.typlen = -1 AND EXISTS (SELECT FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
				WHERE p.oid = t.typoutput AND l.lanname = 'internal' AND p.prosrc IN ('textout', 'varcharout')) THEN 'text'
			WHEN t.typnamespace = 'pg_catalog'::regnamespace AND t.oid < 16384 THEN t.typname::text ELSE '' END, t.typcollation <> 0
	FROM base AS b JOIN pg_type AS t ON t.oid = b.typ WHERE t.typtype <> 'd'`

const collationsText = `SELECT oid::text, '' FROM pg_collation WHERE oid = ANY ($1::oid[]) AND collisdeterministic`

// lookUp asks the server about everything that a view uses.
func (r *reader) lookUp(ctx context.Context, v view, known *catalog) error {
	var functions, operators, types, collations []string
	operators = append(operators, v.operators...)
	for _, c := range v.calls {
		if c.operator {
			operators = append(operators, c.number)
		} else if c.number != "" {
			functions = append(functions, c.number)
		}
		types = append(types, c.types...)
		collations = append(collations, c.collation)
	}
	for _, u := range v.uses {
		types = append(types, u.from, u.to)
	}
	for _, c := range v.collated {
		types = append(types, c.typ)
	}
	known.types, known.collations = make(map[string]typ), make(map[string]bool)
	var err error
	if known.functions, err = r.names(ctx, functionsText, "dpsql_functions", functions); err != nil {
		return err
	}
	if known.operators, err = r.names(ctx, operatorsText, "dpsql_operators", operators); err != nil {
		return err
	}
	deterministic, err := r.names(ctx, collationsText, "dpsql_collations", collations)
	if err != nil {
		return err
	}
	for c := range deterministic {
		known.collations[c] = true
	}
	if types = numbered(types); len(types) == 0 {
		return nil
	}
	return r.rows(ctx, statement{typesText, texts(array(types)), "dpsql_types"}, func(row [][]byte) bool {
		known.types[string(row[0])] = typ{string(row[1]), row[2][0] == 1}
		return true
	})
}

// names asks for the names that belong to numbers.
func (r *reader) names(ctx context.Context, text, name string, numbers []string) (map[string]string, error) {
	out := make(map[string]string)
	if numbers = numbered(numbers); len(numbers) == 0 {
		return out, nil
	}
	err := r.rows(ctx, statement{text, texts(array(numbers)), name}, func(row [][]byte) bool {
		out[string(row[0])] = string(row[1])
		return true
	})
	return out, err
}

// numbered sorts the numbers and drops the unknown ones.
func numbered(all []string) []string {
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" })
}

// refusedFor names what the view must not have. It returns "" if it has none of it.
func (v view) refusedFor(known catalog) string {
	for _, c := range v.calls {
		if what := c.refusedFor(known, v); what != "" {
			return what
		}
	}
	for _, o := range v.operators {
		if name := known.operators[o]; !total.MatchString(name) {
			return "an order of values by a function that is not vouched for: " + name
		}
	}
	for _, u := range v.uses {
		from, to := known.types[u.from].name, known.types[u.to].name
		if from == "" || u.types != "" && !u.types.has(from) || u.to != "" && from != to && !widened.has(from+">"+to) {
			return u.what + " of the type " + from
		}
		if v.groups && u.types == printable && unlike.has(from) {
			return u.what + " of the type " + from + besideGroups
		}
	}
	for _, c := range v.collated {
		if t, ok := known.types[c.typ]; !ok || t.collates && (c.collation == "" || c.collation == "0") {
			return "a text whose collation cannot be told"
		}
	}
	return ""
}

const besideGroups = " beside groups, whose equal values can differ, as 1 and 1.0 do"

// refusedFor names what is wrong with a call. It returns "" if the call gives a value
// for every row. If v is far, the rows are on other servers: some calls are made there, and
// others here, as the server thinks best, and a collation of the same name may differ.
func (c call) refusedFor(known catalog, v view) string {
	names := known.functions
	if c.operator {
		names = known.operators
	}
	for _, number := range c.types {
		t, ok := known.types[number]
		if !ok {
			return "an argument whose type cannot be told"
		}
		if t.collates && !known.collations[c.collation] {
			return "a comparison by a collation that is not deterministic, or cannot be told"
		}
		if t.collates && v.far && !byBytes.MatchString(names[c.number]) {
			return "a comparison of texts of another server, by a collation there"
		}
		if v.groups && unlike.has(t.name) && byPattern.MatchString(names[c.number]) {
			return "LIKE of the type " + t.name + besideGroups
		}
	}
	switch name := names[c.number]; {
	case c.number == "":
		return ""
	case name == "":
		return "a call of a function that is not PostgreSQL's own, or is volatile"
	case !c.safe(name):
		return "a call of " + name
	}
	return ""
}

// call is a view's use of a function.
type call struct {
	number      string // of the function, or of the operator that calls it
	operator    bool
	first, last []byte   // its first and last arguments, if they are constants
	types       []string // the numbers of the types of its arguments; "" for one that is not known
	collation   string   // the collation by which it compares
}

func callOf(n *tree, field string, operator bool) call {
	args := n.list("args")
	c := call{number: n.atom(field), operator: operator, collation: n.atom("inputcollid")}
	for _, a := range args {
		c.types = append(c.types, typeOf(a))
	}
	if len(args) > 0 {
		c.first, c.last = constant(args[0]), constant(args[len(args)-1])
	}
	return c
}

// constant returns the bytes of an argument, if it is a constant and not NULL. The
// server writes a value that fits into a machine word as a whole word.
func constant(argument any) []byte {
	c, ok := argument.(*tree)
	if !ok || c.kind != "CONST" || c.atom("constisnull") != "false" || len(c.fields["constvalue"]) != 2 {
		return nil
	}
	list, _ := c.fields["constvalue"][1].([]any)
	var out []byte
	for _, b := range list {
		text, _ := b.(string)
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil
		}
		out = append(out, byte(n))
	}
	if length, _ := strconv.Atoi(c.atom("constlen")); length > 0 && length < len(out) && c.atom("constbyval") == "true" {
		out = out[:length] // on a machine that stores the low bytes first
	}
	return out
}

// safe reports whether a call gives a value for every row.
func (c call) safe(name string) bool {
	switch {
	case total.MatchString(name):
		return true
	case searches.MatchString(name):
		return len(c.first)+len(c.last) > 0
	case byConstant.MatchString(name):
		zero := slices.IndexFunc(c.last, func(b byte) bool { return b != 0 }) < 0
		ones := slices.IndexFunc(c.last, func(b byte) bool { return b != 0xff }) < 0
		return !zero && !ones
	case byField.MatchString(name):
		const header = 4 // bytes before the text
		return len(c.first) > header && dateFields.has(string(c.first[header:]))
	case byPattern.MatchString(name):
		return len(c.last) > 0 && !slices.Contains(c.last, '\\')
	}
	return false
}

// A view may call only functions of the server that give a value for every argument,
// and the same value each time. A function that fails on one row would turn an answer
// into an error, and the error would tell of that row without noise. So arithmetic is
// missing, because it overflows. Some functions look harmless but fail, too: avg(double
// precision) overflows; round(numeric), ceil and floor fail at the top of numeric's
// range, and date_part(text,date) on a date that is no timestamp; max of arrays needs
// an order of their elements. The check ignores only one failure: a value that needs
// more memory than the server allows. The method vouch checks what functions need of
// collations.

// total matches functions that never fail. They are named with the types of their
// arguments, as the type regprocedure writes them.
var total = regexp.MustCompile(`^(` +
	`int[248]{1,2}` + order + `\((smallint|integer|bigint),(smallint|integer|bigint)\)` +
	`|float[48]{1,2}` + order + `\((real|double precision),(real|double precision)\)` +
	`|text_?` + order + `\(text,text\)|bpchar` + order + `\(character,character\)|bool` + order + `\(boolean,boolean\)|bytea` + order + `\(bytea,bytea\)` +
	`|oid` + order + `\(oid,oid\)|numeric_` + order + `\(numeric,numeric\)|uuid_` + order + `\(uuid,uuid\)|enum_` + order + `\(anyenum,anyenum\)` +
	`|date_` + order + `\(date,date\)|time_` + order + `\(time without time zone,time without time zone\)|timetz_` + order + `\(time with time zone,time with time zone\)` +
	`|timestamp_` + order + `\(timestamp without time zone,timestamp without time zone\)|timestamptz_` + order + `\(timestamp with time zone,timestamp with time zone\)` +
	`|interval_` + order + `\(interval,interval\)` +
	`|(lower|upper|initcap|length|char_length|character_length|octet_length|reverse|btrim|ltrim|rtrim)\(text\)|(length|char_length|character_length)\(character\)` +
	`|(starts_with|textcat)\(text,text\)|("left"|"right")\(text,integer\)` +
	`|(floor|ceil|ceiling|round|trunc|sign)\(double precision\)|(trunc|sign)\(numeric\)` +
	`|int4\((smallint|boolean)\)|int8\((smallint|integer)\)|float8\((smallint|integer|bigint|real)\)|"?numeric"?\((smallint|integer|bigint)\)` +
	`|text\((boolean|character)\)|date\(timestamp with(out)? time zone\)` +
	`|count\(("any")?\)|(bool_and|bool_or|every)\(boolean\)|avg\((smallint|integer|bigint)\)` +
	`|(min|max)\((smallint|integer|bigint|real|double precision|numeric|text|character|date|time with(out)? time zone|timestamp with(out)? time zone|interval)\)` +
	`)$`)

const order = `(eq|ne|lt|le|gt|ge)`

// byBytes matches those on texts that mean the same under all collations.
var byBytes = regexp.MustCompile(`^(text\(character\)|(length|char_length|character_length|octet_length|reverse|btrim|ltrim|rtrim)\(text\)|textcat\(text,text\)|("left"|"right")\(text,integer\)|count\(("any")?\))$`)

// searches matches functions that look for one text in another. With two texts of rows, one row could make
// a call take hours.
var searches = regexp.MustCompile(`^(btrim|ltrim|rtrim|strpos)\(text,text\)$`)

// byConstant matches functions that never fail if their last argument is a constant
// other than 0 and -1. int4div of the smallest integer by -1 overflows.
var byConstant = regexp.MustCompile(`^(int[248]{1,2}(div|mod)|mod)\((smallint|integer|bigint),\s?(smallint|integer|bigint)\)$`)

// byField matches functions that never fail if their first argument is a constant that
// names one of dateFields.
var byField = regexp.MustCompile(`^("extract"\(text,\s?(date|timestamp without time zone)|date_part\(text,\s?timestamp without time zone)\)$`)

const dateFields = wordList("century day decade dow doy epoch isodow isoyear julian millennium month quarter week year")

// byPattern matches functions that never fail if their last argument is a constant
// without a backslash. A backslash at the end of a pattern is an error when it is
// reached.
var byPattern = regexp.MustCompile(`^((text|bpchar)(ic)?n?like|i?c?n?like|"like"|notlike)\((text|character),text\)$`)
