package syntax

import (
	"fmt"
	"strconv"
	"strings"

	"dpsql/internal/calendar"
	"dpsql/sqlerr"
)

// This file desugars dates, moments, zones and intervals as PostgreSQL's clients write them. A moment
// is a text in UTC.

// typed desugars DATE '2024-01-01' and TIMESTAMP '…'.
func (m maker) typed(l *Literal) Expr {
	if l.Type == nil {
		return l
	}
	name := UpperASCII(l.Type[len(l.Type)-1].Text)
	text, ok := "", false
	switch types[name] {
	case "DATE":
		text, ok = dayText(l.Value)
	case "DATETIME":
		text, ok = momentText(l.Value, name == "TIMESTAMPTZ")
	case "TIME":
		text, ok = clockText(l.Value)
	}
	switch {
	case ok && types[name] == "DATE":
		return m.aDay(m.text(text))
	case ok:
		return m.text(text)
	case name == "E":
		m.refuse(l.Pos(), "a text with escapes",
			"write the text without E: a backslash stands for itself, and '' for a quote")
	}
	return l
}

// dayText returns the day of a date or a moment: as in PostgreSQL the one that is written.
func dayText(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if _, _, ok := calendar.ReadMoment(text); !ok {
		return "", false
	}
	return text[:len("2024-02-29")], true
}

// clockOf returns the seconds of a time of day that is written out.
func clockOf(e Expr) (int64, bool) {
	text, _ := textOf(e)
	seconds, _, ok := calendar.ReadClock(text)
	return seconds, ok
}

// clockText returns a time of day.
func clockText(text string) (string, bool) {
	text = strings.TrimSpace(text)
	_, _, ok := calendar.ReadClock(text)
	return calendar.Canonical(text), ok
}

// OfClock reports whether a function of a time of day is one of its hours, minutes and seconds.
func (c *Call) OfClock() bool {
	name, format := UpperASCII(c.Path[0].Text), "%T"
	if name == "STRFTIME" && len(c.Args) == 2 {
		format, _ = textOf(c.Args[0])
	} else if len(c.Args) != 1 {
		return false
	}
	l, ok := calendar.ParseLayout(format)
	return ok && l.IsClock() && name != "DATE" && name != "JULIANDAY" && (name != "DATETIME" || c.Moment) || name == "STRFTIME" && c.Moment
}

// ErrClock refuses a function of a time of day that needs a date.
func ErrClock(at Token) *sqlerr.Error {
	return at.Unsupported("a date of a time of day").WithHint("a time has EXTRACT of HOUR, MINUTE, SECOND and EPOCH, date_trunc to these, and comparisons")
}

// momentText returns a moment in UTC. As in PostgreSQL, a timestamp without a time zone is what
// stands in front of the zone.
func momentText(text string, zoned bool) (string, bool) {
	text = strings.TrimSpace(text)
	_, _, ok := calendar.ReadMoment(text)
	if !zoned {
		text, _ = calendar.SplitZone(text)
	}
	return calendar.Canonical(text), ok
}

func (m maker) moment(x Expr, zoned bool) Expr {
	if literal, ok := textOf(x); ok {
		if text, ok := momentText(literal, zoned); ok {
			return m.text(text)
		}
	}
	return m.call("datetime", x)
}

// utc are the names of UTC, in upper case.
var utc = words("UTC GMT Z ZULU UCT ETC/UTC ETC/GMT ETC/ZULU ETC/UCT +00 +00:00 -00:00")

// inZone desugars x AT TIME ZONE 'UTC' into x.
func (m maker) inZone(x, zone Expr) Expr {
	if name, ok := textOf(zone); !ok || !utc[UpperASCII(name)] {
		m.refuse(zone.Pos(), "the time zone "+m.written(zone),
			"moments are in UTC: write AT TIME ZONE 'UTC', and compare with moments such as '2024-12-31 23:59:00+01'")
	}
	if _, ok := x.(*Literal); ok {
		return x
	}
	return m.paren(x)
}

// zoned desugars TIMEZONE('UTC', x).
func (m maker) zoned(c *Call) Expr {
	if !c.named("TIMEZONE", 2) {
		return c
	}
	return m.inZone(c.Args[1], c.Args[0])
}

