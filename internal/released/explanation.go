package released

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dpsql/query"
	"dpsql/sqlfront"
)

// Explanation returns a result of EXPLAIN. Rows have a candidate, its kind, its columns, m, the
// margin, the cost and a note. margin is the type of the margins in the brief form, which leaves the
// columns out: REAL for one query, TEXT for ranges.
func Explanation(margin string, rows ...[]any) *Result {
	out := &Result{Columns: ExplanationColumns()}
	out.Columns[explainedSupport].Type, out.Columns[explainedMargin].Type = "TEXT", margin
	out.Brief = &Result{Columns: slices.Delete(slices.Clone(out.Columns), explainedColumns, explainedColumns+1)}
	out.Columns[explainedSupport].Type, out.Columns[explainedMargin].Type = "INTEGER", "REAL" // as long as all are numbers
	out.Explain(rows...)
	return out
}

// ExplanationColumns returns the columns of an Explanation. Whether there are ranges among m and the
// margins is not known before: to a client that asks for types they are texts.
func ExplanationColumns() (columns []Column) {
	for _, name := range []string{"candidate", "kind", "columns", "m", "margin", "cost", "note"} {
		columns = append(columns, ColumnOf(name, "TEXT"))
	}
	columns[explainedSupport].Type, columns[explainedMargin].Type = "", ""
	return columns
}

// Places in a row of an Explanation.
const (
	explainedColumns = 2
	explainedSupport = 3
	explainedMargin  = 4
	explainedCost    = 5
)

// Explain adds rows to an Explanation and to its brief form.
func (r *Result) Explain(rows ...[]any) {
	for _, row := range rows {
		r.Rows = append(r.Rows, row)
		for _, i := range []int{explainedSupport, explainedMargin} {
			if _, isText := r.Columns[i].Value(row[i]).(string); isText {
				r.Columns[i].Type = "TEXT"
			}
		}
		brief := slices.Clone(row)
		if text, ok := brief[explainedSupport].(string); ok {
			least, most, isRange := strings.Cut(text, " to ")
			if text = Digits(least); isRange {
				text += " to " + Digits(most)
			}
			brief[explainedSupport] = text
		}
		if text, ok := brief[explainedCost].(string); ok {
			if rho, err := strconv.ParseFloat(strings.TrimPrefix(text, "ρ "), 64); err == nil && strings.HasPrefix(text, "ρ ") {
				brief[explainedCost] = "ρ " + Short(rho)
			}
		}
		r.Brief.Rows = append(r.Brief.Rows, slices.Delete(brief, explainedColumns, explainedColumns+1))
	}
}

// MarginRange returns the range of half-widths as text, or nil if there are none.
func MarginRange(margins []float64) any {
	if len(margins) == 0 {
		return nil
	}
	least, most := margins[0], margins[0]
	for _, m := range margins {
		least, most = min(least, m), max(most, m)
	}
	if least == most {
		return Counts(most)
	}
	return Counts(least) + " to " + Counts(most)
}

// briefColumns is how many characters of a list of columns a brief table shows.
const briefColumns = 20

// BriefList shortens a list of names to the first few and the number of the others.
func BriefList(list string) string {
	names := strings.Split(list, ", ")
	if utf8.RuneCountInString(list) <= briefColumns || len(names) < 2 {
		return list
	}
	shown := names[0]
	for i := 1; i < len(names); i++ {
		next := shown + ", " + names[i]
		if utf8.RuneCountInString(next) > briefColumns-4 {
			return shown + ", +" + Counts(float64(len(names)-i))
		}
		shown = next
	}
	return list
}

// StoredNote is the note of stored answers in EXPLAIN.
const StoredNote = "stored"

// WaitsNote is the note of a direct answer that a charge waits for.
const WaitsNote = "its charge waits, and pays"

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

