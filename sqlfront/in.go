package sqlfront

import (
	"fmt"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
)

// whenIn compiles x IN (list): true where x equals an element, unknown where
// it does not and x or an element is NULL, else false.
func (b *binder) whenIn(e *sqlparser.ComparisonExpr, want bool) (pred, error) {
	if sub, ok := e.Right.(*sqlparser.Subquery); ok {
		return b.whenInPublic(e, sub, want)
	}
	list, ok := e.Right.(sqlparser.ValTuple)
	if !ok {
		return pred{}, b.unsupported(e.Right.(sqlparser.Expr))
	}
	x, simple, err := b.operand(e.Left)
	if err != nil {
		return pred{}, err
	}
	elements, constant, err := b.elements(list)
	switch {
	case err != nil:
		return pred{}, err
	case !simple || !constant:
		plain := *e
		plain.Operator = sqlparser.InStr
		return b.whenComputed(&plain, want)
	case !x.isColumn:
		return constantIn(x.constant, elements, want), nil
	}
	equal, null, err := b.equalToAny(x.column, elements)
	if err != nil {
		return pred{}, err
	}
	return b.among(x.column, equal, null, want), nil
}

// among returns where a column is in a list, or is not: where it has none of the
// values, and the list no NULL.
func (b *binder) among(column int, listed query.Set, null, want bool) pred {
	switch {
	case want:
		return where(column, listed)
	case null:
		return truth(false)
	}
	return where(column, b.domain(column).NotNull().Minus(listed))
}

// elements returns the constants of a list; false where one is computed.
func (b *binder) elements(list sqlparser.ValTuple) ([]constant, bool, error) {
	elements := make([]constant, len(list))
	for i, e := range list {
		o, ok, err := b.operand(e)
		if err != nil || !ok || o.isColumn {
			return nil, false, err
		}
		elements[i] = o.constant
	}
	return elements, true, nil
}

// equalToAny returns the values of a column that equal an element, and whether
// an element is NULL. It warns of elements outside the domain.
func (b *binder) equalToAny(column int, elements []constant) (equal query.Set, null bool, err error) {
	d := b.domain(column)
	values := make([]query.Value, 0, len(elements))
	var outside []constant
	for _, k := range elements {
		if k.isNull() {
			null = true
			continue
		}
		v, ok, err := b.convert(column, k)
		if err != nil {
			return query.Set{}, false, err
		}
		if ok && d.Contains(v) {
			values = append(values, v)
		} else {
			outside = append(outside, k)
		}
	}
	switch n := len(outside); {
	case n == 1:
		b.warnOutside(column, "= "+outside[0].label(), "it matches")
	case n > 1:
		b.warnOutside(column, fmt.Sprintf("= %s and %d more in a list", outside[0].label(), n-1), "they match")
	}
	return d.Of(values...), null, nil
}

// constantIn evaluates constant IN (constants).
func constantIn(x constant, elements []constant, want bool) pred {
	null := x.isNull()
	for _, k := range elements {
		switch {
		case k.isNull():
			null = true
		case !x.isNull() && x.compare(k) == 0:
			return truth(want)
		}
	}
	return truth(!null && !want)
}
