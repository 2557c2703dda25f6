package source

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
	"dpsql/sqlerr"
)

// comparesStored reports for each column whether its stored values compare with values
// of the domain as the canonical values do. If so, a condition on the stored value is
// necessary. It holds for columns of numeric affinity with an INTEGER domain and of
// TEXT affinity with a TEXT domain. It is false for columns of views, which can mix
// affinities.
func comparesStored(ctx context.Context, q Querier, t Table) ([]bool, error) {
	types, err := storedTypes(ctx, q, t.Source)
	if err != nil {
		return nil, err
	}
	sound := make([]bool, len(t.Columns))
	for i, c := range t.Columns {
		declared, ok := types[query.FoldName(c.Name)]
		sound[i] = ok && (c.Form.IsPlain() || c.Form.IsBoolean()) && compares(c, affinityOf(declared))
	}
	return sound, nil
}

// compares is comparesStored for a column of an ordinary table.
func compares(c query.Column, a affinity) bool {
	switch c.Domain.Type() {
	case query.TypeInteger:
		return a == numericAffinity
	case query.TypeText:
		return a == textAffinity
	}
	return false
}

// storedTypes returns the declared types of the columns, by folded name, if the
// source is an ordinary table.
func storedTypes(ctx context.Context, q Querier, source string) (map[string]string, error) {
	return typesOf(ctx, q, source, `SELECT x.name || char(0) || x.type
		FROM main.sqlite_schema AS s, pragma_table_xinfo(s.name, 'main') AS x
		WHERE s.type = 'table' AND s.rootpage > 0 AND s.name = ? COLLATE NOCASE`)
}

// typesOf returns types by folded name. The statement must return each column's name
// and type with a NUL between.
func typesOf(ctx context.Context, q Querier, source, statement string) (map[string]string, error) {
	found, err := texts(ctx, q, source, statement, source)
	if err != nil {
		return nil, err
	}
	types := make(map[string]string)
	for _, f := range found {
		name, declared, _ := strings.Cut(f, "\x00")
		types[query.FoldName(name)] = declared
	}
	return types, nil
}

type affinity uint8

const (
	noAffinity      affinity = iota // values are stored unchanged
	numericAffinity                 // INTEGER, REAL or NUMERIC: a text that looks like a number is stored as one
	textAffinity                    // numbers are stored as texts
	unknownAffinity
)

// affinityOf returns the affinity of a declared type.
func affinityOf(declared string) affinity {
	switch sqlvalue.AffinityOf(declared) {
	case sqlvalue.Textual:
		return textAffinity
	case sqlvalue.Blob:
		return noAffinity
	}
	return numericAffinity
}

// Misfits returns a sentence for each column whose type in the schema admits values
// that belong to no value of the declared domain. Rows with such values are not
// counted, and no error mentions them. Misfits returns an Unsupported error for a
// column that can hold no declared value at all. It reads the schema and no rows. It
// does not judge expressions of views, which have no type.
func Misfits(ctx context.Context, q Querier, t Table) ([]string, error) {
	types, err := typesOf(ctx, q, t.Source, `SELECT name || char(0) || type FROM pragma_table_xinfo(?, 'main')`)
	if err != nil {
		return nil, err
	}
	kind, strict := "", false
	err = q.QueryRowContext(ctx, `SELECT type, strict FROM pragma_table_list WHERE schema = 'main' AND name = ? COLLATE NOCASE`, t.Source).Scan(&kind, &strict)
	if err != nil {
		return nil, failure(ctx, err, t.Source)
	}
	var out []string
	for _, c := range t.Columns {
		declared := types[query.FoldName(c.Name)]
		if isBlob := strings.Contains(strings.ToUpper(declared), "BLOB"); isBlob && strict {
			return nil, sqlerr.New(sqlerr.Unsupported, "column %s of %s holds blobs alone, and none is a value of %s", c.Name, t.Source, c.TypeName()).
				WithHint("make a view with a column that has the values, as CASE or CAST gives them, and declare the view")
		} else if isBlob && kind == "view" {
			continue // an expression of a view
		}
		if why := misfit(c, declared, t.Source); why != "" {
			out = append(out, fmt.Sprintf("%s is declared %s in %s: %s", c.Name, declared, t.Source, why))
		}
	}
	return out, nil
}

