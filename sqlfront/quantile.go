package sqlfront

import (
	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlfront/post"
	"dpsql/sqlfront/syntax"
)

// quantiles are the aggregates that are read off a distribution. QUANTILE is a value of
// the column, as in DuckDB.
var quantiles = map[string]post.Method{"median": post.Continuous, "percentile_cont": post.Continuous,
	"percentile_disc": post.Discrete, "quantile": post.Discrete, "min": post.Least, "max": post.Greatest}

const quantileHint = "write MEDIAN(x), QUANTILE(x, 0.9), PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x), MIN(x) or MAX(x), where x is a column"

// quantile compiles an aggregate of the order of a column's values. The fraction is the
// second argument: PERCENTILE_CONT(x, q) is how WITHIN GROUP arrives here.
func (o *outputs) quantile(method post.Method, upper string, f *sqlparser.FuncExpr) (post.Expr, error) {
	at := o.g.FirstToken(f)
	fraction := upper == "QUANTILE" || upper == "PERCENTILE_CONT" || upper == "PERCENTILE_DISC"
	switch {
	case fraction && len(f.Exprs) != 2:
		return nil, at.Malformed("%s takes a column and a fraction", upper).WithHint("%s", quantileHint)
	case !fraction && len(f.Exprs) != 1:
		return nil, at.Malformed("%s takes one column", upper).WithHint("%s", quantileHint)
	}
	args, ok := argumentsOf(f)
	if !ok {
		return nil, at.Malformed("%s takes expressions", upper).WithHint("%s", quantileHint)
	}
	q := post.Quantile{Q: 0.5, Method: method}
	if fraction {
		var err error
		if q.Q, err = o.fraction(args[1]); err != nil {
			return nil, err
		}
	}
	column, err := o.orderedColumn(upper, args[0])
	if err != nil {
		return nil, err
	}
	present, err := o.kept(columnPred(column, o.domain(column).NotNull()))
	if err != nil {
		return nil, o.placedAt(err, args[0])
	}
	q.Of = o.u.Columns()[column]
	q.Slot = o.slot(present, Slot{Scale: 1, Split: 1, Question: Order, Column: column})
	return q, nil
}

// fraction compiles the fraction of a quantile: a number from 0 to 1.
func (o *outputs) fraction(e sqlparser.Expr) (float64, error) {
	at := o.g.StartToken(e)
	v, ok, err := o.operand(e)
	if err != nil {
		return 0, err
	}
	if o.describing && ok && !v.isColumn && v.constant.isNull() {
		return 0.5, nil // any fraction: it has no type of its own
	}
	if !ok || v.isColumn || !v.constant.isNumber() {
		return 0, at.Unsupported("a fraction of a quantile that is not a number").WithHint("write a number from 0 to 1: QUANTILE(x, 0.9)")
	}
	x := float64(v.constant.value.Int64())
	if v.constant.real != nil {
		x, _ = v.constant.real.Float64()
	}
	if x < 0 || x > 1 {
		return 0, at.Malformed("the fraction of a quantile is not between 0 and 1").WithHint("QUANTILE(x, 0.9) is the 90th percentile")
	}
	return x, nil
}

// orderedColumn compiles the column whose values a quantile orders.
func (o *outputs) orderedColumn(upper string, e sqlparser.Expr) (int, error) {
	at := o.g.StartToken(e)
	name, ok := syntax.Unwrap(e).(*sqlparser.ColName)
	if !ok {
		return 0, at.Unsupported(upper+" of an expression").WithHint("it takes a column: %s", quantileHint)
	}
	column, err := o.column(name)
	if err != nil {
		return 0, err
	}
	c := o.u.Columns()[column]
	switch {
	case column >= len(o.table.Universe().Columns()):
		return 0, at.Unsupported(upper + " of column " + c.Name + " of a public table").WithHint("it takes a column of the private table")
	case !c.Domain.Finite() || c.Domain.Type() != query.TypeInteger:
		return 0, at.Unsupported(upper+" of column "+c.Name+", which is "+c.TypeName()+",").WithHint("%s", hintOrder)
	}
	return column, nil
}
