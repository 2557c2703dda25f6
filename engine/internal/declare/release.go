package declare

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// CreateRelease builds a release. It plans from public data, buys N̂ if the plan needs it,
// charges, reads the cells, draws, stores, and fits a table if there is to be one.
func (s *Statement) CreateRelease(ctx context.Context, st *syntax.CreateRelease) (warnings []string, err error) {
	v, land, err := s.take(ctx, st.Name)
	if err != nil {
		return nil, err
	}
	defer land()
	named := st
	st = Chosen(st, v)
	if r := v.Release(st.Name.Text); r != nil && r.Unfinished() {
		return s.resume(ctx, st, v, r)
	}
	if done, err := v.NameFree(st.Name, st.IfNotExists, v.Release(st.Name.Text) != nil || v.Template(st.Name.Text) != nil); err != nil {
		return nil, err
	} else if done {
		return ofRelease(v, named).warning(st.Name.Text), nil
	}
	if st.EachPeriod {
		return s.createTemplate(ctx, st, v)
	}
	return s.build(ctx, st, v)
}

// Chosen returns the statement with the algorithm that kind.Choose takes, if it names none.
func Chosen(st *syntax.CreateRelease, v *view.View) *syntax.CreateRelease {
	if st.Using != "" {
		return st
	}
	own := *st
	own.Using = syntax.Projection
	if t, columns, err := v.Target(st.Table, st.Columns); err == nil {
		own.Using = kind.Choose(t, columns)
	}
	return &own
}

// build builds a release whose name is free. A part of a template is built over a view that has
// its period alone.
func (s *Statement) build(ctx context.Context, st *syntax.CreateRelease, v *view.View) (warnings []string, err error) {
	if st, v, err = s.spannedRelease(st, v); err != nil {
		return nil, err
	}
	t, columns, err := v.Target(st.Table, st.Columns)
	if err != nil {
		return nil, err
	}
	p, err := kind.Of(string(st.Using)).Plan(ctx, s.request(st, v, t, columns))
	if err != nil {
		return nil, err
	}
	if warnings, err = s.askTotal(p, st); err != nil {
		return nil, err
	}
	built, err := p.Build(ctx, s.site(), st.Name.Text)
	if warnings = append(warnings, built...); err != nil {
		return warnings, err
	}
	if s.Confirm != nil && s.part == nil {
		s.Paid, err = s.paid(ctx, st.Name.Text, p)
	}
	return append(warnings, warnDelta(t, v.Accounts[t.Account])...), err
}

// request returns a statement as kinds read it, and notes which charges wait for it.
func (s *Statement) request(st *syntax.CreateRelease, v *view.View, t *view.Table, columns []int) kind.Request {
	s.Bill.Statement = built(st.Name, t, columns, string(st.Using), st.Options)
	return kind.Request{Options: st.Options, View: v, Table: t, Columns: columns, Public: s, Built: s.Bill.Statement,
		Waits: func(ctx context.Context) (accounting.Delta, error) {
			w, err := s.Desk.Waiting(ctx, s.Bill, t)
			return w.Amount.Delta, err
		}}
}

// site is where the statement builds.
func (s *Statement) site() *kind.Site {
	site := s.Site
	site.Put = s.storeRelease
	return &site
}

// built identifies what a statement builds, however it is spaced, for charges that wait.
func built(name syntax.Name, t *view.Table, columns []int, using string, options []syntax.Option) string {
	text := fmt.Sprintf("%q %q %v", query.FoldName(name.Text), using, columns)
	for _, o := range options {
		text += fmt.Sprintf(" %q %d %q", o.Name.Text, o.Kind, o.Value)
		for _, n := range o.Names {
			text += fmt.Sprintf(" %q", n.Text)
		}
	}
	return text
}

