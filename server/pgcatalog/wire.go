package pgcatalog

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"
)

// AppendText appends the text form that PostgreSQL gives a bool, an int64, a float64 or a string
// of the type with the OID t. A date or a timestamp is held as its text. NULL has none: nil
// appends nothing. The method of Catalog takes arrays, rows and names of the catalog's objects
// as well.
func AppendText(dst []byte, t uint32, v any) []byte {
	switch v := v.(type) {
	case bool:
		if v {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case float64:
		return appendFloat(dst, v, t)
	case string:
		return append(dst, v...)
	}
	return dst
}

// appendFloat appends the shortest text that has the value of a number, with an exponent where
// PostgreSQL has one.
func appendFloat(dst []byte, v float64, t uint32) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	}
	bits := 64
	if t == float4OID {
		bits = 32
	}
	if e := math.Abs(v); t == numericOID || e == 0 || e >= 1e-4 && e < 1e15 {
		return strconv.AppendFloat(dst, v, 'f', -1, bits)
	}
	return strconv.AppendFloat(dst, v, 'e', -1, bits)
}

// AppendBinary appends the binary form of a value that AppendText takes. It returns false if the
// value is not of the type, or if the type's binary form is not made here.
func AppendBinary(dst []byte, t uint32, v any) ([]byte, bool) {
	switch v := v.(type) {
	case nil:
		return dst, true
	case bool:
		if v {
			return append(dst, 1), true
		}
		return append(dst, 0), true
	case int64:
		switch t {
		case int2OID:
			return binary.BigEndian.AppendUint16(dst, uint16(v)), true
		case int8OID:
			return binary.BigEndian.AppendUint64(dst, uint64(v)), true
		}
		return binary.BigEndian.AppendUint32(dst, uint32(v)), true
	case float64:
		switch t {
		case float4OID:
			return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(v))), true
		case float8OID:
			return binary.BigEndian.AppendUint64(dst, math.Float64bits(v)), true
		case numericOID:
			return appendNumeric(dst, v)
		}
	case string:
		switch t {
		case textOID, varcharOID, bpcharOID, nameOID, charOID, unknownOID, jsonOID, pgNodeTree:
			return append(dst, v...), true
		case dateOID, timeOID, timestampOID, timestampTZ:
			return appendMoment(dst, t, v)
		}
	}
	return dst, false
}

const pgNodeTree = 194

// appendMoment appends the days, or the microseconds, since 2000; of a time, since midnight.
func appendMoment(dst []byte, t uint32, s string) ([]byte, bool) {
	at, err := time.Parse(layouts[t][0], s)
	if err != nil {
		return dst, false
	}
	from := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	if t == timeOID {
		from = at.Truncate(24 * time.Hour)
	}
	since := at.UnixMicro() - from.UnixMicro()
	if t == dateOID {
		return binary.BigEndian.AppendUint32(dst, uint32(since/(24*3600*1e6))), true
	}
	return binary.BigEndian.AppendUint64(dst, uint64(since)), true
}

// appendNumeric appends a numeric's base-10000 digits. It returns false for numbers that are not
// finite.
func appendNumeric(dst []byte, v float64) ([]byte, bool) {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return dst, false
	}
	s := strconv.FormatFloat(math.Abs(v), 'f', -1, 64)
	whole, fraction, _ := strings.Cut(s, ".")
	scale := len(fraction)
	whole = strings.Repeat("0", (4-len(whole)%4)%4) + whole
	fraction += strings.Repeat("0", (4-len(fraction)%4)%4)
	var digits []uint16
	for i := 0; i < len(whole)+len(fraction); i += 4 {
		n, _ := strconv.Atoi((whole + fraction)[i : i+4])
		digits = append(digits, uint16(n))
	}
	weight := len(whole)/4 - 1
	for len(digits) > 0 && digits[0] == 0 {
		digits, weight = digits[1:], weight-1
	}
	for len(digits) > 0 && digits[len(digits)-1] == 0 {
		digits = digits[:len(digits)-1]
	}
	sign := uint16(0)
	if v < 0 {
		sign = 0x4000
	}
	if len(digits) == 0 {
		weight = 0
	}
	for _, n := range []uint16{uint16(len(digits)), uint16(int16(weight)), sign, uint16(scale)} {
		dst = binary.BigEndian.AppendUint16(dst, n)
	}
	for _, n := range digits {
		dst = binary.BigEndian.AppendUint16(dst, n)
	}
	return dst, true
}

// DecodeBinary returns the bool, int64 or float64 that has a binary form, of the type with the
// OID t. It returns false for a form of another length, and for types whose values are others,
// or numeric.
func DecodeBinary(t uint32, b []byte) (any, bool) {
	switch {
	case t == boolOID && len(b) == 1:
		return b[0] != 0, true
	case t == int2OID && len(b) == 2:
		return int64(int16(binary.BigEndian.Uint16(b))), true
	case t == int4OID && len(b) == 4:
		return int64(int32(binary.BigEndian.Uint32(b))), true
	case t == int8OID && len(b) == 8:
		return int64(binary.BigEndian.Uint64(b)), true
	case t == float4OID && len(b) == 4:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b))), true
	case t == float8OID && len(b) == 8:
		return math.Float64frombits(binary.BigEndian.Uint64(b)), true
	case t != int2OID && t != int8OID && classOf(t) == integers && len(b) == 4: // oid and its like
		return int64(binary.BigEndian.Uint32(b)), true
	}
	return nil, false
}

// The OIDs of types that the code names. The others are in system.txt.
const (
	boolOID       = 16
	charOID       = 18
	nameOID       = 19
	int8OID       = 20
	int2OID       = 21
	int2vectorOID = 22
	int4OID       = 23
	regprocOID    = 24
	textOID       = 25
	oidOID        = 26
	xidOID        = 28
	cidOID        = 29
	oidvectorOID  = 30
	jsonOID       = 114
	float4OID     = 700
	float8OID     = 701
	unknownOID    = 705
	bpcharOID     = 1042
	varcharOID    = 1043
	dateOID       = 1082
	timeOID       = 1083
	timestampOID  = 1114
	timestampTZ   = 1184
	aclitemOID    = 1033
	numericOID    = 1700
	regprocedure  = 2202
	regoper       = 2203
	regoperator   = 2204
	regconfig     = 3734
	regdictionary = 3769
	regclassOID   = 2205
	regtypeOID    = 2206
	recordOID     = 2249
	anyOID        = 2276
	anyarrayOID   = 2277
	anyelementOID = 2283
	regnamespace  = 4089
	regroleOID    = 4096
)

// layouts are the forms of dates, times and timestamps that are read, and written: the first of each.
var layouts = map[uint32][]string{
	timeOID:      {"15:04:05.999999"},
	dateOID:      {"2006-01-02", "2006-01-02 15:04:05", time.RFC3339},
	timestampOID: {"2006-01-02 15:04:05.999999", "2006-01-02T15:04:05.999999", time.RFC3339, "2006-01-02"},
	timestampTZ:  {"2006-01-02 15:04:05.999999-07"},
}
