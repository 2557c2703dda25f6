package sqlfront

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/xwb1989/sqlparser"

	"dpsql/internal/calendar"
	"dpsql/internal/sqlvalue"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/post"
	"dpsql/sqlfront/syntax"
	"dpsql/sqlfront/types"
)

// functionNamed returns the function with a lower-case name. Those that SQLite has, too, are here because it evaluates
// a function over one column of at most a million values (see Evaluator): these are taken of several columns, as
// abs(a - b) and substr(zip, n), of any length, as abs(x) < 10, and refuse a REAL as a text, which SQLite would write in its own way.
func functionNamed(name string, arguments int) (function, bool) {
	count := constantBounds(bounds{null: true, integral: true, lo: integerOf(0), hi: integerOf(math.MaxInt64)})
	some := constantBounds(anyText)
	switch name {
	case "abs":
		return function{1, 1, magnitudes, false, absolute}, true
	case "length":
		return function{1, 1, count, false, length}, true
	case "lower":
		return function{1, 1, some, true, textFunction(syntax.LowerASCII)}, true
	case "upper":
		return function{1, 1, some, true, textFunction(syntax.UpperASCII)}, true
	case "substr", "substring":
		return function{2, 3, some, true, substring}, true
	}
	if f, ok := timeFunction(name); ok {
		return f, true
	}
	switch {
	case name == "min" && arguments > 1:
		return function{2, 100, hullOfAll, true, extreme(-1)}, true
	case name == "max" && arguments > 1:
		return function{2, 100, hullOfAll, true, extreme(+1)}, true
	}
	return scalarFunction(name, arguments)
}

// specials are the functions that are compiled as a CASE, with their least number
// of arguments.
var specials = map[string]int{"coalesce": 2, "ifnull": 2, "nullif": 2, "iif": 3}

// functionExpr compiles a call of a function.
func (b *binder) functionExpr(e *sqlparser.FuncExpr) (*expr, error) {
	name, _ := b.calledFunction(e)
	if name == "cast" {
		return b.castExpr(e)
	}
	f, ok := functionNamed(name, len(e.Exprs))
	_, ofDates := timeFunctions[name]
	special := specials[name]
	public := !ok && dialect().Functions[name].Public
	if !ok && special == 0 && !public {
		return nil, b.unsupported(e)
	}
	if special == 0 {
		if err := b.refuseReading(e); err != nil {
			return nil, err
		}
	}
	args, err := b.arguments(e, name)
	if err != nil {
		return nil, err
	}
	if public {
		return b.evaluated(name, e, args)
	}
	if special > 0 {
		f.least, f.most = special, special
		if name == "coalesce" {
			f.most = 100
		}
	}
	if len(args) < f.least || len(args) > f.most {
		return nil, sqlerr.New(sqlerr.Malformed, "wrong number of arguments to %s()", name).At(b.g.FirstToken(e).Position)
	}
	if special > 0 {
		return b.specialExpr(name, e, args)
	}
	if ofDates {
		if args, err = b.dateArguments(name, e, args); err != nil {
			return nil, err
		}
		if name == "datetime" && args[0].time == isClock { // DATE_TRUNC of a time of day
			name = "time"
			f, _ = timeFunction(name)
		}
	}
	var x *expr
	if name == "min" || name == "max" {
		time := alike(args)
		x = inTime(time, applyLeft(f.operation(name), args))
	} else {
		x = apply(f.operation(name), args...)
	}
	x.derived = f.text && !x.isConstant()
	if ofDates {
		x.time = timeFunctions[name].time
		if name == "strftime" {
			l, _ := calendar.ParseLayout(args[0].full.lo.value.Str())
			x.digits = l.IsNumber()
			if _, _, ok := calendar.ReadClock(l.Format(0)); ok && args[1].time == isClock && l.Format(0) == calendar.FormatClock(0) {
				x.time = isClock
			} else if at, ok := calendar.ParseMoment(l.Format(0)); ok && l.Format(0) == calendar.FormatMoment(at) {
				x.time = isMoment // so that datetime takes it, as in DATE_TRUNC to hours
			}
		}
	}
	return x, nil
}

