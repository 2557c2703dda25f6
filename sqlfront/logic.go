package sqlfront

import "dpsql/sqlvalue"

// comparison returns the operation of = <> < <= > >=.
func comparison(relation sqlvalue.Relation) operation {
	equality := relation == sqlvalue.Equal || relation == sqlvalue.NotEqual
	return ofBoth(func(x, y bounds) bounds {
		if x.lo.standIn == isOther || y.lo.standIn == isOther {
			if x.lo == y.lo {
				return truthOf(relation.Holds(0))
			}
			return compareOther(x, y, equality, relation == sqlvalue.NotEqual)
		}
		var t truths
		if x.null || y.null {
			t = canBeUnknown
		}
		return (t | outcomes(relation, x, y)).bounds()
	})
}

// outcomes returns whether the relation can hold and fail between values that
// are not NULL.
func outcomes(relation sqlvalue.Relation, x, y bounds) truths {
	least, most := -1, +1
	if c := x.lo.compare(y.hi); c >= 0 {
		least = c
	}
	if c := x.hi.compare(y.lo); c <= 0 {
		most = c
	}
	var t truths
	for c := least; c <= most; c++ {
		if relation.Holds(c) {
			t |= canBeTrue
		} else {
			t |= canBeFalse
		}
	}
	return t
}

// compareOther compares a text that is none of those the expression names: it
// equals none of them, and no more is known of it.
func compareOther(x, y bounds, equality, negated bool) bounds {
	if x.lo.standIn != isOther {
		x, y = y, x
	}
	switch {
	case !equality:
		return known(noDomain("an ordered comparison", x.lo.column))
	case y.lo.standIn == isOther:
		return known(noDomain("a comparison with another column", x.lo.column))
	case y.known || y.isNumber():
		t := canBeFalse
		if negated {
			t = canBeTrue
		}
		if y.null {
			t |= canBeUnknown
		}
		return t.bounds()
	}
	return anything
}

// same is IS, which holds for two NULLs and is never unknown.
func same(args []bounds) bounds {
	x, y := args[0], args[1]
	switch {
	case x.undefined():
		return x
	case y.undefined():
		return y
	case x.isNull() && y.isNull():
		return truthOf(true)
	case x.isNull() && !y.null, y.isNull() && !x.null:
		return truthOf(false)
	case x.isNull() || y.isNull():
		return between(0, 1, false)
	}
	equal := comparison(sqlvalue.Equal)(args)
	if equal.undefined() || !equal.null {
		return equal
	}
	if !x.null || !y.null {
		return (equal.truths()&^canBeUnknown | canBeFalse).bounds()
	}
	return between(0, 1, false)
}

// all is AND.
func all(args []bounds) bounds { return junction(args, canBeFalse, canBeTrue) }

// either is OR.
func either(args []bounds) bounds { return junction(args, canBeTrue, canBeFalse) }

// junction is AND and OR: one operand that absorbs decides, even beside one
// that is undefined.
func junction(args []bounds, absorbing, neutral truths) bounds {
	var lost *bounds
	can := neutral
	for i, x := range args {
		if x.undefined() {
			lost = &args[i]
			continue
		}
		t := x.truths()
		if t == absorbing {
			return t.bounds()
		}
		can |= t &^ neutral
		if t&neutral == 0 {
			can &^= neutral
		}
	}
	switch {
	case lost == nil:
		return can.bounds()
	case can&absorbing != 0:
		return between(0, 1, true)
	}
	return *lost
}

// negation is NOT.
func negation(args []bounds) bounds {
	if args[0].undefined() {
		return args[0]
	}
	t := args[0].truths()
	n := t & canBeUnknown
	if t&canBeTrue != 0 {
		n |= canBeFalse
	}
	if t&canBeFalse != 0 {
		n |= canBeTrue
	}
	return n.bounds()
}

// test returns the operation of IS TRUE, for canBeTrue, and so on: whether a
// condition is what is asked for.
func test(wanted truths) operation {
	return func(args []bounds) bounds {
		if args[0].undefined() {
			return args[0]
		}
		switch t := args[0].truths(); {
		case t == wanted:
			return truthOf(true)
		case t&wanted == 0:
			return truthOf(false)
		}
		return between(0, 1, false)
	}
}

// missing is IS NULL.
func missing(args []bounds) bounds {
	switch x := args[0]; {
	case x.undefined():
		return x
	case x.isNull():
		return truthOf(true)
	case !x.null:
		return truthOf(false)
	}
	return between(0, 1, false)
}

// choice is CASE WHEN: conditions and results alternate, the ELSE comes last.
func choice(args []bounds) bounds {
	var result bounds
	found := false
	add := func(x bounds) {
		if found {
			x = result.hull(x)
		}
		result, found = x, true
	}
	for ; len(args) > 1; args = args[2:] {
		if args[0].undefined() {
			if !found {
				return args[0]
			}
			return anything
		}
		t := args[0].truths()
		if t&canBeTrue != 0 {
			add(args[1])
		}
		if t == canBeTrue {
			return result
		}
	}
	add(args[0])
	return result
}
