package source

import (
	"context"
	"strconv"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Count implements Reader.
//
// A conjunction is one COUNT statement of SQLite, which uses the indexes there
// are; any other query is evaluated on each row as it streams by. Of a table
// with a unit the rows kept stream by: for a conjunction that few rows meet,
// only those of units that have such a row.
func (s sqlite) Count(ctx context.Context, p Permit, t Table, counted query.Query) (int64, error) {
	if err := Admit(p, t); err != nil {
		return 0, err
	}
	q := s.q
	if err := t.Over(counted.Universe()); err != nil {
		return 0, err
	}
	sets, ok := counted.Product()
	if !ok {
		return countStreamed(ctx, q, t, counted)
	}
	where, ok, err := conjunction(ctx, q, t, sets)
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return countStreamed(ctx, q, t, counted)
	case t.Unit != "":
		return countKept(ctx, q, t, where, counted)
	}
	return countWhere(ctx, q, t.Source, where)
}

// conjunction returns the condition that each column lies in its set, and false
// if it cannot be pushed down. Conditions that select come first, those that
// only check a domain last.
func conjunction(ctx context.Context, q Querier, t Table, sets []query.Set) (condition, bool, error) {
	sound, err := comparesStored(ctx, q, t)
	if err != nil {
		return condition{}, false, err
	}
	var selecting, checking []condition
	for i, c := range t.Columns {
		m, ok := newMembers(sets[i])
		switch {
		case !ok:
			return condition{}, false, nil
		case sets[i].IsAll():
			checking = append(checking, m.exactly(c))
		case sound[i] && !m.except:
			selecting = append(selecting, m.roughly(c), m.exactly(c))
		default:
			selecting = append(selecting, m.exactly(c))
		}
	}
	where := joined(append(selecting, checking...), " AND ", "1")
	return where, len(where.args) <= maxVariables, nil
}

func countWhere(ctx context.Context, q Querier, source string, where condition) (int64, error) {
	var n int64
	err := q.QueryRowContext(ctx, "SELECT COUNT(*)"+from(source)+" WHERE "+where.text, where.args...).Scan(&n)
	if err != nil {
		return 0, failure(ctx, err, source)
	}
	return n, nil
}

// countStreamed reads every row.
func countStreamed(ctx context.Context, q Querier, t Table, counted query.Query) (int64, error) {
	return weighed(counted, func(columns []int, f func([]query.Value)) error {
		return stream(ctx, q, t, columns, f)
	})
}

// weighed sums the weights of the rows that a stream yields. It asks for the
// columns that the query depends on, and at least one.
func weighed(counted query.Query, stream func([]int, func([]query.Value)) error) (int64, error) {
	columns := counted.Columns()
	if len(columns) == 0 {
		columns = []int{0}
	}
	narrow, ok := counted.Project(columns)
	if !ok {
		return 0, sqlerr.New(sqlerr.Internal, "a query depends on a column it does not name")
	}
	var total int64
	err := stream(columns, func(tuple []query.Value) {
		total = AddWeighted(total, narrow.Weight(tuple), 1)
	})
	return total, err
}

// maxMatched bounds the matching rows whose units are looked up. If more rows match,
// reading all units is about as fast.
const maxMatched = 10_000

// countKept counts the kept rows that meet a condition. The query weighs each 1. It
// reads only units that have such a row, but reads these whole: which rows of a unit
// are kept depends on all rows of that unit and on no other unit.
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
