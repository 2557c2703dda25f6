package sqlfront

import (
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlvalue"
)

// convert returns the value of a column that equals a constant under the
// column's affinity; false when none can.
func (b *binder) convert(column int, k constant) (query.Value, bool, error) {
	if b.domain(column).Type() == query.TypeText {
		v, err := b.text(column, k)
		return v, true, err
	}
	k, err := b.numeric(column, k)
	if err != nil {
		return query.Value{}, false, err
	}
	n, relation := k.integer()
	return query.Int(n), relation == 0, nil
}

// text returns the text that a constant is compared as with a TEXT column: an
// integer is compared by its digits.
func (b *binder) text(column int, k constant) (query.Value, error) {
	switch {
	case k.real != nil:
		return query.Value{}, sqlerr.New(sqlerr.Invalid, "column %s is TEXT and is compared with the number %s",
			b.u.Columns()[column].Name, k.label()).WithHint("write it in single quotes as it is stored").At(k.source.Position)
	case k.value.IsInt():
		return query.Text(k.value.String()), nil
	}
	return k.value, nil
}

// numeric returns the number that a constant is compared as with an INTEGER
// column, or, in steps, with a REAL one.
func (b *binder) numeric(column int, k constant) (constant, error) {
	steps := b.joins.steps(column)
	if !k.isNumber() {
		n, ok, err := k.readNumber(k.value.Str())
		switch {
		case err != nil:
			return n, err
		case !ok && steps != nil:
			return n, sqlerr.New(sqlerr.Invalid, "column %s is REAL and is compared with %s, which is not a number",
				b.u.Columns()[column].Name, k.label()).WithHint("compare it with a number").At(k.source.Position)
		case !ok:
			return n, sqlerr.New(sqlerr.Invalid, "column %s is INTEGER and is compared with %s, which is not a number",
				b.u.Columns()[column].Name, k.label()).WithHint("compare it with an integer").At(k.source.Position)
		}
		k = n
	}
	if steps != nil {
		k.real = steps.In(k.rat())
	}
	return k, nil
}

// ordered returns the values of a column on one side of a constant.
func (b *binder) ordered(column int, relation sqlvalue.Relation, k constant) (query.Set, error) {
	d := b.domain(column)
	less := relation == sqlvalue.Less || relation == sqlvalue.LessOrEqual
	inclusive := relation == sqlvalue.LessOrEqual || relation == sqlvalue.GreaterOrEqual
	if d.Type() == query.TypeText {
		return b.orderedText(column, k, less, inclusive)
	}
	k, err := b.numeric(column, k)
	if err != nil {
		return query.Set{}, err
	}
	n, side := k.integer()
	if side != 0 {
		// Nothing lies between n and the constant: x < 40.5 is x <= 40, and
		// x > 40.5 is x > 40.
		inclusive = less == (side > 0)
	}
	if less {
		return d.Less(query.Int(n), inclusive)
	}
	return d.Greater(query.Int(n), inclusive)
}

func (b *binder) orderedText(column int, k constant, less, inclusive bool) (query.Set, error) {
	d := b.domain(column)
	if !d.Finite() {
		return query.Set{}, sqlerr.New(sqlerr.Unsupported, "an ordered comparison of column %s, which has no domain, is outside the dialect",
			b.u.Columns()[column].Name).WithHint("pin it with = or IN").At(k.source.Position)
	}
	v, err := b.text(column, k)
	if err != nil {
		return query.Set{}, err
	}
	if less {
		return d.Less(v, inclusive)
	}
	return d.Greater(v, inclusive)
}
