package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/mechanisms/projection"
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/sqlfront"
)

// stated is the number of rows that plans are made with where a table has none
// yet, and which decides nothing of what a rehearsal says.
const stated = 1_000_000

// unclear says why one of the columns, nil being all, has no known domain.
func (r *Rehearsal) unclear(t *table, columns []int) string {
	if columns == nil {
		columns = allColumns(t)
	}
	for _, c := range columns {
		if why, ok := r.vague[t.ID][query.FoldName(t.Columns[c].Name)]; ok {
			return why
		}
	}
	return ""
}

// release plans a release: what it costs, and for queries that follow what it
// covers. Its errors are known when it is built.
func (r *Rehearsal) release(ctx context.Context, st *sqlfront.CreateRelease) (*Result, error) {
	if done, err := r.view.nameFree(st.Name, st.IfNotExists, r.view.release(st.Name.Text) != nil); done || err != nil {
		return planned(st.Name.Text, string(st.Using), "0", doneNote), err
	}
	t, columns, err := r.view.target(st.Table, st.Columns)
	if err != nil {
		return nil, err
	}
	known := *t // a plan buys N̂ where there is none
	if known.NHat == nil {
		known.NHat = &catalog.NHat{Value: stated}
	}
	rel := catalog.Release{ID: r.id(), Name: st.Name.Text, TableID: t.ID, Columns: columns, Using: string(st.Using)}
	cost, note := accounting.Amount{}, ""
	if st.Using == sqlfront.SMW {
		cost, rel.MaxSupport, err = r.smwRelease(st, &known, columns)
	} else {
		cost, rel.MaxSupport, note, err = r.projection(ctx, st, t, &known, columns)
	}
	if err == nil {
		err = r.charge(t.Account, cost)
	}
	if err != nil {
		return nil, err
	}
	r.view.releases = append(r.view.releases, rel)
	out := planned(rel.Name, rel.Using, amount(cost), joinNotes("is created", note))
	out.Rows[0][2] = briefList(columnNames(t, columns))
	return out, nil
}

// projection prices a projection release. All but δ is as it will be: whether
// heavy cells are worth theirs depends on the number of rows, and on domains,
// unless these are known.
func (r *Rehearsal) projection(ctx context.Context, st *sqlfront.CreateRelease, t, known *table, columns []int) (cost accounting.Amount, support uint64, note string, err error) {
	a := r.view.accounts[t.Account]
	o := newOptions(st.Options, "epsilon", "delta", "transform", "rows", "max_support", "memory", "heavy", "clip", "noise", "queries", "beta")
	cost.Epsilon, support = o.epsilon(), uint64(o.integer("max_support", defaultSupport, 1, maxSupport))
	w := readWishes(o)
	if err := o.done(); err != nil {
		return cost, support, "", err
	}
	most := cost
	if most.Delta = w.delta; !w.given {
		most.Delta = min(deltaShare(a, cost.Epsilon), a.left().Delta)
	}
	if w.transform == "identity" || w.heavy == "none" {
		most.Delta = 0
	}
	unclear := r.unclear(t, columns)
	if unclear == "" && (w.transform != "dense" || w.rows != 0 || t.NHat != nil) {
		p, err := r.s.db.planProjection(ctx, st, r.view, known, columns)
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

// smwRelease prices a release built by SMW.
func (r *Rehearsal) smwRelease(st *sqlfront.CreateRelease, t *table, columns []int) (cost accounting.Amount, support uint64, err error) {
	o := newOptions(st.Options, "epsilon", "delta", "max_updates", "alpha", "max_support", "beta", "update",
		"prior", "remeasure", "workload", "free_columns")
	cost.Epsilon = o.epsilon()
	var given bool
	if cost.Delta, given = o.delta(); !given {
		cost.Delta = deltaShare(r.view.accounts[t.Account], cost.Epsilon)
	}
	q := readRequest(o, t, t.over(columns))
	c, err := r.s.readClass(o, t, columns)
	if err == nil {
		err = sizeClass(c, &q)
	}
	return cost, q.MaxSupport, err
}

// mechanism plans a mechanism, which reserves all it can ever cost.
func (r *Rehearsal) mechanism(st *sqlfront.CreateMechanism) (*Result, error) {
	if done, err := r.view.nameFree(st.Name, st.IfNotExists, r.view.mechanism(st.Name.Text) != nil); done || err != nil {
		return planned(st.Name.Text, "smw", "0", doneNote), err
	}
	t, columns, err := r.view.target(st.Table, st.Columns)
	if err != nil {
		return nil, err
	}
	epsilon, q, err := mechanismRequest(st, t, columns)
	if err != nil {
		return nil, err
	}
	a := r.view.accounts[t.Account]
	if epsilon > a.Caps.InteractiveEpsilon {
		return nil, tooMuch(epsilon, a)
	}
	cost := accounting.Amount{Rho: accounting.RhoFor(epsilon, a.Caps.InteractiveDelta)}
	if err := r.charge(t.Account, cost); err != nil {
		return nil, err
	}
	params, err := json.Marshal(smwParams{Params: smw.Params{MaxSupport: q.MaxSupport}})
	if err != nil {
		return nil, err
	}
	r.view.mechanisms = append(r.view.mechanisms, catalog.Mechanism{ID: r.id(), Name: st.Name.Text, TableID: t.ID, Columns: columns, Params: params})
	out := planned(st.Name.Text, "smw", amount(cost), "is created; its ρ is reserved")
	out.Rows[0][2] = briefList(columnNames(t, columns))
	return out, nil
}

// covering is the candidate of what a rehearsal has planned and nobody built:
// it covers the query, and how well it answers is not known.
func covering(c candidate, see coverage) candidate {
	c.planned, c.support, c.refusal = true, see.size, see.refusal
	if c.refusal == "" {
		c.note = "is created before: its error is known then"
	}
	return c
}

// amount writes a cost.
func amount(a accounting.Amount) string {
	var parts []string
	if a.Epsilon != 0 {
		parts = append(parts, fmt.Sprintf("ε %v", a.Epsilon))
	}
	if a.Delta != 0 {
		parts = append(parts, fmt.Sprintf("δ %v", a.Delta))
	}
	if a.Rho != 0 {
		parts = append(parts, "ρ "+short(a.Rho.Float()))
	}
	if parts == nil {
		return "0"
	}
	return strings.Join(parts, ", ")
}
