// Package calendar computes with days of the proleptic Gregorian calendar, which SQLite
// and PostgreSQL have too. A day is a number: days since 1970-01-01. It knows no time
// zones and no clock.
package calendar

import "fmt"

// The days that can be written as YYYY-MM-DD with a year that PostgreSQL has too.
const (
	First = -719_162  // 0001-01-01
	Last  = 2_932_896 // 9999-12-31
)

// Day returns the day of a date. A month or day beyond its range runs over into the
// next, as in 2024-02-30 for 2024-03-01. The year must be within ±10^6.
//
// Years are counted from March, so that a leap day is the last of its year, and in eras
// of 400 years, which have 146097 days each (Edward M. Reingold and Nachum Dershowitz,
// Calendrical Calculations, section 2.3).
func Day(year, month, day int) int64 {
	months := int64(year)*12 + int64(month) - 3 // since March of year 0
	y, m := floorDiv(months, 12), floorMod(months, 12)
	return y*365 + floorDiv(y, 4) - floorDiv(y, 100) + floorDiv(y, 400) + (153*m+2)/5 + int64(day) - 1 - 719_468
}

// Date returns the date of a day.
func Date(day int64) (year, month, dayOfMonth int) {
	n := day + 719_468 // since 0000-03-01
	era, n := floorDiv(n, 146_097), floorMod(n, 146_097)
	y := (n - n/1460 + n/36_524 - n/146_096) / 365 // of the era; leap days do not count
	n -= 365*y + y/4 - y/100
	m := (5*n + 2) / 153 // since March
	year, month, dayOfMonth = int(era*400+y), int(m)+3, int(n-(153*m+2)/5)+1
	if month > 12 {
		year, month = year+1, month-12
	}
	return year, month, dayOfMonth
}

// Parse reads YYYY-MM-DD. It is false for any other text, for a date that does not exist,
// and for the year 0.
func Parse(text string) (day int64, ok bool) {
	if len(text) != 10 || text[4] != '-' || text[7] != '-' {
		return 0, false
	}
	year, ok1 := digits(text[:4])
	month, ok2 := digits(text[5:7])
	dayOfMonth, ok3 := digits(text[8:])
	if !ok1 || !ok2 || !ok3 || year == 0 || month == 0 || month > 12 || dayOfMonth == 0 {
		return 0, false
	}
	day = Day(year, month, dayOfMonth)
	_, m, _ := Date(day)
	return day, dayOfMonth <= 31 && m == month
}

func digits(text string) (n int, ok bool) {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = 10*n + int(text[i]-'0')
	}
	return n, true
}

// Format writes a day from First to Last as YYYY-MM-DD.
func Format(day int64) string {
	year, month, dayOfMonth := Date(day)
	return fmt.Sprintf("%04d-%02d-%02d", year, month, dayOfMonth)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - b*floorDiv(a, b) }
