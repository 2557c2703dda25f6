package sqlfront

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/xwb1989/sqlparser"

	"dpsql/internal/calendar"
	"dpsql/internal/sqlvalue"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Clock is a Table that knows when the statement began. CURRENT_DATE and 'now' are that
// moment, in UTC, wherever the statement has them.
type Clock interface {
	Now() time.Time
}

// now returns the moment of the statement, as a text.
func (b *binder) now() string {
	at := time.Now()
	if c, ok := b.table.(Clock); ok {
		at = c.Now()
	}
	return calendar.FormatMoment(at.Unix())
}

// anyTime stands for a date, a moment or a time of day that is compared and is no column.
func anyTime(time temporal) query.Column {
	form := query.DateForm(query.StoredISO)
	switch time {
	case isMoment:
		form, _ = query.TimestampForm(query.StoredISO, 1) // a second divides a day
	case isClock:
		form, _ = query.TimestampForm(query.StoredClock, 1)
	}
	return query.Column{Name: "the other side", Form: form}
}

// readTime reads a constant that is compared with a DATE, a TIMESTAMP or a TIME, and returns it in
// the column's steps. With a time of day, it is a fraction of a day. Inside a step of a
// TIMESTAMP it is refused: whether a row is before it is not known. A second is not divided: rows
// have no fractions of it. An argument's value is not shown.
func readTime(k constant, c query.Column) (constant, error) {
	name := c.Name + " is " + c.TypeName() + " and is compared with "
	if k.isNumber() {
		example, _, _ := strings.Cut(c.Form.Example()[1:], "'")
		return k, sqlerr.New(sqlerr.Invalid, "%sthe number %s", name, k.label()).WithHint("write it in single quotes, as '%s'", example).At(k.source.Position)
	}
	moment, fraction, ok := c.Form.ReadMoment(k.value.Str())
	if !ok {
		return k, sqlerr.New(sqlerr.Invalid, "%s%s, which is not a %s", name, k.label(), syntax.LowerASCII(c.TypeName())).
			WithHint("write it as %s", c.Form.Example()).At(k.source.Position)
	}
	n := c.Form.Floor(moment)
	k.value, k.real = query.Int(n), nil
	in, _ := new(big.Rat).SetString("0." + fraction + "0")
	in.Add(in, new(big.Rat).SetInt64(moment)).Quo(in, new(big.Rat).SetInt64(c.Form.Step()))
	switch {
	case in.IsInt():
	case c.Form.IsDate() || c.Form.Step() == 1:
		k.real = in
	default:
		return k, sqlerr.New(sqlerr.Invalid, "%s%s, which lies inside a step", name, k.label()).
			WithHint("compare it with the beginning of the step, %v, or of the next, %v", c.Form.Shown(query.Int(n)), c.Form.Shown(query.Int(n+1))).At(k.source.Position)
	}
	return k, nil
}

// timeConstant returns a constant expression as readTime needs it. Without a place of its
// own it has that of another expression.
func (b *binder) timeConstant(x *expr, other sqlparser.Expr) constant {
	if x.literal != nil {
		return *x.literal
	}
	computed := b.g.StartToken(other)
	computed.Kind, computed.Text = syntax.KindWord, "a computed date"
	return constant{value: query.Text(x.full.lo.value.Str()), source: computed}
}

// alignTimes prepares two expressions for a comparison, one of which is a date or a moment. They
// are compared as texts of one form: a day, if both are, or else a moment. A day is the moment at
// which it begins.
func (b *binder) alignTimes(x, y *expr, left sqlparser.Expr) (*expr, *expr, error) {
	if x.time == 0 {
		y, x, err := b.alignTimes(y, x, left)
		return x, y, err
	}
	switch {
	case y.full.isNull() || y.full.undefined():
		return x, y, nil
	case y.time == 0 && (y.full.isNumber() || y.isConstant() && !y.full.lo.isText()):
		return nil, nil, sqlerr.New(sqlerr.Invalid, "a date is compared with a number, which is never equal").
			WithHint("write a date in single quotes, as '2024-12-31'").At(b.g.StartToken(left).Position)
	case y.isConstant():
		c := anyTime(x.time)
		if x.column >= 0 {
			c = b.u.Columns()[x.column]
		}
		k := b.timeConstant(y, left)
		if _, err := readTime(k, c); err != nil {
			return nil, nil, err
		}
		y = dated(constantExpr(k))
	}
	if (x.time == isClock) != (y.time == isClock) && y.time != 0 {
		return nil, nil, sqlerr.New(sqlerr.Invalid, "a time of day is compared with a date, which is never equal").
			WithHint("compare it with a time, as '09:27', and date(x) or x::time of a moment with what it has").At(b.g.StartToken(left).Position)
	}
	if x.time == isClock {
		y = asTime(isClock, y)
	} else if x.time != isDay || y.time != isDay {
		x, y = asTime(isMoment, x), asTime(isMoment, y)
	}
	return x, y, nil
}

