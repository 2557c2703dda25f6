package calendar

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A moment is a number of seconds since 1970-01-01 00:00:00 UTC. Its texts have no time
// zone: they are in UTC.

// The moments that can be written with a year from 0001 to 9999.
const (
	FirstMoment = First * secondsADay
	LastMoment  = Last*secondsADay + secondsADay - 1
	secondsADay = 86_400
)

// ParseMoment reads YYYY-MM-DD, or that with HH:MM or HH:MM:SS behind a blank or a T, and
// Z behind the time or not. It is false for any other text and for a time that does not
// exist.
func ParseMoment(text string) (moment int64, ok bool) {
	if len(text) < 10 {
		return 0, false
	}
	day, ok := Parse(text[:10])
	if moment = day * secondsADay; !ok || len(text) == 10 {
		return moment, ok
	}
	if text[10] != ' ' && text[10] != 'T' {
		return 0, false
	}
	clock := strings.TrimSuffix(text[11:], "Z")
	if len(clock) == 5 {
		clock += ":00"
	}
	if len(clock) != 8 || clock[2] != ':' || clock[5] != ':' {
		return 0, false
	}
	hour, ok1 := digits(clock[:2])
	minute, ok2 := digits(clock[3:5])
	second, ok3 := digits(clock[6:])
	return moment + int64(hour*3600+minute*60+second), ok1 && ok2 && ok3 && hour < 24 && minute < 60 && second < 60
}

// ParseFraction is ParseMoment of a text that may have a fraction of a second, which is cut
// off.
func ParseFraction(text string) (moment int64, ok bool) {
	const whole = len("2024-02-29 12:00:00")
	if len(text) > whole+1 && text[whole] == '.' {
		rest := strings.TrimLeft(text[whole+1:], "0123456789")
		if len(rest) == len(text)-whole-1 || rest != "" && rest != "Z" {
			return 0, false
		}
		text = text[:whole]
	}
	return ParseMoment(text)
}

// FormatMoment writes a moment as YYYY-MM-DD HH:MM:SS.
func FormatMoment(moment int64) string {
	return at(moment).Format(time.DateTime)
}

// DayOf returns the day of a moment.
func DayOf(moment int64) int64 { return floorDiv(moment, secondsADay) }

// steps are SQLite's units of modifiers that have a fixed length, in seconds.
var steps = map[string]int64{"second": 1, "minute": 60, "hour": 3600, "day": secondsADay}

