package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// run runs a statement. Every execution of a client passes here, and is written to the log:
// who asked, a hash of the text, where the answer came from and its cost, never a value.
func (c *conn) run(st *statement, args arguments) (*output, error) {
	c.server.counts.Statements.Add(1)
	if st.verb != nil {
		c.server.counts.Verbs.Add(1)
		if c.implicit == nil && !c.block.begun {
			c.implicit = new(c.now(""))
		}
		return st.verb.run(c, st.verb)
	}
	if err := c.keep("", 0); err != nil {
		return nil, err
	}
	var out *output
	r := new(engine.Result)
	err := c.work(func(ctx context.Context) (err error) {
		if st.asked != nil {
			c.server.counts.Catalog.Add(1)
			out, err = c.answer(ctx, st.asked, args.sent)
			return err
		}
		c.session.SetFree(c.readOnly())
		r, err = c.session.ExecPrepared(ctx, cmp.Or(args.prepared, st.prepared), args.values)
		return err
	})
	c.audit(st, r, err)
	if err == nil && st.asked == nil {
		out = c.outputOf(st, r)
	}
	return out, err
}

// audit counts a statement, and writes it to the log.
func (c *conn) audit(st *statement, r *engine.Result, err error) {
	counts := &c.server.counts
	how := new(engine.Answer)
	if err == nil && r.Answer != nil {
		how = r.Answer
		counts.Answers.Add(1)
		if how.Cost != (engine.Cost{}) {
			counts.Bought.Add(1)
		}
	}
	if !c.log.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	c.log.LogAttrs(context.Background(), slog.LevelInfo, "statement", slog.String("sha256", st.hash()),
		slog.String("outcome", outcome(err)), slog.String("via", how.Via),
		slog.Float64("epsilon", how.Cost.Epsilon), slog.Float64("rho", how.Cost.Rho))
}

// outcome returns how a statement ended, for the log: ok, the code of an error, or the SQLSTATE
// of one of the protocol.
func outcome(err error) string {
	var own *stateError
	if errors.As(err, &own) {
		return own.state
	}
	return cmp.Or(string(sqlerr.CodeOf(err)), "ok")
}

// outputOf returns a result of the engine as clients get it.
func (c *conn) outputOf(st *statement, r *engine.Result) *output {
	out := &output{columns: columnsFor(r.Columns), rows: r.Rows}
	out.tag, out.counted = tagOf(st.words, len(r.Columns) > 0)
	if r.Note != "" {
		out.notices = append(out.notices, c.notice("NOTICE", "00000", r.Note)...)
	}
	for _, warning := range r.Warnings {
		out.notices = append(out.notices, c.notice("WARNING", "01000", warning)...)
	}
	if r.Answer != nil {
		out.notices = append(out.notices, c.notice("NOTICE", "00000", footer(r))...)
	}
	return out
}

// tagOf returns how CommandComplete names a statement that begins with some words, and whether the number of rows follows.
func tagOf(words []string, rows bool) (tag string, counted bool) {
	if len(words) == 0 {
		return "OK", false
	}
	switch words[0] {
	case "EXPLAIN", "SHOW", "SET":
		return words[0], false
	}
	if rows {
		return "SELECT", true
	}
	switch {
	case len(words) > 2 && (words[1] == "PRIVATE" || words[1] == "PUBLIC"):
		return strings.Join(words[:3], " "), false
	case len(words) > 1 && words[0] != "GRANT" && words[0] != "REVOKE" && words[0] != "EXPORT":
		return strings.Join(words[:2], " "), false
	}
	return words[0], false
}

// footer says below the rows of a private answer what margins they have, where they are from
// and what they cost.
func footer(r *engine.Result) string {
	a := r.Answer
	parts := []string{margins(a)}
	for _, k := range a.Kept {
		if a.Mechanism != "constant" {
			each := k.Unit
			if k.Period != "" {
				each += " and " + k.Period
			}
			parts = append(parts, fmt.Sprintf("of kept rows, at most %d a %s of %s", k.MaxRows, each, k.Table))
		}
	}
	switch {
	case a.Mechanism == "direct":
		parts = append(parts, "direct")
	case a.Mechanism == "constant":
	case a.Released:
		parts = append(parts, "release "+a.Via)
	default:
		parts = append(parts, a.Via)
	}
	if !a.AsOf.IsZero() {
		parts = append(parts, "as of "+a.AsOf.UTC().Format("2006-01-02 15:04"))
	}
	return strings.Join(append(parts, "cost "+a.Cost.String()), " · ")
}

// margins says between which bounds the margins of an answer are.
func margins(a *engine.Answer) string {
	if a.Mechanism == "constant" {
		return "exact"
	}
	least, most := 0.0, -1.0
	for _, row := range a.Margins {
		for _, m := range row {
			if m, ok := m.(float64); ok {
				if most < 0 || m < least {
					least = m
				}
				most = max(most, m)
			}
		}
	}
	var text string
	switch {
	case most < 0:
		text = "no error bar"
	case least == most:
		text = fmt.Sprintf("± %s at %.4g %%", number(most), 100*a.Confidence)
	default:
		text = fmt.Sprintf("± %s to %s at %.4g %%", number(least), number(most), 100*a.Confidence)
	}
	if why := a.Unknown(); len(why) > 0 {
		text += ", ? where " + strings.Join(why, " or ")
	}
	if !a.Verified {
		text += ", some unverified"
	}
	if a.Simulated {
		text += ", simulated"
	}
	if a.Apart > 0 {
		text += fmt.Sprintf(", fit and proof disagree in %d of its answers", a.Apart)
	}
	return text
}
