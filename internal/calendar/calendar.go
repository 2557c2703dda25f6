// Package calendar computes with days and moments of the proleptic Gregorian calendar, which
// SQLite and PostgreSQL have too. A day is a number of days since 1970-01-01, and a moment a
// number of seconds since it began, in UTC. The package knows no time zones but
// as hours from UTC, and no clock.
package calendar

import "time"

// The days that can be written as YYYY-MM-DD with a year that PostgreSQL has too.
const (
	First = -719_162  // 0001-01-01
	Last  = 2_932_896 // 9999-12-31
)

// Day returns the day of a date. A month or day beyond its range runs over into the
// next, as in 2024-02-30 for 2024-03-01. The year must be within ±10^6.
func Day(year, month, day int) int64 {
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix() / secondsADay
}

// Date returns the date of a day.
func Date(day int64) (year, month, dayOfMonth int) {
	y, m, d := at(day * secondsADay).Date()
	return y, int(m), d
}

// at returns a moment as package time has it.
func at(moment int64) time.Time { return time.Unix(moment, 0).UTC() }

// Parse reads YYYY-MM-DD. It is false for any other text, for a date that does not exist,
// and for the year 0.
func Parse(text string) (day int64, ok bool) {
	t, err := time.Parse(time.DateOnly, text)
	return t.Unix() / secondsADay, err == nil && t.Year() > 0
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
func Format(day int64) string { return at(day * secondsADay).Format(time.DateOnly) }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - b*floorDiv(a, b) }
