package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// Rehearsal goes through the statements of a script as if they were carried out
// one after the other, and adds up what they would cost. It charges, draws and
// stores nothing, and reads no private row: what it says follows from the
// statements, the public catalog and what was released before.
type Rehearsal struct {
	s       *Session
	view    *view.View                  // the catalog as the statements so far would leave it
	answers map[string][]catalog.Answer // that the statements so far would buy, by table and query
	before  map[int64]accounting.Amount // what is spent of each account as things are
	dropped []*view.Table               // by the statements so far; what is spent on their rows stays spent
	last    int64                       // id of what was planned last; they are below 0
	unknown []string                    // what the total leaves open
}

// Rehearse begins a rehearsal from the present catalog. SET statements in it
// change the session's settings.
func (s *Session) Rehearse(ctx context.Context) (*Rehearsal, error) {
	v, err := s.db.view(ctx)
	if err != nil {
		return nil, public(ctx, err)
	}
	r := &Rehearsal{s: s, view: v, answers: make(map[string][]catalog.Answer),
		before: make(map[int64]accounting.Amount)}
	for id, a := range v.Accounts {
		r.before[id] = a.Spent
	}
	return r, nil
}

// Plan says what a statement would do and cost, in the columns of EXPLAIN. SET,
// SHOW and DESCRIBE are carried out; the lists show things as they are now.
func (r *Rehearsal) Plan(ctx context.Context, text string, args []query.Value) (*Result, error) {
	out, err := r.plan(ctx, text, args)
	if err != nil {
		return nil, public(ctx, err)
	}
	return out, nil
}

func (r *Rehearsal) plan(ctx context.Context, text string, args []query.Value) (*Result, error) {
	statement, err := sqlfront.Parse(text)
	if err != nil {
		return nil, err
	}
	switch st := statement.(type) {
	case *sqlfront.Select:
		return r.query(ctx, st, args, true)
	case *sqlfront.Explain:
		return r.query(ctx, st.Select, args, false)
	case *sqlfront.Describe:
		if t := r.view.Private(st.Table.Text); t != nil {
			return describe(r.view, t), nil
		}
	case *sqlfront.CreatePublic, *sqlfront.CreatePrivate, *sqlfront.CreateSource, *sqlfront.CreateRelease, *sqlfront.CreateMechanism, *sqlfront.AlterPrivate, *sqlfront.Drop, *sqlfront.Export:
		if err := r.s.db.curatorOnly("declare, drop or export"); err != nil {
			return nil, err
		}
		return r.declare(ctx, statement)
	}
	return r.s.Exec(ctx, text, args)
}

// query explains a SELECT, and takes down what it would buy.
func (r *Rehearsal) query(ctx context.Context, sel *sqlfront.Select, args []query.Value, buys bool) (*Result, error) {
	st, err := r.s.bind(ctx, r.view, sel, args)
	var names *sqlfront.UndecidedError
	if errors.As(err, &names) {
		t, err := r.view.Selected(sel)
		if err != nil {
			return nil, err
		}
		why := t.Undecided[names.Column]
		r.leaves("what SELECTs with %s cost: %s", names.Name, why)
		return planned("unknown", "", "unknown", why), nil
	}
	if err != nil {
		return nil, err
	}
	if err := st.plan(ctx, planning{explaining: true, buyer: r.s.buyer()}); err != nil {
		return nil, err
	}
	for i := range st.asks {
		a := &st.asks[i]
		again, err := r.s.db.again(r.view, a.request, r.answers[a.key()])
		if err != nil {
			return nil, err
		}
		a.candidates = append(again, a.candidates...)
		r.doubt(st.table, a.candidates)
	}
	out := st.explained()
	if err := st.choose(); err != nil {
		if buys {
			r.leaves("what follows a SELECT that is refused, where a run stops: %s", err)
		}
		return out, nil
	}
	if !buys {
		return out, nil
	}
	return out, r.buy(st)
}

// doubt marks candidates whose support depends on a domain that cannot be known.
func (r *Rehearsal) doubt(t *view.Table, candidates []candidate) {
	for i := range candidates {
		c := &candidates[i]
		if why := t.Unclear(c.columns); why != "" && c.origin == fromScript && c.refusal == "" {
			c.note = joinNotes(c.note, "m is not known")
			r.leaves("whether %s admits the supports of queries: %s", c.name, why)
		}
	}
}

