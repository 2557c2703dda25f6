package sqlfront

import (
	"slices"
	"strings"

	"github.com/xwb1989/sqlparser"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

const binHint = "compute it in a view and declare it as a column"

// construct names a refused expression, and says how to rewrite it if there is a
// way.
func (b *binder) construct(e sqlparser.Expr) (name, hint string) {
	switch e := syntax.Unwrap(e).(type) {
	case *sqlparser.FuncExpr:
		return b.constructFunction(e)
	case *sqlparser.ComparisonExpr:
		return constructComparison(e)
	case *sqlparser.ColName:
		t, _ := b.g.Token(e.Name.String())
		return "a bare column", "compare it with a value: " + t.Text + " = …"
	case *sqlparser.SQLVal:
		return "a bare literal", ""
	case *sqlparser.BinaryExpr, *sqlparser.UnaryExpr:
		return "arithmetic", binHint
	case *sqlparser.CaseExpr:
		return "CASE", "write the condition with AND, OR and NOT"
	case *sqlparser.Subquery:
		return "a sub-select", "write its result as a literal; a list may be that of a public table: IN (SELECT column FROM table)"
	case *sqlparser.ExistsExpr:
		return "EXISTS", ""
	case sqlparser.ValTuple:
		return "a row value", "compare the columns one by one, joined by AND"
	case *sqlparser.CollateExpr:
		return "COLLATE", "texts compare byte by byte"
	case *sqlparser.AndExpr, *sqlparser.OrExpr, *sqlparser.NotExpr, *sqlparser.IsExpr, *sqlparser.RangeCond:
		return "a condition as a value", "put it into WHERE"
	}
	return "this expression", ""
}

func (b *binder) constructFunction(e *sqlparser.FuncExpr) (name, hint string) {
	e, _ = syntax.Filter(e)
	name, _ = b.calledFunction(e)
	switch {
	case name == "":
		return "a qualified function", ""
	case name == "cast":
		return "CAST", binHint
	case isAggregate(name):
		return "the aggregate " + strings.ToUpper(name), "an aggregate stands in the select list, not in WHERE"
	}
	if hint, ok := instead[name]; ok {
		return called(name), hint
	}
	return called(syntax.Excerpt(name, 40)), binHint
}

// instead says how this dialect writes functions of other systems.
var instead = map[string]string{
	"age": hintDays, "datediff": hintDays, "date_diff": hintDays, "timestampdiff": hintDays,
	"date_format": hintFormat, "format_date": hintFormat, "formatdatetime": hintFormat,
	"date_add": hintAdd, "date_sub": hintAdd, "dateadd": hintAdd, "adddate": hintAdd, "subdate": hintAdd, "add_months": hintAdd,
	"date_bin": "write DATE_TRUNC('hour', x), or EXTRACT(EPOCH FROM x) and FLOOR", "time_bucket": "write DATE_TRUNC('hour', x), or EXTRACT(EPOCH FROM x) and FLOOR",
	"last_day": "write DATE_TRUNC('month', x)", "weekday": hintPart, "dayofweek": hintPart, "dayofyear": hintPart, "monthname": hintPart, "dayname": hintPart, "weekofyear": hintPart, "datepart": hintPart,
	"bool_or": hintFilter, "bool_and": hintFilter, "every": hintFilter, "histogram": "write SELECT WIDTH_BUCKET(x, 0, 100, 10) AS bin, COUNT(*) FROM table GROUP BY bin",
	"isnumeric": hintIn, "regexp_like": hintIn, "regexp_replace": hintIn, "regexp_matches": hintIn, "regexp_substr": hintIn,
	"make_date": "write the date: DATE '2024-01-31'", "ntile": "WIDTH_BUCKET and CASE make bins, and QUANTILE(x, 0.25) finds their ends",
}

const (
	hintDays   = "write DATE '2024-12-31' - x, a number of days, or EXTRACT(YEAR FROM x)"
	hintFormat = "write TO_CHAR(x, 'YYYY-MM'), or strftime('%Y-%m', x)"
	hintAdd    = "write x + INTERVAL '1 month'"
	hintPart   = "write EXTRACT(DOW FROM x), or YEAR, MONTH, DAY, DOY or WEEK for DOW"
	hintFilter = "write COUNT(*) FILTER (WHERE …) > 0, or compare it with COUNT(*)"
	hintIn     = "write LIKE or GLOB, or list the values with IN"
)

func constructComparison(e *sqlparser.ComparisonExpr) (name, hint string) {
	switch e.Operator {
	case sqlparser.LikeStr, sqlparser.NotLikeStr:
		return "LIKE", "list the values with IN, or bin them in a view"
	case syntax.OperatorGlob, syntax.OperatorNotGlob:
		return "GLOB", "list the values with IN, or bin them in a view"
	}
	return "a condition as a value", "put it into WHERE"
}

// The hints for aggregates that other systems have.
const (
	hintOrder    = "SELECT x, COUNT(*) FROM table GROUP BY x counts the rows of each value; take it from these counts"
	hintQuantile = "write MEDIAN(x), QUANTILE(x, 0.9), or PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)"
	hintValues   = "SELECT x, COUNT(*) FROM table GROUP BY x lists the declared values with their counts"
	hintVariant  = "write VARIANCE or STDDEV, those of a sample, or VAR_POP or STDDEV_POP"
)

// elsewhere maps the aggregates of other systems to hints for this dialect.
var elsewhere = map[string]string{
	"mode": hintOrder, "percentile": hintQuantile, "approx_percentile": hintQuantile, "approx_quantiles": hintQuantile,
	"group_concat": hintValues, "string_agg": hintValues, "array_agg": hintValues, "approx_count_distinct": hintValues,
	"varp": hintVariant, "stdev": hintVariant, "stdevp": hintVariant, "std": hintVariant,
}

// isAggregate reports whether a lower-case name is an aggregate of this dialect or of
// another system.
func isAggregate(name string) bool {
	_, other := elsewhere[name]
	return isOwn(name) || other || isMeasure(name)
}

// unknownFunction refuses a function that the select list does not have.
func (o *outputs) unknownFunction(e *sqlparser.FuncExpr, name string) error {
	construct, _ := o.constructFunction(e)
	err := o.g.FirstToken(e).Unsupported(construct + " in the select list")
	if hint, ok := elsewhere[name]; ok {
		return err.WithHint("%s", hint)
	}
	if hint, ok := instead[name]; ok {
		return err.WithHint("%s", hint)
	}
	if near := sqlerr.Closest(name, slices.Values(likely)); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("%s", functionsHint)
}

const functionsHint = "the aggregates are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN, MAX, CORR and the others of docs/sql/aggregates.md; around them stand ROUND, ABS, COALESCE, CASE and arithmetic"

// likely are the names that are suggested for a misspelt function.
var likely = []string{"COUNT", "SUM", "TOTAL", "AVG", "VARIANCE", "VAR_POP", "VAR_SAMP", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "MARGIN",
	"MEDIAN", "QUANTILE", "PERCENTILE_CONT", "PERCENTILE_DISC", "MIN", "MAX",
	"CORR", "COVAR_POP", "COVAR_SAMP", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2", "REGR_COUNT", "REGR_AVGX", "REGR_AVGY", "REGR_SXX", "REGR_SYY", "REGR_SXY",
	"ROUND", "ABS", "COALESCE", "IFNULL"}
