package calendar

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"dpsql/internal/seeds"
)

// layouts are the formats with what package time makes of them.
var layouts = map[string]func(at time.Time) string{
	"%Y-%m-%d %H:%M:%S": func(at time.Time) string { return at.Format(time.DateTime) },
	"%F":                func(at time.Time) string { return at.Format(time.DateOnly) },
	"%F %T":             func(at time.Time) string { return at.Format(time.DateTime) },
	"%F %R":             func(at time.Time) string { return at.Format("2006-01-02 15:04") },
	"%Y":                func(at time.Time) string { return at.Format("2006") },
	"%m":                func(at time.Time) string { return at.Format("01") },
	"%d":                func(at time.Time) string { return at.Format("02") },
	"%H":                func(at time.Time) string { return at.Format("15") },
	"%M":                func(at time.Time) string { return at.Format("04") },
	"%S":                func(at time.Time) string { return at.Format("05") },
	"%j":                func(at time.Time) string { return fmt.Sprintf("%03d", at.YearDay()) },
	"%w":                func(at time.Time) string { return fmt.Sprint(int(at.Weekday())) },
	"%u":                func(at time.Time) string { return fmt.Sprint((int(at.Weekday())+6)%7 + 1) },
	"%W": func(at time.Time) string {
		return fmt.Sprintf("%02d", (at.YearDay()+6-(int(at.Weekday())+6)%7)/7)
	},
	"%U": func(at time.Time) string { return fmt.Sprintf("%02d", (at.YearDay()+6-int(at.Weekday()))/7) },
	"%G-%V-%u": func(at time.Time) string {
		year, week := at.ISOWeek()
		return fmt.Sprintf("%04d-%02d-%d", year, week, (int(at.Weekday())+6)%7+1)
	},
	"week %V":  func(at time.Time) string { _, week := at.ISOWeek(); return fmt.Sprintf("week %02d", week) },
	"%Y/%j %%": func(at time.Time) string { return fmt.Sprintf("%04d/%03d %%", at.Year(), at.YearDay()) },
	"%m-%d":    func(at time.Time) string { return at.Format("01-02") },
	"%d.%m.%Y": func(at time.Time) string { return at.Format("02.01.2006") },
}

func random(t *testing.T) *rand.Rand {
	seed := int64(seeds.Of(t))
	return rand.New(rand.NewSource(seed))
}

// TestLayoutsAreThoseOfTime compares random moments, and the ends of years, with package
// time, and the bounds of a span with the moments in it.
func TestLayoutsAreThoseOfTime(t *testing.T) {
	t.Parallel()
	r := random(t)
	for i := range 2000 {
		moment := FirstMoment + r.Int63n(LastMoment-FirstMoment+1)
		if i%2 == 0 {
			year, _, _ := Date(DayOf(moment))
			moment = (Day(year, 1, 1) + int64(r.Intn(14)-7)) * secondsADay
		}
		moment = min(max(moment, FirstMoment), LastMoment)
		at := time.Unix(moment, 0).UTC()
		later := min(moment+r.Int63n([]int64{10, 5_000, 200_000, 5_000_000, 1 << 40}[i%5]), LastMoment)
		between := moment + r.Int63n(later-moment+1)
		for format, want := range layouts {
			l, ok := ParseLayout(format)
			if got := l.Format(moment); !ok || got != want(at) {
				t.Fatalf("%v as %s: got %s, want %s", at, format, got, want(at))
			}
			if least, most, ok := l.Between(moment, later); ok && (l.Format(between) < least || l.Format(between) > most) {
				t.Fatalf("%s: %s is not between %s and %s", format, l.Format(between), least, most)
			}
		}
		if text := at.Format(time.DateTime); FormatMoment(moment) != text {
			t.Fatalf("%v is written %s", at, FormatMoment(moment))
		}
		for _, form := range []string{time.DateTime, "2006-01-02T15:04:05", "2006-01-02T15:04:05Z", "2006-01-02 15:04:05Z"} {
			if got, ok := ParseMoment(at.Format(form)); !ok || got != moment {
				t.Fatalf("%s is read as %s", at.Format(form), FormatMoment(got))
			}
		}
	}
	for _, format := range []string{"%", "%Q", "%s", "%5", string(make([]byte, 101))} {
		if _, ok := ParseLayout(format); ok {
			t.Errorf("%q is read", format)
		}
	}
}

func TestParseMoment(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "2024-01-01 ", "2024-01-01 24:00", "2024-01-01 12:60", "2024-01-01 12:00:60", "2024-01-01 1:00", "2024-01-01_12:00",
		"2024-02-30 12:00", "2024-01-01Z", "2024-01-01 12:00:00.5", "now", "12:00", "2024-01-01+01", "2024-01-01 12:00+1", "2024-01-01 12:00+01:0",
		"2024-01-01 12:00:00.", "2024-01-01 12:00:00.x", "2024-01-01 12:00.0", "2024-01-01 12:00 CET", "2024-01-01 12:00  Z", "2024-01-01 12:00+25", "9999-12-31 23:59-01"} {
		if moment, ok := ParseMoment(text); ok {
			t.Errorf("%q is read as %s", text, FormatMoment(moment))
		}
	}
	if moment, ok := ParseMoment("2024-02-29 23:59"); !ok || FormatMoment(moment) != "2024-02-29 23:59:00" {
		t.Errorf("got %s, %v", FormatMoment(moment), ok)
	}
}

