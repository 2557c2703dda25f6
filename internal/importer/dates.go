package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dpsql/query"
	"dpsql/sqlerr"
)

// form is a way to write dates.
type form struct {
	name    string   // as --date has it
	layouts []string // of package time
	named   bool     // the month has a name. Such a date has one reading, whatever separates its parts
}

// formOf reads a form as d.m.Y, m/d/y or %d-%b-%Y. Behind it may stand the form of a time
// of day, which is read as it is written in any case.
func formOf(text string) (form, error) {
	date := strings.ReplaceAll(text, "%", "")
	if i := strings.IndexAny(date, "HI"); i > 0 {
		date = strings.TrimRight(date[:i], " T,")
	}
	parts := strings.FieldsFunc(date, func(r rune) bool { return !unicode.IsLetter(r) })
	switch strings.Join(parts, "") {
	case "dbY", "bdY", "Ybd", "dBY", "BdY", "YBd":
		return withNames("Y"), nil
	case "dby", "bdy", "dBy", "Bdy":
		return withNames("y"), nil
	case "Ymd", "dmY", "mdY", "ymd", "dmy", "mdy":
		if len(date) == 3 {
			return form{date, []string{strings.NewReplacer("Y", "2006", "y", "06", "m", "01", "d", "02").Replace(date)}, false}, nil
		}
		if strings.Join(parts, date[1:2]) == date {
			return written(date), nil
		}
	}
	return form{}, sqlerr.New(sqlerr.Invalid, "%s is no form of dates", text).
		WithHint("as in --date d.m.Y or --date 'm/d/Y H:M': d, m and Y are day, month and year, y is a year of two digits, b the name of a month")
}

// written is the form of a date in figures.
func written(name string) form {
	return form{name, []string{strings.NewReplacer("Y", "2006", "y", "06", "m", "1", "d", "2").Replace(name)}, false}
}

// withNames is the form of 2-Jan-2024, January 2, 2024 and the like.
func withNames(year string) form {
	f := form{name: "d-b-" + year, named: true}
	for _, layout := range []string{"2 b y", "b 2 y", "2006 b 2"} {
		layout = strings.Replace(layout, "y", map[string]string{"Y": "2006", "y": "06"}[year], 1)
		f.layouts = append(f.layouts, strings.Replace(layout, "b", "Jan", 1), strings.Replace(layout, "b", "January", 1))
	}
	return f
}

// months are the names of months beside those of English.
var months = [12]string{" januar jänner janvier enero gennaio janeiro januari", " februar février fevrier febrero febbraio fevereiro februari",
	" märz maerz mars marzo março maart mrt", " april avril abril aprile", " mai mayo maggio maio mei maj", " juni juin junio giugno junho",
	" juli juillet julio luglio julho", " august août aout agosto augustus augusti", " september septembre septiembre settembre setembro",
	" oktober octobre octubre ottobre outubro", " november novembre noviembre novembro", " dezember décembre decembre diciembre dicembre dezembro"}

// english returns the English name of a month with a name in one of several languages, or with its first letters, and other words as they are.
func english(word string) string {
	if utf8.RuneCountInString(word) < 3 || word[0] <= '9' {
		return word
	}
	found, begins := word, " "+strings.ToLower(word)
	for i, names := range months {
		if strings.Contains(names, begins) {
			if found != word { // jui
				return word
			}
			found = time.Month(i + 1).String()
		}
	}
	return found
}

// clocks is the form of times of day, which have no date.
const clocks = "H:M"

// timeOf reads a time of day: 9:27, 09:27:30.5, 9:27 PM, 9.27 p.m., 9h27, 9.27 Uhr.
func timeOf(field string) (clock string, ok bool) {
	if len(field) < len("9h27") || field[0] < '0' || field[0] > '9' {
		return "", false
	}
	field, called := strings.CutSuffix(field, " Uhr")
	marks := "hH"
	if called || strings.ContainsAny(field, "mM") {
		marks = "hH."
	}
	if at := 1 + strings.IndexAny(field[1:3], marks); at > 0 {
		field = field[:at] + ":" + field[at+1:]
	}
	v, err := query.SQLTime.Parse(field)
	return v.Str(), err == nil
}

// known returns the forms that are looked for: first times, and those of years of four digits.
func known() []form {
	forms := []form{{name: clocks}, withNames("Y")}
	for _, letters := range []string{"Y%[1]sm%[1]sd", "d%[1]sm%[1]sY", "m%[1]sd%[1]sY", "y%[1]sm%[1]sd", "d%[1]sm%[1]sy", "m%[1]sd%[1]sy"} {
		for _, separator := range []string{"-", "/", "."} {
			forms = append(forms, written(fmt.Sprintf(letters, separator)))
		}
	}
	return append(forms, withNames("y"))
}