// misfit names the values of a column of the declared type that belong to no value of
// the domain. It returns "" if the type does not suggest any.
func misfit(c query.Column, declared, source string) string {
	up := strings.ToUpper(declared)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(up, p) {
				return true
			}
		}
		return false
	}
	affinity := affinityOf(declared)
	if c.Form.IsTime() {
		return misfitTime(c, affinity, has)
	}
	if c.Form.IsStepped() {
		return misfitSteps(c, affinity, has)
	}
	fractions := has("REAL", "FLOA", "DOUB", "DEC") && !has("INT")
	switch {
	case c.Domain.Type() == query.TypeInteger && (fractions || has("DATE", "TIME", "BLOB") && !has("INT") || affinity == textAffinity):
		if c.Form.IsBoolean() {
			return NotBoolean
		}
		column := query.Quoted(c.Name)
		return fmt.Sprintf("rows where it is not a whole number are not counted; SELECT COUNT(*) FROM %s WHERE %s <> CAST(%s AS INTEGER) tells how many there are, and a view can bin them",
			query.Quoted(source), column, column)
	case c.Domain.Type() == query.TypeText && has("REAL", "FLOA", "DOUB") && !has("INT"):
		return "a number there is the text '40.0', not '40'"
	case c.Domain.Type() == query.TypeText && has("INT"):
		if v, ok := numberLike(c.Domain); ok {
			return fmt.Sprintf("'%s' is stored as a number there, which is another text, and no row has it", v)
		}
	}
	return ""
}

// What misfit says of a BOOLEAN that can be more than 0 and 1, and of an exact NUMERIC whose
// rows are REAL.
const (
	NotBoolean = "rows where it is not 0 or 1 are not counted; declare texts such as 'true' as TEXT IN ('true', 'false')"
	MoreDigits = "rows where it has more digits than its declaration are not counted; STEP rounds them"
)

// misfitSteps is misfit for a REAL or NUMERIC.
func misfitSteps(c query.Column, a affinity, has func(...string) bool) string {
	switch {
	case a == textAffinity || has("DATE", "TIME", "BLOB") && !has("INT"):
		return "rows where it is not a number are not counted"
	case !c.Form.IsRounded() && has("REAL", "FLOA", "DOUB"):
		return MoreDigits
	}
	return ""
}

// misfitTime is misfit for a DATE, a TIMESTAMP or a TIME. has reports whether the declared type has
// one of some parts.
func misfitTime(c query.Column, a affinity, has func(...string) bool) string {
	stored := c.Form.Stored()
	switch {
	case c.Form.IsClock() && has("INT", "REAL", "FLOA", "DOUB"):
		return "only texts such as '09:27:30' are of type TIME, and rows with a number are not counted"
	case c.Form.IsClock():
	case stored == query.StoredISO && has("INT", "REAL", "FLOA", "DOUB"):
		return "only texts such as '2024-12-31' are of type " + c.TypeName() + ", and rows with a number are not counted; add STORED AS julian or STORED AS unix where it holds numbers"
	case stored == query.StoredISO && c.Form.IsDate() && has("TIME"):
		return "only texts 'YYYY-MM-DD' are dates, and rows with a time are not counted; declare it TIMESTAMP with STEP '1 day'"
	case stored != query.StoredISO && a == textAffinity:
		return "it holds texts, and rows where a " + c.TypeName() + " STORED AS " + stored.String() + " is not a number are not counted"
	}
	return ""
}

