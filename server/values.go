package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"dpsql/engine"
	"dpsql/query"
	"dpsql/server/pgcatalog"
)

// The object identifiers of PostgreSQL's types.
const (
	oidBool      = 16
	oidName      = 19
	oidInt8      = 20
	oidInt2      = 21
	oidInt4      = 23
	oidText      = 25
	oidOID       = 26
	oidFloat4    = 700
	oidFloat8    = 701
	oidUnknown   = 705
	oidBpchar    = 1042
	oidVarchar   = 1043
	oidDate      = 1082
	oidTime      = 1083
	oidTimestamp = 1114
	oidNumeric   = 1700

	oidTimestampTZ = 1184
	oidInterval    = 1186
)

// oids are the types of the engine.
var oids = map[engine.Type]uint32{
	engine.Int8: oidInt8, engine.Float8: oidFloat8, engine.Numeric: oidNumeric, engine.Text: oidText, engine.Bool: oidBool, engine.Date: oidDate, engine.Timestamp: oidTimestamp,
	engine.Time: oidTime}

// column is a column of rows that are sent.
type column struct {
	name string
	oid  uint32
	size int16       // of the type in bytes, -1 if it varies
	typ  engine.Type // to which values of the engine are converted; "" if they need not be
}

func columnsFor(all []engine.Column) []column {
	out := make([]column, len(all))
	for i, c := range all {
		out[i] = column{c.Name, oids[c.SQL], sizeOf(oids[c.SQL]), c.SQL}
	}
	return out
}

// converted returns a value as one of the column's type.
func (c column) converted(v any) (any, error) {
	if c.typ == "" {
		return v, nil
	}
	v, ok := c.typ.ValueOf(v)
	if !ok {
		return nil, failure("22000", "a value of column %q is no %s", c.name, c.typ).withHint("give the argument the type of what it is compared with, or CAST it")
	}
	return v, nil
}

// sizeOf returns the size of a type in bytes, or -1 if it varies.
func sizeOf(oid uint32) int16 {
	switch oid {
	case oidBool:
		return 1
	case oidInt2:
		return 2
	case oidInt4, oidOID, oidFloat4, oidDate:
		return 4
	case oidInt8, oidFloat8, oidTimestamp, oidTimestampTZ, oidTime:
		return 8
	case oidInterval:
		return 16
	case oidName:
		return 64
	}
	return -1
}

// known reports whether parameters of a type are taken.
func known(oid uint32) bool {
	switch oid {
	case oidBool, oidName, oidInt8, oidInt2, oidInt4, oidText, oidOID, oidFloat4, oidFloat8, oidUnknown, oidBpchar, oidVarchar, oidDate, oidTime, oidTimestamp, oidTimestampTZ, oidInterval, oidNumeric:
		return true
	}
	return false
}

// epoch is the day from which PostgreSQL counts in binary dates and timestamps.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// decode returns the value of a parameter: nil for NULL, a string in text form or []byte in
// binary form.
func decode(oid uint32, sent any) (query.Value, error) {
	switch x := sent.(type) {
	case string:
		return decodeText(oid, x)
	case []byte:
		return decodeBinary(oid, x)
	}
	return query.Null(), nil
}

// decodeArray returns the elements of a parameter that is an array; those of NULL are one NULL.
func decodeArray(oid uint32, sent any) ([]query.Value, error) {
	var elements pgtype.FlatArray[pgtype.UndecodedBytes]
	var err error
	switch x := sent.(type) {
	case nil:
		elements = append(elements, nil)
	case string:
		err = arrayTypes().Scan(oid, pgproto3.TextFormat, []byte(x), &elements)
	case []byte:
		err = arrayTypes().Scan(oid, pgproto3.BinaryFormat, x, &elements)
	}
	if err != nil {
		return nil, errors.New("the array is malformed")
	}
	values := make([]query.Value, len(elements))
	for i, e := range elements {
		var one any
		switch _, binary := sent.([]byte); {
		case e == nil:
		case binary:
			one = []byte(e)
		default:
			one = string(e)
		}
		if values[i], err = decode(pgcatalog.ElementOf(oid), one); err != nil {
			return nil, err
		}
	}
	return values, nil
}

var arrayTypes = sync.OnceValue(pgtype.NewMap)

// typeOf returns the engine's type for one of PostgreSQL's.
func typeOf(oid uint32) engine.Type {
	switch oid {
	case oidInt2, oidInt4, oidInt8, oidOID:
		return engine.Int8
	case oidFloat4, oidFloat8:
		return engine.Float8
	case oidNumeric:
		return engine.Numeric
	case oidBool:
		return engine.Bool
	case oidDate:
		return engine.Date
	case oidTimestamp, oidTimestampTZ:
		return engine.Timestamp
	case oidTime:
		return engine.Time
	}
	return engine.Text
}

func decodeText(oid uint32, text string) (query.Value, error) {
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
		return query.Value{}, errors.New("the text is not UTF-8")
	}
	if oid == oidTimestampTZ {
		return query.ParseInstant(text)
	}
	if i := strings.IndexAny(text, "+-"); oid == oidTime && i > 0 && strings.Trim(text[i:], "+-:0123456789") == "" {
		text = text[:i] // PostgreSQL ignores the zone that JDBC's setTime sends, too
	}
	return typeOf(oid).Parse(text)
}

