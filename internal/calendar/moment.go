package calendar

import (
	"fmt"
	"slices"
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

// ParseMoment reads a moment, as ReadMoment does, that has no fraction of a second.
func ParseMoment(text string) (moment int64, ok bool) {
	moment, fraction, ok := ReadMoment(text)
	return moment, ok && fraction == ""
}

// ReadMoment reads a moment as statements have it: YYYY-MM-DD, or that with HH:MM or
// HH:MM:SS behind a blank or a T. Behind the seconds may stand a fraction of them, and behind
// the time a zone: Z, UTC, or the hours from UTC as +HH, +HH:MM or +HHMM, or with a minus. The fraction
// is returned as its digits up to the last that is not 0. ok is false for any other text and for a
// time that does not exist.
func ReadMoment(text string) (moment int64, fraction string, ok bool) {
	clock, zone := SplitZone(text)
	east, ok := offset(zone)
	if clock, fraction, ok = splitFraction(clock, ok); !ok {
		return 0, "", false
	}
	moment, ok = parsePlain(clock)
	moment -= east
	return moment, fraction, ok && FirstMoment <= moment && moment <= LastMoment
}

// SplitZone splits a text of a moment in front of its zone. One without a time of day has none.
func SplitZone(text string) (clock, zone string) {
	const day = len(time.DateOnly)
	if len(text) <= day {
		return text, ""
	}
	from := day + strings.IndexAny(text[day:], "+-ZzU")
	if from <= day {
		return text, ""
	}
	return strings.TrimSuffix(text[:from], " "), text[from:]
}

// splitFraction takes the fraction behind the seconds of a moment, if it has one.
func splitFraction(text string, ok bool) (clock, fraction string, _ bool) {
	clock, fraction, found := strings.Cut(text, ".")
	if !found || !ok {
		return text, "", ok
	}
	_, ok = digits(fraction)
	return clock, strings.TrimRight(fraction, "0"), ok && fraction != "" && len(clock) == len(time.DateTime)
}

// offset returns how many seconds a zone is ahead of UTC.
func offset(zone string) (east int64, ok bool) {
	if zone == "" || zone == "UTC" || zone == "z" {
		return 0, true
	}
	for _, layout := range []string{"Z07:00", "Z0700", "Z07"} {
		if t, err := time.Parse(layout, zone); err == nil {
			_, east := t.Zone()
			return int64(east), true
		}
	}
	return 0, false
}

// parsePlain reads a moment without a fraction and without a zone but Z.
func parsePlain(text string) (moment int64, ok bool) {
	if len(text) < len(time.DateOnly) {
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

// ParseFraction reads a moment as rows have it: without a zone but Z. A fraction of a second is
// cut off.
func ParseFraction(text string) (moment int64, ok bool) {
	const whole = len("2024-02-29 12:00:00")
	if len(text) > whole+1 && text[whole] == '.' {
		rest := strings.TrimLeft(text[whole+1:], "0123456789")
		if len(rest) == len(text)-whole-1 || rest != "" && rest != "Z" {
			return 0, false
		}
		text = text[:whole]
	}
	return parsePlain(text)
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
// does not have runs over into the next. With floor, which only months and years may have,
// it is the last of the month.
func Modify(moment int64, modifier string, floor bool) (result int64, valid, ok bool) {
	modifier = strings.ToLower(strings.TrimRight(modifier, " "))
	day, clock := DayOf(moment), floorMod(moment, secondsADay)
	year, month, dayOfMonth := Date(day)
	number, unit, found := strings.Cut(modifier, " ")
	unit = strings.TrimSuffix(strings.TrimLeft(unit, " "), "s")
	if floor && unit != "month" && unit != "year" {
		return 0, false, false
	}
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
	n, err := strconv.ParseInt(number, 10, 64)
	if !found || err != nil || n > 1e12 || n < -1e12 {
		return 0, false, false
	}
	if step, known := steps[unit]; known {
		return within(moment + n*step) // at most 1e12 days, which are 8.64e16 seconds
	}
	switch {
	case unit != "month" && unit != "year":
		return 0, false, false
	case n > 12*10_000 || n < -12*10_000:
		return 0, true, false
	case unit == "month":
		day = Day(year, month+int(n), dayOfMonth)
	default:
		day = Day(year+int(n), month, dayOfMonth)
	}
	if _, _, reached := Date(day); floor && reached != dayOfMonth {
		day -= int64(reached)
	}
	return within(day*secondsADay + clock)
}

func within(moment int64) (int64, bool, bool) {
	return moment, true, FirstMoment <= moment && moment <= LastMoment
}

// Disorder is how many seconds the later of two moments can come before the other after a
// modifier, with floor or not. For most it is 0. The last days of a month run over into the
// next, or fall together, and a weekday keeps the time of day.
func Disorder(modifier string) int64 {
	switch modifier = strings.ToLower(modifier); {
	case strings.HasPrefix(modifier, "weekday"):
		return secondsADay
	case (strings.Contains(modifier, "month") || strings.Contains(modifier, "year")) && !strings.HasPrefix(modifier, "start"):
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

// IsClock reports whether the layout has no field of a date.
func (l Layout) IsClock() bool {
	return !slices.ContainsFunc(l, func(e element) bool { return !strings.ContainsRune("\x00HMS", rune(e.field)) })
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

// Canonical returns the text of a date or a moment as FormatMoment writes it, that of a time of day as
// FormatClock does, and any other text as it is. A date is the moment at which its day begins. A
// fraction of a second stays behind it, so that texts have the order of the moments.
func Canonical(text string) string {
	moment, fraction, ok := ReadClock(text)
	shown := FormatClock(moment)
	if !ok {
		if moment, fraction, ok = ReadMoment(text); !ok {
			return text
		}
		shown = FormatMoment(moment)
	}
	if fraction != "" {
		return shown + "." + fraction
	}
	return shown
}
