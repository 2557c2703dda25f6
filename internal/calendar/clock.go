package calendar

import (
	"fmt"
	"strings"
	"time"
)

// A time of day is a number of seconds since midnight, or a moment of 1970-01-01.

var clockLayouts = []string{"15:04", "15:04:05", "3:04PM", "3:04:05PM"}

// ReadClock reads a time of day as statements have it: HH:MM or HH:MM:SS, whose hour may have one
// digit, with a fraction of the second behind it or not, and with AM or PM or not. 24:00 is the end
// of the day. The fraction is returned as its digits up to the last that is not 0.
func ReadClock(text string) (seconds int64, fraction string, ok bool) {
	if len(text) < len("9:27") || len(text) > 40 || text[1] != ':' && text[2] != ':' {
		return 0, "", false
	}
	if text == "24:00" || text == "24:00:00" {
		return secondsADay, "", true
	}
	text = strings.ToUpper(text)
	if half := strings.TrimRight(text, "AMP."); half != text {
		text = strings.TrimSuffix(half, " ") + strings.ReplaceAll(text[len(half):], ".", "")
	}
	for _, layout := range clockLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			fraction = strings.TrimRight(fmt.Sprintf("%09d", t.Nanosecond()), "0")
			return int64(t.Hour()*3600 + t.Minute()*60 + t.Second()), fraction, true
		}
	}
	return 0, "", false
}

// ReadAny reads a moment as ReadMoment does, or a time of day of 1970-01-01.
func ReadAny(text string) (moment int64, fraction string, ok bool) {
	if moment, fraction, ok = ReadClock(text); ok {
		return moment, fraction, ok
	}
	return ReadMoment(text)
}

// FormatClock writes a time of day as HH:MM:SS.
func FormatClock(seconds int64) string {
	if seconds == secondsADay {
		return "24:00:00"
	}
	return at(seconds).Format(time.TimeOnly)
}
