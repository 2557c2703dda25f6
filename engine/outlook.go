package engine

import (
	"context"
	"fmt"
	"math"

	"dpsql/engine/internal/answer"
	"dpsql/engine/internal/view"
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
	note = answer.JoinNotes(note, o.Open)
	if len(o.Foreseen) == 0 && o.Refused == nil && o.Open == "" {
		note = answer.JoinNotes(note, "its margins are known when it is built")
	}
	out := answer.Explanation(ranges, []any{o.Name, o.Using, view.ColumnNames(o.Table, o.Columns), nil, nil, view.Amount(o.Cost), note})
	if o.Size != "" {
		out.Explain([]any{"size", nil, nil, nil, nil, nil, answer.JoinNotes(o.Size, o.Outlook)})
	}
	for _, f := range o.Foreseen {
		var margin, support any
		if text := f.Support.String(); text != "" {
			support = text
		}
		switch {
		case ranges == "TEXT":
			margin = answer.MarginRange(f.Margins)
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

func advisedColumns() []Column { return texts("proposal", "statement", "margin", "note") }

// advise says which releases would serve a workload: for each table the proposals, the best first,
// and under the first the margins of each statement beside those that the others would give.
func (s *Session) advise(ctx context.Context, st *syntax.Advise, v *view.View) (*Result, error) {
	if err := s.curatorOnly("ask for advice"); err != nil {
		return nil, err
	}
	all, err := s.declaration().Advise(ctx, st, v, s.settings.Confidence)
	if err != nil {
		return nil, err
	}
	out := &Result{Columns: advisedColumns()}
	for _, a := range all {
		for i, p := range a.Proposals {
			var score any
			note := p.Note
			if n := p.Answers(); n < len(a.Statements) {
				note = answer.JoinNotes(note, fmt.Sprintf("margins for %d of %d statements", n, len(a.Statements)))
			}
			if p.Score > 0 {
				score = view.Counts(math.Round(p.Score))
			}
			if p.Refused != nil {
				note = answer.JoinNotes(note, "refused: "+p.Refused.Error())
			}
			name, texts := any(p.Name), []string{"answers that are bought one by one"}
			if len(p.Creates) > 0 {
				texts = nil
				for _, create := range p.Creates {
					texts = append(texts, create+";")
				}
			}
			for n, text := range texts {
				if n > 0 {
					name, score, note = nil, nil, ""
				}
				out.Rows = append(out.Rows, []any{name, text, score, note})
			}
			if i > 0 {
				continue
			}
			for n, text := range a.Statements {
				note := a.Unread[n]
				for _, other := range a.Proposals[1:] {
					if margin := answer.MarginRange(other.Margins[n]); margin != nil {
						note = answer.JoinNotes(note, fmt.Sprintf("%s %s", other.Name, margin))
					}
				}
				out.Rows = append(out.Rows, []any{fmt.Sprintf("statement %d", n+1), syntax.Excerpt(text, 60), answer.MarginRange(p.Margins[n]), note})
			}
		}
	}
	out.Brief = &Result{Columns: out.Columns, Rows: out.Rows}
	return out, nil
}
