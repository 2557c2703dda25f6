package sqlfront

import (
	"math"
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/post"
	"dpsql/query"
	"dpsql/sqlfront/syntax"
	"dpsql/sqlvalue"
)

// outputs compiles the clauses behind WHERE: the groups, and the expressions over
// their keys and aggregates. Each aggregate becomes a combination of slots.
type outputs struct {
	*binder
	keys       []key
	sets       [][]int // the grouping sets: indexes of keys, ascending
	masks      [][]int // of each GROUPING(…): the indexes of its keys
	slots      []Slot
	bases      []query.Query // of each slot: its query before it is divided into groups
	columns    []post.Column // of the select list, once compiled
	compiling  []bool        // the entries of the select list being compiled
	aggregates int           // the number compiled so far
	texts      []string      // the entries of the select list as written, once asked for
}

const countHint = "write SELECT COUNT(*) FROM table WHERE …"

// aggregates are the aggregate functions of the dialect.
var aggregates = map[string]bool{"count": true, "sum": true, "avg": true, "total": true, "var_pop": true, "var_samp": true, "variance": true,
	"stddev_pop": true, "stddev_samp": true, "stddev": true}

// filtered compiles an aggregate of the selected records that meet the condition of
// its FILTER. A record that does not meet it counts nowhere in the aggregate, so the
// queries stay those of an aggregate with a longer WHERE.
func (o *outputs) filtered(name string, f *sqlparser.FuncExpr, condition sqlparser.Expr) (post.Expr, error) {
	if !aggregates[name] {
		return nil, o.g.FirstToken(f).Malformed("FILTER follows an aggregate, and %s is none", syntax.UpperASCII(name)).
			WithHint("write COUNT(*) FILTER (WHERE …)")
	}
	p, err := o.compileCondition(condition, true)
	if err != nil {
		return nil, err
	}
	all := o.rows
	defer func() { o.rows = all }()
	if o.rows, err = o.kept(p); err != nil {
		return nil, o.placedAt(err, condition)
	}
	return o.aggregate(name, f)
}

// aggregate compiles a call of an aggregate function.
func (o *outputs) aggregate(name string, f *sqlparser.FuncExpr) (post.Expr, error) {
	at := o.g.FirstToken(f)
	upper := syntax.UpperASCII(name)
	o.aggregates++
	if f.Distinct {
		return nil, at.Unsupported(upper + "(DISTINCT …)").WithHint("COUNT(*) counts rows; GROUP BY lists the declared values")
	}
	if len(f.Exprs) != 1 {
		return nil, at.Malformed("%s takes one argument", upper).WithHint("write COUNT(*), SUM(column) or AVG(column)")
	}
	arg, ok := f.Exprs[0].(*sqlparser.AliasedExpr)
	star, _ := f.Exprs[0].(*sqlparser.StarExpr)
	switch {
	case star != nil && name == "count" && star.TableName.IsEmpty():
		return o.count(o.rows)
	case !ok || !arg.As.IsEmpty():
		return nil, at.Malformed("%s takes * or one expression", upper).WithHint("write COUNT(*)")
	case name == "count":
		return o.countOf(arg.Expr)
	}
	x, err := o.summand(arg.Expr)
	if err != nil {
		return nil, err
	}
	present, err := o.kept(x.present)
	if err != nil {
		return nil, err
	}
	switch name {
	case "avg":
		mean, err := o.mean(x, present)
		return mean, o.placedAt(err, arg.Expr)
	case "sum":
		sum, err := o.sum(x, present)
		return sum, o.placedAt(err, arg.Expr)
	case "total":
		sum, err := o.sum(x, present)
		sum.Real = true
		return sum, o.placedAt(err, arg.Expr)
	}
	v, err := o.variance(name, x, present)
	return v, o.placedAt(err, arg.Expr)
}

// kept returns the selected records for which a pred holds.
func (o *outputs) kept(p pred) (query.Query, error) { return o.rows.And(p.query(o.u)) }

// count is the number of records of a 0/1 query.
func (o *outputs) count(q query.Query) (post.Expr, error) {
	return post.Sum{Terms: o.shown([]part{{q, 1}}, 1)}, nil
}

// countOf counts the records for which an expression is not NULL.
func (o *outputs) countOf(e sqlparser.Expr) (post.Expr, error) {
	p, err := o.present(e)
	if err != nil {
		return nil, err
	}
	q, err := o.kept(p)
	if err != nil {
		return nil, err
	}
	return o.count(q)
}

// present returns the records for which an expression is not NULL.
func (o *outputs) present(e sqlparser.Expr) (pred, error) {
	v, ok, err := o.operand(e)
	switch {
	case err != nil:
		return pred{}, err
	case ok && v.isColumn:
		return columnPred(v.column, o.domain(v.column).NotNull()), nil
	case ok:
		return constantPred(!v.constant.isNull()), nil
	}
	o.summing = true
	x, _, err := o.amount(e)
	o.summing = false
	if err != nil {
		return pred{}, err
	}
	p, err := o.presence(x)
	return p, o.placedAt(err, e)
}

// part is a query with the factor of its answer in a sum.
type part struct {
	base   query.Query
	factor int64
}

// sum adds up an expression where it is not NULL, as a factor times a query of
// weights from 0 up. The weights are the values over their greatest common divisor.
//
// Values of both signs take two queries: one for the positive values and one for
// the negative values. A query of the differences from the least value, plus a count
// times that value, has a larger error. For values from −a to b its weights reach
// a and a + b. The weights of the two queries reach a and b.
func (o *outputs) sum(x summand, present query.Query) (post.Sum, error) {
	parts, err := o.parts(x.value, present)
	unit, _ := x.worth().Float64()
	return post.Sum{Terms: o.shown(parts, unit), Unit: x.unit}, err
}