// asTime returns a day as the moment at which it begins, and a text as a moment or a time of day. A text that
// is none stays as it is.
func asTime(time temporal, x *expr) *expr {
	if x.time == time {
		return x
	}
	y := apply(valueOperation("a comparison with a date", constantBounds(anyText), func(args []scalar) scalar {
		if !args[0].isText() {
			return args[0]
		}
		return textOf(calendar.Canonical(args[0].value.Str()))
	}), x)
	if x.time == isDay {
		y = dateCall("datetime", x)
	}
	y.time, y.derived = time, !y.isConstant()
	return y
}

// dated returns a constant as a day, as a moment if it has a time of day, or as a time of day that has
// no day. Other constants stay as they are.
func dated(x *expr) *expr {
	text := x.full.lo.value.Str()
	moment, fraction, ok := calendar.ReadMoment(text)
	_, _, clock := calendar.ReadClock(text)
	switch {
	case clock:
		return inTime(isClock, constantOf(exactly(textOf(calendar.Canonical(text)))))
	case !ok:
		return x
	case fraction != "":
		return inTime(isMoment, constantOf(exactly(textOf(calendar.Canonical(text)))))
	case calendar.DayOf(moment)*86_400 == moment:
		return dateCall("date", x)
	}
	return dateCall("datetime", x)
}

// alike gives dates and moments one form, if all values are such, and returns what they are. A
// constant beside a date is one. Otherwise they stay as they are.
func alike(values []*expr) (time temporal) {
	if !slices.ContainsFunc(values, func(x *expr) bool { return x.time != 0 }) {
		return 0
	}
	alike := slices.Clone(values)
	for i, x := range values {
		if x.isConstant() {
			alike[i] = dated(x)
		}
		if time = max(time, alike[i].time); alike[i].time == 0 && !x.full.isNull() {
			return 0
		}
	}
	if time == isClock && slices.ContainsFunc(alike, func(x *expr) bool { return x.time != isClock && !x.full.isNull() }) {
		return 0
	}
	for i, x := range alike {
		if values[i] = x; time == isMoment && !x.full.isNull() {
			values[i] = asTime(isMoment, x)
		}
	}
	return time
}

// timeFunctions are SQLite's functions of dates. Their arguments are a format, for
// strftime alone, a date and modifiers.
var timeFunctions = map[string]struct {
	of   func(moment int64) scalar
	time temporal // of the result
}{
	"date":      {func(m int64) scalar { return textOf(calendar.Format(calendar.DayOf(m))) }, isDay},
	"datetime":  {func(m int64) scalar { return textOf(calendar.FormatMoment(m)) }, isMoment},
	"unixepoch": {func(m int64) scalar { return integerOf(m) }, 0},
	"julianday": {func(m int64) scalar { return realOf(float64(m*1000+210_866_760_000_000) / 86_400_000) }, 0}, // as SQLite divides
	"strftime":  {},
	"time":      {time: isClock},
}

// timeFunction returns a function of dates by its lower-case name.
func timeFunction(name string) (function, bool) {
	f, ok := timeFunctions[name]
	switch {
	case !ok:
		return function{}, false
	case name == "time":
		clock, _ := calendar.ParseLayout("%T")
		return function{0, 100, layoutBounds(clock, 0), true, layoutOf(clock, 0)}, true
	case name == "strftime":
		return function{1, 100, formatBounds, true, format}, true
	}
	rest := func(args []bounds) bounds {
		lo, hi, null, ok := momentsBetween(args)
		if !ok {
			return anything
		}
		return between(f.of(lo), f.of(hi), null)
	}
	compute := func(args []scalar) scalar {
		m, other, ok := momentOf(args)
		if !ok {
			return other
		}
		return f.of(m)
	}
	return function{0, 100, rest, name == "date" || name == "datetime", compute}, true
}

