package answer

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlfront"
)

// longest is the number of bytes of a canonical query that EXPLAIN prints.
const longest = 2000

// Explain lists all the ways to answer SELECTs that are asked together, and their queries in
// canonical form. It spends nothing and reads no private row.
func (db *Database) Explain(ctx context.Context, who Asker, all []Selection) (*Statement, error) {
	st, err := db.Plan(ctx, who, all, Planning{Explaining: true})
	if err == nil {
		st.reach(ctx)
	}
	return st, err
}

// reach finds out how the rows would be reached that count in the queries of tables with periods.
func (st *Statement) reach(ctx context.Context) {
	for i := range st.Parts {
		p := &st.Parts[i]
		var queries []query.Query
		var touched period.Ranges
		for _, n := range p.asksOf() {
			q := st.Asks[n].Query
			queries, touched = append(queries, q), touched.Union(p.Table.Touched(q))
		}
		over, some := touched.Hull()
		if a, known := st.Database.rows.Access(ctx, p.Table, queries...); known && some {
			p.reached = rows.Reached(a, p.Table.Partition.Text(over))
		}
	}
}

// explainedReach returns the row that says how the rows of a part are reached. There is none if
// no row is read for an answer that was chosen.
func (p *Part) explainedReach(st *Statement) [][]any {
	reads := func(n int) bool {
		return st.Asks[n].Best == nil || st.Asks[n].Best.Buys() || st.Asks[n].Best.Origin == released.FromMechanism
	}
	if p.reached == "" || !slices.ContainsFunc(p.asksOf(), reads) {
		return nil
	}
	return [][]any{{"rows", nil, nil, nil, nil, nil, p.reached}}
}

// Explained returns the rows of EXPLAIN for a planned statement.
func (st *Statement) Explained() *released.Result {
	if len(st.Asks) != 1 || len(st.Parts) != 1 {
		return st.explain()
	}
	chooseErr := st.chosen()
	a := &st.Asks[0]
	var rows [][]any
	for i := range a.Candidates {
		c := &a.Candidates[i]
		rows = append(rows, c.Explained(view.ColumnNames(a.Table, c.Columns), shownSupport(a.Table, c.Columns, c.Support), a.askedFor(), chooseErr == nil && c == a.Best))
	}
	if chooseErr != nil {
		rows = append(rows, []any{"(none)", nil, nil, nil, nil, nil, chooseErr.Error()})
	}
	rows = append(rows, st.Parts[0].explainedReach(st)...)
	rows = append(rows, []any{"query", nil, nil, shownSupport(a.Table, nil, released.SupportOf(a.Query)), nil, nil, questionText(a.Table, a.Question, a.column, a.Query)})
	if chooseErr == nil && st.held {
		rows = append(rows, st.explainedTurn()...)
	}
	out := released.Explanation("REAL", rows...)
	out.Warnings = st.warnings(chooseErr)
	return out
}

// chosen chooses, and marks the direct answers that a charge waits for.
func (st *Statement) chosen() error {
	if err := st.Choose(); err != nil {
		return err
	}
	served := st.served(st.Purchases())
	for i := range st.Asks {
		a := &st.Asks[i]
		for j := range a.Candidates {
			a.Candidates[j].Waits = a.Candidates[j].Buys() && served[a.Table.ID]
		}
	}
	return nil
}

// warnings returns the warnings that the statement would give, and the assumptions that its
// tables rely on.
func (st *Statement) warnings(chosen error) []string {
	all := slices.Clone(st.bindingWarnings())
	if warning := st.caution(); chosen == nil && warning != "" {
		all = append(all, warning)
	}
	for i := range st.Parts {
		if t := st.Parts[i].Table; t.Outside != nil && strings.HasSuffix(t.SourceSchema, source.Apart) {
			all = released.AppendNew(all, schemas.Moving)
		}
	}
	return all
}

