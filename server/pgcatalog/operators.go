package pgcatalog

import (
	"math"
	"strings"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// operator binds an operator between two operands, by its name.
type operator func(b *binder, l expr, name string, r expr, at int) expr

// operators returns what binds the operator of a name, as PostgreSQL has it, nil if there is none.
func operators(name string) operator {
	switch name {
	case "=", "<>", "<", "<=", ">", ">=":
		return (*binder).compared
	case "~", "~*", "!~", "!~*", "~~", "!~~", "~~*", "!~~*":
		return (*binder).pattern
	case "||":
		return (*binder).concatenated
	case "@>", "<@", "&&":
		return (*binder).overlap
	}
	if arithmetic[name].ints != nil {
		return (*binder).computed
	}
	return nil
}

// operatorOf returns an operator as PostgreSQL names it.
func operatorOf(e *syntax.Binary) string {
	name := e.Op
	switch name {
	case "!=":
		return "<>"
	case "LIKE":
		name = "~~"
	case "ILIKE":
		name = "~~*"
	default:
		return name
	}
	if e.Not {
		return "!" + name
	}
	return name
}

// operated applies an operator.
func (b *binder) operated(l expr, name string, r expr, at int) expr {
	o := operators(name)
	if o == nil {
		unsupported(at, "the operator %s", name)
	}
	return o(b, l, name, r, at)
}

// matched gives the two operands of a comparison types that can be compared.
func (b *binder) matched(l, r expr, name string, at int) (expr, expr) {
	switch {
	case l.untyped && r.untyped:
		return b.settled(l), b.settled(r)
	case l.untyped:
		return b.typed(l, r.typ), r
	case r.untyped:
		return l, b.typed(r, l.typ)
	}
	a, z := classOf(l.typ), classOf(r.typ)
	switch {
	case a == arrays && z == arrays && classOf(ElementOf(l.typ)) == classOf(ElementOf(r.typ)),
		a == textual && z == textual && (isText(l.typ) && isText(r.typ) || baseOf(l.typ) == baseOf(r.typ)),
		a != arrays && a != textual && a == z, a == integers && z == floats, a == floats && z == integers:
		return l, r
	case a == integers && isReg(l.typ) && isText(r.typ):
		return l, b.converted(r, l.typ, at)
	case isReg(r.typ) && isText(l.typ):
		return b.converted(l, r.typ, at), r
	}
	b.noOperator(l.typ, name, r.typ, at)
	return l, r
}

func (b *binder) noOperator(l uint32, name string, r uint32, at int) {
	one, two := b.catalog.typeTitle(l), b.catalog.typeTitle(r)
	fail(sqlerr.New(sqlerr.Unknown, "operator does not exist: %s %s %s", one, name, two).Of(sqlerr.Function).
		WithHint("it may need a cast").At(at))
}

func (b *binder) compared(l expr, name string, r expr, at int) expr {
	l, r = b.matched(l, r, name, at)
	return b.comparison(l, name, r)
}

// holds has what comparisons say of what is less, equal and greater.
var holds = map[string][3]bool{
	"=": {false, true, false}, "<>": {true, false, true}, "<": {true, false, false},
	"<=": {true, true, false}, ">": {false, false, true}, ">=": {false, true, true},
}

func (b *binder) comparison(l expr, name string, r expr) expr {
	if !listed(l.typ) && !listed(r.typ) {
		return expr{typ: boolOID, sql: b.grown("(" + l.sql + " " + name + " " + r.sql + ")")}
	}
	are := holds[name]
	return b.invoked(boolOID, false, func(_ *run, a []any) any { return are[compare(a[0], a[1])+1] }, l, r)
}

func (b *binder) pattern(l expr, name string, r expr, at int) expr {
	l, r = b.settled(l), b.settled(r)
	if !isText(l.typ) || !isText(r.typ) {
		b.noOperator(l.typ, name, r.typ, at)
	}
	not, like := strings.HasPrefix(name, "!"), strings.Contains(name, "~~")
	insensitive := strings.HasSuffix(name, "*")
	return b.invoked(boolOID, false, func(r *run, a []any) any {
		s := a[0].(string)
		r.work(len(s))
		return r.pattern(a[1].(string), like, insensitive).MatchString(s) != not
	}, l, r)
}

func (b *binder) concatenated(l expr, name string, r expr, at int) expr {
	if ElementOf(l.typ) != 0 || ElementOf(r.typ) != 0 {
		return b.joinedArrays(l, r, at)
	}
	if !l.untyped && !isText(l.typ) && !r.untyped && !isText(r.typ) {
		b.noOperator(l.typ, name, r.typ, at)
	}
	l, r = b.converted(l, textOID, at), b.converted(r, textOID, at)
	return expr{typ: textOID, sql: b.grown("(" + l.sql + " || " + r.sql + ")")}
}

// joinedArrays appends arrays, or an element to one.
func (b *binder) joinedArrays(l, r expr, at int) expr {
	t := l.typ
	if ElementOf(t) == 0 {
		t = r.typ
	}
	// An element is a list of one, and NULL as an array is no list.
	var single [2]bool
	for i, e := range []*expr{&l, &r} {
		if !e.untyped && ElementOf(e.typ) == 0 {
			*e, single[i] = b.implied(*e, ElementOf(t), at), true
		} else {
			*e = b.implied(*e, t, at)
		}
	}
	list := func(v any, isElement bool) *array {
		if isElement {
			return &array{elements: []any{v}}
		}
		a, _ := v.(*array)
		return a
	}
	return b.invoked(t, true, func(r *run, args []any) any {
		a, z := list(args[0], single[0]), list(args[1], single[1])
		switch {
		case a == nil && z == nil:
			return nil
		case a == nil:
			return z
		case z == nil:
			return a
		}
		r.spend(16 * (len(a.elements) + len(z.elements)))
		return &array{append(append([]any{}, a.elements...), z.elements...), 1}
	}, l, r)
}

// overlap is containment and overlap of arrays.
func (b *binder) overlap(l expr, name string, r expr, at int) expr {
	l, r = b.matched(l, r, name, at)
	if ElementOf(l.typ) == 0 {
		b.noOperator(l.typ, name, r.typ, at)
	}
	if name == "<@" {
		l, r = r, l
	}
	return b.invoked(boolOID, false, func(r *run, args []any) any {
		a, z := args[0].(*array), args[1].(*array)
		have := make(map[any]bool, len(a.elements))
		for _, v := range a.elements {
			r.step()
			have[keyOf(v)] = v != nil
		}
		for _, v := range z.elements {
			r.step()
			if have[keyOf(v)] == (name == "&&") {
				return name == "&&"
			}
		}
		return name != "&&"
	}, l, r)
}

// arithmetic are the operators of numbers. One of integers says whether the result fits.
var arithmetic = map[string]struct {
	ints   func(x, y int64) (int64, bool)
	floats func(x, y float64) float64
}{
	"+": {plus, func(x, y float64) float64 { return x + y }},
	"-": {minus, func(x, y float64) float64 { return x - y }},
	"*": {times, func(x, y float64) float64 { return x * y }},
	"/": {quotient, func(x, y float64) float64 { return x / y }},
	"%": {remainder, nil},
	"&": {func(x, y int64) (int64, bool) { return x & y, true }, nil},
	"|": {func(x, y int64) (int64, bool) { return x | y, true }, nil},
	"#": {func(x, y int64) (int64, bool) { return x ^ y, true }, nil},

	"<<": {func(x, y int64) (int64, bool) { return x << uint(y&31), true }, nil},
	">>": {func(x, y int64) (int64, bool) { return x >> uint(y&31), true }, nil},
}

func plus(x, y int64) (int64, bool) { return x + y, (x+y > x) == (y > 0) }

func minus(x, y int64) (int64, bool) { return x - y, (x-y < x) == (y > 0) }

func times(x, y int64) (int64, bool) {
	n := x * y
	return n, x == 0 || n/x == y && (x != -1 || y != math.MinInt64)
}

func quotient(x, y int64) (int64, bool) {
	if y == 0 || x == math.MinInt64 && y == -1 {
		return 0, false
	}
	return x / y, true
}

func remainder(x, y int64) (int64, bool) {
	if y == 0 {
		return 0, false
	}
	return x % y, true
}

// computed binds arithmetic: in the wider type of the operands, but for shifts.
func (b *binder) computed(l expr, name string, r expr, at int) expr {
	switch {
	case l.untyped && r.untyped:
		l, r = b.typed(l, int4OID), b.typed(r, int4OID)
	case l.untyped:
		l = b.typed(l, r.typ)
	case r.untyped:
		r = b.typed(r, l.typ)
	}
	one, two := baseOf(l.typ), baseOf(r.typ)
	t := one
	if widthOf(two) > widthOf(one) && name != "<<" && name != ">>" {
		t = two
	}
	if t == float4OID && one != two {
		t = float8OID
	}
	o, isFloat := arithmetic[name], classOf(t) == floats || classOf(two) == floats
	switch {
	case widthOf(one) == 0 || widthOf(two) == 0 || isFloat && o.floats == nil:
		b.noOperator(l.typ, name, r.typ, at)
	case isFloat:
		return b.invoked(t, false, func(_ *run, a []any) any {
			if name == "/" && a[1] == 0.0 {
				fail(sqlerr.New(sqlerr.Invalid, "division by zero").At(at))
			}
			return o.floats(a[0].(float64), a[1].(float64))
		}, b.converted(l, t, at), b.converted(r, t, at))
	}
	return b.invoked(t, false, func(r *run, a []any) any {
		n, fits := o.ints(a[0].(int64), a[1].(int64))
		if !fits {
			fail(sqlerr.New(sqlerr.Invalid, "%s out of range, or a division by zero", r.catalog.typeTitle(t)).At(at))
		}
		return r.catalog.ranged(n, t)
	}, l, r)
}