// take takes a name for what is about to be paid for, and returns the view of then. Others that would
// pay for the same name wait until it is stored, and find it; or they are refused.
func (s *Statement) take(ctx context.Context, name syntax.Name) (v *view.View, land func(), err error) {
	if s.Store.ReadOnly() { // the charge is refused
		v, err = s.view(ctx)
		return v, func() {}, err
	}
	flight, err := s.Store.AcquireFlight(ctx, sha256.Sum256([]byte("name "+query.FoldName(name.Text))), s.Patience, name.Text+" is being built")
	if err != nil {
		return nil, nil, sqlerr.Locate(err, name.Position)
	}
	if v, err = s.view(ctx); err != nil {
		flight.Land()
	}
	return v, flight.Land, err
}

// warnDelta warns if δ is no longer small compared with one row in N̂.
func warnDelta(t *view.Table, a view.Account) []string {
	delta := (a.Caps.ReleaseDelta + a.Caps.InteractiveDelta).Float()
	if t.NHat == nil || delta*float64(t.NHat.Value) <= 0.1 {
		return nil
	}
	return []string{fmt.Sprintf("delta = %s is large for about %.0f rows: keep it well below 1/%.0f", released.Short(delta),
		float64(t.NHat.Value), math.Ceil(float64(t.NHat.Value)))}
}

// storeRelease stores a release with what it says about itself. One that has an ID is stored, and
// takes its own place, with another ID. What was drawn for it is paid for, so ctx does not end it. The
// same transaction does what else is given, before.
func (s *Statement) storeRelease(ctx context.Context, r *catalog.Release, about any, payload []byte, before ...func(*catalog.Tx) error) (err error) {
	if r.Params, err = json.Marshal(about); err != nil {
		return err
	}
	old := r.ID
	return s.Store.Write(context.WithoutCancel(ctx), func(tx *catalog.Tx) error {
		for _, do := range before {
			if err := do(tx); err != nil {
				return err
			}
		}
		if old != 0 {
			if current, err := tx.Release(r.Name); err != nil || current == nil || current.ID != old {
				return cmp.Or[error](err, sqlerr.New(sqlerr.Unknown, "release %s was dropped or finished meanwhile", r.Name))
			}
			if err := tx.DropRelease(r.Name); err != nil {
				return err
			}
		}
		if err := s.part.place(tx, r); err != nil {
			return err
		}
		return tx.AddRelease(r, payload)
	})
}

// PlanRelease plans a release from public data alone. If the number of rows or a domain is
// unknown, the cost is an upper bound.
func (s *Statement) PlanRelease(ctx context.Context, st *syntax.CreateRelease, v *view.View) (kind.Plan, error) {
	st, v = s.onePart(st, v)
	st, v, err := s.spannedRelease(st, v)
	if err != nil {
		return nil, err
	}
	t, columns, err := v.Target(st.Table, st.Columns)
	if err != nil {
		return nil, err
	}
	p, err := kind.Of(string(st.Using)).Plan(ctx, s.request(st, v, t, columns))
	if err != nil || t.NHat == nil || t.Unclear(columns) != "" {
		return p, err
	}
	return p.Given(*t.NHat)
}

// resume finishes an unfinished release, if the statement is the one that began it.
func (s *Statement) resume(ctx context.Context, st *syntax.CreateRelease, v *view.View, r *catalog.Release) (warnings []string, err error) {
	if t := v.Private(st.Table.Text); t != nil && t.HasPeriods() { // what had begun then may be less
		if st, v, err = s.spannedRelease(st, v); err != nil {
			return nil, err
		}
		if part, some := t.Within(r.Span); some {
			v = v.With(part)
		}
	}
	t, columns, err := v.Target(st.Table, st.Columns)
	if err != nil {
		return nil, err
	}
	asked := s.request(st, v, t, columns)
	asked.Begun = &kind.Begun{Release: r}
	if asked.Begun.Payload, err = s.Payload(ctx, r); err != nil {
		return nil, err
	}
	if r.TableID != t.ID || !slices.Equal(r.Columns, columns) || r.Using != string(st.Using) {
		return nil, madeOtherwise(st, r)
	}
	p, err := kind.Of(r.Using).Plan(ctx, asked)
	if errors.Is(err, kind.ErrBegunOtherwise) {
		err = madeOtherwise(st, r)
	}
	if err != nil {
		return nil, err
	}
	warnings, same, err := p.GoOn(ctx, s.site(), asked.Begun)
	if err == nil && !same {
		err = madeOtherwise(st, r)
	}
	return warnings, err
}