// castExpr compiles CAST(x AS INTEGER) of numbers and of texts that are written as integers, and
// CAST(x AS TEXT). As a column does, the result converts what it is compared with.
func (b *binder) castExpr(e *sqlparser.FuncExpr) (*expr, error) {
	if len(e.Exprs) != 1 || e.Distinct {
		return nil, b.unsupported(e)
	}
	arg, ok := e.Exprs[0].(*sqlparser.AliasedExpr)
	if !ok {
		return nil, b.unsupported(e)
	}
	t, _ := b.g.Token(arg.As.String())
	inner, err := b.expr(arg.Expr)
	if err != nil {
		return nil, err
	}
	x := *inner
	if t.Upper == "INTEGER" && x.literal != nil && x.full.isText() { // clients of PostgreSQL write '65'::int4
		if n, err := query.SQLInt8.Parse(x.literal.value.Str()); err == nil {
			x = *constantExpr(constant{value: n, source: x.literal.source})
		}
	}
	switch {
	case t.Upper == "INTEGER" && x.full.integral:
		x.affinity = query.TypeInteger
	case t.Upper == "INTEGER" && (x.digits || x.full.isNumber() && !x.full.undefined()):
		of := cut
		if x.digits {
			of = castDigits
		}
		x = *apply(of, inner)
		x.affinity, x.derived = query.TypeInteger, false
	case t.Upper == "TEXT" && x.full.isText() && x.affinity == query.TypeText:
	case t.Upper == "TEXT" && !x.full.undefined():
		x = *apply(toText(), inner)
		x.affinity, x.derived = query.TypeText, !x.isConstant()
	default:
		return nil, b.g.FirstToken(e).Unsupported("CAST of this expression").WithHint("integers are cast AS INTEGER, and texts and integers AS TEXT; ROUND(x), FLOOR(x) and TRUNC(x) make whole numbers")
	}
	x.literal = nil
	return &x, nil
}

// unquoted reads a literal text as the number that it is, where a number stands: SQLite does so in
// arithmetic, and clients of PostgreSQL quote numbers.
func unquoted(x *expr) *expr {
	if x.literal == nil || !x.full.isText() {
		return x
	}
	if n := apply(toNumber(), x); n.full.isNumber() {
		return n
	}
	return x
}

// arguments compiles the arguments of a call.
func (b *binder) arguments(e *sqlparser.FuncExpr, name string) ([]*expr, error) {
	args, ok := argumentsOf(e)
	if !ok || e.Distinct {
		return nil, b.unsupported(e)
	}
	compiled := make([]*expr, len(args))
	for i, arg := range args {
		var err error
		if compiled[i], err = b.argument(arg, name, args[i+1:]); err != nil {
			return nil, err
		}
	}
	f, isNumber := dialect().Functions[name], func(x *expr) bool { return x.full.isNumber() && !x.full.isNull() }
	for i, x := range compiled {
		if n := len(f.Args); n > 0 && types.IsNumber(f.Args[min(i, n-1)]) || f.Chosen == 1 && slices.ContainsFunc(compiled, isNumber) {
			compiled[i] = unquoted(x)
		}
	}
	return compiled, nil
}

// specialExpr compiles the functions that are short forms of CASE.
func (b *binder) specialExpr(name string, e *sqlparser.FuncExpr, args []*expr) (*expr, error) {
	switch name {
	case "iif":
		if !args[0].full.isNumber() {
			return nil, b.g.StartToken(e.Exprs[0].(*sqlparser.AliasedExpr).Expr).Unsupported("a text as a condition").
				WithHint("compare it with a value")
		}
		time := alike(args[1:])
		return inTime(time, apply(firstTrue, args...)), nil
	case "nullif": // compares without affinity
		x, y, err := args[0], args[1], error(nil)
		if x.time != 0 || y.time != 0 {
			x, y, err = b.alignTimes(x, y, e)
		}
		if err == nil {
			err = b.refuseOthers(sqlparser.EqualStr, x, y, e)
		}
		if err != nil {
			return nil, err
		}
		equal := compared(comparison(sqlvalue.Equal), x, y)
		return inTime(args[0].time, apply(firstTrue, equal, constantOf(exactly(scalar{})), args[0])), nil
	}
	time, last := alike(args), len(args)-1
	var cases []*expr
	for _, x := range args[:last] {
		cases = append(cases, apply(negation, apply(missing, x)), x)
	}
	return inTime(time, apply(firstTrue, append(cases, args[last])...)), nil
}

// absolute is abs(x). SQLite fails if the result overflows.
func absolute(args []scalar) scalar {
	switch x := args[0]; {
	case x.value.IsReal():
		return realOf(math.Abs(x.value.Float()))
	case x.isInteger() && x.integer() == math.MinInt64:
		return refused("abs() of the smallest integer")
	case x.isInteger():
		return integerOf(max(x.integer(), -x.integer()))
	case x.isText():
		return refused("abs() of a text")
	}
	return scalar{}
}

