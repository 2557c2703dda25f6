package postgres

import (
	"context"
	"math"
	"slices"
	"strconv"

	"dpsql/query"
	"dpsql/source"
)

// Count implements source.Reader. A query of few terms is one statement with a count
// for each weight. Any other query is counted by the values of the columns that it
// depends on. For a table with a unit the server sends the rows of the units that have a
// row with a weight.
func (r *reader) Count(ctx context.Context, p source.Permit, t source.Table, counted query.Query) (int64, error) {
	if err := source.Admit(p, t); err != nil {
		return 0, err
	}
	if err := t.CheckUnit(); err != nil {
		return 0, err
	}
	if err := t.Over(counted.Universe()); err != nil {
		return 0, err
	}
	t = t.For(counted)
	var total int64
	err := r.read(ctx, t, func(rel *relation) error {
		rows, err := rowsOf(rel, t)
		if err != nil {
			return err
		}
		if t.Unit != "" {
			total, err = r.countKept(ctx, rel, rows, t, counted)
		} else {
			total, err = r.count(ctx, rows, counted)
		}
		return err
	})
	r.answered = r.answered || err == nil
	return total, err
}

// CountUnits implements source.Reader. The server sorts the rows by unit.
func (r *reader) CountUnits(ctx context.Context, p source.Permit, t source.Table, queries []query.Query) (counts []int64, err error) {
	if err := source.Admit(p, t); err != nil {
		return nil, err
	}
	if err := t.CheckUnit(); err != nil {
		return nil, err
	}
	err = r.read(ctx, t, func(rel *relation) error {
		c, err := source.NewUnitCounter(t, queries)
		if err != nil {
			return err
		}
		rows, err := rowsOf(rel, t.For(queries...))
		if err != nil {
			return err
		}
		u, err := rel.unit(t)
		if err != nil {
			return err
		}
		counts = c.Counts
		return r.streamKept(ctx, rel, rows, t, u, c.Columns, func(tuple []query.Value) bool { c.Add(tuple); return true }, c.End)
	})
	r.answered = r.answered || err == nil
	return counts, err
}

// count weighs the rows.
func (r *reader) count(ctx context.Context, rows rowset, counted query.Query) (int64, error) {
	if s, weights, ok := pushed(rows, counted); ok {
		return r.countPushed(ctx, s, weights)
	}
	return r.countGrouped(ctx, rows, counted)
}

// countKept weighs the rows that are kept of each unit.
func (r *reader) countKept(ctx context.Context, rel *relation, all rowset, t source.Table, counted query.Query) (int64, error) {
	u, err := rel.unit(t)
	if err != nil {
		return 0, err
	}
	var total int64
	asked, weight := weigher(counted)
	err = r.streamKept(ctx, rel, all.ofUnits(rel, u, counted), t, u, asked, func(tuple []query.Value) bool {
		total = source.AddWeighted(total, weight(tuple), 1)
		return true
	}, nil)
	return total, err
}

// ofUnits returns the rows of the units of which a row has a weight, or all rows if SQL cannot express
// that.
func (s rowset) ofUnits(rel *relation, u column, counted query.Query) rowset {
	w := writer{slices.Clip(s.args)}
	if l, ok := w.levels(s.columns, counted); ok && len(counted.Columns()) > 0 {
		s.limit = allOf([]string{s.limit, u.text + " IN (SELECT " + u.text + rel.from() + " WHERE " + allOf([]string{s.limit, u.fits, l.any()}) + ")"})
		s.args = w.args
	}
	return s
}

// levels has the conditions of rows by their weights. By bytes no row meets two of them.
type levels struct {
	weights    []int64
	conditions [][]string
	common     string // what every row must also meet
}