// readMoment desugars TO_TIMESTAMP('2024-12-31', 'YYYY-MM-DD') and TO_TIMESTAMP(seconds).
func (m maker) readMoment(c *Call) Expr {
	if l, ok := secondsOf(c); ok {
		seconds, err := strconv.ParseInt(l.Value, 10, 64)
		if err == nil && calendar.FirstMoment <= seconds && seconds <= calendar.LastMoment {
			return m.text(calendar.FormatMoment(seconds))
		}
	}
	return m.read(c, calendar.Canonical)
}

func secondsOf(c *Call) (*Literal, bool) {
	if !c.named("TO_TIMESTAMP", 1) {
		return nil, false
	}
	l, ok := c.Args[0].(*Literal)
	return l, ok && l.Kind == KindInteger
}

// readDay desugars TO_DATE('2024-12-31', 'YYYY-MM-DD').
func (m maker) readDay(c *Call) Expr {
	return m.aDay(m.read(c, func(text string) string { return text[:len("2024-12-31")] }))
}

// read reads the text of a call by its format.
func (m maker) read(c *Call, shown func(moment string) string) Expr {
	if len(c.Args) != 2 {
		return c
	}
	name := UpperASCII(c.Path[0].Text)
	text, ok := textOf(c.Args[0])
	format, also := textOf(c.Args[1])
	if !ok || !also {
		m.refuse(c.Pos(), name+" of what is no text", "it takes two texts: "+name+"('31.12.2024', 'DD.MM.YYYY')")
	}
	moment, known, matches := byFormat(text, format)
	if !known {
		m.refuse(c.Args[1].Pos(), "this format of "+name,
			"it is made of YYYY, MM, DD, HH24, MI, SS, MS, US and - / . : T and blanks between them")
	}
	if _, _, ok := calendar.ReadMoment(moment); !matches || !ok {
		m.refuse(c.Args[0].Pos(), "a text that is no moment in the format of "+name, "write the moment as the format has it, or as '2024-12-31 23:59:00'")
	}
	return m.text(shown(moment))
}

// writtenFields are the fields of the formats of TO_TIMESTAMP with their digits, longer names first.
var writtenFields = []struct {
	name   string
	digits int
}{{"YYYY", 4}, {"HH24", 2}, {"MM", 2}, {"DD", 2}, {"MI", 2}, {"SS", 2}, {"MS", 3}, {"US", 6}}

// byFormat reads a text by a format of TO_TIMESTAMP. It is not known if it has another field.
func byFormat(text, format string) (moment string, known, matches bool) {
	fields := map[string]string{"MM": "01", "DD": "01", "HH24": "00", "MI": "00", "SS": "00"}
	format, matches = strings.ReplaceAll(UpperASCII(format), `"T"`, "T"), true
next:
	for format != "" {
		for _, f := range writtenFields {
			if rest, ok := strings.CutPrefix(format, f.name); ok {
				n := min(f.digits, len(text))
				fields[f.name], text, format = text[:n], text[n:], rest
				continue next
			}
		}
		if !strings.ContainsRune("-/.,: T", rune(format[0])) {
			return "", false, false
		}
		matches = matches && text != "" && UpperASCII(text[:1]) == format[:1]
		text, format = text[min(1, len(text)):], format[1:]
	}
	moment = fields["YYYY"] + "-" + fields["MM"] + "-" + fields["DD"] + " " + fields["HH24"] + ":" + fields["MI"] + ":" + fields["SS"]
	if fraction := fields["MS"] + fields["US"]; fraction != "" {
		moment += "." + fraction
	}
	return moment, true, matches && text == ""
}

// interval returns the text of the interval that an expression is: INTERVAL '1 day', '1 day'::interval, or an argument. One
// that is not known is 24 hours: the result is a moment, and on a step of its column where x is.
func (m maker) interval(e Expr) (text string, ok bool) {
	e = Inside(e)
	typed, as := e.(*Cast)
	switch p := parameterOf(e); {
	case as && UpperASCII(typed.Type.Path[len(typed.Type.Path)-1].Text) != "INTERVAL":
		return "", false
	case p != nil && (as || m.intervals != nil && m.intervals[p.Number-1]):
		return m.argument(p, IntervalShape, "24 hours"), true
	case as:
		return textOf(typed.X)
	}
	i, ok := e.(*Interval)
	if !ok {
		return "", false
	}
	l, ok := i.Value.(*Literal)
	if !ok {
		return "", false
	}
	return strings.TrimSpace(l.Value + " " + i.Unit.Text), true
}