// magnitudes bounds abs(x).
func magnitudes(args []bounds) bounds {
	x := args[0]
	switch {
	case !x.integral || x.lo.integer() == math.MinInt64:
		return anyNumber(x.null)
	case x.lo.integer() >= 0:
		return x
	case x.hi.integer() <= 0:
		return integersBetween(-x.hi.integer(), -x.lo.integer(), x.null)
	}
	return integersBetween(0, max(-x.lo.integer(), x.hi.integer()), x.null)
}

// hullOfAll bounds a function that returns NULL or one of its arguments.
func hullOfAll(args []bounds) bounds {
	u := args[0]
	for _, x := range args[1:] {
		if u.isNull() || x.isNull() {
			return exactly(scalar{})
		}
		u = u.hull(x)
	}
	return u
}

// extreme is min(x, y, …) for -1 and max for 1. It is NULL if an argument is NULL.
func extreme(sign int) func([]scalar) scalar {
	return func(args []scalar) scalar {
		best := args[0]
		for _, x := range args {
			if x.isNull() {
				return x
			}
			if x.compare(best)*sign > 0 {
				best = x
			}
		}
		return best
	}
}

// onText applies f to the text of a value; NULL stays NULL.
func onText(x scalar, f func(string) scalar) scalar {
	if x.isNull() {
		return x
	}
	s, ok := x.text()
	switch {
	case !ok:
		return refused("a REAL as a text")
	case !plainText(s):
		return refused("a text with a NUL character")
	}
	return f(s)
}

// plainText reports whether the functions read all of a text, as characters.
func plainText(s string) bool { return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) }

func textFunction(f func(string) string) func([]scalar) scalar {
	return func(args []scalar) scalar {
		return onText(args[0], func(s string) scalar { return textOf(f(s)) })
	}
}

// length counts characters.
func length(args []scalar) scalar {
	return onText(args[0], func(s string) scalar { return integerOf(int64(utf8.RuneCountInString(s))) })
}

// substring is substr(text, from, count). Characters are counted from 1. A negative
// from counts from the end, and a negative count goes to the left.
func substring(args []scalar) scalar {
	for _, x := range args[1:] {
		if x.isNull() {
			return x
		}
		if x.isText() {
			return refused("a text as a number")
		}
	}
	return onText(args[0], func(s string) scalar {
		runes := []rune(s)
		n, from, count := int64(len(runes)), args[1].integer(), int64(math.MaxInt64)
		if len(args) == 3 {
			count = args[2].integer()
		}
		first, last := sliceOf(n, from, count)
		return textOf(string(runes[first:last]))
	})
}

// sliceOf returns the part of n characters that substr takes.
func sliceOf(n, from, count int64) (first, last int64) {
	switch {
	case from < 0:
		from += n
	case from > 0:
		from--
	case count > 0:
		count-- // the place 0 stands before the first character
	}
	first, last = from, saturated(from, count)
	if count < 0 {
		first, last = last, first
	}
	first, last = max(first, 0), max(last, 0)
	return min(first, n), min(last, n)
}

