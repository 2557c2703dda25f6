package importer_test

import (
	"slices"
	"strings"
	"testing"

	"dpsql/internal/importer"
	"dpsql/sqlerr"
)

// TestDates imports a column of dates: what is stored, and what is said.
func TestDates(t *testing.T) {
	for _, test := range []struct {
		name, fields string // of a column d, separated by bars
		dates        []string
		want, note   string
	}{
		{"day first", "1.2.2024|13.02.2024", nil, "2024-02-01|2024-02-13", "`d`: dates as d.m.Y"},
		{"month first", "1/2/2024|2/13/2024", nil, "2024-01-02|2024-02-13", "`d`: dates as m/d/Y"},
		{"one day in both", "1/1/2024|2-2-2024", nil, "1/1/2024|2-2-2024", "`d`: dates in more than one form"},
		{"the same day in both", "1/1/2024|02/02/2024", nil, "2024-01-01|2024-02-02", "`d`: dates as d/m/Y"},
		{"year first", "2024-1-2|2024-12-31", nil, "2024-01-02|2024-12-31", "`d`: dates as Y-m-d"},
		{"year first, slashes", "2024/01/02|2024/12/31", nil, "2024-01-02|2024-12-31", "`d`: dates as Y/m/d"},
		{"as they should be", "2024-01-02|2024-12-31", nil, "2024-01-02|2024-12-31", ""},
		{"dates and moments", "2024-01-02|2024-12-31 10:00:00", nil, "2024-01-02 00:00:00|2024-12-31 10:00:00", "`d`: dates as Y-m-d"},
		{"moments as they should be", "2024-01-02 09:00:00|2024-12-31 00:00:00.25", nil, "2024-01-02 09:00:00|2024-12-31 00:00:00.25", ""},
		{"names", "02-Jan-2024|Jan 2, 2024|2 January 2024|02JAN2024|sep 3 2024|2024-Feb-29", nil,
			"2024-01-02|2024-01-02|2024-01-02|2024-01-02|2024-09-03|2024-02-29", "`d`: dates with names of months"},
		{"names in other languages", "2. Januar 2020|1 févr. 2020|3 de marzo de 2020|4 MAI 2020|5-Okt-2020|6 juil. 2020|7 August 2020|8 Sept 2020", nil,
			"2020-01-02|2020-02-01|2020-03-03|2020-05-04|2020-10-05|2020-07-06|2020-08-07|2020-09-08", "`d`: dates with names of months"},
		{"a name of two months", "6 jui 2020", nil, "6 jui 2020", ""},
		{"year, month and day in Chinese signs", "2024年2月13日|2024年12月1日", nil, "2024-02-13|2024-12-01", "`d`: dates as Y-m-d"},
		{"times", "13.02.2024 9:05|1.2.2024 23:59:58|1.2.2024 12:00 AM|1.2.2024 1:30:05.250 p.m.|1.2.2024", nil,
			"2024-02-13 09:05:00|2024-02-01 23:59:58|2024-02-01 00:00:00|2024-02-01 13:30:05.25|2024-02-01 00:00:00", "`d`: dates as d.m.Y"},
		{"T, SAS and log", "2024/2/13T9:05|2024/2/13:10:00:00|2024/2/13, 10:00", nil, "2024-02-13 09:05:00|2024-02-13 10:00:00|2024-02-13 10:00:00", "`d`: dates as Y/m/d"},
		{"empty", "13.02.2024| |1.2.2024", nil, "2024-02-13|NULL|2024-02-01", "`d`: dates as d.m.Y"},
		{"markers", "13.02.2024|NA|1.2.2024", nil, "13.02.2024|NA|1.2.2024", "`d`: dates but for `NA` in 1 row: --null NA"},
		{"no such day", "31.02.2024" + strings.Repeat("|13.02.2024", 20), nil, "31.02.2024" + strings.Repeat("|13.02.2024", 20),
			"`d`: dates but for other texts in 1 row, the first in line 2"},
		{"24 hours", "13.02.2024 24:00|13.02.2024 13:00 PM|13.02.2024 0:10 AM", nil, "13.02.2024 24:00|13.02.2024 13:00 PM|13.02.2024 0:10 AM", ""},
		{"mixed separators", "1-2.2024", nil, "1-2.2024", ""},
		{"two orders", "13/2/2024|2/13/2024", nil, "13/2/2024|2/13/2024", "`d`: dates in more than one form"},
		{"two digits", "13.02.24|1.2.99", nil, "13.02.24|1.2.99", "`d`: dates with a year of two digits: --date d.m.y"},
		{"two digits in two orders", "1/2/24", nil, "1/2/24", "`d`: dates with a year of two digits: --date d/m/y or --date m/d/y"},
		{"versions and numbers", "1.2.3|1.2|3", nil, "1.2.3|1.2|3", ""},

		{"times of day", "9:27AM|12:05 pm|09:27|09:27:30|9h27|21H05|12:00 a.m.|24:00", nil, "09:27:00|12:05:00|09:27:00|09:27:30|09:27:00|21:05:00|00:00:00|24:00:00", "`d`: times of day, stored as 09:27:30: --date '' keeps them"},
		{"times with points", "9.27 a.m.|9.27pm|12.05 PM|9.30 Uhr|9:27 Uhr", nil, "09:27:00|21:27:00|12:05:00|09:30:00|09:27:00", "`d`: times of day, stored as 09:27:30: --date '' keeps them"},
		{"numbers with points", "9.27|10.30", nil, "9.27|10.3", ""},
		{"times as they should be", "09:27:30|23:59:59", nil, "09:27:30|23:59:59", ""},
		{"times of eight letters", "12:00 AM|09:27:30", nil, "00:00:00|09:27:30", "`d`: times of day, stored as 09:27:30: --date '' keeps them"},
		{"times and parts of seconds", "9:27:30.250|9:27:31", nil, "09:27:30.25|09:27:31", "`d`: times of day, stored as 09:27:30: --date '' keeps them"},
		{"times and a marker", "9:27|n/a|9:28", nil, "9:27|n/a|9:28", "`d`: times of day but for `n/a` in 1 row: --null n/a"},
		{"no such time", "25:10" + strings.Repeat("|9:27", 20), nil, "25:10" + strings.Repeat("|9:27", 20), "`d`: times of day but for other texts in 1 row, the first in line 2"},
		{"times and dates", "9:27|2024-01-02", nil, "9:27|2024-01-02", "`d`: dates in more than one form"},
		{"times and moments", "9:27|2024-01-02 9:27", nil, "9:27|2024-01-02 9:27", "`d`: dates in more than one form"},
		{"times, kept", "9:27|9:28", []string{""}, "9:27|9:28", ""},
		{"times beside given dates", "9:27|9:28", []string{"d.m.Y"}, "09:27:00|09:28:00", "`d`: times of day, stored as 09:27:30: --date '' keeps them"},
		{"durations and numbers", "45:10|3:1|27", nil, "45:10|3:1|27", ""},

		{"given", "1/2/2024|3/4/2024", []string{"m/d/Y"}, "2024-01-02|2024-03-04", "`d`: dates as m/d/Y"},
		{"given with a time", "1/2/2024 10:00|3/4/2024 11:30", []string{"d/m/Y H:M"}, "2024-02-01 10:00:00|2024-04-03 11:30:00", "`d`: dates as d/m/Y"},
		{"given as in C", "1/2/2024", []string{"%d/%m/%Y %H:%M"}, "2024-02-01", "`d`: dates as d/m/Y"},
		{"given two digits", "1.2.24|1.2.68|1.2.69", []string{"d.m.y"}, "2024-02-01|2068-02-01|1969-02-01", "`d`: dates as d.m.y"},
		{"given names", "2-Jan-24", []string{"d-b-y"}, "2024-01-02", "`d`: dates with names of months"},
		{"given digits alone", "20240102|20241231", []string{"Ymd"}, "2024-01-02|2024-12-31", "`d`: dates as Ymd"},
		{"given digits, day first", "02012024|31122024", []string{"dmY"}, "2024-01-02|2024-12-31", "`d`: dates as dmY"},
		{"given several", "1-2-2024", []string{"m/d/Y", "d-m-Y"}, "2024-02-01", "`d`: dates as d-m-Y"},
		{"given, and another", "13.02.2024", []string{"m/d/Y"}, "2024-02-13", "`d`: dates as d.m.Y"},
		{"given and misfit", "1/2/2024|13/2/2024|1/14/2024|x", []string{"m/d/Y"}, "1/2/2024|13/2/2024|1/14/2024|x", "`d`: no dates as m/d/Y in 2 rows, the first in line 3"},
		{"given none", "1/2/2024|13/2/2024", []string{""}, "1/2/2024|13/2/2024", ""},
	} {
		db := memory(t)
		var b strings.Builder
		b.WriteString("\ufeffn;d\r\n")
		for _, field := range strings.Split(test.fields, "|") {
			b.WriteString("1;\"" + field + "\"\r\n")
		}
		r, err := imported(t, db, importer.Options{Path: write(t, "x.csv", b.String()), Table: "t", Dialect: importer.Dialect{Dates: test.dates}})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var got []string
		for _, row := range contents(t, db, "t", r.Columns) {
			got = append(got, strings.Trim(strings.TrimPrefix(row, "1 "), "'"))
		}
		if !slices.Equal(got, strings.Split(test.want, "|")) || strings.Join(r.Notes, "; ") != test.note {
			t.Errorf("%s: %q %q, want %s and %s", test.name, got, r.Notes, test.want, test.note)
		}
	}
}

// TestDatesThatAreNotChosen: dates of two forms are refused, and so is what is no form.
func TestDatesThatAreNotChosen(t *testing.T) {
	path := write(t, "x.csv", "# a comment\nd,e\n1/2/2024,13.2.2024\n\"3/4/2024\",\n")
	r, err := imported(t, memory(t), importer.Options{Path: path, Table: "t"})
	e, ok := err.(*sqlerr.Error)
	if !ok || !slices.Equal(r.Readings, []string{"d/m/Y", "m/d/Y"}) || !strings.Contains(e.Hint, "--date d/m/Y or --date m/d/Y") || strings.Contains(e.Error(), "1/2") {
		t.Errorf("%q, %v", r.Readings, err)
	}
	for _, form := range []string{"d", "DD.MM.YYYY", "d.m/Y", "x.m.Y", "d.m.Y.", "Y-d-m", "d..m..Y", "y"} {
		r, err := imported(t, memory(t), importer.Options{Path: path, Table: "t", Dialect: importer.Dialect{Dates: []string{form}}})
		if sqlerr.CodeOf(err) != sqlerr.Invalid || r.Readings != nil {
			t.Errorf("%s: %v", form, err)
		}
	}
}