func decodeBinary(oid uint32, raw []byte) (query.Value, error) {
	if size := sizeOf(oid); size > 0 && oid != oidName && len(raw) != int(size) {
		return query.Value{}, fmt.Errorf("%d bytes, want %d", len(raw), size)
	}
	switch oid {
	case oidBool, oidInt2, oidInt4, oidOID, oidInt8, oidFloat4, oidFloat8:
		sent, _ := pgcatalog.DecodeBinary(oid, raw)
		v, ok := query.Argument(sent)
		if !ok {
			return v, errors.New("the number is not finite")
		}
		return v, nil
	case oidDate:
		days := int32(binary.BigEndian.Uint32(raw))
		if days == math.MaxInt32 || days == math.MinInt32 {
			return query.Value{}, errors.New("the date is not finite")
		}
		return query.Text(epoch.AddDate(0, 0, int(days)).Format(time.DateOnly)), nil
	case oidTimestamp, oidTimestampTZ:
		micros := int64(binary.BigEndian.Uint64(raw))
		if micros == math.MaxInt64 || micros == math.MinInt64 {
			return query.Value{}, errors.New("the timestamp is not finite")
		}
		at := time.Unix(epoch.Unix()+micros/1e6, micros%1e6*1000).UTC()
		return engine.Timestamp.Parse(at.Format("2006-01-02 15:04:05.999999"))
	case oidTime:
		micros := int64(binary.BigEndian.Uint64(raw))
		if micros < 0 || micros >= 86_400e6 {
			return query.Value{}, errors.New("the time is not within a day")
		}
		return engine.Time.Parse(time.UnixMicro(micros).UTC().Format("15:04:05.999999"))
	case oidInterval:
		return decodeInterval(raw), nil
	case oidNumeric:
		return decodeNumeric(raw)
	}
	return decodeText(oidText, string(raw))
}

// decodeInterval returns the text of a binary interval, which is microseconds, days and months.
func decodeInterval(raw []byte) query.Value {
	micros, days, months := int64(binary.BigEndian.Uint64(raw)), int32(binary.BigEndian.Uint32(raw[8:])), int32(binary.BigEndian.Uint32(raw[12:]))
	seconds, micros := micros/1e6, micros%1e6
	text := fmt.Sprintf("%d months %d days %d hours %d seconds", months, days, seconds/3600, seconds%3600)
	if micros != 0 {
		text += fmt.Sprintf(" %d microseconds", micros)
	}
	return query.Text(text)
}

// decodeNumeric reads a binary numeric: digits of base 10,000 with a weight, a sign and a scale.
func decodeNumeric(raw []byte) (query.Value, error) {
	wrong := errors.New("the numeric is malformed")
	if len(raw) < 8 {
		return query.Value{}, wrong
	}
	count, weight := int(binary.BigEndian.Uint16(raw)), int(int16(binary.BigEndian.Uint16(raw[2:])))
	sign, scale := binary.BigEndian.Uint16(raw[4:]), int(binary.BigEndian.Uint16(raw[6:]))
	if raw = raw[8:]; len(raw) != 2*count || sign != 0 && sign != 0x4000 || weight > 100 || weight < -100 || scale > 1000 {
		return query.Value{}, wrong
	}
	digit := func(i int) string {
		if i < 0 || i >= count {
			return "0000"
		}
		return fmt.Sprintf("%04d", binary.BigEndian.Uint16(raw[2*i:]))
	}
	var whole, part strings.Builder
	for i := 0; i <= weight; i++ {
		whole.WriteString(digit(i))
	}
	for i := weight + 1; part.Len() < scale; i++ {
		part.WriteString(digit(i))
	}
	text := strings.TrimLeft(whole.String(), "0")
	if text == "" {
		text = "0"
	}
	if scale > 0 {
		text += "." + part.String()[:scale]
	}
	if sign != 0 {
		text = "-" + text
	}
	return engine.Numeric.Parse(text)
}

// appendValue appends a value in a format: one of the engine as converted returns it, or a text
// of the server itself.
func (c column) appendValue(b []byte, v any, format int16) ([]byte, error) {
	if format == pgproto3.TextFormat {
		return pgcatalog.AppendText(b, c.oid, v), nil
	}
	b, ok := pgcatalog.AppendBinary(b, c.oid, v)
	if !ok {
		return nil, failure("XX000", "a value is not of its column's type")
	}
	return b, nil
}

// number returns the text of a float8.
func number(f float64) string { return string(pgcatalog.AppendText(nil, oidFloat8, f)) }

func textColumn(names ...string) []column {
	out := make([]column, len(names))
	for i, n := range names {
		out[i] = column{name: n, oid: oidText, size: -1}
	}
	return out
}

// typeNames are the names of types that PREPARE takes.
var typeNames = map[string]uint32{"int": oidInt4, "integer": oidInt4, "int4": oidInt4, "int8": oidInt8, "bigint": oidInt8, "int2": oidInt2, "smallint": oidInt2,
	"text": oidText, "varchar": oidVarchar, "char": oidBpchar, "bool": oidBool, "boolean": oidBool, "float8": oidFloat8, "float4": oidFloat4, "real": oidFloat4,
	"numeric": oidNumeric, "decimal": oidNumeric, "date": oidDate, "time": oidTime, "timestamp": oidTimestamp, "unknown": oidUnknown, "double": oidFloat8}

// formatOf returns the format of value i: there are none, one for all, or one each.
func formatOf(formats []int16, i int) (int16, error) {
	switch {
	case len(formats) == 0:
		return pgproto3.TextFormat, nil
	case len(formats) == 1:
		return formats[0], nil
	case i < len(formats):
		return formats[i], nil
	}
	return 0, failure("08P01", "there are %d formats for more values", len(formats))
}