// long is the number of the known forms that have no year of two digits.
const long = 11

// formsOf returns the forms that are looked for: those that are given, and the known ones. It
// returns none if "" is given.
func formsOf(given []string) (forms []form, err error) {
	for _, text := range given {
		if text == "" {
			return nil, nil
		}
		f, err := formOf(text)
		if err != nil {
			return nil, err
		}
		forms = append(forms, f)
	}
	return append(forms, known()...), nil
}

// ordinal finds the end of 1st, 2nd, 3rd, 4th and 1er.
var ordinal = regexp.MustCompile(`^(\d{1,2})(?i:st|nd|rd|th|er)$`)

// apart finds a day, a month with a name and a year without anything between them.
var apart = regexp.MustCompile(`^(\d{1,2})(\p{L}{3,})(\d{2}|\d{4})$`)

// read reads a date of this form.
func (f form) read(date string) (t time.Time, ok bool) {
	if f.named {
		parts := strings.FieldsFunc(apart.ReplaceAllString(date, "$1 $2 $3"), func(r rune) bool { return strings.ContainsRune("-/., ", r) })
		parts = slices.DeleteFunc(parts, func(word string) bool { return word == "de" || word == "del" })
		for i, word := range parts {
			parts[i] = english(ordinal.ReplaceAllString(word, "$1"))
		}
		if len(parts) == 4 && len(parts[0]) >= 3 {
			if _, err := time.Parse("Mon", parts[0][:3]); err == nil {
				parts = parts[1:]
			}
		}
		date = strings.Join(parts, " ")
	} else if strings.HasSuffix(date, "日") {
		date = strings.NewReplacer("年", "-", "月", "-", "日", "").Replace(date)
	}
	for _, layout := range f.layouts {
		if t, err := time.Parse(layout, date); err == nil && t.Year() > 0 {
			return t, true
		}
	}
	return t, false
}

// write returns a date of this form as SQLite has it: with a time of day if timed.
func (f form) write(field string, timed bool) any {
	if field = strings.TrimSpace(field); field == "" {
		return nil
	}
	if f.name == clocks {
		clock, _ := timeOf(field)
		return clock
	}
	local, east := zoneOf(field)
	date, clock, ok := split(local)
	t, found := f.read(date)
	if !ok || !found {
		return field
	}
	if at, err := time.Parse(time.DateTime, t.Format(time.DateOnly)+" "+clock); east != 0 && err == nil {
		return at.Add(-east).Format(time.DateTime + ".999999999")
	}
	if timed {
		return t.Format(time.DateOnly) + " " + clock
	}
	return t.Format(time.DateOnly)
}

// zoneOf cuts the hours east of UTC off a moment: 10:00:00+02, 10:00+02:00, 10:00:00.5-0330, 10:00 UTC.
func zoneOf(field string) (local string, east time.Duration) {
	for _, zone := range []string{" UTC", " GMT"} {
		if local, ok := strings.CutSuffix(field, zone); ok && strings.Contains(local, ":") {
			return local, 0
		}
	}
	for _, layout := range []string{"-07:00", "-0700", "-07"} {
		at := len(field) - len(layout)
		if at < 0 || field[at] != '+' && field[at] != '-' || strings.LastIndexByte(field[:at], ':') < len("d.m.y 1") {
			continue
		}
		if t, err := time.Parse(layout, field[at:]); err == nil {
			_, seconds := t.Zone()
			return field[:at], time.Duration(seconds) * time.Second
		}
	}
	return field, 0
}

// split splits a field into a date and a time of day, which is midnight if there is none.
// It is false if the field can be no date.
func split(field string) (date, clock string, ok bool) {
	if len(field) < 6 || len(field) > 40 || !strings.ContainsAny(field, "0123456789") {
		return "", "", false
	}
	at := strings.IndexByte(field, ':')
	if at < 0 {
		return field, "00:00:00", true
	}
	from := at
	for from > max(0, at-2) && '0' <= field[from-1] && field[from-1] <= '9' {
		from--
	}
	if from == 0 || strings.IndexByte(" T", field[from-1]) < 0 {
		from = at + 1 // 02JAN2024:10:15:00
	}
	clock, ok = timeOf(field[from:])
	return strings.TrimRight(field[:from-1], " ,"), clock, ok && clock < "24"
}