// saturated returns a + b, or the integer nearest to it.
func saturated(a, b int64) int64 {
	switch n, ok := sqlvalue.Integers(sqlvalue.Plus, a, b); {
	case ok:
		return n
	case a < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// toNumber is the NUMERIC affinity: a text that is a number becomes one.
func toNumber() operation {
	return valueOperation("a comparison with a number", constantBounds(anything), func(args []scalar) scalar {
		if !args[0].isText() {
			return args[0]
		}
		k, ok, err := constant{}.readNumber(args[0].value.Str())
		switch {
		case err != nil:
			return refused("a number with an exponent this large")
		case !ok:
			return args[0]
		}
		return k.scalar()
	})
}

// toText is the TEXT affinity: a number becomes its digits.
func toText() operation {
	return valueOperation("", constantBounds(anyText), func(args []scalar) scalar {
		if args[0].isNull() {
			return args[0]
		}
		if s, ok := args[0].text(); ok {
			return textOf(s)
		}
		return refused("a REAL as a text")
	})
}

// Below are the functions of numbers and texts that are no SQLite's: those that keep the order
// of numbers, for which a range of any length is divided where their value changes and nowhere else;
// those of REALs, which builds of SQLite compute differently; and PostgreSQL's, which SQLite lacks.

// ofReal are the functions of one REAL.
var ofReal = map[string]func(float64) float64{
	"exp": math.Exp, "sqrt": math.Sqrt, "cbrt": math.Cbrt, "ln": math.Log, "log": math.Log10, "log10": math.Log10, "log2": math.Log2,
	"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
	"sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh, "asinh": math.Asinh, "acosh": math.Acosh, "atanh": math.Atanh,
	"degrees": func(x float64) float64 { return x * (180 / math.Pi) }, "radians": func(x float64) float64 { return x * (math.Pi / 180) },
}

// stairs are the functions of one number that keep the order of numbers, and its type.
var stairs = map[string]func(float64) float64{"floor": math.Floor, "ceil": math.Ceil, "ceiling": math.Ceil, "trunc": math.Trunc}

// scalarFunction returns a function by its lower-case name.
func scalarFunction(name string, arguments int) (function, bool) {
	number := func(most int, f func([]scalar) scalar) (function, bool) {
		return function{most, most, constantBounds(anyNumber(true)), false, ofNumbers(name, f)}, true
	}
	ordered := func(least, most int, f func([]scalar) scalar) (function, bool) {
		f = ofNumbers(name, f)
		return function{least, most, orderedBounds(f), false, f}, true
	}
	text := func(least, most int) (function, bool) {
		return function{least, most, constantBounds(anyText), true, func(args []scalar) scalar { return madeText(name, args) }}, true
	}
	if f := stairs[name]; f != nil && arguments < 2 {
		return ordered(1, 1, func(x []scalar) scalar {
			if x[0].isInteger() {
				return x[0]
			}
			return realOf(f(x[0].value.Float()))
		})
	}
	if f := ofReal[name]; f != nil && arguments < 2 {
		return number(1, func(x []scalar) scalar {
			y := f(x[0].value.Float())
			if math.IsInf(y, -1) { // a logarithm of 0
				return scalar{}
			}
			return realOf(y)
		})
	}
	switch name {
	case "sign":
		return ordered(1, 1, func(x []scalar) scalar { return integerOf(int64(x[0].compare(integerOf(0)))) })
	case "round":
		return ordered(1, 2, rounded)
	case "trunc":
		return ordered(1, 2, truncated)
	case "width_bucket":
		return ordered(4, 4, bucket)
	case "mod":
		return number(2, func(x []scalar) scalar {
			if x[0].isInteger() && x[1].isInteger() {
				return scalar{value: sqlvalue.Arithmetic(sqlvalue.Modulo, x[0].value, x[1].value)}
			}
			return realOf(math.Mod(x[0].value.Float(), x[1].value.Float()))
		})
	case "pi":
		return number(0, func([]scalar) scalar { return realOf(math.Pi) })
	case "atan2":
		return number(2, func(x []scalar) scalar { return realOf(math.Atan2(x[0].value.Float(), x[1].value.Float())) })
	case "pow", "power":
		return number(2, func(x []scalar) scalar { return realOf(math.Pow(x[0].value.Float(), x[1].value.Float())) })
	case "log": // of a base
		return number(2, func(x []scalar) scalar {
			base, of := math.Log(x[0].value.Float()), x[1].value.Float()
			if !(base > 0) || of <= 0 { // as in SQLite
				return scalar{}
			}
			return realOf(math.Log(of) / base)
		})
	case "initcap", "reverse":
		return text(1, 1)
	case "repeat":
		return text(2, 2)
	case "lpad", "rpad":
		return text(2, 3)
	case "split_part":
		return text(3, 3)
	}
	return function{}, false
}

// ofNumbers guards a function of numbers. NULL makes NULL.
func ofNumbers(name string, f func([]scalar) scalar) func([]scalar) scalar {
	return func(args []scalar) scalar {
		for _, x := range args {
			switch {
			case x.isNull():
				return x
			case x.isText():
				return refused("the function " + name + "() of a text")
			}
		}
		return f(args)
	}
}

// orderedBounds bounds a function that keeps the order of its first argument while the others are known.
func orderedBounds(f func([]scalar) scalar) func([]bounds) bounds {
	return func(args []bounds) bounds {
		ends := [2][]scalar{}
		for i, x := range args {
			if !x.isNumber() || x.isNull() || i > 0 && !x.known {
				return anyNumber(true)
			}
			ends[0], ends[1] = append(ends[0], x.lo), append(ends[1], x.hi)
		}
		x, lo, hi := args[0], f(ends[0]), f(ends[1])
		switch {
		case !lo.isNumber() || !hi.isNumber() || lo.compare(hi) > 0:
			return anyNumber(true)
		case lo == hi && !x.null && (x.integral || x.real):
			return exactly(lo)
		}
		return bounds{null: x.null, integral: x.integral && lo.isInteger() && hi.isInteger(), real: (x.integral || x.real) && lo.value.IsReal() && hi.value.IsReal(), lo: lo, hi: hi}
	}
}

// rounded is round(x, places), a REAL: halves go away from zero, and places may be negative, as in PostgreSQL.
func rounded(x []scalar) scalar {
	f, places := x[0].value.Float(), int64(0)
	if len(x) > 1 {
		places = x[1].integer()
	}
	switch {
	case places < -18:
		return realOf(0)
	case places < 0:
		by := math.Pow10(int(-places))
		return realOf(math.Round(f/by)*by + 0)
	}
	if _, fraction, _ := strings.Cut(strconv.FormatFloat(f, 'f', -1, 64), "."); int64(len(fraction)) == places+1 && strings.HasSuffix(fraction, "5") {
		f = math.Nextafter(f, 2*f) // a half as it is written, such as 0.285
	}
	return realOf(post.RoundTo(f, places))
}

// truncated is trunc(x, places), which drops the digits behind them as they are written.
func truncated(x []scalar) scalar {
	n, places := x[0], x[1].integer()
	by := math.Pow10(int(min(max(-places, 0), 18)))
	switch {
	case n.isInteger():
		return integerOf(n.integer() - n.integer()%int64(by))
	case places <= 0:
		return realOf(math.Trunc(n.value.Float()/by)*by + 0)
	}
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(n.value.Float(), 'f', -1, 64), ".")
	y, _ := strconv.ParseFloat(whole+"."+fraction[:min(len(fraction), int(min(places, 30)))], 64) // no error: digits
	return realOf(y)
}

// bucket is width_bucket(x, low, high, count) of PostgreSQL, with low below high.
func bucket(x []scalar) scalar {
	at, low, high, count := x[0].value.Float(), x[1].value.Float(), x[2].value.Float(), x[3].integer()
	switch {
	case low >= high || count <= 0 || !x[3].isInteger() || math.IsInf(high-low, 0):
		return refused("width_bucket() whose second argument is not below the third, or whose fourth is no positive integer,")
	case at < low:
		return integerOf(0)
	case at >= high:
		return integerOf(count + 1)
	}
	return integerOf(int64(math.Floor(min((at-low)/(high-low)*float64(count), float64(count)-0.5))) + 1)
}

// maxMade bounds the bytes of a text that a function makes.
const maxMade = 64 << 10

// madeText computes PostgreSQL's functions of a text and, behind it, of texts and numbers.
func madeText(name string, args []scalar) scalar {
	for _, x := range args {
		if x.isNull() {
			return x
		}
	}
	return onText(args[0], func(s string) scalar {
		switch name {
		case "initcap":
			return textOf(capitals(s))
		case "reverse":
			runes := []rune(s)
			slices.Reverse(runes)
			return textOf(string(runes))
		case "split_part":
			return splitPart(s, args[1], args[2])
		}
		n := max(args[1].integer(), 0)
		fill := " "
		if len(args) > 2 {
			fill, _ = args[2].text()
		}
		if !args[1].isInteger() || n > maxMade || (n+1)*int64(len(s)+len(fill)) > maxMade {
			return refused("the function " + name + "() with this number of characters")
		}
		if name == "repeat" {
			return textOf(strings.Repeat(s, int(n)))
		}
		return textOf(padded([]rune(s), []rune(fill), int(n), name == "lpad"))
	})
}

// capitals begins each word with a capital, and goes on in small letters. Letters beyond ASCII stay, as in lower().
func capitals(s string) string {
	out, inside := []byte(syntax.LowerASCII(s)), false
	for i, c := range out {
		letter := c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= utf8.RuneSelf
		if letter && !inside && c >= 'a' && c <= 'z' {
			out[i] -= 'a' - 'A'
		}
		inside = letter
	}
	return string(out)
}

// splitPart is split_part: the n-th part of a text, from the end if n is negative.
func splitPart(s string, separator, n scalar) scalar {
	by, _ := separator.text()
	parts, at := strings.Split(s, by), n.integer()
	if by == "" {
		parts = []string{s}
	}
	switch {
	case !n.isInteger() || at == 0:
		return refused("split_part() of the part 0")
	case at < 0:
		at += int64(len(parts)) + 1
	}
	if at < 1 || at > int64(len(parts)) {
		return textOf("")
	}
	return textOf(parts[at-1])
}

// padded is lpad, or rpad: a text with n characters.
func padded(s, fill []rune, n int, left bool) string {
	if len(s) >= n || len(fill) == 0 {
		return string(s[:min(n, len(s))])
	}
	more := slices.Repeat(fill, (n-len(s))/len(fill)+1)[:n-len(s)]
	if left {
		return string(more) + string(s)
	}
	return string(s) + string(more)
}
