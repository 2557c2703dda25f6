package pgcatalog

import (
	"math"
	"time"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// This file has which types become which, and how.

// typed gives an untyped expression the type that the context tells. Other expressions stay.
func (b *binder) typed(e expr, t uint32) expr {
	if !e.untyped {
		return e
	}
	switch {
	case e.parameter > 0:
		t = concrete(t)
		if known := b.parameters[e.parameter-1]; known == 0 {
			b.parameters[e.parameter-1] = t
		} else if known != t {
			out := b.argument(e.parameter)
			return b.converted(out, t, 0)
		}
		return b.argument(e.parameter)
	case e.isNull:
		return always(t, nil)
	}
	return always(t, b.catalog.input(e.literal, t))
}

// concrete returns the type that an untyped expression takes where any is allowed.
func concrete(t uint32) uint32 {
	switch t {
	case anyOID, anyelementOID, unknownOID, 0:
		return textOID
	case anyarrayOID:
		return ArrayOf(textOID)
	}
	return t
}

// settled gives an expression that nothing told a type the type text.
func (b *binder) settled(e expr) expr {
	if e.untyped {
		return b.typed(e, textOID)
	}
	return e
}

func (b *binder) argument(n int) expr {
	t := b.parameters[n-1]
	if t == 0 {
		return expr{typ: unknownOID, untyped: true, parameter: n}
	}
	return expr{typ: t, sql: "?" + itoa(n+1)}
}

// implicit reports whether a value of one type may stand where another is wanted.
func implicit(from, to uint32) bool {
	from, to = baseOf(from), baseOf(to)
	if from == to || to == anyOID || to == anyelementOID {
		return true
	}
	a, z := classOf(from), classOf(to)
	switch {
	case to == anyarrayOID:
		return a == arrays
	case a == textual && z == textual:
		return isText(from) && (isText(to) || to == pgNodeTree)
	case a == textual && isReg(to):
		return from == textOID || from == varcharOID
	case a == integers && z == integers:
		switch {
		case isReg(to) || to == oidOID:
			return from != xidOID && from != cidOID
		case isReg(from) || from == oidOID:
			return to == int8OID
		}
		return widthOf(from) > 0 && widthOf(from) < widthOf(to)
	case a == integers && z == floats:
		return widthOf(from) > 0
	case a == floats && z == floats:
		return widthOf(from) < widthOf(to)
	case a == arrays && z == arrays:
		return ElementOf(from) == ElementOf(to)
	}
	return false
}

// converted casts an expression.
func (b *binder) converted(e expr, to uint32, at int) expr {
	if e.untyped {
		return b.typed(e, to)
	}
	from := e.typ
	if from == to {
		return e
	}
	convert := b.catalog.conversion(from, to)
	if convert == nil {
		fail(sqlerr.New(sqlerr.Unsupported, "cannot cast type %s to %s", b.catalog.typeTitle(from), b.catalog.typeTitle(to)).At(at))
	}
	if same(from, to) {
		e.typ = to
		return e
	}
	return b.invoked(to, false, func(r *run, a []any) any {
		v := convert(a[0])
		switch v := v.(type) {
		case string:
			r.spend(len(v))
		case *array:
			r.spend(16 * len(v.elements))
		}
		return v
	}, e)
}

// same reports whether a value of one type is held as the same value of the other.
func same(from, to uint32) bool {
	from, to = baseOf(from), baseOf(to)
	whole := func(t uint32) bool { return isReg(t) || t == oidOID }
	switch {
	case isText(from) && isText(to):
		return to != charOID && to != nameOID && to != unknownOID || from == charOID
	case whole(from) && (whole(to) || to == int8OID):
		return true
	case widthOf(from) > 0 && widthOf(to) > 0 && classOf(from) == integers && classOf(to) == integers:
		return widthOf(from) <= widthOf(to)
	}
	return false
}

// conversion returns the function that casts values, or nil.
func (c *Catalog) conversion(from, to uint32) func(any) any {
	a, z := classOf(from), classOf(to)
	switch {
	case z == textual && (isText(to) || isText(from) || to == jsonOID):
		return func(v any) any { return c.input(c.output(v, from), to) }
	case a == textual && isText(from):
		return func(v any) any { return c.input(v.(string), to) }
	case a == integers && z == integers:
		return func(v any) any { return c.ranged(v.(int64), to) }
	case a == integers && z == floats:
		return func(v any) any { return float64(v.(int64)) }
	case a == floats && z == floats:
		return func(v any) any { return v }
	case a == floats && z == integers:
		return func(v any) any { return c.rounded(v.(float64), to) }
	case a == booleans && to == int4OID:
		return func(v any) any { return int64(rank(v.(bool))) }
	case from == int4OID && z == booleans:
		return func(v any) any { return v != int64(0) }
	case a == arrays && z == arrays:
		return c.arrayConversion(from, to)
	case layouts[from] != nil && layouts[to] != nil:
		return func(v any) any {
			at, _ := time.Parse(layouts[from][0], v.(string))
			return at.Format(layouts[to][0])
		}
	case a == textual && z == textual && baseOf(from) == baseOf(to):
		return func(v any) any { return v }
	}
	return nil
}

func (c *Catalog) arrayConversion(from, to uint32) func(any) any {
	one, two := ElementOf(from), ElementOf(to)
	convert := func(v any) any { return v }
	if one != two {
		if convert = c.conversion(one, two); convert == nil {
			return nil
		}
	}
	return func(v any) any {
		a := v.(*array)
		out := &array{make([]any, len(a.elements)), a.lower}
		for i, e := range a.elements {
			if e != nil {
				out.elements[i] = convert(e)
			}
		}
		return out
	}
}

// implied is converted where the types allow it without a cast.
func (b *binder) implied(e expr, to uint32, at int) expr {
	if e.untyped {
		return b.typed(e, concrete(to))
	}
	if to == anyOID || to == anyelementOID || to == anyarrayOID || e.typ == to {
		return e
	}
	if !implicit(e.typ, to) {
		fail(sqlerr.New(sqlerr.Invalid, "a value of type %s cannot stand where %s is wanted", b.catalog.typeTitle(e.typ), b.catalog.typeTitle(to)).At(at))
	}
	return b.converted(e, to, at)
}

// condition is an expression that must be boolean.
func (b *binder) condition(s *scope, e syntax.Expr, what string) string {
	return b.boolean(b.expr(s, e), what, at(e))
}

func (b *binder) boolean(e expr, what string, at int) string {
	if e.untyped {
		e = b.typed(e, boolOID)
	}
	if baseOf(e.typ) != boolOID {
		fail(sqlerr.New(sqlerr.Invalid, "argument of %s must be type boolean, not type %s", what, b.catalog.typeTitle(e.typ)).At(at))
	}
	return e.sql
}

// common returns the type that CASE, UNION and the like have for several expressions.
func (b *binder) common(list []expr, what string, at int) uint32 {
	out := uint32(0)
	for _, e := range list {
		switch {
		case e.untyped || out == e.typ:
		case out == 0:
			out = e.typ
		case !preferred(out) && implicit(out, e.typ) && !implicit(e.typ, out):
			out = e.typ
		case !implicit(e.typ, out):
			fail(sqlerr.New(sqlerr.Invalid, "%s types %s and %s cannot be matched", what, b.catalog.typeTitle(out), b.catalog.typeTitle(e.typ)).At(at))
		}
	}
	if out == 0 {
		return textOID
	}
	return out
}

func preferred(t uint32) bool { return t == textOID || t == oidOID || t == float8OID || t == boolOID }

// alike gives all expressions their common type.
func (b *binder) alike(list []expr, what string, at int) uint32 {
	t := b.common(list, what, at)
	for i, e := range list {
		list[i] = b.converted(e, t, at)
	}
	return t
}

// rounded returns a float as an integer of a type.
func (c *Catalog) rounded(v float64, t uint32) any {
	v = math.RoundToEven(v)
	if math.IsNaN(v) || v < -1<<62 || v > 1<<62 {
		fail(sqlerr.New(sqlerr.Invalid, "%s out of range", c.typeTitle(t)))
	}
	return c.ranged(int64(v), t)
}

// ranged returns an integer, if the type has it.
func (c *Catalog) ranged(n int64, t uint32) int64 {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	switch t {
	case int2OID:
		low, high = math.MinInt16, math.MaxInt16
	case int4OID:
		low, high = math.MinInt32, math.MaxInt32
	case int8OID:
	default:
		low, high = math.MinInt32, math.MaxUint32
		if n < 0 && n >= low {
			return n + 1<<32
		}
	}
	if n < low || n > high {
		fail(sqlerr.New(sqlerr.Invalid, "%s out of range", c.typeTitle(t)))
	}
	return n
}