// questionText returns what is asked about a canonical query.
func questionText(t *view.Table, of sqlfront.Question, column int, q query.Query) string {
	switch of {
	case sqlfront.Units:
		return "units with a row in " + queryText(q)
	case sqlfront.Order:
		return "distribution of " + t.Columns[column].Name + " in " + queryText(q)
	case sqlfront.DistinctValues:
		return "values of " + t.Columns[column].Name + " in " + queryText(q)
	}
	return queryText(q)
}

// queryText returns a canonical query, cut after longest bytes.
func queryText(q query.Query) string {
	text := q.Shown(longest)
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// shownSupport returns a support over some columns as EXPLAIN prints it: NULL if it is
// unknown.
func shownSupport(t *view.Table, columns []int, support released.SupportSize) any {
	if !support.Known() || t.Unclear(columns) != "" {
		return nil
	}
	return support.String()
}

// explain explains a statement of several queries. For each part it lists each way to answer
// once, with the ranges of the supports and predicted margins, and the total cost.
func (st *Statement) explain() *released.Result {
	err := st.chosen()
	var rows [][]any
	for i := range st.Parts {
		p := &st.Parts[i]
		asks := p.asksOf()
		if len(st.Parts) > 1 {
			rows = append(rows, []any{fmt.Sprintf("core %d", i+1), "private", nil, nil, nil, nil, "an aggregate of " + p.Table.Name})
		}
		for _, m := range st.ways(asks).All {
			var cost any = "0"
			if m.Buys() {
				cost = st.costOf(m.Asks)
			}
			rows = append(rows, m.Explained(view.ColumnNames(p.Table, m.Columns), p.Table.Unclear(m.Columns) == "", cost, len(asks), err == nil))
		}
		rows = append(rows, p.explainedReach(st)...)
		rows = append(rows, p.explainedSlots()...)
	}
	if st.First != nil {
		err = st.First.chosen()
	}
	if err != nil || st.First != nil {
		none := []any{"(none)", nil, nil, nil, nil, nil, "the price follows from the number of rows, which is counted first"}
		if err != nil {
			none[6] = err.Error()
		} else if cost, _ := Total(st.First.Purchases()); cost.Rho > 0 {
			none[0], none[1], none[5] = "first", "direct", "ρ "+cost.Rho.String()
		}
		at := len(rows)
		if len(st.Parts) == 1 { // before the queries
			at -= len(st.Parts[0].bound.Slots)
		}
		rows = slices.Insert(rows, at, none)
	} else if st.held {
		rows = append(rows, st.explainedTurn()...)
	}
	out := released.Explanation("TEXT", rows...)
	out.Warnings = st.warnings(err)
	return out
}

// explainedSlots returns the rows for the queries of a part.
func (p *Part) explainedSlots() (rows [][]any) {
	for k, slot := range p.bound.Slots {
		name := "query"
		if len(p.bound.Slots) > 1 {
			name += " " + strconv.Itoa(k+1)
		}
		note := questionText(p.Table, slot.Question, slot.Column, slot.Base)
		if n := p.bound.Sets[k/p.bound.Width()]; n > 1 {
			note = fmt.Sprintf("in each of %d groups: %s", n, note)
		}
		var support any
		if p.Table.Unclear(nil) == "" {
			support = released.SupportOf(slot.Base).String()
		}
		rows = append(rows, []any{name, nil, nil, support, nil, nil, note})
	}
	return rows
}

// ways groups the candidates of queries by name.
func (st *Statement) ways(asks []int) (all released.Ways) {
	for _, i := range asks {
		a := &st.Asks[i]
		for j := range a.Candidates {
			c := &a.Candidates[j]
			all.Add(i, *c, a.askedFor(), c == a.Best)
		}
	}
	return all
}

// costOf returns the price of direct answers to the queries, or nil if there is none.
func (st *Statement) costOf(asks []int) any {
	accuracy := st.settings.Accuracy
	if accuracy == 0 {
		accuracy = st.suggested()
	}
	cost, ok := Total(st.priced(st.slotsOf(asks), accuracy))
	if !ok || slices.ContainsFunc(asks, func(n int) bool { return st.Asks[n].waits }) {
		return nil
	}
	return "ρ " + cost.Rho.String()
}
