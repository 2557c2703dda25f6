// Package post makes the rows of a result out of private answers.
//
// Everything it computes is post-processing. It gets released integers with their error
// bars, the declared values of the groups' keys, and the expressions of the statement.
// It reads no table, so nothing that it does with the numbers costs privacy (Dwork and
// Roth 2014).
//
// Values are int64, float64, string, and nil for NULL, computed as SQLite computes
// them. At the confidence asked for, an interval holds the true value, the one that exact
// answers would give, and the value itself, which need not be its middle: it is an end where
// a fit has an answer outside what is proven of it. The interval of a mean or a quantile is
// within the range of the values. A margin is the larger distance to an end. The confidence is
// that of each column and row by itself.
package post

import (
	"cmp"
	"math"
	"slices"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
)

// Answer is a private answer to one linear query.
type Answer struct {
	Value int64
	// Error returns an interval that holds the true value less Value, at a confidence in
	// (0, 1). It returns false if nothing is promised.
	Error func(confidence float64) (Interval, bool)
	// Less is what was taken off for each record, of the sum inside a mean; nil of another answer.
	Less *int64
	// Variance returns the σ² of an answer with discrete Gaussian noise of its own, 0 of another. It
	// may be nil.
	Variance func() float64
	// Distribution is not nil if the answer is about a column's distribution. Value is then
	// the number of records.
	Distribution *Distribution
}

// Interval is a closed interval of numbers.
type Interval struct{ Low, High float64 }

// Unknown says why a number has no interval, as what follows "where".
type Unknown string

// The reasons.
const (
	Unproven Unknown = "unverified"
	NoRule   Unknown = "no rule gives one"  // for CASE, comparisons and the like
	MayBeNil Unknown = "a divisor may be 0" // or a count
	Beyond   Unknown = "a number may be beyond 64 bits"
)

// Within returns the interval from -width to width.
func Within(width float64) Interval { return Interval{-width, width} }

// Reach returns the largest distance of a number of the interval from 0.
func (i Interval) Reach() float64 { return max(i.High, -i.Low, 0) }

// Plus returns the interval moved by x.
func (i Interval) Plus(x float64) Interval { return Interval{i.Low + x, i.High + x} }

// times returns the interval of the multiples by x.
func (i Interval) times(x float64) Interval {
	if x < 0 {
		return Interval{x * i.High, x * i.Low}
	}
	return Interval{x * i.Low, x * i.High}
}

// Beyond returns the interval of an error without the ends that lie beyond 64 bits from an answer. True
// counts and answers stay at the end of their range there, so that an interval which reaches it holds the
// end, and the true number may be anywhere behind.
func (i Interval) Beyond(answer int64) Interval {
	if float64(answer)+i.High >= 1<<63 {
		i.High = math.Inf(1)
	}
	if float64(answer)+i.Low <= -1<<63 {
		i.Low = math.Inf(-1)
	}
	return i
}

func (i Interval) finite() bool {
	return !math.IsNaN(i.Low) && !math.IsNaN(i.High) && !math.IsInf(i.Low, 0) && !math.IsInf(i.High, 0)
}

// Group holds the keys and answers of one row of the result.
type Group struct {
	Keys    []query.Value // the values of the grouped expressions
	Answers []Answer      // the answers to the statement's linear queries
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

// Program makes rows from groups. It is the part of a SELECT that follows the answers.
type Program struct {
	Columns  []Column
	Having   Expr // nil if every group stays
	Distinct bool
	Order    []Order
	Offset   int64
	Limit    int64 // negative: no limit
}

// Table has the rows of a result and, in the same shape, their margins and intervals. A
// margin is a float64, an interval an Interval, or a Span of dates and timestamps, whose margin
// is in days. Both are nil if the value is NULL or itself public. If it has none, the interval is
// an Unknown.
type Table struct {
	Rows, Margins, Intervals [][]any
	// Bounds has a Bound for each MARGIN, LOW and HIGH of a row; nil if no column is one.
	Bounds [][]any
}

// Bound says how to round a MARGIN(x), LOW(x) or HIGH(x): to the places of the margin of x, up,
// or down for LOW.
type Bound struct {
	Margin float64
	Down   bool
}

// row is a group while its row is computed.
type row struct {
	keys       []query.Value
	answers    []Answer
	confidence float64
	cells      []Cell // in the place of keys and answers, see Enclose
	chosenReal bool   // numbers that a Choice chooses are REAL
}

// result is a row of the result with its sort keys.
type result struct {
	from   *row
	values []sqlvalue.Value
	order  []sqlvalue.Value
}

// Run computes the rows of the groups: HAVING, the select list, DISTINCT, ORDER BY,
// LIMIT. Ties keep the order of the groups. Margins hold at the given confidence, in
// (0, 1).
func (p *Program) Run(groups []Group, confidence float64) Table {
	results := make([]result, 0, len(groups))
	var seen map[string]bool
	if p.Distinct {
		seen = make(map[string]bool)
	}
	for _, g := range groups {
		r := &row{keys: g.Keys, answers: g.Answers, confidence: confidence}
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

// sort orders rows as SQLite does, NULL first. Ties keep their order.
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

// cut applies OFFSET and LIMIT.
func (p *Program) cut(results []result) []result {
	results = results[min(max(p.Offset, 0), int64(len(results))):]
	if p.Limit >= 0 {
		results = results[:min(p.Limit, int64(len(results)))]
	}
	return results
}

// table returns the remaining rows and their margins.
func (p *Program) table(results []result) Table {
	private := make([]bool, len(p.Columns))
	for i, c := range p.Columns {
		private[i] = Private(c.Value) && !isMargin(c.Value)
	}
	n, width := len(results), len(p.Columns)
	lines := make([][]any, 3*n) // one allocation for three tables: a count is answered in microseconds
	t := Table{Rows: lines[:n:n], Margins: lines[n : 2*n : 2*n], Intervals: lines[2*n:]}
	for i, r := range results {
		cells := make([]any, 3*width)
		t.Rows[i], t.Margins[i], t.Intervals[i] = cells[:width:width], cells[width:2*width:2*width], cells[2*width:]
		for j, c := range p.Columns {
			t.Rows[i][j] = r.values[j].Any()
			if !private[j] {
				continue
			}
			if around, ok := errorOf(c.Value, r.values[j], r.from); ok {
				t.Margins[i][j], t.Intervals[i][j] = around.margin, around.ends()
			} else if !r.values[j].IsNull() {
				t.Intervals[i][j] = cmp.Or(around.why, MayBeNil)
			}
		}
	}
	if slices.ContainsFunc(p.Columns, func(c Column) bool { return isMargin(c.Value) }) {
		t.Bounds = p.bounds(results)
	}
	return t
}

// bounds returns the Bounds of a table.
func (p *Program) bounds(results []result) [][]any {
	all := make([][]any, len(results))
	for i, r := range results {
		all[i] = make([]any, len(p.Columns))
		for j, c := range p.Columns {
			if m, ok := c.Value.(Margin); ok {
				if around, known := errorOf(m.Operand, m.Operand.value(r.from), r.from); known {
					all[i][j] = Bound{around.margin, m.Of == Low}
				}
			}
		}
	}
	return all
}

func isMargin(e Expr) bool {
	_, yes := e.(Margin)
	return yes
}

// encode returns the same text for rows that DISTINCT takes as equal: 1 and 1.0 are
// equal, and so are two NULLs.
func encode(values []sqlvalue.Value) string {
	var b []byte
	for _, v := range values {
		b = v.Canonical().AppendTo(b)
	}
	return string(b)
}
