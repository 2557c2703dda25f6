package source

import (
	"context"
	"strconv"

	"dpsql/query"
)

// maxMatched is the most rows for which the units that have them are looked
// for; when more match, reading all units is about as fast.
const maxMatched = 10_000

// countKept counts the kept rows of which a condition is true, which the query
// weighs 1. Only units that have such a row are read, but those whole: which
// rows are kept of a unit depends on all of them, and on no other unit.
func countKept(ctx context.Context, q Querier, t Table, where condition, counted query.Query) (int64, error) {
	if err := t.CheckUnit(); err != nil {
		return 0, err
	}
	matched, err := countUpTo(ctx, q, t.Source, where, maxMatched+1)
	switch {
	case err != nil:
		return 0, err
	case matched == 0:
		return 0, nil
	case matched > maxMatched:
		return countStreamed(ctx, q, t, counted)
	}
	types, err := storedTypes(ctx, q, t.Source)
	if err != nil {
		return 0, err
	}
	_, stored := types[query.FoldName(t.Unit)]
	return weighed(counted, func(columns []int, f func([]query.Value)) error {
		return streamKept(ctx, q, t, unitsWith(t, where, stored), columns, f)
	})
}

// countUpTo counts the rows of which the condition is true, and stops at most.
func countUpTo(ctx context.Context, q Querier, source string, where condition, most int) (int64, error) {
	var n int64
	err := q.QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT 1"+from(source)+" WHERE "+where.text+
		" LIMIT "+strconv.Itoa(most)+")", where.args...).Scan(&n)
	if err != nil {
		return 0, failure(ctx, err, source)
	}
	return n, nil
}

// unitsWith returns the condition that the unit has a row of which where is
// true. It may hold of more units: a column's own collation takes more values
// as equal.
//
// A column of a table has one affinity, so that equal values stay equal in any
// comparison, and an index on it can be used. A column of a view can have
// several; there the plus signs take them away.
func unitsWith(t Table, where condition, stored bool) condition {
	unit, in := columnOf(t.Unit), " IN "
	if !stored {
		unit, in = "+"+unit, " COLLATE BINARY IN "
	}
	return condition{"(" + unit + ")" + in + "(SELECT " + unit + from(t.Source) + " WHERE " + where.text + ")", where.args}
}