// dates collects how the dates of a column are written.
type dates struct {
	forms  []form // those that were given, and those that are known
	given  []fits // how many fields are dates of those that were given
	n      int    // fields that are dates of some form
	ways   uint64 // the forms that all these have
	differ bool   // in two of them, some are different days
	timed  int    // fields that have a time of day
	zoned  bool   // some have hours from UTC
	mend   bool   // some are not as SQLite has dates, if all have its order
}

// fits counts the fields that are dates of a form, and not.
type fits struct {
	yes, no, line int // line is that of the first that is not
}

// see reports whether a field in a line is a date.
func (d *dates) see(field string, line int) bool {
	if len(d.forms) == 0 {
		return false
	}
	ways := d.waysOf(field)
	for i := range d.given {
		if ways&(1<<i) != 0 {
			d.given[i].yes++
		} else if d.given[i].no++; d.given[i].no == 1 {
			d.given[i].line = line
		}
	}
	if ways == 0 {
		return false
	}
	if d.n++; d.n == 1 {
		d.ways = ways
	}
	d.ways &= ways
	if strings.IndexByte(field, ':') > 0 {
		d.timed++
	}
	d.mend = d.mend || ways != d.clocks() && len(field) != len(time.DateOnly) && (len(field) < len(time.DateTime) || field[len(time.DateOnly)] != ' ')
	return true
}

// clocks is the way of times of day.
func (d *dates) clocks() uint64 { return 1 << len(d.given) }

// kind is what the fields of a form are.
func (d *dates) kind() string {
	if d.ways == d.clocks() {
		return "times of day"
	}
	return "dates"
}

// waysOf returns the forms that a field has, of all if it has none of those that all others have.
func (d *dates) waysOf(field string) (ways uint64) {
	if clock, ok := timeOf(field); ok {
		d.mend = d.mend || clock != field
		return d.clocks()
	}
	local, _ := zoneOf(field)
	d.zoned = d.zoned || local != field
	date, _, ok := split(local)
	if !ok {
		return 0
	}
	for _, among := range []uint64{d.ways, ^d.ways} {
		var first time.Time
		for i, f := range d.forms {
			if among&(1<<i) == 0 {
				continue
			}
			t, ok := f.read(date)
			if !ok {
				continue
			}
			d.differ = d.differ || i >= len(d.given) && !first.IsZero() && t != first
			first, ways = t, ways|1<<i
		}
		if ways != 0 && len(d.given) == 0 {
			break
		}
	}
	return ways
}

// decided returns the form of a column all of whose n fields are dates, if they have one.
// Where the dates of a column are different ones in two forms, it returns both.
func (d *dates) decided(n int) (forms []form) {
	for i, fits := range d.given {
		if n > 0 && fits.yes == n {
			return d.forms[i : i+1]
		}
	}
	if d.n == 0 || d.n < n {
		return nil
	}
	for i := len(d.given); i < len(d.given)+long; i++ {
		if d.ways&(1<<i) != 0 {
			forms = append(forms, d.forms[i])
		}
	}
	if !d.differ {
		return forms[:min(1, len(forms))]
	}
	return forms
}

// read says how a column was read, if it was not written so.
func (d *dates) read(column string, f form) string {
	switch {
	case f.name == clocks && d.mend:
		return fmt.Sprintf("`%s`: times of day, stored as 09:27:30: --date '' keeps them", column)
	case f.name == clocks:
		return ""
	case d.zoned:
		return fmt.Sprintf("`%s`: dates as %s, stored in UTC", column, f.name)
	case f.named:
		return fmt.Sprintf("`%s`: dates with names of months", column)
	case f.name == "Y-m-d" && !d.mend && d.timed%d.n == 0:
		return ""
	}
	return fmt.Sprintf("`%s`: dates as %s", column, f.name)
}

// misfit says which fields are no dates of a form that others are dates of.
func (d *dates) misfit() string {
	for i, fits := range d.given {
		if fits.yes > 0 && fits.no > 0 {
			return fmt.Sprintf("no dates as %s in %s, the first in line %d", d.forms[i].name, plural(fits.no, "row"), fits.line)
		}
	}
	return ""
}

// unread says why a column of dates was not read as such, and what would read it.
func (d *dates) unread() (why string, switches []string) {
	for i, f := range d.forms {
		if d.ways&(1<<i) != 0 {
			switches = append(switches, "--date "+f.name)
		}
	}
	if switches == nil {
		return "dates in more than one form", nil
	}
	return "dates with a year of two digits", []string{strings.Join(switches, " or ")}
}
