package query_test

import (
	"math"
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/sqlerr"
)

// TestParse reads texts of arguments. Most cases were tried in PostgreSQL 15.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		typ        query.SQLType
		text, want string // want is a literal, or the beginning of an error
	}{
		{query.SQLInt8, "37", "37"}, {query.SQLInt8, " -5\n", "-5"}, {query.SQLInt8, "+7", "7"}, {query.SQLInt8, "x", `invalid input syntax for type bigint: "x"`},
		{query.SQLInt8, "", `invalid input syntax for type bigint: ""`}, {query.SQLInt8, "1.0", "invalid input syntax"}, {query.SQLInt8, "1e3", "invalid input syntax"},
		{query.SQLInt8, "9223372036854775807", "9223372036854775807"}, {query.SQLInt8, "9223372036854775808", `value "9223372036854775808" is out of range for type bigint`},
		{query.SQLFloat8, "2.5", "2.5"}, {query.SQLFloat8, "-.5e1", "-.5e1"}, {query.SQLFloat8, "3", "3"}, {query.SQLFloat8, "+2.5", "2.5"}, {query.SQLFloat8, "1e400", "value"},
		{query.SQLFloat8, "NaN", "invalid input syntax for type double precision"}, {query.SQLFloat8, "0x1p3", "invalid"}, {query.SQLFloat8, "1_0.5", "invalid"}, {query.SQLFloat8, "e", "invalid"},
		{query.SQLFloat8, "0." + strings.Repeat("1", 2000), "value"}, {query.SQLNumeric, "12.50", "12.50"}, {query.SQLNumeric, "12,5", "invalid input syntax for type numeric"},
		{query.SQLBool, "t", "1"}, {query.SQLBool, "TRUE", "1"}, {query.SQLBool, " yes ", "1"}, {query.SQLBool, "on", "1"}, {query.SQLBool, "1", "1"}, {query.SQLBool, "of", "0"}, {query.SQLBool, "n", "0"},
		{query.SQLBool, "o", "invalid input syntax for type boolean"}, {query.SQLBool, "", "invalid"}, {query.SQLBool, "2", "invalid"},
		{query.SQLDate, "2024-02-29", "'2024-02-29'"}, {query.SQLDate, "2023-02-29", "invalid input syntax for type date"}, {query.SQLDate, "2024-02-29 12:00:00", "'2024-02-29'"}, {query.SQLDate, "29.2.2024", "invalid"},
		{query.SQLTimestamp, "2024-02-29", "'2024-02-29 00:00:00'"}, {query.SQLTimestamp, "2024-02-29T06:00", "'2024-02-29 06:00:00'"}, {query.SQLTimestamp, "2024-02-29 06:00:01.000000", "'2024-02-29 06:00:01'"},
		{query.SQLTimestamp, "2024-02-29 06:00:01.5", "invalid input syntax for type timestamp"}, {query.SQLTimestamp, "2024-02-29 06:00:00+02", "'2024-02-29 06:00:00'"},
		{query.SQLTimestamp, "2024-02-29 06:00:00.00-03:30", "'2024-02-29 06:00:00'"}, {query.SQLTimestamp, "2024-02-29T06:00:00Z", "'2024-02-29 06:00:00'"}, {query.SQLTimestamp, "2024-02-29 06:00:00 Rome", "invalid"},
		{query.SQLText, " 'a' ", "' ''a'' '"}, {"", "7", "'7'"},
	} {
		v, err := c.typ.Parse(c.text)
		switch {
		case err == nil && v.String() != c.want:
			t.Errorf("%s %q is %v, want %s", c.typ, c.text, v, c.want)
		case err != nil && (sqlerr.CodeOf(err) != sqlerr.Invalid || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s %q: %v, want %s", c.typ, c.text, err, c.want)
		}
	}
}

// TestValueOf converts values of rows.
func TestValueOf(t *testing.T) {
	for _, c := range []struct {
		typ      query.SQLType
		of, want any
		ok       bool
	}{
		{query.SQLInt8, int64(7), int64(7), true}, {query.SQLInt8, 1e19, int64(math.MaxInt64), true}, {query.SQLInt8, -1e19, int64(math.MinInt64), true},
		{query.SQLInt8, math.Inf(1), int64(math.MaxInt64), true}, {query.SQLInt8, math.NaN(), nil, false}, {query.SQLInt8, "7", nil, false}, {query.SQLInt8, 1.5, nil, false}, {query.SQLInt8, nil, nil, true},
		{query.SQLFloat8, int64(7), 7.0, true}, {query.SQLNumeric, 0.5, 0.5, true}, {query.SQLBool, int64(1), true, true}, {query.SQLBool, int64(0), false, true}, {query.SQLBool, int64(2), nil, false},
		{query.SQLText, int64(7), "7", true}, {query.SQLText, 0.5, "0.5", true}, {query.SQLText, "a", "a", true}, {query.SQLDate, "2024-01-01", "2024-01-01", true},
		{query.SQLDate, "2024-01-01 12:00:00", nil, false}, {query.SQLDate, "-001-01-01", nil, true}, {query.SQLDate, "OTHER", nil, false}, {query.SQLTimestamp, "2024-01-01", "2024-01-01 00:00:00", true},
	} {
		if got, ok := c.typ.ValueOf(c.of); ok != c.ok || ok && got != c.want {
			t.Errorf("%v as %s is %v, %v; want %v, %v", c.of, c.typ, got, ok, c.want, c.ok)
		}
	}
}
