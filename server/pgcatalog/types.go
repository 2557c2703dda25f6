package pgcatalog

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// A value is nil for NULL, bool, int64 (of all integers, oid and the reg types), float64 (of
// numeric too), string (of all others), *array, or record.

// array is a value of an array type. Its first element has the subscript lower.
type array struct {
	elements []any
	lower    int
}

// record is a row as a value.
type record []any

// typeInfo is what the code needs of a type: of its row of pg_type, and what it knows of some types beside.
type typeInfo struct {
	oid, element, array, base uint32
	length                    int64
	name                      string
	category                  byte

	class  class
	width  int           // of numbers, by what they can hold
	text   bool          // its values convert into texts, and texts into them
	title  string        // that format_type has, "" for the name
	noun   string        // what an OID of a reg type is of
	object sqlerr.Object // the same
}

// class is how values of a type are held.
type class uint8

const (
	textual class = iota
	booleans
	integers
	floats
	arrays
	records
)

// known are the types of which the code knows more than pg_type does.
var known = map[string]typeInfo{
	"bool":    {class: booleans, title: "boolean"},
	"int2":    {class: integers, width: 1, title: "smallint"},
	"int4":    {class: integers, width: 2, title: "integer"},
	"int8":    {class: integers, width: 3, title: "bigint"},
	"numeric": {class: floats, width: 4},
	"float4":  {class: floats, width: 5, title: "real"},
	"float8":  {class: floats, width: 6, title: "double precision"},
	"oid":     {class: integers},
	"xid":     {class: integers},
	"cid":     {class: integers},
	"record":  {class: records},

	"text":        {text: true},
	"name":        {text: true},
	"unknown":     {text: true},
	"char":        {text: true, title: `"char"`},
	"varchar":     {text: true, title: "character varying"},
	"bpchar":      {text: true, title: "character"},
	"time":        {title: "time without time zone"},
	"timestamp":   {title: "timestamp without time zone"},
	"timestamptz": {title: "timestamp with time zone"},
	"any":         {title: `"any"`},

	"regclass":      {class: integers, noun: "relation"},
	"regnamespace":  {class: integers, noun: "schema"},
	"regrole":       {class: integers, noun: "role"},
	"regtype":       {class: integers, noun: "type", object: sqlerr.Type},
	"regproc":       {class: integers, noun: "function", object: sqlerr.Function},
	"regprocedure":  {class: integers, noun: "function", object: sqlerr.Function},
	"regoper":       {class: integers, noun: "operator", object: sqlerr.Function},
	"regoperator":   {class: integers, noun: "operator", object: sqlerr.Function},
	"regconfig":     {class: integers, noun: "text search configuration"},
	"regdictionary": {class: integers, noun: "text search dictionary"},
}

// spellings are names of types beside their own and those of format_type.
var spellings = map[string]string{
	"int": "int4", "float": "float8", "decimal": "numeric", "dec": "numeric", "char": "bpchar",
}

// infoOf returns what is known of a type, and of one that is not there nothing.
func infoOf(t uint32) *typeInfo {
	if info := typeTable().types[t]; info != nil {
		return info
	}
	return noType
}

var noType = new(typeInfo)

func classOf(t uint32) class { return infoOf(t).class }

func isReg(t uint32) bool { return infoOf(t).noun != "" }

func isText(t uint32) bool { return infoOf(baseOf(t)).text }

func widthOf(t uint32) int { return infoOf(t).width }

// ElementOf returns the type of an array type's elements, 0 for other types.
func ElementOf(t uint32) uint32 {
	if info := infoOf(t); info.class == arrays {
		return info.element
	}
	return 0
}

// ArrayOf returns the array type of a type's values, 0 if there is none.
func ArrayOf(t uint32) uint32 { return infoOf(t).array }

// baseOf returns the type that a domain is over, and any other type itself.
func baseOf(t uint32) uint32 { return cmp.Or(infoOf(t).base, t) }

// typeNamed returns the type of a name, 0 if there is none.
func typeNamed(name string) uint32 {
	if element, isArray := strings.CutSuffix(name, "[]"); isArray {
		return ArrayOf(typeNamed(element))
	}
	return typeTable().names[name]
}

// resolve returns the type that a cast names.
func (t typeName) resolve() uint32 {
	name := t.name
	if t.schema != "" && !isSystem(t.schema) {
		fail(sqlerr.New(sqlerr.Unknown, "type %q does not exist", t.schema+"."+name).Of(sqlerr.Type).At(t.position))
	}
	found := typeNamed(name)
	if found != 0 && t.array {
		found = ArrayOf(found)
	}
	if found == 0 {
		fail(sqlerr.New(sqlerr.Unknown, "type %q does not exist", name).Of(sqlerr.Type).
			WithHint("the catalog has the types of its own columns and of tables' columns").At(t.position))
	}
	return found
}

