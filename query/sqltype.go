package query

import (
	"math"
	"strconv"
	"strings"
	"time"

	"dpsql/internal/calendar"
	"dpsql/sqlerr"
)

// SQLType is the type of a column of a result or of a parameter, by the name that PostgreSQL
// has for it.
type SQLType string

// The types.
const (
	SQLInt8      SQLType = "int8"
	SQLFloat8    SQLType = "float8"
	SQLNumeric   SQLType = "numeric"
	SQLText      SQLType = "text"
	SQLBool      SQLType = "bool"
	SQLDate      SQLType = "date"
	SQLTimestamp SQLType = "timestamp"
	SQLTime      SQLType = "time"
)

// SQLType returns the type of what Shown returns.
func (c Column) SQLType() SQLType {
	switch f := c.Form; {
	case f.family == date:
		return SQLDate
	case f.IsClock():
		return SQLTime
	case f.family == timestamp:
		return SQLTimestamp
	case f.family == boolean:
		return SQLBool
	case f.steps.precision > 0:
		return SQLNumeric
	case f.family == stepped:
		return SQLFloat8
	case c.Domain.Type() == TypeInteger:
		return SQLInt8
	}
	return SQLText
}

// ValueOf returns a value of a result's rows as one of its column's type: an int64, a float64 for
// SQLFloat8 and SQLNumeric, a bool, or a string. A date is YYYY-MM-DD, a timestamp
// YYYY-MM-DD HH:MM:SS, and a time HH:MM:SS. NULL is nil. An integer beyond 64 bits, which SQLite computes as a REAL, is
// the nearest end of their range. A date before the year 1 is NULL. ValueOf returns false for a
// value that is none of the type. Only arguments that are none of their parameter's type can
// bring one about.
func (typ SQLType) ValueOf(v any) (any, bool) {
	switch x := v.(type) {
	case nil:
		return nil, true
	case int64:
		switch typ {
		case SQLInt8:
			return x, true
		case SQLFloat8, SQLNumeric:
			return float64(x), true
		case SQLBool:
			return x != 0, x == 0 || x == 1
		case SQLText:
			return strconv.FormatInt(x, 10), true
		}
	case float64:
		switch typ {
		case SQLInt8:
			return saturated(x)
		case SQLFloat8, SQLNumeric:
			return x, true
		case SQLText:
			return strconv.FormatFloat(x, 'g', -1, 64), true
		}
	case string:
		moment, ok := calendar.ParseMoment(x)
		switch {
		case typ == SQLText:
			return x, true
		case typ == SQLTime:
			_, _, ok := calendar.ReadClock(x)
			return calendar.Canonical(x), ok
		case typ != SQLDate && typ != SQLTimestamp:
		case strings.HasPrefix(x, "-") || strings.HasPrefix(x, "0000-"):
			return nil, true
		case typ == SQLTimestamp:
			return calendar.FormatMoment(moment), ok
		default:
			return x, ok && len(x) == len("2024-12-31")
		}
	}
	return nil, false
}

// saturated returns the integer nearest to a number that is an integer or beyond 64 bits.
func saturated(x float64) (any, bool) {
	switch {
	case x >= 1<<63:
		return int64(math.MaxInt64), true
	case x < -1<<63:
		return int64(math.MinInt64), true
	}
	return int64(x), x == math.Trunc(x)
}

// Argument returns a Go value as an argument: nil, an int64, a finite float64, a bool, which is 1
// or 0, or a string. It is false for any other.
func Argument(v any) (Value, bool) {
	switch x := v.(type) {
	case nil:
		return Null(), true
	case int64:
		return Int(x), true
	case bool:
		if x {
			return Int(1), true
		}
		return Int(0), true
	case string:
		return Text(x), true
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1<<62 {
			return Int(int64(x)), true
		}
		return number(strconv.FormatFloat(x, 'g', -1, 64)), !math.IsNaN(x) && !math.IsInf(x, 0)
	}
	return Value{}, false
}

// longestNumber bounds the bytes of a number's text.
const longestNumber = 1000

