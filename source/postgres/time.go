package postgres

import (
	"math"

	"dpsql/internal/calendar"
	"dpsql/query"
)

// timeKind says how the attribute's values stand for steps of a DATE, a TIMESTAMP or a TIME. The
// meaning is that of source's expressions for SQLite. An infinite date or timestamp stands
// for none, and a timestamp is taken in UTC. Only DATEs of type date, without CLAMP, are compared by
// the server: several values of the other types can stand for one step.
func (a attribute) timeKind(c query.Column) (kind, bool) {
	f := c.Form
	moment := momentReaders[a.typ+" "+f.Stored().String()]
	if !a.builtIn || moment == nil || f.IsDate() && (a.typ == "timestamp" || a.typ == "timestamptz") {
		return kind{}, false
	}
	k := kind{value: func(raw []byte) (query.Value, bool) {
		m, ok := moment(raw, f)
		n := f.Floor(m)
		if f.IsClamped() {
			lo, hi := c.Domain.Bounds()
			n = max(lo, min(hi, n))
		}
		return query.Int(n), ok && calendar.FirstMoment <= m && m <= calendar.LastMoment
	}}
	if a.typ == "date" && f.IsDate() && !f.IsClamped() {
		k.array, k.literal = "date[]", dayLiteral
		k.between = "? BETWEEN $lo::date AND $hi::date"
	}
	return k, true
}

// dayLiteral writes the day that a DATE stands for.
func dayLiteral(v query.Value) (string, bool) { return calendar.Format(v.Int64()), true }

// momentReaders return the moment of a row's value, by its type and how it is stored. They
// are false for a value that is none.
var momentReaders = map[string]func(raw []byte, f query.Form) (int64, bool){
	"date iso": dayMoment, "timestamp iso": microsecondMoment, "timestamptz iso": microsecondMoment, "text iso": textMoment, "varchar iso": textMoment,
	"int2 unix": secondMoment, "int4 unix": secondMoment, "int8 unix": secondMoment, "float4 unix": realMoment, "float8 unix": realMoment,
	"time clock": clockMoment, "text clock": textMoment, "varchar clock": textMoment,
	"int2 julian": wholeJulianMoment, "int4 julian": wholeJulianMoment, "int8 julian": wholeJulianMoment, "float4 julian": julianMoment, "float8 julian": julianMoment,
}

// The server counts from 2000-01-01.
const serverEpoch = 946_684_800

func dayMoment(raw []byte, _ query.Form) (int64, bool) {
	days, ok := bigEndian(raw)
	return days*86_400 + serverEpoch, ok && len(raw) == 4 && days != infinity && days != negativeInfinity
}

// microsecondMoment cuts to seconds.
func microsecondMoment(raw []byte, _ query.Form) (int64, bool) {
	n, ok := bigEndian(raw)
	seconds := n / 1_000_000
	if n%1_000_000 < 0 {
		seconds--
	}
	return seconds + serverEpoch, ok && len(raw) == 8 && n != math.MaxInt64 && n != math.MinInt64
}

// clockMoment cuts to seconds. 24:00 is none.
func clockMoment(raw []byte, _ query.Form) (int64, bool) {
	n, ok := bigEndian(raw)
	return n / 1_000_000, ok && len(raw) == 8 && n < 86_400_000_000
}

func textMoment(raw []byte, f query.Form) (int64, bool) {
	if f.IsClock() {
		m, ok := calendar.ParseFraction("1970-01-01 " + string(raw))
		return m, ok && raw[len(raw)-1] != 'Z'
	}
	if f.IsDate() {
		day, ok := calendar.Parse(string(raw))
		return day * 86_400, ok
	}
	return calendar.ParseFraction(string(raw))
}

func secondMoment(raw []byte, _ query.Form) (int64, bool) { return bigEndian(raw) }

func realMoment(raw []byte, _ query.Form) (int64, bool) {
	x, ok := realFrom(raw)
	ok = ok && x >= calendar.FirstMoment && x < calendar.LastMoment+1
	if !ok {
		return 0, false
	}
	return int64(math.Floor(x)), true
}

func julianMoment(raw []byte, _ query.Form) (int64, bool) {
	x, ok := realFrom(raw)
	m, in := momentOfJulian(x)
	return m, ok && in
}

func wholeJulianMoment(raw []byte, _ query.Form) (int64, bool) {
	n, ok := bigEndian(raw)
	m, in := momentOfJulian(float64(n))
	return m, ok && in
}

// momentOfJulian rounds to milliseconds. The conversion keeps the compiler from computing
// the product and the sum as one operation, which SQLite does not.
func momentOfJulian(x float64) (int64, bool) {
	if !(x >= 1721425.5 && x < 5373484.5) {
		return 0, false
	}
	return int64(float64((x-1721425.5)*86_400_000)+0.5)/1000 + calendar.FirstMoment, true
}