// between returns the bounds of values from lo to hi.
func between(lo, hi scalar, null bool) bounds {
	if lo == hi && !null {
		return exactly(lo)
	}
	return bounds{null: null, integral: lo.isInteger() && hi.isInteger(), lo: lo, hi: hi}
}

// momentOf returns the moment that a date and modifiers make. If there is none, the
// result of the function is other.
func momentOf(args []scalar) (moment int64, other scalar, ok bool) {
	for i, x := range args {
		if x.isNull() {
			return 0, x, false
		}
		if i > 0 && !x.isText() {
			return 0, refused("a modifier that is no text"), false
		}
	}
	if moment, _, ok = calendar.ReadAny(args[0].value.Str()); !ok || !args[0].isText() {
		return 0, scalar{}, false
	}
	for i := 1; i < len(args); i++ {
		var valid bool
		text, floor := args[i].value.Str(), i+1 < len(args) && isFloor(args[i+1])
		if floor {
			i++
		}
		if moment, valid, ok = calendar.Modify(moment, text, floor); !valid {
			return 0, refused("the modifier " + query.Text(syntax.Excerpt(text, 40)).String()), false
		} else if !ok {
			return 0, scalar{}, false
		}
	}
	return moment, scalar{}, true
}

// isFloor reports whether a modifier says of the one before it that a month keeps its end.
func isFloor(x scalar) bool { return x.isText() && strings.EqualFold(x.value.Str(), "floor") }

// momentsBetween bounds what momentOf returns. It is false if it knows no bounds.
//
// A modifier keeps the order of moments, up to calendar.Disorder. So after each, the
// moments lie between what it makes of the bounds, with that much room.
func momentsBetween(args []bounds) (lo, hi int64, null, ok bool) {
	x := args[0]
	lo, _, known := calendar.ReadAny(x.lo.value.Str())
	hi, _, also := calendar.ReadAny(x.hi.value.Str())
	if !known || !also || !x.isText() || !x.hi.isText() {
		return 0, 0, false, false
	}
	null = x.null
	for i := 1; i < len(args); i++ {
		if !args[i].known || !args[i].lo.isText() {
			return 0, 0, false, false
		}
		text, floor := args[i].lo.value.Str(), i+1 < len(args) && args[i+1].known && isFloor(args[i+1].lo)
		if floor {
			i++
		}
		first, valid, ok1 := calendar.Modify(lo, text, floor)
		last, _, ok2 := calendar.Modify(hi, text, floor)
		if !valid {
			return 0, 0, false, false
		}
		if room := calendar.Disorder(text); lo < hi {
			first, last = first-room, last+room
		}
		if !ok1 || !ok2 {
			first, last, null = calendar.FirstMoment, calendar.LastMoment, true
		}
		lo, hi = max(first, calendar.FirstMoment), min(last, calendar.LastMoment)
	}
	return lo, hi, null, true
}

// layoutOf formats the moment that the arguments from the given one on make.
func layoutOf(l calendar.Layout, from int) func([]scalar) scalar {
	return func(args []scalar) scalar {
		m, other, ok := momentOf(args[from:])
		if !ok {
			return other
		}
		return textOf(l.Format(m))
	}
}

// layoutBounds bounds layoutOf.
func layoutBounds(l calendar.Layout, from int) func([]bounds) bounds {
	return func(args []bounds) bounds {
		lo, hi, null, ok := momentsBetween(args[from:])
		if !ok {
			return anyText
		}
		least, most, ok := l.Between(lo, hi)
		if !ok {
			return anyText
		}
		return between(textOf(least), textOf(most), null)
	}
}

// format is strftime.
func format(args []scalar) scalar {
	if args[0].isNull() {
		return args[0]
	}
	l, ok := calendar.ParseLayout(args[0].value.Str())
	if !ok {
		return refused("this format of strftime")
	}
	return layoutOf(l, 1)(args)
}