// Modify applies a modifier of SQLite's functions of dates, in lower case: '+3 months',
// 'start of year', 'weekday 0' and others of these three kinds. valid is false for any
// other text. ok is false if the result is not in the years 1 to 9999.
//
// A month is added to the number of the month, as SQLite does: a day that the month
// does not have runs over into the next.
func Modify(moment int64, modifier string) (result int64, valid, ok bool) {
	modifier = strings.ToLower(strings.TrimRight(modifier, " "))
	day, clock := DayOf(moment), floorMod(moment, secondsADay)
	year, month, dayOfMonth := Date(day)
	switch modifier {
	case "start of day":
		return within(moment - clock)
	case "start of month":
		return within(Day(year, month, 1) * secondsADay)
	case "start of year":
		return within(Day(year, 1, 1) * secondsADay)
	}
	if n, found := strings.CutPrefix(modifier, "weekday "); found {
		if len(n) != 1 || n[0] < '0' || n[0] > '6' {
			return 0, false, false
		}
		return within(moment + floorMod(int64(n[0]-'0')-int64(at(moment).Weekday()), 7)*secondsADay)
	}
	number, unit, found := strings.Cut(modifier, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if !found || err != nil || n > 1e12 || n < -1e12 {
		return 0, false, false
	}
	unit = strings.TrimSuffix(strings.TrimLeft(unit, " "), "s")
	if step, known := steps[unit]; known {
		return within(moment + n*step) // at most 1e12 days, which are 8.64e16 seconds
	}
	switch {
	case (unit == "month" || unit == "year") && (n > 12*10_000 || n < -12*10_000):
		return 0, true, false
	case unit == "month":
		return within(Day(year, month+int(n), dayOfMonth)*secondsADay + clock)
	case unit == "year":
		return within(Day(year+int(n), month, dayOfMonth)*secondsADay + clock)
	}
	return 0, false, false
}

func within(moment int64) (int64, bool, bool) {
	return moment, true, FirstMoment <= moment && moment <= LastMoment
}

// Disorder is how many seconds the later of two moments can come before the other after a
// modifier. For most it is 0. The last days of a month run over into the next, and a
// weekday keeps the time of day.
func Disorder(modifier string) int64 {
	switch modifier = strings.ToLower(modifier); {
	case strings.HasPrefix(modifier, "weekday"):
		return secondsADay
	case strings.Contains(modifier, "month") && !strings.HasPrefix(modifier, "start"):
		return 3 * secondsADay
	}
	return 0
}

// A Layout is a format of strftime.
type Layout []element

// element is a field, or a text between fields.
type element struct {
	field byte // 0 for a text
	text  string
}

// expansions are the fields that stand for others.
var expansions = map[byte]string{'F': "%Y-%m-%d", 'R': "%H:%M", 'T': "%H:%M:%S"}

// fields are the others, with the least and the most that they can be.
var fields = map[byte][2]string{
	'Y': {"0001", "9999"}, 'm': {"01", "12"}, 'd': {"01", "31"}, 'H': {"00", "23"}, 'M': {"00", "59"}, 'S': {"00", "59"}, 'j': {"001", "366"},
	'w': {"0", "6"}, 'u': {"1", "7"}, 'W': {"00", "53"}, 'U': {"00", "53"}, 'V': {"01", "53"}, 'G': {"0000", "9999"},
}

// ParseLayout reads a format of strftime. It is false for one with a field that is not
// known here, or whose text is longer than 100 bytes.
func ParseLayout(format string) (Layout, bool) {
	var l Layout
	for i := 0; i < len(format) && len(format) <= 100; i++ {
		if format[i] != '%' {
			l = l.with(format[i : i+1])
			continue
		}
		if i++; i == len(format) {
			return nil, false
		}
		if more := expansions[format[i]]; more != "" {
			inner, _ := ParseLayout(more)
			l = append(l, inner...)
			continue
		}
		if format[i] == '%' {
			l = l.with("%")
			continue
		}
		if _, ok := fields[format[i]]; !ok {
			return nil, false
		}
		l = append(l, element{field: format[i]})
	}
	return l, len(format) <= 100
}

func (l Layout) with(text string) Layout {
	if n := len(l); n > 0 && l[n-1].field == 0 {
		l[n-1].text += text
		return l
	}
	return append(l, element{text: text})
}

// Format writes a moment in the layout.
func (l Layout) Format(moment int64) string {
	var b strings.Builder
	for _, e := range l {
		b.WriteString(e.text)
		if e.field != 0 {
			b.WriteString(fieldOf(e.field, moment))
		}
	}
	return b.String()
}

func fieldOf(field byte, moment int64) string {
	t := at(moment)
	newYear, weekday := t.YearDay()-1, int(t.Weekday())
	sinceMonday := (weekday + 6) % 7
	switch field {
	case 'Y':
		return t.Format("2006")
	case 'm':
		return t.Format("01")
	case 'd':
		return t.Format("02")
	case 'H':
		return t.Format("15")
	case 'M':
		return t.Format("04")
	case 'S':
		return t.Format("05")
	case 'j':
		return t.Format("002")
	case 'w':
		return strconv.Itoa(weekday)
	case 'u':
		return strconv.Itoa(sinceMonday + 1)
	case 'W':
		return fmt.Sprintf("%02d", (newYear+7-sinceMonday)/7)
	case 'U':
		return fmt.Sprintf("%02d", (newYear+7-weekday)/7)
	}
	year, week := t.ISOWeek()
	if field == 'G' {
		return fmt.Sprintf("%04d", year)
	}
	return fmt.Sprintf("%02d", week) // V
}

// periods are, for each field, the format of the period in which it does not decrease.
var periods = map[byte]string{'m': "%Y", 'j': "%Y", 'W': "%Y", 'U': "%Y", 'd': "%Y-%m", 'H': "%F", 'M': "%F %H", 'S': "%F %R", 'V': "%G", 'u': "%G-%V"}

// finer are the fields that can follow a field so that both together do not decrease in
// the period of the first.
var finer = map[byte]string{'Y': "mjWU", 'm': "d", 'd': "H", 'j': "H", 'H': "M", 'M': "S", 'G': "V", 'V': "u", 'W': "u"}

// Between returns the least and the most text that moments from lo to hi can have, in the
// order of bytes. It is false if it knows none.
func (l Layout) Between(lo, hi int64) (least, most string, ok bool) {
	var first, last byte
	for _, e := range l {
		switch {
		case e.field == 0:
		case first == 0:
			first, last = e.field, e.field
		case strings.IndexByte(finer[last], e.field) < 0:
			return "", "", false
		default:
			last = e.field
		}
	}
	ordered := first == 0 || first == 'Y' || first == 'G'
	if period := periods[first]; period != "" {
		within, _ := ParseLayout(period)
		ordered = within.Format(lo) == within.Format(hi)
	}
	if ordered {
		return l.Format(lo), l.Format(hi), true
	}
	if l.IsNumber() {
		return fields[first][0], fields[first][1], true
	}
	return "", "", false
}

// IsNumber reports whether the layout is one field, whose texts are numbers of equal
// length.
func (l Layout) IsNumber() bool { return len(l) == 1 && l[0].field != 0 }

// Canonical returns the text of a date or a moment as FormatMoment writes it, and any other text
// as it is. A date is the moment at which its day begins.
func Canonical(text string) string {
	if moment, ok := ParseMoment(text); ok {
		return FormatMoment(moment)
	}
	return text
}
