package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsql/engine/internal/declare"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/sqlfront/syntax"
)

// outlook says what a CREATE RELEASE or CREATE MECHANISM would cost and what its margins would
// be, in the columns of EXPLAIN.
func (s *Session) outlook(ctx context.Context, st *syntax.ExplainCreate, v *view.View) (*Result, error) {
	if err := s.curatorOnly("explain a declaration"); err != nil {
		return nil, err
	}
	o, err := s.declaration().Outlook(ctx, st, v, s.settings.Confidence)
	if err != nil {
		return nil, err
	}
	ranges := "REAL"
	if st.Workload != "" {
		ranges = "TEXT"
	}
	note := "would leave " + o.After()
	if o.Refused != nil {
		note = "refused: " + o.Refused.Error()
	}
	note = released.JoinNotes(note, o.Open)
	if len(o.Foreseen) == 0 && o.Refused == nil && o.Open == "" {
		note = released.JoinNotes(note, "its margins are known when it is built")
	}
	out := released.Explanation(ranges, []any{o.Name, o.Using, view.ColumnNames(o.Table, o.Columns), nil, nil, view.Amount(o.Cost), note})
	if o.Size != "" {
		out.Explain([]any{"size", nil, nil, nil, nil, nil, released.JoinNotes(o.Size, o.Outlook)})
	}
	for _, f := range o.Foreseen {
		var margin, support any
		if text := f.Support.String(); text != "" {
			support = text
		}
		switch {
		case ranges == "TEXT":
			margin = released.MarginRange(f.Margins)
		case len(f.Margins) > 0:
			margin = f.Margins[0]
		}
		out.Explain([]any{f.What, nil, nil, support, margin, nil, f.Note})
	}
	if st.Full {
		out.Brief = nil
	}
	return out, nil
}

func advisedColumns() []Column {
	return released.Listed("table", "TEXT", "proposal", "TEXT", "part", "TEXT", "sql", "TEXT", "margin", "REAL", "least", "REAL", "most", "REAL", "note", "TEXT")
}

// advise says which releases would serve a workload: for each table the proposals, the best first,
// with the statements that make them and the margins of each statement of the workload. In brief the
// margins are those of the first proposal, beside those that the others would give.
func (s *Session) advise(ctx context.Context, st *syntax.Advise, v *view.View) (*Result, error) {
	if err := s.curatorOnly("ask for advice"); err != nil {
		return nil, err
	}
	all, err := s.declaration().Advise(ctx, st, v, s.settings.Confidence)
	if err != nil {
		return nil, err
	}
	out := &Result{Columns: advisedColumns(), Brief: &Result{Columns: released.Texts("proposal", "statement", "margin", "note")}}
	for _, a := range all {
		for i := range a.Proposals {
			p := &a.Proposals[i]
			out.Rows = append(out.Rows, advisedCreates(a, p)...)
			out.Rows = append(out.Rows, advisedStatements(a, p)...)
			out.Brief.Rows = append(out.Brief.Rows, advisedInBrief(a, i)...)
		}
	}
	if st.Full {
		out.Brief = nil
	}
	return out, nil
}

// advisedCreates returns the rows of the statements that make a proposal; one of direct answers, without a statement.
func advisedCreates(a *declare.Advice, p *declare.Proposal) (rows [][]any) {
	row := []any{a.Table.Name, p.Name, "create", nil, nil, nil, nil, textOrNull(advisedNote(a, p))}
	if p.Score > 0 {
		row[4] = rounded(p.Score)
	}
	if len(p.Creates) == 0 {
		return [][]any{row}
	}
	for _, create := range p.Creates {
		row[3] = create + ";"
		rows, row = append(rows, row), []any{a.Table.Name, p.Name, "create", nil, nil, nil, nil, nil}
	}
	return rows
}

// advisedNote says of a proposal what is stored, which margins are known, and why it cannot be paid.
func advisedNote(a *declare.Advice, p *declare.Proposal) string {
	note := p.Note
	if n := p.Answers(); n < len(a.Statements) {
		note = released.JoinNotes(note, fmt.Sprintf("margins for %d of %d statements", n, len(a.Statements)))
	}
	if len(a.Sharing) > 1 && len(p.Creates) > 0 {
		note = released.JoinNotes(note, fmt.Sprintf("one of %d tables that share the account and ε: %s", len(a.Sharing), strings.Join(a.Sharing, ", ")))
	}
	if p.Refused != nil {
		note = released.JoinNotes(note, "refused: "+p.Refused.Error())
	}
	return note
}

// advisedStatements returns the rows of the workload's statements under a proposal. margin is the root
// mean square of a statement's margins.
func advisedStatements(a *declare.Advice, p *declare.Proposal) (rows [][]any) {
	for n, asked := range a.Statements {
		row := []any{a.Table.Name, p.Name, fmt.Sprintf("statement %d", asked.Number), asked.Text, nil, nil, nil, textOrNull(asked.Why)}
		if m := p.Margins[n]; len(m) > 0 {
			row[4], row[5], row[6], row[7] = rounded(declare.RootMeanSquare(m)), slices.Min(m), slices.Max(m), nil
		}
		rows = append(rows, row)
	}
	return rows
}

// advisedInBrief returns the rows of the i-th proposal as people read them.
func advisedInBrief(a *declare.Advice, i int) (rows [][]any) {
	p := &a.Proposals[i]
	row := []any{p.Name, "answers that are bought one by one", nil, advisedNote(a, p)}
	if p.Score > 0 {
		row[2] = released.Counts(math.Round(p.Score))
	}
	for n, create := range p.Creates {
		if n > 0 {
			row = []any{nil, nil, nil, ""}
		}
		row[1] = create + ";"
		rows = append(rows, row)
	}
	if len(p.Creates) == 0 {
		rows = append(rows, row)
	}
	if i > 0 {
		return rows
	}
	for n, asked := range a.Statements {
		note := asked.Why
		for _, other := range a.Proposals[1:] {
			if margin := released.MarginRange(other.Margins[n]); margin != nil {
				note = released.JoinNotes(note, fmt.Sprintf("%s %s", other.Name, margin))
			}
		}
		rows = append(rows, []any{fmt.Sprintf("statement %d", asked.Number), syntax.Excerpt(asked.Text, 60), released.MarginRange(p.Margins[n]), note})
	}
	return rows
}

// rounded keeps two digits of a mean.
func rounded(x float64) float64 { return math.Round(100*x) / 100 }