// formatBounds bounds format.
func formatBounds(args []bounds) bounds {
	if !args[0].known {
		return anyText
	}
	l, ok := calendar.ParseLayout(args[0].lo.value.Str())
	if !ok {
		return anyText
	}
	return layoutBounds(l, 1)(args)
}

// dateCall applies a function of dates to a date.
func dateCall(name string, x *expr) *expr {
	f, _ := timeFunction(name)
	y := apply(f.operation(name), x)
	y.time, y.derived = timeFunctions[name].time, f.text && !y.isConstant()
	return y
}

// dateArguments checks the arguments of a function of dates. It replaces 'now', and a
// missing date, by the moment of the statement.
func (b *binder) dateArguments(name string, e *sqlparser.FuncExpr, args []*expr) ([]*expr, error) {
	place, at := 0, b.g.FirstToken(e)
	written := at.End-at.Position == len(name) // or else a form is, as x::date
	if name == "strftime" {
		place = 1
		if f := args[0].full; !args[0].isConstant() || !f.lo.isText() && !f.isNull() {
			return nil, b.g.FirstToken(e).Unsupported("a format of strftime that is not constant").WithHint("write it in single quotes: '%%Y-%%m'")
		} else if _, ok := calendar.ParseLayout(f.lo.value.Str()); !ok {
			what := "this format of strftime"
			if !written {
				what = "this format of a date"
			}
			return nil, at.Unsupported(what).
				WithHint("it has %%Y, %%m, %%d, %%H, %%M, %%S, %%j, %%w, %%u, %%W, %%U, %%V, %%G, %%F, %%R and %%T, with text between them")
		}
	}
	if len(args) == place {
		args = append(args, constantOf(exactly(textOf(b.now()))))
	}
	x := args[place]
	if x.time == 0 && x.isConstant() {
		if y := dated(x); y.time == isClock {
			x, args[place] = y, y
		}
	}
	if x.time == isClock {
		return b.clockArguments(e, args)
	}
	if x.time != 0 || x.full.isNull() || x.full.undefined() {
		return args, nil
	}
	if text := x.full.lo.value.Str(); x.isConstant() && x.full.lo.isText() {
		if strings.EqualFold(text, "now") {
			args[place] = constantOf(exactly(textOf(b.now())))
			return args, nil
		}
		if _, _, ok := calendar.ReadMoment(text); ok {
			return args, nil
		}
	}
	what := name + "()"
	if !written {
		what = "the date or the moment"
	}
	return nil, at.Unsupported(what + " of what is no date").
		WithHint("it takes a column declared DATE, a date as '2024-12-31', 'now', and what such a function makes of them")
}

// clockArguments refuses functions of a time of day that need a date. That of DATE_TRUNC to hours leaves it out.
func (b *binder) clockArguments(e *sqlparser.FuncExpr, args []*expr) ([]*expr, error) {
	call, _ := b.g.Node(e).(*syntax.Call)
	if call == nil || !call.OfClock() {
		return nil, syntax.ErrClock(b.g.FirstToken(e))
	}
	if call.Moment && len(args) == 2 {
		args[0] = constantOf(exactly(textOf(strings.TrimPrefix(args[0].full.lo.value.Str(), "%Y-%m-%d "))))
	}
	return args, nil
}

