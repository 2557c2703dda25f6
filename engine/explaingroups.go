package engine

import (
	"fmt"
	"strconv"

	"dpsql/engine/internal/view"
)

// explain lists the ways to answer a statement of several queries, each once:
// the supports and predicted margins of its queries as ranges, its cost in all.
func (st *statement) explain() *Result {
	err := st.choose()
	out := &Result{Warnings: st.warnings(err), Columns: explainColumns("TEXT")}
	for _, m := range st.merged() {
		out.Rows = append(out.Rows, m.row(st, err == nil))
	}
	if err != nil {
		out.Rows = append(out.Rows, []any{"(none)", nil, nil, nil, nil, nil, err.Error()})
	}
	for k, slot := range st.bound.Slots {
		name := "query"
		if len(st.bound.Slots) > 1 {
			name += " " + strconv.Itoa(k+1)
		}
		note := queryText(slot.Base)
		if n := len(st.bound.Groups); n > 1 {
			note = fmt.Sprintf("in each of %d groups: %s", n, note)
		}
		var support any
		if st.table.Unclear(nil) == "" {
			support = view.SupportOf(slot.Base).String()
		}
		out.Rows = append(out.Rows, []any{name, nil, nil, support, nil, nil, note})
	}
	return out
}

// manyCandidates is one way to answer, over all queries of a statement.
type manyCandidates struct {
	candidate                // as it is for the first query
	asks      []int          // those it is a candidate of
	refusals  map[string]int // how many it cannot answer, by the reason
	reasons   []string       // in order of appearance
	chosen    int
	supports  view.SupportRange
	margins   []float64
}

// merged collects the candidates of the queries by name, in order of appearance.
func (st *statement) merged() []*manyCandidates {
	var all []*manyCandidates
	type way struct {
		origin     origin
		kind, name string
	}
	index := make(map[way]*manyCandidates)
	for i := range st.asks {
		a := &st.asks[i]
		for j := range a.candidates {
			c := &a.candidates[j]
			key := way{c.origin, c.kind, c.name}
			m := index[key]
			if m == nil {
				m = &manyCandidates{candidate: *c, refusals: make(map[string]int)}
				index[key], all = m, append(all, m)
			}
			m.add(i, *c, a.request, c == a.best)
		}
	}
	return all
}

// add notes what a candidate is for one query.
func (m *manyCandidates) add(i int, c candidate, r request, chosen bool) {
	m.asks = append(m.asks, i)
	m.supports.Add(c.support)
	if c.known && (c.refusal == "" || c.buys()) {
		m.margins = append(m.margins, c.margin)
	}
	if chosen {
		m.chosen++
		return
	}
	if why := c.why(r); why != "" {
		if m.refusals[why] == 0 {
			m.reasons = append(m.reasons, why)
		}
		m.refusals[why]++
	}
}

// row writes the candidate.
func (m *manyCandidates) row(st *statement, planned bool) []any {
	note := ""
	if m.chosen > 0 && planned {
		note = fmt.Sprintf("chosen for %d of %d queries", m.chosen, len(st.asks))
	} else if n := len(m.asks); n < len(st.asks) {
		note = fmt.Sprintf("for %d of %d queries", n, len(st.asks))
	}
	for _, why := range m.reasons {
		n := m.refusals[why]
		if n < len(m.asks) {
			why = fmt.Sprintf("%s (%d)", why, n)
		}
		note = joinNotes(note, why)
	}
	if m.origin == fromStored {
		note = joinNotes(note, storedNote)
	}
	cost := "0"
	if m.buys() {
		cost = st.costOf(m.asks)
	}
	var support any
	if m.supports.Least.Known() && st.table.Unclear(m.columns) == "" {
		support = m.supports.String()
	}
	return []any{m.name, m.kind, view.ColumnNames(st.table, m.columns), support, marginRange(m.margins), cost, note}
}

// costOf prices direct answers to queries.
func (st *statement) costOf(asks []int) string {
	accuracy := st.settings.Accuracy
	if accuracy == 0 {
		accuracy = suggested
	}
	cost, ok := total(st.priced(st.slotsOf(asks), accuracy))
	if !ok {
		return "unknown"
	}
	return "ρ " + view.Short(cost.Rho.Float())
}

// marginRange writes half-widths as their range; nil where there are none.
func marginRange(margins []float64) any {
	if len(margins) == 0 {
		return nil
	}
	least, most := margins[0], margins[0]
	for _, m := range margins {
		least, most = min(least, m), max(most, m)
	}
	if least == most {
		return view.Counts(most)
	}
	return view.Counts(least) + " to " + view.Counts(most)
}
