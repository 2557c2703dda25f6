package calendar

import (
	"testing"
	"time"
)

// TestDaysAreThoseOfTime compares every day of the range with package time.
func TestDaysAreThoseOfTime(t *testing.T) {
	t.Parallel()
	at := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	for day := int64(First); day <= Last; day++ {
		y, m, d := at.Date()
		gotY, gotM, gotD := Date(day)
		if gotY != y || gotM != int(m) || gotD != d || Day(y, int(m), d) != day {
			t.Fatalf("day %d is %v; got %d-%d-%d and day %d", day, at, gotY, gotM, gotD, Day(y, int(m), d))
		}
		at = at.Add(24 * time.Hour)
	}
	if at.Year() != 10_000 {
		t.Errorf("the day after the last is %v", at)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0001-01-01", "9999-12-31", "2024-02-29", "2000-02-29", "1970-01-01", "1969-12-31"} {
		day, ok := Parse(text)
		if !ok || Format(day) != text {
			t.Errorf("%s is read as %d, %v: %s", text, day, ok, Format(day))
		}
	}
	for _, text := range []string{"", "now", "2024-02-30", "2023-02-29", "1900-02-29", "2024-00-10", "2024-13-01", "2024-01-00", "2024-01-32",
		"0000-01-01", "2024-1-1", "2024-01-01 ", " 2024-01-01", "2024-01-01 00:00", "2024/01/01", "+024-01-01", "-024-01-01", "2024-01-+1",
		"20240101", "2024-01-99", "２024-01-1"} {
		if day, ok := Parse(text); ok {
			t.Errorf("%q is read as %s", text, Format(day))
		}
	}
}