// typeTitle returns the name of a type as format_type and errors write it.
func (c *Catalog) typeTitle(t uint32) string {
	info := typeTable().types[t]
	switch {
	case info == nil:
		return cmp.Or(c.rowTypes[t], "???")
	case info.title != "":
		return info.title
	case info.category == 'A' && t != int2vectorOID && t != oidvectorOID && info.element != 0:
		return c.typeTitle(info.element) + "[]"
	case info.category != 'A' && info.oid >= firstUnpinned: // the domains of information_schema
		return "information_schema." + info.name
	}
	return info.name
}

// input reads a value from its text.
func (c *Catalog) input(s string, t uint32) any {
	t = baseOf(t)
	trimmed := strings.TrimSpace(s)
	switch classOf(t) {
	case booleans:
		return boolean(trimmed)
	case integers:
		if isReg(t) {
			return c.regInput(s, t)
		}
		n, err := strconv.ParseInt(trimmed, 10, 64)
		if err != nil {
			failInput(s, c.typeTitle(t))
		}
		return c.ranged(n, t)
	case floats:
		f, err := strconv.ParseFloat(trimmed, 64)
		if err != nil {
			failInput(s, c.typeTitle(t))
		}
		return f
	case arrays:
		return c.arrayInput(s, t)
	case records:
		unsupported(0, "the text of a row")
	}
	switch t {
	case charOID:
		return s[:min(len(s), 1)]
	case nameOID:
		if len(s) > 63 {
			return strings.ToValidUTF8(s[:63], "")
		}
	case dateOID, timestampOID:
		return c.moment(trimmed, t)
	}
	if strings.IndexByte("DTU", infoOf(t).category) >= 0 && t != jsonOID && t != aclitemOID {
		unsupported(0, "a constant of type %s", c.typeTitle(t))
	}
	return s
}

// moment reads a date or a timestamp. It is held as its text.
func (c *Catalog) moment(s string, t uint32) any {
	for _, layout := range layouts[t] {
		if at, err := time.Parse(layout, s); err == nil {
			return at.Format(layouts[t][0])
		}
	}
	failInput(s, c.typeTitle(t))
	return nil
}

func failInput(s, title string) {
	fail(sqlerr.New(sqlerr.Invalid, "invalid input syntax for type %s: %s", title, strconv.Quote(excerpt(s))))
}

func boolean(s string) bool {
	s = strings.ToLower(s)
	switch {
	case s == "1" || s == "on" || s != "" && (strings.HasPrefix("true", s) || strings.HasPrefix("yes", s)):
		return true
	case s == "0" || s == "off" || s == "of" || s != "" && (strings.HasPrefix("false", s) || strings.HasPrefix("no", s)):
		return false
	}
	failInput(s, "boolean")
	return false
}

// arrayInput reads {a,"b",NULL}, and for the vectors a list with spaces.
func (c *Catalog) arrayInput(s string, t uint32) any {
	element := ElementOf(t)
	if t == int2vectorOID || t == oidvectorOID {
		a := &array{}
		for _, f := range strings.Fields(s) {
			a.elements = append(a.elements, c.input(f, element))
		}
		return a
	}
	items, ok := syntax.Elements(s)
	if !ok || element == 0 {
		fail(sqlerr.New(sqlerr.Invalid, "malformed array literal: %s", strconv.Quote(excerpt(s))))
	}
	a := &array{make([]any, len(items)), 1}
	for i, item := range items {
		if item.Kind == syntax.KindString {
			a.elements[i] = c.input(item.Value, element)
		}
	}
	return a
}

// output returns the text of a value that is not NULL.
func (c *Catalog) output(v any, t uint32) string { return string(c.AppendText(nil, t, v)) }

// AppendText appends the text form of a value that Query returned, of a column's type. NULL
// has none: nil appends nothing.
func (c *Catalog) AppendText(dst []byte, t uint32, v any) []byte {
	switch v := v.(type) {
	case int64:
		if isReg(t) {
			return append(dst, c.regOutput(v, t)...)
		}
	case *array:
		return c.appendArray(dst, v, t)
	case record:
		dst = append(dst, '(')
		for i, f := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, recordItem(string(c.AppendText(nil, 0, f)), f)...)
		}
		return append(dst, ')')
	}
	return AppendText(dst, t, v)
}