// levels returns the levels of a query, or false if SQL cannot express them. Columns
// that every term leaves free go into the common condition, because their domains can
// be long lists.
func (w *writer) levels(columns []column, counted query.Query) (levels, bool) {
	terms, ok := counted.Terms(maxTerms)
	if !ok {
		return levels{}, false
	}
	free, bound := divided(columns, terms)
	var l levels
	place := make(map[int64]int)
	for _, term := range terms {
		condition, ok := w.conjunction(picked(columns, bound), picked(term.Sets, bound))
		if !ok {
			return levels{}, false
		}
		i, known := place[term.Weight]
		if !known {
			i = len(l.weights)
			place[term.Weight] = i
			l.weights, l.conditions = append(l.weights, term.Weight), append(l.conditions, nil)
		}
		l.conditions[i] = append(l.conditions[i], condition)
	}
	l.common, ok = w.conjunction(picked(columns, free), domains(picked(columns, free)))
	return l, ok && len(l.weights) <= maxLevels && len(w.args) <= maxArguments
}

// divided separates the columns that every term leaves free from the others.
func divided(columns []column, terms []query.Term) (free, bound []int) {
	for i := range columns {
		if slices.ContainsFunc(terms, func(t query.Term) bool { return !t.Sets[i].IsAll() }) {
			bound = append(bound, i)
		} else {
			free = append(free, i)
		}
	}
	return free, bound
}

func picked[T any](all []T, places []int) []T {
	out := make([]T, len(places))
	for i, p := range places {
		out[i] = all[p]
	}
	return out
}

// any returns the condition that a row has a weight.
func (l levels) any() string {
	return allOf([]string{anyOf(slices.Concat(l.conditions...)), l.common})
}

// maxArguments stays below the server's own limit, to leave room for other parameters.
const maxArguments = math.MaxUint16 - 1_000

// pushed returns the statement that counts the rows of each weight, with its number, or
// false if there is none. However values are compared, a row has one weight. A single
// weight becomes a condition on the rows, for which the server can use an index.
func pushed(rows rowset, counted query.Query) (statement, []int64, bool) {
	w := writer{slices.Clip(rows.args)}
	l, ok := w.levels(rows.columns, counted)
	switch {
	case !ok:
		return statement{}, nil, false
	case len(l.weights) == 0:
		return statement{text: "SELECT WHERE false"}, nil, true
	}
	level, group := "0", ""
	if len(l.weights) > 1 {
		level, group = "CASE", " GROUP BY 1"
		for i, conditions := range l.conditions {
			level += " WHEN " + anyOf(conditions) + " THEN " + strconv.Itoa(i)
		}
		level += " END"
	}
	text := rows.each("SELECT "+level+"::int8, count(*)", " WHERE "+allOf([]string{rows.limit, l.any()})+group)
	return statement{text: text, args: w.args}, l.weights, true
}

func (r *reader) countPushed(ctx context.Context, s statement, weights []int64) (int64, error) {
	var total int64
	err := r.rows(ctx, s, func(row [][]byte) bool {
		if i := int8Of(row[0]); row[0] != nil && i < int64(len(weights)) {
			total = source.AddWeighted(total, weights[i], int8Of(row[1]))
		}
		return true
	})
	return total, err
}

// countGrouped weighs each group of rows with equal values.
func (r *reader) countGrouped(ctx context.Context, rows rowset, counted query.Query) (int64, error) {
	asked, weight := weigher(counted)
	p := newPlan(rows, asked)
	tuple := make([]query.Value, len(p.fetch))
	var total int64
	err := r.rows(ctx, p.statement(), func(row [][]byte) bool {
		if p.tuple(row, tuple) {
			total = source.AddWeighted(total, weight(tuple[:p.asked]), int8Of(row[len(p.fetch)]))
		}
		return true
	})
	return total, err
}

// weigher returns the columns that a query depends on, and a function from their values
// to the weight.
func weigher(counted query.Query) ([]int, func([]query.Value) int64) {
	asked := counted.Columns()
	if narrow, ok := counted.Project(asked); ok && len(asked) > 0 {
		return asked, narrow.Weight
	}
	weight := counted.MaxWeight()
	if terms, _ := counted.Terms(1); len(terms) == 0 {
		weight = 0
	}
	return nil, func([]query.Value) int64 { return weight }
}