func (o *outputs) parts(f query.Function, present query.Query) ([]part, error) {
	extent, some, err := f.Extent(present)
	switch {
	case err != nil:
		return nil, err
	case !some || extent.Unit == 0:
		return nil, nil // nothing to add up, or zeros
	case extent.Lo == math.MinInt64:
		return nil, errOverflow()
	case extent.Lo == extent.Hi:
		return []part{{present, extent.Lo}}, nil
	}
	var parts []part
	for _, sign := range []int64{1, -1} {
		if sign > 0 && extent.Hi <= 0 || sign < 0 && extent.Lo >= 0 {
			continue
		}
		q, err := f.Weigh(present, func(v int64) int64 { return max(sign*v, 0) / extent.Unit })
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{q, sign * extent.Unit})
	}
	return parts, nil
}

// mean compiles an AVG: a sum over a count. If the values lie far from 0, or on
// both sides of it, mean sums their differences from the least value and adds that
// value to the quotient. The error then grows only with the spread of the values.
// Otherwise the sum is the query of SUM.
func (o *outputs) mean(x summand, present query.Query) (post.Mean, error) {
	extent, some, err := x.value.Extent(present)
	if err != nil {
		return post.Mean{}, err
	}
	var parts []part
	spread, fits := extent.Hi-extent.Lo, extent.Hi-extent.Lo >= 0
	switch {
	case !some || extent.Lo == extent.Hi:
		parts, err = o.parts(x.value, present)
	case !fits:
		return post.Mean{}, errOverflow()
	case extent.Lo < 0 && extent.Hi > 0 || spread <= max(extent.Hi, -extent.Lo)/2:
		var above query.Function
		if above, err = x.value.Combine(query.Constant(o.u, extent.Lo), checked(sqlvalue.Minus)); err == nil {
			parts, err = o.parts(above, present)
		}
		parts = append(parts, part{present, extent.Lo})
	default:
		parts, err = o.parts(x.value, present)
	}
	if err != nil {
		return post.Mean{}, err
	}
	count := o.slot(present, Slot{Scale: 1, Split: 1})
	return post.Mean{Terms: o.inside(parts), Count: count, Unit: x.unit}, nil
}

// shown returns the terms of a sum that is shown. SET accuracy bounds the shown
// value, so its n parts share the error evenly.
func (o *outputs) shown(parts []part, unit float64) []post.Term {
	terms := make([]post.Term, len(parts))
	n := float64(len(parts))
	for i, p := range parts {
		terms[i] = post.Term{Slot: o.slot(p.base, Slot{Scale: 1 / (n * unit * math.Abs(float64(p.factor))), Split: len(parts)}), Factor: p.factor}
	}
	return terms
}

// inside returns the terms of a sum inside a quotient. The error of a quotient is
// not known before it is answered, so SET accuracy bounds the error in rows.
func (o *outputs) inside(parts []part) []post.Term {
	terms := make([]post.Term, len(parts))
	for i, p := range parts {
		terms[i] = post.Term{Slot: o.slot(p.base, Slot{Scale: float64(p.base.MaxWeight()), Split: 1}), Factor: p.factor}
	}
	return terms
}

// slot returns the slot of a query. Aggregates that ask the same query share it.
func (o *outputs) slot(base query.Query, s Slot) int {
	for i, b := range o.bases {
		if b.Equal(base) {
			o.slots[i] = Slot{Scale: min(o.slots[i].Scale, s.Scale), Split: max(o.slots[i].Split, s.Split)}
			return i
		}
	}
	o.bases, o.slots = append(o.bases, base), append(o.slots, s)
	return len(o.bases) - 1
}

// variances are the aggregates that are computed from a variance. As in
// PostgreSQL, VARIANCE and STDDEV are those of a sample.
var variances = map[string]post.Variance{
	"var_pop": {}, "var_samp": {Sample: true}, "variance": {Sample: true},
	"stddev_pop": {Root: true}, "stddev_samp": {Sample: true, Root: true}, "stddev": {Sample: true, Root: true},
}

// variance asks three queries: the count and the sum of AVG, and the sum of the
// squares of the values minus the middle of their range. The middle gives the
// smallest possible largest weight, and so the least noise. That weight is a quarter
// of the one that the least value gives.
func (o *outputs) variance(name string, x summand, present query.Query) (post.Expr, error) {
	mean, err := o.mean(x, present)
	if err != nil {
		return nil, err
	}
	extent, some, err := x.value.Extent(present)
	if err != nil {
		return nil, err
	}
	middle := int64(0)
	if some {
		middle = extent.Lo + (extent.Hi-extent.Lo)/2 // mean has refused what overflows
	}
	deviation, err := x.value.Combine(query.Constant(o.u, middle), checked(sqlvalue.Minus))
	if err != nil {
		return nil, err
	}
	squares, err := deviation.Combine(deviation, checked(sqlvalue.Times))
	if err != nil {
		return nil, err
	}
	parts, err := o.parts(squares, present)
	if err != nil {
		return nil, err
	}
	v := variances[name]
	v.Mean = mean
	v.Mean.Terms = append(slices.Clone(mean.Terms), post.Term{Slot: mean.Count, Factor: -middle})
	v.Squares = o.inside(parts)
	return v, nil
}
