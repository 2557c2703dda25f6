package sqlfront

import (
	"math"
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/post"
	"dpsql/sqlfront/syntax"
)

// filtered compiles an aggregate of the selected records that meet the condition of
// its FILTER. A record that does not meet it counts nowhere in the aggregate, so the
// queries stay those of an aggregate with a longer WHERE.
func (o *outputs) filtered(name string, f *sqlparser.FuncExpr, condition sqlparser.Expr) (post.Expr, error) {
	if !isOwn(name) {
		return nil, o.g.FirstToken(f).Malformed("FILTER follows an aggregate, and %s is none", syntax.UpperASCII(name)).
			WithHint("write COUNT(*) FILTER (WHERE …)")
	}
	p, err := o.compileCondition(condition)
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
		return o.distinct(name, f)
	}
	if method, ok := quantiles[name]; ok {
		return o.quantile(method, upper, f)
	}
	switch n := len(f.Exprs); {
	case isPair(name) && n == 2:
		return o.pair(name, f)
	case isPair(name):
		return nil, at.Malformed("%s takes two arguments", upper).WithHint("write %s(y, x)", upper)
	case n != 1:
		return nil, at.Malformed("%s takes one argument", upper).WithHint("write COUNT(*), SUM(column) or AVG(column)")
	}
	args, ok := argumentsOf(f)
	star, _ := f.Exprs[0].(*sqlparser.StarExpr)
	switch {
	case star != nil && name == "count" && star.TableName.IsEmpty():
		return o.count(o.rows)
	case !ok:
		return nil, at.Malformed("%s takes * or one expression", upper).WithHint("write COUNT(*)")
	case name == "count":
		return o.countOf(args[0])
	}
	x, err := o.summand(args[0])
	if err != nil {
		return nil, err
	}
	present, err := o.kept(x.present)
	if err != nil {
		return nil, err
	}
	switch name {
	case "avg":
		mean, err := o.mean(x, present, true)
		return mean, o.placedAt(err, args[0])
	case "sum":
		sum, err := o.sum(x, present)
		return sum, o.placedAt(err, args[0])
	case "total":
		sum, err := o.sum(x, present)
		sum.Real = true
		return sum, o.placedAt(err, args[0])
	}
	v, err := o.variance(name, x, present)
	return v, o.placedAt(err, args[0])
}

// count is the number of records of a 0/1 query.
func (o *outputs) count(q query.Query) (post.Expr, error) {
	return post.Sum{Terms: o.shown([]part{{q, 1}}, 1, 1)}, nil
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
	if err != nil || x.off == 0 {
		return post.Sum{Terms: o.shown(parts, unit, len(parts)), Unit: x.unit}, err
	}
	// A sum of rounded numbers is off by so much a row. The error of the count that this takes adds
	// at most a quarter of SET accuracy to the interval.
	s := post.Sum{Terms: o.shown(parts, unit, len(parts)+1), Unit: x.unit, Off: x.off}
	s.Count = o.slot(present, Slot{Scale: 1 / (4 * x.off * unit), Split: len(parts) + 1})
	return s, nil
}

func (o *outputs) parts(f query.Function, present query.Query) ([]part, error) {
	extent, some, err := f.Extent(&o.spent.sums, present)
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
		q, err := f.Weigh(&o.spent.sums, present, func(v int64) int64 { return max(sign*v, 0) / extent.Unit })
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
// Otherwise the sum is the query of SUM. Alone is a mean that is no part of another aggregate:
// SET accuracy bounds it as it is shown.
func (o *outputs) mean(x summand, present query.Query, alone bool) (post.Mean, error) {
	extent, some, err := x.value.Extent(&o.spent.sums, present)
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
		if above, err = x.value.Combine(&o.spent.sums, query.Constant(o.u, extent.Lo), checked(sqlvalue.Minus)); err == nil {
			parts, err = o.parts(above, present)
		}
		parts = append(parts, part{present, extent.Lo})
	default:
		parts, err = o.parts(x.value, present)
	}
	if err != nil {
		return post.Mean{}, err
	}
	unit, _ := x.worth().Float64()
	m := post.Mean{Unit: x.unit, Off: x.off}
	if alone {
		m.Count, m.Terms = o.over(parts, present, unit, spread)
	} else {
		m.Count, m.Terms = o.slot(present, Slot{Scale: 1, Split: 1}), o.inside(parts)
	}
	if some {
		m.Range = post.Range{Known: true, Lo: extent.Lo, Hi: extent.Hi}
	}
	return m, nil
}

