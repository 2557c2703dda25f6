package postgres

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// kind says how the values of a server's type stand for declared values.
//
// Two values compare as equal if and only if they stand for the same declared value,
// and no comparison can fail on a row: declared values are converted to the column's
// type, and values of rows are never converted. Declared values that no row can have
// are left out.
type kind struct {
	array   string                               // the type of a list of values; "" if only Go can tell what a row's value stands for
	literal func(query.Value) (string, bool)     // a declared value as the server writes it; false if no row can have it
	value   func(raw []byte) (query.Value, bool) // the declared value of a row's value that is not NULL; false if there is none
	between string                               // the condition that ? is an integer from $lo to $hi; "" if values must be listed
	all     bool                                 // every value of the type stands for a declared value
}

// column is a declared column with the expression by which it is compared, grouped and
// read.
type column struct {
	query.Column
	kind
	text string
	fits string // as in attribute; "" with OR OTHER, which longer texts are
}

// column returns the relation's column for a declared one.
func (rel *relation) column(c query.Column, source string) (column, error) {
	a, err := rel.attribute(c.Name, source)
	if err != nil {
		return column{}, err
	}
	k, ok := a.kind(c.Domain.Type())
	if c.Form.IsTime() {
		k, ok = a.timeKind(c)
	}
	if !ok {
		return column{}, a.refused(c, source)
	}
	text := a.text()
	if c.Form.IsStepped() {
		if text, ok = a.steps(c); !ok {
			return column{}, a.refused(c, source)
		}
		return column{Column: c, kind: integerKind, text: text}, nil
	}
	if c.Form.HasOther() || c.Form.IsNoCase() {
		if k.array == "date[]" || k.array == "bpchar[]" {
			return column{}, a.refused(c, source)
		}
		k, _ = a.textKind("text")
	}
	if c.Form.IsNoCase() { // the collation "C" has no capitals but those of ASCII
		text, k = `lower(`+cropped("("+text+`)::text`)+` COLLATE "C")`, k.folded(c)
	}
	if c.Form.HasOther() {
		text = k.listed(text, c.Domain)
	}
	if c.Form.IsClamped() && !c.Form.IsTime() {
		k, text = k.clamped(text, c.Domain)
	}
	out := column{Column: c, kind: k, text: text}
	if text == a.text() && !a.bytewise {
		out.kind, out.text = k.shared("r." + query.Quoted(a.name) + "::text")
	}
	if !c.Form.HasOther() {
		out.fits = a.fits()
	}
	return out, nil
}

// steps returns the expression for the number of steps of a REAL or NUMERIC column, as a
// bigint. It is one beyond the domain for a number that stands for none. A real is found as
// SQLite's reader finds it. For integers and numerics all arithmetic is exact.
func (a attribute) steps(c query.Column) (text string, ok bool) {
	lo, hi := c.Steps().Bounds()
	p, q := c.Form.Fraction()
	last := hi
	if c.Form.IsRounded() {
		last = hi - 1
	}
	var least, most, within string
	text = a.text()
	switch {
	case !a.builtIn:
		return "", false
	case a.typ == "float4" || a.typ == "float8":
		text += "::float8"
		end := func(n string) string { return fmt.Sprintf("((%s)::float8 * %d::float8 / %d::float8)", n, p, q) }
		// The quotient is at least 1/2, since the server fails where one is too small.
		near := func(shift string, less int) string {
			return fmt.Sprintf("(trunc((? * %d::float8 - (%d)::float8 * %d::float8 + %s * %[3]d::float8) / %[3]d::float8)::int8 + (%[5]d))", q, lo, p, shift, lo-int64(less))
		}
		least, most = end(strconv.FormatInt(lo, 10)), end(strconv.FormatInt(hi, 10))
		n := near("0.5", 0)
		within = "CASE WHEN ? = " + end(n) + " THEN " + n + " ELSE $none END"
		if c.Form.IsRounded() {
			n = near("1", 1)
			within = fmt.Sprintf("least(%d, %s + (? >= %s)::int - (? < %s)::int)", last, n, end(n+" + 1"), end(n))
		}
	case a.typ == "numeric" || a.typ == "int2" || a.typ == "int4" || a.typ == "int8":
		text += "::numeric"
		least, most, _ = c.Steps().Texts()
		least, most = "'"+least+"'::numeric", "'"+most+"'::numeric"
		above := fmt.Sprintf("(? * %d - (%d)::numeric * %d)", q, lo, p) // exact, as is the quotient below
		within = fmt.Sprintf("least(%d, div(%s, %d)::int8 + (%d))", last, above, p, lo)
		if !c.Form.IsRounded() {
			within = fmt.Sprintf("CASE WHEN mod(%s, %d) = 0 THEN %s ELSE $none END", above, p, within)
		}
	default:
		return "", false
	}
	none := strconv.FormatInt(last+1, 10) + "::int8"
	below, beyond := none, none
	if c.Form.IsClamped() {
		below, beyond = "("+strconv.FormatInt(lo, 10)+")::int8", "("+strconv.FormatInt(last, 10)+")::int8"
	}
	form := "(CASE WHEN ? IS NULL THEN NULL WHEN ? = 'NaN' THEN " + none + " WHEN ? < " + least + " THEN " + below + " WHEN ? > " + most + " THEN " + beyond + " ELSE " + within + " END)"
	return strings.NewReplacer("?", text, "$none", none).Replace(form), true
}

