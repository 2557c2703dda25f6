package postgres

import (
	"context"
	"math"
	"math/bits"
	"strings"

	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// Count implements source.Reader. A query of few terms is one count, or one for
// each weight, in one statement; any other is counted by value of the columns it
// depends on.
func (r *reader) Count(ctx context.Context, t source.Table, counted query.Query) (int64, error) {
	if err := sameColumns(t.Columns, counted.Universe(), t.Source); err != nil {
		return 0, err
	}
	var total int64
	err := r.read(ctx, t, func(rel *relation) error {
		columns, err := columnsOf(rel, t)
		if err != nil {
			return err
		}
		if s, weights, ok := pushed(rel, columns, counted); ok {
			total, err = r.countPushed(ctx, s, weights)
			return err
		}
		total, err = r.countGrouped(ctx, rel, columns, counted)
		return err
	})
	r.answered = r.answered || err == nil
	return total, err
}

// pushed returns the statement that counts the rows of each weight; false if
// there is none.
func pushed(rel *relation, columns []column, counted query.Query) (s statement, weights []int64, ok bool) {
	terms, ok := counted.Terms(maxTerms)
	if !ok {
		return statement{}, nil, false
	}
	var w writer
	conditions := make(map[int64][]string)
	for _, term := range terms {
		var parts []string
		for i, c := range columns {
			condition, ok := w.within(c, term.Sets[i])
			if !ok {
				return statement{}, nil, false
			}
			parts = append(parts, condition)
		}
		if conditions[term.Weight] == nil {
			weights = append(weights, term.Weight)
		}
		conditions[term.Weight] = append(conditions[term.Weight], allOf(parts))
	}
	if len(weights) > maxLevels || len(w.args) > maxArguments {
		return statement{}, nil, false
	}
	return statement{levels(rel, weights, conditions), w.args}, weights, true
}

// maxArguments is the server's own limit.
const maxArguments = math.MaxUint16

// levels returns the text that counts the rows for each weight. A single weight
// is a condition on the rows, for which an index can be used.
func levels(rel *relation, weights []int64, conditions map[int64][]string) string {
	switch len(weights) {
	case 0:
		return "SELECT WHERE false"
	case 1:
		return "SELECT count(*)" + rel.from() + " WHERE " + anyOf(conditions[weights[0]])
	}
	var fields, all []string
	for _, weight := range weights {
		fields = append(fields, "count(*) FILTER (WHERE "+anyOf(conditions[weight])+")")
		all = append(all, conditions[weight]...)
	}
	return "SELECT " + strings.Join(fields, ", ") + rel.from() + " WHERE " + anyOf(all)
}

func (r *reader) countPushed(ctx context.Context, s statement, weights []int64) (int64, error) {
	var total int64
	err := r.rows(ctx, s, func(row [][]byte) bool {
		for i, w := range weights {
			total = addWeighted(total, w, int8Of(row[i]))
		}
		return true
	})
	return total, err
}

// countGrouped weighs each group of rows with equal values.
func (r *reader) countGrouped(ctx context.Context, rel *relation, columns []column, counted query.Query) (int64, error) {
	asked := counted.Columns()
	narrow, ok := query.Query{}, true
	if len(asked) > 0 {
		narrow, ok = counted.Project(asked)
	}
	if !ok {
		return 0, sqlerr.New(sqlerr.Internal, "a query depends on a column it does not name")
	}
	p := newPlan(rel, columns, asked)
	tuple := make([]query.Value, len(p.fetch))
	var total int64
	err := r.rows(ctx, p.statement(), func(row [][]byte) bool {
		if p.tuple(row, tuple) {
			weight := int64(1)
			if len(asked) > 0 {
				weight = narrow.Weight(tuple[:p.asked])
			} else {
				weight = counted.MaxWeight()
			}
			total = addWeighted(total, weight, int8Of(row[len(p.fetch)]))
		}
		return true
	})
	return total, err
}

// addWeighted returns total + w·n, at most 2^63-1; none of them is negative.
func addWeighted(total, w, n int64) int64 {
	hi, lo := bits.Mul64(uint64(w), uint64(n))
	sum, carry := bits.Add64(lo, uint64(total), 0)
	if hi != 0 || carry != 0 || sum > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(sum)
}
