package sqlfront

import (
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/post"
	"dpsql/query"
)

// isFunction reports whether an expression is a call of a function on values.
func (b *binder) isFunction(e sqlparser.Expr) bool {
	name, f := b.g.function(e)
	if f == nil {
		return false
	}
	_, ok := functionNamed(name, len(f.Exprs))
	return ok || specials[name] > 0
}

// integerFunction compiles a call of a function whose values are integers.
func (b *binder) integerFunction(e sqlparser.Expr) (integer, error) {
	x, err := b.expr(e)
	if err != nil {
		return integer{}, err
	}
	if !x.full.isNumber() {
		return integer{}, b.g.start(e).unsupported("a text inside an aggregate").WithHint("%s", sumHint)
	}
	q, values, err := b.values(x)
	if err != nil {
		return integer{}, b.at(err, e)
	}
	at := func(index int64) query.Value { // the index 0 is that of records that do not matter
		if index == 0 {
			return query.Null()
		}
		return values[index-1]
	}
	value, err := q.Indicator().Combine(query.Constant(b.u, 0), func(index, _ int64) (int64, error) { return at(index).Int64(), nil })
	if err != nil {
		return integer{}, b.at(err, e)
	}
	present, err := q.Indicator().Weigh(query.All(b.u), func(index int64) int64 { return of(!at(index).IsNull()) })
	return integer{value: value, present: b.simplest(present)}, b.at(err, e)
}

// functionKey divides by the values of a call of a function.
func (o *outputs) functionKey(e sqlparser.Expr) (key, error) {
	x, err := o.binder.expr(e)
	if err != nil {
		return key{}, err
	}
	q, values, err := o.values(x)
	if err != nil {
		return key{}, o.at(err, e)
	}
	levels, ok, err := q.Indicator().Levels(o.rows, maxNumbers)
	switch {
	case err != nil:
		return key{}, o.at(err, e)
	case !ok:
		return key{}, o.tooMany(e)
	}
	k := key{of: post.Integer}
	for _, l := range levels {
		v := values[l.Value-1]
		if v.IsText() {
			k.of = post.Text
		}
		k.cells = append(k.cells, cell{v, pred{shape: isDiagram, q: l.Where}})
	}
	slices.SortFunc(k.cells, func(a, b cell) int { return a.value.Compare(b.value) })
	return k, nil
}