// over returns the slot of the count and the terms of a sum that a mean divides. The values of
// the sum are spread over so much, in units.
//
// Let r be the reach of the values about their middle. The error of a mean, times the number of
// rows n, is that of the sum less the count's times the mean of the deviations, which is up to r.
// Errors of standard deviations s and c cost r²/2s² + 1/2c². The least price of √(s² + r²c²) is
// that at s = rc: each has 1/√2 of the error allowed, as independent errors add up in squares.
func (o *outputs) over(parts []part, present query.Query, unit float64, spread int64) (count int, terms []post.Term) {
	i := slices.IndexFunc(parts, func(p part) bool { return !p.base.Equal(present) })
	if i < 0 {
		return o.slot(present, Slot{Scale: 1, Split: 1}), o.inside(parts)
	}
	about := centreOf(parts[i], spread)
	each := math.Sqrt2 / 2 / (unit * math.Abs(float64(parts[i].factor)))
	count = o.slot(present, Slot{Scale: math.Inf(1), PerRow: each / float64(about.Reach), Split: 1})
	for _, p := range parts {
		t := post.Term{Slot: count, Factor: p.factor}
		if !p.base.Equal(present) {
			t.Slot = o.slot(p.base, Slot{Scale: math.Inf(1), PerRow: each, Split: 1, Rows: count + 1, Centre: about})
		}
		terms = append(terms, t)
	}
	return count, terms
}

// centreOf returns the centre of weights that are spread over so much, in units of the sum.
//
// A sum stays at the end of 64 bits, and a record would then change the sum less the middle by
// another amount. Weights up to 2²⁰ get there with 2⁴³ records, which no table has. For larger
// ones the reach is that of all such changes.
func centreOf(p part, spread int64) Centre {
	hi := p.base.MaxWeight()
	lo := hi - spread/max(p.factor, -p.factor)
	middle := lo + (hi-lo)/2
	reach := max(hi-middle, middle-lo)
	if hi > 1<<20 {
		reach = hi
	}
	return Centre{Middle: middle, Reach: reach}
}

// shown returns the terms of a sum that is shown. SET accuracy bounds the shown
// value, so its n parts share the error evenly. The interval has split answers.
func (o *outputs) shown(parts []part, unit float64, split int) []post.Term {
	terms := make([]post.Term, len(parts))
	n := float64(len(parts))
	for i, p := range parts {
		terms[i] = post.Term{Slot: o.slot(p.base, Slot{Scale: 1 / (n * unit * math.Abs(float64(p.factor))), Split: split}), Factor: p.factor}
	}
	return terms
}

// inside returns the terms of a sum inside a variance and the like, whose error is not known
// before they are answered: SET accuracy bounds the error in rows.
func (o *outputs) inside(parts []part) []post.Term {
	terms := make([]post.Term, len(parts))
	for i, p := range parts {
		terms[i] = post.Term{Slot: o.slot(p.base, Slot{Scale: float64(p.base.MaxWeight()), Split: 1}), Factor: p.factor}
	}
	return terms
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
	m, err := o.moment(x, present)
	if err != nil {
		return nil, err
	}
	v := variances[name]
	v.Mean = m.mean
	v.Squares, err = o.products(m, m, present)
	return v, err
}

