package engine

import (
	"context"
	"strings"

	"dpsql/query"
	"dpsql/sqlfront"
)

// longest is the most of a canonical query that EXPLAIN prints.
const longest = 2000

// explain lists every way in which a query could be answered, and the query in
// canonical form. It spends nothing and reads no private row.
func (s *Session) explain(ctx context.Context, sel *sqlfront.Select, args []query.Value) (*Result, error) {
	r, candidates, err := s.plan(ctx, sel, args, nil)
	if err != nil {
		return nil, err
	}
	best, chooseErr := choose(candidates, r)
	out := &Result{Warnings: r.warnings, Columns: []Column{{"candidate", "TEXT"}, {"kind", "TEXT"}, {"columns", "TEXT"}, {"m", "TEXT"},
		{"margin", "REAL"}, {"cost", "TEXT"}, {"note", "TEXT"}}}
	chosen := false
	for _, c := range candidates {
		isBest := chooseErr == nil && !chosen && c.is(best)
		chosen = chosen || isBest
		out.Rows = append(out.Rows, c.explained(r, isBest))
	}
	if chooseErr != nil {
		out.Rows = append(out.Rows, []any{"(none)", nil, nil, nil, nil, nil, chooseErr.Error()})
	}
	text := r.query.String()
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	out.Rows = append(out.Rows, []any{"query", nil, nil, briefNumber(supportText(r.query)), nil, nil, text})
	return out, nil
}

// is reports whether two candidates of one list give the same answer.
func (c candidate) is(d candidate) bool {
	return c.name == d.name && c.note == d.note && c.margin == d.margin && c.refusal == d.refusal
}

// explained is a candidate's row.
func (c candidate) explained(r request, best bool) []any {
	note := c.note
	switch {
	case best:
		note = joinNotes("chosen", note)
	case c.refusal != "":
		note = joinNotes("not: "+c.refusal, note)
	case !c.allowed(r.settings.Mechanism):
		note = joinNotes("not: SET mechanism = "+r.settings.Mechanism, note)
	case !c.reaches(r.settings.Accuracy):
		note = joinNotes("not: beyond SET accuracy = "+counts(r.settings.Accuracy), note)
	}
	var margin any
	if c.known && (c.refusal == "" || c.kind == "direct") {
		margin = c.margin
	}
	cost := "0"
	if !c.free() {
		cost = "ρ " + short(c.cost.Rho.Float())
	}
	return []any{c.name, c.kind, briefList(c.columns), orNull(briefNumber(c.support)), margin, cost, note}
}

func joinNotes(a, b string) string {
	if b == "" {
		return a
	}
	return a + "; " + b
}

// orNull gives NULL for an empty text.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
