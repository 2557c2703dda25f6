package engine

import (
	"context"
	"errors"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/projection"
	"dpsql/sqlfront"
)

// stated is the number of rows that plans are made with where a table has none
// yet, and which decides nothing of what a rehearsal says.
const stated = 1_000_000

// scriptCandidates are those of what a rehearsal has planned: they cover the
// query or not, and how well they answer it is not known.
func scriptCandidates(v *view.View, r request, object sqlfront.Object) (all []candidate) {
	for _, u := range v.Unbuilt {
		if u.Object != object || u.Table != r.table.ID || !r.considers(u.Kind, u.Name) {
			continue
		}
		see := view.Cover(r.query, u.Columns, u.MaxSupport)
		c := candidate{origin: fromScript, name: u.Name, kind: u.Kind, columns: u.Columns, support: see.Size, refusal: see.Refusal}
		if c.refusal == "" {
			c.note = "is created before: its error is known then"
		}
		all = append(all, c)
	}
	return all
}

// release plans a release: what it costs, and for queries that follow what it
// covers. Its errors are known when it is built.
func (r *Rehearsal) release(ctx context.Context, st *sqlfront.CreateRelease) (*Result, error) {
	if done, err := r.view.NameFree(st.Name, st.IfNotExists, r.view.Exists(sqlfront.Release, st.Name.Text)); done || err != nil {
		return planned(st.Name.Text, string(st.Using), "0", doneNote), err
	}
	t, columns, err := r.view.Target(st.Table, st.Columns)
	if err != nil {
		return nil, err
	}
	known := *t // a plan buys N̂ where there is none
	if known.NHat == nil {
		known.NHat = &catalog.NHat{Value: stated}
	}
	rel := view.Unbuilt{Object: sqlfront.Release, Name: st.Name.Text, Kind: string(st.Using), Table: t.ID, Columns: columns}
	cost, note := accounting.Amount{}, ""
	if st.Using == sqlfront.SMW {
		cost, rel.MaxSupport, note, err = r.smwRelease(ctx, st, &known, columns)
	} else {
		cost, rel.MaxSupport, note, err = r.projection(st, t, &known, columns)
	}
	if err == nil {
		err = r.charge(t.Account, cost)
	}
	if err != nil {
		return nil, err
	}
	r.view.Unbuilt = append(r.view.Unbuilt, rel)
	out := planned(rel.Name, rel.Kind, view.Amount(cost), joinNotes("is created", note))
	out.Rows[0][2] = briefList(view.ColumnNames(t, columns))
	return out, nil
}

// projection prices a projection release. All but δ is as it will be: whether
// heavy cells are worth theirs depends on the number of rows, and on domains,
// unless these are known.
func (r *Rehearsal) projection(st *sqlfront.CreateRelease, t, known *view.Table, columns []int) (cost accounting.Amount, support uint64, note string, err error) {
	a := r.view.Accounts[t.Account]
	o := newOptions(st.Options, "epsilon", "delta", "transform", "rows", "max_support", "memory", "heavy", "clip", "noise", "queries", "beta")
	cost.Epsilon, support = o.epsilon(), uint64(o.integer("max_support", defaultSupport, 1, maxSupport))
	w := readWishes(o)
	if err := o.done(); err != nil {
		return cost, support, "", err
	}
	most := cost
	if most.Delta = w.delta; !w.given {
		most.Delta = min(deltaShare(a, cost.Epsilon), a.Left().Delta)
	}
	if w.transform == "identity" || w.heavy == "none" {
		most.Delta = 0
	}
	unclear := t.Unclear(columns)
	if unclear == "" && (w.transform != "dense" || w.rows != 0 || t.NHat != nil) {
		p, err := planProjection(st, r.view, known, columns)
		if err == nil && p.complete != nil {
			p, err = p.complete(*known.NHat, p.cost)
		}
		if err != nil || t.NHat != nil || w.complete() || p.params.Transform != projection.Sparse {
			return p.cost, support, "", err
		}
	}
	switch {
	case w.transform == "dense":
		note = "its rows follow from the number of rows of the table"
	case most.Delta > 0:
		note = "δ at most: the number of rows decides whether it is needed"
	}
	return most, support, joinNotes(note, unclear), nil
}

// smwRelease prices a release built by SMW. A class that names columns without a
// known domain is not looked into.
func (r *Rehearsal) smwRelease(ctx context.Context, st *sqlfront.CreateRelease, t *view.Table, columns []int) (cost accounting.Amount, support uint64, note string, err error) {
	o := smwReleaseOptions(st)
	cost.Epsilon = o.epsilon()
	var given bool
	if cost.Delta, given = o.delta(); !given {
		cost.Delta = deltaShare(r.view.Accounts[t.Account], cost.Epsilon)
	}
	q := readRequest(o, t, t.Over(columns))
	c, err := r.s.readClass(ctx, o, t, columns)
	var names *sqlfront.UndecidedError
	if errors.As(err, &names) {
		return cost, q.MaxSupport, t.Undecided[names.Column], nil
	}
	if err == nil {
		err = sizeClass(c, &q)
	}
	return cost, q.MaxSupport, "", err
}

// mechanism plans a mechanism, which reserves all it can ever cost.
func (r *Rehearsal) mechanism(st *sqlfront.CreateMechanism) (*Result, error) {
	if done, err := r.view.NameFree(st.Name, st.IfNotExists, r.view.Exists(sqlfront.Mechanism, st.Name.Text)); done || err != nil {
		return planned(st.Name.Text, "smw", "0", doneNote), err
	}
	t, columns, err := r.view.Target(st.Table, st.Columns)
	if err != nil {
		return nil, err
	}
	epsilon, q, err := mechanismRequest(st, t, columns)
	if err != nil {
		return nil, err
	}
	a := r.view.Accounts[t.Account]
	if epsilon > a.Caps.InteractiveEpsilon {
		return nil, tooMuch(epsilon, a)
	}
	cost := accounting.Amount{Rho: accounting.RhoFor(epsilon, a.Caps.InteractiveDelta)}
	if err := r.charge(t.Account, cost); err != nil {
		return nil, err
	}
	r.view.Unbuilt = append(r.view.Unbuilt, view.Unbuilt{Object: sqlfront.Mechanism, Name: st.Name.Text, Kind: "smw", Table: t.ID, Columns: columns, MaxSupport: q.MaxSupport})
	out := planned(st.Name.Text, "smw", view.Amount(cost), "is created; its ρ is reserved")
	out.Rows[0][2] = briefList(view.ColumnNames(t, columns))
	return out, nil
}