// TestReadMoment reads moments as clients of PostgreSQL write them.
func TestReadMoment(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2024-02-29":                       "2024-02-29 00:00:00",
		"2024-02-29 12:30+00":              "2024-02-29 12:30:00",
		"2024-02-29 12:30:00+00":           "2024-02-29 12:30:00",
		"2024-02-29 12:30:00 +00:00":       "2024-02-29 12:30:00",
		"2024-02-29 12:30:00 UTC":          "2024-02-29 12:30:00",
		"2024-02-29T12:30:00z":             "2024-02-29 12:30:00",
		"2024-02-29T12:30:00.000Z":         "2024-02-29 12:30:00",
		"2024-02-29 12:30:00.000000":       "2024-02-29 12:30:00",
		"2024-02-29 12:30:00.500000":       "2024-02-29 12:30:00.5",
		"2024-02-29 00:30:00.05+02":        "2024-02-28 22:30:00.05",
		"2024-02-29 23:30:00-0530":         "2024-03-01 05:00:00",
		"2024-02-29T23:30:00.000000+05:45": "2024-02-29 17:45:00",
		"0001-01-01 00:00+01":              "0001-01-01 00:00+01",
		"2024-02-30 12:30:00+00":           "2024-02-30 12:30:00+00",
		"tomorrow":                         "tomorrow",
	} {
		if got := Canonical(text); got != want {
			t.Errorf("%s is read as %s, want %s", text, got, want)
		}
	}
}

// TestModifiers compares modifiers with package time, whose months run over as SQLite's do.
// It also holds the order of what they make, up to Disorder.
func TestModifiers(t *testing.T) {
	t.Parallel()
	r := random(t)
	for range 2000 {
		moment := FirstMoment + r.Int63n(LastMoment-FirstMoment+1)
		at := time.Unix(moment, 0).UTC()
		n := r.Intn(200) - 100
		y, m, d := at.Date()
		wanted := map[string]time.Time{
			fmt.Sprintf("%+d days", n):           at.AddDate(0, 0, n),
			fmt.Sprintf("%d day", n):             at.AddDate(0, 0, n),
			fmt.Sprintf("%+d months", n):         at.AddDate(0, n, 0),
			fmt.Sprintf("%+d Years", n):          at.AddDate(n, 0, 0),
			fmt.Sprintf("%+d hours", n):          at.Add(time.Duration(n) * time.Hour),
			fmt.Sprintf("%+d minutes", n):        at.Add(time.Duration(n) * time.Minute),
			fmt.Sprintf("%+d seconds ", n):       at.Add(time.Duration(n) * time.Second),
			"start of year":                      time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC),
			"START OF MONTH":                     time.Date(y, m, 1, 0, 0, 0, 0, time.UTC),
			"start of day":                       time.Date(y, m, d, 0, 0, 0, 0, time.UTC),
			fmt.Sprintf("weekday %d", (n+100)%7): at.AddDate(0, 0, ((n+100)%7-int(at.Weekday())+7)%7),
		}
		for unit, months := range map[string]int{"months": n, "years": 12 * n} { // of PostgreSQL: the day, or the last of the month
			last := time.Date(y, m+time.Month(months)+1, 0, 0, 0, 0, 0, time.UTC).Day()
			wanted[fmt.Sprintf("%+d %s floor", n, unit)] = at.AddDate(0, 0, 1-d).AddDate(0, months, min(d, last)-1)
		}
		later := min(moment+r.Int63n(10_000_000), LastMoment)
		for modifier, want := range wanted {
			modifier, floor := strings.CutSuffix(modifier, " floor")
			got, valid, ok := Modify(moment, modifier, floor)
			if !valid || ok != (want.Year() >= 1 && want.Year() <= 9999) || ok && got != want.Unix() {
				t.Fatalf("%v with %s: got %s, %v, %v, want %v", at, modifier, FormatMoment(got), valid, ok, want)
			}
			if other, _, also := Modify(later, modifier, floor); ok && also && other < got-Disorder(modifier) {
				t.Fatalf("%s and %s with %s are %s and %s", at, FormatMoment(later), modifier, FormatMoment(got), FormatMoment(other))
			}
		}
	}
	for _, modifier := range []string{"", "utc", "localtime", "unixepoch", "auto", "subsec", "+1 weeks", "1.5 days", "days", "+ 1 days", "weekday 7", "weekday", "+99999999999999999999 days", "start of week"} {
		if _, valid, _ := Modify(0, modifier, false); valid {
			t.Errorf("%q is applied", modifier)
		}
	}
	for _, modifier := range []string{"+1 days", "weekday 0", "start of month", "floor"} {
		if _, valid, _ := Modify(0, modifier, true); valid {
			t.Errorf("%q keeps the end of a month", modifier)
		}
	}
	if _, valid, ok := Modify(0, "+1000000 months", true); !valid || ok {
		t.Errorf("a million months: %v, %v", valid, ok)
	}
}