// folded returns the kind of a column with COLLATE NOCASE, whose values the server has in lower case.
func (k kind) folded(c query.Column) kind {
	literal, value := k.literal, k.value
	k.literal = func(v query.Value) (string, bool) {
		s, ok := literal(v)
		if c.Form.HasOther() && s == query.Other {
			return s, ok // as listed writes it
		}
		return query.FoldName(s), ok
	}
	k.value = func(raw []byte) (query.Value, bool) {
		v, ok := value(raw)
		if ok {
			v, ok = c.Canonical(v)
		}
		return v, ok
	}
	return k
}

// listed returns the expression of a column with OR OTHER, given that of its text. It is compared
// byte by byte, as the texts of the domain are.
func (k kind) listed(text string, d query.Domain) string {
	var elements []string
	for v := range d.NotNull().Each() {
		if s, ok := k.literal(v); ok && s != query.Other {
			elements = append(elements, s)
		}
	}
	// In E'…' a backslash is one of a pair whatever the server's settings say.
	list := strings.NewReplacer("'", "''", `\`, `\\`).Replace(array(elements))
	return `(CASE WHEN ` + text + ` IS NULL THEN NULL WHEN (` + text + `)::text COLLATE "C" = ANY (E'` + list + `'::text[]) THEN (` + text + `)::text ELSE '` + query.Other + `' END) COLLATE "C"`
}

// clamped returns the kind and the expression of a column with CLAMP, given those without.
// Values are compared in their own type, with bounds that are exact in it: a real is at
// least an integer if it is at least the smallest real that is. NaN is above all numbers
// on the server and stands for none.
func (k kind) clamped(text string, d query.Domain) (kind, string) {
	lo, hi := d.Bounds()
	form := ""
	switch k.array {
	case "bool[]":
		text += "::int4"
		fallthrough
	case "int8[]":
		text += "::int8"
		k, form = integerKind, "CASE WHEN ? >= $hi THEN $hi WHEN ? <= $lo THEN $lo ELSE ? END"
	case "numeric[]":
		form = "CASE WHEN ? = 'NaN' THEN ? WHEN ? >= $hi THEN $hi::numeric WHEN ? <= $lo THEN $lo::numeric ELSE ? END"
	case "float8[]":
		k = numericKind
		form = "CASE WHEN ? = 'NaN' THEN 'NaN'::numeric WHEN ? >= '" + formatReal(realAbove(hi)) + "'::float8 THEN $hi::numeric WHEN ? <= '" +
			formatReal(realBelow(lo)) + "'::float8 THEN $lo::numeric WHEN ? IS NULL THEN NULL WHEN ? = trunc(?) THEN ?::int8::numeric ELSE 'NaN'::numeric END"
	default: // a text, which only Go can read
		k.value = func(raw []byte) (query.Value, bool) { return clampedText(raw, lo, hi) }
		return k, text
	}
	bound := func(n int64) string { return "'" + strconv.FormatInt(n, 10) + "'::int8" }
	return k, "(" + strings.NewReplacer("?", text, "$lo", bound(lo), "$hi", bound(hi)).Replace(form) + ")"
}

// text returns the attribute as an expression. For a text its equality is that of
// bytes. It has a cast only if it needs one, so that foreign servers can evaluate the
// rest. A shard would compare by its own collation: convert_to is not immutable, so that
// what has it is computed here.
func (a attribute) text() string {
	text := "r." + query.Quoted(a.name)
	if a.citext || !a.bytewise {
		text += "::text"
	}
	if !a.bytewise {
		text = "(convert_from(convert_to(" + cropped(text) + `, 'UTF8'), 'UTF8')) COLLATE "C"`
	}
	return text
}

// shared returns the kind and the expression of a text in the form that shards can compare and group
// by, given its kind and the text as it is stored. JSON has no collation: strings in it are equal if
// their bytes are. Shards may sort them in different orders, so that a group can come in parts.
func (k kind) shared(stored string) (kind, string) {
	literal, value := k.literal, k.value
	if k.array != "" {
		k.array = "jsonb[]"
		k.literal = func(v query.Value) (string, bool) {
			s, ok := literal(v)
			object, err := json.Marshal(map[string]string{"": s})
			return string(object), ok && err == nil
		}
	}
	k.value = func(raw []byte) (query.Value, bool) {
		var object map[string]string
		if len(raw) == 0 || json.Unmarshal(raw[1:], &object) != nil { // a byte for the version comes first
			return query.Value{}, false
		}
		return value([]byte(object[""]))
	}
	return k, "(CASE WHEN " + stored + " IS NOT NULL THEN jsonb_object(ARRAY['', " + cropped(stored) + "]) END)"
}

// cropped returns an expression for a text that is cut, though no text of at most MaxBytes is.
func cropped(text string) string { return fmt.Sprintf("left(%s, %d)", text, source.MaxBytes+1) }

// fits returns the condition that the attribute has at most MaxBytes. The server looks up a
// length without the value, and a shard sends no longer ones.
func (a attribute) fits() string {
	if !a.citext && (!a.builtIn || a.typ != "text" && a.typ != "varchar" && a.typ != "bpchar") {
		return always
	}
	text := "r." + query.Quoted(a.name)
	return fmt.Sprintf("(octet_length(%s::text) <= %d OR %s IS NULL)", text, source.MaxBytes, text)
}

// kind says how the attribute's values stand for values of the declared type. It is
// false if they cannot with the same meaning as in SQLite.
func (a attribute) kind(declared query.Type) (kind, bool) {
	name := a.typ
	switch {
	case a.enum:
		name = "enum"
	case a.citext:
		name = "text"
	case !a.builtIn:
		return kind{}, false
	case name == "bpchar" && !a.bytewise:
		name = "text"
	}
	if declared == query.TypeInteger {
		return a.integerKind(name)
	}
	return a.textKind(name)
}

// The kinds of INTEGERs that the server holds as integers and as numerics.
var (
	integerKind = kind{array: "int8[]", literal: integerLiteral, value: integerOf, all: true,
		between: "? BETWEEN $lo::int8 AND $hi::int8"}
	numericKind = kind{array: "numeric[]", literal: integerLiteral, value: numericOf,
		between: "? BETWEEN $lo::numeric AND $hi::numeric AND ? = trunc(?)"}
)

func (a attribute) integerKind(name string) (kind, bool) {
	switch name {
	case "int2", "int4", "int8":
		return integerKind, true
	case "bool":
		return kind{array: "bool[]", literal: boolLiteral, value: boolOf, all: true}, true
	case "numeric":
		return numericKind, true
	case "float4", "float8":
		return kind{array: "float8[]", literal: realLiteral, value: realOf,
			between: "? BETWEEN $lo::float8 AND $hi::float8 AND ? = trunc(?)"}, true
	case "text", "varchar":
		return kind{value: integerOfText}, true
	}
	return kind{}, false
}

func (a attribute) textKind(name string) (kind, bool) {
	switch name {
	case "text", "varchar":
		return kind{array: "text[]", literal: textLiteral, value: textOf, all: true}, true
	case "bpchar":
		return kind{array: "bpchar[]", literal: paddedLiteral, value: paddedOf, all: true}, true
	case "int2", "int4", "int8":
		return kind{array: "int8[]", literal: digitsLiteral, value: digitsOf, all: true}, true
	case "uuid":
		return kind{array: "uuid[]", literal: uuidLiteral, value: uuidOf, all: true}, true
	case "date":
		return kind{array: "date[]", literal: dateLiteral, value: dateOf, all: true}, true
	case "enum":
		return kind{array: a.array, literal: labelLiteral(a.labels), value: textOf, all: true}, true
	}
	return kind{}, false
}

// refused returns the error for a column that cannot be read as declared.
func (a attribute) refused(c query.Column, source string) error {
	err := sqlerr.New(sqlerr.Unsupported, "column %s of %s is of type %s, which is not read as %s", c.Name, source, a.typ, c.TypeName())
	switch {
	case c.Form.IsClock():
		return err.WithHint("a TIME is of type time or text; of others make a view that has it as %s::time, and declare that", query.Quoted(a.name))
	case c.Form.IsTime():
		if a.typ == "timestamp" || a.typ == "timestamptz" {
			return err.WithHint("declare it TIMESTAMP with STEP '1 day'")
		}
		return err.WithHint("a DATE is of type date or text, a TIMESTAMP of these or of type timestamp or timestamptz, and of a type of numbers if it is STORED AS unix or julian")
	case c.Form.IsStepped():
		return err.WithHint("make a view that has it as a number, and declare that")
	case a.typ == "bool":
		return err.WithHint("declare it BOOLEAN, or make a view with CASE WHEN %s THEN 'yes' ELSE 'no' END", query.Quoted(a.name))
	case c.Domain.Type() == query.TypeText:
		return err.WithHint("make a view that bins it, or has it as %s::text, and declare that", query.Quoted(a.name))
	}
	return err.WithHint("declare it TEXT, or make a view with an integer column that bins it")
}

func jsonTexts(raw []byte) []string {
	var out []string
	_ = json.Unmarshal(raw, &out) // NULL, and so no label, for other types than enums
	return out
}

func integerLiteral(v query.Value) (string, bool) { return strconv.FormatInt(v.Int64(), 10), true }

func integerOf(raw []byte) (query.Value, bool) {
	n, ok := bigEndian(raw)
	return query.Int(n), ok
}

// digitsLiteral accepts a text that is an integer in the form the server writes.
func digitsLiteral(v query.Value) (string, bool) {
	n, err := strconv.ParseInt(v.Str(), 10, 64)
	return v.Str(), err == nil && strconv.FormatInt(n, 10) == v.Str()
}

func digitsOf(raw []byte) (query.Value, bool) {
	n, ok := bigEndian(raw)
	return query.Text(strconv.FormatInt(n, 10)), ok
}

func boolLiteral(v query.Value) (string, bool) {
	n := v.Int64()
	return strconv.FormatBool(n == 1), n == 0 || n == 1
}

func boolOf(raw []byte) (query.Value, bool) {
	if len(raw) != 1 {
		return query.Value{}, false
	}
	return query.Int(int64(raw[0])), true
}

// textLiteral rejects texts that the server cannot store, or that are too long.
func textLiteral(v query.Value) (string, bool) {
	return v.Str(), len(v.Str()) <= source.MaxBytes && utf8.ValidString(v.Str()) && !strings.ContainsRune(v.Str(), 0)
}

func textOf(raw []byte) (query.Value, bool) { return query.Text(string(raw)), true }

// paddedLiteral accepts a value of char(n), whose trailing blanks are not part of it.
func paddedLiteral(v query.Value) (string, bool) {
	s, ok := textLiteral(v)
	return s, ok && !strings.HasSuffix(s, " ")
}

func paddedOf(raw []byte) (query.Value, bool) {
	return query.Text(strings.TrimRight(string(raw), " ")), true
}

func labelLiteral(labels []string) func(query.Value) (string, bool) {
	known := make(map[string]bool)
	for _, l := range labels {
		known[l] = true
	}
	return func(v query.Value) (string, bool) { return v.Str(), known[v.Str()] }
}

// uuidLiteral accepts the form that the server writes: lower case, with hyphens.
func uuidLiteral(v query.Value) (string, bool) {
	s := v.Str()
	if len(s) != 36 {
		return "", false
	}
	for i := range len(s) {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		if hyphen != (s[i] == '-') || !hyphen && !strings.Contains("0123456789abcdef", s[i:i+1]) {
			return "", false
		}
	}
	return s, true
}

func uuidOf(raw []byte) (query.Value, bool) {
	if len(raw) != 16 {
		return query.Value{}, false
	}
	return query.Text(fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:])), true
}

// unit returns the relation's column for the unit: an INTEGER if its type is one, else
// a TEXT.
func (rel *relation) unit(t source.Table) (column, error) {
	a, err := rel.attribute(t.Unit, t.Source)
	if err != nil {
		return column{}, err
	}
	for _, declared := range []query.Type{query.TypeInteger, query.TypeText} {
		if k, ok := a.kind(declared); ok && k.all {
			return column{Column: query.Column{Name: t.Unit, Domain: query.Unbounded()}, kind: k, text: a.text(), fits: a.fits()}, nil
		}
	}
	return column{}, sqlerr.New(sqlerr.Unsupported, "the unit %s of %s is of type %s", t.Unit, t.Source, a.typ).
		WithHint("make a view that has it as %s::text", query.Quoted(a.name))
}
