package engine

import (
	"context"
	"errors"

	"dpsql/post"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// request is one query, bound and canonical, with the settings it is asked under.
type request struct {
	table    *table
	bound    *sqlfront.Bound
	query    query.Query
	settings Settings
	warnings []string
	spent    map[int64]bool // mechanisms known to be used up, whatever the view says
}

// query answers a SELECT: plan, choose, then let the chosen candidate charge,
// draw, store and return. Every private access of the module passes here or
// through a declaration.
func (s *Session) query(ctx context.Context, sel *sqlfront.Select, args []query.Value) (*Result, error) {
	spent := make(map[int64]bool) // mechanisms found used up; each leads to one more plan at most
	for {
		r, candidates, err := s.plan(ctx, sel, args, spent)
		if err != nil {
			return nil, err
		}
		best, err := choose(candidates, r)
		if err != nil {
			return nil, err
		}
		e, err := best.answer(ctx)
		var used *usedUp
		if errors.As(err, &used) && !spent[used.mechanism] {
			spent[used.mechanism] = true
			continue
		}
		if err != nil {
			return nil, err
		}
		return r.result(best, e), nil
	}
}

// plan binds a SELECT against the present catalog and lists the ways to answer
// it. It spends nothing and reads no private row.
func (s *Session) plan(ctx context.Context, sel *sqlfront.Select, args []query.Value, spent map[int64]bool) (request, []candidate, error) {
	v, err := s.db.current(ctx)
	if err != nil {
		return request{}, nil, err
	}
	r, err := s.bind(v, sel, args)
	if err != nil {
		return request{}, nil, err
	}
	r.spent = spent
	candidates, err := s.db.candidates(ctx, v, r)
	return r, candidates, err
}

// bind resolves the names of a SELECT and compiles its predicate.
func (s *Session) bind(v *view, sel *sqlfront.Select, args []query.Value) (request, error) {
	t, err := v.table(sel.Table.Text, sel.Table.Position)
	if err != nil {
		return request{}, err
	}
	b, err := sel.Bind(bound{t}, args)
	if err != nil {
		return request{}, err
	}
	if len(b.Queries) != 1 {
		return request{}, sqlerr.New(sqlerr.Unsupported, "a statement of several numbers is outside the dialect").
			WithHint("ask for each in a statement of its own")
	}
	return request{table: t, bound: b, query: b.Queries[0], settings: s.settings, warnings: b.Warnings}, nil
}

// result writes an estimate as the rows of a SELECT.
func (r request) result(c candidate, e estimate) *Result {
	value := e.value
	if r.settings.Clamp {
		value = max(0, value)
	}
	out := &Result{Warnings: r.warnings, Answer: &Answer{
		Confidence: r.settings.Confidence, Via: c.name, Mechanism: c.kind, Support: c.support,
		Cost: Cost{e.cost.Epsilon.Float(), e.cost.Rho.Float()}, Verified: e.verified}}
	answer := post.Answer{Value: value, HalfWidth: func(float64) (float64, bool) { return e.margin, e.verified }}
	table := r.bound.Output.Run([]post.Group{{Keys: r.bound.Groups[0], Answers: []post.Answer{answer}}}, r.settings.Confidence)
	for _, c := range r.bound.Output.Columns {
		out.Columns = append(out.Columns, Column{c.Name, string(c.Of.Type())})
	}
	out.Rows, out.Answer.Margins = table.Rows, table.Margins
	return out
}

// supportText returns m as people read it.
func supportText(q query.Query) string {
	if m := q.Size(); m != nil {
		return m.String()
	}
	return "infinite"
}
