package syntax

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// This file desugars calls of functions that other systems have.

// form desugars a call of a name. One that is not of its form stays as it is.
type form = func(m maker, c *Call) Expr

// forms has the forms by name. Few statements need it.
var forms = sync.OnceValue(func() map[string]form {
	table := map[string]form{
		"EXTRACT":          func(m maker, c *Call) Expr { return m.part(c, "FROM") },
		"DATE_PART":        func(m maker, c *Call) Expr { return m.part(c, "") },
		"DATE_TRUNC":       maker.truncated,
		"TO_CHAR":          maker.formatted,
		"TO_TIMESTAMP":     maker.readMoment,
		"TO_DATE":          maker.readDay,
		"TIMEZONE":         maker.zoned,
		"NOW":              maker.now,
		"COUNTIF":          maker.countIf,
		"COUNT_IF":         maker.countIf,
		"SAFE_DIVIDE":      maker.quotient,
		"DIV0NULL":         maker.quotient,
		"DIV":              maker.whole,
		"WIDTH_BUCKET":     maker.bucket,
		"GREATEST":         func(m maker, c *Call) Expr { return m.extreme(c, "max") },
		"LEAST":            func(m maker, c *Call) Expr { return m.extreme(c, "min") },
		"NVL":              renamed("ifnull", 2),
		"ISNULL":           renamed("ifnull", 2),
		"IF":               renamed("iif", 3),
		"IFF":              renamed("iif", 3),
		"COUNT_BIG":        renamed("COUNT", 1),
		"CHAR_LENGTH":      renamed("length", 1),
		"CHARACTER_LENGTH": renamed("length", 1),
		"STDEVP":           renamed("STDDEV_POP", 1),
		"STDEV":            renamed("STDDEV", 1),
		"VAR":              renamed("VARIANCE", 1),
		"STRPOS":           renamed("instr", 2),
		"BTRIM":            renamed("trim", 1),
		"ASCII":            renamed("unicode", 1),
		"CHR":              renamed("char", 1),
		"STARTS_WITH":      maker.begins,
		"VARP":             renamed("VAR_POP", 1),
		"QUANTILE_CONT":    renamed("PERCENTILE_CONT", 2),
		"QUANTILE_DISC":    renamed("PERCENTILE_DISC", 2),
		"PERCENTILE_CONT":  maker.quantile,
		"PERCENTILE_DISC":  maker.quantile,
		"LEFT":             func(m maker, c *Call) Expr { return m.edge(c, true) },
		"RIGHT":            func(m maker, c *Call) Expr { return m.edge(c, false) },
		"POSITION":         maker.found,
		"SUBSTRING":        maker.substring,
		"RATIO_TO_REPORT":  maker.ratio,
		"TRIM":             maker.trimmed,
		"MAKE_INTERVAL":    refusing("write INTERVAL '3 days'"),
		"UNNEST":           refusing("list the values: x IN (3, 4), or x = ANY ($1) with an array"),
	}
	for _, unit := range []string{"YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"} {
		table[unit] = func(m maker, c *Call) Expr {
			if len(c.Args) != 1 || c.Over != nil || c.Filter != nil {
				return c
			}
			return m.field(unit, c.Args[0])
		}
	}
	return table
})

// function desugars a call by its name.
func (m maker) function(c *Call) Expr {
	if len(c.Path) != 1 || c.Path[0].Quoted {
		return c
	}
	if f := forms()[UpperASCII(c.Path[0].Text)]; f != nil {
		return f(m, c)
	}
	return c
}

// fields are the fields of EXTRACT, as formats of strftime.
var fields = map[string]string{
	"YEAR": "%Y", "MONTH": "%m", "DAY": "%d", "HOUR": "%H", "MINUTE": "%M", "DOW": "%w", "DOY": "%j",
	"ISODOW": "%u", "WEEK": "%V", "ISOYEAR": "%G", "SECOND": "%S", "DAYOFWEEK": "%w", "DAYOFYEAR": "%j",
}