// dateArithmetic compiles + and - where an operand is a date: the days between two dates,
// and a date some days later. It is false if neither operand is one.
func (b *binder) dateArithmetic(e *sqlparser.BinaryExpr, x, y *expr) (*expr, bool, error) {
	if x.time == 0 && y.time == 0 {
		return nil, false, nil
	}
	refuse := func(hint string) (*expr, bool, error) {
		return nil, true, b.g.StartToken(e).Unsupported("this arithmetic with a date").WithHint("%s", hint)
	}
	const hint = "d - '2024-01-01' and d - e are days, and d + 30 and d - 30 are dates"
	minus := e.Operator == sqlparser.MinusStr
	switch {
	case !minus && e.Operator != sqlparser.PlusStr:
		return refuse(hint)
	case x.time == isClock || y.time == isClock:
		return refuse("EXTRACT(EPOCH FROM t) is a number of seconds")
	case x.time == isMoment || y.time == isMoment:
		return refuse("date(x) has no time of day, and unixepoch(x) is a number of seconds")
	case minus && !y.full.isNumber():
		days := [2]*expr{x, y}
		for i, z := range days {
			if z.time == 0 {
				if !z.isConstant() || !z.full.lo.isText() && z.literal == nil {
					return refuse(hint)
				}
				read, err := readTime(b.timeConstant(z, e), anyTime(isDay))
				if err != nil || read.real != nil {
					return nil, true, cmpErr(err, b.g.StartToken(e).Unsupported("this arithmetic with a time of day").WithHint(hint))
				}
				days[i] = constantExpr(read)
				continue
			}
			days[i] = apply(valueOperation("the days of a date", daysBounds, dayNumber), z)
		}
		return sum(days[0], days[1], true), true, nil
	}
	if x.time == 0 {
		x, y = y, x
		if minus {
			return refuse(hint)
		}
	}
	if !y.full.integral {
		return refuse(hint)
	}
	if minus {
		y = sum(numberExpr(0), y, true)
	}
	later := apply(valueOperation("a date some days later", laterBounds, dayLater), x, y)
	later.time, later.derived = isDay, !later.isConstant()
	return later, true, nil
}

// cmpErr returns the first error that is not nil.
func cmpErr(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// dayNumber returns the number of a day.
func dayNumber(args []scalar) scalar {
	m, other, ok := momentOf(args)
	if !ok {
		return other
	}
	return integerOf(calendar.DayOf(m))
}

func daysBounds(args []bounds) bounds {
	lo, hi, null, ok := momentsBetween(args)
	if !ok {
		return integersBetween(calendar.First, calendar.Last, true)
	}
	return integersBetween(calendar.DayOf(lo), calendar.DayOf(hi), null)
}

// dayLater is a day and a number of days: NULL beyond the years 1 to 9999.
func dayLater(args []scalar) scalar {
	day := dayNumber(args[:1])
	if day.isNull() || args[1].isNull() {
		return scalar{}
	}
	n, ok := sqlvalue.Integers(sqlvalue.Plus, day.integer(), args[1].integer())
	if !ok || n < calendar.First || n > calendar.Last {
		return scalar{}
	}
	return textOf(calendar.Format(n))
}

func laterBounds(args []bounds) bounds {
	days, n := daysBounds(args[:1]), args[1]
	if n.isNull() {
		return n
	}
	lo, ok1 := sqlvalue.Integers(sqlvalue.Plus, days.lo.integer(), n.lo.integer())
	hi, ok2 := sqlvalue.Integers(sqlvalue.Plus, days.hi.integer(), n.hi.integer())
	null := days.null || n.null
	if !ok1 || !ok2 || lo < calendar.First || hi > calendar.Last {
		lo, hi, null = calendar.First, calendar.Last, true
	}
	return between(textOf(calendar.Format(lo)), textOf(calendar.Format(hi)), null)
}

// castDigits is CAST(x AS INTEGER) of texts that are numbers of equal length.
func castDigits(args []bounds) bounds {
	x := args[0]
	if x.undefined() || x.isNull() {
		return x
	}
	return between(digitsOf(x.lo), digitsOf(x.hi), x.null)
}

func digitsOf(x scalar) scalar {
	n := int64(0)
	for _, c := range []byte(x.value.Str()) {
		n = 10*n + int64(c-'0')
	}
	return integerOf(n)
}

// cut is CAST(x AS INTEGER) of numbers.
func cut(args []bounds) bounds {
	x := args[0]
	switch {
	case x.undefined() || x.isNull():
		return x
	case x.known:
		return exactly(integerOf(x.lo.integer()))
	}
	const most = math.MaxInt64 / 2
	if x.lo.value.Float() < -most || x.hi.value.Float() > most {
		return integersBetween(math.MinInt64, math.MaxInt64, x.null)
	}
	return between(integerOf(x.lo.integer()), integerOf(x.hi.integer()), x.null)
}

// inTime says of what time an expression is.
func inTime(time temporal, x *expr) *expr {
	x.time = time
	return x
}