// numberLike returns a text of the domain that an INTEGER column would store as a
// number and return as another text. For example '01' would become '1'.
func numberLike(d query.Domain) (string, bool) {
	if !d.Finite() {
		return "", false
	}
	for i := range d.Size() {
		v := d.Value(i)
		if v.IsNull() {
			continue
		}
		trimmed := strings.Trim(v.Str(), " \t\n\v\f\r")
		if trimmed == "" || !strings.Contains("+-.0123456789", trimmed[:1]) {
			continue // SQLite does not take NaN, Inf or hexadecimal for numbers
		}
		if _, err := strconv.ParseFloat(trimmed, 64); err != nil || strings.ContainsAny(trimmed, "xX_pPiIn") {
			continue
		}
		if n, err := strconv.ParseInt(v.Str(), 10, 64); err != nil || strconv.FormatInt(n, 10) != v.Str() {
			return v.Str(), true
		}
	}
	return "", false
}

// MaxBytes is the largest number of bytes of a text or blob that stands for a value of a column,
// or for a unit. Without it, a row could have a value that a statement cannot sort, send or
// convert within the database's own limits, and an error would tell of it. The length is looked
// at before the value is, in all databases.
const MaxBytes = 1 << 16

// short returns an expression for one of ?, and another if ? is a longer text or blob than
// MaxBytes. A length is looked up without the value.
func short(one, another string) string {
	return fmt.Sprintf("CASE WHEN octet_length(?) > %d THEN %s ELSE %s END", MaxBytes, another, one)
}

// canonical returns an SQL expression for the declared value that the value of a column
// expression stands for. The result is an INTEGER or TEXT, NULL, or the blob noValue
// for a value that belongs to no declared value.
//
// A value stands for the INTEGER that SQLite would store in a column of INTEGER
// affinity (40, 40.0, '40', ' 4e1 '; not 40.5, '40abc' or a blob), and for the TEXT
// that it would store in a column of TEXT affinity. A cast reads the longest numeric
// prefix of a text. The comparison applies NUMERIC affinity to the text, and so decides
// whether the cast has read what SQLite would store. A digit string is stored exactly,
// except that one followed by a NUL goes through a real. SQLite never turns the real
// -2^63 into an integer.
//
// The result has no affinity. Compare it COLLATE BINARY, whatever collation c has. It
// also has no declared type, so the driver returns it as stored and never as a time.
//
// The values of a column with CLAMP lie between the bounds of its domain.
func canonical(c string, of query.Column) string {
	form := canonicalOf(of.Domain.Type())
	switch {
	case of.Form.IsTime():
		form = canonicalTime(of)
	case of.Form.IsStepped():
		form = canonicalSteps(of)
	case of.Form.IsNoCase():
		form = canonicalLower
	case of.Form.IsClamped():
		form = clamped(form, of)
	case of.Domain.Type() == query.TypeInteger: // which looks at the length itself
		return strings.ReplaceAll(form, "?", c)
	}
	long := noValue
	if of.Form.HasOther() {
		long = "CASE typeof(?) WHEN 'text' THEN '" + query.Other + "' ELSE " + noValue + " END"
	}
	return strings.ReplaceAll(short(form, long), "?", c)
}

// canonicalOf returns the expression for columns declared INTEGER or TEXT, with ? for the
// column.
func canonicalOf(t query.Type) string {
	if t == query.TypeInteger {
		return canonicalInteger
	}
	return canonicalText
}

// clamped returns the expression for a column with CLAMP, given that for its canonical
// value. SQLite compares integers and reals exactly, however large, so that reals beyond
// 64 bits are clamped too. A value is compared as a number if its cast equals it, which
// no text that is not a number and no blob does.
func clamped(form string, of query.Column) string {
	lo, hi := of.Domain.Bounds()
	const number, is = "CAST(? AS NUMERIC)", "CAST(? AS NUMERIC) = ?"
	return fmt.Sprintf("CASE WHEN %s AND %s >= %d THEN %[3]d WHEN %[1]s AND %[2]s <= %[4]d THEN %[4]d ELSE %[5]s END", is, number, hi, lo, form)
}

