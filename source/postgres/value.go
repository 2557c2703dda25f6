package postgres

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"dpsql/query"
)

// bigEndian reads a smallint, an integer or a bigint.
func bigEndian(raw []byte) (int64, bool) {
	switch len(raw) {
	case 2:
		return int64(int16(binary.BigEndian.Uint16(raw))), true
	case 4:
		return int64(int32(binary.BigEndian.Uint32(raw))), true
	case 8:
		return int64(binary.BigEndian.Uint64(raw)), true
	}
	return 0, false
}

// numericOf reads a numeric that is a 64-bit integer. Its binary form is the number of
// base-10000 digits, the weight of the first, the sign, the scale, and the digits. A
// numeric is exact, unlike a real, so any fraction at all makes it no integer.
func numericOf(raw []byte) (query.Value, bool) {
	const negative, positive = 0x4000, 0x0000
	if len(raw) < 8 {
		return query.Value{}, false
	}
	word := func(i int) int { return int(binary.BigEndian.Uint16(raw[2*i:])) }
	count, weight, sign := word(0), int(int16(word(1))), word(2)
	if sign != negative && sign != positive || len(raw) != 8+2*count {
		return query.Value{}, false
	}
	var n uint64 // at most 2^63
	for i := range max(count, weight+1) {
		digit := uint64(0)
		if i < count {
			digit = uint64(word(4 + i))
		}
		if i > weight {
			if digit != 0 {
				return query.Value{}, false
			}
			continue
		}
		if n > (1<<63)/10_000 {
			return query.Value{}, false
		}
		if n = n*10_000 + digit; n > 1<<63 {
			return query.Value{}, false
		}
	}
	if sign == negative {
		return query.Int(int64(-n)), true
	}
	return query.Int(int64(n)), n < 1<<63
}

// realLiteral accepts an integer that a real can hold. SQLite accepts no real for
// -2^63.
func realLiteral(v query.Value) (string, bool) {
	x := float64(v.Int64())
	n, ok := integerOfReal(x)
	return formatReal(x), ok && n == v.Int64()
}

// integerOfReal returns the integer that a real stands for: the real itself, if it is
// an integer strictly between -2^63 and 2^63.
func integerOfReal(x float64) (int64, bool) {
	if x != math.Trunc(x) || x <= -1<<63 || x >= 1<<63 {
		return 0, false
	}
	return int64(x), true
}

// realBounds returns the smallest and the largest real that stand for integers of an
// interval. If there are none, lo is above hi.
func realBounds(i query.Interval) (lo, hi string) {
	a, b := realAbove(i.First), realBelow(i.Last)
	if a == -1<<63 {
		a = math.Nextafter(a, math.Inf(1))
	}
	return formatReal(a), formatReal(b)
}

// realAbove returns the smallest real that is at least n.
func realAbove(n int64) float64 {
	x := float64(n)
	if x < 1<<63 && int64(x) < n {
		return math.Nextafter(x, math.Inf(1))
	}
	return x
}

// realBelow returns the largest real that is at most n.
func realBelow(n int64) float64 {
	x := float64(n)
	if x == 1<<63 || int64(x) > n {
		return math.Nextafter(x, math.Inf(-1))
	}
	return x
}

func formatReal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// realOf reads a real or a double precision.
func realOf(raw []byte) (query.Value, bool) {
	x, ok := realFrom(raw)
	n, whole := integerOfReal(x)
	return query.Int(n), ok && whole
}

func realFrom(raw []byte) (float64, bool) {
	switch len(raw) {
	case 4:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(raw))), true
	case 8:
		return math.Float64frombits(binary.BigEndian.Uint64(raw)), true
	}
	return 0, false
}

// integerOfText reads a text as SQLite's INTEGER affinity does. Surrounding blanks are
// ignored. Digits are an integer if it fits into 64 bits. Any other decimal number is
// converted to a real, and then to an integer if it stands for one.
func integerOfText(raw []byte) (query.Value, bool) {
	s := strings.Trim(string(raw), " \t\n\v\f\r")
	switch shapeOf(s) {
	case digits:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return query.Int(n), true
		}
	case decimal:
	default:
		return query.Value{}, false
	}
	n, ok := integerOfReal(realOfText(s))
	return query.Int(n), ok
}

