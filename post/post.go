// Package post makes the rows of a result out of private answers.
//
// What it computes is post-processing: it gets integers that were released and
// their error bars, the declared values that groups are made of, and the
// expressions of the statement. It reads no table, so nothing that it does with the
// numbers costs privacy (Dwork and Roth 2014).
//
// Values are int64, float64, string and nil for NULL, and are computed as
// SQLite computes them. A margin is a half-width around a value that holds the
// true value, the one that exact answers would give, at the confidence asked
// for, each for its own column and row.
package post

import (
	"slices"

	"dpsql/query"
	"dpsql/sqlvalue"
)

// Answer is a private answer to one linear query.
type Answer struct {
	Value int64
	// HalfWidth returns how far the true value can be from Value at a confidence
	// in (0, 1). It is false if nothing is promised.
	HalfWidth func(confidence float64) (float64, bool)
}

// Group holds the keys and answers of one row of the result.
type Group struct {
	Keys    []query.Value // the values of the grouped expressions
	Answers []Answer      // to the statement's linear queries
}

// Type is the SQL type of a column of a result.
type Type string

// The types.
const (
	Integer Type = "INTEGER"
	Real    Type = "REAL"
	Text    Type = "TEXT"
)

// Column is one column of the result.
type Column struct {
	Name  string
	Value Expr
}

// Order is one term of ORDER BY.
type Order struct {
	By         Expr
	Descending bool
}

// Program makes rows of groups: the part of a SELECT that follows the answers.
type Program struct {
	Columns  []Column
	Having   Expr // nil: every group stays
	Distinct bool
	Order    []Order
	Offset   int64
	Limit    int64 // negative: no limit
}

// Table is the rows of a result and, in the same shape, their margins: float64,
// nil where a value has none or is itself public.
type Table struct{ Rows, Margins [][]any }

// row is a group while its row is computed.
type row struct {
	keys       []query.Value
	answers    []Answer
	confidence float64
}

// result is a row of the result with what it is sorted by.
type result struct {
	from   *row
	values []sqlvalue.Value
	order  []sqlvalue.Value
}

// Run computes the rows of the groups, which are in the order that ties keep:
// HAVING, the select list, DISTINCT, ORDER BY, LIMIT. Margins hold at the given
// confidence, in (0, 1).
func (p *Program) Run(groups []Group, confidence float64) Table {
	results := make([]result, 0, len(groups))
	var seen map[string]bool
	if p.Distinct {
		seen = make(map[string]bool)
	}
	for _, g := range groups {
		r := &row{g.Keys, g.Answers, confidence}
		if p.Having != nil && truthOf(p.Having.value(r)) != yes {
			continue
		}
		out := p.result(r)
		if p.Distinct {
			key := encode(out.values)
			if seen[key] {
				continue
			}
			seen[key] = true
		}
		results = append(results, out)
	}
	p.sort(results)
	return p.table(p.cut(results))
}

func (p *Program) result(r *row) result {
	out := result{from: r, values: make([]sqlvalue.Value, len(p.Columns)), order: make([]sqlvalue.Value, len(p.Order))}
	for i, c := range p.Columns {
		out.values[i] = c.Value.value(r)
	}
	for i, o := range p.Order {
		out.order[i] = o.By.value(r)
	}
	return out
}

// sort orders rows as SQLite does, NULL first, and leaves ties as they were.
func (p *Program) sort(results []result) {
	if len(p.Order) == 0 {
		return
	}
	slices.SortStableFunc(results, func(a, b result) int {
		for i, o := range p.Order {
			c := a.order[i].Compare(b.order[i])
			if o.Descending {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
}

// cut keeps the rows that OFFSET and LIMIT leave.
func (p *Program) cut(results []result) []result {
	results = results[min(max(p.Offset, 0), int64(len(results))):]
	if p.Limit >= 0 {
		results = results[:min(p.Limit, int64(len(results)))]
	}
	return results
}

// table writes the rows that are left, and their margins.
func (p *Program) table(results []result) Table {
	private := make([]bool, len(p.Columns))
	for i, c := range p.Columns {
		private[i] = Private(c.Value) && !isMargin(c.Value)
	}
	t := Table{Rows: make([][]any, len(results)), Margins: make([][]any, len(results))}
	for i, r := range results {
		t.Rows[i], t.Margins[i] = make([]any, len(p.Columns)), make([]any, len(p.Columns))
		for j, c := range p.Columns {
			t.Rows[i][j] = r.values[j].Any()
			if private[j] {
				t.Margins[i][j] = margin(c.Value, r.values[j], r.from)
			}
		}
	}
	return t
}

func isMargin(e Expr) bool {
	_, yes := e.(Margin)
	return yes
}

// encode gives rows that DISTINCT takes as equal one text: 1 and 1.0 are, and
// so are two NULLs.
func encode(values []sqlvalue.Value) string {
	var b []byte
	for _, v := range values {
		b = v.Canonical().AppendTo(b)
	}
	return string(b)
}
