package sqlfront

import (
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/sqlerr"
)

// The hints for aggregates that other systems have.
const (
	hintOrder   = "SELECT x, COUNT(*) FROM table GROUP BY x counts the rows of each value; take it from these counts"
	hintMoments = "SUM(x * y), SUM(x), SUM(y) and COUNT(*) give it, each with its own noise"
	hintValues  = "SELECT x, COUNT(*) FROM table GROUP BY x lists the declared values with their counts"
	hintVariant = "write VARIANCE or STDDEV, those of a sample, or VAR_POP or STDDEV_POP"
)

// elsewhere has the aggregates of other systems, and what gives their value here.
var elsewhere = map[string]string{
	"min": hintOrder, "max": hintOrder, "median": hintOrder, "mode": hintOrder, "quantile": hintOrder,
	"percentile": hintOrder, "percentile_cont": hintOrder, "percentile_disc": hintOrder,
	"approx_percentile": hintOrder, "approx_quantiles": hintOrder,
	"corr": hintMoments, "covar_pop": hintMoments, "covar_samp": hintMoments,
	"regr_slope": hintMoments, "regr_intercept": hintMoments, "regr_r2": hintMoments,
	"group_concat": hintValues, "string_agg": hintValues, "array_agg": hintValues, "approx_count_distinct": hintValues,
	"var": hintVariant, "varp": hintVariant, "stdev": hintVariant, "stdevp": hintVariant, "std": hintVariant,
}

// isAggregate reports whether a lower-case name is that of an aggregate, here or
// elsewhere.
func isAggregate(name string) bool {
	_, other := elsewhere[name]
	return aggregates[name] || other || name == "margin"
}

// unknownFunction refuses a function that the select list does not have.
func (o *outputs) unknownFunction(e *sqlparser.FuncExpr, name string) error {
	construct, _ := o.constructFunction(e)
	err := o.g.Place(e).Unsupported(construct + " in the select list")
	if hint, ok := elsewhere[name]; ok {
		return err.WithHint("%s", hint)
	}
	if near := sqlerr.Closest(name, slices.Values(likely)); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("%s", functionsHint)
}

const functionsHint = "the aggregates are COUNT, SUM, TOTAL, AVG, VARIANCE and STDDEV; around them stand ROUND, ABS, COALESCE, CASE and arithmetic"

// likely are the names that a slip of the pen is likely to mean.
var likely = []string{"COUNT", "SUM", "TOTAL", "AVG", "VARIANCE", "VAR_POP", "VAR_SAMP", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "MARGIN",
	"ROUND", "ABS", "COALESCE", "IFNULL"}