func madeOtherwise(st *syntax.CreateRelease, r *catalog.Release) error {
	return sqlerr.New(sqlerr.Invalid, "the release %s is unfinished, and was begun by another statement", r.Name).
		WithHint("the same statement as then goes on with it and costs nothing; DROP RELEASE %s frees the name", r.Name).At(st.Name.Position)
}

// ask asks the person at a terminal, if there is one, whether the statement is to be carried out.
func (s *Statement) ask(warning string) error {
	if s.Confirm != nil && !s.Confirm(warning) {
		return sqlerr.New(sqlerr.Cancelled, "the statement was not carried out")
	}
	return nil
}

// unknownRows is how many rows a table is taken to have whose N̂ is not known, by those who are warned.
const unknownRows = 5000

// askTotal warns, before anything is paid, of a release that cannot answer its own total, or only within a margin
// of all rows. A person at a terminal is asked; a script gets the warning. A release of SMW answers its class of
// queries, and that the total is none of them is as it was asked for.
func (s *Statement) askTotal(p kind.Plan, st *syntax.CreateRelease) (warnings []string, err error) {
	o := p.Outlined()
	total := p.Cover(query.All(o.Table.Universe))
	if st.Using == syntax.SMW || total.Refusal != "" && total.Size.Infinite || o.Unclear != "" {
		return nil, nil
	}
	warning := fmt.Sprintf("release %s cannot count all rows: %s; max_support = … raises that, and fewer columns have fewer cells", st.Name.Text, total.Refusal)
	if total.Refusal == "" {
		rows, of := int64(unknownRows), "a table of fewer rows cannot be told from an empty one"
		if n := o.Table.NHat; n != nil {
			rows, of = n.Value, fmt.Sprintf("there are about %d", n.Value)
		}
		at, err := p.Predict(total.Query, confidenceShown)
		if err != nil || !at.Known && !at.About || at.Margin < float64(rows) {
			return nil, err
		}
		warning = fmt.Sprintf("release %s counts all rows within ±%s only, and %s; fewer columns have fewer cells, and more epsilon has less noise",
			st.Name.Text, released.Rounded(at.Margin), of)
	}
	if s.Confirm != nil {
		return nil, s.ask(warning)
	}
	return []string{warning}, nil
}

// confidenceShown is that of the margins that a statement which was paid for is confirmed with.
const confidenceShown = 0.95

// paid describes what a release has cost, the margins of its counts, and what is left.
func (s *Statement) paid(ctx context.Context, name string, p kind.Plan) (string, error) {
	v, err := s.view(ctx)
	if err != nil {
		return "", err
	}
	r := v.Release(name)
	if r == nil {
		return "", nil
	}
	t := v.TableByID(r.TableID)
	text := "cost ε " + released.Rounded(r.Epsilon.Float()) + ", left ε " + released.Rounded(v.Accounts[t.Account].RemainingIn(t.Span()).Epsilon.Float())
	if t.NHat != nil && t.Unclear(r.Columns) == "" {
		if p, err = p.Given(*t.NHat); err != nil {
			return "", err
		}
	}
	o := Outlook{Outline: *p.Outlined(), forecast: p}
	if u, columns, of := p.Examples(); u != nil {
		if err := o.foreseeCounts(u, columns, of, confidenceShown, 1); err != nil {
			return "", err
		}
	}
	for _, f := range o.Foreseen {
		if len(f.Margins) == 1 {
			text += fmt.Sprintf(" · %s ±%s", f.What, released.Rounded(f.Margins[0]))
		}
	}
	return text, nil
}
