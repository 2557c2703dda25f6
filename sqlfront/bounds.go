package sqlfront

import "dpsql/query"

// bounds is what is known of a value while some columns are known by ranges
// only: it is lo where known is set, and otherwise NULL, if null is set, or
// something from lo to hi in SQLite's order.
type bounds struct {
	known    bool
	null     bool // can be NULL
	integral bool // whatever is not NULL is an integer
	lo, hi   scalar
}

func known(x scalar) bounds {
	return bounds{known: true, null: x.isNull(), integral: x.isInteger() || x.isNull(), lo: x, hi: x}
}

// between returns the bounds of the integers from lo to hi.
func between(lo, hi int64, null bool) bounds {
	if lo == hi && !null {
		return known(integerOf(lo))
	}
	return bounds{null: null, integral: true, lo: integerOf(lo), hi: integerOf(hi)}
}

var (
	anything = bounds{null: true, lo: lowest, hi: scalar{standIn: isTop}}
	anyText  = bounds{null: true, lo: textOf(""), hi: scalar{standIn: isTop}}
)

// anyNumber returns the bounds of every number.
func anyNumber(null bool) bounds { return bounds{null: null, lo: lowest, hi: highest} }

// boundsOf returns the bounds of the values of a finite domain with ordinals
// from first to last.
func boundsOf(d query.Domain, first, last uint64) bounds {
	if first == last {
		return known(scalarOf(d.Value(first)))
	}
	null := d.Value(first).IsNull()
	if null {
		first++
	}
	lo, hi := scalarOf(d.Value(first)), scalarOf(d.Value(last))
	return bounds{null: null, integral: lo.isInteger(), lo: lo, hi: hi}
}

// isNull reports whether the value can only be NULL.
func (x bounds) isNull() bool { return x.known && x.lo.isNull() }

// undefined reports whether the value is no value.
func (x bounds) undefined() bool { return x.known && x.lo.standIn == isUndefined }

// isNumber reports whether whatever is not NULL is a number.
func (x bounds) isNumber() bool { return x.isNull() || x.lo.isNumber() && x.hi.isNumber() }

// isText reports whether whatever is not NULL is a text.
func (x bounds) isText() bool {
	return x.isNull() || x.lo.isText() || x.lo.standIn == isOther
}

// hull returns bounds that hold for the values of both.
func (x bounds) hull(y bounds) bounds {
	switch {
	case x.known && y.known && x.lo == y.lo:
		return x
	case x.undefined() || y.undefined() || x.lo.standIn == isOther || y.lo.standIn == isOther:
		return anything
	case x.isNull():
		y.known, y.null = false, true
		return y
	case y.isNull():
		x.known, x.null = false, true
		return x
	}
	h := bounds{null: x.null || y.null, integral: x.integral && y.integral, lo: x.lo, hi: x.hi}
	if y.lo.compare(h.lo) < 0 {
		h.lo = y.lo
	}
	if y.hi.compare(h.hi) > 0 {
		h.hi = y.hi
	}
	return h
}

// truths is a set of truth values.
type truths uint8

const (
	canBeTrue truths = 1 << iota
	canBeFalse
	canBeUnknown
)

// truths returns what the value can be as a condition. It must be defined.
func (x bounds) truths() truths {
	if x.isNull() {
		return canBeUnknown
	}
	var t truths
	if x.null {
		t = canBeUnknown
	}
	zero := integerOf(0)
	lo, hi := x.lo.compare(zero), x.hi.compare(zero)
	if lo <= 0 && hi >= 0 {
		t |= canBeFalse
	}
	if lo != 0 || hi != 0 {
		t |= canBeTrue
	}
	return t
}

// bounds returns the condition as a number: 1, 0 or NULL.
func (t truths) bounds() bounds {
	switch t {
	case canBeUnknown:
		return known(scalar{})
	case canBeTrue, canBeTrue | canBeUnknown:
		return between1(1, 1, t)
	case canBeFalse, canBeFalse | canBeUnknown:
		return between1(0, 0, t)
	}
	return between1(0, 1, t)
}

func between1(lo, hi int64, t truths) bounds { return between(lo, hi, t&canBeUnknown != 0) }

// truthOf returns a condition that is known.
func truthOf(holds bool) bounds {
	if holds {
		return known(integerOf(1))
	}
	return known(integerOf(0))
}