// canonicalTime returns the expression for the step of a DATE, a TIMESTAMP or a TIME. With CLAMP,
// it is clamped once it is a step at all.
//
// The date in a text must be what date() makes of it. That excludes a day that does not
// exist and words such as 'now'. The plus sign keeps a column of numbers from comparing the
// text with the number 1. A DATE is nothing but a date. A TIMESTAMP may have a time behind
// it, whose fractions of a second are cut off. A number must lie in the years 1 to 9999.
// Julian days are rounded to milliseconds, as SQLite's own functions do. Everything is
// counted from the year 1, because division cuts towards 0.
func canonicalTime(of query.Column) string {
	f := of.Form
	valid, seconds := validISO, secondsISO
	switch f.Stored() {
	case query.StoredJulian:
		valid, seconds = `typeof(?) IN ('integer', 'real') AND ? >= 1721425.5 AND ? < 5373484.5`, `CAST((? - 1721425.5) * 86400000.0 + 0.5 AS INTEGER) / 1000`
	case query.StoredUnix:
		valid, seconds = `typeof(?) IN ('integer', 'real') AND ? >= -62135596800 AND ? < 253402300800`, `(CAST(? AS INTEGER) - (? < CAST(? AS INTEGER)) + 62135596800)`
	case query.StoredClock:
		valid, seconds = validClock, secondsClock
	case query.StoredISO:
		if !f.IsDate() {
			valid, seconds = validTime, secondsTime
		}
	}
	step := fmt.Sprintf("%s / %d - %d", seconds, f.Step(), 62_135_596_800/f.Step())
	if f.IsClamped() {
		lo, hi := of.Domain.Bounds()
		step = fmt.Sprintf("max(%d, min(%d, %s))", lo, hi, step)
	}
	return "CASE WHEN ? IS NULL THEN NULL WHEN " + valid + " THEN " + step + " ELSE " + noValue + " END"
}

// canonicalSteps returns the expression for a REAL or NUMERIC column. A value within the
// bounds is divided by the step to find its step but for one, and then compared with the
// ends of that step. An end is the REAL nearest to a multiple of the step, as a literal of
// that multiple is: n times the numerator is exact, and the division rounds once. The
// error of the quotient is far below one step, since there are at most 10^9 steps. Before
// the cast, which cuts towards 0, the lower bound is taken off, so that it cuts downwards.
func canonicalSteps(of query.Column) string {
	lo, hi := of.Steps().Bounds()
	p, q := of.Form.Fraction()
	const number = "CAST(? AS NUMERIC)"
	end := func(n string) string { return fmt.Sprintf("(%s) * %d.0 / %d.0", n, p, q) }
	near := func(shift string) string {
		return fmt.Sprintf("(CAST(%s * %d.0 / %d.0 - (%d) + %s AS INTEGER) + (%[4]d))", number, q, p, lo, shift)
	}
	last, n := hi, near("0.5")
	within := "CASE WHEN " + number + " = " + end(n) + " THEN " + n + " ELSE " + noValue + " END"
	if of.Form.IsRounded() {
		last, n = hi-1, near("0.0")
		within = fmt.Sprintf("min(%d, %s + (%s >= %s) - (%[3]s < %[5]s))", last, n, number, end(n+" + 1"), end(n))
	}
	below, above := noValue, noValue
	if of.Form.IsClamped() {
		below, above = strconv.FormatInt(lo, 10), strconv.FormatInt(last, 10)
	}
	return "CASE WHEN ? IS NULL THEN NULL WHEN " + number + " = ? THEN CASE WHEN " + number + " < " + end(strconv.FormatInt(lo, 10)) + " THEN " + below +
		" WHEN " + number + " > " + end(strconv.FormatInt(hi, 10)) + " THEN " + above + " ELSE " + within + " END ELSE " + noValue + " END"
}