// field returns a field of a date, or nil if it is not known.
func (m maker) field(name string, x Expr) Expr {
	name = unitOf(name)
	if format, ok := fields[name]; ok {
		return m.cast(m.call("strftime", m.text(format), x), "INTEGER")
	}
	switch name {
	case "EPOCH":
		if seconds, ok := clockOf(x); ok {
			return m.number(strconv.FormatInt(seconds, 10))
		}
		return m.call("unixepoch", x)
	case "DECADE":
		return m.paren(m.binary(m.field("YEAR", x), "/", m.number("10")))
	case "QUARTER":
	default:
		return nil
	}
	month := m.cast(m.call("strftime", m.text("%m"), x), "INTEGER")
	return m.paren(m.binary(m.paren(m.binary(month, "+", m.number("2"))), "/", m.number("3")))
}

// wordOf returns the word that an argument is: a name, or a text.
func wordOf(e Expr) (string, bool) {
	if c, ok := e.(*Column); ok && len(c.Path) == 1 {
		return c.Path[0].Text, true
	}
	return textOf(e)
}

// part desugars EXTRACT(field FROM x) and DATE_PART('field', x).
func (m maker) part(c *Call, word string) Expr {
	if len(c.Args) != 2 || c.Words[1] != word {
		return c
	}
	name, ok := m.unit(c.Args[0])
	if !ok {
		return c
	}
	x := m.field(name, c.Args[1])
	if x == nil {
		m.refuse(c.Args[0].Pos(), "the field "+m.written(c.Args[0])+" of a date",
			"the fields are decade, year, quarter, month, week, day, hour, minute, second, dow, isodow, doy, isoyear and epoch")
	}
	if m.extracted == nil {
		m.extracted = make(map[Expr]bool)
	}
	m.extracted[Inside(x)] = true
	return x
}

// truncated desugars DATE_TRUNC('unit', x), and DATE_TRUNC(x, unit) as BigQuery has it. A date is
// the result where the unit is a day or longer, and typed as a moment.
func (m maker) truncated(c *Call) Expr {
	if len(c.Args) == 3 {
		c.Args, c.Words = []Expr{c.Args[0], m.inZone(c.Args[1], c.Args[2])}, c.Words[:2]
	}
	if len(c.Args) != 2 || c.Words[1] != "" {
		return c
	}
	unit, x := c.Args[0], c.Args[1]
	if _, ok := textOf(unit); !ok && parameterOf(unit) == nil {
		unit, x = x, unit
	}
	name, ok := m.unit(unit)
	if !ok {
		return c
	}
	moment, date := "datetime", "%Y-%m-%d "
	if _, ok := clockOf(x); ok {
		moment, date = "time", ""
	}
	switch unitOf(name) {
	case "YEAR":
		return m.day(x, m.text("start of year"))
	case "QUARTER":
		of := m.binary(m.cast(m.call("strftime", m.text("%m"), x), "INTEGER"), "%", m.number("3"))
		back := counted(m, &Case{span: m.at, Of: of, Else: m.text("-2 months"),
			Whens: []When{{m.number("1"), m.text("+0 months")}, {m.number("2"), m.text("-1 months")}}})
		return m.day(m.again(x), m.text("start of month"), back)
	case "MONTH":
		return m.day(x, m.text("start of month"))
	case "WEEK", "ISOWEEK":
		return m.day(x, m.text("weekday 0"), m.text("-6 days"))
	case "DAY":
		return m.day(x)
	case "HOUR":
		return m.truncation(moment, m.truncation("strftime", m.text(date+"%H:00:00"), x))
	case "MINUTE":
		return m.truncation(moment, m.truncation("strftime", m.text(date+"%H:%M:00"), x))
	case "SECOND":
		return m.truncation(moment, x)
	}
	m.refuse(unit.Pos(), "DATE_TRUNC to "+m.written(unit),
		"the units are year, quarter, month, week, day, hour, minute and second")
	return nil
}