// moment is a summand about the middle of its range.
type moment struct {
	mean      post.Mean      // of the deviation
	deviation query.Function // the values minus the middle
	middle    int64
}

func (o *outputs) moment(x summand, present query.Query) (m moment, err error) {
	if m.mean, err = o.mean(x, present, false); err != nil {
		return m, err
	}
	extent, some, err := x.value.Extent(&o.spent.sums, present)
	if err != nil {
		return m, err
	}
	if some {
		m.middle = extent.Lo + (extent.Hi-extent.Lo)/2 // mean has refused what overflows
	}
	m.mean.Terms = append(slices.Clone(m.mean.Terms), post.Term{Slot: m.mean.Count, Factor: -m.middle})
	m.deviation, err = x.value.Combine(&o.spent.sums, query.Constant(o.u, m.middle), checked(sqlvalue.Minus))
	return m, err
}

// products returns the sum of the products of two deviations. It takes two queries where
// they have both signs.
func (o *outputs) products(x, y moment, present query.Query) ([]post.Term, error) {
	product, err := x.deviation.Combine(&o.spent.sums, y.deviation, checked(sqlvalue.Times))
	if err != nil {
		return nil, err
	}
	parts, err := o.parts(product, present)
	return o.inside(parts), err
}

// pair compiles an aggregate of two columns, over the records in which neither is NULL. It
// asks for the count, the sums of both columns, the sums of their squares where these
// matter, and the sum of their products.
func (o *outputs) pair(name string, f *sqlparser.FuncExpr) (post.Expr, error) {
	args, ok := argumentsOf(f)
	if !ok {
		return nil, o.g.FirstToken(f).Malformed("%s takes two expressions", syntax.UpperASCII(name)).WithHint("write %s(y, x)", syntax.UpperASCII(name))
	}
	var of [2]summand
	present := o.rows
	for i, e := range args {
		var err error
		if of[i], err = o.summand(e); err == nil {
			present, err = o.spent.work.And(present, of[i].present.query(o.u))
		}
		if err != nil {
			return nil, o.placedAt(err, e)
		}
	}
	x, err := o.pairOf(name, of[0], of[1], present)
	return x, o.placedAt(err, f)
}

func (o *outputs) pairOf(name string, y, x summand, present query.Query) (post.Expr, error) {
	if name == "regr_count" {
		return o.count(present)
	}
	if i, ok := means[name]; ok {
		return o.mean([]summand{y, x}[i], present, true)
	}
	of := pairs[name]
	my, err := o.moment(y, present)
	if err != nil {
		return nil, err
	}
	mx, err := o.moment(x, present)
	if err != nil {
		return nil, err
	}
	p := post.Pair{Of: of, Y: post.Variance{Mean: my.mean}, X: post.Variance{Mean: mx.mean}, MiddleY: my.middle, MiddleX: mx.middle}
	if of.NeedsY() {
		if p.Y.Squares, err = o.products(my, my, present); err != nil {
			return nil, err
		}
	}
	if of.NeedsX() {
		if p.X.Squares, err = o.products(mx, mx, present); err != nil {
			return nil, err
		}
	}
	if of.NeedsProducts() {
		p.Products, err = o.products(my, mx, present)
	}
	return p, err
}