const (
	validISO   = `typeof(?) = 'text' AND length(?) = 10 AND +? >= '0001' AND (date(?)) COLLATE BINARY = ?`
	secondsISO = `CAST(julianday(?) - 1721425.5 AS INTEGER) * 86400`

	// The first line excludes texts with a NUL, behind which no function looks.
	validTime = `typeof(?) = 'text' AND length(?) = length(CAST(? AS BLOB))` +
		` AND +? >= '0001' AND date(substr(?, 1, 10)) = substr(?, 1, 10) AND (length(?) = 10` +
		` OR substr(?, 11) GLOB '[ T][0-2][0-9]:[0-5][0-9]*' AND substr(?, 12, 2) < '24'` +
		` AND (substr(?, 17) IN ('', 'Z') OR substr(?, 17) GLOB ':[0-5][0-9]' OR substr(?, 17) GLOB ':[0-5][0-9]Z'` +
		` OR substr(?, 17) GLOB ':[0-5][0-9].[0-9]*' AND ltrim(substr(?, 21), '0123456789') IN ('', 'Z')))`
	validClock = `typeof(?) = 'text' AND length(?) = length(CAST(? AS BLOB)) AND ? GLOB '[0-2][0-9]:[0-5][0-9]*' AND substr(?, 1, 2) < '24'` +
		` AND (length(?) = 5 OR substr(?, 6) GLOB ':[0-5][0-9]' OR substr(?, 6) GLOB ':[0-5][0-9].[0-9]*' AND ltrim(substr(?, 10), '0123456789') = '')`
	secondsClock = `(62135596800 + substr(?, 1, 2) * 3600 + substr(?, 4, 2) * 60 + CAST(substr(?, 7, 2) AS INTEGER))`
	secondsTime  = `(CAST(julianday(substr(?, 1, 10)) - 1721425.5 AS INTEGER) * 86400 + substr(?, 12, 2) * 3600 + substr(?, 15, 2) * 60` +
		` + CAST(substr(?, 18, 2) AS INTEGER))`
)

const (
	// Only blobs are not below the empty blob. This test is faster than comparing the
	// name of the type.
	canonicalText = `CASE WHEN ? >= x'' THEN ` + noValue + ` ELSE CAST(? AS TEXT) END`

	// The text in lower case: a list may spell it otherwise.
	canonicalLower = `CASE WHEN ? >= x'' THEN ` + noValue + ` ELSE lower(CAST(? AS TEXT)) END`

	exactly = `CAST(CAST(? AS NUMERIC) AS INTEGER)`
	asReal  = `CAST(CAST(? AS REAL) AS INTEGER)`

	// noValue is not empty, because the driver may return an empty blob as nil.
	noValue = `x'00'`
)

// canonicalInteger looks at the type first, which is looked up without the value, as a length is. To take
// the length of a number, SQLite would write it out.
var canonicalInteger = `CASE typeof(?) WHEN 'integer' THEN ? WHEN 'null' THEN NULL WHEN 'blob' THEN ` + noValue +
	` ELSE ` + short(`CASE WHEN `+exactly+` = ? AND (`+exactly+` > -9223372036854775808`+
	` OR typeof(CAST(? AS NUMERIC)) = 'integer' AND NOT instr(?, char(0))) THEN `+exactly+
	` WHEN `+asReal+` = ? AND `+asReal+` > -9223372036854775808 THEN `+asReal+
	` ELSE `+noValue+` END`, noValue) + ` END`

// rows is the alias under which a source is read. Columns are always qualified by it,
// because SQLite takes an unknown "name" for a string, but not an unknown r."name".
const rows = "r"

func from(source string) string { return " FROM main." + query.Quoted(source) + " AS " + rows }

func columnOf(name string) string { return rows + "." + query.Quoted(name) }