// day makes the day of a moment with modifiers, which is typed as a moment, as PostgreSQL's DATE_TRUNC is.
func (m maker) day(of Expr, modifiers ...Expr) Expr {
	return m.truncation("date", append([]Expr{of}, modifiers...)...)
}

func (m maker) truncation(name string, args ...Expr) Expr {
	c := m.call(name, args...)
	c.Moment = true
	return c
}

// patterns are the parts of TO_CHAR's formats that strftime has, longer ones first.
var patterns = []struct{ theirs, ours string }{
	{"IYYY", "%G"}, {"YYYY", "%Y"}, {"HH24", "%H"}, {"DDD", "%j"}, {"MM", "%m"}, {"DD", "%d"}, {"MI", "%M"}, {"SS", "%S"}, {"IW", "%V"}, {"ID", "%u"},
}

// titles are the parts that are names, as wide as the longest, by the field of strftime that numbers them from 1.
var titles = []struct {
	theirs, field string
	width         int
	names         string
}{
	{"Month", "%m", 9, "January  February March    April    May      June     July     August   SeptemberOctober  November December "},
	{"Mon", "%m", 3, "JanFebMarAprMayJunJulAugSepOctNovDec"},
	{"Day", "%u", 9, "Monday   Tuesday  WednesdayThursday Friday   Saturday Sunday   "},
	{"Dy", "%u", 3, "MonTueWedThuFriSatSun"},
}

// formatted desugars TO_CHAR(x, 'YYYY-MM').
func (m maker) formatted(c *Call) Expr {
	if len(c.Args) != 2 {
		return c
	}
	rest, ok := textOf(c.Args[1])
	if !ok {
		return c
	}
	if strings.Trim(rest, "FM09.,DG") == "" && strings.ContainsAny(rest, "09") {
		m.refuse(c.Pos(), "TO_CHAR of a number", "CAST(x AS TEXT) shows it, and LPAD(CAST(x AS TEXT), 3, '0') sets zeros before it")
	}
	format, all := "", Expr(nil)
	add := func(part Expr) {
		if all == nil {
			all = part
		} else {
			all = m.binary(all, "||", part)
		}
	}
	flush := func() {
		if format != "" {
			add(m.call("strftime", m.text(format), m.again(c.Args[0])))
			format = ""
		}
	}
	for rest != "" {
		if part, n := m.title(rest, c.Args[0]); n > 0 {
			flush()
			add(part)
			rest = rest[n:]
			continue
		}
		ours, n := pattern(rest)
		if n == 0 {
			m.refuse(c.Args[1].Pos(), "this format of TO_CHAR", "of a date it is made of YYYY, IYYY, Q, MM, Mon, Month, IW, DD, DDD, ID, Dy, Day, HH24, MI, SS, "+
				"digits, - / . : and \"words\" between them, and FM before a name; a number is shown by CAST(x AS TEXT)")
		}
		format, rest = format+ours, rest[n:]
	}
	flush()
	return all
}

// pattern returns what the beginning of a format of TO_CHAR is in strftime's, and its length; 0 for none.
func pattern(format string) (ours string, n int) {
	for _, p := range patterns {
		if strings.HasPrefix(format, p.theirs) {
			return p.ours, len(p.theirs)
		}
	}
	switch words, _, closed := strings.Cut(format[1:], `"`); {
	case strings.ContainsRune("-/.,: 0123456789", rune(format[0])):
		return format[:1], 1
	case format[0] == '"' && closed:
		return strings.ReplaceAll(words, "%", "%%"), len(words) + 2
	}
	return "", 0
}

