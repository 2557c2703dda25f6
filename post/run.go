package post

import (
	"slices"

	"dpsql/query"
	"dpsql/sqlvalue"
)

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
		out.values[i] = c.Of.value(r)
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
		private[i] = Private(c.Of) && !isMargin(c.Of)
	}
	t := Table{Rows: make([][]any, len(results)), Margins: make([][]any, len(results))}
	for i, r := range results {
		t.Rows[i], t.Margins[i] = make([]any, len(p.Columns)), make([]any, len(p.Columns))
		for j, c := range p.Columns {
			t.Rows[i][j] = r.values[j].Any()
			if private[j] {
				t.Margins[i][j] = margin(c.Of, r.values[j], r.from)
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
