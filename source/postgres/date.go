package postgres

import (
	"fmt"
	"math"
	"time"

	"dpsql/query"
)

// Dates stand for the texts that the server writes with DateStyle ISO:
// 2024-02-29, 0044-03-15 BC, infinity. A date is sent as days since 2000-01-01.
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

// The first and last dates that the server has.
var (
	firstDate = time.Date(-4713, 11, 24, 0, 0, 0, 0, time.UTC)
	lastDate  = time.Date(5874897, 12, 31, 0, 0, 0, 0, time.UTC)
)

// dateLiteral reads a text that is a date as the server writes one.
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