// distinct compiles COUNT(DISTINCT unit) and COUNT(DISTINCT column). The unit's column need
// not be declared: its name is public.
func (o *outputs) distinct(name string, f *sqlparser.FuncExpr) (post.Expr, error) {
	at, upper := o.g.FirstToken(f), syntax.UpperASCII(name)
	unit := o.unit()
	hint := "COUNT(*) counts rows; GROUP BY lists the declared values"
	if unit != "" {
		hint = "COUNT(DISTINCT " + unit + ") counts the units; " + hint
	}
	refused := at.Unsupported(upper+"(DISTINCT …)").WithHint("%s", hint)
	if name != "count" {
		return nil, at.Unsupported(upper+"(DISTINCT …)").WithHint("write %s(x), which takes each row; for one row a unit, declare a view that has one", upper)
	}
	args, ok := argumentsOf(f)
	if !ok || len(args) != 1 {
		return nil, refused
	}
	c, ok := syntax.Unwrap(args[0]).(*sqlparser.ColName)
	if !ok {
		return nil, refused
	}
	if isUnit, err := o.isUnit(c, unit); err != nil {
		return nil, err
	} else if !isUnit {
		column, err := o.column(c)
		if err != nil {
			return nil, o.notUnit(err, unit)
		}
		x, err := o.valuesOf(column)
		return x, o.placedAt(err, c)
	}
	return post.Sum{Terms: []post.Term{{Slot: o.slot(o.rows, Slot{Scale: 1, Split: 1, Question: Units}), Factor: 1}}}, nil
}

// maxValues bounds the domain of a column whose values are counted: the days of 27 years, or the
// hours of one. Each of them is a query.
const maxValues = 10_000

// valuesOf compiles COUNT(DISTINCT column) of a declared column.
func (o *outputs) valuesOf(column int) (post.Expr, error) {
	c := o.u.Columns()[column]
	switch {
	case column >= len(o.table.Universe().Columns()):
		return nil, sqlerr.New(sqlerr.Unsupported, "COUNT(DISTINCT …) of a public table's column is outside the dialect").
			WithHint("count the distinct values of the private column that the table is joined on")
	case !c.Domain.Finite():
		return nil, sqlerr.New(sqlerr.Unsupported, "COUNT(DISTINCT …) of column %s, which has no domain, is outside the dialect", c.Name).
			WithHint("declare its values: TEXT IN ('a', 'b'), or those of a public table")
	case c.Domain.Size() > maxValues:
		return nil, sqlerr.New(sqlerr.Unsupported, "COUNT(DISTINCT …) of column %s, which has more than %d values, is outside the dialect", c.Name, maxValues).
			WithHint("bin it in a view, or count the values of a coarser column")
	}
	return post.Sum{Terms: []post.Term{{Slot: o.slot(o.rows, Slot{Scale: 1, Split: 1, Question: DistinctValues, Column: column}), Factor: 1}}}, nil
}

// notUnit adds to the error of an unknown name what COUNT(DISTINCT) can count.
func (o *outputs) notUnit(err error, unit string) error {
	e, ok := err.(*sqlerr.Error)
	switch {
	case !ok || e.Code != sqlerr.Unknown:
		return err
	case unit == "":
		return e.WithHint("%s; persons can be counted in a table that is declared WITH (unit = person, max_rows = …)", e.Hint)
	}
	return e.WithHint("%s; COUNT(DISTINCT %s) counts the units", e.Hint, unit)
}

// unit returns the name of the column that identifies a unit of the table, or "".
func (b *binder) unit() string {
	if t, ok := b.table.(Unit); ok {
		return t.Unit()
	}
	return ""
}

// isUnit reports whether a name means the unit's column. It need not be declared. Then it is
// visible where the table itself stands in FROM, and a declared column of the name hides it.
func (b *binder) isUnit(e *sqlparser.ColName, unit string) (bool, error) {
	t, ok := b.g.Token(e.Name.String())
	if !ok || unit == "" {
		return false, nil
	}
	qualifier, err := b.qualifier(e.Qualifier)
	if err != nil {
		return false, err
	}
	if columns := b.scope.columnsNamed(qualifier, t.Value); len(columns) > 0 {
		private := len(b.table.Universe().Columns())
		return len(columns) == 1 && columns[0] >= 0 && columns[0] < private && query.SameName(b.u.Columns()[columns[0]].Name, unit), nil
	}
	for _, r := range b.scope {
		if r.private && (qualifier == "" || query.SameName(r.name, qualifier)) {
			return query.SameName(t.Value, unit), nil
		}
	}
	return false, nil
}
