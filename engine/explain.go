package engine

import (
	"context"
	"slices"
	"strings"

	"dpsql/engine/internal/declare"
	"dpsql/engine/internal/view"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlfront"
)

// longest is the most of a canonical query that EXPLAIN prints.
const longest = 2000

// explain lists every way in which a query could be answered, and the query in
// canonical form. It spends nothing and reads no private row.
func (s *Session) explain(ctx context.Context, sel *sqlfront.Select, args []query.Value) (*Result, error) {
	st, err := s.plan(ctx, sel, args, planning{explaining: true})
	if err != nil {
		return nil, err
	}
	return st.explained(), nil
}

// explainColumns are the columns of EXPLAIN; its margins are numbers, or ranges.
func explainColumns(margin string) []Column {
	return []Column{{"candidate", "TEXT"}, {"kind", "TEXT"}, {"columns", "TEXT"}, {"m", "TEXT"}, {"margin", margin}, {"cost", "TEXT"}, {"note", "TEXT"}}
}

// explained is what EXPLAIN says of a statement that was planned.
func (st *statement) explained() *Result {
	if len(st.asks) != 1 {
		return st.explain()
	}
	chooseErr := st.choose()
	a := &st.asks[0]
	out := &Result{Warnings: st.warnings(chooseErr), Columns: explainColumns("REAL")}
	for i := range a.candidates {
		c := &a.candidates[i]
		out.Rows = append(out.Rows, c.explained(a.request, chooseErr == nil && c == a.best))
	}
	if chooseErr != nil {
		out.Rows = append(out.Rows, []any{"(none)", nil, nil, nil, nil, nil, chooseErr.Error()})
	}
	out.Rows = append(out.Rows, []any{"query", nil, nil, shownSupport(a.table, nil, view.SupportOf(a.query)), nil, nil, queryText(a.query)})
	return out
}

// warnings are those that the statement would have, and what the table relies on.
func (st *statement) warnings(chosen error) []string {
	all := slices.Clone(st.bound.Warnings)
	if warning := st.caution(); chosen == nil && warning != "" {
		all = append(all, warning)
	}
	if st.table.Outside != nil && strings.HasSuffix(st.table.SourceSchema, source.Apart) {
		all = append(all, declare.Moving)
	}
	return all
}

// queryText is a canonical query, cut where it is long.
func queryText(q query.Query) string {
	text := q.String()
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// explained is a candidate's row.
func (c candidate) explained(r request, best bool) []any {
	note := c.note
	if best {
		note = joinNotes("chosen", note)
	} else if why := c.why(r); why != "" {
		note = joinNotes(why, note)
	}
	var margin any
	if c.known && (c.refusal == "" || c.buys()) {
		margin = c.margin
	}
	cost := "0"
	if !c.free() {
		cost = "ρ " + view.Short(c.cost.Rho.Float())
	}
	return []any{c.name, c.kind, briefList(view.ColumnNames(r.table, c.columns)), shownSupport(r.table, c.columns, c.support), margin, cost, note}
}

// shown is a support over some columns as EXPLAIN prints it, NULL where it is
// not known.
func shownSupport(t *view.Table, columns []int, support view.SupportSize) any {
	if !support.Known() || t.Unclear(columns) != "" {
		return nil
	}
	return briefNumber(support.String())
}

// why says why a candidate is passed over; "" where another one is better.
func (c candidate) why(r request) string {
	switch {
	case c.refusal != "":
		return "not: " + c.refusal
	case !c.allowed(r.settings.Mechanism):
		return "not: SET mechanism = " + r.settings.Mechanism
	case c.origin == fromScript && !c.reaches(r.settings.Accuracy):
		return "not known to reach SET accuracy = " + view.Counts(r.asked)
	case !c.reaches(r.settings.Accuracy):
		return "not: beyond SET accuracy = " + view.Counts(r.asked)
	}
	return ""
}

func joinNotes(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "; " + b
}
