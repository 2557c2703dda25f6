package source

import (
	"context"
	"slices"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Count implements Reader.
//
// A conjunction is one COUNT statement of SQLite, which uses the indexes there
// are; any other query is evaluated on each row as it streams by. Of a table
// with a unit the rows kept stream by: for a conjunction that few rows meet,
// only those of units that have such a row.
func (s sqlite) Count(ctx context.Context, t Table, counted query.Query) (int64, error) {
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

// Over refuses, as internal, a universe that is not that of the table's columns:
// the weights of a query over it would be those of other values.
func (t Table) Over(u *query.Universe) error {
	same := slices.EqualFunc(t.Columns, u.Columns(), func(a, b query.Column) bool {
		return query.SameName(a.Name, b.Name) && a.Domain.Type() == b.Domain.Type()
	})
	if !same {
		return sqlerr.New(sqlerr.Internal, "the query is not over the columns declared of %s", t.Source)
	}
	return nil
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