func recordItem(s string, v any) string {
	if v == nil || s != "" && !strings.ContainsAny(s, "(),\"\\ \t\n") {
		return s
	}
	return `"` + strings.NewReplacer(`"`, `""`, `\`, `\\`).Replace(s) + `"`
}

func (c *Catalog) appendArray(dst []byte, a *array, t uint32) []byte {
	element := ElementOf(t)
	if t == int2vectorOID || t == oidvectorOID {
		for i, v := range a.elements {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = c.AppendText(dst, element, v)
		}
		return dst
	}
	if a.lower != 1 && len(a.elements) > 0 {
		dst = fmt.Appendf(dst, "[%d:%d]=", a.lower, a.lower+len(a.elements)-1)
	}
	dst = append(dst, '{')
	for i, v := range a.elements {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v == nil {
			dst = append(dst, "NULL"...)
			continue
		}
		s := c.output(v, element)
		if s == "" || strings.EqualFold(s, "null") || strings.ContainsAny(s, "{},\"\\ \t\n\r\v\f") {
			s = `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(s) + `"`
		}
		dst = append(dst, s...)
	}
	return append(dst, '}')
}

// AppendBinary appends the binary form of a value that Query returned, of a column's type.
// nil appends nothing. It refuses types whose binary form the catalog does not make.
func (c *Catalog) AppendBinary(dst []byte, t uint32, v any) ([]byte, error) {
	t = baseOf(t)
	if a, ok := v.(*array); ok {
		return c.appendBinaryArray(dst, a, t)
	}
	dst, ok := AppendBinary(dst, t, v)
	if !ok {
		return nil, sqlerr.New(sqlerr.Unsupported, "type %s in binary form is outside the catalog", c.typeTitle(t)).WithHint("ask for the result in text form")
	}
	return dst, nil
}

func (c *Catalog) appendBinaryArray(dst []byte, a *array, t uint32) ([]byte, error) {
	element := ElementOf(t)
	dimensions, nulls := uint32(1), uint32(0)
	if len(a.elements) == 0 && t != int2vectorOID && t != oidvectorOID {
		dimensions = 0
	}
	if slices.Contains(a.elements, nil) {
		nulls = 1
	}
	for _, n := range []uint32{dimensions, nulls, element} {
		dst = binary.BigEndian.AppendUint32(dst, n)
	}
	if dimensions == 1 {
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(a.elements)))
		dst = binary.BigEndian.AppendUint32(dst, uint32(a.lower))
	}
	for _, v := range a.elements {
		if v == nil {
			dst = binary.BigEndian.AppendUint32(dst, math.MaxUint32)
			continue
		}
		item, err := c.AppendBinary(nil, element, v)
		if err != nil {
			return nil, err
		}
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(item)))
		dst = append(dst, item...)
	}
	return dst, nil
}

// binaryInput reads a value from its binary form.
func (c *Catalog) binaryInput(b []byte, t uint32) any {
	t = baseOf(t)
	switch classOf(t) {
	case booleans, integers, floats:
		if t == numericOID {
			break
		}
		v, ok := DecodeBinary(t, b)
		if !ok {
			fail(sqlerr.New(sqlerr.Invalid, "incorrect binary data format for type %s", c.typeTitle(t)))
		}
		return v
	case arrays:
		return c.binaryArray(b, t)
	case textual:
		switch t {
		case textOID, varcharOID, bpcharOID, nameOID, charOID, unknownOID, jsonOID:
			return string(b)
		}
	}
	fail(sqlerr.New(sqlerr.Unsupported, "a parameter of type %s in binary form is outside the catalog", c.typeTitle(t)))
	return nil
}

func (c *Catalog) binaryArray(b []byte, t uint32) any {
	take := func(n int) []byte {
		if n < 0 || n > len(b) {
			fail(sqlerr.New(sqlerr.Invalid, "incorrect binary data format for type %s", c.typeTitle(t)))
		}
		head := b[:n]
		b = b[n:]
		return head
	}
	word := func() int { return int(int32(binary.BigEndian.Uint32(take(4)))) }
	dimensions, _, element := word(), word(), uint32(word())
	if dimensions < 0 || dimensions > 1 || element != ElementOf(t) {
		fail(sqlerr.New(sqlerr.Unsupported, "an array of %d dimensions is outside the catalog", dimensions))
	}
	a := &array{lower: 1}
	if dimensions == 0 {
		return a
	}
	n := word()
	a.lower = word()
	for range n {
		if size := word(); size == -1 {
			a.elements = append(a.elements, nil)
		} else {
			a.elements = append(a.elements, c.binaryInput(take(size), element))
		}
	}
	return a
}

// compare orders two values of classes that can be compared, neither NULL.
func compare(a, b any) int {
	switch a := a.(type) {
	case string:
		return cmp.Compare(a, b.(string))
	case *array:
		return compareAll(a.elements, b.(*array).elements)
	case record:
		return compareAll(a, b.(record))
	case int64:
		if b, ok := b.(int64); ok {
			return cmp.Compare(a, b)
		}
	}
	return cmp.Compare(number(a), number(b))
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compareAll orders lists by their first difference. NULL comes last.
func compareAll(a, b []any) int {
	for i := range min(len(a), len(b)) {
		if n := compareNulls(a[i], b[i], false); n != 0 {
			return n
		}
	}
	return cmp.Compare(len(a), len(b))
}

// compareNulls is compare with NULL as a value that comes first or last.
func compareNulls(a, b any, nullsFirst bool) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil && nullsFirst, b == nil && !nullsFirst:
		return -1
	case a == nil || b == nil:
		return 1
	}
	return compare(a, b)
}

// keyOf returns a value that is equal in Go where the two are equal, or both NULL.
func keyOf(v any) any {
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return encode(v)
}
