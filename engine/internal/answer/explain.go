package answer

import (
	"context"
	"slices"
	"strings"

	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/schemas"
	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/source"
)

// Explain lists all the ways to answer SELECTs that are asked together, and their queries in
// canonical form. It spends nothing and reads no private row.
func (db *Database) Explain(ctx context.Context, who Asker, all []released.Selection) (*Statement, error) {
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
		for _, n := range p.Asks() {
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
	if p.reached == "" || !slices.ContainsFunc(p.Asks(), reads) {
		return nil
	}
	return [][]any{{"rows", nil, nil, nil, nil, nil, p.reached}}
}

// Explained returns the rows of EXPLAIN for a planned statement.
func (st *Statement) Explained() *released.Result {
	e := released.Explained{Refusal: st.chosen(), Parts: make([]released.ExplainedPart, len(st.Parts)), Asks: make([]released.Ask, len(st.Asks))}
	for i := range st.Parts {
		p := &st.Parts[i]
		e.Parts[i] = released.ExplainedPart{Part: p.Part, Table: p.Table.Name, Columns: p.Table.Columns, Rows: p.explainedReach(st),
			Unclear: func(columns []int) bool { return p.Table.Unclear(columns) != "" }}
	}
	for i := range st.Asks {
		a := &st.Asks[i]
		e.Asks[i] = released.Ask{Query: a.Query, Question: a.Question, Column: a.column, For: a.askedFor(), Candidates: a.Candidates, Best: a.Best}
	}
	why := e.Refusal
	if st.First != nil && len(st.Asks)+len(st.Parts) > 2 {
		why = st.First.chosen()
		e.First = []any{"(none)", nil, nil, nil, nil, nil, "the price follows from the number of rows, which is counted first"}
		if why != nil {
			e.First[6] = why.Error()
		} else if cost, _ := Total(st.First.Purchases()); cost.Rho > 0 {
			e.First[0], e.First[1], e.First[5] = "first", "direct", "ρ "+cost.Rho.String()
		}
	} else if why == nil && st.held {
		e.Last = st.explainedTurn()
	}
	e.Cost = st.costOf
	out := e.Result()
	out.Warnings, out.Price = st.warnings(why), st.price(why)
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

// price returns what the statement would take from all of its purses, the first runs of mechanisms included.
func (st *Statement) price(chosen error) *released.Price {
	if chosen != nil {
		return nil
	}
	p := &released.Price{Known: st.First == nil}
	if !p.Known {
		return p
	}
	most := 0.0 // the largest part that is taken of a purse
	for t, due := range st.Due {
		cost, _ := Total(due)
		takes := cost.Rho + st.starts(t)
		if takes == 0 {
			continue
		}
		p.Rho += takes
		left := purseOf(st.view, t, st.touched(st.bought()), st.Buyers.Of(t.Account), 0).left
		if part := takes.Float() / max(left, 1).Float(); part >= most {
			most, p.Left = part, left
		}
	}
	return p
}

// warnings returns the warnings that the statement would give, and the assumptions that its
// tables rely on.
func (st *Statement) warnings(chosen error) []string {
	all := slices.Clone(released.Joint{Parts: st.parts()}.Warnings())
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