// explained returns the way's row in EXPLAIN of a number of queries. Its support is left out if it
// is not known; planned says that all queries have a candidate.
func (m *Way) explained(columns string, known bool, cost any, queries int, planned bool) []any {
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
	if m.Waits {
		cost, note = "0", JoinNotes(note, WaitsNote)
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

// Ask is one of the distinct queries of a statement, with the ways to answer it.
type Ask struct {
	Query      query.Query
	Question   sqlfront.Question
	Column     int   // that an Order or DistinctValues is of
	For        Asked // what a candidate is chosen for
	Candidates []Candidate
	Best       *Candidate // the chosen candidate, nil if there is none
}

// Explained is what EXPLAIN shows of SELECTs that are asked together.
type Explained struct {
	Parts   []ExplainedPart
	Asks    []Ask                // the distinct queries of all parts
	Refusal error                // why not all of them are answered
	Cost    func(asks []int) any // of direct answers
	First   []any                // a row for what is counted first, nil for none
	Last    [][]any              // rows at the end
}

// ExplainedPart is a SELECT.
type ExplainedPart struct {
	Part
	Table   string
	Columns []query.Column
	Unclear func(columns []int) bool // whether one of the table's columns, nil for all, has a domain that is not known yet
	Rows    [][]any                  // how the rows are reached
}

// Result lists all the ways to answer, and the queries in canonical form. Of several queries it lists for each part each way
// once, with the ranges of the supports and predicted margins, and the total cost.
func (e Explained) Result() *Result {
	if len(e.Asks) == 1 && len(e.Parts) == 1 {
		return Explanation("REAL", e.one()...)
	}
	var rows [][]any
	for i, p := range e.Parts {
		if len(e.Parts) > 1 {
			rows = append(rows, []any{fmt.Sprintf("core %d", i+1), "private", nil, nil, nil, nil, "an aggregate of " + p.Table})
		}
		asks := p.Asks()
		for _, m := range e.ways(asks).All {
			var cost any = "0"
			if m.Buys() {
				cost = e.Cost(m.Asks)
			}
			rows = append(rows, m.explained(ColumnNames(p.Columns, m.Columns), !p.unclear(m.Columns), cost, len(asks), e.Refusal == nil))
		}
		rows = append(append(rows, p.Rows...), p.slots()...)
	}
	if e.First == nil && e.Refusal != nil {
		e.First = []any{"(none)", nil, nil, nil, nil, nil, e.Refusal.Error()}
	}
	if e.First != nil {
		at := len(rows)
		if len(e.Parts) == 1 { // before the queries
			at -= len(e.Parts[0].Bound.Slots)
		}
		rows = slices.Insert(rows, at, e.First)
	}
	return Explanation("TEXT", append(rows, e.Last...)...)
}

// one returns the rows for a single query.
func (e Explained) one() (rows [][]any) {
	p, a := e.Parts[0], e.Asks[0]
	for i := range a.Candidates {
		c := &a.Candidates[i]
		rows = append(rows, c.explained(ColumnNames(p.Columns, c.Columns), p.support(c.Columns, c.Support), a.For, e.Refusal == nil && c == a.Best))
	}
	if e.Refusal != nil {
		rows = append(rows, []any{"(none)", nil, nil, nil, nil, nil, e.Refusal.Error()})
	}
	rows = append(append(rows, p.Rows...), []any{"query", nil, nil, p.support(nil, SupportOf(a.Query)), nil, nil, questionText(a.Question, a.Column, a.Query)})
	return append(rows, e.Last...)
}

// ways groups the candidates of queries by name.
func (e Explained) ways(asks []int) (all Ways) {
	for _, i := range asks {
		a := &e.Asks[i]
		for j := range a.Candidates {
			c := &a.Candidates[j]
			all.Add(i, *c, a.For, c == a.Best)
		}
	}
	return all
}

// Asks returns the queries of a part, those that it shares with others included, in order.
func (p Part) Asks() []int {
	asks := slices.Clone(p.Index)
	slices.Sort(asks)
	return slices.Compact(asks)
}

// unclear reports whether a column has a domain that is not known yet.
func (p ExplainedPart) unclear(columns []int) bool { return p.Unclear != nil && p.Unclear(columns) }

// support returns a support over some columns as EXPLAIN prints it: NULL if it is unknown.
func (p ExplainedPart) support(columns []int, m SupportSize) any {
	if !m.Known() || p.unclear(columns) {
		return nil
	}
	return m.String()
}

// slots returns the rows for the queries of a part.
func (p ExplainedPart) slots() (rows [][]any) {
	for k, slot := range p.Bound.Slots {
		name := "query"
		if len(p.Bound.Slots) > 1 {
			name += " " + strconv.Itoa(k+1)
		}
		note := questionText(slot.Question, slot.Column, slot.Base)
		if n := p.Bound.Sets[k/p.Bound.Width()]; n > 1 {
			note = fmt.Sprintf("in each of %d groups: %s", n, note)
		}
		rows = append(rows, []any{name, nil, nil, p.support(nil, SupportOf(slot.Base)), nil, nil, note})
	}
	return rows
}

// questionText returns what is asked about a canonical query.
func questionText(of sqlfront.Question, column int, q query.Query) string {
	name := func() string { return q.Universe().Columns()[column].Name }
	switch of {
	case sqlfront.Units:
		return "units with a row in " + queryText(q)
	case sqlfront.Order:
		return "distribution of " + name() + " in " + queryText(q)
	case sqlfront.DistinctValues:
		return "values of " + name() + " in " + queryText(q)
	}
	return queryText(q)
}

// longest is the number of bytes of a canonical query that EXPLAIN prints.
const longest = 2000

// queryText returns a canonical query, cut after longest bytes.
func queryText(q query.Query) string {
	text := q.Shown(longest)
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// ColumnNames lists some columns in the order of their declaration, nil for all.
func ColumnNames(all []query.Column, columns []int) string {
	switch {
	case columns == nil:
		return "all"
	case len(columns) == 0:
		return "none"
	}
	var names []string
	for _, i := range query.Declared(all) {
		if slices.Contains(columns, i) {
			names = append(names, all[i].Name)
		}
	}
	return strings.Join(names, ", ")
}

// Counts writes a half-width in counts.
func Counts(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Short writes a cost to two significant digits.
func Short(x float64) string { return strconv.FormatFloat(x, 'g', 2, 64) }

// Rounded writes an amount for a table that people read, to three significant digits.
func Rounded(x float64) string {
	if math.Abs(x) >= 1000 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strings.Replace(strconv.FormatFloat(x, 'g', 3, 64), "e-0", "e-", 1)
}

// mostDigits is how many digits of a number people are shown.
const mostDigits = 9

// Digits writes a natural number for people: as 6.4·10¹⁷ if it has many digits. It leaves
// other texts alone.
func Digits(text string) string {
	if len(text) <= mostDigits || strings.Trim(text, "0123456789") != "" {
		return text
	}
	n, ok := new(big.Float).SetString(text)
	if !ok {
		return text
	}
	digits, exponent, _ := strings.Cut(n.Text('e', 1), "e+")
	return digits + "·10" + superscript.Replace(strings.TrimLeft(exponent, "0"))
}

var superscript = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")