// Parse returns the argument of the type that a text stands for, as PostgreSQL reads texts of the
// type. Dates and timestamps have the form of ISO 8601, without a fraction of a second. A zone
// behind a timestamp is ignored, as in PostgreSQL. A time is HH:MM:SS.
func (typ SQLType) Parse(text string) (Value, error) {
	trimmed := strings.Trim(text, " \t\n\v\f\r")
	switch typ {
	case SQLInt8:
		n, err := strconv.ParseInt(trimmed, 10, 64)
		if isRange(err) {
			return Value{}, typ.beyond(text)
		}
		return Int(n), typ.unless(err == nil, text)
	case SQLFloat8, SQLNumeric:
		return typ.number(trimmed)
	case SQLBool:
		truth, ok := truthOf(strings.ToLower(trimmed))
		return Int(truth), typ.unless(ok, text)
	case SQLDate:
		moment, ok := calendar.ParseMoment(withoutZone(trimmed))
		return Text(calendar.Format(calendar.DayOf(moment))), typ.unless(ok, text)
	case SQLTimestamp:
		moment, ok := calendar.ParseMoment(withoutZone(trimmed))
		return Text(calendar.FormatMoment(moment)), typ.unless(ok, text)
	case SQLTime:
		_, _, ok := calendar.ReadClock(trimmed)
		return Text(calendar.Canonical(trimmed)), typ.unless(ok, text)
	}
	return Text(text), nil
}

// ParseInstant reads a timestamp with time zone, whose zone may stand behind a date, too, and returns the
// moment in UTC.
func ParseInstant(text string) (Value, error) {
	const day = len(time.DateOnly)
	zoned := text
	if len(text) > day+1 && text[day] == ' ' && (text[day+1] == '+' || text[day+1] == '-') {
		zoned = text[:day] + " 00:00:00" + text[day+1:]
	}
	if moment, ok := calendar.ParseMoment(zoned); ok {
		return Text(calendar.FormatMoment(moment)), nil
	}
	return SQLTimestamp.Parse(text)
}

func isRange(err error) bool {
	e, ok := err.(*strconv.NumError)
	return ok && e.Err == strconv.ErrRange
}

// number reads a number that may have a fraction.
func (typ SQLType) number(text string) (Value, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return Int(n), nil
	}
	_, err := strconv.ParseFloat(text, 64)
	switch {
	case isRange(err) || len(text) > longestNumber:
		return Value{}, typ.beyond(text)
	case err != nil || strings.Trim(text, "+-.0123456789eE") != "": // Go reads hexadecimal numbers too
		return Value{}, typ.unless(false, text)
	}
	return number(strings.TrimPrefix(text, "+")), nil
}

// truthOf reads a BOOLEAN in lower case: a word of which PostgreSQL takes the beginning, too.
func truthOf(text string) (truth int64, ok bool) {
	for i, words := range [][]string{{"false", "no", "off", "0"}, {"true", "yes", "on", "1"}} {
		for _, w := range words {
			if strings.HasPrefix(w, text) && text != "" && text != "o" {
				return int64(i), true
			}
		}
	}
	return 0, false
}

// withoutZone returns a timestamp without its zone and without the zeros of a fraction.
func withoutZone(text string) string {
	const clock = len("2024-02-29 12:00")
	if len(text) < clock {
		return text
	}
	end := clock + strings.IndexAny(text[clock:]+"Z", "Z+-")
	if zone := text[end:min(end+1, len(text))]; zone != "Z" && strings.Trim(text[end:], "+-:0123456789") != "" {
		return text
	}
	text = strings.TrimSpace(text[:end])
	if i := strings.IndexByte(text, '.'); i >= 0 {
		if rest := strings.TrimRight(text[i:], "0"); rest == "." {
			return text[:i]
		}
	}
	return text
}

// names are the types as PostgreSQL's errors call them.
var names = map[SQLType]string{SQLInt8: "bigint", SQLFloat8: "double precision", SQLNumeric: "numeric", SQLText: "text", SQLBool: "boolean",
	SQLDate: "date", SQLTimestamp: "timestamp", SQLTime: "time"}

// unless returns the error for a text that is none of the type.
func (typ SQLType) unless(valid bool, text string) error {
	if valid {
		return nil
	}
	err := sqlerr.New(sqlerr.Invalid, "invalid input syntax for type %s: %q", names[typ], excerpt(text))
	switch typ {
	case SQLDate:
		return err.WithHint("write it as 2024-12-31")
	case SQLTimestamp:
		return err.WithHint("write it as 2024-12-31 23:59:00")
	case SQLTime:
		return err.WithHint("write it as 09:27:30")
	}
	return err
}

func (typ SQLType) beyond(text string) error {
	return sqlerr.New(sqlerr.Invalid, "value %q is out of range for type %s", excerpt(text), names[typ])
}

// excerpt returns the beginning of a text.
func excerpt(text string) string {
	if len(text) > 40 {
		text = text[:40]
	}
	return strings.ToValidUTF8(text, "?")
}
