package released

import "fmt"

// StoredNote is the note of stored answers in EXPLAIN.
const StoredNote = "stored"

// Way is one way to answer a SELECT of several queries.
type Way struct {
	Candidate                // the candidate for the first query
	Asks      []int          // the queries that it is a candidate for
	refusals  map[string]int // number of queries that it cannot answer, by reason
	reasons   []string       // the keys of refusals, in order of appearance
	chosen    int
	supports  SupportRange
	margins   []float64
	simulated []float64
}

// Ways are the ways to answer a SELECT, in order of appearance.
type Ways struct {
	All   []*Way
	index map[way]*Way
}

// way tells ways apart.
type way struct {
	origin     Origin
	kind, name string
}

// Add adds the candidate for query i.
func (w *Ways) Add(i int, c Candidate, a Asked, chosen bool) {
	key := way{c.Origin, c.Kind, c.Name}
	m := w.index[key]
	if m == nil {
		m = &Way{Candidate: c, refusals: make(map[string]int)}
		if w.index == nil {
			w.index = make(map[way]*Way)
		}
		w.index[key], w.All = m, append(w.All, m)
	}
	m.add(i, c, a, chosen)
}

func (m *Way) add(i int, c Candidate, a Asked, chosen bool) {
	m.Asks = append(m.Asks, i)
	m.supports.Add(c.Support)
	if c.Known && (c.Refusal == "" || c.Buys()) {
		m.margins = append(m.margins, c.Margin)
		if c.Simulated > 0 {
			m.simulated = append(m.simulated, c.Simulated)
		}
	}
	if chosen {
		m.chosen++
		return
	}
	if why := c.Why(a); why != "" {
		if m.refusals[why] == 0 {
			m.reasons = append(m.reasons, why)
		}
		m.refusals[why]++
	}
}

// Explained returns the way's row in EXPLAIN of a number of queries. Its support is left out if it
// is not known; planned says that all queries have a candidate.
func (m *Way) Explained(columns string, known bool, cost any, queries int, planned bool) []any {
	note := ""
	if m.chosen > 0 && planned {
		note = fmt.Sprintf("chosen for %d of %d queries", m.chosen, queries)
	} else if n := len(m.Asks); n < queries {
		note = fmt.Sprintf("for %d of %d queries", n, queries)
	}
	for _, why := range m.reasons {
		n := m.refusals[why]
		if n < len(m.Asks) {
			why = fmt.Sprintf("%s (%d)", why, n)
		}
		note = JoinNotes(note, why)
	}
	if m.Origin == FromStored {
		note = JoinNotes(note, StoredNote)
	}
	if len(m.simulated) > 0 {
		note = JoinNotes(note, BothMargins(MarginRange(m.margins), MarginRange(m.simulated)))
	}
	var support any
	if known && m.supports.Least.Known() {
		support = m.supports.String()
	}
	return []any{m.Name, m.Kind, columns, support, MarginRange(m.margins), cost, note}
}
