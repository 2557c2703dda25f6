package sqlfront

import (
	"slices"

	"dpsql/post"
	"dpsql/query"
	"dpsql/sqlvalue"
)

// variances are the aggregates that a variance stands behind, as PostgreSQL has
// them: VARIANCE and STDDEV are those of a sample.
var variances = map[string]post.Variance{
	"var_pop": {}, "var_samp": {Sample: true}, "variance": {Sample: true},
	"stddev_pop": {Root: true}, "stddev_samp": {Sample: true, Root: true}, "stddev": {Sample: true, Root: true},
}

// variance asks three queries: the count and the sum that AVG of the same asks,
// and the sum of the squares of the values less the middle of their range. Of
// all constants that may be taken off, that one makes the largest weight, and
// with it the noise, least: a quarter of what it is for the least value.
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