// title makes the name or the quarter that a format of TO_CHAR begins with, and returns the length of that part; 0 for none.
func (m maker) title(format string, x Expr) (part Expr, n int) {
	format, trim := strings.CutPrefix(format, "FM")
	if trim {
		n = len("FM")
	}
	if strings.HasPrefix(format, "Q") {
		return m.cast(m.field("QUARTER", m.again(x)), "TEXT"), n + 1
	}
	for _, t := range titles {
		for _, cased := range []func(string) string{strings.Clone, UpperASCII, LowerASCII} {
			if strings.HasPrefix(format, cased(t.theirs)) {
				number := m.cast(m.call("strftime", m.text(t.field), m.again(x)), "INTEGER")
				from := m.binary(m.binary(number, "*", m.number(strconv.Itoa(t.width))), "-", m.number(strconv.Itoa(t.width-1)))
				part = m.call("substr", m.text(cased(t.names)), from, m.number(strconv.Itoa(t.width)))
				if trim {
					part = m.call("rtrim", part)
				}
				return part, n + len(t.theirs)
			}
		}
	}
	return nil, 0
}

func (m maker) now(c *Call) Expr {
	if len(c.Args) > 0 {
		return c
	}
	return m.call("datetime", m.text("now"))
}

// countIf desugars COUNTIF(condition).
func (m maker) countIf(c *Call) Expr {
	if len(c.Args) != 1 || c.Filter != nil {
		return c
	}
	count := m.call("COUNT", counted(m, &Star{span: m.at}))
	count.Filter, count.Over = c.Args[0], c.Over
	return count
}

// quotient desugars SAFE_DIVIDE(x, y): a division by 0 is NULL in SQLite.
func (m maker) quotient(c *Call) Expr {
	if len(c.Args) != 2 {
		return c
	}
	return m.paren(m.binary(m.real(c.Args[0]), "/", m.paren(c.Args[1])))
}

// whole desugars DIV(x, y), a quotient without its fraction.
func (m maker) whole(c *Call) Expr {
	if len(c.Args) != 2 {
		return c
	}
	return m.call("trunc", m.binary(m.paren(c.Args[0]), "/", m.paren(c.Args[1])))
}

// bucket desugars WIDTH_BUCKET(x, ARRAY[…]), the number of bounds that are not above x.
func (m maker) bucket(c *Call) Expr {
	if len(c.Args) != 2 {
		return c
	}
	bounds, ok := c.Args[1].(*Array)
	if !ok || bounds.Query != nil || len(bounds.Items) == 0 {
		return c
	}
	sum := Expr(nil)
	for _, bound := range bounds.Items {
		x := Expr(m.paren(m.binary(m.paren(m.again(c.Args[0])), ">=", m.paren(bound))))
		if sum != nil {
			x = m.binary(sum, "+", x)
		}
		sum = x
	}
	return m.paren(sum)
}

// renamed gives a call with at least n arguments a function of another name.
func renamed(name string, n int) form {
	return func(m maker, c *Call) Expr {
		if len(c.Args) >= n {
			c.Path = []Ident{{c.Path[0].span, name, false}}
			m.replaces(c.Pos())
		}
		return c
	}
}

// refusing refuses a function, with what to write in its place.
func refusing(hint string) form {
	return func(m maker, c *Call) Expr {
		m.refuse(c.Pos(), "the function "+LowerASCII(c.Path[0].Text)+"()", hint)
		return nil
	}
}