// clampedText is integerOfText for a column with CLAMP: a number beyond a bound is the
// bound.
func clampedText(raw []byte, lo, hi int64) (query.Value, bool) {
	if v, ok := integerOfText(raw); ok {
		return query.Int(max(lo, min(hi, v.Int64()))), true
	}
	s := strings.Trim(string(raw), " \t\n\v\f\r")
	if shapeOf(s) == noNumber {
		return query.Value{}, false
	}
	switch x := realOfText(s); {
	case x >= realAbove(hi):
		return query.Int(hi), true
	case x <= realBelow(lo):
		return query.Int(lo), true
	}
	return query.Value{}, false
}

// realOfText reads a decimal number as SQLite does. Digits after the first 18 to 20,
// which fill 64 bits, are taken for zeros.
func realOfText(s string) float64 {
	const full = (math.MaxUint64 - 9) / 10
	var mantissa uint64
	exponent, behind := 0, false
	mark := len(s)
	for i := 0; i < len(s) && mark == len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9' && mantissa < full:
			mantissa = mantissa*10 + uint64(c-'0')
			if behind {
				exponent--
			}
		case c >= '0' && c <= '9' && !behind:
			exponent++
		case c == '.':
			behind = true
		case c == 'e' || c == 'E':
			mark = i
		}
	}
	if mark < len(s) {
		e, _ := strconv.Atoi(s[mark+1:]) // out of range, it is the largest or the smallest, which serves as well
		exponent += max(-100_000, min(e, 100_000))
	}
	text := strconv.FormatUint(mantissa, 10) + "e" + strconv.Itoa(exponent)
	if strings.HasPrefix(s, "-") {
		text = "-" + text
	}
	x, _ := strconv.ParseFloat(text, 64) // out of range it is infinite, and so not an integer
	return x
}

type shape uint8

const (
	noNumber shape = iota
	digits         // with or without a sign
	decimal        // with a point, an exponent or both
)

// shapeOf recognizes what SQLite takes for a number: [+-] digits [. digits] [e [+-]
// digits], with a digit before or after the point.
func shapeOf(s string) shape {
	s = withoutSign(s)
	whole, s := leadingDigits(s)
	found, n := digits, whole
	if strings.HasPrefix(s, ".") {
		found = decimal
		var fraction int
		fraction, s = leadingDigits(s[1:])
		n += fraction
	}
	if n == 0 {
		return noNumber
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		found = decimal
		if n, s = leadingDigits(withoutSign(s[1:])); n == 0 {
			return noNumber
		}
	}
	if s != "" {
		return noNumber
	}
	return found
}

func withoutSign(s string) string {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return s[1:]
	}
	return s
}

func leadingDigits(s string) (n int, rest string) {
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n, s[n:]
}

// Dates stand for the texts that the server writes with DateStyle ISO: 2024-02-29,
// 0044-03-15 BC, infinity. The server sends a date as days since 2000-01-01.
const (
	infinity         = math.MaxInt32
	negativeInfinity = math.MinInt32
)

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func dateOf(raw []byte) (query.Value, bool) {
	days, ok := bigEndian(raw)
	if !ok || len(raw) != 4 {
		return query.Value{}, false
	}
	return query.Text(dateText(days)), true
}

func dateText(days int64) string {
	switch days {
	case infinity:
		return "infinity"
	case negativeInfinity:
		return "-infinity"
	}
	t := epoch.AddDate(0, 0, int(days))
	if t.Year() <= 0 { // the year before 1 is 1 BC
		return fmt.Sprintf("%04d-%02d-%02d BC", 1-t.Year(), t.Month(), t.Day())
	}
	return fmt.Sprintf("%04d-%02d-%02d", t.Year(), t.Month(), t.Day())
}

// The first and last dates of the server.
var (
	firstDate = time.Date(-4713, 11, 24, 0, 0, 0, 0, time.UTC)
	lastDate  = time.Date(5874897, 12, 31, 0, 0, 0, 0, time.UTC)
)

// dateLiteral accepts a text that is a date in the form the server writes.
func dateLiteral(v query.Value) (string, bool) {
	s := v.Str()
	if s == "infinity" || s == "-infinity" {
		return s, true
	}
	var year, month, day int
	if n, _ := fmt.Sscanf(s, "%d-%d-%d", &year, &month, &day); n != 3 || year < 1 || year > lastDate.Year() {
		return "", false
	}
	for _, y := range []int{year, 1 - year} {
		t := time.Date(y, time.Month(month), day, 0, 0, 0, 0, time.UTC)
		if t.Before(firstDate) || t.After(lastDate) {
			continue
		}
		days := (t.Unix() - epoch.Unix()) / 86_400
		if dateText(days) == s {
			return s, true
		}
	}
	return "", false
}
