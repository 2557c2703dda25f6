package released

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Explanation returns a result of EXPLAIN. Rows have a candidate, its kind, its columns, m, the
// margin, the cost and a note. margin is the type of the margins: REAL for one query, TEXT for
// ranges. The brief form leaves the columns out.
func Explanation(margin string, rows ...[]any) *Result {
	out := &Result{Columns: ExplanationColumns()}
	out.Columns[explainedMargin].Type = margin
	out.Brief = &Result{Columns: slices.Delete(slices.Clone(out.Columns), explainedColumns, explainedColumns+1)}
	out.Explain(rows...)
	return out
}

// ExplanationColumns returns the columns of an Explanation. Whether there are ranges among the
// margins is not known before: to a client that asks for types they are texts.
func ExplanationColumns() (columns []Column) {
	for _, name := range []string{"candidate", "kind", "columns", "m", "margin", "cost", "note"} {
		columns = append(columns, ColumnOf(name, "TEXT"))
	}
	columns[explainedMargin].Type = ""
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
