package pgcatalog

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"dpsql/sqlerr"
)

// SQLite holds a bool as 0 or 1, and an array or a row as JSON. All other values are its own.

// encode returns a value as SQLite holds it.
func encode(v any) any {
	switch v := v.(type) {
	case bool:
		return int64(rank(v))
	case *array, record:
		return string(appendJSON(nil, v))
	}
	return v
}

// appendJSON writes a value in JSON. The rows of a catalog are many, and reflection takes longer.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendInt(b, int64(rank(v)), 10)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case uint32:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return append(b, floatText(v)...)
	case record:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, item)
		}
		return append(b, ']')
	case *array:
		if v.lower == 1 {
			return appendJSON(b, record(v.elements))
		}
		b = fmt.Appendf(b, `{"lower":%d,"items":`, v.lower)
		return append(appendJSON(b, record(v.elements)), '}')
	}
	text, _ := json.Marshal(v)
	return append(b, text...)
}

// floatText writes a float as SQLite reads it, as a REAL.
func floatText(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "9e999"
	case math.IsInf(v, -1):
		return "-9e999"
	case math.IsNaN(v):
		return "null"
	}
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// constantSQL writes a value as SQLite reads it.
func constantSQL(v any) string {
	switch v := encode(v).(type) {
	case nil:
		return "NULL"
	case int64:
		if v < 0 {
			return "(" + strconv.FormatInt(v, 10) + ")"
		}
		return strconv.FormatInt(v, 10)
	case float64:
		return "(" + floatText(v) + ")"
	case string:
		if strings.Contains(v, "\x00") {
			return fmt.Sprintf("CAST(x'%x' AS TEXT)", v)
		}
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	fail(sqlerr.New(sqlerr.Internal, "the catalog cannot write a %T", v))
	return ""
}

// parsed reads JSON, with numbers as they are written.
func parsed(s string) []any {
	var out []any
	readJSON(s, &out)
	return out
}

func readJSON(s string, out any) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if err := d.Decode(out); err != nil {
		fail(sqlerr.New(sqlerr.Internal, "the catalog cannot read a list"))
	}
}

// arrayOf returns the items of an array and the number of the first. One whose first is not number 1, such as a
// vector of the catalog, is an object.
func arrayOf(v any) (items []any, lower int) {
	if s, ok := v.(string); ok {
		if !strings.HasPrefix(s, "{") {
			return parsed(s), 1
		}
		var object map[string]any
		readJSON(s, &object)
		v = object
	}
	if object, ok := v.(map[string]any); ok {
		items, _ = object["items"].([]any)
		return items, int(number(object["lower"]))
	}
	items, _ = v.([]any)
	return items, 1
}

// decode returns a value of a type from what SQLite, or JSON, has for it.
func decode(v any, t uint32, fields []outColumn) any {
	if v == nil {
		return nil
	}
	switch classOf(t) {
	case booleans:
		return number(v) != 0
	case integers:
		if n, ok := v.(json.Number); ok {
			if i, err := n.Int64(); err == nil {
				return i
			}
		}
		if n, ok := v.(int64); ok {
			return n
		}
		return int64(number(v))
	case floats:
		return number(v)
	case arrays:
		items, lower := arrayOf(v)
		a := &array{lower: lower}
		for _, item := range items {
			a.elements = append(a.elements, decode(item, ElementOf(t), fields))
		}
		return a
	case records:
		r := record{}
		for i, item := range listOf(v) {
			if i < len(fields) {
				r = append(r, decode(item, fields[i].typ, fields[i].fields))
			} else {
				r = append(r, plainOf(item))
			}
		}
		return r
	}
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}

func listOf(v any) []any {
	switch v := v.(type) {
	case string:
		return parsed(v)
	case []any:
		return v
	}
	return nil
}

func number(v any) float64 {
	switch v := v.(type) {
	case json.Number:
		f, _ := strconv.ParseFloat(string(v), 64)
		return f
	case int64:
		return float64(v)
	case float64:
		return v
	case bool:
		return float64(rank(v))
	}
	return 0
}

// plainOf returns a value of a type that is not known.
func plainOf(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		return number(v)
	case []any:
		r := record{}
		for _, item := range v {
			r = append(r, plainOf(item))
		}
		return r
	}
	return v
}

// goCall is a call of Go by a statement.
type goCall struct {
	args  []expr // of which the types count
	rows  bool   // the argument is a list of rows, records of the types
	loose bool   // it is called with NULLs too
	at    int
	eval  evaluation
}

func (c *goCall) do(r *run, raw []driver.Value) any {
	r.step()
	r.call = c
	for _, v := range raw {
		if s, ok := v.(string); ok {
			r.spend(4 * len(s)) // a list takes that much more when it is read
		}
	}
	if c.rows {
		rows := listOf(raw[0])
		for i, one := range rows {
			rows[i] = c.decode(listOf(one))
			r.kept(rows[i].(record))
		}
		r.work(len(rows) * r.price)
		return c.eval(r, rows)
	}
	args := make([]any, len(raw))
	for i, v := range raw {
		if v == nil && !c.loose {
			return nil
		}
		args[i] = v
	}
	return c.eval(r, c.decode(args))
}

// decode makes a list of what SQLite holds values of the argument types.
func (c *goCall) decode(list []any) record {
	for i, v := range list {
		list[i] = decode(v, c.args[i].typ, c.args[i].fields)
	}
	return list
}

// invoked returns an expression that calls Go.
func (b *binder) invoked(out uint32, loose bool, eval evaluation, args ...expr) expr {
	text := b.goSQL(&goCall{args: args, loose: loose, eval: eval}, args)
	return expr{typ: out, sql: text}
}

func (b *binder) goSQL(c *goCall, args []expr) string {
	b.calls = append(b.calls, c)
	var s strings.Builder
	fmt.Fprintf(&s, "pg(?1, %d", len(b.calls)-1)
	for _, a := range args {
		s.WriteString(", ")
		s.WriteString(a.sql)
	}
	s.WriteByte(')')
	return b.grown(s.String())
}

// maxSQL bounds what a statement becomes.
const maxSQL = 1 << 20

func (b *binder) grown(s string) string {
	if b.written += len(s); b.written > 64*maxSQL || len(s) > maxSQL {
		fail(sqlerr.New(sqlerr.Unsupported, "a statement about the catalog that is so long is outside the dialect"))
	}
	return s
}