// buy takes down what the statement's purchases cost and answer.
func (r *Rehearsal) buy(st *statement) error {
	purchases := st.purchases()
	cost, _ := total(purchases)
	if err := r.charge(st.table.Account, cost); err != nil {
		return err
	}
	for _, p := range purchases {
		for _, n := range p.asks {
			a := &st.asks[n]
			stored, err := p.price.stored(a.request, 0)
			if err != nil {
				return err
			}
			r.answers[a.key()] = append(r.answers[a.key()], stored)
			if slices.ContainsFunc(a.candidates, func(c candidate) bool {
				return c.origin == fromScript && c.refusal == "" && c.allowed(a.settings.Mechanism)
			}) {
				r.leaves("whether what this script creates answers within SET accuracy: where it does, less is bought")
			}
		}
	}
	return nil
}

// key names what a stored answer answers.
func (r request) key() string { return fmt.Sprint(r.table.ID, " ", r.query.String()) }

// charge takes an amount out of the account as it would be.
func (r *Rehearsal) charge(id int64, cost accounting.Amount) error {
	a := r.view.Accounts[id]
	if !a.Caps.Fits(a.Spent, cost) {
		left := a.Left()
		return sqlerr.New(sqlerr.Budget, "it needs %s, and after the statements before it the accounts have ε = %v, δ = %v and ρ = %s left",
			view.Amount(cost), left.Epsilon, left.Delta, view.Short(left.Rho.Float())).WithHint("SHOW BUDGET tells what is left")
	}
	a.Spent, _ = a.Spent.Add(cost)
	r.view.Accounts[id] = a
	return nil
}

// leaves notes what cannot be known before the script has run.
func (r *Rehearsal) leaves(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.unknown, text) {
		r.unknown = append(r.unknown, text)
	}
}

// Total returns what the statements so far would take of each account, and what
// they would leave; its warnings say what could not be known. Statements that
// nothing would be charged for count 0, and equal queries once.
func (r *Rehearsal) Total() *Result {
	out := &Result{Columns: texts("table", "account", "unit", "left", "this script", "left then", "in words")}
	for _, t := range r.charged() {
		a, ok := r.view.Accounts[t.Account]
		if !ok {
			continue
		}
		was := a.Caps.Left(r.before[t.Account])
		row := func(account, unit string, total, left, then accounting.Amount, of func(accounting.Amount) fmt.Stringer, words string) {
			if of(total).String() == "0" {
				return
			}
			spent := accounting.Amount{Epsilon: left.Epsilon - then.Epsilon, Delta: left.Delta - then.Delta, Rho: left.Rho - then.Rho}
			out.Rows = append(out.Rows, []any{t.Name, account, unit, of(left).String(), of(spent).String(), of(then).String(), words})
		}
		caps := accounting.Amount{Epsilon: a.Caps.ReleaseEpsilon, Delta: a.Caps.ReleaseDelta, Rho: a.Caps.InteractiveRho}
		then := a.Left()
		row("releases", "ε", caps, was, then, func(a accounting.Amount) fmt.Stringer { return a.Epsilon }, percent(then.Epsilon, caps.Epsilon))
		row("releases", "δ", caps, was, then, func(a accounting.Amount) fmt.Stringer { return a.Delta }, percent(then.Delta, caps.Delta))
		row("interactive", "ρ", caps, was, then, func(a accounting.Amount) fmt.Stringer { return a.Rho }, r.s.db.interactiveWords(a, t, r.s.settings))
	}
	for _, u := range r.unknown {
		out.Warnings = append(out.Warnings, "not known before the script has run: "+u)
	}
	return out
}

// charged returns the tables, and of those that were dropped one for each account
// that no table is left of.
func (r *Rehearsal) charged() []*view.Table {
	all := slices.Clone(r.view.Tables)
	for _, t := range r.dropped {
		if !slices.ContainsFunc(all, func(other *view.Table) bool { return other.Account == t.Account }) {
			all = append(all, t)
		}
	}
	return all
}
