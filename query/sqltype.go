package query

import (
	"math"
	"strconv"
	"strings"

	"dpsql/calendar"
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
)

// SQLType returns the type of what Shown returns.
func (c Column) SQLType() SQLType {
	switch f := c.Form; {
	case f.family == date:
		return SQLDate
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
// SQLFloat8 and SQLNumeric, a bool, or a string. A date is YYYY-MM-DD, and a timestamp
// YYYY-MM-DD HH:MM:SS. NULL is nil. An integer beyond 64 bits, which SQLite computes as a REAL, is
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