// trimmed desugars TRIM(BOTH 'x' FROM y), and LEADING and TRAILING.
func (m maker) trimmed(c *Call) Expr {
	if len(c.Args) == 0 || c.Words[0] == "" && (len(c.Args) < 2 || c.Words[1] != "FROM") {
		return c
	}
	side, _, _ := strings.Cut(c.Words[0], " ")
	if len(c.Args) == 2 && c.Words[1] == "FROM" {
		slices.Reverse(c.Args)
	}
	return m.call(map[string]string{"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "trim", "FROM": "trim", "": "trim"}[side], c.Args...)
}

// extreme desugars GREATEST and LEAST, which leave out NULL, as in PostgreSQL: an argument that is NULL stands for
// the next that is not.
func (m maker) extreme(c *Call, name string) Expr {
	if len(c.Args) < 2 {
		return c
	}
	args := make([]Expr, len(c.Args))
	for i, x := range c.Args {
		args[i] = x
		if l, ok := Inside(x).(*Literal); ok && (l.Kind != KindWord || l.Value != "NULL") {
			continue
		}
		each := []Expr{x}
		for _, other := range slices.Concat(c.Args[i+1:], c.Args[:i]) {
			each = append(each, m.again(other))
		}
		args[i] = m.call("coalesce", each...)
	}
	m.replaces(c.Pos())
	c.Path, c.Args = []Ident{{c.Path[0].span, name, false}}, args
	return c
}

// edge desugars LEFT(x, n) and RIGHT(x, n), all but -n characters if n is negative.
func (m maker) edge(c *Call, left bool) Expr {
	if len(c.Args) != 2 {
		return c
	}
	x, size := c.Args[0], c.Args[1]
	minus, ok := Inside(size).(*Unary)
	if ok = ok && minus.Op == "-"; ok {
		size = minus.X
	}
	n, isNumber := size.(*Literal)
	switch {
	case !isNumber || n.Kind != KindInteger:
		m.refuse(size.Pos(), "a number of characters that is no whole number", "LEFT and RIGHT take a number; substr(x, 1, n) takes an expression")
	case ok && left:
		return m.call("substr", x, m.number("1"), m.binary(m.call("length", m.again(x)), "-", n))
	case ok:
		return m.call("substr", x, m.binary(n, "+", m.number("1")))
	case left:
		return m.call("substr", x, m.number("1"), n)
	}
	return m.call("substr", x, m.negative(n.Value))
}

// begins desugars STARTS_WITH(x, part).
func (m maker) begins(c *Call) Expr {
	if len(c.Args) != 2 {
		return c
	}
	return m.paren(m.binary(m.call("instr", c.Args...), "=", m.number("1")))
}

// found desugars POSITION(part IN text).
func (m maker) found(c *Call) Expr {
	if len(c.Args) != 2 || c.Words[1] != "IN" {
		return c
	}
	return m.call("instr", c.Args[1], c.Args[0])
}

// substring desugars SUBSTRING(text FROM n FOR m), and SUBSTRING(text FOR m).
func (m maker) substring(c *Call) Expr {
	if len(c.Args) == 2 && c.Words[1] == "FOR" {
		return m.call("substr", c.Args[0], m.number("1"), c.Args[1])
	}
	if len(c.Args) < 2 || c.Words[1] != "FROM" || len(c.Args) == 3 && c.Words[2] != "FOR" {
		return c
	}
	return m.call("substr", c.Args...)
}

// quantile desugars PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x) into PERCENTILE_CONT(x, q).
func (m maker) quantile(c *Call) Expr {
	if len(c.Within) != 1 || len(c.Args) != 1 {
		return c
	}
	x := c.Within[0].X
	if c.Within[0].Desc {
		m.refuse(m.tokens[m.token(x.End())].Position, "a quantile in descending order",
			"order by the column, and write 1 - q for the fraction q")
	}
	call := m.call(c.Path[0].Text, x, c.Args[0])
	call.Filter, call.Over = c.Filter, c.Over
	return call
}

// ratio desugars RATIO_TO_REPORT(x) OVER (…) into 1.0 * x / SUM(x) OVER (…).
func (m maker) ratio(c *Call) Expr {
	if len(c.Args) != 1 || c.Over == nil {
		return c
	}
	sum := m.call("SUM", m.again(c.Args[0]))
	sum.Over = c.Over
	return m.paren(m.binary(m.real(c.Args[0]), "/", sum))
}