func (m maker) isInterval(e Expr) bool {
	_, ok := m.interval(e)
	return ok
}

// shifted desugars e, which is x + INTERVAL '1 month', into datetime(x, '+1 months', 'floor'), or date(…) where x
// is a date and the interval is of days.
func (m maker) shifted(e *Binary, x, of Expr, interval string) Expr {
	parts, days, ok := modifiers(interval, e.Op == "-")
	if !ok {
		m.refuse(of.Pos(), "this interval",
			"write it as INTERVAL '3 days': whole numbers and units, from seconds to years, or hours and minutes as 12:30")
	}
	if days && isDate(x) {
		return m.day(x, m.texts(parts)...)
	}
	return m.call("datetime", append([]Expr{x}, m.texts(parts)...)...)
}

// apart desugars DATE '2024-12-31' - 7 into date('2024-12-31', '-7 days'), and what is between two such days
// into a number: to SQLite a date is the number that its text begins with. Other numbers of days are left to
// where columns have types, with date('2024-12-31').
func (m maker) apart(e *Binary) Expr {
	x, y := &e.X, &e.Y
	if !m.days[Inside(*x)] && e.Op == "+" {
		x, y = y, x
	}
	if !m.days[Inside(*x)] {
		return e
	}
	n, ok := Inside(*y).(*Literal)
	switch {
	case ok && n.Kind == KindInteger:
		return m.call("date", *x, m.text(e.Op+n.Value+" days"))
	case e.Op == "-" && m.days[n]:
		return m.cast(m.binary(m.call("julianday", *x), "-", m.call("julianday", *y)), "INTEGER")
	}
	*x = m.call("date", *x)
	return e
}

// aDay notes that an expression is a day that is written out with its type.
func (m maker) aDay(e Expr) Expr {
	if m.days == nil {
		m.days = make(map[Expr]bool)
	}
	m.days[e] = true
	return e
}

func (m maker) texts(all []string) (list []Expr) {
	for _, s := range all {
		list = append(list, m.text(s))
	}
	return list
}

// modifiers returns what '1 month 2 days' and '1 day -00:30:00' are to SQLite, and whether all units are
// days or longer. What is 0 is left out, and with it its unit, as in '3 days 0.000000 seconds'. Months and years
// are one number that is added first, and keep the end of a month, as PostgreSQL's do.
func modifiers(interval string, back bool) (list []string, days, ok bool) {
	words := strings.Fields(interval)
	all, months := len(words), 0
	days = true
	for len(words) > 0 {
		count, word, used := 0, "second", 1
		var err error
		if strings.Contains(words[0], ":") {
			count, err = clockSeconds(words[0])
		} else if len(words) > 1 {
			word, used = words[1], 2
			count, err = strconv.Atoi(whole(words[0]))
		} else {
			return nil, false, false
		}
		unit, known := units[unitOf(strings.TrimSuffix(word, ","))]
		if err != nil || !known || used == 2 && (count > maxCount || count < -maxCount) {
			return nil, false, false
		}
		if back {
			count = -count
		}
		words = words[used:]
		switch {
		case count == 0:
		case unit.word == "months":
			months += count * unit.factor
		default:
			list, days = append(list, fmt.Sprintf("%+d %s", count*unit.factor, unit.word)), days && unit.day
		}
	}
	if months != 0 {
		list = append([]string{fmt.Sprintf("%+d months", months), "floor"}, list...)
	}
	return list, days, all > 0
}

// whole returns a number without a fraction of zeros.
func whole(number string) string {
	if integer, fraction, _ := strings.Cut(number, "."); strings.Trim(fraction, "0") == "" {
		return integer
	}
	return number
}

// clockSeconds reads HH:MM or HH:MM:SS, with or without a sign.
func clockSeconds(text string) (int, error) {
	unsigned, back := strings.CutPrefix(text, "-")
	parts := append(strings.Split(whole(strings.TrimPrefix(unsigned, "+")), ":"), "0")
	if len(parts) > 4 {
		return 0, strconv.ErrSyntax
	}
	seconds := 0
	for i, unit := range []int{3600, 60, 1} {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil {
			return 0, err
		}
		seconds += int(n) * unit
	}
	if back {
		seconds = -seconds
	}
	return seconds, nil
}
